"""Information loss of a recoding: errors of counts, NCP, LM, UL and GGD."""

# :func:`information_loss` defines each measure. The loss of a table that is recoded part by part comes from
# sums over the parts.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from math import isqrt, sqrt
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon._kernels.counting import estimates
from pdanon.guarantees.k_anonymity import equal_rows
from pdanon.itemsets.codes import Codes, Itemsets, find_items, item_texts
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, Mask, Numbers, distinct, mask_at, offsets_of, to_numpy
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.threads import many_parts, share
from pdanon.itemsets.validation import random_generator
from pdanon.recoding.recoding import Changes, Recoding

SAMPLE_SIZE = 200  # pairs, or combinations of values


def sampling_error(average: float, population: int) -> float:
    """Return the standard error of an average over a sample of up to 200; 0 if nothing was left out."""
    # It is that of a share: the variance of errors up to 1 is at most that of as many errors of 0 and 1.
    n, share = min(SAMPLE_SIZE, population), min(average, 1.0)
    return sqrt(share * (1 - share) / n * (1 - n / population)) if n else 0.0


def _rows_of_labels(itemsets: Itemsets, labels: Codes, n_labels: int) -> SupportIndex:
    """Return rows as sets of labels, given the label of each occurrence."""
    rows = SupportIndex(labels, itemsets.offsets, n_labels, itemsets.weights)
    return rows.recode(np.arange(n_labels), n_labels)


@frozen
class Remaining:
    """A column, its recoding, and the released rows."""

    itemsets: Itemsets
    recoding: Recoding
    changes: Changes  # the recoding by group and item
    # labels, items: each label with the items that became it in any group; by label, then by item
    covers: tuple[Numbers, Numbers]
    sizes: Numbers  # number of items of each label
    index: SupportIndex  # the released rows, as sets of labels

    @classmethod
    def of(cls, itemsets: Itemsets, recoding: Recoding, changes: Changes) -> Remaining:
        """Find the items of each label, and encode the released rows by their labels."""
        n_labels, published = len(recoding.labels), changes.targets >= 0
        cells = changes.targets[published] * np.int64(max(itemsets.n_items, 1)) + changes.items[published]
        labels, items = np.divmod(distinct(cells), max(itemsets.n_items, 1))
        if recoding.groups is None:
            index = SupportIndex.of(itemsets).recode(recoding.targets, n_labels)
        else:
            index = _rows_of_labels(itemsets, recoding.targets, n_labels)
        sizes = np.bincount(labels, minlength=n_labels)
        return cls(itemsets, recoding, changes, (labels, items), sizes, index)

    @property
    def is_kept(self) -> Mask:
        """Mask of the changes without effect: items that are published as they are."""
        labels, items = (item_texts(each) for each in (self.recoding.labels, self.itemsets.vocabulary))
        own = find_items(labels, items)  # the item that a label names
        return np.append(own, -1)[self.changes.targets] == self.changes.items

    def stands_for(self) -> Numbers:
        """Return for each number of items the occurrences with a changed label that stands for so many."""
        changed = (self.changes.targets >= 0) & ~self.is_kept
        sizes = self.sizes[self.changes.targets[changed]]
        return np.bincount(sizes, self.changes.supports[changed]).astype(np.int64)

    def singles(self, exact: Mask | None = None) -> float:
        """Return the average relative error of the counts of single items, weighted by these counts."""
        # The counts of ``exact`` items, published in another table, have no error.
        held = None
        if self.recoding.repeats:  # each copy of a label comes from one item
            published = self.changes.targets >= 0
            of_label, supports = self.changes.targets[published], self.changes.supports[published]
            held = np.bincount(of_label, supports, minlength=len(self.sizes)).astype(np.float64)
        actual, estimate = item_counts(self, held)
        if exact is not None:
            estimate[exact] = actual[exact]
        return _item_error(actual, estimate)

    def pairs(self) -> float:
        """Return the average relative error of the counts of pairs, sampled by these counts."""
        codes, times = draw_pairs(self.itemsets)
        return pair_error(pair_counts(self, codes), times)

    def together(self, pairs: Codes) -> Floats:
        """The estimated counts of pairs of items."""
        if self.recoding.groups is not None:
            return self._by_any_label(pairs)
        labels = np.sort(self.recoding.targets[pairs], axis=1)
        published = labels[:, 0] >= 0
        is_one = labels[:, 0] == labels[:, 1]
        found = np.zeros(len(pairs), np.int64)  # a suppressed item is in no row
        found[published & is_one] = self.index.singles[labels[published & is_one, 0]]
        found[published & ~is_one] = _supports(self.index, labels[published & ~is_one])
        return found / np.append(self.sizes, 1)[labels].prod(axis=1)

    def _by_any_label(self, pairs: Codes) -> Floats:
        """Return the estimated counts if an item may have several labels: in a row, the narrowest counts."""
        items = np.unique(pairs)
        pairs = np.searchsorted(items, pairs).astype(np.int32)
        labels, covered = self.covers
        is_used = np.isin(covered, items)
        labels, covered = labels[is_used], np.searchsorted(items, covered[is_used])
        order = np.lexsort((labels, self.sizes[labels], covered))
        used, number = np.unique(labels[order], return_inverse=True)
        of_item = number.ravel().astype(np.int32), offsets_of(np.bincount(covered, minlength=len(items)))
        odds = self.sizes[used, None].astype(np.float64) ** -np.arange(3)
        index = self.index.select(used).distinct()
        offsets, one_group = np.arange(0, pairs.size + 1, 2), np.zeros(len(index.weights), np.int64)
        weights = np.ones((len(pairs), 1))
        return estimates(pairs.ravel(), offsets, *of_item, odds, index.rows, one_group, weights)


