"""A first look at a raw table: what is in it, what identifies, and what to do before it is released."""

from __future__ import annotations

import os
import warnings
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from pdanon.errors import IdentifierWarning, escape_controls
from pdanon.evaluation.metrics.risk import of_few_known, risk_of
from pdanon.evaluation.report import profile_report as look
from pdanon.evaluation.report.html import document, tradeoff_section, write_document
from pdanon.evaluation.report.profile_report import (
    columns_table,
    found_table,
    frequent_table,
    supports_table,
)
from pdanon.guarantees.km import KmAnonymity
from pdanon.guarantees.parameters import check_k
from pdanon.guarantees.verdict import facts
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.compatibility import text_column
from pdanon.itemsets.equality import Numbers, value_numbers
from pdanon.itemsets.hints import is_named_for_persons, split_words
from pdanon.itemsets.parallel import first_equal_rows
from pdanon.itemsets.support import MOST_ROWS, SupportIndex
from pdanon.itemsets.timing import show_activity
from pdanon.recoding.counts import FEW, is_nearly_all, of_all_rows, percent
from pdanon.recoding.unmodified_columns import Passing, passing

__all__ = ["Alert", "Profile", "profile"]

_MOST_SHOWN = 10  # items
_NUMBERS = {"id", "uuid", "guid", "nbr", "key"}
_BANDS = (1, 2, 5, 10, 100, 1000, 10**4, 10**5, 10**6)  # rows


class Alert(NamedTuple):
    """Something to look at before a release, and what to do about it, in Python and on the command line."""

    what: str
    hint: str
    command: str


