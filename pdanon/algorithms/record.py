"""What is known of an algorithm, in one record: all that finds, offers, tries or calls it reads that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np

from pdanon.itemsets.codes import Codes
from pdanon.recoding.result import Anonymized

__all__ = ["OF_LISTS", "Algorithm", "Recodes", "Way"]

Recodes: TypeAlias = Literal["items", "rows", "groups", "values", "both"]
OF_LISTS: tuple[Recodes, ...] = ("items", "rows", "groups")  # what recodes a list column, and nothing else


@dataclass(frozen=True, slots=True)
class Way:
    """How `pdanon.anonymize` tries an algorithm, which it tells what the guarantee says and some more.

    Parameters
    ----------
    guarantee : type
        The guarantee for which it is tried.
    order : int
        Ways with a lower one are tried before: the cheapest first.
    options : mapping
        Parameters and their values.
    needs : str
        The parameter of `anonymize` that it cannot do without, if there is one.
    endless : float
        For an algorithm that cannot be stopped: how many times as long as the first way it is expected to
        take. 0 for others.
    most : float
        For an algorithm with a time limit: the most seconds that it is given.
    """

    guarantee: type
    order: int
    options: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    endless: float = 0.0
    most: float = np.inf


@dataclass(frozen=True, eq=False, slots=True)
class Algorithm:
    """What is known of an algorithm.

    Parameters
    ----------
    function : callable
        The public function, by whose name the algorithm is known.
    guarantees : tuple of type
        What its releases may have: classes of `pdanon.guarantees`.
    recodes : {"items", "rows", "groups", "values", "both"}
        What becomes of a list column: an item is recoded alike in the whole table; or equal rows are; or not
        even these. Or what is recoded instead: values of quasi-identifiers, or both.
    keeps_type : bool
        Whether items are released as they were or not at all, and not as text.
    nodes : callable, optional
        How it generalizes the items of a cluster of rows: ``nodes(index, tree, leaves, k, m, report,
        **options)``, the node of each occurrence, -1 where it is suppressed. With it, or with ``sets``, it
        can be the ``transaction=`` of algorithms that recode both.
    sets : callable, optional
        How it merges the items of a cluster of rows: ``sets(index, blocks, spare, k, m, report)``, the set of
        each occurrence, -1 where it is suppressed.
    options : mapping
        What ``transaction=`` may be asked beyond k, m and the hierarchy, with what it is asked by default.
    form : callable, optional
        How it forms classes of rows. With it, it can be the ``cluster=`` of algorithms that recode both.
    ways : tuple of Way
        How `pdanon.anonymize` tries it. None for what never loses least.
    """

    function: Callable[..., Anonymized]
    guarantees: tuple[type, ...]
    recodes: Recodes
    keeps_type: bool = False
    nodes: Callable[..., Codes] | None = None
    sets: Callable[..., Codes] | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    form: Callable[..., Any] | None = None
    ways: tuple[Way, ...] = ()

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__
