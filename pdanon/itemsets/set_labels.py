r"""The notation of sets: written into labels, and read from them, here and nowhere else.

A set of items is ``(a,b)``. Parentheses of an item that match each other stay as they are, and so does what
they enclose: ``(Asthma (disorder),Pneumonia (disorder))``. What would be taken for the notation itself has a
``\`` before it: a parenthesis without a match, a comma that no parentheses enclose, and ``\``.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.codes import item_texts
from pdanon.itemsets.lists import offsets_of

__all__ = ["label_members", "set_labels"]

_MARK = re.compile(r"[\\,()]")
_MISSING = "<NA>"
_TOKEN = re.compile(r"\\(?:[\\,()]|<NA>)|[(),]|[^\\(),]+")


def set_labels(texts: pa.Array, members: NDArray[np.int64], sizes: NDArray[np.int64]) -> pa.Array:
    """Label of each set of items: its only item's text, or ``(a,b)`` with members in item order.

    A label that some item has as its own text gets one more pair of parentheses, so that no two labels are
    alike and an item's text means that item. A missing member is ``<NA>``; one with this text is escaped.

    Parameters
    ----------
    texts : pyarrow.Array, length (items,)
        The items, null for a missing one.
    members : ndarray of int64
        Item codes, set after set.
    sizes : ndarray of int64, shape (sets,)
        How many members each set has, at least 1.
    """
    texts = item_texts(texts)
    opening, comma, closing, nothing = (pa.scalar(mark, pa.large_string()) for mark in ("(", ",", ")", ""))
    offsets = offsets_of(sizes)
    lists = pa.LargeListArray.from_arrays(offsets, _escaped(texts).take(pa.array(members)))
    labels = pc.binary_join_element_wise(opening, pc.binary_join(lists, comma), closing, nothing)
    while (taken := pc.is_in(labels, value_set=texts)).true_count:
        enclosed = pc.binary_join_element_wise(opening, labels, closing, nothing)
        labels = pc.if_else(taken, enclosed, labels)
    alone = pa.array(np.where(sizes == 1, members[offsets[:-1]], -1), mask=sizes > 1)
    return pc.coalesce(texts.take(alone), labels).cast(pa.string())


def label_members(label: str) -> list[str]:
    """The members of a set, read from its label as `set_labels` writes it; of other texts none.

    Labels in which every mark within a member is escaped, as earlier releases have them, are read as well.
    """
    tokens = _TOKEN.findall(label)
    if "".join(tokens) != label:
        return []
    while len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")":
        tokens = tokens[1:-1]
        members, depth = [""], 0
        for token in tokens:
            depth += (token == "(") - (token == ")")
            if depth < 0:
                return []
            if token == "," and not depth:
                members.append("")
            else:
                members[-1] += token[1:] if token[0] == "\\" else token
        if depth:
            return []
        if len(members) > 1:
            return members
    return []


def _escaped(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Items as members: most are as they are, and only the others are looked at one by one."""
    marked = pc.or_kleene(pc.match_substring_regex(texts, r"[\\,()]"), pc.equal(texts, _MISSING))
    marked = marked.fill_null(False)
    others = pa.array([_member(text) for text in texts.filter(marked).to_pylist()], pa.large_string())
    return pc.replace_with_mask(texts, marked, others).fill_null(_MISSING)


def _member(text: str) -> str:
    """An item as a member of a set."""
    if text == _MISSING:
        return f"\\{text}"
    marks = [(mark.start(), mark[0]) for mark in _MARK.finditer(text)]
    opened, matching = [], set()
    for place, mark in marks:
        if mark == "(":
            opened.append(place)
        elif mark == ")" and opened:
            matching |= {opened.pop(), place}
    parts, depth, done = [], 0, 0
    for place, mark in marks:
        if place in matching:
            depth += 1 if mark == "(" else -1
        elif mark != "," or not depth:
            parts += [text[done:place], "\\"]
            done = place
    return "".join([*parts, text[done:]])
