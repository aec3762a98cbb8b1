"""Pieces of HTML: tables, facts, sections. Every text is escaped here, and nowhere else."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pdanon.itemsets.values import escape_html

__all__ = ["Cell", "count", "figure", "paragraph", "percent", "section", "steps", "table"]

_NUMBER = ' class="number"'


class Cell(NamedTuple):
    """What a cell of a table shows, and the number it is sorted by if it is one."""

    text: str
    value: float | None = None


def count(number: int) -> Cell:
    """A cell with a count."""
    return Cell(f"{number:,}", number)


def percent(share: float) -> Cell:
    """A cell with a share, in percent."""
    return Cell(f"{100 * share:.3g} %", share)


def table(
    caption: str, header: Sequence[str], rows: Iterable[Sequence[Cell]], *, sortable: bool = False
) -> str:
    """A table that scrolls if it is too wide, and can be sorted by a script if it says so."""
    rows = list(rows)
    numeric = [cell.value is not None for cell in rows[0]] if rows else [False] * len(header)
    heads = "".join(
        f'<th scope="col"{_NUMBER if number else ""}>{escape_html(name)}</th>'
        for name, number in zip(header, numeric, strict=True)
    )
    body = "\n".join(f"<tr>{_row(cells)}</tr>" for cells in rows)
    return (
        f'<div class="scroll" role="region" aria-label="{escape_html(caption)}" tabindex="0">'
        f'<table class="{"sortable" if sortable else "plain"}"><caption>{escape_html(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>{body}</tbody></table></div>"
    )


def _row(cells: Sequence[Cell]) -> str:
    first, *others = cells
    return f'<th scope="row"{_value(first)}>{_text(first)}</th>' + "".join(
        f"<td{_value(cell)}>{_text(cell)}</td>" for cell in others
    )


def _text(cell: Cell) -> str:
    """The text, which may go on in a new line after a comma: the label of a set can be long."""
    return escape_html(cell.text).replace(",", ",<wbr>" if cell.value is None else ",")


def _value(cell: Cell) -> str:
    return "" if cell.value is None else f'{_NUMBER} data-value="{cell.value!r}"'


def paragraph(text: str, kind: str = "") -> str:
    """A paragraph of text."""
    return f'<p class="{kind}">{escape_html(text)}</p>' if kind else f"<p>{escape_html(text)}</p>"


def steps(todo: Iterable[tuple[str, str]]) -> str:
    """A numbered list of what was found, and what to do about it."""
    entries = (
        f"<li>{escape_html(found)}<p><strong>Do:</strong> {escape_html(done)}</p></li>"
        for found, done in todo
    )
    return f"<ol>{''.join(entries)}</ol>"


def figure(svg: str, caption: str) -> str:
    """A picture, if there is one."""
    return f"<figure>{svg}<figcaption>{escape_html(caption)}</figcaption></figure>" if svg else ""


def section(title: str, *parts: str) -> str:
    """A section with a heading."""
    return f"<section>\n<h2>{escape_html(title)}</h2>\n" + "\n".join(filter(None, parts)) + "\n</section>"
