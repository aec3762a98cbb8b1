"""What fits the axes it is drawn on: texts in several lines, shorter or smaller, so that none is cut off.

The layout of a figure makes room beside axes, but not beyond their ends: for titles, names of axes and
numbers at bars there is as much room as the axes are long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

__all__ = ["bars_across", "binned", "key_above", "names_beside", "say", "size_across", "size_down"]

_GLYPH = 0.6  # width of a character, as a share of the size of the font
_PROSE = 0.53  # the same, on average over words
_LEFT = 0.85  # share of the height that a layout leaves
_LINE = 1.25  # height of a line, so
_BESIDE = 0.45  # share of the width that names beside horizontal bars may take
_LEAST_SIZE = 4.0  # points
_MOST_BARS = 16
_SHORTEST, _LONGEST = 8, 42  # characters of a name


def say(ax: Axes, *, x: str = "", y: str = "", title: str = "", beside: Sequence[str] = ()) -> None:
    """Name the axes and the picture, in several lines if one is too long; names stand beside the axes."""
    width, height = _extent(ax)
    width -= max(map(len, beside), default=0) * _GLYPH * _size(ax.xaxis.label)
    ax.set_xlabel(_wrapped(x, width, _size(ax.xaxis.label)))
    ax.set_ylabel(_wrapped(y, _LEFT * height, _size(ax.yaxis.label)))
    ax.set_title(_wrapped(title, width, _size(ax.title)))


def key_above(ax: Axes, size: float) -> float:
    """Explain the bars in one line above them; how much longer the vertical axis has to be for that."""
    ax.legend(
        frameon=False,
        loc="upper left",
        ncols=2,
        borderaxespad=0,
        handlelength=1.5,
        columnspacing=1,
        fontsize=size,
    )
    share = 2.5 * size / _extent(ax)[1]  # the layout takes some of the height
    return 1 / (1 - min(share, 0.4))


def names_beside(ax: Axes, names: Iterable[str]) -> list[str]:
    """Names for horizontal bars, in one line each and no longer than leaves room for the bars."""
    names = list(names)
    most = int(_BESIDE * _extent(ax)[0] / (_GLYPH * size_down(ax, len(names))))
    return [_shortened(name, min(max(most, _SHORTEST), _LONGEST)) for name in names]


def bars_across(ax: Axes, sizes: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Sizes as they fit side by side: one by one, or put together if the text would have to be small."""
    names, counts = binned(sizes)
    texts = [*names, *(f"{count:,}" for count in counts)]
    crowded = size_across(ax, texts, len(names)) < size_across(ax, texts, 1)
    return binned(sizes, 1) if crowded else (names, counts)


def binned(sizes: NDArray[np.int64], most: int = _MOST_BARS) -> tuple[list[str], NDArray[np.int64]]:
    """Count sizes: one by one if so few differ, else 1, 2, 3 to 4, 5 to 8 and so on."""
    exact, counts = np.unique(sizes.astype(np.int64), return_counts=True)
    if len(exact) <= most:
        return [f"{size:,}" for size in exact], counts
    doublings = np.array([(int(size) - 1).bit_length() for size in exact])
    lowest, highest = doublings.min(), doublings.max()
    totals = np.bincount(doublings - lowest, weights=counts).astype(np.int64)
    ends = [(2**place // 2 + 1 if place else 1, 2**place) for place in range(lowest, highest + 1)]
    return [f"{low:,}" if low == high else f"{low:,}–{high:,}" for low, high in ends], totals


def size_across(ax: Axes, texts: Sequence[str], places: int) -> float:
    """The size of font with which texts stand side by side, in so many places, without touching."""
    longest = max(map(len, texts), default=0) + 0.5
    return _at_most(ax, _extent(ax)[0] / max(places, 1) / (_GLYPH * longest))


def size_down(ax: Axes, lines: int) -> float:
    """The size of font with which so many lines stand one above the other."""
    return _at_most(ax, _extent(ax)[1] / max(lines, 1) / _LINE)


def _shortened(text: str, most: int) -> str:
    """A text in one line of so many characters."""
    line = "".join(character if character.isprintable() else " " for character in text)
    return line if len(line) <= most else line[: most - 1] + "…"


def _at_most(ax: Axes, size: float) -> float:
    return max(min(size, _size(ax.xaxis.label)), _LEAST_SIZE)


def _size(text: Text) -> float:
    return float(text.get_fontsize())


def _extent(ax: Axes) -> tuple[float, float]:
    """Width and height of the axes in points."""
    points = 72 / ax.figure.dpi
    return ax.bbox.width * points, ax.bbox.height * points


def _wrapped(text: str, room: float, size: float) -> str:
    return fill(text, max(int(room / (_PROSE * size)), _SHORTEST), break_long_words=False)
