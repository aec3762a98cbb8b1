"""Global recoding of quasi-identifiers: in all rows, a value is published as the same node or range."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise, product
from math import prod
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Ranges, Taxonomy, bounds
from pdanon.algorithms.relational.publishing import Combinations, by_value, release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiLike, group_rows
from pdanon.algorithms.states.cuts import sum_below
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Mask, Numbers
from pdanon.itemsets.lists import mask_at, sums
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.timing import count_steps
from pdanon.recoding.result import Anonymized

# --- Incognito: one level of generalization for each column, the best of all k-anonymous combinations


Levels: TypeAlias = tuple[int, ...]

_MOST = 5_000_000  # combinations of levels that are searched in minutes
_NUMBER, _TUPLE = 8, 64  # bytes of a node or level, and of a tuple in a list without its numbers


@called_by_name
def incognito(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    max_suppressed: float = 0,
) -> Anonymized:
    """Generalize each column to one level of its hierarchy, with the best combination of levels.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, max_suppressed : int, sequence of hashable or mapping, float
        As in `cluster`.

    Returns
    -------
    Anonymized
        A global recoding to one level per column, with the least NCP of all that are k-anonymous.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. All combinations of levels are searched, for growing sets of
    columns. A combination is skipped if it is not k-anonymous without one of its columns. Combinations above
    a k-anonymous one are k-anonymous. The combination of all columns with the least NCP is applied. Ties:
    less NCP before rows are suppressed, then the lowest level in the first column, then in the next.

    With ``max_suppressed``, a combination may leave up to the allowed number of rows in classes of fewer than
    k. They are suppressed, and the smallest other class with them if they are fewer than k (ties: the first).

    Level l generalizes leaves and nodes to the depth of the height of the hierarchy less l, if they are
    deeper. Numbers and times without a hierarchy have a balanced one: pairs of consecutive values, pairs of
    pairs, and so on. Other values without a hierarchy have two levels: themselves and the set of all.

    Cost: time of the rows for each combination of levels that is counted. Their number grows with the product
    of the heights and doubles with each column: up to about eight are practical, and over 5 million raise an
    error.

    References
    ----------
    .. [1] K. LeFevre, D. J. DeWitt, R. Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity",
       SIGMOD 2005.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.incognito(df, k=2, quasi=["age", "origin"]).frame
            age                 origin
    0  [19, 22]  (France,Greece,Spain)
    1  [19, 22]  (France,Greece,Spain)
    2  [28, 39]  (France,Greece,Spain)
    3  [28, 39]  (France,Greece,Spain)
    """
    return release_classes(INCOGNITO, locals())


@by_value
def choose_levels(data: Combinations) -> Classes:
    """Choose the level of each column as `incognito` does."""
    ladders = [ladder(each) for each in data.table.attributes]
    n_combinations = prod(len(ladder) + 1 for ladder in ladders)  # + 1: the column is left out
    if n_combinations > _MOST:
        raise ParameterError(
            "there are too many combinations of levels to search",
            where="quasi",
            got=f"{len(ladders)} columns, {n_combinations:.2g} combinations",
            hint="pass fewer columns, hierarchies of fewer levels, or use mondrian or top_down",
        )
    levels = best_levels(data, ladders)
    classes = data.publish([column[level] for column, level in zip(ladders, levels, strict=True)])
    assert classes is not None  # `best_levels` only returns levels that can be published
    return classes


def best_levels(data: Combinations, ladders: list[list[Numbers]]) -> Levels:
    """Return the levels of least NCP, given the nodes of each level."""
    n_levels = [len(column) for column in ladders]
    n_bytes = _NUMBER * len(data.weights) * sum(n_levels) + (_TUPLE + _NUMBER * len(ladders)) * prod(n_levels)
    require_memory(n_bytes, "the combinations of levels")
    keys = [[nodes[codes] for nodes in own] for own, codes in zip(ladders, data.table.codes.T, strict=True)]
    places = range(len(ladders))
    possible: dict[tuple[int, ...], set[Levels]] = {}
    for subset in (each for size in range(1, len(ladders) + 1) for each in combinations(places, size)):
        found = possible[subset] = set()
        # By sum: all combinations below another one are checked before it.
        for levels in sorted(product(*(range(len(ladders[place])) for place in subset)), key=sum):
            chosen = [keys[place][level] for place, level in zip(subset, levels, strict=True)]
            if _is_above(levels, found) or (
                _is_possible(subset, levels, possible) and data.can_suppress(chosen)
            ):
                found.add(levels)
        count_steps()
    generalized = [
        [int(data.weights @ each.taxonomy.penalties[nodes]) for nodes in column]
        for each, column in zip(data.table.attributes, keys, strict=True)
    ]
    # The generalized loss is a lower bound, as suppressed rows lose more: the search stops at the best loss.
    best: tuple[int, Levels] | None = None
    for bound, levels in sorted(
        (sum(map(list.__getitem__, generalized, levels)), levels) for levels in possible[tuple(places)]
    ):
        if best is not None and bound >= best[0]:
            break
        chosen = [column[level] for column, level in zip(keys, levels, strict=True)]
        loss = data.loss(chosen)
        if loss is not None and (best is None or loss < best[0]):
            best = loss, levels
    assert best is not None  # all rows are one class at the roots
    return best[1]


def ladder(attribute: Attribute) -> list[Numbers]:
    """Return the node of each value, level by level, from the leaves to the root."""
    tree, nodes = attribute.taxonomy.hierarchy, attribute.taxonomy.leaves
    ladder = [nodes]
    for depth in range(tree.height - 1, -1, -1):
        nodes = np.where(tree.depth[nodes] > depth, tree.parent[nodes], nodes)
        ladder.append(nodes)
    return ladder


def _is_above(levels: Levels, found: set[Levels]) -> bool:
    """Return whether a combination one level lower, in one column, has been found."""
    return any((*levels[:i], level - 1, *levels[i + 1 :]) in found for i, level in enumerate(levels))


def _is_possible(
    subset: tuple[int, ...], levels: Levels, possible: dict[tuple[int, ...], set[Levels]]
) -> bool:
    """Return whether each choice of all columns but one is k-anonymous at these levels."""
    return len(subset) == 1 or all(
        (*levels[:i], *levels[i + 1 :]) in possible[(*subset[:i], *subset[i + 1 :])]
        for i in range(len(subset))
    )


INCOGNITO = Algorithm(incognito, (KAnonymity,), recodes="values", form=choose_levels, by_value=True)


# --- Full-subtree generalization, bottom-up: replace all children of a node by the node, repeatedly


_FEW = 20_000  # combinations of levels that are searched in a few seconds

# Column, node, the values below the node, and their nodes before the step.
Step: TypeAlias = tuple[int, int, Numbers, Numbers]


@called_by_name
def full_subtree(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    max_suppressed: float = 0,
) -> Anonymized:
    """Replace all children of a node by the node where this gains the most anonymity for its loss.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, max_suppressed : int, sequence of hashable or mapping, float
        As in `cluster`.

    Returns
    -------
    Anonymized
        A global recoding to a cut of each hierarchy: no published node is below another.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. Each value in fewer than k rows is first raised, with its whole
    subtree, to the lowest ancestor in k rows. While a row is in a class of fewer than k, a node replaces its
    children if all of them are in the cut: the one that gains the most anonymity for its NCP. Anonymity is
    the size of the class, at most k, summed over the rows. Ties: a node above a row in a class of fewer than
    k, then the least NCP, the first column, the first node. The roots are the last resort. Unnecessary steps
    are then reverted, the latest first. For at most 20,000 combinations of levels, the search also starts
    from the best one, see :func:`pdanon.incognito`, and the release with less NCP is returned.

    With ``max_suppressed``, both phases also end when no more rows than allowed are in nodes, then in
    classes, of fewer than k. Rows in such classes are suppressed, and the smallest other class with them if
    they are fewer than k. Steps are reverted if that loses less. Numbers and times without a hierarchy have a
    balanced one: pairs of consecutive values, pairs of pairs, and so on. Other values without a hierarchy are
    published as they are, or all as the set of all values.

    Cost: time of the classes for each column and step, with at most as many steps as nodes, and of
    `incognito` where it is tried. Memory of a few numbers for each row and column.

    References
    ----------
    .. [1] K. Wang, P. S. Yu, S. Chakraborty, "Bottom-Up Generalization: A Data Mining Solution to Privacy
       Protection", ICDM 2004.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.full_subtree(df, k=2, quasi=["age", "origin"]).frame
            age                 origin
    0  [19, 22]  (France,Greece,Spain)
    1  [19, 22]  (France,Greece,Spain)
    2  [28, 39]  (France,Greece,Spain)
    3  [28, 39]  (France,Greece,Spain)
    """
    return release_classes(FULL_SUBTREE, locals())


@by_value
def raise_groups(data: Combinations) -> Classes:
    """Choose the cut of each hierarchy as `full_subtree` does."""
    allowed = [data._replace(most=most) for most in sorted({0, data.most})]
    return min((found for each in allowed for found in _releases(each)), key=lambda each: each.loss)


def _releases(data: Combinations) -> list[Classes]:
    """Return the releases found from the leaves and from the best levels, for this many suppressed rows."""
    cuts = [
        _necessary_cut(each.taxonomy, codes, data.weights, data.k, data.most)
        for each, codes in data.table.columns()
    ]
    starts = [(cuts, _raise(cuts, data))]
    ladders = [ladder(each) for each in data.table.attributes]
    if prod(map(len, ladders)) <= _FEW:
        starts.append(_levels(ladders, best_levels(data, ladders)))
    found = []
    for cuts, steps in starts:
        before = data.publish(cuts)
        _take_back(cuts, steps, data)
        # Ranges and sets of fewer values may lose less than their nodes, so either release may be better.
        found += [each for each in (data.publish(cuts), before) if each is not None]
    return found


def _levels(ladders: list[list[Numbers]], levels: Levels) -> tuple[list[Numbers], list[Step]]:
    """Return the cuts at some levels, and the steps to them from the leaves."""
    steps: list[Step] = []
    for place, (column, level) in enumerate(zip(ladders, levels, strict=True)):
        for before, after in pairwise(column[: level + 1]):
            for node in np.unique(after[after != before]).tolist():
                values = np.flatnonzero(after == node)
                steps.append((place, node, values, before[values]))
    return [column[level].copy() for column, level in zip(ladders, levels, strict=True)], steps


def _take_back(cuts: list[Numbers], steps: list[Step], data: Combinations) -> None:
    """Revert steps in place, the latest first, where this loses less."""
    least = data.loss(data.keys(cuts))
    for place, node, values, before in reversed(steps):
        cut = cuts[place]
        if (cut[values] == node).all():  # else a later step raised them further and was necessary
            cut[values] = before
            now = data.loss(data.keys(cuts))
            if now is None or (least is not None and now > least):
                cut[values] = node
            else:
                least = now


def _raise(cuts: list[Numbers], data: Combinations) -> list[Step]:
    """Raise the cuts in place until few rows are in classes of fewer than k; return the steps."""
    taxonomies = [each.taxonomy for each in data.table.attributes]
    keys, weights, k = data.keys(cuts), data.weights, data.k
    steps: list[Step] = []
    while True:
        keys, weights = _merge_equal(keys, weights)
        if weights[weights < k].sum() <= data.most:
            return steps
        found = [
            (*score, place, node)
            for place, taxonomy in enumerate(taxonomies)
            for score, node in _best_group(taxonomy, keys, weights, place, k)
        ]
        # Of equal scores, the first column and the lowest node.
        *_, place, node = max(found, key=lambda each: (*each[:-2], -each[-2], -each[-1]))
        last = node + taxonomies[place].hierarchy.size[node]
        cut, key = cuts[place], keys[place]
        values = np.flatnonzero((cut >= node) & (cut < last))
        steps.append((place, node, values, cut[values]))
        cut[values] = node
        key[(key >= node) & (key < last)] = node
        count_steps()


def _necessary_cut(taxonomy: Taxonomy, codes: Codes, weights: Numbers, k: int, allowed: int) -> Numbers:
    """Raise nodes of fewer than k rows until few rows have one; return the node of each value."""
    tree = taxonomy.hierarchy
    rows = sum_below(weights, tree, taxonomy.leaves[codes])
    nodes = taxonomy.leaves.copy()
    while True:
        rare = np.unique(nodes[(rows[nodes] > 0) & (rows[nodes] < k)])
        if rows[rare].sum() <= allowed:
            return nodes
        for node in np.unique(tree.parent[rare]).tolist():
            nodes[(nodes >= node) & (nodes < node + tree.size[node])] = node


def _merge_equal(keys: list[Numbers], weights: Numbers) -> tuple[list[Numbers], Numbers]:
    """Merge classes that became equal."""
    groups = group_rows(keys, len(weights))
    first = np.unique(groups, return_index=True)[1]
    return [key[first] for key in keys], sums(groups, weights)


def _best_group(
    taxonomy: Taxonomy, keys: list[Numbers], weights: Numbers, place: int, k: int
) -> list[tuple[tuple[Fraction, bool, int], int]]:
    """Return the best node to replace its children in one column, with its score; none at the root."""
    complete = _complete(taxonomy, keys[place])
    above = taxonomy.hierarchy.parent[keys[place]].astype(np.int64)
    chosen = (above >= 0) & complete[above]
    if not chosen.any():
        return []
    nodes, below = np.unique(above[chosen], return_inverse=True)
    old = weights[chosen]
    others = [key[chosen] for i, key in enumerate(keys) if i != place]
    merged = group_rows([*others, below], len(old))
    new = sums(merged, old)
    owner = np.empty(len(new), np.int64)
    owner[merged] = below
    gain = sums(owner, new * np.minimum(new, k)) - sums(below, old * np.minimum(old, k))
    lost = taxonomy.penalties[above[chosen]] - taxonomy.penalties[keys[place][chosen]]
    cost = sums(below, old * lost)
    risky = sums(below, np.where(old < k, old, 0)) > 0
    ratio = gain / np.maximum(cost, 1)
    near = np.flatnonzero(ratio >= ratio.max() * (1 - 1e-9))  # floats preselect, fractions decide
    scores = [
        ((Fraction(int(gain[i]), max(int(cost[i]), 1)), bool(risky[i]), -int(cost[i])), int(nodes[i]))
        for i in near
    ]
    return [max(scores, key=lambda each: (each[0], -each[1]))]


def _complete(taxonomy: Taxonomy, cut: Numbers) -> Mask:
    """Return for each node whether the cut contains all its children that have a value."""
    tree, nodes = taxonomy.hierarchy, np.unique(cut)
    present = sum_below(np.ones_like(nodes), tree, nodes) > 0
    lacking = np.flatnonzero(present & ~mask_at(tree.n_nodes, nodes))
    return ~mask_at(tree.n_nodes, tree.parent[lacking[1:]])  # the first is the root, which has no parent


FULL_SUBTREE = Algorithm(full_subtree, (KAnonymity,), recodes="values", form=raise_groups, by_value=True)


# --- Top-down specialization: start from one class, and separate values where this gains most


@called_by_name
def top_down(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: QuasiLike,
    max_suppressed: float = 0,
) -> Anonymized:
    """Start from one class, and separate values where the gain is largest for the anonymity it costs.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, max_suppressed : int, sequence of hashable or mapping, float
        As in `cluster`.

    Returns
    -------
    Anonymized
        A global recoding: all rows publish a value in the same way.

    Raises
    ------
    InfeasibleError, HierarchyError, ColumnError, ItemsetDtypeError, ParameterError
        As in `cluster`.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. A specialization replaces a node by its children, a range of numbers
    or times by two, or the set of all other values by the single values. It is applied only if all classes
    keep k rows. An impossible one never becomes possible. The one with the highest score comes next (ties:
    the first column, the lowest values). The score is the gain in NCP, divided by the number of rows that
    the smallest class loses, if it loses any. A range is cut where that gains most NCP (ties: the lowest
    cut). The paper measures the gain by a class label, which does not exist here.

    With ``max_suppressed``, a specialization may leave up to the allowed number of rows in classes of fewer
    than k. They are suppressed, and their loss is subtracted from the gain. Of this release and the one
    without suppressed rows, the one with less NCP is returned.

    Cost: time of the distinct combinations of values, for each column and specialization. Memory of a few
    numbers for each row and column.

    References
    ----------
    .. [1] B. C. M. Fung, K. Wang, P. S. Yu, "Top-Down Specialization for Information and Privacy
       Preservation", ICDE 2005.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"age": [19, 22, 28, 39], "origin": ["France", "Greece", "Spain", "Spain"]})
    >>> pdanon.top_down(df, k=2, quasi=["age", "origin"]).frame
            age                 origin
    0  [19, 22]  (France,Greece,Spain)
    1  [19, 22]  (France,Greece,Spain)
    2  [28, 39]  (France,Greece,Spain)
    3  [28, 39]  (France,Greece,Spain)
    """
    return release_classes(TOP_DOWN, locals())


@by_value
def specialize(data: Combinations) -> Classes:
    """Choose the values to separate as `top_down` does."""
    found = [data.publish(_groups(data, allowed)) for allowed in sorted({0, data.most})]
    return min((each for each in found if each is not None), key=lambda each: each.loss)


class _Rows(NamedTuple):
    """Combinations of values, without suppressed rows."""

    tuples: list[Codes]  # the values, column by column
    weights: Numbers  # number of rows with each combination
    classes: Numbers  # class of each combination

    def take(self, chosen: Mask) -> _Rows:
        """Select combinations."""
        return _Rows([codes[chosen] for codes in self.tuples], self.weights[chosen], self.classes[chosen])


class _Step(NamedTuple):
    """A specialization: its gain, its smallest class, the group of each value, the suppressed rows."""

    gain: int
    smallest: int
    parts: Numbers
    gone: Mask


def _groups(data: Combinations, left: int) -> list[Numbers]:
    """Return the group of each value, for this many suppressed rows."""
    attributes, tuples = zip(*data.table.columns(), strict=True)
    rows = _Rows([*tuples], data.weights, np.zeros(len(data.weights), np.int64))
    groups = [np.zeros(each.n_values, np.int64) for each in attributes]  # all are at the root
    done: set[tuple[int, int]] = set()  # groups that cannot be split: later steps only shrink classes
    while len(rows.weights):
        sizes = sums(rows.classes, rows.weights)
        spare = _spare(attributes, groups, rows) if left else np.zeros(len(rows.weights), np.int64)
        best: tuple[Fraction, int, int, _Step] | None = None
        for place, (attribute, codes) in enumerate(zip(attributes, rows.tuples, strict=True)):
            of_tuple = groups[place][codes]
            for group in np.unique(of_tuple).tolist():
                if (place, group) in done:
                    continue
                members = of_tuple == group
                step = _step(attribute, place, group, rows.take(members), spare[members], data.k, left)
                if step is None:
                    done.add((place, group))
                    continue
                # Not positive if the smallest class is unchanged.
                shrinks = int(sizes.min()) - step.smallest
                score = Fraction(step.gain, max(shrinks, 1))
                if best is None or score > best[0]:
                    best = score, place, group, step
        if best is None or best[0] < 0:  # a negative gain: suppression would lose more than it saves
            break
        _, place, group, step = best
        kept = ~mask_at(
            len(rows.weights), np.flatnonzero(groups[place][rows.tuples[place]] == group)[step.gone]
        )
        left -= int(rows.weights[~kept].sum())
        groups[place] = np.where(groups[place] == group, step.parts, groups[place])
        rows = rows.take(kept)
        classes = group_rows([rows.classes, groups[place][rows.tuples[place]]], len(rows.weights))
        rows = rows._replace(classes=classes)
        count_steps()
    return groups


def _spare(attributes: Sequence[Attribute], groups: Sequence[Numbers], rows: _Rows) -> Numbers:
    """Return the additional loss of each combination if it were suppressed."""
    columns = zip(attributes, groups, rows.tuples, strict=True)
    return np.sum([each.whole - _lost(each, of, codes) for each, of, codes in columns], axis=0)


def _lost(attribute: Attribute, groups: Numbers, codes: Codes) -> Numbers:
    """Return the loss of each value as a member of its group."""
    if not isinstance(attribute, Ranges):
        return attribute.taxonomy.penalties[groups[codes]]
    names, of_code = np.unique(groups[codes], return_inverse=True)
    return attribute.between(*bounds(of_code, codes, len(names)))[of_code]


def _step(
    attribute: Attribute, place: int, group: int, rows: _Rows, spare: Numbers, k: int, left: int
) -> _Step | None:
    """Return the specialization of a group in one column, or None."""
    # A group is identified by its node or, for a range, by its lowest value.
    codes = rows.tuples[place]
    parts = _parts(attribute, group, codes, rows, k, left)
    if parts is None:
        return None
    after = group_rows([rows.classes, parts[codes]], len(codes))
    sizes = sums(after, rows.weights)
    gone = sizes[after] < k
    if gone.all() or rows.weights[gone].sum() > left:
        return None
    before = _lost(attribute, np.zeros(attribute.n_values, np.int64) + group, codes)[~gone]
    saved = before - _lost(attribute, parts, codes[~gone])
    gain = int(rows.weights[~gone] @ saved) - int(rows.weights[gone] @ spare[gone])
    return _Step(gain, int(sizes[sizes >= k].min()), parts, gone)


def _parts(attribute: Attribute, group: int, codes: Codes, rows: _Rows, k: int, left: int) -> Numbers | None:
    """Return the new group of each value: a child of the node, or one of two ranges."""
    if isinstance(attribute, Ranges):
        last = _best_cut(attribute, codes, rows.classes, rows.weights, k, left)
        return None if last is None else np.where(np.arange(attribute.n_values) > last, last + 1, group)
    taxonomy = attribute.taxonomy
    children = taxonomy.hierarchy.children(group).astype(np.int64)
    if len(children) == 0:
        return None
    return children[np.searchsorted(children, taxonomy.leaves, side="right") - 1]


def _best_cut(
    attribute: Ranges, codes: Codes, classes: Numbers, weights: Numbers, k: int, left: int
) -> int | None:
    """Return the last value below the best cut of a range that suppresses at most ``left`` rows."""
    # On either side of a cut, a class has at least k rows, or none, or its rows are suppressed.
    order = np.lexsort((codes, classes))
    ordered, owner, rows = codes[order], classes[order], weights[order]
    below = np.cumsum(rows)
    starts = np.searchsorted(owner, owner)
    below -= below[starts] - rows[starts]  # rows of the class up to each value
    above = sums(owner, rows)[owner] - below
    few = np.where(below < k, below, 0) + np.where(above < k, above, 0)
    # A cut between two values of a class splits it into the rows up to the lower value and the rest.
    bad = np.flatnonzero((owner[1:] == owner[:-1]) & (few[:-1] > 0))
    low, high = int(codes.min()), int(codes.max())
    change = np.zeros(high - low + 1, np.int64)
    np.add.at(change, ordered[bad] - low, few[bad])
    np.add.at(change, ordered[bad + 1] - low, -few[bad])
    gone = np.cumsum(change)[:-1]
    cuts = np.flatnonzero(gone <= left)
    if len(cuts) == 0:
        return None
    lower = np.cumsum(sums((codes - low).astype(np.int64), weights))[cuts]
    first, last = np.full(len(cuts), low), np.full(len(cuts), high)
    kept = lower * attribute.between(first, cuts + low)
    kept += (int(weights.sum()) - lower) * attribute.between(cuts + low + 1, last)
    return int(cuts[np.argmin(kept + gone[cuts] * attribute.unit)]) + low


TOP_DOWN = Algorithm(top_down, (KAnonymity,), recodes="values", form=specialize, by_value=True)
