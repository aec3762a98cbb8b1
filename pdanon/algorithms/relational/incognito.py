"""Incognito: one level of generalization for each column, the best of all k-anonymous combinations."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute
from pdanon.algorithms.relational.publishing import Combinations, publish_values, release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Numbers
from pdanon.itemsets.memory import require_memory
from pdanon.itemsets.timing import Report
from pdanon.recoding.result import Anonymized

Levels: TypeAlias = tuple[int, ...]

_MOST = 5_000_000  # combinations of levels that are searched in minutes
_NUMBER, _TUPLE = 8, 64  # bytes of a node or level, and of a tuple in a list without its numbers


@called_by_name
def incognito(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    max_suppressed: float = 0,
    keep: Sequence[Hashable] = (),
) -> Anonymized:
    """Generalize each column to one level of its hierarchy, with the best combination of levels.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified.
    k, quasi, hierarchies, max_suppressed : int, sequence of hashable, mapping, float
        As in `cluster`.
    keep : sequence of hashable
        Columns that you have reviewed and that may be published as they are. They cause no warning.

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
    return release_classes(RECORD, locals())


def choose_levels(table: QuasiTable, k: int, rng: np.random.Generator, report: Report, most: int) -> Classes:
    """Choose the level of each column as `incognito` does; nothing is random."""
    ladders = [ladder(each) for each in table.attributes]
    _refuse_too_many(ladders)
    levels = best_levels(Combinations(table.attributes, *table.combinations(), k, most), ladders, report)
    cuts = [column[level] for column, level in zip(ladders, levels, strict=True)]
    classes = publish_values(table, cuts, k, most)
    assert classes is not None  # `best_levels` only returns levels that can be published
    return classes


def best_levels(data: Combinations, ladders: list[list[Numbers]], report: Report) -> Levels:
    """Return the levels of least NCP, given the nodes of each level."""
    n_levels = [len(column) for column in ladders]
    n_bytes = _NUMBER * len(data.weights) * sum(n_levels) + (_TUPLE + _NUMBER * len(ladders)) * prod(n_levels)
    require_memory(n_bytes, "the combinations of levels")
    keys = [[nodes[codes] for nodes in column] for column, codes in zip(ladders, data.tuples, strict=True)]
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
        report(1)
    generalized = [
        [int(data.weights @ each.taxonomy.penalties[nodes]) for nodes in column]
        for each, column in zip(data.attributes, keys, strict=True)
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


def _refuse_too_many(ladders: list[list[Numbers]]) -> None:
    combinations_of_levels = prod(len(ladder) + 1 for ladder in ladders)  # + 1: the column is left out
    if combinations_of_levels > _MOST:
        raise ParameterError(
            "there are too many combinations of levels to search",
            where="quasi",
            got=f"{len(ladders)} columns, {combinations_of_levels:.2g} combinations",
            hint="pass fewer columns, hierarchies of fewer levels, or use mondrian or top_down",
        )


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


RECORD = Algorithm(incognito, (KAnonymity,), recodes="values", form=choose_levels, by_value=True)
