"""Identification: an attacker with a sample of the same kind picks a person's row among the candidate rows.

A published set hides which of its items a row held. The other labels of the row tell: items occur together.
The attacker learns from the sample how often, and estimates for each candidate row the probability that its
labels stand for the known items.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon.itemsets.codes import Codes, Itemsets, Numbers, Offsets, canonical_rows
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.sampling import draw_subsets
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.table import ItemsetTable, concatenate
from pdanon.itemsets.timing import part_done
from pdanon.recoding.cover import Cover

_TIE = 1e-9  # logarithms of equal probabilities differ by rounding
_MOST_DRAWN = 2**20  # items of the rows of a round of draws
_MOST_ROUNDS = 40
_MOST_CANDIDATES = 2**22  # of the persons that are weighed together
_MOST_CELLS = 2**21  # candidate rows times items of a label
_PRIOR = 0.5  # occurrences added to each item

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False, slots=True)
class Persons:
    """Persons at risk, and the items that an attacker knows of each.

    Parameters
    ----------
    rows : ndarray of int64, shape (persons,)
        The row of each person.
    codes, offsets : ndarray
        The known items, with ascending codes.
    supports : ndarray of int64, shape (persons,)
        Number of original rows with all known items; below k.
    """

    rows: Numbers
    codes: Codes
    offsets: Offsets
    supports: Numbers


def rows_at_risk(itemsets: Itemsets, k: int, m: int | None) -> NDArray[np.bool_]:
    """Return whether fewer than k rows hold some m items of each row; all its items if it has fewer."""
    at_risk: NDArray[np.bool_] = SupportIndex.of(itemsets).at_risk(k, m) & (itemsets.lengths > 0)
    return at_risk


def draw_persons(
    itemsets: Itemsets, able: Numbers, k: int, m: int | None, n: int, rng: np.random.Generator
) -> Persons:
    """Draw persons at risk with known items: a row, then m of its items that are rare, both uniformly.

    Parameters
    ----------
    itemsets : Itemsets
        The original column.
    able : ndarray of int64
        Rows at risk.
    k : int
        Itemsets of a lower support are rare.
    m : int or None
        Number of known items; all items if a row has fewer, or with None.
    n : int
        Number of persons. They are fewer if the rare itemsets of some rows are too few to be found.
    rng : numpy.random.Generator
        Source of randomness.
    """
    rows = rng.choice(able, n) if len(able) else np.empty(0, np.int64)
    index, lengths = SupportIndex.of(itemsets).distinct(), itemsets.lengths
    left, repeats = np.arange(len(rows)), 1
    found: list[tuple[Numbers, ItemsetTable]] = []
    for _ in range(_MOST_ROUNDS):
        if not len(left):
            break
        several = max(_MOST_DRAWN // (int(lengths[rows[left]].max()) * repeats), 1)
        drawn = np.repeat(left[:several], repeats)
        codes, offsets = draw_subsets(itemsets, rows[drawn], m, rng)
        supports = index.supports(codes, offsets)
        is_rare = np.flatnonzero(supports < k)
        persons, first = np.unique(drawn[is_rare], return_index=True)
        known = ItemsetTable(codes, offsets, supports).take(is_rare[first])
        found.append((persons, known))
        left = np.setdiff1d(left, persons)
        repeats = min(2 * repeats, 2**12)
    if not found:
        return Persons(rows, np.empty(0, np.int32), np.zeros(1, np.int64), np.empty(0, np.int64))
    persons = np.concatenate([each for each, _ in found])
    order = np.argsort(persons, kind="stable")
    known = concatenate([known for _, known in found]).take(order)
    return Persons(rows[persons[order]], known.codes, known.offsets, known.supports)


class Sample:
    """The rows of an attacker's sample, as items of the original and as labels of the release.

    Parameters
    ----------
    itemsets : Itemsets
        The sample.
    original : Itemsets
        The original column. Other items of the sample are ignored.
    cover : Cover
        The labels of each item.
    own : ndarray of int64, optional
        The rows of the original that the sample consists of. By default, it has other rows.
    """

    def __init__(
        self, itemsets: Itemsets, original: Itemsets, cover: Cover, own: Numbers | None = None
    ) -> None:
        code_of = original.lookup(itemsets.vocabulary)
        kept = code_of[itemsets.codes] >= 0
        places = np.append(0, np.cumsum(kept))[itemsets.offsets]
        n_rows, n_labels = len(places) - 1, len(cover.members)
        codes = code_of[itemsets.codes[kept]]
        self.items = csr((np.ones(len(codes)), codes, places), n_rows, original.n_items)
        stands = csr((np.ones(len(cover.labels)), cover.labels, cover.offsets), original.n_items, n_labels)
        self.labels = self.items @ stands
        self.labels.data[:] = 1
        self._rows = self.labels.tocsc()
        self._members = stands.tocsc()
        # A label that no row of the sample holds counts half a row.
        self._shares = np.maximum(np.diff(self._rows.indptr), 0.5) / max(n_rows, 1)
        self._held = None
        if own is not None:
            in_sample = np.zeros(len(original.offsets) - 1, np.bool_)
            in_sample[own] = True
            held = np.where(in_sample[original.rows], 1.0, 0.0)
            self._held = csr((held, original.codes, original.offsets), len(in_sample), original.n_items)

    def members(self, label: int) -> Numbers:
        """Return the items that a label stands for."""
        stands = self._members
        members: Numbers = np.sort(stands.indices[stands.indptr[label] : stands.indptr[label + 1]])
        return members.astype(np.int64)

    def log_probabilities(self, label: int, wanted: Numbers, rows: Numbers, published: Any) -> Floats:
        """Estimate the probabilities that a label of released rows stands for some of its items.

        By naive Bayes: the probability of an item is in proportion to its number of rows in the sample, times
        their share with each other label of the released row.

        Parameters
        ----------
        label : int
            The label.
        wanted : ndarray of int64
            Some of its items.
        rows : ndarray of int64
            Released rows with the label.
        published : sparse array, shape (rows, labels)
            All released rows.

        Returns
        -------
        ndarray of float64, shape (rows, wanted)
            Natural logarithms.

        Notes
        -----
        Each item counts half a row more than the sample has. Each share is estimated as if one more row held
        the item, with each other label in proportion to its share of all rows. If the sample consists of rows
        of the original, the own items of a released row count as if the sample lacked it.
        """
        members = self.members(label)
        having = self._rows.indices[self._rows.indptr[label] : self._rows.indptr[label + 1]]
        items = self.items[having][:, members]
        together = (items.T @ self.labels[having]).tocsr()
        together.sort_indices()
        supports = np.asarray(items.sum(axis=0)).ravel()
        place = np.searchsorted(members, wanted)
        found = np.empty((len(rows), len(wanted)))
        size = max(_MOST_CELLS // max(len(members), 1), 1)
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            labels = published[part]
            others = np.diff(labels.indptr) - 1.0
            logs = self._sum_logs(label, labels, others, together, supports, 0)
            if self._held is not None:  # without the row itself, where the sample has it
                held = self._held[part][:, members].toarray() > 0
                logs = np.where(held, self._sum_logs(label, labels, others, together, supports, 1), logs)
            largest = logs.max(axis=1, keepdims=True)
            total = largest[:, 0] + np.log(np.exp(logs - largest).sum(axis=1))
            found[begin : begin + len(part)] = logs[:, place] - total[:, None]
        return found

    def _sum_logs(
        self, label: int, labels: Any, others: Floats, together: Any, supports: Floats, without: int
    ) -> Floats:
        """Return the logarithms of the products of naive Bayes, but for a factor of each row."""
        rows = np.maximum(supports - without, 0)
        shares = self._shares[together.indices]
        counts = np.maximum(together.data - without, 0)
        gains = np.where(together.indices == label, 0.0, np.log1p(counts / shares))
        table = csr((gains, together.indices, together.indptr), *together.shape)
        base = np.log(rows + _PRIOR) - others[:, None] * np.log1p(rows)
        sums: Floats = base + (labels @ table.T).toarray()
        return sums


@dataclass(frozen=True, eq=False, slots=True)
class Guesses:
    """The guesses of an attacker, person by person.

    Parameters
    ----------
    candidates : ndarray of int64
        Number of candidate rows.
    chances : ndarray of float64
        Chance that a row drawn from the most probable candidates is that of the person.
    largest : ndarray of float64
        The largest probability of a candidate row, by the attacker's estimate.
    """

    candidates: Numbers
    chances: Floats
    largest: Floats


def guess_rows(persons: Persons, became: Numbers, published: Itemsets, sample: Sample) -> Guesses:
    """Guess the released row of each person.

    Parameters
    ----------
    persons : Persons
        The persons, with the items that the attacker knows.
    became : ndarray of int64
        The label of each known item; -1 if it is suppressed.
    published : Itemsets
        The release.
    sample : Sample
        What the attacker learns from.

    Notes
    -----
    Memory: 8 bytes for each candidate row of some persons, and 24 for each occurrence of the sample and the
    release. Time: the occurrences of the rows with each known label, in the sample and the release; for sets
    also the candidate rows times the items of their label.
    """
    n = len(persons.rows)
    index = SupportIndex.of(published)
    of_person = np.repeat(np.arange(n), np.diff(persons.offsets))
    kept = became >= 0
    sizes = np.bincount(of_person[kept], minlength=n)
    labels, offsets = canonical_rows(became[kept].astype(np.int32), offsets_of(sizes), published.n_items)
    candidates = index.distinct().supports(labels, offsets)
    hidden = np.diff(offsets) == 0
    candidates[hidden] = published.n_present  # all known items were suppressed
    chances = np.full(n, 1 / max(published.n_present, 1))
    largest = chances.copy()
    rows = csr((np.ones(len(index.codes)), index.codes, index.offsets), *_shape(published))
    for begin, end in _parts(np.where(hidden, 0, candidates)):
        found = [_rows_with(index, labels[offsets[i] : offsets[i + 1]]) for i in range(begin, end)]
        slots = np.flatnonzero(kept & (of_person >= begin) & (of_person < end))
        logs = _weigh(found, of_person[slots] - begin, persons.codes[slots], became[slots], rows, sample)
        for number, (own, log) in enumerate(zip(found, logs, strict=True), begin):
            if hidden[number]:
                continue
            best = log.max()
            is_best = log >= best - _TIE
            largest[number] = 1 / np.exp(log - best).sum()
            chances[number] = is_best[np.searchsorted(own, persons.rows[number])] / is_best.sum()
        part_done()
    return Guesses(candidates, chances, largest)


def _shape(itemsets: Itemsets) -> tuple[int, int]:
    return len(itemsets.offsets) - 1, itemsets.n_items


def _parts(candidates: Numbers) -> Iterator[tuple[int, int]]:
    """Yield ranges of persons with a limited number of candidate rows."""
    if not len(candidates):
        return
    before = np.append(0, np.cumsum(candidates))
    begin = 0
    while begin < len(candidates):
        end = int(np.searchsorted(before, before[begin] + _MOST_CANDIDATES, side="right")) - 1
        end = max(end, begin + 1)
        yield begin, end
        begin = end


def _rows_with(index: SupportIndex, labels: Codes) -> Numbers:
    """Return the rows that hold all labels, ascending; none if there is no label."""
    starts, tids, _ = index.transpose
    lists = sorted((tids[starts[label] : starts[label + 1]] for label in labels.tolist()), key=len)
    rows = lists[0] if lists else np.empty(0, np.int32)
    for other in lists[1:]:
        place = np.minimum(np.searchsorted(other, rows), len(other) - 1)
        rows = rows[other[place] == rows]
    return rows.astype(np.int64)


def _weigh(
    found: list[Numbers], persons: Numbers, items: Codes, labels: Numbers, rows: Any, sample: Sample
) -> list[Floats]:
    """Return the logarithm of the probability of each candidate row, but for a factor, person by person."""
    logs = [np.zeros(len(own)) for own in found]
    place = np.empty(rows.shape[0], np.int64)
    for label in np.unique(labels).tolist():
        if len(sample.members(label)) == 1:
            continue  # the label is the item
        here = np.flatnonzero(labels == label)
        needed = np.unique(np.concatenate([found[person] for person in persons[here].tolist()]))
        wanted, which = np.unique(items[here].astype(np.int64), return_inverse=True)
        place[needed] = np.arange(len(needed))
        found_logs = sample.log_probabilities(label, wanted, needed, rows)
        for person, column in zip(persons[here].tolist(), which.tolist(), strict=True):
            logs[person] += found_logs[place[found[person]], column]
    return logs
