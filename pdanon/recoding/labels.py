"""Labels of the sets of a release, for all algorithms."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ParameterError
from pdanon.guarantees.kkm import list_labels
from pdanon.io.units import UnitTable
from pdanon.itemsets.codes import Itemsets, find_items, item_texts
from pdanon.itemsets.columns import label_position, with_column
from pdanon.itemsets.dtype import number_texts
from pdanon.itemsets.encoded_columns import write_column
from pdanon.itemsets.lists import distinct
from pdanon.itemsets.mapping import is_kept, mapping_labels, mapping_values
from pdanon.itemsets.validation import check_known, is_encodable
from pdanon.recoding.recoding import label_column
from pdanon.recoding.release import withhold
from pdanon.recoding.result import Anonymized, mapping_of, recoded_lists
from pdanon.recoding.unit_release import rename_units

Labels: TypeAlias = str | Callable[[list[Any]], str]
Names: TypeAlias = dict[str, str]  # other names of sets, by label
LABELS = ("set", "short", "first")

_PREFIX = "G"


def check_labels(labels: Any) -> Labels:
    """Check the form of labels: one of the names, or a function that returns the text of a set."""
    if callable(labels):
        return labels
    return check_known(labels, LABELS, "kind of labels", where="labels")


def relabel(result: Anonymized, labels: Labels) -> Anonymized:
    """Return a release with other names of sets, audited again."""
    labels, mapping, frame = check_labels(labels), result.mapping, result.frame
    if not result.holds or "labels" in result.parameters:
        problem = "the sets already have other names" if result.holds else "the guarantee does not hold"
        raise ParameterError(problem, where="result", hint="pass a complete result of an algorithm")
    if labels == "set":
        return result
    result = replace(result, parameters={**result.parameters, "labels": labels})
    lists = list_labels(result.guarantee, (recoded_lists(result) or [None])[0])
    if not lists or ("LM" in result.loss and result.tried is None):
        hint = "leave it out: nodes of a hierarchy and values keep their names"
        raise ParameterError("the release has no sets of items", where="labels", hint=hint)
    if "LM" in result.loss or len(mapping) == 0:
        return result
    parts = [mapping_of(result, label) for label in lists]
    units = None
    if "unit" in result.parameters:
        unit, item = (result.parameters[name] for name in ("unit", "item"))
        units = UnitTable.of(frame, unit, item, None, as_shown=True)
    columns = [units.gather().iloc[:, 0]] if units else [frame[label] for label in lists]
    names, taken = list[Names](), [mapping_values(part, "item") for part in parts]
    for part, column in zip(parts, columns, strict=True):
        names.append(rename_sets(part, Itemsets.from_series(column), labels, taken))
        taken.append(pa.array([*names[-1].values()], pa.string()))
    if not any(names):
        return result
    mapping = pd.concat([with_names(part, own) for part, own in zip(parts, names, strict=True)])
    mapping.attrs = result.mapping.attrs
    guarantee = result.guarantee.with_mapping(mapping)
    if units:
        frame = rename_units(units, names[0], guarantee, counts=result.parameters["counts"])
        return replace(result, frame=frame, mapping=mapping, guarantee=guarantee)
    for label, column, own in zip(lists, columns, names, strict=True):
        rows = Itemsets.from_series(column).rename(own)
        frame = with_column(frame, label_position(frame, label), write_column(rows))
    audit = guarantee.audit(frame, lists[0])
    withhold(audit, "rows")
    return replace(result, frame=frame, mapping=mapping, guarantee=audit.guarantee)


def rename_sets(
    mapping: pd.DataFrame, published: Itemsets, labels: Labels, others: Sequence[pa.Array] = ()
) -> Names:
    """Return another name for the label of each set in a mapping; single items keep theirs."""
    # ``published`` are the released rows. ``others`` are further texts with another meaning, which must not
    # be labels of sets.
    items = mapping_values(mapping, "item")
    merged = np.flatnonzero(mapping["generalized"].notna() & ~is_kept(mapping))
    known = items.unique()
    known = known.take(pc.sort_indices(known))
    became = mapping_labels(mapping, items.type)
    pairs = number_texts(became)[merged] * len(known) + find_items(items, known)[merged]
    owners, codes = np.divmod(distinct(pairs), max(len(known), 1))
    numbers, starts, sizes = np.unique(owners, return_index=True, return_counts=True)
    sets = item_texts(became.dictionary).take(pa.array(numbers)).to_pylist()
    taken = pa.concat_arrays([item_texts(each) for each in (known, *others)])
    if callable(labels):
        values = known.take(pa.array(codes)).to_pylist()
        ends = zip(starts.tolist(), (starts + sizes).tolist(), strict=True)
        called = _call(labels, [values[start:end] for start, end in ends], taken)
    elif labels == "short":
        called = _number(_order(sets, published), taken)
    else:
        firsts = zip(taken.take(pa.array(codes[starts])).to_pylist(), sizes.tolist(), strict=True)
        own = [f"{first} +{size - 1}" for first, size in firsts]
        called = _distinguish(own, _order(sets, published), taken)
    return dict(zip(sets, called, strict=True))


def with_names(mapping: pd.DataFrame, names: Names) -> pd.DataFrame:
    """Return a mapping with other names of sets."""
    labels = mapping_labels(mapping, pa.string())
    texts = pa.array([names.get(text, text) for text in labels.dictionary.to_pylist()], pa.string())
    return mapping.assign(generalized=label_column(texts, number_texts(labels).astype(np.int32)))


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


def _order(sets: list[str], published: Itemsets) -> list[int]:
    """Order sets by descending support in the release, which everybody can count there."""
    # Item order, size and row order must not be visible, and engines do not share a row order. Between sets
    # of equal support, a hash decides.
    supports = np.bincount(published.codes, published.occurrence_weights, minlength=published.n_items)
    counts = np.append(supports, 0)[published.lookup(pa.array(sets, published.vocabulary.type))].tolist()
    hashes = [hashlib.sha256(name.encode()).digest() for name in sets]
    return sorted(range(len(sets)), key=lambda each: (-counts[each], hashes[each]))


def _check_texts(labels: list[Any], taken: pa.LargeStringArray) -> None:
    """Check that texts of a function can be labels of different sets."""

    def count_unfit() -> Iterator[tuple[str, int]]:  # each count requires that all before it are 0
        yield "is not text", sum(not isinstance(label, str) for label in labels)
        yield "is empty", sum(not label.strip() for label in labels)
        yield "contains half of a surrogate pair", sum(not is_encodable(label) for label in labels)
        yield "is that of another set", sum(times for times in Counter(labels).values() if times > 1)
        items = pc.sum(pc.is_in(pa.array(labels, pa.large_string()), value_set=taken)).as_py()
        yield "is the text of an item, or a label of another column", items or 0

    for what, times in count_unfit():
        if times:
            hint = "return a different text for each set, or pass labels='short'"
            got = f"{times} of {len(labels)} labels"
            raise ParameterError(f"a label {what}", where="labels", got=got, hint=hint)
