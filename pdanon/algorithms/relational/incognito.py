"""Incognito: one level of generalization for each column, the best of all that are k-anonymous.

LeFevre, DeWitt, Ramakrishnan, "Incognito: Efficient Full-Domain K-Anonymity", SIGMOD 2005.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import combinations, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import Algorithm
from pdanon.algorithms.relational.attributes import Attribute, Numbers
from pdanon.algorithms.relational.publishing import release_classes
from pdanon.algorithms.relational.quasi import Classes, QuasiTable
from pdanon.algorithms.relational.suppression import lost, published, rows_below
from pdanon.errors import ParameterError
from pdanon.guarantees import KAnonymity
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import called_by_name
from pdanon.recoding.result import Anonymized

__all__ = ["RECORD", "Levels", "best_levels", "choose_levels", "incognito", "ladder"]

Levels: TypeAlias = tuple[int, ...]

_MOST = 5_000_000  # combinations: minutes


@called_by_name
def incognito(
    frame: pd.DataFrame,
    *,
    k: int,
    quasi: Sequence[Hashable],
    hierarchies: Mapping[Hashable, HierarchyLike] | None = None,
    suppress: float = 0,
    keep: Sequence[Hashable] = (),
    progress: bool = False,
) -> Anonymized:
    """Generalize each column to one level of its hierarchy, the best combination of levels.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    k : int
        Least number of rows that an attacker's knowledge must match; at least 2.
    quasi : sequence of hashable
        Labels of the columns that an attacker may know.
    hierarchies : mapping, optional
        By quasi-identifier, a hierarchy or what ``Hierarchy.of`` makes one of.
    suppress : float
        Share of the rows, in [0, 1], of which nothing need be published, if that loses less. They are one
        class, of at least k rows.
    keep : sequence of hashable
        Columns that you have judged, and that may be published as they are: no warning is about them.
    progress : bool
        Show a progress bar.

    Returns
    -------
    Anonymized
        A global recoding to one level a column, the one of least NCP among all that are k-anonymous.

    Raises
    ------
    InfeasibleError
        If there are fewer than k, but more than 0, rows.
    HierarchyError
        If a hierarchy is not a tree or lacks values of its column.
    ColumnError, ItemsetDtypeError, ParameterError
        If a column or a parameter is not what it should be.

    Notes
    -----
    Guarantee: ``KAnonymity(k, quasi)``. All combinations of levels are looked at, for ever larger sets of
    columns. One is passed over if leaving a column out of it is not k-anonymous; above one that is
    k-anonymous all are. Of those of all columns, the one of least NCP is applied (ties: the one of less NCP
    before rows are suppressed, then the least general in the first column, then in the next).

    With ``suppress``, a combination need only leave no more rows than allowed in classes of fewer than k.
    These are suppressed, and with them the smallest other class if they are fewer than k (ties: the first).

    At level l, leaves and nodes that are deeper than the height of the hierarchy less l are generalized to
    that depth. Without a hierarchy, numbers and times have one of pairs of consecutive values, pairs of
    those, and so on; other values have two levels, themselves and the set of all.

    Cost: time of rows for each combination of levels that is counted, whose number grows with the product
    of the heights and doubles with each column: up to about eight columns, and refused beyond 5 million.


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
    return release_classes(
        frame,
        "incognito",
        choose_levels,
        k=k,
        quasi=quasi,
        hierarchies=hierarchies,
        suppress=suppress,
        keep=keep,
        progress=progress,
    )


def choose_levels(
    table: QuasiTable, k: int, rng: np.random.Generator, report: Callable[[int], Any], most: int = 0
) -> Classes:
    """Decide the level of each column, as `incognito` says; nothing is left to chance."""
    ladders = [ladder(each) for each in table.attributes]
    _refuse_too_many(ladders)
    levels = best_levels(table, ladders, k, report, most)
    cuts = [column[level] for column, level in zip(ladders, levels, strict=True)]
    classes = published(table, cuts, k, most)
    assert classes is not None  # they were found to be possible
    return classes


def best_levels(
    table: QuasiTable, ladders: list[list[Numbers]], k: int, report: Callable[[int], Any], most: int
) -> Levels:
    """The level of each column, of least NCP, given the nodes of each level."""
    tuples, weights = table.distinct()
    keys = [[nodes[codes] for nodes in column] for column, codes in zip(ladders, tuples, strict=True)]
    places = range(len(ladders))
    possible: dict[tuple[int, ...], set[Levels]] = {}
    for subset in (each for size in range(1, len(ladders) + 1) for each in combinations(places, size)):
        found = possible[subset] = set()
        for levels in sorted(product(*(range(len(ladders[place])) for place in subset)), key=sum):
            chosen = [keys[place][level] for place, level in zip(subset, levels, strict=True)]
            if _is_above(levels, found) or (
                _is_possible(subset, levels, possible) and rows_below(chosen, weights, k) <= most
            ):
                found.add(levels)
        report(1)
    generalized = [
        [int(weights @ each.taxonomy.penalties[nodes]) for nodes in column]
        for each, column in zip(table.attributes, keys, strict=True)
    ]
    # Suppressed rows lose more than generalized ones: what comes later loses at least as much.
    best: tuple[int, Levels] | None = None
    for bound, levels in sorted(
        (sum(map(list.__getitem__, generalized, levels)), levels) for levels in possible[tuple(places)]
    ):
        if best is not None and bound >= best[0]:
            break
        chosen = [column[level] for column, level in zip(keys, levels, strict=True)]
        loss = lost(table.attributes, chosen, weights, k, most)
        if loss is not None and (best is None or loss < best[0]):
            best = loss, levels
    assert best is not None  # the roots are one class
    return best[1]


def _refuse_too_many(ladders: list[list[Numbers]]) -> None:
    combinations_of_levels = prod(len(ladder) + 1 for ladder in ladders)  # or without the column
    if combinations_of_levels > _MOST:
        raise ParameterError(
            "there are too many combinations of levels to look at",
            where="quasi",
            got=f"{len(ladders)} columns, {combinations_of_levels:.2g} combinations",
            hint="name fewer columns, give hierarchies of fewer levels, or use mondrian or top_down",
        )


def ladder(attribute: Attribute) -> list[Numbers]:
    """Node of each value, level by level, from the leaves to the root."""
    tree, nodes = attribute.taxonomy.hierarchy, attribute.taxonomy.leaves
    ladder = [nodes]
    for depth in range(tree.height - 1, -1, -1):
        nodes = np.where(tree.depth[nodes] > depth, tree.parent[nodes], nodes)
        ladder.append(nodes)
    return ladder


def _is_above(levels: Levels, found: set[Levels]) -> bool:
    """Whether one level less, in one column, has been found."""
    return any((*levels[:i], level - 1, *levels[i + 1 :]) in found for i, level in enumerate(levels))


def _is_possible(
    subset: tuple[int, ...], levels: Levels, possible: dict[tuple[int, ...], set[Levels]]
) -> bool:
    """Whether all but one of the columns are k-anonymous at these levels, whichever is left out."""
    return len(subset) == 1 or all(
        (*levels[:i], *levels[i + 1 :]) in possible[(*subset[:i], *subset[i + 1 :])]
        for i in range(len(subset))
    )


RECORD = Algorithm(
    incognito,
    (KAnonymity,),
    recodes="values",
    form=choose_levels,
)
