from pdanon._kernels.counting cimport Code, Number, Rows


cdef class State:
    cdef int[::1] cells  # distinct cells of each row, in any order
    cdef long long[:, ::1] rows  # of each row: where its cells begin and end, and its weight
    cdef int[::1] tids  # rows of each item, of those of a cluster without what a member before it has
    cdef Number[::1] starts  # where they begin
    cdef long long[::1] ends  # and end
    cdef int[::1] cell, owner  # of each cluster: its cell, one of its members; of each cell: the cluster or -1
    cdef readonly int[::1] label  # of each item, -1 if it is suppressed
    cdef int[::1] after  # the next member of the same cluster, -1 at the end
    cdef int[::1] tail  # last member of each cluster
    cdef readonly long long[::1] size  # members of each cluster
    cdef readonly long long[::1] support  # rows that hold a member
    cdef long long[::1] weight  # importance of each cluster, the largest of its members'
    cdef int[:, ::1] co  # a line for some clusters: rows that they share with each; 0 for itself
    cdef int[::1] line  # of each cluster, -1 if it has none now
    cdef int[::1] holder  # the cluster of each line, -1 if it is free
    cdef int n_lines  # that were in use so far
    cdef long long[::1] walk  # lengths of the rows of each cluster's members: the time it takes to read them
    cdef int[::1] active  # the labels in use by block, size, importance, support; as many as `n_active`
    cdef readonly int n_active
    cdef readonly Code[::1] block  # of each item; only clusters of one block are merged
    cdef readonly long long spare  # how many items more may be suppressed
    cdef readonly int refused  # the cluster for which that was not enough, -1 as long as there is none
    cdef int[::1] image  # work space: distinct clusters of an itemset
    cdef int[::1] touched, counts  # work space: clusters that are counted, and in how many rows, 0 between steps
    cdef long long[::1] stamp  # work space: the itemset in which each cluster was seen last
    cdef long long stamps  # the last one
    cdef int best_x, best_y  # work space: the cheapest merge so far, -1 if there is none
    cdef long long best_size, best_rows  # of it: members, and rows times importance

    cdef int place_of(self, int a) noexcept nogil
    cdef bint precedes(self, int a, int b) noexcept nogil
    cdef void strike(self, int a) noexcept nogil
    cdef void enter(self, int a) noexcept nogil
    cdef void release_line(self, int a) noexcept nogil


cdef int count(int a, State state) noexcept nogil

cdef void forget(int n, State state) noexcept nogil

cpdef int together(int a, int b, State state) noexcept nogil

cdef bint is_longer(int a, int b, State state) noexcept nogil

cdef (int, int) coarsen(int n, bint least_first, State state) noexcept nogil

cdef int image_of(Code[::1] items, long long start, long long stop, State state) noexcept nogil
