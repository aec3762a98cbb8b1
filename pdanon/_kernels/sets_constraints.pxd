# What other kernels call. See sets_constraints.py.
from pdanon._kernels.sets_state cimport Rows, Space, State

cdef void mark_rows(long long x, long long side, State state, Rows rows, Space space) noexcept nogil
cdef void refuse(long long x, State state, Rows rows, Space space) noexcept nogil
cdef bint constraints_stay(long long x, long long y, State state, Rows rows, Space space) noexcept nogil
