from pdanon._kernels.clusters cimport State
from pdanon._kernels.counting cimport Numbers, Rows, int32s, int64s, uint64s, uint8s


cdef class RarePartners:
    cdef long long k
    cdef bint pairs  # whether pairs count
    cdef int32s partner  # of each cluster: itself if rare, -1 for none, -2 for unknown
    cdef int32s support  # of the cluster with its partner, 0 without one
    cdef int32s unknown  # the `n_unknown` clusters with unknown partner
    cdef int n_unknown
    cdef int32s winner  # tournament of all clusters, as a binary tree; the winner is at 1
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
    cdef Numbers weights

    cdef void unite(self, int a, int b) noexcept nogil
    cdef long long support(self, int n, long long enough, State state) noexcept nogil


cdef class LargerItemsets:
    cdef long long k
    cdef long long known  # itemsets of up to so many clusters are safe already
    cdef bint by_rows  # whether m is at least the length of all rows
    cdef Rows rows
    cdef long long stamp  # the last of all stamps
    cdef long long changes  # stamp of the changed rows
    cdef int64s listed  # of each row, the stamp of the last list with it
    cdef int64s seen  # of each cluster, the stamp of the last row with it
    cdef int64s used  # of each cluster, the stamp of the last changed rows with it
    # Listed rows without the current cluster: first the changed rows, then those that contain it.
    cdef int32s codes  # clusters, ascending in each row
    cdef int64s offsets
    cdef int64s weights
    cdef uint64s signs  # bits of the clusters in each row, modulo 64
    cdef uint8s is_whole  # whether a row is listed with all its clusters
    cdef long long n_changed, n_rows
    # Nodes of the search: rows, and the position after the last cluster of the itemset in each of them.
    cdef int32s node_rows
    cdef int32s node_places
    cdef long long[:, ::1] counts  # by depth: support of the itemset with one cluster more
    cdef long long[:, ::1] ends  # by depth: where the rows of the itemset with one cluster more end
    cdef int[:, ::1] extensions  # by depth: these clusters
    cdef unsigned char[:, ::1] extends  # by depth: whether a cluster is one of them

    cdef int32s path  # clusters of the current itemset, or of the rare one that was found
    cdef Py_ssize_t n_path

    cdef bint is_safe(self, long long cluster, long long moved, int64s label) noexcept nogil
    cdef void _list_changed(self, long long cluster, long long moved, int64s label) noexcept nogil
    cdef void _list_rows(self, long long cluster, int64s label) noexcept nogil
    cdef void _list(self, long long row, long long cluster, bint changed, int64s label) noexcept nogil
    cdef bint _rows_are_safe(self) noexcept nogil
    cdef bint _contains(self, long long i, long long j) noexcept nogil
    cdef bint _visit(self, Py_ssize_t depth, long long begin, long long end, long long free) noexcept nogil
    cdef long long _count_extensions(self, Py_ssize_t depth, long long begin, long long end) noexcept nogil
    cdef long long _fill_children(
        self, Py_ssize_t depth, long long begin, long long end, long long n, long long free
    ) noexcept nogil
