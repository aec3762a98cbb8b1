# Random moves of annealings: losses of clusters, random numbers, and the choice among moves.
cimport cython
from libc.math cimport sqrt

from pdanon._kernels.counting cimport float64s

cdef enum:
    COLD = 14  # costs of this many temperatures are never accepted


cdef inline double cluster_cost(
    long long size, double held, double squares, double change
) noexcept nogil:
    """Return the loss of a cluster: of the number, the sum and the squared sum of its items' worth."""
    if size < 2:
        return 0.0
    cdef double cost = (size + change) * held
    if change > 0:
        cost += change * sqrt(max(size * squares - held * held, 0.0))
    return cost


@cython.overflowcheck(False)
cdef inline double uniform(unsigned long long* state) noexcept nogil:
    """Return a random number in [0, 1), by xorshift64*."""
    cdef unsigned long long word = state[0]
    word ^= word >> 12
    word ^= word << 25
    word ^= word >> 27
    state[0] = word
    word *= <unsigned long long>2685821657736338717
    return (word >> 11) * (1.0 / 9007199254740992.0)


cdef inline double decay(double x) noexcept nogil:
    """Return exp(-x) for x in [0, 16], up to some percent, in sums and products: equal on all machines."""
    cdef double y = 1.0 - x * (1.0 / 256.0)
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    y *= y
    return y * y


cdef inline long long choose(
    float64s costs, float64s odds, long long n, double temperature, unsigned long long* state
) noexcept nogil:
    """Choose one of n moves at random with odds that fall with its costs; -1 is to stay, at no cost."""
    cdef double least = 0.0, above
    cdef long long j
    for j in range(n):
        least = min(least, costs[j])
    cdef double scale = 1.0 / temperature
    cdef double stay = decay(-least * scale) if -least * scale < COLD else 0.0
    cdef double total = stay
    for j in range(n):
        above = (costs[j] - least) * scale
        odds[j] = decay(above) if above < COLD else 0.0
        total += odds[j]
    cdef double target = uniform(state) * total - stay
    if target < 0.0:
        return -1
    for j in range(n):
        target -= odds[j]
        if target < 0.0:
            return j
    return -1  # a rounding error
