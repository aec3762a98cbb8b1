# What other kernels call. See sets_moves.py.
from pdanon._kernels.arrays cimport Code, Number
from pdanon._kernels.sets_state cimport Rows, Space, State

cdef double price_of_two(long long a, long long b, long long scale, State state) noexcept nogil
cdef (long long, long long) tally(long long x, State state, Rows rows, Space space) noexcept nogil
cdef long long tally_pairs(long long x, State state, Rows rows, Space space) noexcept nogil
cdef void clear(long long n_touched, long long n_pairs, Space space) noexcept nogil
cdef (long long, long long) list_pairs(long long a, long long n_pairs, State state, Space space) noexcept nogil
cdef bint meets_new_pair(long long b, Code[:, ::1] few, long long n_few, State state) noexcept nogil
cdef long long list_few(long long a, long long n_touched, State state, Space space) noexcept nogil
cdef long long first_new(long long b, Number[::1] few, long long n_few, State state) noexcept nogil
cdef long long list_broken(long long a, long long n_touched, State state, Space space) noexcept nogil
