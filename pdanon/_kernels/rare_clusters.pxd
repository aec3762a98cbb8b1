from pdanon._kernels.clusters cimport State
from pdanon._kernels.counting cimport Number


cdef class RarePartners:
    cdef long long k
    cdef bint pairs  # whether pairs count
    cdef int[::1] partner  # of each cluster: itself if it is rare, -1 if it has none, -2 if it is unknown
    cdef int[::1] support  # of both, 0 if there is no partner
    cdef int[::1] unknown  # clusters whose partner has to be looked for, as many as `n_unknown`
    cdef int n_unknown
    cdef int[::1] winner  # tournament of all clusters, as a binary tree; at 1 the one that comes first
    cdef Py_ssize_t base  # where the clusters stand in it

    cdef void look_up_later(self, int a) noexcept nogil
    cdef void look_up_one(self, State state) noexcept nogil
    cdef bint consider(self, int a, int r, int both, State state) noexcept nogil
    cdef void refresh(self, int a, int b, State state) noexcept nogil
    cdef void meet(self, int a, int b, int r, State state) noexcept nogil
    cdef int better(self, int a, int b) noexcept nogil
    cdef void enter(self, int a) noexcept nogil


cdef class Bitmaps:
    cdef unsigned long long[:, ::1] bits
    cdef Number[::1] weights

    cdef void unite(self, int a, int b) noexcept nogil
    cdef long long support(self, int n, long long enough, State state) noexcept nogil
