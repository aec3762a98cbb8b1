"""The risk before and after: as far as the guarantee promises, and one item beyond."""

from __future__ import annotations

from collections.abc import Hashable
from functools import partial

import pandas as pd

from pdanon.evaluation.metrics.risk import exposure, sensitive_of
from pdanon.evaluation.plotting import draw_risk
from pdanon.evaluation.report.drawing import svg
from pdanon.evaluation.report.pieces import Cell, count, figure, paragraph, percent, section, table
from pdanon.recoding.result import Anonymized

__all__ = ["risk_section"]

_OTHER_PROMISES = (
    "Rows are left at risk because the guarantee promises something else. Here an attacker may know any "
    "items together, also private ones, and whether or not a constraint or a rule has them."
)


def risk_section(result: Anonymized, original: pd.DataFrame | None, column: Hashable) -> str:
    """The section about a column that was recoded, of a release whose guarantee has a k."""
    k, promised = result.guarantee.k, _promised(result)  # type: ignore[attr-defined]
    tables = exposure(result, original, column, m=None if promised is None else promised + 1)
    title = "Risk before and after" if original is not None else "Risk of the release"
    draw = partial(draw_risk, tables, k, promised=promised, sensitive=bool(sensitive_of(result)))
    picture = svg(draw, f"{title}, column {column}")
    return section(
        title,
        paragraph(_measured(result, column)),
        figure(picture, f"Rows that fewer than {k} rows match, by the number of known items."),
        _table(tables, k, promised),
        *map(paragraph, _left(tables, k, promised)),
    )


def _promised(result: Anonymized) -> int | None:
    """How many known items the guarantee speaks of, if it is about a number of them."""
    m: int | None = getattr(result.guarantee, "m", None)
    return m


def _measured(result: Anonymized, column: Hashable) -> str:
    k, quasi = result.guarantee.k, getattr(result.guarantee, "quasi", ())  # type: ignore[attr-defined]
    beside = f", and all of {', '.join(map(str, quasi))}" if quasi else ""
    hidden = " Sensitive items are not among what he knows." if sensitive_of(result) else ""
    return (
        f"An attacker knows some items of one row, in the column {column}, whichever serve him best{beside}."
        f"{hidden} For this share of the {len(result.frame):,} rows, what he knows matches no other row "
        f"(singled out), or fewer than {k} in all."
    )


def _table(tables: dict[str, pd.DataFrame], k: int, promised: int | None) -> str:
    header = ["items known (up to)"]
    for name in tables:
        header += [f"singled out, {name}", f"fewer than {k}, {name}"]
    known = tables["after"]["known"]
    columns = [shares[measure] for shares in tables.values() for measure in ("singled_out", "below_k")]
    rows = [
        (_known(number, promised), *(percent(share) for share in shares))
        for number, *shares in zip(known, *columns, strict=True)
    ]
    return table("Share of rows at risk", header, rows)


def _known(number: int, promised: int | None) -> Cell:
    if promised is None or number <= promised:
        return count(number)
    return Cell(f"{number:,}, beyond what is promised", number)


def _left(tables: dict[str, pd.DataFrame], k: int, promised: int | None) -> list[str]:
    """What is said of rows that are at risk in the release: why they are, and how many there are."""
    after = tables["after"].set_index("known")["below_k"]
    within = after if promised is None else after.loc[:promised]
    said = [_OTHER_PROMISES] if within.any() else []
    beyond = after.iloc[len(within) :]
    if len(beyond) and beyond.any():
        said += [
            f"Beyond what is promised: for {percent(beyond.iloc[0]).text} of the rows, who knows "
            f"{beyond.index[0]:,} items, one more than the guarantee speaks of, finds fewer than {k}. If "
            "somebody can know as many, ask for a larger m."
        ]
    elif len(beyond):
        said += [
            f"Beyond what is promised: who knows {beyond.index[0]:,} items, one more than the guarantee "
            f"speaks of, finds at least {k} rows, too."
        ]
    return said