@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """What is in a raw table, without the text of a rare item. Made by `profile`.

    Parameters
    ----------
    column : hashable
        Label of the list column.
    k : int
        How many rows are enough.
    counts : pandas.Series
        ``rows, missing rows, empty rows, items, occurrences, distinct rows, repeated rows``. Distinct are
        the sets of items; repeated the rows that have the items and all other values of an earlier one, -1
        if values cannot be compared.
    lengths : pandas.Series
        Items of a row: ``mean, shortest, median, 90 %, longest``.
    supports : pandas.DataFrame
        How many items are in how many rows: ``at_least, at_most, items, occurrences``, from the rarest on;
        the last is their share of all occurrences.
    frequent : pandas.DataFrame
        The items in most rows, up to 10 and none in fewer than ``k``: ``item, rows, share``.
    risk : pandas.DataFrame
        As `pdanon.risk` has it: who can be found by so many known items, of all rows and by length.
    columns : pandas.DataFrame
        The other columns: ``column, dtype, values, missing, unique, below_k``; rows that are the only ones
        with their value, and that share it with fewer than ``k``. -1 where values cannot be compared.
    passing : Passing
        The same of these columns together, and of the few that explain it; without those that differ in
        nearly every row, which have to be dropped first.
    alerts : tuple of Alert
        What to look at, and what to do: each with ``what``, ``hint``, and ``command``, which says on the
        command line what the hint says in Python.
    """

    column: Hashable
    k: int
    counts: pd.Series[int]
    lengths: pd.Series[float]
    supports: pd.DataFrame
    frequent: pd.DataFrame
    risk: pd.DataFrame
    columns: pd.DataFrame
    passing: Passing
    alerts: tuple[Alert, ...]

    def __repr__(self) -> str:
        lines = [self._title(), *(f"  {name:<10} {text}" for name, text in self._facts())]
        lines += [f"  look at    {alert.what}\n             -> {alert.hint}" for alert in self.alerts]
        return escape_controls("\n".join(lines))

    def _repr_html_(self) -> str:
        alerts = [("look at", f"{alert.what} → {alert.hint}") for alert in self.alerts]
        tables = [
            found_table(of_few_known(self.risk), self.k),
            supports_table(self.supports),
            frequent_table(self.frequent),
        ]
        if len(self.columns):
            tables.append(columns_table(self.columns, self.k, int(self.counts["rows"])))
        return "\n".join([facts(self._title(), [*alerts, *self._facts()]), *tables])

    def report(self, path: str | os.PathLike[str], *, tradeoff: pd.DataFrame | None = None) -> None:
        """Write the first look as a page, for those who decide what becomes of the table.

        One HTML file that needs no network: what to do first, who can be found, rows, items and the other
        columns, in pictures and tables. Its pictures need matplotlib; without it the page has tables only.

        Parameters
        ----------
        path : path
            The file. If it exists it is replaced when the new one is complete.
        tradeoff : pandas.DataFrame, optional
            What `pdanon.tradeoff` returned of the same table, to show what each k and m costs.

        Raises
        ------
        FormatError
            If the file cannot be written.
        ParameterError
            If ``tradeoff`` is no such table, or ``SOURCE_DATE_EPOCH`` is no time.

        Notes
        -----
        The page is about the original, and says so: it is not to be published. It holds counts, the names of
        columns, and the items of `frequent`. A new file can be read by its owner alone.

        Examples
        --------
        >>> import pathlib, tempfile, pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]] * 3})
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = pathlib.Path(directory) / "look.html"
        ...     df.txanon.profile(k=5, m=2).report(path)
        ...     page = path.read_text(encoding="utf-8")
        >>> "do not publish it" in page, "rice" in page, "salt" in page
        (True, True, False)
        """
        page = document("A first look", self._sections(tradeoff), look.NOTE)
        write_document(page, path, confidential=True)

    def _sections(self, tradeoff: pd.DataFrame | None) -> Iterator[str]:
        yield look.warning()
        yield facts(self._title(), self._facts())
        yield look.first_section([(alert.what, alert.hint) for alert in self.alerts])
        missing = int(self.counts["missing rows"])
        yield look.risk_section(self.risk, self.k, missing)
        if tradeoff is not None:
            yield tradeoff_section(tradeoff)
        yield look.rows_section(self.counts, self.lengths, look.by_length(self.risk, missing)["rows"])
        yield look.items_section(self.supports, self.frequent, self.k)
        yield look.columns_section(self.columns, self.k, int(self.counts["rows"]))
        yield look.made_section()

    def _title(self) -> str:
        return f"Profile: {self.counts['rows']:,} rows, lists in {self.column!r}"

    def _facts(self) -> Iterator[tuple[str, str]]:
        """The lines that say the most: names and texts."""
        counts, lengths = self.counts, self.lengths
        yield (
            "rows",
            f"{counts['missing rows']:,} missing, {counts['empty rows']:,} empty, "
            + (f"{counts['distinct rows']:,} distinct"),
        )
        yield (
            "lengths",
            f"{lengths['mean']:.3g} items on average, {lengths['longest']:.0f} in the longest row",
        )
        rare, alone = (self.supports.loc[self.supports["at_most"] < k, "items"].sum() for k in (self.k, 2))
        yield "items", f"{counts['items']:,} distinct; {rare:,} in fewer than {self.k} rows, {alone:,} in one"
        for known, row in of_few_known(self.risk).iterrows():
            found = f"{percent(row['singled_out'])} of the rows alone, {percent(row['below_k'])} among fewer"
            yield f"{known} known", f"{found} than {self.k}"
        if len(self.columns):
            few = f" (not judged: fewer than {FEW} rows)" if self.counts["rows"] < FEW else ""
            yield "beside", ", ".join(map(str, self.columns["column"].head(_MOST_SHOWN))) + few


