from pdanon._kernels.counting cimport Code, Number


cdef class Rows:
    cdef Code[::1] codes  # items, row after row
    cdef Number[::1] offsets  # where each row begins
    cdef Number[::1] weights  # transactions that a row stands for
    cdef Number[::1] starts  # where each item's rows begin
    cdef Code[::1] tids  # rows, item after item


cdef class State:
    cdef long long k
    cdef readonly int largest  # what must not be rare: sets of up to 1, 2 or 3 clusters, or 0 for constraints
    cdef int loss  # 0 for NCP, 1 for LM, 2 for UL
    cdef long long top  # clusters from here on are empty
    cdef readonly long long lack  # what supports in (0, k) lack to k
    cdef readonly long long[::1] label  # cluster of each item, -1 if it is suppressed
    cdef readonly long long[::1] size  # members of each cluster
    cdef readonly long long[::1] held  # sum of the worth of the members of each cluster
    cdef readonly long long[::1] support  # transactions that hold a member
    cdef int[:, ::1] co  # dense matrix: transactions that hold members of both clusters; 0 on the diagonal
    cdef int[::1] cube  # transactions that hold members of three clusters, by `spot`
    cdef Number[::1] singles  # support of each item
    cdef Number[::1] worth  # what each item costs for each member of its cluster
    cdef Number[::1] block  # block of each item; a cluster has items of one block
    cdef long long[::1] home  # block of each cluster that is not empty
    cdef unsigned char[::1] asleep  # items without a move, in clusters that have not changed since
    cdef long long clock  # how often a cluster has changed, plus 1
    cdef long long[::1] since  # when each cluster changed last, by the clock
    cdef long long[::1] stuck  # when it was seen last that an item cannot leave its cluster, 0 if never
    cdef long long[:, ::1] stuck_by  # two clusters that are in the way, besides its own
    cdef readonly unsigned char[::1] tried  # clusters that could not be parted, and have not changed since
    cdef Code[::1] itemsets  # items of the constraints, one constraint after the other
    cdef Number[::1] bounds  # where each constraint begins
    cdef long long[::1] met  # support of the image of each constraint, or k if it is more
    cdef unsigned long long[:, ::1] bits  # for each cluster the rows that hold it, one bit a row


cdef class Space:
    cdef long long[::1] beside  # transactions that hold the item in hand and another item of the cluster
    cdef long long[::1] alone  # those of them without another item of its own cluster
    cdef long long[::1] touched  # the clusters for which these are not 0
    cdef long long[::1] place  # where in `touched` a cluster is, plus 1
    cdef long long[::1] stamp  # the last row in which a cluster was seen, as a value of `token`
    cdef long long[::1] near  # the clusters that a row holds
    cdef long long[::1] few  # the clusters that few rows hold beside the item
    cdef long long[::1] broken  # the clusters that get rare with the item's own when it leaves
    cdef double[::1] gains  # what it gains to move the item to each cluster
    cdef long long token
    cdef int[:, ::1] joint  # by places: as `beside`, of two clusters
    cdef int[:, ::1] lone  # by places: as `alone`, of two clusters
    cdef int[:, ::1] pairs  # two places a row, the higher one first: for which these are not 0
    cdef int[:, ::1] few_pairs  # two clusters a row: those that few rows hold beside the item
    cdef int[:, ::1] broken_pairs  # two clusters a row: those that get rare with its own when it leaves
    cdef long long[::1] members  # items in hand
    cdef long long[:, ::1] shares  # `beside` of each of a few items in hand, and in the last row their sum
    cdef unsigned char[::1] refused  # for constraints: clusters to which the item may not, or need not, move
    cdef unsigned long long[:, ::1] brought  # for constraints: rows that each of two items holds, as bits
    cdef unsigned long long[:, ::1] left  # for constraints: rows of the cluster of each without it, as bits


cdef long long spot(long long a, long long b, long long c) noexcept nogil
cdef long long clusters_beside(long long x, long long row, State state, Rows rows, Space space) noexcept nogil
cdef long long first_empty(State state) noexcept nogil
cdef void move_to(long long x, long long b, State state, Rows rows, Space space) noexcept nogil
cdef void changed(long long cluster, State state) noexcept nogil


cdef void mark_rows(long long x, long long side, State state, Rows rows, Space space) noexcept nogil
cdef void refuse(long long x, State state, Rows rows, Space space) noexcept nogil
cdef bint constraints_stay(long long x, long long y, State state, Rows rows, Space space) noexcept nogil


cdef class Tallies:
    cdef long long[::1] when  # when each item was counted, by the clock of the state
    cdef long long[::1] filled  # so many entries each item has
    cdef unsigned char[::1] is_whole  # whether these are all
    cdef int[:, :, ::1] entries  # for each item clusters, and `beside` and `alone` of each

cdef void note(long long x, long long n_touched, Tallies tallies, State state, Space space) noexcept nogil


cdef double price_of_two(long long a, long long b, long long scale, State state) noexcept nogil
cdef (long long, long long) tally(long long x, State state, Rows rows, Space space) noexcept nogil
cdef long long tally_pairs(long long x, State state, Rows rows, Space space) noexcept nogil
cdef void clear(long long n_touched, long long n_pairs, Space space) noexcept nogil
cdef (long long, long long) list_pairs(long long a, long long n_pairs, State state, Space space) noexcept nogil
cdef long long list_few(long long a, long long n_touched, State state, Space space) noexcept nogil
cdef long long list_broken(long long a, long long n_touched, State state, Space space) noexcept nogil
cdef void fill_gains(long long x, long long lost, State state, Space space) noexcept nogil
