"""Cards: the HTML of objects in notebooks, with text in the colors of the notebook."""

# A card has a color of its own for bars and for each verdict. They are legible on light and on dark pages, so
# no card has to know the theme. Nothing is loaded from elsewhere, and there are no scripts.

from __future__ import annotations

from collections.abc import Iterable
from html import escape
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from pdanon.errors import escape_controls

Verdict = Literal["holds", "warned", "broken"]
SIGNS: dict[Verdict, str] = {"holds": "✓", "warned": "⚠", "broken": "✗"}

# Rules with !important override those of JupyterLab for all tables.
_STYLE = """<style>
.pdanon{max-width:50rem;margin:.3rem 0;padding:.7rem 1rem;border:1px solid #8886;border-radius:.4rem;
overflow-x:auto;font:14px/1.5 system-ui,sans-serif;color:inherit;text-align:left}
.pdanon p{margin:0 0 .5rem}
.pdanon .title{font-weight:600}
.pdanon .verdict{padding:.35rem .7rem;border-left:.3rem solid #888;background:#8882;overflow-wrap:anywhere}
.pdanon .holds{border-color:#2c9c63;background:#2c9c6326}
.pdanon .warned{border-color:#c98a00;background:#c98a0026}
.pdanon .broken{border-color:#d4472f;background:#d4472f26}
.pdanon table{table-layout:auto;margin:0 0 .5rem;border:0;border-collapse:collapse;font-size:inherit;
color:inherit;font-variant-numeric:tabular-nums}
.pdanon tr{background:none!important}
.pdanon th,.pdanon td{padding:.15rem 1.2rem .15rem 0!important;border:0!important;
text-align:left!important;vertical-align:top;white-space:normal;overflow-wrap:anywhere;max-width:40rem}
.pdanon th{font-weight:400;opacity:.72}
.pdanon thead th{vertical-align:bottom}
.pdanon .facts th,.pdanon .number{white-space:nowrap;overflow-wrap:normal}
.pdanon .number{text-align:right!important}
.pdanon caption{padding:0 0 .2rem;text-align:left;opacity:.72;color:inherit;caption-side:top}
.pdanon .facts{width:100%}
.pdanon .facts th{width:5rem}
.pdanon .bars{width:8rem;white-space:nowrap}
.pdanon .bars div{display:flex;align-items:center;gap:.5rem;min-height:1.3rem;
font-size:.85em;line-height:1.2}
.pdanon .bars span{opacity:.72}
.pdanon.wide{max-width:none}
.pdanon .rows{max-height:30rem;overflow:auto}
.pdanon .rows th,.pdanon .rows td{padding-right:.7rem!important;overflow-wrap:normal}
.pdanon .rows th{white-space:normal}
.pdanon .rows svg{display:block;margin:0 0 .2rem auto}
</style>"""


# Texts of the publisher for the head of a page, by parameter.
HEAD = {
    "title": "title",
    "dataset": "data set",
    "purpose": "purpose",
    "recipient": "recipient",
    "prepared_by": "prepared by",
    "approved_by": "approved by",
    "note": "note",
}


def escape_html(text: str) -> str:
    """Escape markup, control characters and marks that reorder text."""
    return escape(escape_controls(text))


class Share(NamedTuple):
    """A share from 0 to 1, to draw as a bar."""

    share: float
    before: float | None = None  # the share in the original, drawn as a line across the bar
    name: str = ""  # what the bar shows, if a line has several

    def bar(self, width: int = 120) -> str:
        """Return a bar as SVG, hidden from screen readers because the text beside it states the share."""
        shapes = [_rectangle(0, 100, "currentColor", ' opacity=".13"')]
        shapes.append(_rectangle(0, 100 * min(max(self.share, 0), 1), "#1a9c94"))
        if self.before is not None:
            shapes.append(_rectangle(98.5 * min(max(self.before, 0), 1), 1.5, "currentColor"))
        size = f'viewBox="0 0 100 10" width="{width}" height="8" preserveAspectRatio="none"'
        return f'<svg {size} aria-hidden="true">{"".join(shapes)}</svg>'


# Names and texts, each with the shares in the text, which only a card draws.
Lines: TypeAlias = Iterable[tuple[str, str, *tuple[Share, ...]]]


def _rectangle(left: float, width: float, fill: str, more: str = "") -> str:
    return f'<rect x="{left:.4g}" width="{width:.4g}" height="10" fill="{fill}"{more}/>'


