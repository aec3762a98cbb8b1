"""``df.txanon`` and ``series.itemset``: forwarded methods, and an overview that is counted when displayed."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.items.clump import lcg
from pdanon.algorithms.preparation import Prepared, keep, prepare, start_from
from pdanon.algorithms.refinement import refine
from pdanon.algorithms.registry import ONE_LABEL, Algorithm, starting_from, watch
from pdanon.errors import ColumnError, ParameterError, PdanonError, one_line
from pdanon.evaluation.after import after
from pdanon.evaluation.alternatives import alternatives
from pdanon.evaluation.comparison import compare, tradeoff
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.evaluation.metrics.assess import assess
from pdanon.evaluation.metrics.attack import attack
from pdanon.evaluation.metrics.bound import bound
from pdanon.evaluation.metrics.risk import breach, risk, risk_of
from pdanon.evaluation.profile import profile
from pdanon.guarantees import KmAnonymity, audit, read_guarantee, read_seconds
from pdanon.guarantees.class_audit import audit_units
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.hierarchy.tree import nested_labels
from pdanon.io.forms import to_long, to_onehot
from pdanon.io.text import to_text
from pdanon.io.units import UnitTable, unit_positions
from pdanon.itemsets.arguments import as_method, called_by_name, unknown_method
from pdanon.itemsets.cards import Lines, Share, card, listing
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import column_labels, find_column, is_list_column
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import mask_at
from pdanon.itemsets.mapping import apply_mapping
from pdanon.itemsets.support import search_bound, supports
from pdanon.itemsets.table_hints import column_hint
from pdanon.itemsets.timing import assigned, show_activity
from pdanon.itemsets.validation import check_flag, check_kind, is_encodable, read_list
from pdanon.recoding.counts import of_all_rows, percent
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unit_release import release_units

_K = 5  # rows that must match, as in `pdanon.look`
_MOST_SEARCHED = 2 * 10**7  # itemsets in rows, which are counted in about a second
_NEXT = {
    "look": "profile(), risk(k=5), tradeoff()",
    "release": "anonymize(k=5, m=2) tries all suitable algorithms; or one, such as pcta(k=5, m=2)",
    "check": "audit(pdanon.KmAnonymity(k=5, m=2)), attack(result)",
}


def overview(frame: pd.DataFrame) -> Lines:
    """Return the lines of an overview, without items."""
    try:
        refuse_chunks(frame)
        position = find_column(frame)
        itemsets = Itemsets.from_series(frame.iloc[:, position])
    except PdanonError as error:
        yield from (("rows", f"{len(frame):,}"), ("lists", one_line(error)))
        return
    longest = itemsets.lengths.max(initial=0)
    mean = len(itemsets.codes) / max(itemsets.n_present, 1)
    yield "rows", f"{len(frame):,}, lists in {frame.columns[position]!r}"
    yield "items", f"{itemsets.n_items:,} distinct; {mean:.3g} in a row on average, {longest:,} at most"
    few = search_bound(itemsets.lengths, 2) <= _MOST_SEARCHED
    # The last line of `risk` for all rows; there is none without rows.
    risks = of_all_rows(risk_of(itemsets, k=_K, m=2 if few else 1)).tail(1)
    for known, alone, below_k in risks[["singled_out", "below_k"]].itertuples():
        items = "1 known item singles" if known == 1 else f"{known} known items single"
        below = f"for {percent(below_k)}, fewer than {_K} rows match"
        shares = Share(alone, name="singled out"), Share(below_k, name=f"fewer than {_K}")
        yield "risk", f"{items} out {percent(alone)} of the rows; {below}", *shares
    yield from _NEXT.items()


# --- Persons with several rows


@called_by_name
def by(
    frame: pd.DataFrame,
    unit: Hashable,
    column: Hashable | None = None,
    *,
    item: Hashable | None = None,
    counts: bool = False,
    keep: Sequence[Hashable] = (),
) -> ByPerson:
    """Take a table by person, where a person has several rows: what follows protects and counts persons.

    Parameters
    ----------
    frame : pandas.DataFrame
        Lines with an item each, or rows with lists. It is not modified.
    unit : hashable
        The column that names the person of a row.
    column : hashable, optional
        The list column. By default, the only one. Leave it out for lines.
    item : hashable, optional
        The column of items, if each row is a line with one item instead of a list.
    counts : bool
        Publish each line with an item, and cover that a person has a label at least so often. Exact numbers
        are not covered: one person may have a label once, and all others twice.
    keep : sequence of hashable
        Other columns to publish. The guarantee then covers their values, and dates are published by day,
        week, month or quarter.

    Returns
    -------
    ByPerson
        With the methods ``anonymize``, ``audit``, ``risk``, and algorithms such as ``pcta``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a column is missing or of the wrong kind, or one column is named twice.

    Notes
    -----
    An algorithm recodes the set of the items of a person, and the labels go back to the rows. Persons are
    published as numbers, and rows are sorted by their content.

    Cost: linear in the rows, beside that of the algorithm for one row per person.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> lines = pd.DataFrame({"customer": [7, 7, 8, 8, 9], "item": ["rice", "tea", "rice", "tea", "tea"]})
    >>> customers = lines.txanon.by("customer", item="item")
    >>> customers
    df.txanon.by('customer', item='item'): 3 persons in 5 rows
    >>> customers.pcta(k=2, m=2).frame
       customer  item
    0         0   tea
    1         1  rice
    2         1   tea
    3         2  rice
    4         2   tea
    """
    unit_positions(frame, unit, item, column)
    names = unit, item, column
    return ByPerson(frame, names, check_flag(counts, "counts"), column_labels(keep, "keep"))


@holds_tables
@dataclass(frozen=True, eq=False, repr=False)
class ByPerson:
    """A table taken by person; made by `by`.

    Its methods are ``audit``, ``risk``, `anonymize` and the algorithms that recode the sets of persons. They
    have the parameters of the functions, without the frame and the column.
    """

    _frame: pd.DataFrame
    _names: tuple[Hashable, ...]
    _counts: bool
    _kept: Sequence[Hashable]
    _earlier: Anonymized | pd.DataFrame | None = None

    def __repr__(self) -> str:
        unit, item, column = self._names
        named = "" if column is None else f", {column!r}"
        named += "" if item is None else f", item={item!r}"
        named += ", counts=True" * self._counts + (f", keep={[*self._kept]}" if self._kept else "")
        started = "" if self._earlier is None else ".start_from(...)"
        persons = self._frame.iloc[:, unit_positions(self._frame, *self._names)[0]].nunique()
        rows = f"{persons:,} persons in {len(self._frame):,} rows"
        return f"df.txanon.by({unit!r}{named}){started}: {rows}"

    __getattr__ = unknown_method("persons with several rows have no such method", "df.txanon.by(...)")

    @called_by_name
    def start_from(self, earlier: Anonymized | pd.DataFrame | None) -> ByPerson:
        """Keep the labels of an earlier release by persons; see `pdanon.start_from`.

        Parameters
        ----------
        earlier : Anonymized, DataFrame or None
            The release, or its mapping.
        """
        return replace(self, _earlier=earlier)

    @called_by_name
    def audit(
        self,
        guarantee: Guarantee | None = None,
        *,
        k: int | None = None,
        m: ItemLimit = DEFAULT_M,
        mapping: pd.DataFrame | None = None,
        independent: bool = False,
        time_limit: float | None = None,
    ) -> Audit:
        """Verify from scratch whether a guarantee holds for persons.

        Parameters
        ----------
        guarantee : Guarantee
            A guarantee of list columns.
        k, m, mapping, independent, time_limit
            As in `pdanon.audit`.

        Returns
        -------
        Audit
            ``rows_at_risk`` counts persons.

        Raises
        ------
        ColumnError, ItemsetDtypeError, ParameterError
            As in `pdanon.audit`.

        Notes
        -----
        Without ``counts``, a label that a person has in several rows counts once. The values of all other
        columns of the frame are known as well: an item of `KmAnonymity` is then a row of the person, its
        label together with its values. Leave out columns that are not published. Other guarantees allow no
        other columns.
        """
        unit, item, column = self._names
        guarantee, _ = read_guarantee(guarantee, None, k, m, mapping=mapping)
        asked: dict[str, Any] = {"unit": unit, "item": item, "counts": self._counts}
        asked["seconds"] = read_seconds(independent, time_limit)
        with show_activity("audit"):
            return audit_units(guarantee, self._frame, column, **asked)

    @called_by_name
    def risk(self, *, k: int, m: int = 2, sensitive: Sequence[Any] | None = None) -> pd.DataFrame:
        """Measure the share of persons that an attacker with knowledge of a few items can single out.

        Parameters
        ----------
        k, m, sensitive
            As in `pdanon.risk`.

        Returns
        -------
        pandas.DataFrame
            As of `pdanon.risk`, for the distinct items of all rows of a person. How often a person has an
            item is not known.
        """
        return risk(UnitTable.of(self._frame, *self._names).gather(), k=k, m=m, sensitive=sensitive)

    @called_by_name
    def assess(
        self, result: Anonymized, control: pd.DataFrame | None = None, secret: Any = None, **options: Any
    ) -> pd.DataFrame:
        """Measure singling out, linkability, inference and membership by attacks on persons.

        Parameters
        ----------
        result : Anonymized
            A release by persons.
        control : pandas.DataFrame, optional
            Rows of other persons, with the same columns.
        secret, **options
            As in `pdanon.assess`.

        Returns
        -------
        pandas.DataFrame
            As of `pdanon.assess`, for the distinct items of all rows of a person.
        """
        released = check_kind(result, Anonymized, "result", "a result of persons").frame
        sets, released = (UnitTable.of(each, *self._names).gather() for each in (self._frame, released))
        others = None if control is None else UnitTable.of(control, *self._names).gather()
        return assess(sets, released, others, secret, mapping=result.mapping, **options)


def _of_persons(function: Callable[..., Anonymized]) -> Callable[..., Anonymized]:
    """Return an algorithm for list columns as a method of `ByPerson`."""

    @wraps(function)
    def method(self: ByPerson, *args: Any, **options: Any) -> Anonymized:
        table = UnitTable.of(self._frame, *self._names)
        plain = table.is_long and not self._counts and not self._kept
        with assigned(ONE_LABEL, not plain), starting_from(self._earlier, function.__name__):
            return release_units(
                table, lambda sets: function(sets, *args, **options), self._counts, self._kept
            )

    return called_by_name(method)


ByPerson.anonymize = _of_persons(anonymize)  # type: ignore[attr-defined]


# --- Prepared tables


def _of_prepared(function: Callable[..., Anonymized]) -> Callable[..., Anonymized]:
    """Return an algorithm as a method of `Prepared`."""

    @wraps(function)
    def method(self: Prepared, *args: Any, **options: Any) -> Anonymized:
        with starting_from(self.earlier, function.__name__):
            return self.release(lambda frame: function(frame, *args, **options))

    return called_by_name(method)


Prepared.anonymize = _of_prepared(anonymize)  # type: ignore[attr-defined]


# --- Accessors


@pd.api.extensions.register_dataframe_accessor("txanon")
class TxanonAccessor:
    """Anonymization of the list column of a frame: all algorithms, audits, risks and attacks.

    Each method is the function ``pdanon.<name>`` with the frame as its first argument. Displayed alone, the
    accessor counts and shows an overview of the table.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]] * 3})
    >>> df.txanon
    df.txanon
      rows       12, lists in 'items'
      items      3 distinct; 1.75 in a row on average, 2 at most
      risk       2 known items single out 0 % of the rows; for 25 %, fewer than 5 rows match
      look       profile(), risk(k=5), tradeoff()
      release    anonymize(k=5, m=2) tries all suitable algorithms; or one, such as pcta(k=5, m=2)
      check      audit(pdanon.KmAnonymity(k=5, m=2)), attack(result)
    """

    def __init__(self, frame: pd.DataFrame) -> None:
        self._obj = frame

    def __repr__(self) -> str:
        return listing("df.txanon", overview(self._obj))

    def _repr_html_(self) -> str:
        return card("df.txanon", overview(self._obj))

    __getattr__ = unknown_method("there is no such method", "df.txanon")


_FUNCTIONS: tuple[Callable[..., Any], ...] = (
    *(audit, risk, attack, assess, bound, breach, lcg, apply_mapping, refine, anonymize, by, after),
    *(prepare, keep, start_from, profile, tradeoff, alternatives, compare, to_long, to_onehot, fingerprint),
)
for _function in _FUNCTIONS:
    setattr(TxanonAccessor, _function.__name__, as_method(_function))


@watch
def _offer(record: Algorithm) -> None:
    """Add methods for an algorithm."""
    setattr(TxanonAccessor, record.name, as_method(record.function))
    setattr(Prepared, record.name, _of_prepared(record.function))
    if record.takes_persons:
        setattr(ByPerson, record.name, _of_persons(record.function))


@pd.api.extensions.register_series_accessor("itemset")
class ItemsetAccessor:
    """Queries of a column of sets, and simple edits of it. Displayed alone, it lists them.

    A repeated item of a row counts once. An audit of the frame counts rows as they are visible.

    Examples
    --------
    >>> import pdanon
    >>> baskets = pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None])
    >>> baskets.itemset.supports()
    rice    1
    tea     2
    Name: support, dtype: int64
    >>> baskets.itemset.support(["rice", "tea"])
    1
    """

    def __init__(self, series: pd.Series[Any]) -> None:
        if not is_list_column(series):
            got = f"dtype {series.dtype.name}"
            raise ColumnError("the column does not hold lists", got=got, hint=column_hint(series))
        self._obj = series

    def __repr__(self) -> str:
        ask = "items, lengths, describe(), supports(), support(itemset), contains(itemset)"
        judge = "rare(k=5, m=2), is_km_anonymous(k=5, m=2), nested_labels(hierarchy)"
        edit = "generalize({item: label}), suppress(items), to_text(separator=';')"
        return listing("series.itemset", {"ask": ask, "judge": judge, "edit": edit}.items())

    __getattr__ = unknown_method("there is no such method", "series.itemset")

    @property
    def items(self) -> pd.Index[Any]:
        """The distinct items that occur, in ascending order.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.items.tolist()
        ['rice', 'tea']
        """
        return self.supports().index

    @property
    def lengths(self) -> pd.Series[int]:
        """Number of distinct items of each row; NA for a missing row.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.lengths.tolist()
        [2, 1, 0, <NA>]
        """
        itemsets = self._itemsets()
        lengths = pd.arrays.IntegerArray(itemsets.lengths, itemsets.nulls)
        return pd.Series(lengths, index=self._obj.index, name="length")

    def supports(self) -> pd.Series[int]:
        """Return the number of rows with each item, by item.

        Returns
        -------
        pandas.Series
            In the order of the items.
        """
        return supports(self._itemsets())

    def support(self, itemset: Iterable[Any]) -> int:
        """Return the number of rows with all of the given items.

        Parameters
        ----------
        itemset : iterable
            Items; the empty itemset is in every row, and one that does not occur in none.

        Returns
        -------
        int

        Raises
        ------
        ParameterError
            If the argument is not a list of items, for example a single one.
        """
        return int(self.contains(itemset).sum())

    def contains(self, itemset: Iterable[Any]) -> pd.Series[bool]:
        """Return for each row whether it has all of the given items; a missing row has none.

        Parameters
        ----------
        itemset : iterable
            Items; the empty itemset is in every row, and one that does not occur in none.

        Returns
        -------
        pandas.Series
            Of bool, with the index of the column.

        Raises
        ------
        ParameterError
            If the argument is not a list of items, for example a single one.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.contains(["tea"]).tolist()
        [True, True, False, False]
        """
        itemsets = self._itemsets()
        wanted = np.unique(itemsets.lookup(_read_itemset(itemset)))
        hits = np.bincount(itemsets.rows[np.isin(itemsets.codes, wanted)], minlength=itemsets.n_rows)
        return pd.Series(hits == len(wanted), index=self._obj.index, name="contains")

    def rare(self, k: int, m: ItemLimit = 2) -> pd.DataFrame:
        """List the minimal itemsets of up to m items in fewer than k rows.

        Parameters
        ----------
        k, m : int, int or None
            As in :class:`pdanon.KmAnonymity`. With ``m=None``, whole rows are listed.

        Returns
        -------
        pandas.DataFrame
            ``itemset, support``, by size, then by items.

        Raises
        ------
        ParameterError
            If k or m is out of range.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.rare(k=2)
            itemset  support
        0  ['rice']        1
        """
        return self._audit(k, m).threats[["itemset", "support"]]

    def is_km_anonymous(self, k: int, m: ItemLimit = 2) -> bool:
        """Return whether every itemset of up to m items that occurs is in at least k rows.

        Parameters
        ----------
        k, m : int, int or None
            At least k rows match any m items that an attacker knows; None: all items. k is at least 2.

        Returns
        -------
        bool

        Raises
        ------
        ParameterError
            If k or m is out of range.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.is_km_anonymous(k=2)
        False
        """
        return self._audit(k, m).holds

    def nested_labels(self, hierarchy: HierarchyLike) -> pd.DataFrame:
        """List the released labels that are below another released label in a hierarchy.

        Without such a pair, the release has *domain exclusiveness*: each statement about its labels is true
        of the original. A row with the lower label would otherwise count as a row without the higher one.

        Parameters
        ----------
        hierarchy : Hierarchy, path, DataFrame or dict
            The hierarchy of the release. Labels that it lacks, such as sensitive items, are ignored.

        Returns
        -------
        pandas.DataFrame
            ``label, support, below, support_below``, in the order of the hierarchy.

        Raises
        ------
        HierarchyError
            If the hierarchy is not a tree.

        Examples
        --------
        >>> import pdanon
        >>> released = pdanon.as_itemsets([["drink"], ["ale", "pie"], ["pie"]])
        >>> released.itemset.nested_labels({"all": {"drink": ["ale", "gin"], "food": ["pie"]}})
           label  support below  support_below
        0  drink        1   ale              1
        """
        return nested_labels(self._itemsets(), Hierarchy.of(hierarchy))

    def generalize(self, mapping: Mapping[Any, str] | pd.Series[str]) -> pd.Series[Any]:
        """Replace items by labels; items without a label keep their text.

        Parameters
        ----------
        mapping : mapping or Series
            Label by item. Items that do not occur are ignored.

        Returns
        -------
        pandas.Series
            Lists of text.

        Raises
        ------
        ParameterError
            If a label is not text.

        Examples
        --------
        >>> import pdanon
        >>> baskets = pdanon.as_itemsets([["rice", "tea"], ["coffee"]])
        >>> baskets.itemset.generalize({"tea": "drink", "coffee": "drink"}).tolist()
        [['drink', 'rice'], ['drink']]
        """
        itemsets, named = self._itemsets(), _check_labels(mapping)
        codes, texts = itemsets.lookup(list(named)), itemsets.texts()
        pairs = zip(codes, named.values(), strict=True)
        return self._to_series(itemsets.rename({texts[code]: label for code, label in pairs if code >= 0}))

    def suppress(self, items: Iterable[Any]) -> pd.Series[Any]:
        """Remove items from every row.

        Parameters
        ----------
        items : iterable
            Items; those that do not occur are ignored.

        Returns
        -------
        pandas.Series
            Lists of items of the same type. A row without other items becomes empty.

        Raises
        ------
        ParameterError
            If the argument is not a list of items, for example a single one.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.suppress(["tea"]).tolist()
        [['rice'], [], [], <NA>]
        """
        itemsets = self._itemsets()
        codes = itemsets.lookup(_read_itemset(items))
        return self._to_series(itemsets.keep_items(~mask_at(itemsets.n_items, codes[codes >= 0])))

    def describe(self) -> pd.Series[float]:
        """Count rows, items, occurrences and lengths.

        Returns
        -------
        pandas.Series
            ``rows, missing rows, empty rows, items, occurrences, mean length, longest``.

        Examples
        --------
        >>> import pdanon
        >>> pdanon.as_itemsets([["rice", "tea"], ["tea"], [], None]).itemset.describe()["occurrences"]
        np.float64(3.0)
        """
        itemsets = self._itemsets()
        lengths = itemsets.lengths
        figures = {
            "rows": itemsets.n_rows,
            "missing rows": int(itemsets.nulls.sum()),
            "empty rows": int(((lengths == 0) & ~itemsets.nulls).sum()),
            "items": itemsets.n_items,
            "occurrences": len(itemsets.codes),
            "mean length": float(lengths.mean()) if len(lengths) else 0.0,
            "longest": int(lengths.max(initial=0)),
        }
        return pd.Series(figures, name=self._obj.name, dtype="float64")

    def _audit(self, k: int, m: ItemLimit) -> Audit:
        """Audit the rows as sets."""
        return KmAnonymity(k, m).audit(self._to_series(self._itemsets()).to_frame("itemset"))

    def _itemsets(self) -> Itemsets:
        return Itemsets.from_series(self._obj)

    def _to_series(self, itemsets: Itemsets) -> pd.Series[Any]:
        return pd.Series(itemsets.to_pandas(), index=self._obj.index, name=self._obj.name)


setattr(ItemsetAccessor, to_text.__name__, as_method(to_text))


def _read_itemset(items: Iterable[Any]) -> list[Any]:
    return read_list(items, "an itemset", "one item is a list of one: ['tea']", "a list of items")


def _check_labels(mapping: Mapping[Any, str] | pd.Series[str]) -> dict[Any, str]:
    """Check labels by item: each must be text."""
    if not isinstance(mapping, (Mapping, pd.Series)):
        hint = "pass a dict or a Series: item -> label"
        raise ParameterError("mapping is not a mapping", got=type(mapping).__name__, hint=hint)
    labels = dict(mapping.items())
    others = sum(not isinstance(label, str) for label in labels.values())
    if others:
        hint = "call itemset.suppress to remove items"
        got = f"{others} of other types"
        raise ParameterError("a label must be text", where="mapping", got=got, hint=hint)
    if not all(is_encodable(label) for label in labels.values()):
        raise ParameterError("a label contains half of a surrogate pair", where="mapping")
    return labels
