# What kernels that exchange items remember. See sets_tallies.py.
from pdanon._kernels.sets_state cimport Space, State

cdef class Tallies:
    cdef long long[::1] when  # when each item was counted, by the clock of the state
    cdef long long[::1] filled  # so many entries each item has
    cdef unsigned char[::1] is_whole  # whether these are all
    cdef int[:, :, ::1] entries  # for each item clusters, and `beside` and `alone` of each

cdef void note(long long x, long long n_touched, Tallies tallies, State state, Space space) noexcept nogil