def item_counts(remaining: Remaining, held: Floats | None = None) -> Floats:
    """Return the count of each item, and its estimate from the rows with its labels, ``held`` if given."""
    labels, items = remaining.covers
    held = remaining.index.singles.astype(np.float64) if held is None else held
    changes, n_items = remaining.changes, remaining.itemsets.n_items
    actual = np.bincount(changes.items, changes.supports, minlength=n_items)
    estimate = np.bincount(items, (held / np.maximum(remaining.sizes, 1))[labels], minlength=n_items)
    return np.array([actual, estimate], np.float64)


def pair_counts(remaining: Remaining, pairs: Codes) -> Floats:
    """Return the count of each pair of items, and its estimate from the release."""
    if not len(pairs):
        return np.zeros((2, 0))
    actual = _supports(SupportIndex.of(remaining.itemsets), pairs)
    return np.array([actual, remaining.together(pairs)], np.float64)


def _item_error(actual: Floats, estimate: Floats) -> float:
    """Return the average relative error of counts of items, weighted by these counts."""
    return float(np.abs(actual - estimate).sum() / max(actual.sum(), 1))


def pair_error(counts: Iterable[NDArray[Any]], times: Numbers) -> float:
    """Return the average relative error of counts of pairs, given how often each was sampled."""
    # ``counts`` has the actual and the estimated count of each pair.
    actual, estimate = counts
    error = np.abs(actual - estimate) / np.maximum(actual, 1)
    return float(np.average(error, weights=times)) if len(times) else 0.0


def draw_pairs(itemsets: Itemsets) -> tuple[Codes, Numbers]:
    """Sample 200 pairs of items of the same row, or all if there are fewer; the same in each call."""
    # The rows are ordered by a hash of their items, and every n-th of all their pairs is taken. Equal rows
    # are then adjacent, and may be one row with a weight. Return the distinct pairs, each ascending, and how
    # often each was sampled.
    pairs = count_pairs(itemsets)
    copies = pairs if itemsets.weights is None else pairs * itemsets.weights
    _, places = sample_places(copies.sum(keepdims=True))
    rows, within = find_places(hash_rows(itemsets), pairs, copies, places)
    return np.unique(pair_codes(itemsets, rows, within), axis=0, return_counts=True)


def count_pairs(itemsets: Itemsets) -> Numbers:
    """Return the number of pairs of items of each row."""
    return itemsets.lengths * (itemsets.lengths - 1) // 2


HASH_BITS = 16


