"""Profiles of raw tables: counts, risks, and steps to take before anonymization."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from shlex import quote
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from pdanon.errors import ColumnError, ItemsetDtypeError
from pdanon.evaluation.html import (
    Cell,
    count,
    document,
    figure,
    frame_table,
    paragraph,
    section,
    share,
    steps,
    table,
    tradeoff_section,
    versions,
    write_document,
)
from pdanon.evaluation.metrics.estimates import is_continuous
from pdanon.evaluation.metrics.risk import of_few_known, risk_of
from pdanon.evaluation.plotting import (
    band_name,
    doubling_bands,
    draw_bands,
    draw_lengths,
    draw_shares,
    range_name,
)
from pdanon.evaluation.readings import (
    Alert,
    RawProfile,
    describe_raw,
    is_named_for_a_number,
    spelling_alerts,
    tree_alerts,
)
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.guarantees.km import KmAnonymity
from pdanon.guarantees.parameters import check_k
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import HEAD, Lines, Share, card, facts, listing
from pdanon.itemsets.chunks import refuse_chunks
from pdanon.itemsets.codes import Itemsets, Numbers
from pdanon.itemsets.columns import find_column, find_quasi
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.equality import row_numbers, value_numbers
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import mask_at
from pdanon.itemsets.support import MOST_ROWS, SupportIndex
from pdanon.itemsets.table_hints import split_words
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import FilePath
from pdanon.recoding.counts import FEW, is_nearly_all, of_all_rows, percent
from pdanon.recoding.unmodified_columns import UnmodifiedColumns, count_unmodified

_MOST_SHOWN = 10  # items
_POSTCODES = {"zip", "zipcode", "postcode", "postal", "plz"}
_FEW_CODES = 20  # distinct values; fewer need no hierarchy
# Up to two letters, then digits: postcodes, diagnosis codes, product codes. Dates are written otherwise.
_CODE = r"^[A-Za-z]{0,2}[0-9][A-Za-z0-9 .]{2,8}$"
_BANDS = (1, 2, 5, 10, 100, 1000, 10**4, 10**5, 10**6)  # rows
_MOST_PAIRS = 5 * 10**6  # of items in rows, which are counted in seconds
_MOST_LENGTHS = 12  # more lengths are put into bands
_NOTE = (
    "This page contains counts of the original, the names of its columns, and frequent items. It contains no "
    "row of the data, and no rare item."
)


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class Profile:
    """The profile of a raw table, without the text of a rare item. Returned by `profile`.

    Parameters
    ----------
    column : hashable
        Label of the list column.
    k : int
        Number of matching rows that counts as safe.
    counts : pandas.Series
        ``rows, missing rows, empty rows, items, occurrences, distinct rows, repeated rows``. Repeated rows
        equal an earlier row in all columns; -1 if values cannot be compared, or the table is a stream.
    lengths : pandas.Series
        Items per row: ``mean, shortest, median, 90 %, longest``.
    supports : pandas.DataFrame
        Number of items by support, in ascending order: ``at_least, at_most, items, occurrences``. The last
        is their share of all occurrences.
    frequent : pandas.DataFrame
        The up to 10 most frequent items, each in at least ``k`` rows: ``item, rows, share``.
    risk : pandas.DataFrame
        The table of `pdanon.risk`: the shares of rows at risk by known items, of all rows and by length.
    columns : pandas.DataFrame
        The other columns: ``column, dtype, values, missing, unique, below_k``. The last two count rows whose
        value is unique, or in fewer than ``k`` rows; -1 if values cannot be compared.
    unmodified : UnmodifiedColumns
        The same counts for the other columns together, and for the few that explain most of the risk.
        Columns that differ in almost every row are excluded, because they must be dropped first.
    tails : pandas.DataFrame
        The longest tenth of the rows (``rows``), and the rarest items with up to a tenth of the occurrences
        (``items``): ``part, limit, number, occurrences, rare, of``. Rows have more than ``limit`` items,
        items are in at most ``limit`` rows; the share of the occurrences in them. Of all ``of`` minimal
        itemsets of one or two items in fewer than ``k`` rows, ``rare`` are only in these rows, or contain
        such an item. Empty above 5 million pairs of items in rows.
    alerts : tuple of Alert
        Problems, each with ``what``, ``hint`` (in Python) and ``command`` (on the command line).
    """

    column: Hashable
    k: int
    counts: pd.Series[int]
    lengths: pd.Series[float]
    supports: pd.DataFrame
    frequent: pd.DataFrame
    risk: pd.DataFrame
    columns: pd.DataFrame
    unmodified: UnmodifiedColumns
    tails: pd.DataFrame
    alerts: tuple[Alert, ...]

    def __repr__(self) -> str:
        alerts = (("look at", f"{alert.what}\n             -> {alert.hint}") for alert in self.alerts)
        return listing(self._title(), [*self._facts(), *alerts])

    def _repr_html_(self) -> str:
        alerts = [("look at", f"{alert.what} → {alert.hint}") for alert in self.alerts]
        tables = [self._risk_table(), self._supports_table(), self._frequent_table()]
        if len(self.columns):
            tables.append(self._columns_table())
        return card(self._title(), [*alerts, *self._facts()], tables=tables)

    def report(
        self,
        path: FilePath,
        *,
        tradeoff: pd.DataFrame | None = None,
        title: str | None = None,
        dataset: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        prepared_by: str | None = None,
        approved_by: str | None = None,
        note: str | None = None,
    ) -> None:
        """Write the profile as a page, for the people who decide about the release.

        The page is one HTML file that needs no network. It shows what to do first, the rows at risk, rows,
        items and the other columns, in plots and tables. Without matplotlib it has tables only.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced when the new one is complete.
        tradeoff : pandas.DataFrame, optional
            The table of `pdanon.tradeoff` for the same data, to show the cost of each k and m.
        title, dataset, purpose, recipient, prepared_by, approved_by, note : str, optional
            Texts for the head of the page.

        Raises
        ------
        FormatError, ParameterError
            If the file cannot be written, ``tradeoff`` is not such a table, a text is none, or
            ``SOURCE_DATE_EPOCH`` is not a time.

        Notes
        -----
        The page describes the original: do not publish it. Only the owner of a new file can read it.

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
        head = {name: text for name, text in locals().items() if name in HEAD}
        page = document("A first look", self._sections(tradeoff), _NOTE, head)
        write_document(page, path, confidential=True)

    def _sections(self, tradeoff: pd.DataFrame | None) -> Iterator[str]:
        warning = "⚠ This page describes the original. Keep it with the original, and do not publish it."
        yield paragraph(warning, "verdict warned")
        yield facts(self._title(), self._facts())
        todo = [(alert.what, alert.hint) for alert in self.alerts]
        yield section("What to do first", steps(todo) if todo else paragraph("No problem was found."))
        shares = by_length(self.risk, int(self.counts["missing rows"]))
        yield self._risk_section(shares)
        if tradeoff is not None:
            yield tradeoff_section(tradeoff)
        yield self._rows_section(shares["rows"])
        yield self._items_section()
        yield self._columns_section()
        yield section("Date and versions", versions())

    def _risk_section(self, by_length: pd.DataFrame) -> str:
        """Show the shares of rows at risk, of all rows and by row length."""
        found, few = of_few_known(self.risk), f"fewer than {self.k} matches"
        text = (
            "Suppose that an attacker knows some items of a person, in the worst case those that reveal "
            "most. A row is singled out if it is the only row that matches them. The tables show the share "
            f"of rows that are singled out, and of rows for which fewer than {self.k} rows match. Longer "
            "rows are at higher risk."
        )
        caption = f"Rows that are singled out, or have {few}, by the number of known items."
        parts = [paragraph(text), figure(partial(draw_shares, found, self.k), caption), self._risk_table()]
        if len(lengths := by_length[["rows", *found.index]]):
            shares = lengths.drop(columns="rows")
            caption = f"Rows with {few}, by the number of items in the row and of known items."
            parts.append(figure(partial(draw_lengths, shares, self.k), caption))
            header = ["items in the row", "rows", *(f"{known} known" for known in shares)]
            caption, known = f"Rows with {few}, by length", [share] * shares.shape[1]
            parts.append(frame_table(caption, header, lengths, [Cell, count, *known]))
        return section("Who can be singled out", *parts)

    def _risk_table(self) -> str:
        header = ["known items (up to)", "singled out", f"fewer than {self.k} matches"]
        found = of_few_known(self.risk)[["singled_out", "below_k"]]
        return frame_table("Rows at risk", header, found, [count, share, share])

    def _rows_section(self, by_length: pd.Series[int]) -> str:
        counts = self.counts[self.counts >= 0].to_frame()  # a count that could not be made is -1
        caption = "Number of rows by the number of their items."
        rows = [(Cell(str(name)), Cell(f"{number:.3g}", number)) for name, number in self.lengths.items()]
        return section(
            "Rows",
            frame_table("Counts", ["", "number"], counts, [Cell, count]),
            _bands_figure(by_length, "items in the row", "rows", caption),
            table("Items per row", ["items per row", "number"], rows),
        )

    def _items_section(self) -> str:
        """Show the number of items by support, and the most frequent items."""
        text = f"Items in fewer than {self.k} rows are counted but not named, "
        text += "because they single out their rows."
        caption = "Number of items by the number of rows with the item."
        picture = _bands_figure(self._items_by_support()["items"], "rows with the item", "items", caption)
        return section("Items", paragraph(text), picture, self._supports_table(), self._frequent_table())

    def _items_by_support(self) -> pd.DataFrame:
        """Return the table of supports by the names of the bands."""
        bounds = zip(self.supports["at_least"], self.supports["at_most"], strict=True)
        names = [f"{low:,} and more" if high >= MOST_ROWS else range_name(low, high) for low, high in bounds]
        return self.supports[["items", "occurrences"]].set_axis(pd.Index(names, dtype=object))

    def _supports_table(self) -> str:
        header = ["rows with the item", "items", "share of all occurrences"]
        return frame_table("Items by support", header, self._items_by_support(), [Cell, count, share])

    def _frequent_table(self) -> str:
        """Return the most frequent items; an empty text if there are none."""
        if self.frequent.empty:
            return ""
        header, frequent = ["most frequent items", "rows", "share of rows"], self.frequent.set_index("item")
        return frame_table("Most frequent items", header, frequent, [Cell, count, share])

    def _columns_section(self) -> str:
        """Show the shares of rows that each of the other columns puts at risk."""
        if self.columns.empty:
            return section("Other columns", paragraph("There is no other column."))
        few = f"a value in fewer than {self.k} rows"
        text = f"For each column alone: the share of rows with a unique value, or {few}{self._of_first()}."
        return section("Other columns", paragraph(text), self._columns_table())

    def _columns_table(self) -> str:
        header = ["column", "unique value", f"value in fewer than {self.k} rows", "values", "missing", "type"]
        n_rows, rows = max(self.unmodified.rows, 1), []
        each: Any
        for each in self.columns.itertuples(index=False):
            figures = [share(each.unique / n_rows), share(each.below_k / n_rows), count(each.values)]
            if each.values < 0:
                figures = [Cell("", -1), Cell("", -1), Cell("not comparable", -1)]
            rows.append([Cell(str(each.column)), *figures, count(each.missing), Cell(each.dtype)])
        return table("Rows that a single column identifies", header, rows)

    def _title(self) -> str:
        return f"Profile: {self.counts['rows']:,} rows, lists in {self.column!r}"

    def _facts(self) -> Lines:
        """Yield the names and texts of the summary lines."""
        counts, lengths = self.counts, self.lengths
        empty = f"{counts['missing rows']:,} missing, {counts['empty rows']:,} empty"
        yield "rows", f"{empty}, {counts['distinct rows']:,} distinct"
        longest = f"{lengths['longest']:.0f} in the longest row"
        yield "lengths", f"{lengths['mean']:.3g} items on average, {longest}"
        rare, alone = (self.supports.loc[self.supports["at_most"] < k, "items"].sum() for k in (self.k, 2))
        yield "items", f"{counts['items']:,} distinct; {rare:,} in fewer than {self.k} rows, {alone:,} in one"
        for known, row in of_few_known(self.risk).iterrows():
            found = f"{percent(row['singled_out'])} of the rows singled out"
            found += f", {percent(row['below_k'])} with fewer than {self.k} matches"
            below_k = Share(row["below_k"], name=f"fewer than {self.k}")
            yield f"{known} known", found, Share(row["singled_out"], name="singled out"), below_k
        for each in self.tails[self.tails["of"] >= FEW].to_dict("records"):
            found = (
                f"{percent(each['rare'] / each['of'])} of the {each['of']:,} combinations of up to 2 items "
            )
            found += f"in fewer than {self.k} rows"
            number, held = f"{each['number']:,}", f"{percent(each['occurrences'])} of the occurrences"
            if each["part"] == "rows":
                found += f" are only in the {number} rows with more than {each['limit']:,} items"
                yield "long rows", found
            else:
                yield "rare items", f"{found} have one of the {number} rarest items, with {held}"
        if len(self.columns):
            few = f" (not judged: fewer than {FEW} rows)" if self.unmodified.rows < FEW else self._of_first()
            yield "columns", ", ".join(map(str, self.columns["column"].head(_MOST_SHOWN))) + few

    def _of_first(self) -> str:
        """Describe the rows in which the other columns were counted, if these are not all."""
        rows = self.unmodified.rows
        return f" (counted in the first {rows:,} rows)" if rows < self.counts["rows"] else ""


