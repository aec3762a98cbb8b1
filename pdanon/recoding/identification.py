"""Identification: an attacker with a sample of the same kind picks a person's row among the candidate rows.

A published set hides which of its items a row held. The other labels of the row tell: items occur together.
The attacker learns from the sample how often, and estimates for each candidate row the probability that its
labels stand for the known items. Where occurrences are deleted, they tell which rows lost a known item.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, Offsets, canonical_rows
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, offsets_of, rows_of
from pdanon.itemsets.support import ItemsetTable, SupportIndex, concatenate, csr, no_itemsets
from pdanon.itemsets.threads import many_parts
from pdanon.itemsets.timing import part_done
from pdanon.recoding.recoding import Cover, became_of, mapped_codes

_PART = 2**22  # items that are drawn together; drawing can be interrupted between two parts
_TIE = 1e-9  # logarithms of equal probabilities differ by rounding
_MOST_DRAWN = 2**20  # items of the rows of a round of draws
_MOST_ROUNDS = 40
_FEW_ROUNDS = 4  # before all pairs are counted
_MOST_CANDIDATES = 2**22  # of the persons that are weighed together
_MOST_CELLS = 2**21  # candidate rows times items of a label
_PRIOR = 0.5  # occurrences added to each item


@frozen
class Persons:
    """Persons at risk, and the items that an attacker knows of each."""

    rows: Numbers  # the row of each person
    codes: Codes  # the known items, ascending
    offsets: Offsets
    supports: Numbers  # original rows with all known items of a person; below k


def draw_subsets(
    itemsets: Itemsets, rows: Numbers, size: int | None, rng: np.random.Generator
) -> tuple[Codes, Offsets]:
    """Draw a subset of the items of each given row, uniformly among the subsets of one size."""
    # Rows may repeat. A row of fewer items gives all of them, as with ``size=None``. Itemsets are in the
    # order of the rows, with ascending codes.
    lengths = itemsets.lengths[rows]
    sizes = lengths if size is None else np.minimum(lengths, size)
    before, codes = offsets_of(lengths), [np.empty(0, np.int32)]
    for begin, end in many_parts(before, int(before[-1]) // _PART + 1):
        part = itemsets.take(rows[begin:end])
        codes.append(part.codes[np.sort(draw_places(part.offsets, sizes[begin:end], rng))])
        part_done()
    return np.concatenate(codes), offsets_of(sizes)


def draw_places(offsets: Offsets, sizes: Numbers, rng: np.random.Generator) -> Numbers:
    """Draw so many places of each row, uniformly, in a random order within the row."""
    rows = rows_of(offsets)
    order = np.lexsort((rng.random(len(rows)), rows))
    return order[np.arange(len(order)) - offsets[rows] < sizes[rows]]


def rows_at_risk(itemsets: Itemsets, k: int, m: int | None) -> Mask:
    """Return whether fewer than k rows hold some m items of each row; all its items if it has fewer."""
    at_risk: Mask = SupportIndex.of(itemsets).at_risk(k, m) & (itemsets.lengths > 0)
    return at_risk


def draw_persons(
    itemsets: Itemsets, able: Numbers, k: int, m: int | None, n: int, rng: np.random.Generator
) -> Persons:
    """Draw persons at risk with known items: a row, then m of its items that are rare, both uniformly."""
    # ``able`` are the rows at risk. Itemsets of a support below k are rare. All items of a row are known if
    # it has fewer than m, or with m=None. There are fewer than n persons if the rare itemsets of some rows
    # are too few to be found.
    rows = rng.choice(able, n) if len(able) else np.empty(0, np.int64)
    index, lengths = SupportIndex.of(itemsets).distinct(), itemsets.lengths
    left, repeats = np.arange(len(rows)), 1
    found = [(np.empty(0, np.int64), no_itemsets())]
    for _ in range(_FEW_ROUNDS if m == 2 else _MOST_ROUNDS):
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
    if m == 2 and len(left):
        found.append((left, _draw_rare_pairs(itemsets, index, rows[left], k, rng)))
    persons = np.concatenate([each for each, _ in found])
    order = np.argsort(persons, kind="stable")
    known = concatenate([known for _, known in found]).take(order)
    return Persons(rows[persons[order]], known.codes, known.offsets, known.supports)


def _draw_rare_pairs(
    itemsets: Itemsets, index: SupportIndex, rows: Numbers, k: int, rng: np.random.Generator
) -> ItemsetTable:
    """Draw one of the rare pairs of items of each row, uniformly; each row has one."""
    starts, partners, supports = index.sorted_pairs()
    rare = supports < k
    numbers = rows_of(starts)[rare] * index.n_items + partners[rare]
    supports = supports[rare]
    pairs, found = np.empty((len(rows), 2), np.int32), np.empty(len(rows), np.int64)
    for place, row in enumerate(rows.tolist()):
        codes = itemsets.codes[itemsets.offsets[row] : itemsets.offsets[row + 1]].astype(np.int64)
        one, other = np.triu_indices(len(codes), 1)
        wanted = codes[one] * index.n_items + codes[other]
        at = np.minimum(np.searchsorted(numbers, wanted), len(numbers) - 1)
        chosen = rng.choice(np.flatnonzero(numbers[at] == wanted))
        pairs[place] = codes[one[chosen]], codes[other[chosen]]
        found[place] = supports[at[chosen]]
    return ItemsetTable(pairs.ravel(), np.arange(0, 2 * len(rows) + 1, 2), found)


class Sample:
    """The rows of an attacker's sample, as items of the original and as labels of the release."""

    # The rows have the codes of the original. ``own`` are the rows of the original that the sample consists
    # of, ascending; by default, it has other rows.

    def __init__(self, itemsets: Itemsets, cover: Cover, own: Numbers | None = None) -> None:
        self.own = np.empty(0, np.int64) if own is None else own
        self.items = csr(itemsets.codes, itemsets.offsets, itemsets.n_items)
        stands = csr(cover.labels, cover.offsets, len(cover.members))
        self.labels = self.items @ stands
        self.labels.data[:] = 1
        self._rows, self._holders = self.labels.tocsc(), self.items.tocsc()
        self._members = stands.tocsc()
        # A label that no row of the sample holds counts half a row.
        self._shares = np.maximum(np.diff(self._rows.indptr), 0.5) / max(itemsets.n_rows, 1)

    def members(self, label: int) -> Numbers:
        """Return the items that a label stands for."""
        return np.sort(_entries(self._members, label)).astype(np.int64)

    def weigh(self, label: int, wanted: Numbers, rows: Numbers, published: Any) -> tuple[Floats, Floats]:
        """Weigh some items of a label of released rows, by naive Bayes."""
        # The probability that the label stands for an item is in proportion to its weight: its number of rows
        # in the sample, times their share with each other label of the released row. Each item counts half a
        # row more than the sample has. Each share is estimated as if one more row held the item, with each
        # other label in proportion to its share of all rows.
        #
        # ``published`` has all released rows, and ``rows`` are some with the label. Return by row and wanted
        # item the weight of the item, and that of all other items of the label, as natural logarithms.
        members = self.members(label)
        having = _entries(self._rows, label)
        items = self.items[having][:, members]
        together = (items.T @ self.labels[having]).tocsr()
        together.sort_indices()
        supports = np.asarray(items.sum(axis=0)).ravel()
        gains = np.log1p(together.data / self._shares[together.indices])
        gains[together.indices == label] = 0
        gains = csr(together.indices, together.indptr, together.shape[1], gains)
        place = np.searchsorted(members, wanted)
        weights, others = np.empty((2, len(rows), len(wanted)))
        size = max(_MOST_CELLS // max(len(members), 1), 1)
        for begin in range(0, len(rows), size):
            part = rows[begin : begin + size]
            labels = published[part]
            n_others = np.diff(labels.indptr)[:, None] - 1.0
            logs = np.log(supports + _PRIOR) - n_others * np.log1p(supports) + (labels @ gains.T).toarray()
            largest = logs.max(axis=1, keepdims=True)
            parts = np.exp(logs - largest)
            rest = parts.sum(axis=1, keepdims=True) - parts[:, place]
            weights[begin : begin + len(part)] = logs[:, place]
            with np.errstate(divide="ignore"):  # no weight is left
                others[begin : begin + len(part)] = np.log(np.maximum(rest, 0)) + largest
        return weights, others

    def weigh_without(self, person: int, label: int, item: int, rows: Numbers, published: Any) -> Floats:
        """Weigh an item as `weigh`, as if the sample lacked the row of a person, which holds the item."""
        support, gains = self._gains(item, person)
        gains[label] = 0
        labels = published[rows]
        n_others = np.diff(labels.indptr) - 1.0
        logs: Floats = np.log(support + _PRIOR) - n_others * np.log1p(support) + labels @ gains
        return logs

    def compare(self, item: int, known: Codes, published: Any, without: int | None) -> Floats:
        """Return how many times as probable labels of rows are beside an item as in all rows: logarithms."""
        # Shares are estimated as in `weigh`. The labels of known items say nothing: rows are compared as if
        # they held all. ``without`` is a person whose row the sample lacks.
        support, gains = self._gains(item, without)
        gains[known[known >= 0]] = np.log1p(support)
        logs: Floats = published @ gains - np.diff(published.indptr) * np.log1p(support)
        return logs

    def _gains(self, item: int, without: int | None) -> tuple[int, Floats]:
        """Return the support of an item, and its gain by each label."""
        having = _entries(self._holders, item)
        counts = np.bincount(self.labels[having].indices, minlength=len(self._shares)).astype(np.float64)
        if without is None:
            return len(having), np.log1p(counts / self._shares)
        counts[_entries(self.labels, np.searchsorted(self.own, without))] -= 1
        return len(having) - 1, np.log1p(counts / self._shares)


def _entries(matrix: Any, number: Any) -> Numbers:
    """Return the places of the entries in a row of a CSR matrix, or in a column of a CSC one."""
    found: Numbers = matrix.indices[matrix.indptr[number] : matrix.indptr[number + 1]]
    return found


@frozen
class Guesses:
    """The guesses of an attacker, person by person."""

    candidates: Numbers  # number of candidate rows
    chances: Floats  # that a row drawn from the most probable candidates is that of the person
    largest: Floats  # the largest probability of a candidate row, by the attacker's estimate
    deletions: str = ""  # what a row lost, in a release with deletions: "known" or "inferred"


class SampleAttack:
    """An attacker with a sample, and the persons that he attacks in releases of one original."""

    # A sample has the codes of the original. None is a random half of it, for the rows of the other half, and
    # the reverse. A person is at risk if fewer than k rows of the original hold the m known items; m=None:
    # all items of a row. ``n`` is the number of persons, and ``at_risk`` the share of rows at risk.

    def __init__(
        self,
        itemsets: Itemsets,
        sample: Itemsets | None,
        k: int,
        m: int | None,
        n: int,
        rng: np.random.Generator,
    ) -> None:
        self.itemsets, n_rows = itemsets, itemsets.n_rows
        able = np.flatnonzero(rows_at_risk(itemsets, k, m))
        self._learned_from = np.zeros(n_rows, np.int64)  # the sample by which a row is weighed
        self._samples: list[tuple[Itemsets, Numbers | None]]
        if sample is None:
            self._learned_from[rng.permutation(n_rows)[: n_rows // 2]] = 1
            halves = [np.flatnonzero(self._learned_from != half) for half in range(2)]
            self._samples = [(itemsets.take(half), half) for half in halves]
        else:
            self._samples = [(sample, None)]
        self.at_risk = len(able) / max(n_rows, 1)
        self.persons = draw_persons(itemsets, able, k, m, n, rng)

    def guess(self, published: Itemsets, mapping: pd.DataFrame, groups: Numbers | None) -> Guesses:
        """Guess the row of each person in a release."""
        # A mapping without rows publishes items as they are. ``groups`` has the group of each row of a local
        # recoding. If occurrences are deleted, two attackers guess: one knows what the row of the person
        # lost, the other infers it. The guesses are those of the one who names more persons.
        persons, original = self.persons, self.itemsets
        cover = Cover.of_mapping(original, published, mapping)
        rows = np.repeat(persons.rows, np.diff(persons.offsets))
        became = became_of(original, published, mapping, groups, rows, persons.codes)
        samples = [Sample(rows, cover, own) for rows, own in self._samples]
        guesses = guess_rows(persons, became, published, samples, self._learned_from)
        deleted = count_deletions(original, published, mapping, cover)
        if deleted is None:
            return guesses
        guesses = replace(guesses, deletions="known")
        labels = np.append(cover.labels, -1)[np.where(np.diff(cover.offsets) > 0, cover.offsets[:-1], -1)]
        known = deleted[persons.codes], labels[persons.codes]
        inferred = infer_rows(persons, *known, published, samples, self._learned_from)
        return max(guesses, inferred, key=lambda each: each.chances.sum())


def count_deletions(
    original: Itemsets, published: Itemsets, mapping: pd.DataFrame, cover: Cover
) -> Numbers | None:
    """Count the rows that lost each item; None unless some items are deleted in some of their rows only."""
    # Each item must have at most one label: other local recodings delete nothing.
    if len(mapping) == 0 or (np.diff(cover.offsets) > 1).any():
        return None
    items, labels = mapped_codes(mapping, original, published)
    is_lost = labels < 0
    if not len(np.intersect1d(items[is_lost], items[~is_lost])):
        return None
    supports = mapping["support"].to_numpy(np.int64)[is_lost]
    return np.bincount(items[is_lost], supports, original.n_items).astype(np.int64)


def guess_rows(
    persons: Persons, became: Numbers, published: Itemsets, samples: list[Sample], learned_from: Numbers
) -> Guesses:
    """Guess the released row of each person."""
    # ``became`` is the label of each known item; -1 if it is suppressed. ``learned_from`` is the number of
    # the sample by which each released row is weighed.
    #
    # Memory: 8 bytes for each candidate row of some persons, and 24 for each occurrence of the sample and the
    # release. Time: the occurrences of the rows with each known label, in the sample and the release; for
    # sets also the candidate rows times the items of their label.
    n = len(persons.rows)
    index = SupportIndex.of(published)
    of_person = rows_of(persons.offsets)
    labels, offsets, candidates = count_candidates(became, persons.offsets, published, index.distinct())
    hidden = np.diff(offsets) == 0
    chances = np.full(n, 1 / max(published.n_present, 1))
    largest = chances.copy()
    rows = csr(index.codes, index.offsets, published.n_items)
    before = offsets_of(np.where(hidden, 0, candidates))
    for begin, end in many_parts(before, int(before[-1]) // _MOST_CANDIDATES + 1):
        found = [_rows_with(index, labels[offsets[i] : offsets[i + 1]]) for i in range(begin, end)]
        slots = np.flatnonzero((became >= 0) & (of_person >= begin) & (of_person < end))
        logs = _weigh(
            found,
            of_person[slots] - begin,
            persons.rows[begin:end],
            persons.codes[slots].astype(np.int64),
            became[slots],
            rows,
            samples,
            learned_from,
        )
        for number, (own, log) in enumerate(zip(found, logs, strict=True), begin):
            if hidden[number]:
                continue
            chances[number], largest[number] = _choose(log, int(np.searchsorted(own, persons.rows[number])))
        part_done()
    return Guesses(candidates, chances, largest)


def infer_rows(
    persons: Persons,
    deleted: Numbers,
    labels: Codes,
    published: Itemsets,
    samples: list[Sample],
    learned_from: Numbers,
) -> Guesses:
    """Guess the released row of each person, by an attacker who infers which rows lost the known items."""
    # ``deleted`` and ``labels`` are about the known items: the number of rows that lost each, which the
    # attacker knows, and its label; -1 if it has none. A candidate row holds the label of each known item, or
    # may have lost the item: some row did. The probability that a row without the label did depends on its
    # labels, by naive Bayes.
    #
    # Time: the occurrences of the release for each known item, and for sets those of `guess_rows`.
    index, n = SupportIndex.of(published), len(persons.rows)
    rows = csr(index.codes, index.offsets, published.n_items)
    halves = [(half, rows[half]) for half in (np.flatnonzero(learned_from == i) for i in range(len(samples)))]
    candidates, chances, largest = np.empty(n, np.int64), np.empty(n), np.empty(n)
    for person, own in enumerate(persons.rows.tolist()):
        slots = slice(*persons.offsets[person : person + 2])
        known, total = labels[slots], np.zeros(published.n_rows)
        for item, label, n_lost in zip(persons.codes[slots], known, deleted[slots], strict=True):
            having = _rows_with(index, label[None])
            logs = np.full(published.n_rows, -np.inf)
            if n_lost:
                for number, (half, labels_of) in enumerate(halves):
                    without = own if number != learned_from[own] else None
                    logs[half] = samples[number].compare(int(item), known, labels_of, without)
                logs[published.nulls] = logs[having] = -np.inf
                most = logs.max()
                logs += np.log(n_lost) - most - np.log(np.exp(logs - most).sum())
            if len(having):
                each = np.zeros(1, np.int64), persons.rows[[person]], item[None], label[None]
                logs[having] = _weigh([having], *each, rows, samples, learned_from)[0]
            total += np.minimum(logs, 0)
        candidates[person] = np.count_nonzero(total > -np.inf)
        chances[person], largest[person] = _choose(total, own)
        part_done()
    return Guesses(candidates, chances, largest, "inferred")


def _choose(logs: Floats, own: int) -> tuple[float, float]:
    """Return the chance to draw a row from the most probable ones, and the largest probability of a row."""
    is_best = logs >= (best := logs.max()) - _TIE
    return is_best[own] / is_best.sum(), 1 / np.exp(logs - best).sum()


def count_candidates(
    became: Numbers, offsets: Offsets, published: Itemsets, index: SupportIndex
) -> tuple[Codes, Offsets, Numbers]:
    """Return the labels of the known items of each case, and the number of rows that hold them."""
    # ``became`` is the label of each known item; -1 if it is suppressed.
    kept = became >= 0
    bounds = offsets_of(kept)[offsets]
    labels, bounds = canonical_rows(became[kept].astype(np.int32), bounds, published.n_items)
    candidates = index.supports(labels, bounds)
    candidates[np.diff(bounds) == 0] = published.n_present  # all known items were suppressed
    return labels, bounds, candidates


def _rows_with(index: SupportIndex, labels: Codes) -> Numbers:
    """Return the rows that hold all labels, ascending; none if there is no label. -1 is none."""
    starts, tids, _ = index.transpose
    labels = labels[labels >= 0]
    lists = sorted((tids[starts[label] : starts[label + 1]] for label in labels.tolist()), key=len)
    rows = lists[0] if lists else np.empty(0, np.int32)
    for other in lists[1:]:
        place = np.minimum(np.searchsorted(other, rows), len(other) - 1)
        rows = rows[other[place] == rows]
    return rows.astype(np.int64)


def _weigh(
    found: list[Numbers],
    persons: Numbers,
    own: Numbers,
    items: Numbers,
    labels: Numbers,
    rows: Any,
    samples: list[Sample],
    learned_from: Numbers,
) -> list[Floats]:
    """Return the logarithm of the probability of each candidate row, but for a factor, person by person."""
    # ``persons``, ``items`` and ``labels`` are the known items with their labels, and the number of the
    # person. Where the sample holds the row of the person, ``own``, the known item is weighed without it.
    logs = [np.zeros(len(own)) for own in found]
    place = np.empty(rows.shape[0], np.int64)
    for label in np.unique(labels).tolist():
        if len(samples[0].members(label)) == 1:
            continue  # the label is the item
        here = np.flatnonzero(labels == label)
        needed = np.unique(np.concatenate([found[person] for person in persons[here].tolist()]))
        wanted, which = np.unique(items[here], return_inverse=True)
        place[needed] = np.arange(len(needed))
        weights, others = np.empty((2, len(needed), len(wanted)))
        for number, sample in enumerate(samples):
            weighed = learned_from[needed] == number
            weights[weighed], others[weighed] = sample.weigh(label, wanted, needed[weighed], rows)
        for person, column in zip(persons[here].tolist(), which.tolist(), strict=True):
            candidates, row = found[person], int(own[person])
            weight = weights[place[candidates], column]
            beside = learned_from[candidates] != learned_from[row]  # their sample holds the person
            if beside.any():
                sample = samples[1 - learned_from[row]]
                weight[beside] = sample.weigh_without(row, label, wanted[column], candidates[beside], rows)
            logs[person] -= np.logaddexp(0, others[place[candidates], column] - weight)
    return logs
