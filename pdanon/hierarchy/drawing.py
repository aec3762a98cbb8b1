"""Drawing: the upper part of a tree as a few lines, for a terminal or a notebook."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import TypeAlias

from pdanon.errors import escape_controls
from pdanon.hierarchy.arrays import Nodes
from pdanon.itemsets.values import escape_html

__all__ = ["Line", "as_html", "as_text", "outline"]

Line: TypeAlias = tuple[int, str, bool]  # depth, text, and whether the node's children follow

_SHOWN_LINES, _SHOWN_CHILDREN, _SHOWN_CHARACTERS = 30, 8, 60


def outline(names: Sequence[str], leaves: Nodes, children: Callable[[int], Nodes]) -> list[Line]:
    """Choose the lines of a small picture, from the name, leaves and children of each node."""

    def line(node: int, depth: int, is_open: bool = False) -> Line:
        is_leaf = not len(children(node))
        return depth, _caption(names[node], None if is_leaf else int(leaves[node])), is_open

    lines = {0: line(0, 0, True)}  # by node, or by the first node that a line stands for
    queue = deque([0])
    while queue:
        node = queue.popleft()
        below = children(node).tolist()
        n_shown = len(below) if len(below) <= _SHOWN_CHILDREN else _SHOWN_CHILDREN - 1
        depth, text, _ = lines[node]
        if len(lines) + min(len(below), _SHOWN_CHILDREN) > _SHOWN_LINES:
            lines[node] = (depth, f"{text} …", False)
            continue
        lines[node] = (depth, text, True)
        for child in below[:n_shown]:
            lines[child] = line(child, depth + 1)
        if n_shown < len(below):
            lines[below[n_shown]] = (depth + 1, f"… {len(below) - n_shown} more", False)
        queue.extend(child for child in below[:n_shown] if len(children(child)))
    return [lines[node] for node in sorted(lines)]


def as_text(lines: Sequence[Line]) -> str:
    """Indent the lines."""
    return "\n".join("  " * depth + text for depth, text, _ in lines)


def as_html(lines: Sequence[Line]) -> str:
    """Nest the lines, each node to be opened and closed."""
    parts, unclosed = [], 0
    for depth, text, is_open in lines:
        parts.append("</details>" * (unclosed - depth))
        tag = "<details open><summary>{}</summary>" if is_open else "<div>{}</div>"
        parts.append(tag.format(escape_html(text)))
        unclosed = depth + is_open
    return "".join(parts) + "</details>" * unclosed


def _caption(name: str, leaves: int | None) -> str:
    """The name of a node on one line, whatever it holds, and how many leaves a category has."""
    name = escape_controls(" ".join(name.split()))
    if len(name) > _SHOWN_CHARACTERS:
        name = name[: _SHOWN_CHARACTERS - 1] + "…"
    return name if leaves is None else f"{name} ({leaves} {'leaf' if leaves == 1 else 'leaves'})"