@called_by_name
def profile(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: int = 5,
    m: int = 3,
    quasi: Sequence[Hashable] | None = None,
) -> Profile | RawProfile:
    """Profile a raw table before anonymization.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person, or any table without lists. It is not modified.
    column : hashable, optional
        The list column. By default the only one.
    k : int
        Number of matching rows that counts as safe; at least 2.
    m : int
        Maximum number of known items for which the risk is counted; at least 1.
    quasi : sequence of hashable, optional
        Other columns that the attacker knows as well.

    Returns
    -------
    Profile or RawProfile
        Counts, risks and alerts, displayed as text, or as tables in a notebook. For a table without lists,
        its columns, and the calls that make lists of it.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If there are several list columns, the column does not hold sets of items, or k or m is out of range.

    Notes
    -----
    No item in fewer than k rows is named. The counts still describe the original.
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
      1 known    4 % of the rows singled out, 4 % with fewer than 5 matches
      2 known    4 % of the rows singled out, 4 % with fewer than 5 matches
      columns    age
      look at    1 of 25 rows (4 %) are unique in age, which is published unmodified
                 -> drop columns that are not needed, use KKm(k=5, m=2, quasi=['age']), or ...keep('age')...
      look at    2 items differ only in capitals and blanks from another item
                 -> if they mean the same, apply .str.strip().str.lower() to the items before you make lists
      look at    for 4 % of the rows, fewer than 5 rows match if 2 items are known
                 -> frame.txanon.anonymize(k=5, m=2)
    """
    k = check_k(k)
    try:
        position = find_column(frame, column)
        refuse_chunks(frame)  # rows that are parts of records have no risk of their own
        itemsets = Itemsets.from_series(frame.iloc[:, position])
    except (ColumnError, ItemsetDtypeError):
        may_be_raw = column is None and isinstance(frame, pd.DataFrame)
        if may_be_raw and (raw := describe_raw(frame, k=k)).readings:
            return raw
        raise
    others = frame.iloc[:, [place for place in range(frame.shape[1]) if place != position]]
    known: dict[str, Any] = {}
    if quasi is not None:
        places = find_quasi(frame, quasi)
        known = {"classes": equal_rows(frame, places), "quasi": [frame.columns[place] for place in places]}
    return profile_of(itemsets, frame.columns[position], others, k=k, m=m, **known)


