"""Kernels that turn rare sets of nodes into clauses on what is published.

Only some nodes may be published; ``up`` is the next of them above each, -1 where there is none. A path is
what is on the way from a node up to another. A clause is a list of paths, not all of which may have a
published node: wherever the paths begin in one row, and their upper ends are together in too few rows,
so are the nodes between.
"""

from __future__ import annotations

import numpy as np

from pdanon._kernels import inner, kernel
from pdanon._kernels.arrays import grown
from pdanon._kernels.counting import _contains, _rarest
from pdanon._kernels.cuts import Array, Supports, _maximal, _reached, _slot

__all__ = ["pair_clauses", "set_clauses"]


@kernel
def pair_clauses(k: int, fit: Array, up: Array, size: Array, supports: Supports) -> Array:
    """Clauses of two paths for all rare pairs of fit nodes: the lower and the upper end of each.

    Paths begin at the pairs that are rare with no lower node in place of either, and are as long as can be.
    """
    starts, partners = supports[1:3]
    rare = _rare_pairs(k, fit, size, supports)
    within = np.zeros(len(partners), np.bool_)
    for a in range(len(up)):
        for slot in range(starts[a], starts[a + 1]):
            if rare[slot]:
                b = partners[slot]
                for above in (_rare_slot(up[a], b, rare, supports), _rare_slot(a, up[b], rare, supports)):
                    if above >= 0:
                        within[above] = True
    ends = np.empty(64, np.int32)
    n = 0
    for a in range(len(up)):
        for slot in range(starts[a], starts[a + 1]):
            if not rare[slot] or within[slot]:
                continue
            b = partners[slot]
            top_a, top_b = a, b
            while _rare_slot(top_a, up[top_b], rare, supports) >= 0:
                top_b = up[top_b]
            while True:
                while _rare_slot(up[top_a], top_b, rare, supports) >= 0:
                    top_a = up[top_a]
                if n + 4 > len(ends):
                    ends = grown(ends, n, 2 * len(ends))
                ends[n], ends[n + 1], ends[n + 2], ends[n + 3] = a, top_a, b, top_b
                n += 4
                top_a, top_b = up[top_a], b
                if _rare_slot(top_a, b, rare, supports) < 0:
                    break
                while _rare_slot(top_a, up[top_b], rare, supports) >= 0:
                    top_b = up[top_b]
    return ends[:n]


@inner
def _rare_pairs(k: int, fit: Array, size: Array, supports: Supports) -> Array:
    """Which pairs are rare: of two fit nodes, neither above the other."""
    starts, partners, together = supports[1:4]
    rare = np.zeros(len(partners), np.bool_)
    for a in range(len(fit)):
        for slot in range(starts[a], starts[a + 1]):
            b = partners[slot]
            rare[slot] = fit[a] and fit[b] and together[slot] < k and b >= a + size[a]
    return rare


@inner
def _rare_slot(a: int, b: int, rare: Array, supports: Supports) -> int:
    """Place of a rare pair, -1 if it is none."""
    if a < 0 or b < 0:
        return -1
    slot = _slot(min(a, b), max(a, b), supports)
    return slot if slot >= 0 and rare[slot] else -1


@kernel
def set_clauses(
    k: int, sets: Array, set_offsets: Array, fit: Array, up: Array, size: Array, supports: Supports
) -> tuple[Array, Array]:
    """Clauses for rare sets of fit nodes, as CSR: the lower and the upper end of each path.

    Of each set as few nodes are taken as are rare, and paths go up as far as these stay rare. There is a
    clause for each row that holds the upper ends: its paths begin as low as they can, at or below the
    nodes of the set where the row holds these.
    """
    codes, offsets, _, starts, tids = supports[4:9]
    ends = np.empty(64, np.int32)
    bounds = np.zeros(65, np.int64)
    n = 0
    for i in range(len(set_offsets) - 1):
        at = _shrunk(sets[set_offsets[i] : set_offsets[i + 1]], k, supports)
        tops, nodes = at.copy(), at.copy()
        _rise(tops, nodes, k, up, size, supports)
        rarest = _rarest(nodes, starts)
        for slot in range(starts[rarest], starts[rarest + 1]):
            row = tids[slot]
            if not _contains(codes, offsets[row], offsets[row + 1], nodes):
                continue
            if bounds[n] + 2 * len(at) > len(ends):
                ends = grown(ends, bounds[n], 2 * (len(ends) + len(at)))
            if n + 2 > len(bounds):
                bounds = grown(bounds, n + 1, 2 * len(bounds))
            held = codes[offsets[row] : offsets[row + 1]]
            for place in range(len(at)):
                ends[bounds[n] + 2 * place] = _lowest(at[place], tops[place], held, fit, size)
                ends[bounds[n] + 2 * place + 1] = tops[place]
            n += 1
            bounds[n] = bounds[n - 1] + 2 * len(at)
    return ends[: bounds[n]], bounds[: n + 1]


@inner
def _shrunk(nodes: Array, k: int, supports: Supports) -> Array:
    """Nodes of a rare set, ascending, that are rare without the others, and each of which that needs."""
    kept = nodes.astype(np.int64)
    place = 0
    while place < len(kept) and len(kept) > 1:
        others = np.empty(len(kept) - 1, np.int64)
        for i in range(len(others)):
            others[i] = kept[i + (i >= place)]
        if _reached(others, k, supports) < k:
            kept = others
        else:
            place += 1
    return kept


@inner
def _rise(at: Array, image: Array, k: int, up: Array, size: Array, supports: Supports) -> None:
    """Raise one node of a rare set after the other while it stays rare; write the same set, ascending.

    No node is raised to be above another.
    """
    for place in range(len(at)):
        rare = True
        while rare and up[at[place]] >= 0:
            below = at[place]
            at[place] = up[below]
            rare = _maximal(at, size, image) == len(at) and _reached(image, k, supports) < k
            if not rare:
                at[place] = below
    _maximal(at, size, image)


@inner
def _lowest(node: int, top: int, held: Array, fit: Array, size: Array) -> int:
    """A fit node that a row holds, below a node if it holds that, else below the top."""
    lowest = top
    for code in held:
        if code == node:
            lowest = node
    for code in held:  # in pre-order what is below a node comes right after it
        if lowest < code < lowest + size[lowest] and fit[code]:
            lowest = code
    return lowest
