"""Audits and risk of a release together with earlier releases of the same persons."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd

from pdanon.guarantees import read_guarantee
from pdanon.guarantees.named import SUPPRESSED
from pdanon.guarantees.parameters import DEFAULT_M, ItemLimit, check_finite_m, check_k
from pdanon.guarantees.series import KNOWLEDGE, Released, Series, audit_series, read_releases
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.lists import Codes, Mask, Numbers
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.timing import part_done, show_activity
from pdanon.itemsets.validation import check_flag, check_known
from pdanon.recoding.result import Anonymized


@called_by_name
def after(
    frame: pd.DataFrame,
    previous: pd.DataFrame | Anonymized | Sequence[Any],
    *,
    key: Hashable | Sequence[Any] | None = None,
    mapping: pd.DataFrame | None = None,
) -> AfterReleases:
    """Take a release together with earlier releases of the same persons: an attacker keeps them all.

    Parameters
    ----------
    frame : pandas.DataFrame
        The newest release.
    previous : DataFrame, Anonymized, pair or list
        The earlier release: a frame, a result, or a pair of a frame and its mapping. Several ones are a list,
        the oldest first.
    key : hashable or list, optional
        The column that identifies a person in all releases, or a list with the persons of the rows of each
        release, the newest last. By default the index, unless it only counts rows.
    mapping : pandas.DataFrame, optional
        The mapping of the newest release, if its labels do not name their items.

    Returns
    -------
    AfterReleases
        With the methods ``audit`` and ``risk``.

    Raises
    ------
    ParameterError
        If there is no earlier release, or it is none.

    Notes
    -----
    The order of rows links nobody, as a release may have other persons or be shuffled. So there must be a
    ``key``, or an index with a name or with other values than row numbers.

    Without a mapping, ``(a,b)`` names the items a and b, and each other label is an item. An item that such a
    release does not name may be suppressed there, so its part of the label is unknown. Labels that are nodes
    of a hierarchy, or renamed, need the mapping. Missing rows count as absent persons.

    Local recodings are refused, if their mapping is passed. Deletions are one: a row may show one known item
    in one release, and another one in the next. They are audited if nobody is in two releases. A frame alone
    counts as one that shows all items.

    Time: for n releases n (n + 1) / 2 spans, each as one release with longer rows. Memory: the rows of all
    releases, and of one span.

    Examples
    --------
    Two releases that are safe alone, and not together:

    >>> import pandas as pd, pdanon
    >>> persons = ["ann", "bob", "cem", "dan", "eve"]
    >>> may = pd.DataFrame({"items": [["(rice,tea)"]] * 3 + [["salt"]] * 2})
    >>> june = pd.DataFrame({"items": [["rice"]] * 2 + [["(salt,tea)"]] * 3})
    >>> june.txanon.audit(pdanon.KmAnonymity(k=2, m=2)).holds
    True
    >>> series = june.txanon.after(may, key=[persons, persons])
    >>> audit = series.audit(pdanon.KmAnonymity(k=2, m=2))
    >>> audit
    Audit(holds=False, rows_at_risk=1, guarantee=KmAnonymity(k=2, m=2), spans=3, linked=key)
    >>> audit.threats
       first  last  itemset  support   why
    0      0     1  ['tea']        1  rare
    >>> series.risk(k=2, m=2)
       first  last  singled_out  below_k  rows
    0      0     0          0.0      0.0     5
    1      0     1          0.2      0.2     5
    2      1     1          0.0      0.0     5
    """
    return AfterReleases(read_releases(frame, previous, mapping), key)


@holds_tables
class AfterReleases:
    """A release together with earlier releases of the same persons; made by `after`."""

    def __init__(self, releases: Sequence[Released], key: Any) -> None:
        self._releases, self._key = releases, key

    def __repr__(self) -> str:
        n = len(self._releases) - 1
        return f"a release after {n} other{'s' * (n > 1)}: audit(guarantee), risk(k=5, m=2)"

    @called_by_name
    def audit(
        self,
        guarantee: Guarantee | None = None,
        column: Hashable | None = None,
        *,
        k: int | None = None,
        m: ItemLimit = DEFAULT_M,
        spans: str = "present",
    ) -> Audit:
        """Verify from scratch whether a guarantee holds for the release alone, and for all releases together.

        Parameters
        ----------
        guarantee : Guarantee
            `KmAnonymity`, `PrivacyConstraints`, `LmDiversity`, `KAnonymity` or `KKm`.
        column, k, m : hashable, int, int, optional
            The list column, by default the only one; and short for the guarantee ``KmAnonymity(k, m)``.
        spans : {"present", "joined", "any"}
            What the attacker knows of the releases of a person: ``"present"``, that the person is in some
            consecutive releases. The others are counted beside it, and never promised: ``"joined"``, also in
            which release the person joined, and ``"any"``, exactly in which releases the person is.

        Returns
        -------
        Audit
            As of `pdanon.audit`, with the table ``spans``. ``rows_at_risk`` counts the persons that are at
            risk in a span.

        Raises
        ------
        ColumnError, ItemsetDtypeError, ParameterError
            As in `pdanon.audit`. If a label stands for no item of its mapping, an item has several labels in
            one release, or the guarantee has no form for several releases. If a key repeats or is missing, or
            there is none.

        Notes
        -----
        The attacker knows up to m items that a person has in all releases of a span, from a first to a last
        one. Candidates are the persons in all these releases whose rows hold the label of each known item in
        each of them. Their number must be 0 or at least k.
        """
        guarantee, column = read_guarantee(guarantee, column, k, m, mapping=self._releases[-1].mapping)
        check_known(spans, KNOWLEDGE, "knowledge of spans", where="spans")
        with show_activity("audit"):
            return audit_series(guarantee, self._releases, column, key=self._key, spans=spans)

    @called_by_name
    def risk(
        self, column: Hashable | None = None, *, k: int, m: int = 2, linked: bool = True
    ) -> pd.DataFrame:
        """Measure the share of persons that an attacker who keeps all releases can single out.

        Parameters
        ----------
        column, k, m : hashable, int, int
            As in `pdanon.risk`.
        linked : bool
            Whether the attacker can tell which rows of several releases are of the same person. If False, the
            attacker knows no item, and compares the labels of a row with all rows of the newest release.

        Returns
        -------
        pandas.DataFrame
            One row per span of releases for up to m known items: ``first`` and ``last`` release, counted from
            0, both shares, and the number of persons in all of its releases as ``rows``. With
            ``linked=False``, one row per earlier release: the persons in it and in the newest one as
            ``rows``, and the shares of them whose own row alone fits, and is one of fewer than k rows that
            fit.

        Raises
        ------
        ColumnError, ItemsetDtypeError, ParameterError
            As in `audit`.

        Notes
        -----
        With ``linked=False``, a row fits a row of an earlier release if both can stand for the same items.
        Each label of one then has an item whose label is in the other, or is suppressed there. The key only
        tells which row is right. This is an attack, and no guarantee bounds it: persons whose items have
        changed may not fit, and other attackers may weigh rows. Cost: the distinct rows of the persons, times
        the rows.
        """
        check_flag(linked, "linked")
        with show_activity("risk"):
            series = Series.of(self._releases, column, self._key)
            k, m = check_k(k), check_finite_m(m)
            found = _exposed_in_spans(series, k, m) if linked else _exposed_by_labels(series, k)
            columns = ["first", "last", "singled_out", "below_k", "rows"]
            lines = [
                (*place, *(each.mean() if len(each) else 0.0 for each in exposed), len(exposed[0]))
                for place, *exposed in found
            ]
            return Measures(pd.DataFrame(lines, columns=columns))


def _exposed_in_spans(series: Series, k: int, m: int) -> Iterator[tuple[tuple[int, int], Mask, Mask]]:
    """Yield each span, and which of its persons are singled out, and have fewer than k matches."""
    for span in series.spans():
        n = len(span.persons)
        # Fewer persons than needed are at risk without any known item.
        alone, below_k = (np.ones(n, np.bool_) if n < few else span.index.at_risk(few, m) for few in (2, k))
        yield span.place, alone, below_k


def _exposed_by_labels(series: Series, k: int) -> Iterator[tuple[tuple[int, int], Mask, Mask]]:
    """Yield as `_exposed_in_spans` each earlier release with the newest, whose rows fit by labels alone."""
    newest = len(series.columns) - 1
    for release in range(newest):
        fits, own = fitting_rows(series, release)
        yield (release, newest), own & (fits == 1), own & (fits < k)


# --- Links of two releases by labels alone, without a key: rows that can stand for the same items


_BATCH = 128  # rows of the earlier release that are compared at once


def fitting_rows(series: Series, release: int) -> tuple[Numbers, Mask]:
    """Count the newest rows that fit each person of an earlier release, and return whether their own does."""
    # A union of itemsets that fit is one as well, so each label needs one item that both rows allow.
    earlier, newest = series.persons.row_of[release], series.persons.row_of[-1]
    both = (earlier >= 0) & (newest >= 0)
    before, number, _ = _distinct(series.columns[release].take(earlier[both]))
    after, place, weights = _distinct(series.columns[-1].take(newest[newest >= 0]))
    place = place[both[newest >= 0]]
    allowed, free, open_ = _links(series.labels[release], series.labels[-1], before.shape[1], after.shape[1])
    lengths = np.asarray(after.sum(axis=1)).reshape(-1)
    # Labels of the earlier row that need an item in the later one, and the later rows that have it.
    needs = before[:, ~open_]
    meets = (after @ allowed[~open_].T).astype(np.bool_).astype(np.int32)
    fits, own = np.zeros(len(number), np.int64), np.zeros(len(number), np.bool_)
    order = np.argsort(number, kind="stable")
    for first in range(0, before.shape[0], _BATCH):
        rows = before[first : first + _BATCH]
        covered = (rows @ allowed).toarray().astype(np.bool_) | free
        needed = needs[first : first + _BATCH]
        fit = after @ covered.T.astype(np.int32) == lengths[:, None]
        fit &= (meets @ needed.T).toarray() == np.asarray(needed.sum(axis=1)).reshape(-1)
        begin, end = np.searchsorted(number[order], (first, first + _BATCH))
        persons = order[begin:end]
        fits[persons] = (weights @ fit)[number[persons] - first]
        own[persons] = fit[place[persons], number[persons] - first]
        part_done()
    return fits, own


def _distinct(rows: Itemsets) -> tuple[Any, Codes, Numbers]:
    """Return the distinct rows as a sparse matrix, the number of each row, and how often each occurs."""
    numbers, distinct = SupportIndex.of(rows).number_rows()
    return csr(distinct.codes, distinct.offsets, rows.n_items, np.int32(1)), numbers, distinct.weights


def _links(before: Codes, after: Codes, n_before: int, n_after: int) -> tuple[Any, Mask, Mask]:
    """Return which labels of two releases share an item, and which have one that the other suppresses."""
    known = (before >= SUPPRESSED) & (after >= SUPPRESSED)  # an unknown item is in no row
    before, after = before[known], after[known]
    free, open_ = np.zeros(n_after, np.bool_), np.zeros(n_before, np.bool_)  # later, and earlier labels
    free[after[(before == SUPPRESSED) & (after >= 0)]] = True
    open_[before[(after == SUPPRESSED) & (before >= 0)]] = True
    shown = (before >= 0) & (after >= 0)
    pairs = np.unique(np.stack((before[shown], after[shown])), axis=1)
    starts = np.searchsorted(pairs[0], np.arange(n_before + 1))
    return csr(pairs[1], starts, n_after, np.int32(1)), free, open_