def card(
    title: str,
    lines: Lines = (),
    *,
    verdict: tuple[Verdict, str] | None = None,
    tables: Iterable[str] = (),
) -> str:
    """Return a card of named lines with bars for their shares, and of HTML tables, which need no title."""
    parts = [f'<p class="title">{escape_html(title)}</p>'] if title else []
    if verdict is not None:
        kind, sentence = verdict
        parts.append(f'<p class="verdict {kind}">{SIGNS[kind]} {escape_html(sentence)}</p>')
    parts.append(facts("", lines, bars=True))
    wide = "" if title else " wide"
    return "\n".join([f'<div class="pdanon{wide}">{_STYLE}', *filter(None, parts), *tables, "</div>"])


def listing(title: str, lines: Lines) -> str:
    """Return named lines below a title as text, as a card shows them."""
    return escape_controls("\n".join([title, *(f"  {name:<10} {text}" for name, text, *_ in lines)]))


def facts(title: str, lines: Lines, *, bars: bool = False) -> str:
    """Return a table of names and texts, with bars if the shares are shown; empty if there is no line."""
    rows = ""
    for name, text, *shares in lines:
        drawn, text = "".join(map(_named_bar, shares if bars else ())), escape_html(text)
        cells = f'<td class="bars">{drawn}</td><td>{text}</td>' if drawn else f'<td colspan="2">{text}</td>'
        rows += f'<tr><th scope="row">{escape_html(name)}</th>{cells}</tr>'
    caption = f"<caption>{escape_html(title)}</caption>" if title else ""
    return f'<table class="facts">{caption}<tbody>{rows}</tbody></table>' if rows else ""


def _named_bar(share: Share) -> str:
    """Return a bar with its name, and what the line across it stands for."""
    legend = share.name + (" (| before)" if share.name and share.before is not None else "")
    name = f'<span aria-hidden="true">{escape_html(legend)}</span>' if legend else ""
    return f"<div>{share.bar()}{name}</div>"


# --- Tables


# Losses that are shares, and other measures that are shown in percent.
SHARES = (
    *("occurrences", "suppressed", "NCP", "LM", "GGD", "meaning", "S/N", "NCP_relational"),
    *("suppressed_rows", "term_chunks", "tlost"),
)
PERCENT = {
    *(*SHARES, "least_occurrences", "least_by_sets", "singles", "pairs", "values", "ARE", "gap"),
    *("singled_out", "below_k", "named", "share"),
    *("success", "control", "baseline", "risk", "low", "high"),
}
_MOST_ROWS = 60


class Measures(pd.DataFrame):
    """A table of fractions, shown in percent and with bars; all that is selected from it is a plain frame."""

    def _repr_html_(self) -> str:
        # The first rows, without the index and without columns that are empty.
        shown = self.dropna(axis="columns", how="all").head(_MOST_ROWS)
        columns = [_column_html(str(label), values) for label, values in shown.items()]
        heads = "".join(head for head, _ in columns)
        lines = zip(*(cells for _, cells in columns), strict=True) if columns else ()
        rows = "".join(f"<tr>{''.join(line)}</tr>" for line in lines)
        body = f"<table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>"
        note = f"{len(self):,} rows"
        if len(self) > _MOST_ROWS:
            note += f", the first {_MOST_ROWS} shown"
        if "<svg" in rows:
            note += f". Each bar {Share(0.5).bar(48)} shows the figure above it, from 0 to 100 %"
        return card("", tables=[f'<div class="rows">{body}</div>\n<p>{note}</p>'])


def _column_html(name: str, values: pd.Series[Any]) -> tuple[str, list[str]]:
    """Return the head and the cells of a column: shares with bars, numbers to the right, text to the left."""
    number = ' class="number"' if pd.api.types.is_numeric_dtype(values.dtype) else ""
    cells = []
    for value in values:
        text = "" if pd.isna(value) else _format(name, value)
        bar = f" {Share(value).bar(48)}" if text and name in PERCENT else ""
        cells.append(f"<td{number}>{escape_html(text)}{bar}</td>")
    head = escape_html(name).replace("_", "_<wbr>")
    return f'<th scope="col"{number}>{head}</th>', cells


def _format(name: str, value: Any) -> str:
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if name in PERCENT:
        return f"{100 * value:.3g} %"
    if name == "memory":
        return f"{value / 10**6:,.0f} MB"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    return f"{value:.3g}" if isinstance(value, (float, np.floating)) else str(value)
