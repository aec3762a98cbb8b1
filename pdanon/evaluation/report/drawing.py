"""Pictures as inline SVG, in the colours of the page that they are in."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from io import StringIO
from typing import TYPE_CHECKING

from pdanon.errors import escape_controls
from pdanon.itemsets.values import escape_html

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["svg"]

# matplotlib wants colours; the page has its own for light and dark.
_COLOURS = {"#0b0c0e": "currentColor", "#0d7377": "var(--bar)"}
_SIZE = (4.3, 2.9)  # inches; small, so that the text can be read on a phone


def svg(draw: Callable[[Axes], object], description: str) -> str:
    """Draw a picture.

    Parameters
    ----------
    draw : callable
        Draws on the axes it is given.
    description : str
        What the picture shows, for those who do not see it.

    Returns
    -------
    str
        An ``svg`` element; nothing if matplotlib is not installed.
    """
    if find_spec("matplotlib") is None:
        return ""
    from matplotlib import style
    from matplotlib.figure import Figure

    text = StringIO()
    with style.context(["default", _look(description)]), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)  # the browser has its own fonts
        picture = Figure(figsize=_SIZE, layout="constrained")
        ax = picture.subplots()
        draw(ax)
        ax.set_title("")  # the heading above it says the same
        picture.savefig(text, format="svg", transparent=True, metadata={"Date": None})
    return _inlined(escape_controls(text.getvalue()), description)


def _look(salt: str) -> dict[str, object]:
    from cycler import cycler

    ink, bar = _COLOURS
    inked = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color")
    return {
        **dict.fromkeys(inked, ink),
        "axes.prop_cycle": cycler(color=[bar]),
        "font.size": 10.5,
        "svg.fonttype": "none",  # text stays text
        "svg.hashsalt": salt,  # same picture, same bytes; other picture, other ids
    }


def _inlined(document: str, description: str) -> str:
    element = document[document.index("<svg") :]
    element = re.sub(r"<metadata>.*?</metadata>", "", element, flags=re.DOTALL)
    element = re.sub(r"<style.*?</style>", "", element, flags=re.DOTALL)
    element = re.sub(r'<g id="[^"]*"', "<g", element)  # the next picture on the page has the same
    element = re.sub(r' (?:width|height)="[\d.]+pt"', "", element)
    for colour, themed in _COLOURS.items():
        element = element.replace(colour, themed)
    return element.replace("<svg", f'<svg role="img" aria-label="{escape_html(description)}"', 1).strip()
