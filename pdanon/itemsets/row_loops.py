"""Loops over rows, shared by threads: sorting, transposing, and counting supports."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdanon._kernels import counting
from pdanon.errors import ParameterError
from pdanon.itemsets.lists import Codes, Mask, Numbers, Offsets, offsets_of
from pdanon.itemsets.threads import even_parts, share

MOST_PAIRS = 400_000_000  # upper bound on distinct pairs of items within rows
_BYTES = 28  # per pair, while the counts of several threads are concatenated
_SAMPLE = 100  # items, to estimate the number of pairs


def recode_rows(
    codes: Codes, offsets: Offsets, targets: NDArray[Any], n_targets: int, *, repeats: bool = False
) -> tuple[Codes, Offsets, Mask]:
    """Replace each code by its target below ``n_targets``, sort each row, and drop duplicates."""
    # Negative codes and targets are dropped. With ``repeats``, rows keep duplicates. Also return whether any
    # row holds each target.
    codes, targets = codes.astype(np.int32, copy=False), targets.astype(np.int32, copy=False)
    found, ends = np.empty(offsets[-1] - offsets[0], np.int32), np.zeros(len(offsets), np.int64)

    def part(begin: int, end: int) -> tuple[int, Mask]:
        is_used = np.zeros(n_targets, np.bool_)
        own = found[offsets[begin] - offsets[0] :], ends[begin + 1 : end + 1]
        bounds = offsets[begin : end + 1]
        return counting.canonical_rows(codes, bounds, targets, is_used, repeats, *own), is_used

    parts = even_parts(offsets)
    done = share(part, parts)
    size = 0
    for (begin, end), (length, _) in zip(parts, done, strict=True):
        start = offsets[begin] - offsets[0]
        if size < start:  # earlier parts have dropped codes: close the gap
            found[size : size + length] = found[start : start + length]
        ends[begin + 1 : end + 1] += size
        size += length
    return found[:size], ends, np.logical_or.reduce([is_used for _, is_used in done])


def first_equal_rows(codes: Codes, offsets: Offsets) -> Numbers:
    """Return the first row that equals each row, shape (rows,)."""
    n_rows = len(offsets) - 1
    keys, first = np.empty(n_rows, np.int64), np.empty(n_rows, np.int64)
    parts = even_parts(offsets)

    def number(begin: int, end: int) -> None:
        counting.hashes(codes, offsets[begin : end + 1], keys[begin:end])

    def find(least: int, above: int) -> None:
        counting.first_alike(codes, offsets, keys, least, above, first)

    share(number, parts)
    # Threads divide the range of hashes, so equal rows are in one part.
    bounds = [2**32 * part // len(parts) for part in range(len(parts) + 1)]
    share(find, list(pairwise(bounds)))
    return first


def item_supports(codes: Codes, offsets: Offsets, weights: Numbers, n_items: int) -> Numbers:
    """Count the support of each item, shape (items,)."""

    def part(begin: int, end: int) -> Numbers:
        return counting.item_supports(codes, offsets[begin : end + 1], weights[begin:end], n_items)

    return np.add.reduce(share(part, _parts_with_items(offsets, n_items)))


def transpose(codes: Codes, offsets: Offsets, n_items: int) -> tuple[Offsets, Codes, Numbers]:
    """Invert rows to items: return ``starts, tids, positions``."""
    # Item ``c`` is in the rows ``tids[starts[c]:starts[c + 1]]``, in ascending order. The third array has the
    # position in ``codes`` of each occurrence.
    positions = np.empty(len(codes), np.int64)
    return *_transpose(codes, offsets, n_items, positions), positions


def holders(codes: Codes, offsets: Offsets, n_items: int) -> tuple[Offsets, Codes]:
    """Return ``starts, tids`` of `transpose`, without the memory of the positions."""
    return _transpose(codes, offsets, n_items, np.empty(0, np.int64))


def _transpose(codes: Codes, offsets: Offsets, n_items: int, positions: Numbers) -> tuple[Offsets, Codes]:
    tids = np.empty(len(codes), np.int32)
    parts = _parts_with_items(offsets, n_items)

    def count(begin: int, end: int) -> Numbers:
        return counting.occurrences(codes[offsets[begin] : offsets[end]], n_items)

    def write(begin: int, end: int, free: Numbers) -> None:
        counting.transpose(codes, offsets, begin, end, free, tids, positions)

    counts = share(count, parts)
    starts = offsets_of(np.add.reduce(counts))
    free = starts[:-1] + np.cumsum([np.zeros(n_items, np.int64), *counts[:-1]], axis=0)
    share(write, [(*part, own) for part, own in zip(parts, free, strict=True)])
    return starts, tids


def _parts_with_items(offsets: Offsets, n_items: int) -> list[tuple[int, int]]:
    """Divide rows among threads, or not at all if one counter per item and part would outweigh the rows."""
    parts = even_parts(offsets)
    return parts if 2 * len(parts) * n_items <= offsets[-1] else [(0, len(offsets) - 1)]


def pair_supports(rows: counting.Rows) -> tuple[Offsets, Codes, Numbers]:
    """Count the support of each pair a < b that occurs, as CSR ``starts, partners, supports``."""
    codes, starts, offsets = (np.asarray(each) for each in (rows.codes, rows.starts, rows.offsets))
    n_items = len(starts) - 1

    def follow(begin: int, end: int) -> Numbers:
        return counting.followers(codes, offsets[begin : end + 1], n_items)

    following = np.add.reduce(share(follow, _parts_with_items(offsets, n_items)))
    # An item has no more partners than later occurrences in its rows, and no more than later items.
    at_most = np.minimum(following, np.arange(n_items)[::-1])
    if at_most.sum() > MOST_PAIRS:
        _refuse_too_many(rows, at_most)
    most = offsets_of(at_most)

    def part(begin: int, end: int) -> tuple[Offsets, Codes, Numbers]:
        room = most[end] - most[begin]
        bounds = np.zeros(end - begin + 1, np.int64)
        partners, supports = np.empty(room, np.int32), np.empty(room, np.int64)
        counting.pair_supports(rows, begin, bounds, partners, supports)
        return bounds, partners[: bounds[-1]], supports[: bounds[-1]]

    steps = following + 2 * np.diff(starts)  # finding a row takes about as long as reading two of its items
    parts = share(part, even_parts(offsets_of(steps)))
    if len(parts) == 1:
        return parts[0]
    counts = np.concatenate([np.diff(bounds) for bounds, _, _ in parts])
    partners = np.concatenate([partners for _, partners, _ in parts])
    return offsets_of(counts), partners, np.concatenate([supports for _, _, supports in parts])


def _refuse_too_many(rows: counting.Rows, at_most: Numbers) -> None:
    """Estimate the number of pairs from those of some items, and refuse too many."""
    sample = np.linspace(0, len(at_most) - 1, _SAMPLE).astype(np.int64)
    found = 0
    for item in sample.tolist():
        begin, room = np.zeros(2, np.int64), int(at_most[item])
        counting.pair_supports(rows, item, begin, np.empty(room, np.int32), np.empty(room, np.int64))
        found += int(begin[-1])
    estimate = float(found / max(at_most[sample].sum(), 1) * at_most.sum())
    if estimate > MOST_PAIRS:
        raise ParameterError(
            "the rows hold too many pairs of items to count them all",
            where="m",
            got=f"{len(at_most):,} items, about {estimate:.2g} pairs, {estimate * _BYTES / 1e9:.0f} GB",
            hint="pass m=1, call partition or clump, or drop the longest rows",
        )


def supports(rows: counting.Rows, codes: Codes, offsets: Offsets, enough: int) -> Numbers:
    """Count the support of each given sorted itemset, at least up to ``enough``."""
    # The empty itemset is in every row.

    def part(begin: int, end: int) -> Numbers:
        return counting.itemset_supports(codes, offsets[begin : end + 1], rows, enough)

    return np.concatenate(share(part, even_parts(_visited_rows(rows, codes, offsets))))


def mark_rows(rows: counting.Rows, codes: Codes, offsets: Offsets) -> Mask:
    """Return whether each row contains at least one of the given non-empty itemsets."""

    def part(begin: int, end: int) -> Mask:
        held = np.zeros(len(rows.weights), np.bool_)
        counting.mark_itemsets(codes, offsets[begin : end + 1], rows, held)
        return held

    return np.logical_or.reduce(share(part, even_parts(_visited_rows(rows, codes, offsets))))


def mark_shortened(codes: Codes, offsets: Offsets, labels: Codes, n_labels: int) -> Mask:
    """Return whether two codes of each row have the same label, from 0 to ``n_labels - 1``."""
    shortened = np.zeros(len(offsets) - 1, np.bool_)

    def part(begin: int, end: int) -> None:
        own = shortened[begin:end]
        counting.mark_shortened(codes, offsets[begin : end + 1], labels, n_labels, own)

    share(part, even_parts(offsets))
    return shortened


def _visited_rows(rows: counting.Rows, codes: Codes, offsets: Offsets) -> Offsets:
    """Count the rows visited before each itemset: a search visits the rows of its rarest item."""
    filled = np.diff(offsets) > 0
    rows_of_item = np.diff(np.asarray(rows.starts))
    visited = np.zeros(len(filled), np.int64)
    if filled.any():
        visited[filled] = np.minimum.reduceat(rows_of_item[codes], offsets[:-1][filled])
    return offsets_of(visited)
