from pdanon._kernels.arrays cimport Code, Flag, Number
from pdanon._kernels.clusters cimport State


cdef class RarePartners:
    cdef long long k
    cdef int[::1] partner  # of each cluster; -1 if it has none, -2 if it has to be looked for
    cdef int[::1] support  # rows that hold both

    cdef void look_up(self, int a, State state) noexcept nogil
    cdef void consider(self, int a, int r, int both) noexcept nogil
    cdef void refresh(self, int a, int b, State state) noexcept nogil


cdef class Bitmaps:
    cdef unsigned long long[:, ::1] bits
    cdef Number[::1] weights

    cdef void unite(self, int a, int b) noexcept nogil
    cdef long long support(self, int n, long long enough, State state) noexcept nogil


cdef (int, int) _largest_rare(bint pairs, State state, RarePartners rare) noexcept nogil
cdef long long _satisfy_pair(
    Code[::1] itemset, bint pairs, bint least_first, State state, RarePartners rare, Flag[::1] halt
) noexcept nogil
