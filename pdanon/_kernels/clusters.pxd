from pdanon._kernels.counting cimport Codes, Numbers, int32s, int64s


cdef class State:
    cdef int32s cells  # distinct cells of each row, in any order
    cdef long long[:, ::1] rows  # start and end of the cells of each row, and its weight
    cdef int32s tids  # rows of each item, except for rows of earlier members of its cluster
    cdef Numbers starts  # start of the rows of each item
    cdef int64s ends  # and their end
    cdef int32s cell, owner  # cell of each cluster, one of its members; cluster of each cell, or -1
    cdef readonly int32s label  # cluster of each item, -1 if it is suppressed
    cdef int32s after  # the next member of the same cluster, -1 at the end
    cdef int32s tail  # last member of each cluster
    cdef readonly int64s size  # members of each cluster
    cdef readonly int64s support  # support of each cluster
    cdef int64s weight  # importance of each cluster: the maximum of its members
    cdef int[:, ::1] co  # lines: supports of a cluster with each other one; 0 for itself
    cdef int32s line  # line of each cluster, or -1
    cdef int32s holder  # cluster of each line, -1 if the line is free
    cdef int n_lines  # number of lines used so far
    cdef int64s walk  # sum of the lengths of each cluster's rows: the time to read them
    cdef int32s active  # the labels in use by block, size, importance, support; as many as `n_active`
    cdef readonly int n_active
    cdef readonly Codes block  # of each item; only clusters of one block are merged
    cdef readonly long long spare  # number of further items that may be suppressed
    cdef readonly int refused  # the cluster that exceeded it, or -1
    cdef int32s image  # work space: distinct clusters of an itemset
    cdef int32s touched, counts  # work space: counted clusters, and counts; 0 between steps
    cdef int64s stamp  # work space: stamp of the last itemset with each cluster
    cdef long long stamps  # the last stamp
    cdef int best_x, best_y  # work space: the cheapest merge so far, or -1
    cdef long long best_size, best_rows  # its number of members, and its support times importance

    cdef int place_of(
        self, int block, long long size, long long weight, long long support, int label
    ) noexcept nogil
    cdef void strike(self, int a) noexcept nogil
    cdef void enter(self, int a) noexcept nogil
    cdef void release_line(self, int a) noexcept nogil


cdef int count(int a, State state) noexcept nogil

cdef void forget(int n, State state) noexcept nogil

cpdef int compare_growth(
    long long size_1, long long old_1, long long new_1, long long size_2, long long old_2, long long new_2
) noexcept nogil

cpdef int together(int a, int b, State state) noexcept nogil

cdef bint is_longer(int a, int b, State state) noexcept nogil

cdef (int, int) coarsen(int n, bint least_first, State state) noexcept nogil

cdef int image_of(Codes items, long long start, long long stop, State state) noexcept nogil
