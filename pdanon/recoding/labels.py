"""Labels: what the sets of a release are called, whatever algorithm has made them."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.itemsets.codes import Itemsets, item_texts
from pdanon.itemsets.lists import distinct, to_numpy
from pdanon.itemsets.validation import check_known, is_encodable
from pdanon.recoding.recoding import Recoding

__all__ = ["LABELS", "Labels", "check_labels", "relabelled_sets"]

Labels: TypeAlias = str | Callable[[list[Any]], str]
LABELS = ("set", "short", "first")

_PREFIX = "G"


def check_labels(labels: Any) -> Labels:
    """Check what sets are to be called: one of the names, or a function that makes a text of a set."""
    if callable(labels):
        return labels
    return check_known(labels, LABELS, "kind of labels", where="labels")


def relabelled_sets(
    recoding: Recoding, itemsets: Itemsets, labels: Labels, others: Sequence[pa.Array] = ()
) -> Recoding:
    """The same recoding, its sets called otherwise; items by themselves and nodes keep their names.

    Parameters
    ----------
    recoding : Recoding
        Whose sets are called ``(a,b)``.
    itemsets : Itemsets
        The original column.
    labels : str or callable
        As checked by `check_labels`.
    others : sequence of pyarrow.Array
        Texts beside the items of the column that mean something else, and that no set may be called.

    Raises
    ------
    ParameterError
        If a function makes labels that are no text, empty, alike, or the text of an item.
    """
    if labels == "set" or recoding.hierarchical or not (recoding.covered > 1).any():
        return recoding
    texts = [item_texts(each) for each in (itemsets.vocabulary, *others)]
    sets = _Sets.of(recoding, itemsets, pa.concat_arrays(texts))
    makers = {"short": sets.short, "first": sets.first}
    called = makers[labels]() if isinstance(labels, str) else sets.called(labels)
    names = recoding.labels.to_pylist()
    for number, label in zip(sets.numbers.tolist(), called, strict=True):
        names[number] = label
    return replace(recoding, labels=pa.array(names, pa.string()))


@dataclass(frozen=True, eq=False, slots=True)
class _Sets:
    """The sets of several items in a recoding.

    Parameters
    ----------
    numbers : ndarray of int64
        The generalized item that each of them is.
    members : list of list
        The items of each, in item order.
    firsts : list of str
        The text of the first of these.
    order : list of int
        The sets as they are numbered: those in more rows of the release first.
    taken : pyarrow.LargeStringArray
        What no set may be called.
    """

    numbers: NDArray[np.int64]
    members: list[list[Any]]
    firsts: list[str]
    order: list[int]
    taken: pa.LargeStringArray

    @classmethod
    def of(cls, recoding: Recoding, itemsets: Itemsets, taken: pa.LargeStringArray) -> _Sets:
        """Find the sets of a recoding."""
        items = np.arange(itemsets.n_items) if recoding.groups is None else itemsets.codes
        several = np.append(recoding.covered > 1, False)[recoding.targets]
        pairs = recoding.targets[several].astype(np.int64) * itemsets.n_items + items[several]
        owners, codes = np.divmod(distinct(pairs), itemsets.n_items)
        numbers, starts = np.unique(owners, return_index=True)
        values = itemsets.vocabulary.take(pa.array(codes)).to_pylist()
        ends = [*starts[1:].tolist(), len(values)]
        members = [values[start:end] for start, end in zip(starts.tolist(), ends, strict=True)]
        firsts = taken.take(pa.array(codes[starts])).to_pylist()
        return cls(numbers, members, firsts, _order(numbers, recoding, itemsets), taken)

    def short(self) -> list[str]:
        """``G01``, ``G02`` and so on, with another prefix if an item looks like that."""
        prefix = _PREFIX
        while pc.any(pc.match_substring_regex(self.taken, rf"(?i)^{prefix}[0-9]")).as_py():
            prefix += _PREFIX
        labels, digits = [""] * len(self.order), len(str(len(self.order)))
        for number, each in enumerate(self.order, 1):
            labels[each] = f"{prefix}{number:0{digits}}"
        return labels

    def first(self) -> list[str]:
        """``apples +17``, with a number if several sets, or an item, would be called so."""
        labels = [f"{first} +{len(own) - 1}" for first, own in zip(self.firsts, self.members, strict=True)]
        times, taken = Counter(labels), {*self.taken.to_pylist()}
        numbers: Counter[str] = Counter()
        for each in self.order:
            label = labels[each]
            if times[label] > 1 or label in taken:
                labels[each] = next(_numbered(label, numbers, taken))
        return labels

    def called(self, make: Callable[[list[Any]], str]) -> list[str]:
        """What a function makes of each."""
        labels: list[Any] = []
        failed = ""
        try:
            labels = [make([*own]) for own in self.members]
        except Exception as error:
            failed = type(error).__name__
        if failed:  # raised outside the handler: the message may quote an item
            hint = "it is given a list of items, and returns a text"
            raise ParameterError("the function for labels fails", where="labels", got=failed, hint=hint)
        _check_called(labels, self.taken)
        return labels


def _order(numbers: NDArray[np.int64], recoding: Recoding, itemsets: Itemsets) -> list[int]:
    """Sets by descending support in the release, which anybody can count there.

    Neither item order nor size may show, nor the order of rows, which engines do not know. So it is a hash
    that decides between sets in equally many rows.
    """
    own = replace(recoding, labels=pa.array(np.arange(len(recoding.labels)))).apply(itemsets)
    assert isinstance(own, Itemsets)  # rows of sets are no bags
    supports = np.zeros(len(recoding.labels), np.int64)
    supports[to_numpy(own.vocabulary)] = np.bincount(own.codes, own.occurrence_weights, minlength=own.n_items)
    names = recoding.labels.take(pa.array(numbers)).to_pylist()
    hashes = [hashlib.sha256(name.encode()).digest() for name in names]
    counts = supports[numbers].tolist()
    return sorted(range(len(names)), key=lambda each: (-counts[each], hashes[each]))


def _numbered(label: str, numbers: Counter[str], taken: set[str]) -> Iterator[str]:
    """A label with the numbers that come next, without those that mean something else."""
    while True:
        numbers[label] += 1
        if (numbered := f"{label} #{numbers[label]}") not in taken:
            yield numbered


def _check_called(labels: list[Any], taken: pa.LargeStringArray) -> None:
    """Check that what a function has made can be labels of different sets."""
    others = sum(not isinstance(label, str) for label in labels)
    if others:
        raise _unfit("is no text", others, labels)
    empty = sum(not label.strip() for label in labels)
    if empty:
        raise _unfit("is empty", empty, labels)
    unwritten = sum(not is_encodable(label) for label in labels)
    if unwritten:
        raise _unfit("holds half of a surrogate pair", unwritten, labels)
    alike = sum(times for times in Counter(labels).values() if times > 1)
    if alike:
        raise _unfit("is that of another set", alike, labels)
    items = pc.sum(pc.is_in(pa.array(labels, pa.large_string()), value_set=taken)).as_py()
    if items:
        raise _unfit("is the text of an item, or a label of another column", items, labels)


def _unfit(what: str, times: int, labels: list[Any]) -> ParameterError:
    hint = "a label is a text of its own for each set: labels='short' numbers them"
    return ParameterError(
        f"a label {what}", where="labels", got=f"{times} of {len(labels)} labels", hint=hint
    )