def profile_of(
    itemsets: Itemsets,
    label: Hashable,
    others: pd.DataFrame,
    *,
    k: int,
    m: int,
    classes: Numbers | None = None,
    quasi: Sequence[Hashable] = (),
) -> Profile:
    """Profile an encoded column as `profile`, with the other columns of all or only the first rows."""
    k = check_k(k)
    with show_activity("profile"):
        risks = risk_of(itemsets, k=k, m=m, classes=classes)
    index, n_rows = SupportIndex.of(itemsets), len(others)
    series = [column for _, column in others.items()]
    numbers = [*map(value_numbers, series)]
    columns = [_column(column, each, k) for column, each in zip(series, numbers, strict=True)]
    # In a small table, almost every column looks like an identifier.
    identifiers = [each.column for each in columns if n_rows >= FEW and is_nearly_all(each.unique, n_rows)]
    together = count_unmodified(others, [], KmAnonymity(k, m), identifiers)
    return Profile(
        column=label,
        k=k,
        counts=_counts(itemsets, index, numbers if itemsets.weights is None else [None]),
        lengths=_lengths(itemsets, index),
        supports=_supports(index, k),
        frequent=_frequent(itemsets, index, k),
        risk=risks,
        columns=pd.DataFrame(columns, columns=_Column._fields),
        unmodified=together,
        tails=_tails(index, k),
        alerts=(
            *_alerts(itemsets, index, columns, together, risks, k, quasi),
            *tree_alerts(itemsets, label),
            *_quasi_identifier_alerts(others, columns),
        ),
    )


