from pdanon._kernels.counting cimport Code, Codes, Numbers, Reals, Rows, float64s, int32s, int64s, uint8s
from pdanon._kernels.rare_clusters cimport LargerItemsets


cdef class State:
    cdef long long k
    cdef readonly int largest  # largest set of clusters that must not be rare: 1, 2 or 3; 0 for constraints
    cdef int loss  # 0 for NCP, 1 for LM, 2 for UL, 3 for balanced
    cdef double change  # added to the size of each cluster; if positive, also the cost of the spread of its worth
    cdef long long top  # clusters from here on are empty
    cdef readonly long long lack  # sum of what rare supports lack to k
    cdef readonly int64s label  # cluster of each item, -1 if it is suppressed
    cdef readonly int64s size  # members of each cluster, of all its items
    cdef readonly int64s held  # sum of the worth of the members of each cluster
    cdef readonly float64s squares  # sum of the squared worth of the members of each cluster
    cdef readonly int64s support  # support of each cluster
    cdef int[:, ::1] co  # support of each pair of clusters; 0 on the diagonal
    cdef int32s cube  # support of each triple of clusters, by `spot`
    cdef Numbers singles  # support of each item
    cdef Numbers worth  # loss of each item per member of its cluster
    cdef Numbers mass  # number of members that each item stands for
    cdef Reals square  # sum of the squared worth of these members
    cdef long long n_members  # number of all members
    cdef Numbers block  # block of each item; a cluster has items of one block
    cdef int64s home  # block of each cluster that is not empty
    cdef uint8s asleep  # items without a move, while their cluster does not change
    cdef Codes itemsets  # items of the constraints, one constraint after the other
    cdef Numbers bounds  # where each constraint begins
    cdef int64s met  # support of the image of each constraint, up to k
    cdef unsigned long long[:, ::1] bits  # rows of each cluster, one bit a row
    cdef double near  # price of each level of a hierarchy that an occurrence leaves; 0: there is none
    cdef Numbers rank  # place of the leaf of each item, among the leaves in order
    cdef int[:, ::1] path  # nodes above each place, from the root
    cdef int64s lowest  # lowest place of the members of each cluster
    cdef int64s highest  # highest place of them
    cdef long long rest_from  # lowest place of the cluster of an item, without the item
    cdef long long rest_to  # highest place of it


cdef class Space:
    cdef LargerItemsets larger  # check of itemsets of more clusters than the state counts, or None
    cdef int64s beside  # support of each cluster in the rows of the current item, without the item
    cdef int64s alone  # the same, in rows without another item of its own cluster
    cdef int64s touched  # clusters where these are not 0
    cdef int64s place  # position of each cluster in `touched`, plus 1
    cdef int64s stamp  # last row with each cluster, as a value of `token`
    cdef int64s near  # clusters in a row
    cdef int64s few  # clusters in fewer than k rows of the item
    cdef int64s broken  # clusters that become rare with the item's own when it leaves
    cdef float64s gains  # gain of a move of the item to each cluster
    cdef long long token
    cdef int[:, ::1] joint  # by places: as `beside`, of two clusters
    cdef int[:, ::1] lone  # by places: as `alone`, of two clusters
    cdef int[:, ::1] pairs  # pairs of positions where these are not 0, the larger first
    cdef int[:, ::1] few_pairs  # pairs of clusters in fewer than k rows of the item
    cdef int[:, ::1] broken_pairs  # pairs of clusters that become rare with its own when it leaves
    cdef uint8s refused  # for constraints and larger itemsets: clusters that the item cannot move to
    cdef unsigned long long[::1] brought  # for constraints: rows of the item, as bits
    cdef unsigned long long[::1] left  # for constraints: rows of its cluster without it, as bits


cdef inline long long lacking(long long support, long long k) noexcept nogil:
    """Return what a support in (0, k) lacks to k."""
    return k - support if 0 < support < k else 0


