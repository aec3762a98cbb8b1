"""What k and m cost, as a section of a page: pictures of the table, and the table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd

from pdanon.evaluation.canvas import check_tradeoff
from pdanon.evaluation.plotting import tradeoff as draw_tradeoff
from pdanon.evaluation.report.drawing import svg
from pdanon.evaluation.report.pieces import Cell, count, figure, paragraph, percent, section, table

__all__ = ["tradeoff_section"]

_SHARES = {
    "below_k": "at risk with one item more",
    "occurrences": "occurrences changed",
    "suppressed": "occurrences suppressed",
    "singles": "error in an item's count",
    "pairs": "error in a pair's count",
}
_PICTURES = {
    "below_k": "What is left open: the share of the rows that who knows one item more than m finds among "
    "fewer than k.",
    "occurrences": "What it costs: the share of the occurrences of items that are not published as "
    "themselves.",
}


def tradeoff_section(trials: pd.DataFrame, chosen: tuple[Any, Any] | None = None) -> str:
    """The section of a table that `pdanon.tradeoff` made.

    Parameters
    ----------
    trials : pandas.DataFrame
        The table: ``k, m`` and shares; ``reason`` where there is no release.
    chosen : (k, m), optional
        Those of the release that the page is about.
    """
    for name in _PICTURES:
        check_tradeoff(trials, name)
    shown = [name for name in _SHARES if name in trials and trials[name].notna().any()]
    pictures = [_picture(trials, name) for name in _PICTURES if name in shown]
    text = (
        "One release was made for each k and m, and none of them kept. The guarantee holds in each up to m "
        "known items: the risk is that from who knows one more."
    )
    header = ["k", "m", *(_SHARES[name] for name in shown), ""]
    rows = [[*_cells(trial, shown), Cell(_remark(trial, chosen))] for _, trial in trials.iterrows()]
    return section(
        "What each k and m costs", paragraph(text), *pictures, table("Releases tried", header, rows)
    )


def _picture(trials: pd.DataFrame, name: str) -> str:
    caption = _PICTURES[name]
    return figure(svg(lambda ax: draw_tradeoff(trials, measure=name, ax=ax), caption), caption)


def _cells(trial: pd.Series[Any], shown: list[str]) -> Iterator[Cell]:
    yield from (count(int(trial[name])) for name in ("k", "m"))
    for name in shown:
        yield Cell("none", float("inf")) if pd.isna(trial[name]) else percent(float(trial[name]))


def _remark(trial: pd.Series[Any], chosen: tuple[Any, Any] | None) -> str:
    if (trial["k"], trial["m"]) == chosen:
        return "k and m of this release"
    reason = trial.get("reason")
    return "" if pd.isna(reason) else str(reason)
