"""Kernels that merge items into clusters, or suppress them, and keep the supports of clusters current.

The state is a tuple of arrays over items. A cluster is known by its smallest member, its label:

``label``    label of each item, -1 if it is suppressed
``after``    the next member of the same cluster, -1 at the end
``tail``     last member of each cluster
``size``     members of each cluster
``support``  rows that hold a member
``weight``   integer importance of each cluster, the largest of its members'
``co``       dense matrix: rows that hold members of both clusters
``active``   the labels in use, ascending, ``active[:n_active[0]]``
``n_active`` one number
``block``    block of each item; only clusters of one block are merged
``spare``    two numbers: how many items more may be suppressed, and the cluster for which that was not
             enough, -1 as long as there is none
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import inner, kernel

__all__ = ["bitmaps", "drop", "itemset_supports", "merge", "satisfy_itemsets", "satisfy_pairs"]

Array = NDArray[Any]
State = tuple[Array, Array, Array, Array, Array, Array, Array, Array, Array, Array, Array]
Rows = tuple[Array, Array, Array, Array, Array]  # codes, offsets, weights, starts, tids


@kernel
def _compare_loss(size_1: int, rows_1: int, size_2: int, rows_2: int) -> int:
    """Sign of (2**size_1 - 1) * rows_1 - (2**size_2 - 1) * rows_2, exactly, for rows below 2**53."""
    if size_1 < size_2:
        return -_compare_loss(size_2, rows_2, size_1, rows_1)
    if rows_1 == 0 or rows_2 == 0:
        return (rows_1 > 0) - (rows_2 > 0)
    shift = size_1 - size_2
    if shift >= 54 or rows_1 > (rows_2 >> shift):
        return 1
    # Now 2**shift * rows_1 <= rows_2; the leading terms differ by -lead, the subtracted ones by rest.
    lead = rows_2 - (rows_1 << shift)
    rest = rows_2 - rows_1
    if size_2 >= 54:
        if lead:
            return -1
        return 1 if rest > 0 else 0
    quotient = rest >> size_2
    if lead != quotient:
        return -1 if lead > quotient else 1
    return 1 if (quotient << size_2) != rest else 0


@inner
def _cheapest_merge(image: Array, state: State) -> tuple[int, int]:
    """The merge of a cluster of the image with another of its block that costs least, or (-1, -1).

    Order: utility loss of the union, its size, then its members (which the two labels, sorted, decide).
    """
    _, _, _, size, support, weight, co, active, n_active, block, _ = state
    best_x, best_y, best_size, best_rows = -1, -1, np.int64(0), np.int64(0)
    for x in image:
        for i in range(n_active[0]):
            y = active[i]
            if y == x or block[y] != block[x]:
                continue
            together = size[x] + size[y]
            rows = (support[x] + support[y] - co[x, y]) * max(weight[x], weight[y])
            if best_x >= 0:
                order = _compare_loss(together, rows, best_size, best_rows)
                if order == 0:
                    order = together - best_size
                if order == 0:
                    order = min(x, y) - min(best_x, best_y)
                if order == 0:
                    order = max(x, y) - max(best_x, best_y)
                if order >= 0:
                    continue
            best_x, best_y, best_size, best_rows = x, y, together, rows
    return min(best_x, best_y), max(best_x, best_y)


@inner
def _merge(a: int, b: int, state: State, rows: Rows, row_stamp: Array, stamp: Array) -> None:
    """Merge cluster b into a (a < b), correcting co-supports on the rows that hold both."""
    label, after, tail, size, support, weight, co, active, n_active, _, _ = state
    codes, offsets, weights, starts, tids = rows
    both = co[a, b]
    for i in range(n_active[0]):
        co[a, active[i]] += co[b, active[i]]
    member = a
    while member >= 0:
        for slot in range(starts[member], starts[member + 1]):
            row_stamp[tids[slot]] = 1
        member = after[member]
    member = b
    while member >= 0:
        for slot in range(starts[member], starts[member + 1]):
            row = tids[slot]
            if row_stamp[row] != 1:
                continue
            row_stamp[row] = 2
            for position in range(offsets[row], offsets[row + 1]):
                other = label[codes[position]]
                if other >= 0 and stamp[other] == 0:
                    stamp[other] = 1
                    co[a, other] -= weights[row]
            for position in range(offsets[row], offsets[row + 1]):
                if label[codes[position]] >= 0:
                    stamp[label[codes[position]]] = 0
        member = after[member]
    member = a
    while member >= 0:
        for slot in range(starts[member], starts[member + 1]):
            row_stamp[tids[slot]] = 0
        member = after[member]
    member = b
    while member >= 0:
        label[member] = a
        member = after[member]
    after[tail[a]] = b
    tail[a] = tail[b]
    size[a] += size[b]
    support[a] += support[b] - both
    weight[a] = max(weight[a], weight[b])
    n = 0
    for i in range(n_active[0]):
        if active[i] != b:
            active[n] = active[i]
            co[active[n], a] = co[a, active[n]]
            n += 1
    n_active[0] = n


@kernel
def merge(a: int, b: int, state: State, rows: Rows) -> None:
    """Merge two clusters; the result keeps the smaller label."""
    row_stamp = np.zeros(len(rows[1]) - 1, np.int8)
    stamp = np.zeros(len(state[0]), np.int8)
    _merge(min(a, b), max(a, b), state, rows, row_stamp, stamp)


@kernel
def drop(a: int, state: State) -> None:
    """Suppress a cluster with all its members; supports of the others do not change."""
    label, after, active, n_active = state[0], state[1], state[7], state[8]
    member = a
    while member >= 0:
        label[member] = -1
        member = after[member]
    n = 0
    for i in range(n_active[0]):
        if active[i] != a:
            active[n] = active[i]
            n += 1
    n_active[0] = n


@inner
def _least_supported(image: Array, state: State) -> Array:
    """The cluster of an image with the least support, then the fewest members, then the least label."""
    size, support = state[3], state[4]
    best = 0
    for i in range(1, len(image)):
        x, y = image[i], image[best]
        order = support[x] - support[y]
        if order == 0:
            order = size[x] - size[y]
        if order < 0 or (order == 0 and x < y):
            best = i
    return image[best : best + 1]


@inner
def _coarsen(
    image: Array, least_first: bool, state: State, rows: Rows, row_stamp: Array, stamp: Array
) -> tuple[int, int]:
    """Make an image coarser by one merge; where no block allows one, suppress its least cluster.

    With ``least_first`` only the least cluster is merged with others. Returns a, b if b was merged into a;
    a, a if a was suppressed; -1, -1 if too many items would be, which ``spare[1]`` says of which cluster.
    """
    size, spare = state[3], state[10]
    a, b = _cheapest_merge(_least_supported(image, state) if least_first else image, state)
    if a >= 0:
        _merge(a, b, state, rows, row_stamp, stamp)
        return a, b
    a = _least_supported(image, state)[0]
    if size[a] > spare[0]:
        spare[1] = a
        return -1, -1
    spare[0] -= size[a]
    drop(a, state)
    return a, a


@kernel
def satisfy_pairs(
    k: int,
    pairs: bool,
    least_first: bool,
    limit: int,
    state: State,
    rows: Rows,
    rarest: Array,
    partner: Array,
) -> int:
    """Merge and suppress until no cluster, and with ``pairs`` no pair of clusters, has a support in (0, k).

    The largest such support comes first; then a cluster before a pair, then the order of labels. At most
    about ``limit`` steps are made, so that the caller can report progress; their number is returned.
    ``rarest``/``partner`` cache, by cluster, its largest pair support below k; partner -2 asks for a look.
    """
    label, support, co, spare = state[0], state[4], state[6], state[10]
    row_stamp = np.zeros(len(rows[1]) - 1, np.int8)
    stamp = np.zeros(len(label), np.int8)
    itemset = np.empty(2, np.int64)
    steps = 0
    while steps < limit and spare[1] < 0:
        itemset[0], itemset[1] = _largest_rare(k, pairs, state, rarest, partner)
        if itemset[0] < 0:
            break
        while True:
            image = _image(itemset, label, stamp)
            if len(image) == 0:
                break
            if (support[image[0]] if len(image) == 1 else co[image[0], image[1]]) >= k:
                break
            a, b = _coarsen(image, least_first, state, rows, row_stamp, stamp)
            if a < 0:
                return steps
            steps += 1
            _refresh(a, b, k, state, rarest, partner)
    return steps


@inner
def _largest_rare(k: int, pairs: bool, state: State, rarest: Array, partner: Array) -> tuple[int, int]:
    """The cluster, twice, or the pair of clusters with the largest support in (0, k), or (-1, -1)."""
    support, co, active, n_active = state[4], state[6], state[7], state[8]
    first, second, most = -1, -1, 0
    for i in range(n_active[0]):
        a = active[i]
        if most < support[a] < k:
            first, second, most = a, a, support[a]
    if pairs:
        for i in range(n_active[0]):
            a = active[i]
            if partner[a] == -2:
                _find_rarest(a, k, co, active, n_active[0], rarest, partner)
            if rarest[a] > most:
                first, second, most = a, partner[a], rarest[a]
    return first, second


@inner
def _refresh(a: int, b: int, k: int, state: State, rarest: Array, partner: Array) -> None:
    """Renew what is cached after b was merged into a, or a, which then is b, was suppressed."""
    label, co, active, n_active = state[0], state[6], state[7], state[8]
    for i in range(n_active[0]):
        r = active[i]
        if partner[r] == a or partner[r] == b:
            partner[r] = -2
        elif label[a] >= 0 and partner[r] != -2 and 0 < co[r, a] < k:
            if co[r, a] > rarest[r] or (co[r, a] == rarest[r] and a < partner[r]):
                rarest[r], partner[r] = co[r, a], a
    partner[a] = -2


@inner
def _find_rarest(
    a: int, k: int, co: Array, active: Array, n_active: int, rarest: Array, partner: Array
) -> None:
    rarest[a], partner[a] = 0, -1
    for i in range(n_active):
        r = active[i]
        if r != a and rarest[a] < co[a, r] < k:
            rarest[a], partner[a] = co[a, r], r


@inner
def _image(itemset: Array, label: Array, stamp: Array) -> Array:
    """The distinct clusters of an itemset; suppressed items (label -1) have none."""
    image = np.empty(len(itemset), np.int64)
    n = 0
    for item in itemset:
        cluster = label[item]
        if cluster >= 0 and stamp[cluster] == 0:
            stamp[cluster] = 1
            image[n] = cluster
            n += 1
    for i in range(n):
        stamp[image[i]] = 0
    return image[:n]


@kernel
def bitmaps(codes: Array, offsets: Array, n_items: int) -> Array:
    """For each item the rows that hold it, one bit a row."""
    bits = np.zeros((n_items, (len(offsets) + 62) // 64), np.uint64)
    for row in range(len(offsets) - 1):
        for position in range(offsets[row], offsets[row + 1]):
            bits[codes[position], row >> 6] |= np.uint64(1) << np.uint64(row & 63)
    return bits


@inner
def _image_support(image: Array, enough: int, bits: Array, weights: Array) -> int:
    """Transactions that hold all clusters of an image; counting stops when there are enough."""
    total = 0
    if len(image) == 0:
        return total
    for i in range(bits.shape[1]):
        word = bits[image[0], i]
        for cluster in image[1:]:
            word &= bits[cluster, i]
        if word:
            for bit in range(64):
                if (word >> np.uint64(bit)) & np.uint64(1):
                    total += weights[64 * i + bit]
            if total >= enough:
                break
    return total


@kernel
def itemset_supports(
    sets: Array, set_offsets: Array, enough: int, label: Array, bits: Array, weights: Array
) -> Array:
    """Support of the image of each itemset, or any number that is enough."""
    stamp = np.zeros(len(label), np.int8)
    supports = np.empty(len(set_offsets) - 1, np.int64)
    for i in range(len(supports)):
        image = _image(sets[set_offsets[i] : set_offsets[i + 1]], label, stamp)
        supports[i] = _image_support(image, enough, bits, weights)
    return supports


@kernel
def satisfy_itemsets(
    k: int,
    least_first: bool,
    limit: int,
    sets: Array,
    set_offsets: Array,
    cursor: Array,
    bits: Array,
    weights: Array,
    state: State,
    rows: Rows,
) -> int:
    """Merge and suppress until the image of no given itemset, one after the other, has a support in (0, k).

    ``bits`` are those of the clusters, and are kept current. ``cursor[0]`` is the itemset to begin with,
    and is moved. At most about ``limit`` steps are made; their number is returned.
    """
    label = state[0]
    row_stamp = np.zeros(len(rows[1]) - 1, np.int8)
    stamp = np.zeros(len(label), np.int8)
    steps = 0
    while cursor[0] < len(set_offsets) - 1 and steps < limit:
        itemset = sets[set_offsets[cursor[0]] : set_offsets[cursor[0] + 1]]
        image = _image(itemset, label, stamp)
        while 0 < _image_support(image, k, bits, weights) < k:
            a, b = _coarsen(image, least_first, state, rows, row_stamp, stamp)
            if a < 0:
                return steps
            for i in range(bits.shape[1]):
                bits[a, i] |= bits[b, i]
            steps += 1
            image = _image(itemset, label, stamp)
        cursor[0] += 1
    return steps