def first_bits(hashes: NDArray[np.uint64]) -> NDArray[np.uint16]:
    """Return the first bits of hashes."""
    return (hashes >> np.uint64(64 - HASH_BITS)).astype(np.uint16)


def sample_places(held: Numbers) -> tuple[Mask, Numbers]:
    """Sample the places of pairs, whose rows are ordered by hash."""
    # ``held`` is the number of pairs of the rows, by the first bits of their hashes. Return the first bits
    # with a sampled pair, and the place of each sampled pair among those of rows with these bits.
    ends = np.cumsum(held)
    total = int(ends[-1])
    number = min(SAMPLE_SIZE, total)
    places = np.array([(2 * i + 1) * total // (2 * number) for i in range(number)], np.int64)
    bits = np.searchsorted(ends, places, side="right")
    near = mask_at(len(ends), bits)
    return near, places - np.cumsum(np.where(near, 0, held))[bits]


def find_places(
    hashes: NDArray[np.uint64], pairs: Numbers, copies: Numbers, places: Numbers
) -> tuple[Numbers, Numbers]:
    """Return the row of each place of `sample_places`, and the number of its pair."""
    # The rows are those with the first bits of a sampled pair. ``copies`` are the pairs of all rows equal to
    # a row which it stands for.
    order = np.argsort(hashes)  # rows with the same hash are equal: any order
    last = np.cumsum(copies[order])
    found = np.searchsorted(last, places, side="right")
    # Each copy of a row has the same pairs.
    return order[found], (places - last[found]) % pairs[order[found]]


def pair_codes(itemsets: Itemsets, rows: Numbers, within: Numbers) -> Codes:
    """Return pairs of items, given their rows and their numbers within the row."""
    # Exact: the pair number is later * (later - 1) / 2 + earlier.
    later = np.array([(1 + isqrt(1 + 8 * each)) // 2 for each in within.tolist()], np.int64)
    earlier = within - later * (later - 1) // 2
    starts = itemsets.offsets[rows]
    return np.stack((itemsets.codes[starts + earlier], itemsets.codes[starts + later]), axis=1)


def hash_rows(itemsets: Itemsets) -> NDArray[np.uint64]:
    """Return a hash of each row by its items, whatever their order."""
    mixed = np.arange(1, itemsets.n_items + 1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 0x9E3779B97F4A7C15)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    offsets, hashes = itemsets.offsets, np.zeros(itemsets.n_rows, np.uint64)

    def part(begin: int, end: int) -> None:
        filled = begin + np.flatnonzero(np.diff(offsets[begin : end + 1]))
        if len(filled):
            codes = itemsets.codes[offsets[begin] : offsets[end]]
            hashes[filled] = np.add.reduceat(mixed[codes], offsets[filled] - offsets[begin])

    share(part, many_parts(offsets, len(offsets)))  # small, as each item is mapped to 8 bytes
    return hashes


def _supports(index: SupportIndex, pairs: Codes) -> Numbers:
    """Return the supports of pairs. They have few items, so only these are transposed to save memory."""
    items, numbers = np.unique(pairs, return_inverse=True)
    return index.select(items).supports(numbers.astype(np.int32).ravel(), np.arange(0, pairs.size + 1, 2))


# The names of all losses that a result may have, in the order of tables.
LOSSES = (
    *("occurrences", "stands_for", "singles", "pairs", "suppressed", "dropped"),
    *("NCP", "LM", "UL", "S/N", "GGD", "meaning", "values", "NCP_relational", "suppressed_rows", "gap"),
    *("Rum", "UL_rows", "NCP_known"),
    *("term_chunks", "tlost", "re", "KL"),
)


def information_loss(
    itemsets: Itemsets,
    recoding: Recoding,
    changes: Changes,
    importance: Floats | None = None,
) -> tuple[pd.Series[float], Remaining]:
    """Measure the information loss of a recoding of a column; return also the rows by which it is measured.

    ``importance`` of each item, in [0, 1], is for UL of a global recoding. Each original occurrence counts,
    even if several collapse into one generalized item. A table without occurrences has no loss. By name:

    - ``occurrences``: Share of the original occurrences that are not published as their own item.
    - ``stands_for``: Number of items of a changed label: the lower median over the changed occurrences that
      are published; 1 if there are none. A label stands for all items that became it, in any group.
    - ``singles``: Average relative error of the count of an item, weighted by its count. The estimate divides
      each label of a row equally among its items. In a bag, each copy of a label counts.
    - ``pairs``: The same for two items together, for a fixed sample of up to 200 pairs of all rows; 0 if no
      row has two items. If several labels of a row stand for an item, the one with the fewest items counts.
    - ``suppressed``: Share of the original occurrences that were suppressed.
    - ``NCP``: Normalized certainty penalty, averaged over the original occurrences. A kept item costs 0, a
      suppressed one 1, a generalized one its share of the domain. The domain has the items that occur for
      sets, and the leaves of the hierarchy for nodes.
    - ``LM``: Loss metric, only with a hierarchy: NCP with ``(leaves - 1) / (all leaves - 1)``.
    - ``GGD``: Group generalization distortion over the number of occurrences, only if each group of rows has
      nodes of its own. LM is summed over the published labels. Each other occurrence costs 1, whether it is
      suppressed or another of its row already has the label.
    - ``UL``: Utility loss in bits: log2 of the sum over published items of ``(2**s - 1) / (2**n - 1) *
      support / rows``, where ``s`` of the ``n`` items that occur were merged into the item. A suppressed item
      costs its own support / rows. With importance, a published item costs its loss times
      the largest importance of its items. -inf if nothing is published or suppressed. A local recoding merges
      items, and counts supports, within a group.
    """
    remaining = Remaining.of(itemsets, recoding, changes)
    published = changes.targets >= 0
    stands_for = np.append(recoding.covered, recoding.domain)[changes.targets]  # -1: the whole domain
    share = np.where(published & (stands_for == 1), 0.0, stands_for / max(recoding.domain, 1))
    loss = {
        "occurrences": _average(~remaining.is_kept, changes.supports),
        "stands_for": _median([remaining.stands_for()]),
        "singles": remaining.singles(),
        "pairs": remaining.pairs(),
        "suppressed": _average(~published, changes.supports),
        "NCP": _average(share, changes.supports),
    }
    if recoding.hierarchical:
        lost = np.where(published, (stands_for - 1) / max(recoding.domain - 1, 1), 1.0)
        loss["LM"] = _average(lost, changes.supports)
    if recoding.hierarchical and recoding.groups is not None:
        of_occurrence = lost[changes.of_occurrence]
        if not recoding.repeats:
            of_occurrence[_is_repeated(itemsets, recoding)] = 1.0
        weights = itemsets.occurrence_weights
        loss["GGD"] = float(np.average(of_occurrence, weights=weights)) if len(of_occurrence) else 0.0
    loss["UL"] = _utility_loss(itemsets, remaining, importance)
    return pd.Series(loss, name="loss", dtype="float64"), remaining


def joint_loss(columns: Sequence[tuple[Itemsets, Recoding, Changes]]) -> pd.Series[float]:
    """Measure the joint loss of the recodings of several columns of the same rows, see `information_loss`."""
    # Each measure is averaged over the occurrences of all columns. The median is over all of them, and a pair
    # has two items of the same column. UL is left out, as it is defined for one vocabulary.
    measured = [information_loss(*column) for column in columns]
    if len(measured) == 1:
        return measured[0][0]
    weights = np.array([int(remaining.changes.supports.sum()) for _, remaining in measured])
    losses = pd.DataFrame([loss for loss, _ in measured]).drop(columns="UL")
    joint = losses.mul(weights / max(weights.sum(), 1), axis=0).sum().rename("loss")
    joint["stands_for"] = _median([remaining.stands_for() for _, remaining in measured])
    return joint


def _median(parts: Iterable[Numbers]) -> float:
    """Return the lower median of all sizes, given the occurrences of each size by part; 1 without any."""
    until = np.cumsum(reduce(_add_sizes, parts))
    if not len(until) or not until[-1]:
        return 1.0
    return float(np.searchsorted(2 * until, until[-1]))


def _add_sizes(one: Numbers, other: Numbers) -> Numbers:
    total = np.zeros(max(len(one), len(other)), np.int64)
    total[: len(one)] = one
    total[: len(other)] += other
    return total


def with_measure(loss: pd.Series[float], name: str, value: float) -> pd.Series[float]:
    """Return the losses with one more measure, as a new Series."""
    return pd.Series({**loss.to_dict(), name: value}, name="loss", dtype="float64")


def _average(values: np.ndarray, occurrences: np.ndarray) -> float:
    total = int(occurrences.sum())
    return float(values @ occurrences / total) if total else 0.0


def _is_repeated(itemsets: Itemsets, recoding: Recoding) -> np.ndarray:
    """Mark occurrences that became the same label as an earlier one of their row."""
    first = np.zeros(len(recoding.targets), np.bool_)
    cells = itemsets.rows * np.int64(len(recoding.labels) + 1) + recoding.targets
    first[np.unique(cells, return_index=True)[1]] = True
    return ~first


def _utility_loss(itemsets: Itemsets, remaining: Remaining, weights: Floats | None) -> float:
    """Return log2 of the utility loss; powers of two would exceed the range of floats."""
    n, changes = itemsets.n_items, remaining.changes
    if not len(itemsets.codes):
        return -np.inf
    members, index = remaining.sizes, remaining.index
    if remaining.recoding.groups is not None:  # the generalized items of each group count apart
        published = changes.targets >= 0
        sets = changes.groups * (int(changes.targets.max()) + 1) + changes.targets
        _, set_of, members = np.unique(sets[published], return_inverse=True, return_counts=True)
        numbers = np.full(len(published), -1, np.int32)
        numbers[published] = set_of
        index = _rows_of_labels(itemsets, numbers[changes.of_occurrence], len(members))
    used = members > 0
    suppressed = changes.supports[changes.targets < 0].sum(keepdims=True)
    # In logarithms, as powers of the vocabulary size exceed the range of floats.
    terms = _log2_less_one(members[used]) + np.log2(index.singles[used]) - _log2_less_one(np.array([n]))
    if weights is not None:
        labels, items = remaining.covers
        importance = np.zeros(len(remaining.sizes))
        np.maximum.at(importance, labels, weights[items])
        with np.errstate(divide="ignore"):  # an item without importance costs nothing
            terms = terms + np.log2(importance[used])
    terms = np.append(terms, np.log2(suppressed[suppressed > 0]))
    return float(np.logaddexp2.reduce(terms, initial=-np.inf) - np.log2(index.n_rows))


def _log2_less_one(exponent: np.ndarray) -> np.ndarray:
    """log2(2**exponent - 1)."""
    return exponent + np.log1p(-np.exp2(-exponent.astype(np.float64))) / np.log(2)


# --- Counts of combinations of quasi-identifiers


def combination_error(original: pd.DataFrame, released: pd.DataFrame, positions: Sequence[int]) -> float:
    """Return the average relative error of the count of a combination of values of the quasi-identifiers."""
    # The average is over up to 200 rows, the same in each call. A published value stands for all values that
    # became it, each equally often, whatever the other columns say.
    before, after = ([equal_rows(each, [at]) for at in positions] for each in (original, released))
    n_rows = len(original)
    if not n_rows or not positions:
        return 0.0
    rows = random_generator(None).choice(n_rows, min(n_rows, SAMPLE_SIZE), replace=False)
    combination = equal_rows(original, positions)
    actual = np.bincount(combination)[combination[rows]]
    classes, sizes = np.unique(np.column_stack(after), axis=0, return_counts=True)
    share = np.repeat(sizes[:, None], len(rows), axis=1).astype(np.float64)
    for values, labels, of_class in zip(before, after, classes.T, strict=True):
        share *= _shares(values, labels, values[rows])[of_class]
    return float(np.mean(np.abs(actual - share.sum(axis=0)) / actual))


def _shares(values: Numbers, labels: Numbers, some: Numbers) -> Floats:
    """Return the share of some values in the rows of each label: 0, or 1 over the values of the label."""
    n_values = int(values.max()) + 1
    label, value = np.divmod(distinct(labels * n_values + values), n_values)
    sizes = np.bincount(label, minlength=int(labels.max()) + 1)
    places, number = np.unique(some, return_inverse=True)
    found = np.zeros((len(sizes), len(places)))
    kept = np.isin(value, places)
    found[label[kept], np.searchsorted(places, value[kept])] = 1 / sizes[label[kept]]
    return found[:, number.ravel()]


# --- Losses of a table that is recoded part by part: each group of rows is in one part


# Averages over the rows, and over the occurrences of items that are not sensitive; others are over all.
_BY_ROWS, _BY_KNOWN = ("NCP_relational", "UL_rows", "suppressed_rows"), ("NCP_known",)


def part_losses(
    loss: pd.Series[float], itemsets: Itemsets, recoding: Recoding, pairs: Codes, known: int
) -> pa.Table:
    """Return what a part contributes to the losses of its table, as one row."""
    # ``loss`` has the losses of the part, ``pairs`` the pairs that were sampled from all parts. ``known`` is
    # the number of occurrences of items that are not sensitive.
    remaining = Remaining.of(itemsets, recoding, recoding.changes(itemsets))
    counts = item_counts(remaining), pair_counts(remaining, pairs)
    return _one_row(loss, [itemsets.n_rows, len(itemsets.codes), known], *counts, remaining.stands_for())


def part_losses_of_rows(loss: pd.Series[float], n_rows: int) -> pa.Table:
    """Return the same for a part without items."""
    return _one_row(loss, [n_rows, 0, 0], np.zeros((2, 0)), np.zeros((2, 0)), np.zeros(0, np.int64))


def _one_row(
    loss: pd.Series[float],
    numbers: list[int],  # of rows, occurrences, and occurrences of items that are not sensitive
    singles: Floats,  # the count of each item, and its estimate from the release
    pairs: Floats,  # the same for sampled pairs
    sizes: Numbers,  # occurrences by the number of items that their changed label stands for
) -> pa.Table:
    lists = {"names": [*loss.index], "losses": loss.to_numpy(), "numbers": np.array(numbers)}
    lists |= {"singles": singles.ravel(), "pairs": pairs.ravel(), "sizes": sizes}
    return pa.table({name: [values] for name, values in lists.items()})


def join_losses(parts: Iterable[pa.Table], times: Numbers) -> pd.Series[float]:
    """Return the losses of a table, given those of its parts and how often each pair was sampled."""
    # Parts are read one at a time, and floats added in their order.
    losses, numbers, names = [], [], []
    singles, pairs, sizes = np.zeros(()), np.zeros(()), np.zeros(0, np.int64)
    for part in parts:
        lists = {name: part[name].combine_chunks().flatten() for name in part.column_names}
        names = lists.pop("names").to_pylist()
        own = {name: to_numpy(each) for name, each in lists.items()}
        losses.append(own["losses"])
        numbers.append(own["numbers"])
        singles, pairs = singles + own["singles"], pairs + own["pairs"]
        sizes = _add_sizes(sizes, own["sizes"])
    rows, occurrences, known = np.array(numbers).T
    joint = {}
    for name, values in zip(names, np.array(losses).T, strict=True):
        weights = rows if name in _BY_ROWS else known if name in _BY_KNOWN else occurrences
        finite = np.where(np.isfinite(values), values, 0)  # UL may be -inf, and is below
        joint[name] = float(finite @ weights / max(weights.sum(), 1))
    if "UL" in joint:
        filled = zip(losses, rows, occurrences, strict=True)
        terms = [each[names.index("UL")] + np.log2(n) for each, n, held in filled if held]
        total = np.logaddexp2.reduce(terms, initial=-np.inf)
        joint["UL"] = float(total - np.log2(max(rows.sum(), 1)))
    if "singles" in joint:
        joint["singles"] = _item_error(*singles.reshape(2, -1))
        joint["pairs"] = pair_error(pairs.reshape(2, -1), times)
        joint["stands_for"] = _median([sizes])
    return pd.Series(joint, name="loss", dtype="float64")
