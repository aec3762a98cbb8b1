"""Parameters for the items of a table with quasi-identifiers, as one value."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields
from functools import partial
from typing import Any

from pdanon.algorithms.registry import ALGORITHMS, Algorithm
from pdanon.algorithms.states.cuts import check_parts
from pdanon.errors import ParameterError
from pdanon.guarantees.named import NamedItems
from pdanon.guarantees.parameters import check_seconds, check_share, materialize
from pdanon.hierarchy import HierarchyLike
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.columns import quasi_labels
from pdanon.itemsets.validation import check_count, check_known, describe, find_name, quote_word
from pdanon.recoding.labels import Labels, check_labels


@constructed_by_name
@dataclass(frozen=True, repr=False)
class Transaction:
    """Parameters for the items, for algorithms that anonymize quasi-identifiers and items together.

    The name of an algorithm is short for a `Transaction` with defaults: ``transaction="pcta"``.

    Parameters
    ----------
    algorithm : str
        The algorithm that anonymizes the items of each class: any that gives k^m-anonymity.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        The hierarchy of the items, if the algorithm needs one; with ``columns``, a mapping of one for each.
    options : mapping, optional
        Further parameters of the algorithm: ``parts`` of ``lra`` and ``vpa``, ``utility`` and
        ``max_suppressed`` of ``coat`` and ``upcta``, ``weights`` of ``pcta``, ``coat`` and ``upcta``,
        ``time_limit`` of ``optimal``. ``weights`` also count in the utility loss.
    columns : sequence of hashable, optional
        Labels of several list columns, instead of ``column``. Their items form one transaction, and the
        attacker knows up to m of them. No set or node spans two columns.
    sensitive : iterable, optional
        Items that must not be inferred. An attacker does not know them. They are published as they are, or
        suppressed in a class where too few rows hide them. Requires ``l``, and ``"pcta"``, ``"coat"``,
        ``"upcta"``, ``"apriori"``, ``"hghs"`` or ``"mhghs"``.
    l : int, optional
        At most 1/l of the rows that match an attacker's knowledge have a sensitive item; at least 2.
    order : {"btd", "tum"}
        Order of the merges of classes: by the distance of their transactions (BTD), or by the loss of
        anonymizing them together. The second takes much longer. Sensitive items count in neither.
    tum : {"NCP", "UL"}
        Loss of transactions where it is compared: NCP averaged over the occurrences, or the utility loss of
        the paper averaged over the rows, which the release reports as ``loss["UL_rows"]``. The utility loss
        is not monotone: it may be higher for the original than for a release. Sensitive items do not count;
        NCP without them is ``loss["NCP_known"]``.
    labels : {"set", "short", "first"} or callable
        Labels of sets: ``(a,b)``, ``G017``, ``a +1``, or the text that a function returns for the list of
        their items. ``result.legend`` lists the items of each.

    Raises
    ------
    ParameterError
        If the algorithm does not exist, or does not support a parameter.
    ItemsetDtypeError
        If the sensitive items are of several types.

    Notes
    -----
    Columns are stored as a tuple, and sensitive items once each. A value is hashable if its parts are.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame(
    ...     {"age": [19, 22, 39, 40], "items": [["flu", "tea"], ["tea"], ["tea"], ["flu", "rice"]]}
    ... )
    >>> hidden = pdanon.Transaction("apriori", hierarchy={"*": ["tea", "rice"]}, sensitive=["flu"], l=2)
    >>> hidden
    Transaction('apriori', hierarchy=dict, sensitive=1 items, l=2)
    >>> pdanon.rfirst(df, k=2, m=1, quasi=["age"], transaction=hidden, random_state=0).frame
            age          items
    0  [19, 22]  ['flu' 'tea']
    1  [19, 22]        ['tea']
    2  [39, 40]          ['*']
    3  [39, 40]    ['*' 'flu']
    """

    algorithm: str = "pcta"
    _: KW_ONLY
    hierarchy: HierarchyLike | Mapping[Hashable, HierarchyLike] | None = None
    options: Mapping[str, Any] | None = None
    columns: Sequence[Hashable] | None = None
    sensitive: Iterable[Any] | None = None
    l: int | None = None  # noqa: E741  (its name in the literature)
    order: str = "btd"
    tum: str = "NCP"
    labels: Labels = "set"

    def __post_init__(self) -> None:
        record = _record(self.algorithm)
        if (record.nodes is not None) != (self.hierarchy is not None):
            problem = "needs a" if record.nodes else "takes no"
            raise ParameterError(f"{record.name} {problem} hierarchy of the items", where="hierarchy")
        check_known(self.order, ("btd", "tum"), "order of merges", where="order")
        tum = find_name(self.tum, ("NCP", "UL"), "measure of transactions", where="tum")
        object.__setattr__(self, "tum", tum)
        if check_labels(self.labels) != "set" and record.nodes is not None:
            hint = "leave labels= out: nodes have the names of the hierarchy"
            raise ParameterError(f"{record.name} publishes nodes, not sets", where="labels", hint=hint)
        if self.options is not None:
            object.__setattr__(self, "options", _check_options(record, self.options))
        if self.columns is not None:
            object.__setattr__(self, "columns", quasi_labels(self.columns, "columns"))
            _check_hierarchies(self.hierarchy, self.columns)
            if (self.options or {}).get("weights") is not None:
                raise ParameterError("weights need a single list column", where="columns")
        if self.sensitive is not None or self.l is not None:
            self._check_diversity()

    def __repr__(self) -> str:
        parts = (f"{name}={_describe(name, value)}" for name, value in set_parameters(self).items())
        return f"Transaction({', '.join([repr(self.algorithm), *parts])})"

    def _check_diversity(self) -> None:
        if self.sensitive is None or self.l is None:
            raise ParameterError(
                "sensitive and l go together",
                hint="pass the items to protect as sensitive=, and how well as l=",
            )
        if self.columns is not None:
            hint = "join the lists into one column, and begin each item with the name of its column"
            raise ParameterError("sensitive items must be in one list column", where="columns", hint=hint)
        if self.algorithm not in _DIVERSE_NODES and not _record(self.algorithm).sets:
            hint = 'use "pcta", "coat" or "upcta", or "apriori", "hghs" or "mhghs" with a hierarchy'
            problem = "the algorithm cannot hide sensitive items"
            raise ParameterError(problem, where="transaction", got=self.algorithm, hint=hint)
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "l", check_count(self.l, "l", least=2))


# Algorithms with nodes that can hide sensitive items.
_DIVERSE_NODES = ("apriori", "hghs", "mhghs")


def as_transaction(value: str | Transaction) -> Transaction:
    """Return the transaction that a name stands for, or the value itself."""
    return value if isinstance(value, Transaction) else Transaction(value)


def set_parameters(transaction: Transaction) -> dict[str, Any]:
    """Return the parameters that differ from their defaults, without the algorithm."""
    values = {each.name: (getattr(transaction, each.name), each.default) for each in fields(transaction)}
    del values["algorithm"]
    return {
        name: value
        for name, (value, default) in values.items()
        if value is not None and not (isinstance(value, str) and value == default)
    }


def _record(name: Any) -> Algorithm:
    """Return the record of an algorithm that can anonymize the items of some rows."""
    known = {name: each for name, each in ALGORITHMS.items() if each.nodes or each.sets}
    return known[check_known(name, known, "algorithm for transactions", where="transaction")]


# Checks of options that need no data, by name.
_CHECKS: dict[str, Callable[[Any], object]] = {
    "parts": check_parts,
    "max_suppressed": partial(check_share, name="max_suppressed"),
    "time_limit": partial(check_seconds, name="time_limit", zero=True),
}


def _check_options(record: Algorithm, options: Any) -> dict[str, Any]:
    """Return the checked options of an algorithm, copied so that they can be read repeatedly."""
    if not isinstance(options, Mapping):
        hint = f"pass them by name: {{{', '.join(f'{each!r}: ...' for each in record.options)}}}"
        raise ParameterError("options must be a mapping", got=type(options).__name__, hint=hint)
    for key, value in options.items():
        if key == "utility" and key not in record.options:
            problem, hint = f"{record.name} has no such option", 'use "coat" or "upcta", which keep to blocks'
            raise ParameterError(problem, where="options", got=quote_word(key), hint=hint)
        check_known(key, record.options, f"option of {record.name}", where="options")
        if key in _CHECKS:
            _CHECKS[key](value)
    return {key: materialize(value) for key, value in options.items()}


def _check_hierarchies(hierarchy: Any, labels: Sequence[Hashable]) -> None:
    """Check that there is a hierarchy for each of several list columns, or for none."""
    if hierarchy is None:
        return
    hint = "with columns=, pass a mapping with a hierarchy for each column"
    if not isinstance(hierarchy, Mapping) or len(hierarchy) > len(labels):
        raise ParameterError("hierarchies do not match the columns", where="hierarchy", hint=hint)
    for label in labels:
        if label not in hierarchy:
            raise ParameterError(f"column {label!r} has no hierarchy", where="hierarchy", hint=hint)


def _describe(name: str, value: Any) -> str:
    """Describe a parameter without the text of an item."""
    if name == "sensitive":
        return f"{len(value)} items"
    if name == "options":
        return f"{{{', '.join(f'{key!r}: {describe(each)}' for key, each in value.items())}}}"
    if name == "labels":
        return quote_word(value)
    return describe(value) if name in ("hierarchy", "l") else repr(value)
