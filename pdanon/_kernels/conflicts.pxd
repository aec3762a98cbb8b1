from pdanon._kernels.counting cimport Code, Number


cdef class Packing:
    cdef Number[::1] starts  # of the conflicting pairs of each item
    cdef Code[::1] partners
    cdef Code[::1] sets  # the larger conflicts
    cdef Number[::1] set_offsets
    cdef Number[::1] weights
    cdef long long[::1] left  # weight of each item that no price has used
    cdef double[::1] urgency  # of each item; it grows with the weight that passes leave
    cdef int[::1] members  # of a clique
    cdef int[::1] candidates  # items that conflict with all members
    cdef long long[::1] mark  # of each item, the stamp of the last time it was marked
    cdef long long stamp
    cdef long long bound  # of the current pass
    cdef long long steps  # of all passes

    cdef int[::1] codes  # members of the stored cliques, the first `n_codes`
    cdef Py_ssize_t n_codes
    cdef long long[::1] offsets  # of the first `n_cliques` cliques
    cdef Py_ssize_t n_cliques

    cdef int store(self, Py_ssize_t size) except -1 nogil
    cdef int next_item(self, unsigned char[::1] is_open) noexcept nogil
    cdef int price_clique(self, int first) except -1 nogil
    cdef Py_ssize_t grow(self, int first, int second) noexcept nogil
    cdef void price_set(self, Py_ssize_t number) noexcept nogil
