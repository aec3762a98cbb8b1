from pdanon._kernels.counting cimport Codes, Numbers, float64s, int32s, int64s, uint8s
from pdanon._kernels.itemset_search cimport Lists


cdef class Packing:
    cdef Numbers starts  # of the conflicting pairs of each item
    cdef Codes partners
    cdef Codes sets  # the larger conflicts
    cdef Numbers set_offsets
    cdef Numbers weights
    cdef int64s left  # weight of each item that no price has used
    cdef float64s urgency  # of each item; it grows with the weight that passes leave
    cdef int32s members  # of a clique
    cdef int32s candidates  # items that conflict with all members
    cdef int64s mark  # of each item, the stamp of the last time it was marked
    cdef long long stamp
    cdef long long bound  # of the current pass
    cdef long long steps  # of all passes

    cdef Lists found  # the stored cliques

    cdef int next_item(self, uint8s is_open) noexcept nogil
    cdef int price_clique(self, int first) except -1 nogil
    cdef Py_ssize_t grow(self, int first, int second) noexcept nogil
    cdef void price_set(self, Py_ssize_t number) noexcept nogil
