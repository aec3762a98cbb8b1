"""Tables as notebooks show them best: shares in percent with a bar each, and no cell that says nothing."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import pandas as pd

from pdanon.errors import ParameterError, escape_controls
from pdanon.itemsets.values import check_frame

if TYPE_CHECKING:
    from pandas.io.formats.style import Styler

__all__ = ["SHARES", "styled"]

# Losses that are shares of a whole.
SHARES = (
    *("occurrences", "suppressed", "NCP", "LM", "GGD", "S/N", "NCP_relational", "suppressed_rows"),
    *("term_chunks", "tlost"),
)
_PERCENT = (*SHARES, "singles", "pairs", "ARE", "gap", "singled_out", "below_k", "share")
_BAR = "#0d737755"  # the text can be read on it, in light and dark


def styled(table: pd.DataFrame) -> Styler:
    """Show a table of `pdanon.compare`, `pdanon.tradeoff` or `pdanon.risk` as a notebook shows it best.

    Parameters
    ----------
    table : pandas.DataFrame
        One of them, or a part of it. It is not modified.

    Returns
    -------
    pandas.io.formats.style.Styler
        Shares and errors in percent, each with a bar that is full at 100 %; memory in megabytes; counts with
        commas; no index, and no column in which nothing is known.

    Raises
    ------
    ParameterError
        If it is no table, has a column twice, or the package jinja2 is not installed, which notebooks have.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.plotting import styled
    >>> page = styled(pd.DataFrame({"k": [5, 11], "NCP": [0.125, None]})).to_html()
    >>> "12.5 %" in page, "nan" in page
    (True, False)
    """
    check_frame(table, "the table")
    if not table.columns.is_unique:
        raise ParameterError("the table has a column twice", got=list(table.columns))
    try:
        style = table.reset_index(drop=True).style
    except ImportError:
        hint = "pip install jinja2"
        raise ParameterError("styled tables need the package jinja2", hint=hint) from None
    numbers = {name for name in table if pd.api.types.is_numeric_dtype(table[name])}
    formats: dict[Any, Any] = {
        name: _format(name, table[name]) if name in numbers else _escape_text for name in table
    }
    shares: list[Hashable] = [name for name in table if name in _PERCENT and name in numbers]
    texts = [name for name in table if name not in numbers]
    empty = [name for name in table if table[name].isna().all()]
    style = style.format(formats, na_rep="", escape="html")
    style = style.format_index(_escape_text, escape="html", axis=1)
    if texts:
        style = style.set_properties(subset=texts, **{"text-align": "left"})
    if shares:
        style = style.bar(subset=shares, vmin=0, vmax=1, color=_BAR)
    return style.hide(axis="index").hide(subset=empty, axis="columns")


def _escape_text(value: Any) -> Any:
    return escape_controls(value) if isinstance(value, str) else value


def _format(name: Any, column: pd.Series[Any]) -> Callable[[Any], str]:
    if name in _PERCENT:
        return lambda share: f"{100 * share:.3g} %"
    if name == "memory":
        return lambda size: f"{size / 10**6:,.0f} MB"
    if pd.api.types.is_bool_dtype(column):
        return lambda true: "yes" if true else "no"
    if pd.api.types.is_integer_dtype(column):
        return lambda number: f"{number:,}"
    return lambda number: f"{number:.3g}"