def profile(
    frame: pd.DataFrame, column: Hashable | None = None, *, k: int = 5, m: int = 3, progress: bool = False
) -> Profile:
    """Look at a raw table before it is anonymized.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        How many rows are enough to hide in; at least 2.
    m : int
        Up to how many known items the risk is counted; at least 1.
    progress : bool
        Show that it goes on: the parts of the count that are done, which are as many as it takes.

    Returns
    -------
    Profile
        Counts, risks, and alerts in words. Shown as text, and as tables in a notebook.

    Raises
    ------
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column, or it does not hold sets of items.
    ParameterError
        If k or m is out of range.

    Notes
    -----
    No item in fewer than k rows is named. The counts are facts about the original all the same.

    Cost: that of `risk`, and of numbering the values of each column.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> items = [["rice", "tea"], ["rice"], ["rice", "tea"], ["tea", "Tea"]] * 6 + [["salt"]]
    >>> df = pd.DataFrame({"age": [30, 41] * 12 + [52], "items": items})
    >>> df.txanon.profile(k=5, m=2)
    Profile: 25 rows, lists in 'items'
      rows       0 missing, 0 empty, 4 distinct
      lengths    1.72 items on average, 2 in the longest row
      items      4 distinct; 1 in fewer than 5 rows, 1 in one
      1 known    4 % of the rows alone, 4 % among fewer than 5
      2 known    4 % of the rows alone, 4 % among fewer than 5
      beside     age
      look at    1 of 25 rows (4 %) are the only ones with their age, which passes through unchanged
                 -> drop what is not needed, use KKm(k=5, m=2, quasi=['age']), or say keep=['age'] of what ...
      look at    2 items are alike but for capitals and blanks
                 -> else they are different items: if they mean the same, .str.strip().str.lower() of them ...
      look at    who knows 2 items finds 4 % of the rows among fewer than 5
                 -> frame.txanon.anonymize(k=5, m=2)
    """
    k = check_k(k)
    position = find_column(frame, column)
    refuse_chunks(frame)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    with show_activity(progress, "profile"):
        risks = risk_of(itemsets, k=k, m=m)
    index = SupportIndex.of(itemsets)
    others = [place for place in range(frame.shape[1]) if place != position]
    numbers = [value_numbers(frame.iloc[:, place]) for place in others]
    columns = [_column(frame.iloc[:, place], each, k) for place, each in zip(others, numbers, strict=True)]
    identifiers = [each.column for each in columns if _identifies(each, len(frame))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", IdentifierWarning)
        together = passing(frame, [position], KmAnonymity(k, m), identifiers)
    return Profile(
        column=frame.columns[position],
        k=k,
        counts=_counts(itemsets, index, numbers),
        lengths=_lengths(itemsets),
        supports=_supports(index, k),
        frequent=_frequent(itemsets, index, k),
        risk=risks,
        columns=pd.DataFrame(columns, columns=_Column._fields),
        passing=together,
        alerts=tuple(_alerts(itemsets, index, columns, together, risks, k)),
    )


# --- What is counted


def _counts(itemsets: Itemsets, index: SupportIndex, columns: Sequence[Numbers | None]) -> pd.Series[int]:
    lengths = itemsets.lengths
    return pd.Series(
        {
            "rows": itemsets.n_rows,
            "missing rows": int(itemsets.nulls.sum()),
            "empty rows": int(((lengths == 0) & ~itemsets.nulls).sum()),
            "items": itemsets.n_items,
            "occurrences": len(itemsets.codes),
            "distinct rows": len(index.distinct().weights),
            "repeated rows": _repeats(itemsets, index, columns),
        },
        name="count",
    )


def _repeats(itemsets: Itemsets, index: SupportIndex, columns: Sequence[Numbers | None]) -> int:
    """How many rows have the items and all values of an earlier one."""
    comparable = [each for each in columns if each is not None]
    if len(comparable) < len(columns):
        return -1
    items = first_equal_rows(index.codes, index.offsets)
    alike = [np.where(itemsets.nulls, -1, items), *comparable]
    return int(pd.DataFrame(dict(enumerate(alike))).duplicated().sum())


def _lengths(itemsets: Itemsets) -> pd.Series[float]:
    lengths = itemsets.lengths[~itemsets.nulls]
    shown = {"mean": 0.0, "shortest": 0.0, "median": 0.0, "90 %": 0.0, "longest": 0.0}
    if len(lengths):
        quantiles = np.quantile(lengths, [0, 0.5, 0.9, 1])
        shown = dict(zip(shown, [lengths.mean(), *quantiles], strict=True))
    return pd.Series(shown, name="items of a row", dtype="float64")


def _supports(index: SupportIndex, k: int) -> pd.DataFrame:
    """How many items, and which share of the occurrences, are in so many rows."""
    edges = np.unique([*_BANDS, k])
    band = np.searchsorted(edges, index.singles, side="right") - 1
    items = np.bincount(band, minlength=len(edges))
    occurrences = np.bincount(band, index.singles, minlength=len(edges)) / max(int(index.singles.sum()), 1)
    table = {"at_least": edges, "at_most": np.append(edges[1:] - 1, MOST_ROWS), "items": items}
    return pd.DataFrame({**table, "occurrences": occurrences})[items > 0].reset_index(drop=True)


def _frequent(itemsets: Itemsets, index: SupportIndex, k: int) -> pd.DataFrame:
    order = np.argsort(-index.singles, kind="stable")[:_MOST_SHOWN]
    order = order[index.singles[order] >= k]
    rows = index.singles[order]
    texts = np.array(itemsets.texts(), object)[order]
    return pd.DataFrame(
        {"item": text_column(texts), "rows": rows, "share": rows / max(itemsets.n_present, 1)}
    )


class _Column(NamedTuple):
    """What a column tells by itself."""

    column: Hashable
    dtype: str
    values: int = -1
    missing: int = 0
    unique: int = -1
    below_k: int = -1


def _column(column: pd.Series[Any], numbers: Numbers | None, k: int) -> _Column:
    missing = int(column.isna().sum())
    if numbers is None:
        return _Column(column.name, column.dtype.name, missing=missing)
    _, sizes = np.unique(numbers, return_counts=True)
    alone, few = int(np.count_nonzero(sizes == 1)), int(sizes[sizes < k].sum())
    return _Column(column.name, column.dtype.name, len(sizes) - (missing > 0), missing, alone, few)


# --- What to do


def _alerts(
    itemsets: Itemsets,
    index: SupportIndex,
    columns: Sequence[_Column],
    together: Passing,
    risks: pd.DataFrame,
    k: int,
) -> Iterator[Alert]:
    named = [*together.telling]
    if itemsets.n_rows >= FEW:
        for each in together.judged:
            what, hint = (
                f"column {each!r} differs in nearly every row",
                "an identifier is dropped before all else",
            )
            yield Alert(
                what, hint, f"{hint}: --by {quote(str(each))}, and --keep what is published beside the items"
            )
        if said := ". ".join(together.sentences()):
            protect = f"use KKm(k={k}, m=2, quasi={named}), or say keep={named} of what may be published"
            keep = " ".join(quote(str(each)) for each in named)
            policy = f"name them as quasi in a policy, or say --keep {keep} of what may be published"
            yield Alert(said, f"drop what is not needed, {protect}", f"drop what is not needed, {policy}")
        yield from _repeated(columns, itemsets.n_rows)
        if always := int(np.count_nonzero(index.singles == itemsets.n_present)):
            what = f"{always:,} {'item is' if always == 1 else 'items are'} in every row"
            hint = "if it was a column of years or ages, and no item, make the lists without it"
            yield Alert(what, hint, f"{hint}: --onehot and the columns that are items")
    if many := _alike(itemsets):
        what = f"{many:,} items are alike but for capitals and blanks"
        do = ".str.strip().str.lower() of them before lists are made"
        hint = "else they are different items: if they mean the same"
        blank = "write them alike; a blank after each separator is said with it: --separator ', '"
        yield Alert(what, f"{hint}, {do}", f"{hint}, {blank}")
    for known, share in of_all_rows(risks)["below_k"].loc[:2].iloc[-1:].items():
        if share:
            items = "1 item" if known == 1 else f"{known} items"
            what = f"who knows {items} finds {percent(share)} of the rows among fewer than {k}"
            yield Alert(
                what,
                f"frame.txanon.anonymize(k={k}, m={known})",
                f"pdanon anonymize IN OUT -k {k} -m {known}",
            )


def _identifies(column: _Column, n_rows: int) -> bool:
    """Whether a column alone tells nearly every row."""
    return n_rows >= FEW and bool(is_nearly_all(column.unique, n_rows))


def _repeated(columns: Sequence[_Column], n_rows: int) -> Iterator[Alert]:
    """Columns that may say whose row it is, of persons of whom some have several."""
    for each in columns:
        whole = not each.dtype.lower().startswith(("float", "double"))
        least = n_rows // 100 if _is_named_for_a_number(each.column) else n_rows // 2
        if whole and least < each.values < n_rows - each.missing:
            what = f"column {each.column!r} has {each.values:,} values in {n_rows:,} rows"
            hint = "if it says whose row it is, some have several: merge these rows before"
            yield Alert(what, hint, f"{hint} (--by {quote(str(each.column))})")


def _is_named_for_a_number(label: Hashable) -> bool:
    """Whether the name of a column is that of a number, of persons or others: customer_id, DUPERSID, key."""
    words = split_words(label)
    return is_named_for_persons(label) or any(
        word.lower() in _NUMBERS or word.endswith("ID") for word in words
    )


def _alike(itemsets: Itemsets) -> int:
    """How many items another one is like, but for capitals and blanks around it."""
    texts = itemsets.vocabulary.cast("large_string")
    _, sizes = np.unique(
        pc.utf8_lower(pc.utf8_trim_whitespace(texts)).dictionary_encode().indices, return_counts=True
    )
    return int(sizes[sizes > 1].sum())
