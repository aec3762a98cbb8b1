"""Labels of the sets of a release, for all algorithms."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Itemsets, item_texts
from pdanon.itemsets.lists import Numbers, distinct, to_numpy
from pdanon.itemsets.validation import check_known, is_encodable
from pdanon.recoding.recoding import Recoding

Labels: TypeAlias = str | Callable[[list[Any]], str]
LABELS = ("set", "short", "first")

_PREFIX = "G"


def check_labels(labels: Any) -> Labels:
    """Check the form of labels: one of the names, or a function that returns the text of a set."""
    if callable(labels):
        return labels
    return check_known(labels, LABELS, "kind of labels", where="labels")


def relabel_sets(
    recoding: Recoding, itemsets: Itemsets, labels: Labels, others: Sequence[pa.Array] = ()
) -> Recoding:
    """Return the same recoding with other labels of sets; single items and nodes keep theirs."""
    # The labels of its sets are ``(a,b)``. ``others`` are further texts with another meaning, which must not
    # be labels of sets.
    if labels == "set" or recoding.hierarchical or not (recoding.covered > 1).any():
        return recoding
    taken = pa.concat_arrays([item_texts(each) for each in (itemsets.vocabulary, *others)])
    items = np.arange(itemsets.n_items) if recoding.groups is None else itemsets.codes
    several = np.append(recoding.covered > 1, False)[recoding.targets]
    pairs = recoding.targets[several].astype(np.int64) * itemsets.n_items + items[several]
    owners, codes = np.divmod(distinct(pairs), itemsets.n_items)
    # None if the items of every set were suppressed.
    numbers, starts, sizes = np.unique(owners, return_index=True, return_counts=True)
    if callable(labels):
        values = itemsets.vocabulary.take(pa.array(codes)).to_pylist()
        ends = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
        called = _call(labels, [values[start:end] for start, end in ends], taken)
    elif labels == "short":
        called = _number(_order(numbers, recoding, itemsets), taken)
    else:
        firsts = zip(taken.take(pa.array(codes[starts])).to_pylist(), sizes.tolist(), strict=True)
        own = [f"{first} +{size - 1}" for first, size in firsts]
        called = _distinguish(own, _order(numbers, recoding, itemsets), taken)
    names = recoding.labels.to_pylist()
    for number, label in zip(numbers.tolist(), called, strict=True):
        names[number] = label
    return replace(recoding, labels=pa.array(names, pa.string()))


# The labels of sets must differ from texts with another meaning, ``taken``. ``order`` has the sets in more
# rows of the release first.


def _number(order: list[int], taken: pa.LargeStringArray) -> list[str]:
    """Return ``G01``, ``G02`` and so on, with another prefix if an item has this form."""
    prefix = _PREFIX
    while pc.any(pc.match_substring_regex(taken, rf"(?i)^{prefix}[0-9]")).as_py():
        prefix += _PREFIX
    labels, digits = [""] * len(order), len(str(len(order)))
    for number, each in enumerate(order, 1):
        labels[each] = f"{prefix}{number:0{digits}}"
    return labels


def _distinguish(labels: list[str], order: list[int], taken: pa.LargeStringArray) -> list[str]:
    """Return labels such as ``apples +17``, with a number if several sets, or an item, would have one."""
    times, texts = Counter(labels), {*taken.to_pylist()}
    numbers: Counter[str] = Counter()
    for each in order:
        label = labels[each]
        while labels[each] in texts or (labels[each] == label and times[label] > 1):
            numbers[label] += 1
            labels[each] = f"{label} #{numbers[label]}"
    return labels


def _call(
    make: Callable[[list[Any]], str], members: list[list[Any]], taken: pa.LargeStringArray
) -> list[str]:
    """Return the texts of a function for the items of each set, in item order."""
    labels: list[Any] = []
    failed = ""
    try:
        labels = [make(own) for own in members]
    except Exception as error:
        failed = type(error).__name__
    if failed:  # raised outside the handler: the exception of the function may quote an item
        hint = "it is called with a list of items, and must return a text"
        raise ParameterError("the function for labels fails", where="labels", got=failed, hint=hint)
    _check_texts(labels, taken)
    return labels


def _order(numbers: Numbers, recoding: Recoding, itemsets: Itemsets) -> list[int]:
    """Order sets by descending support in the release, which everybody can count there."""
    # Item order, size and row order must not be visible, and engines do not share a row order. Between sets
    # of equal support, a hash decides.
    own = replace(recoding, labels=pa.array(np.arange(len(recoding.labels)))).apply(itemsets)
    assert isinstance(own, Itemsets)  # only hierarchies publish bags
    supports = np.zeros(len(recoding.labels), np.int64)
    supports[to_numpy(own.vocabulary)] = np.bincount(own.codes, own.occurrence_weights, minlength=own.n_items)
    names = recoding.labels.take(pa.array(numbers)).to_pylist()
    hashes = [hashlib.sha256(name.encode()).digest() for name in names]
    counts = supports[numbers].tolist()
    return sorted(range(len(names)), key=lambda each: (-counts[each], hashes[each]))


def _check_texts(labels: list[Any], taken: pa.LargeStringArray) -> None:
    """Check that texts of a function can be labels of different sets."""
    for what, times in _count_unfit(labels, taken):
        if times:
            hint = "return a different text for each set, or pass labels='short'"
            got = f"{times} of {len(labels)} labels"
            raise ParameterError(f"a label {what}", where="labels", got=got, hint=hint)


def _count_unfit(labels: list[Any], taken: pa.LargeStringArray) -> Iterator[tuple[str, int]]:
    """Count the unfit labels by their problem. Each count requires that all before it are 0."""
    yield "is not text", sum(not isinstance(label, str) for label in labels)
    yield "is empty", sum(not label.strip() for label in labels)
    yield "contains half of a surrogate pair", sum(not is_encodable(label) for label in labels)
    yield "is that of another set", sum(times for times in Counter(labels).values() if times > 1)
    items = pc.sum(pc.is_in(pa.array(labels, pa.large_string()), value_set=taken)).as_py()
    yield "is the text of an item, or a label of another column", items or 0