cdef inline long long spot(long long a, long long b, long long c) noexcept nogil:
    """Return the position of three different clusters in ``cube``: their rank in the combinatorial number system."""
    cdef long long low = min(a, b, c)
    cdef long long high = max(a, b, c)
    cdef long long middle = a + b + c - low - high
    return high * (high - 1) * (high - 2) // 6 + middle * (middle - 1) // 2 + low


cdef inline long long clusters_beside(
    long long x, long long row, int64s label, Rows rows, Space space
) noexcept nogil:
    """List in ``near`` the clusters of the items of a row, except for x; return their number."""
    cdef long long n = 0
    cdef long long position, item, cluster
    space.token += 1
    cdef long long now = space.token
    for position in range(rows.offsets[row], rows.offsets[row + 1]):
        item = rows.codes[position]
        cluster = label[item]
        if item != x and cluster >= 0 and space.stamp[cluster] != now:
            space.stamp[cluster] = now
            space.near[n] = cluster
            n += 1
    return n


cdef inline long long first_empty(long long top, int64s size) noexcept nogil:
    """Return the first empty cluster, -1 if there is none."""
    cdef long long cluster
    for cluster in range(min(top + 1, size.shape[0])):
        if size[cluster] == 0:
            return cluster
    return -1


cdef inline double distance(long long low, long long high, State state) noexcept nogil:
    """Return the price of the levels on which the leaves between two places have no common node."""
    cdef long long level
    for level in range(state.path.shape[1] if low < high else 0):
        if state.path[low, level] != state.path[high, level]:
            return state.near * (state.path.shape[1] - level)
    return 0.0


cdef inline double distance_with(long long c, long long x, State state) noexcept nogil:
    """Return the price of the levels that an occurrence leaves in a cluster with another item."""
    if state.near == 0.0 or state.size[c] == 0:
        return 0.0
    return distance(min(state.lowest[c], state.rank[x]), max(state.highest[c], state.rank[x]), state)


cdef inline void span_without(long long x, State state) noexcept nogil:
    """Find the lowest and the highest place of the cluster of an item, without the item."""
    cdef long long y, a = state.label[x]
    state.rest_from, state.rest_to = state.lowest[a], state.highest[a]
    if state.near > 0 and (state.rank[x] == state.rest_from or state.rank[x] == state.rest_to):
        state.rest_from, state.rest_to = state.label.shape[0], -1
        for y in range(state.label.shape[0]):
            if state.label[y] == a and y != x:
                state.rest_from = min(state.rest_from, state.rank[y])
                state.rest_to = max(state.rest_to, state.rank[y])


cdef inline bint contains(long long item, long long constraint, State state) noexcept nogil:
    """Return whether a constraint contains an item."""
    cdef long long position
    for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
        if state.itemsets[position] == item:
            return True
    return False


cdef inline bint contains_member(long long cluster, long long constraint, State state) noexcept nogil:
    """Return whether a constraint contains an item of a cluster."""
    cdef long long position
    for position in range(state.bounds[constraint], state.bounds[constraint + 1]):
        if state.label[state.itemsets[position]] == cluster:
            return True
    return False


cdef double price_of(long long c, long long scale, State state) noexcept nogil
cdef void enter(long long x, long long b, State state) noexcept nogil
cdef void move_to(long long x, long long b, State state, Rows rows, Space space) noexcept nogil
cdef (long long, long long) tally(long long x, int64s label, Rows rows, Space space) noexcept nogil
cdef long long tally_pairs(long long x, int64s label, Rows rows, Space space) noexcept nogil
cdef void clear(long long n_touched, long long n_pairs, Space space) noexcept nogil
cdef void mark_rows(long long x, State state, Rows rows, Space space) noexcept nogil
cdef long long support_after(
    long long constraint, long long x, long long b, State state, Rows rows, Space space
) noexcept nogil
cdef void recount_constraints(
    long long x, long long a, long long b, State state, Rows rows, Space space
) noexcept nogil