# --- Counts


def _counts(itemsets: Itemsets, index: SupportIndex, columns: Sequence[Numbers | None]) -> pd.Series[int]:
    empty, repeats = (itemsets.lengths == 0) & ~itemsets.nulls, -1
    if all(each is not None for each in columns):
        rows = pd.DataFrame(dict(enumerate([row_numbers(itemsets), *columns])))
        repeats = int(rows.duplicated().sum())
    counts = {
        "rows": index.n_rows,
        "missing rows": int(index.weights[itemsets.nulls].sum()),
        "empty rows": int(index.weights[empty].sum()),
        "items": itemsets.n_items,
        "occurrences": int(index.singles.sum()),
        "distinct rows": len(index.distinct().weights),
        "repeated rows": repeats,
    }
    return pd.Series(counts, name="count")


def _lengths(itemsets: Itemsets, index: SupportIndex) -> pd.Series[float]:
    present = ~itemsets.nulls
    lengths, weights = itemsets.lengths[present], index.weights[present]
    shown = {"mean": 0.0, "shortest": 0.0, "median": 0.0, "90 %": 0.0, "longest": 0.0}
    if len(lengths):
        ranks = np.cumsum(np.bincount(lengths, weights))
        places = (ranks[-1] - 1) * np.array([0, 0.5, 0.9, 1])  # as np.quantile of the repeated lengths
        low, high = (np.searchsorted(ranks, near(places), side="right") for near in (np.floor, np.ceil))
        quantiles = low + (high - low) * (places - np.floor(places))
        shown = dict(zip(shown, [int(lengths @ weights) / int(ranks[-1]), *quantiles], strict=True))
    return pd.Series(shown, name="items of a row", dtype="float64")


