from pdanon._kernels.counting cimport Code, Number, Rows


cdef class State:
    cdef Rows rows
    cdef readonly int[::1] label  # of each item, -1 if it is suppressed
    cdef int[::1] after  # the next member of the same cluster, -1 at the end
    cdef int[::1] tail  # last member of each cluster
    cdef readonly long long[::1] size  # members of each cluster
    cdef readonly long long[::1] support  # rows that hold a member
    cdef long long[::1] weight  # importance of each cluster, the largest of its members'
    cdef int[:, ::1] co  # a line for some clusters: rows that hold members of it and of each; 0 for itself
    cdef int[::1] line  # of each cluster, -1 if it has none now
    cdef int[::1] holder  # the cluster of each line, -1 if it is free
    cdef int n_lines  # that were in use so far
    cdef long long[::1] walk  # lengths of the rows of each cluster's members: the time it takes to count a line
    cdef int[::1] active  # the labels in use, ascending; as many as `n_active`
    cdef readonly int n_active
    cdef readonly Code[::1] block  # of each item; only clusters of one block are merged
    cdef readonly long long spare  # how many items more may be suppressed
    cdef readonly int refused  # the cluster for which that was not enough, -1 as long as there is none
    cdef int[::1] image  # work space: distinct clusters of an itemset
    cdef int[::1] touched, counts  # work space: clusters that are counted, and in how many rows, 0 between steps
    cdef long long[::1] stamp  # work space: the itemset or row in which each cluster was seen last
    cdef long long stamps  # the last one
    cdef unsigned char[::1] row_stamp  # work space: marks of rows, 0 between steps

    cdef void strike(self, int a) noexcept nogil


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
