from pdanon._kernels.counting cimport Numbers, float64s, int64s, uint8s
from pdanon._kernels.odds cimport cluster_cost
from pdanon._kernels.set_moves cimport State, distance, distance_with, span_without


cdef class Annealing(State):
    cdef float64s cost  # loss of each cluster
    cdef double total  # loss of all
    cdef int64s order  # the items that move
    cdef int64s prices  # of each support up to k: what it lacks, or what its deletion costs
    cdef unsigned long long random
    cdef int64s found  # labels of the best safe clusters
    cdef double least  # their loss
    cdef int64s targets  # clusters that the item may move to
    cdef float64s costs  # costs of moves to them
    cdef float64s odds
    # For supports of pairs and triples.
    cdef unsigned long long[:, ::1] low  # bits of the clusters whose support with each cluster is below k
    cdef int64s short  # what the supports of each cluster, alone and in pairs, lack in total; or its constraints
    cdef long long[:, ::1] short_pairs  # what the triples with each pair of clusters lack, the larger first
    cdef int64s short_triples  # what the triples with each cluster lack in total
    # For constraints.
    cdef Numbers uses  # constraints of the items, one item after the other
    cdef Numbers first  # where those of each item begin
    # Work space; `leaves` and `brought` are 0 between two moves.
    cdef uint8s leaves  # whether each constraint has an item of the cluster that the item leaves
    cdef int64s brought  # support of each cluster in the rows of the item without the new cluster
    cdef int64s changes  # change of `lack` by pairs, for each new cluster
    cdef int64s lacks  # change of `lack` by the rest, or by constraints
    cdef float64s floors  # lower bound on the cost of a move to each cluster without `changes`
    cdef unsigned long long[::1] open  # bits of the clusters that the item may still move to
    cdef unsigned long long[::1] words  # words that are not 0 of the rows with all other clusters of an image
    cdef int64s at  # their positions
    cdef int[:, ::1] triples  # pairs of clusters in rows of the item, and their number of rows


cdef inline double cost_with(long long c, long long x, long long sign, Annealing clusters) noexcept nogil:
    """Return the loss of a cluster with an item added, or with ``sign`` -1 removed."""
    cdef double held = clusters.held[c] + sign * clusters.worth[x]
    cdef double cost = cluster_cost(
        clusters.size[c] + sign * clusters.mass[x],
        held,
        clusters.squares[c] + sign * clusters.square[x],
        clusters.change,
    )
    if clusters.near > 0 and sign > 0:
        cost += held * distance_with(c, x, clusters)
    elif clusters.near > 0:
        span_without(x, clusters)
        cost += held * distance(clusters.rest_from, clusters.rest_to, clusters)
    return cost


cdef inline bint admits(long long b, long long x, long long empty, Annealing clusters) noexcept nogil:
    """Return whether an item may move to a cluster: another one of its block, or the first empty one."""
    if b == clusters.label[x]:
        return False
    return b == empty if clusters.size[b] == 0 else clusters.home[b] == clusters.block[x]
