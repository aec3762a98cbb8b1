r"""The notation of sets in labels: ``(a,b)``.

Matching parentheses within an item stay unescaped, and so does the text between them:
``(Asthma (disorder),Pneumonia (disorder))``. Characters that would be ambiguous are escaped by ``\``: a
parenthesis without a match, a comma outside parentheses, and ``\``.
"""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.itemsets.codes import item_texts
from pdanon.itemsets.lists import offsets_of

_MARK = re.compile(r"[\\,()]")
_MISSING = "<NA>"
_TOKEN = re.compile(r"\\(?:[\\,()]|<NA>)|[(),]|[^\\(),]+")


def set_labels(texts: pa.Array, members: NDArray[np.int64], sizes: NDArray[np.int64]) -> pa.Array:
    """Return the label of each set of items: the text of a single item, or ``(a,b)`` in item order.

    A label that equals the text of an item gets another pair of parentheses. So labels are distinct, and the
    text of an item always means that item. A missing member is ``<NA>``; an item with that text is escaped.
    ``members`` are the items of the sets, set after set; each set has at least one.
    """
    texts = item_texts(texts)
    opening, comma, closing, nothing = (pa.scalar(mark, pa.large_string()) for mark in ("(", ",", ")", ""))
    offsets = offsets_of(sizes)
    lists = pa.LargeListArray.from_arrays(offsets, _escape_members(texts).take(pa.array(members)))
    labels = pc.binary_join_element_wise(opening, pc.binary_join(lists, comma), closing, nothing)
    while (taken := pc.is_in(labels, value_set=texts)).true_count:
        enclosed = pc.binary_join_element_wise(opening, labels, closing, nothing)
        labels = pc.if_else(taken, enclosed, labels)
    alone = pa.array(np.where(sizes == 1, members[offsets[:-1]], -1), mask=sizes > 1)
    return pc.coalesce(texts.take(alone), labels).cast(pa.string())


def label_members(label: str) -> list[str]:
    """Parse the label of a set, as `set_labels` writes it; return no members for other texts.

    In labels of earlier releases, every mark within a member is escaped. These are read, too.
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


def _escape_members(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Escape items as members of sets. Only items that hold a mark are visited one by one."""
    marked = pc.or_kleene(pc.match_substring_regex(texts, r"[\\,()]"), pc.equal(texts, _MISSING))
    marked = marked.fill_null(False)
    others = pa.array([_escape_member(text) for text in texts.filter(marked).to_pylist()], pa.large_string())
    return pc.replace_with_mask(texts, marked, others).fill_null(_MISSING)


def _escape_member(text: str) -> str:
    """Escape the marks of an item that would be read as notation."""
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