def _supports(index: SupportIndex, k: int) -> pd.DataFrame:
    """Count the items and their share of the occurrences by bands of support."""
    edges = np.unique([*_BANDS, k])
    band = np.searchsorted(edges, index.singles, side="right") - 1
    items = np.bincount(band, minlength=len(edges))
    occurrences = np.bincount(band, index.singles, minlength=len(edges)) / max(int(index.singles.sum()), 1)
    table = {"at_least": edges, "at_most": np.append(edges[1:] - 1, MOST_ROWS), "items": items}
    return pd.DataFrame({**table, "occurrences": occurrences})[items > 0].reset_index(drop=True)


def _tails(index: SupportIndex, k: int) -> pd.DataFrame:
    """Count the rare itemsets that are only in the longest rows, and those with one of the rarest items."""
    rows, names = index.distinct(), ["part", "limit", "number", "occurrences", "rare", "of"]
    total = int(index.singles.sum())
    if rows.search_bound(2) > _MOST_PAIRS or not len(rare := rows.rare(k, 2)):
        return pd.DataFrame(columns=names)
    ordered = np.argsort(rows.lengths, kind="stable")
    at_most = np.searchsorted(10 * np.cumsum(rows.weights[ordered]), 9 * rows.weights.sum())
    limit = int(rows.lengths[ordered[at_most]])
    long, items = rows.lengths > limit, np.argsort(rows.singles, kind="stable")
    elsewhere = rows.within(np.flatnonzero(~long)).supports(rare.codes, rare.offsets)
    few = items[: np.searchsorted(np.cumsum(rows.singles[items]), total // 10, side="right")]
    has_few = np.logical_or.reduceat(mask_at(rows.n_items, few)[rare.codes], rare.offsets[:-1])
    n_long, of_long = rows.weights[long].sum(), rows.lengths[long] @ rows.weights[long]
    of_few = rows.singles[few]
    lines = [
        ("rows", limit, n_long, of_long / total, (elsewhere == 0).sum(), len(rare)),
        ("items", of_few.max(initial=0), len(few), of_few.sum() / total, has_few.sum(), len(rare)),
    ]
    return pd.DataFrame([line for line in lines if line[2]], columns=names)


def _frequent(itemsets: Itemsets, index: SupportIndex, k: int) -> pd.DataFrame:
    found = pd.DataFrame({"item": text_column(itemsets.texts()), "rows": index.singles})
    found = found[found["rows"] >= k].sort_values("rows", ascending=False, kind="stable", ignore_index=True)
    return found.head(_MOST_SHOWN).assign(share=lambda top: top["rows"] / itemsets.n_present)


class _Column(NamedTuple):
    column: Hashable
    dtype: str
    values: int = -1
    missing: int = 0
    unique: int = -1
    below_k: int = -1


def _column(column: pd.Series[Any], numbers: Numbers | None, k: int) -> _Column:
    kind, missing = column.dtype.name, int(column.isna().sum())
    if numbers is None:
        return _Column(column.name, kind, missing=missing)
    _, sizes = np.unique(numbers, return_counts=True)
    alone, few = int(np.count_nonzero(sizes == 1)), int(sizes[sizes < k].sum())
    return _Column(column.name, kind, len(sizes) - (missing > 0), missing, alone, few)


# --- Alerts


def _alerts(
    itemsets: Itemsets,
    index: SupportIndex,
    columns: Sequence[_Column],
    together: UnmodifiedColumns,
    risks: pd.DataFrame,
    k: int,
    quasi: Sequence[Hashable],
) -> Iterator[Alert]:
    named, n_rows = [*together.telling], together.rows
    if n_rows >= FEW:
        for each in together.judged:
            hint = f"drop the column {each!r}: it identifies people"
            by = f"merge rows by the column with --by {quote(str(each))}; list published columns in --keep"
            yield Alert(f"column {each!r} differs in almost every row", hint, by)
        if exposed := ". ".join(together.sentences(index.n_rows)):
            drop = "drop columns that are not needed"
            protect = f"use KKm(k={k}, m=2, quasi={named}), or call frame.txanon.keep("
            protect += f"{', '.join(map(repr, named))}) to publish them as they are"
            keep = " ".join(quote(str(each)) for each in named)
            options = f"protect them with --quasi {keep}, or pass --keep {keep} to publish them as they are"
            yield Alert(exposed, f"{drop}, {protect}", f"{drop}, {options}")
        yield from _grouping_columns(columns, n_rows)
        if always := int(np.count_nonzero(index.singles == itemsets.n_present)):
            what = f"{always:,} {'item is' if always == 1 else 'items are'} in every row"
            hint = "if a column of years or ages was taken for an item, make the lists without it"
            yield Alert(what, hint, f"{hint}: list the columns that are items in --onehot")
    yield from spelling_alerts(itemsets)
    for known, exposed in of_all_rows(risks)["below_k"].loc[:2].iloc[-1:].items():
        if exposed:
            items = "1 item is" if known == 1 else f"{known} items are"
            what = f"for {percent(exposed)} of the rows, fewer than {k} rows match if {items} known"
            call, command = f"k={k}, m={known}", f"-k {k} -m {known}"
            if quasi:
                shown = [str(each) for each in quasi[:_MOST_SHOWN]]
                shown += [f"{len(quasi) - _MOST_SHOWN} more"] * (len(quasi) > _MOST_SHOWN)
                what += f" together with {', '.join(shown)}"
                call += f", quasi={[*quasi]}"
                command += f" --quasi {' '.join(quote(str(each)) for each in quasi)}"
            hint = f"frame.txanon.anonymize({call})"
            yield Alert(what, hint, f"pdanon anonymize IN OUT {command}")


def _grouping_columns(columns: Sequence[_Column], n_rows: int) -> Iterator[Alert]:
    """Yield an alert for each column that may identify people with several rows."""
    for each in columns:
        # Measurements are no identifiers, and fewer repetitions suffice if the name suggests one.
        whole = not each.dtype.lower().startswith(("float", "double"))
        least = n_rows // 100 if is_named_for_a_number(each.column) else n_rows // 2
        if whole and least < each.values < n_rows - each.missing:
            what = f"column {each.column!r} has {each.values:,} values in {n_rows:,} rows"
            hint = "if it identifies people, some have several rows: merge their rows first"
            yield Alert(what, hint, f"{hint}, with --by {quote(str(each.column))}")


def _quasi_identifier_alerts(frame: pd.DataFrame, columns: Sequence[_Column]) -> Iterator[Alert]:
    """Yield an alert for each column that needs attention before it is protected as a quasi-identifier."""
    for place, each in enumerate(columns if len(frame) >= FEW else ()):
        values, name = frame.iloc[:, place], each.column
        if is_nearly_all(each.unique, len(frame)) or each.values <= 1:
            continue
        if each.missing and is_continuous(values):
            what = f"{each.missing:,} of {len(frame):,} rows have no value in {name!r}"
            hint = "in quasi=, a class with such a row gets the whole range: drop or fill these rows"
            yield Alert(what, hint, hint.replace("quasi=", "--quasi"))
        if each.values >= _FEW_CODES and are_codes(values):
            codes = f"sorted(frame[{name!r}].dropna().astype(str).unique())"
            tree = f"pdanon.Hierarchy.prefixes({codes}, lengths=(1, 2, 3))"
            usable = "if its prefixes are regions or groups"
            hint = f"{usable}, pass them as a hierarchy: quasi={{{name!r}: {tree}}}"
            command = f"{usable}, list a file of them under hierarchies in a policy"
            yield Alert(f"column {name!r} looks like codes, such as postcodes", hint, command)


def are_codes(values: pd.Series[Any]) -> bool:
    """Return whether all values look like codes whose prefixes have a meaning."""
    kinds = pd.api.types
    if kinds.is_integer_dtype(values.dtype):
        return bool({word.lower() for word in split_words(values.name)} & _POSTCODES)
    texts = pd.Series(values.dropna().unique())
    if not all(isinstance(text, str) for text in texts):
        return False
    return bool(texts.str.match(_CODE).all()) and 2 * texts.str[0].nunique() <= len(texts)


# --- The page


def by_length(risk: pd.DataFrame, n_missing: int) -> pd.DataFrame:
    """Compute the share of rows below k by the number of items in the row, or by bands 1, 2, 3-4, 5-8, ..."""
    lengths = risk[risk["items"].notna()].astype({"items": "int64"})
    n_items = lengths["items"]
    few = n_items.nunique() <= _MOST_LENGTHS
    band = n_items if few else doubling_bands(n_items.to_numpy())
    # Shares must be weighted by their rows before they are added up.
    parts = lengths.assign(below_k=lengths["below_k"] * lengths["rows"], band=band)
    sums = parts.groupby(["band", "known"])[["rows", "below_k"]].sum()
    shares = (sums["below_k"] / sums["rows"]).unstack("known")
    rows = sums["rows"].groupby("band").first() - n_missing * (shares.index == 0)
    shares.insert(0, "rows", rows)
    names = [str(each) if few else band_name(each) for each in shares.index]
    return shares.set_axis(pd.Index(names, dtype=object))[(rows > 0).to_numpy()]


def _bands_figure(bands: pd.Series[int], of: str, what: str, caption: str) -> str:
    return "" if bands.empty else figure(partial(draw_bands, bands, of=of, what=what), caption)
