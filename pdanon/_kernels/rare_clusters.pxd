from pdanon._kernels.clusters cimport State
from pdanon._kernels.counting cimport Number


cdef class RarePartners:
    cdef long long k
    cdef bint pairs  # whether pairs count
    cdef int[::1] partner  # of each cluster: itself if rare, -1 for none, -2 for unknown
    cdef int[::1] support  # of the cluster with its partner, 0 without one
    cdef int[::1] unknown  # the `n_unknown` clusters with unknown partner
    cdef int n_unknown
    cdef int[::1] winner  # tournament of all clusters, as a binary tree; the winner is at 1
    cdef Py_ssize_t base  # position of the first cluster in it

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
    cdef int[::1] prefix  # `length` clusters
    cdef int length
    cdef unsigned long long[::1] words  # the first `n_words` words of their common rows that are not 0
    cdef int[::1] places  # and their positions
    cdef Py_ssize_t n_words
    cdef Py_ssize_t scanned  # position where the search for the next one begins

    cdef void unite(self, int a, int b) noexcept nogil
    cdef long long support(self, int n, long long enough, State state) noexcept nogil
    cdef void begin(self, int length, State state) noexcept nogil
    cdef bint find_word(self) noexcept nogil
