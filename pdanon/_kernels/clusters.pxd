from pdanon._kernels.arrays cimport Code, Number
from pdanon._kernels.counting cimport Rows


cdef class State:
    cdef Rows rows
    cdef readonly int[::1] label  # of each item, -1 if it is suppressed
    cdef int[::1] after  # the next member of the same cluster, -1 at the end
    cdef int[::1] tail  # last member of each cluster
    cdef readonly long long[::1] size  # members of each cluster
    cdef readonly long long[::1] support  # rows that hold a member
    cdef long long[::1] weight  # importance of each cluster, the largest of its members'
    cdef readonly int[:, ::1] co  # dense matrix: rows that hold members of both clusters; 0 on the diagonal
    cdef int[::1] active  # the labels in use, ascending; as many as `n_active`
    cdef readonly int n_active
    cdef readonly Code[::1] block  # of each item; only clusters of one block are merged
    cdef readonly long long spare  # how many items more may be suppressed
    cdef readonly int refused  # the cluster for which that was not enough, -1 as long as there is none
    cdef int[::1] image  # work space: distinct clusters of an itemset
    cdef unsigned char[::1] stamp, row_stamp  # work space: marks of clusters and rows, 0 between steps

    cdef void strike(self, int a) noexcept nogil


cdef class RarePartners:
    cdef long long k
    cdef int[::1] partner  # of each cluster; -1 if it has none, -2 if it has to be looked for
    cdef int[::1] support  # rows that hold both

    cdef void look_up(self, int a, State state) noexcept nogil
    cdef void refresh(self, int a, int b, State state) noexcept nogil


cdef class Bitmaps:
    cdef unsigned long long[:, ::1] bits
    cdef Number[::1] weights

    cdef void unite(self, int a, int b) noexcept nogil
    cdef long long support(self, int n, long long enough, State state) noexcept nogil


cpdef int _compare_loss(long long size_1, long long rows_1, long long size_2, long long rows_2) noexcept nogil
cpdef void drop(int a, State state) noexcept nogil
cdef (int, int) _cheapest_merge(int begin, int end, State state) noexcept nogil
cdef void _merge(int a, int b, State state) noexcept nogil
cdef void _mark_rows(int a, unsigned char mark, State state, Rows rows) noexcept nogil
cdef void _discount(int a, int b, State state, Rows rows) noexcept nogil
cdef int _least_supported(int n, State state) noexcept nogil
cdef (int, int) _coarsen(int n, bint least_first, State state) noexcept nogil
cdef int _image(Code[::1] items, long long start, long long stop, State state) noexcept nogil
cdef (int, int) _largest_rare(bint pairs, State state, RarePartners rare) noexcept nogil
cdef long long _satisfy_pair(
    Code[::1] itemset, bint least_first, State state, RarePartners rare
) noexcept nogil
