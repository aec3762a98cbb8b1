"""The risk before and after: as far as the guarantee promises, and one item beyond."""

from __future__ import annotations

import inspect
import os
from collections.abc import Hashable, Iterator, Sized
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.rt.transaction import Transaction, said
from pdanon.evaluation.metrics.risk import exposure, sensitive_of
from pdanon.evaluation.plotting import SHARES, draw_risk
from pdanon.evaluation.report.html import (
    Cell,
    count,
    document,
    figure,
    paragraph,
    percent,
    provenance,
    section,
    svg,
    table,
    tradeoff_section,
    write_document,
    write_draft,
)
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.constraints import AllItemsets
from pdanon.guarantees.parameters import shown_share
from pdanon.guarantees.rules import AllRules
from pdanon.guarantees.verdict import facts
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.support import SupportIndex
from pdanon.recoding.counts import changes, class_sizes, label_sizes
from pdanon.recoding.result import Anonymized, called, counted, headline, in_chunks, made_by, recoded_lists
from pdanon.recoding.warnings import shortfall

__all__ = ["asked", "render", "risk_section", "write_page", "write_report"]

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


# --- A page that shows a release to others: what was promised, how it was checked, what was lost


MOST_LABELS = 100

_NOTE = "This page holds counts and labels that are published: no row of the data, no item that was removed."

_MEANINGS = {
    "occurrences": "Share of the occurrences of items that are not published as themselves.",
    "stands_for": "The number of items that the label of a changed occurrence stands for: the median.",
    "singles": "By how much the expected count of an item is off, if a label is taken for any of its items "
    "alike: the average, each item weighted by its count.",
    "pairs": "The same for two items together: the average over 200 pairs that occur, or over all "
    "if there are fewer.",
    "NCP": "Average over the occurrences of items: 0 % if kept, 100 % if suppressed, in between the share of "
    "all items that the published label stands for.",
    "LM": "As NCP, not counting one item of each label.",
    "GGD": "As LM; an occurrence that collapses into a label that its row has already costs 100 %.",
    "UL": "Utility loss as a power of two; every step of 1 doubles it.",
    "suppressed": "Share of the occurrences of items that were removed.",
    "S/N": "Share of the occurrences of items that were removed, public and private columns together.",
    "NCP_relational": "Average over the quasi-identifiers: the share of the range of values that the "
    "published one stands for.",
    "suppressed_rows": "Share of the rows of which no quasi-identifier is published.",
    "term_chunks": "Share of the occurrences of items of which no more is published than that some record of "
    "their cluster has the item.",
    "tlost": "Share of the items that k records or more have, and that are in term chunks alone.",
    "re": "By how much the count of a pair of items of middle frequency is off in a reconstruction: 0 to 2.",
    "KL": "Reconstruction error: how far the expected shares of the rows with a sensitive item, by which of "
    "four public items they hold, are from the true ones; the average of 100 queries, in nats.",
    "gap": "How far the loss may be above the least possible, as a share of it.",
}


def write_report(
    result: Anonymized,
    path: str | os.PathLike[str],
    original: pd.DataFrame | None = None,
    tradeoff: pd.DataFrame | None = None,
) -> None:
    """Write the report of a release, whole or not at all: see `Anonymized.report`."""
    write_document(render(result, original, tradeoff), path)


def write_page(result: Anonymized, path: Path, original: pd.DataFrame | None = None) -> None:
    """Write the page to a file that is nobody's yet, such as a draft."""
    write_draft(render(result, original), path)


def render(
    result: Anonymized, original: pd.DataFrame | None = None, tradeoff: pd.DataFrame | None = None
) -> str:
    """The page as text."""
    return document("Release report", _content(result, original, tradeoff), _NOTE)


def _content(
    result: Anonymized, original: pd.DataFrame | None, tradeoff: pd.DataFrame | None
) -> Iterator[str]:
    made = provenance(result, original)  # first, as it may find the time to be none
    yield _verdict(result)
    yield facts(f"{counted(result, ',')}, by {made_by(result, 'an unknown algorithm')}", headline(result))
    yield _asked(result)
    yield _guarantee(result)
    columns = recoded_lists(result)
    if getattr(result.guarantee, "k", None) is not None and not in_chunks(result):
        for column in columns:
            yield risk_section(result, original, column)
    yield _loss(result)
    if tradeoff is not None:
        yield tradeoff_section(tradeoff, _chosen(result))
    if result.classes is not None:
        yield _classes(result)
    if isinstance(result.guarantee, SensitiveGroups):
        yield _counts(result)
    if columns:
        yield _items(result)
    for column in columns:
        yield _labels(result, column)
    yield _passed_through(result)
    yield made


def _chosen(result: Anonymized) -> tuple[Any, Any]:
    """The k and m of a release, as far as its guarantee has them."""
    return getattr(result.guarantee, "k", None), getattr(result.guarantee, "m", None)


def _alerts(result: Anonymized) -> Iterator[str]:
    """What has to be read before anything else, one text for each matter."""
    if short := shortfall(result.parameters, result.guarantee):
        yield f"{short}."
    if result.useless:
        yield f"{result.useless}."
    if identifying := ". ".join(result.passing.sentences()):
        yield f"{identifying}."


def _verdict(result: Anonymized) -> str:
    alerts = [paragraph(text, "alert warned") for text in _alerts(result)]
    if not result.holds:
        verdict = paragraph("✗ The release does NOT have its guarantee. Do not publish it.", "verdict broken")
    elif any(result.passing.sentences()):
        verdict = paragraph(
            "⚠ The release has its guarantee, which says nothing about columns that tell rows apart.",
            "verdict warned",
        )
    elif result.useless:
        verdict = paragraph(
            "⚠ The release has its guarantee, but next to nothing is left of the data.", "verdict warned"
        )
    else:
        verdict = paragraph("✓ The release has its guarantee.", "verdict holds")
    return "\n".join([verdict, *alerts])


def _asked(result: Anonymized) -> str:
    rows = [(Cell(name), Cell(text)) for name, text in asked(result).items()]
    return section("What was asked", table("Parameters", ["parameter", "value"], rows))


def _guarantee(result: Anonymized) -> str:
    model = result.guarantee
    meaning = (inspect.getdoc(type(model)) or "").partition("\n\n")[0].replace("`", "")
    checked = (
        "When the release was made it was counted again from scratch, from the release alone, by code "
        "that is no part of the algorithm; "
    )
    checked += "the guarantee was found to hold." if result.holds else "the guarantee was found not to hold."
    limits = (
        "Nothing is promised about attackers who know more than that, about what the other columns tell, or "
        "about this release together with another one of the same people."
    )
    found = "It hides no row: who knows some items of a person may find the row, and all else that it shows."
    return section(
        "The guarantee",
        paragraph(repr(model), "model"),
        paragraph(" ".join(meaning.split())),
        paragraph(checked),
        paragraph(limits) if result.holds else "",
        paragraph(found) if getattr(model, "k", None) is None else "",
    )


def _loss(result: Anonymized) -> str:
    shares = {*SHARES, "singles", "pairs", "gap"}
    rows = [
        (
            Cell(str(name)),
            percent(value) if name in shares else Cell(f"{value:.4g}", value),
            Cell(_MEANINGS.get(str(name), "")),
        )
        for name, value in result.loss.items()
    ]
    picture = ""
    if set(SHARES) & set(result.loss.index):
        picture = svg(result.plot.loss, "Information loss in percent, by measure")
    return section(
        "What was lost",
        figure(picture, "Measures of loss that are shares of a whole."),
        table("Information loss", ["measure", "value", "meaning"], rows),
    )


def _classes(result: Anonymized) -> str:
    sizes, (name, members) = class_sizes(result.classes), called(result)
    pairs = {name: len(sizes), members: int(sizes.sum())}
    if len(sizes):
        pairs |= {"smallest": int(sizes.min()), "largest": int(sizes.max())}
    rows = [(Cell(name), count(number)) for name, number in pairs.items()]
    picture = svg(result.plot.sizes, f"Number of {name} by their size")
    alike = " that are alike" if name == "classes" else ""
    return section(
        f"{name.title()} of {members}{alike}",
        figure(picture, f"How many {name} have how many {members}."),
        table(name.title(), ["", "number"], rows),
    )


def _counts(result: Anonymized) -> str:
    """The sensitive items, which the second table of the release counts."""
    assert result.classes is not None
    lines = result.classes[result.classes["count"] > 0]
    lines = lines.assign(item=lines["item"].astype("str"), share=lines["count"] / lines["size"])
    of_item = lines.groupby("item").agg({"group": "size", "count": "sum", "share": "max"})
    rows = [
        (Cell(item), count(int(groups)), count(int(held)), percent(share))
        for item, groups, held, share in of_item.itertuples()
    ]
    caption = f"Sensitive items ({len(of_item):,})"
    header = ["item", "groups that have it", "rows", "largest share of a group"]
    return section(
        "What is published of sensitive items",
        paragraph("No row shows them. A second table says how often each is in each group of rows."),
        table(caption, header, rows, sortable=True),
    )


def _items(result: Anonymized) -> str:
    counts = changes(result.mapping)
    rows = [
        (Cell(str(kind)), count(int(items)), count(int(occurrences)))
        for kind, items, occurrences in counts.itertuples()
    ]
    picture = ""
    if result.classes is None:
        picture = svg(result.plot.sizes, "Number of published labels by how many items they stand for")
    told = ""
    if isinstance(result.guarantee, SensitiveGroups):
        told = "Sensitive items are suppressed in the rows, and counted by groups."
    elif result.groups is not None and not in_chunks(result):
        told = "An item counts once for each group of rows and each label that it became there."
    return section(
        "What became of the items",
        paragraph(told) if told else "",
        figure(picture, "How many labels stand for how many items."),
        table("Items", ["", "items", "occurrences"], rows),
    )


def _labels(result: Anonymized, column: Hashable) -> str:
    """The labels of the released column, which everybody who has the release can read."""
    released = Itemsets.from_series(list_column(result.frame, column))
    supports, sizes = SupportIndex.of(released).singles, label_sizes(result.mapping)
    stands_for = sizes.reindex(released.texts()).fillna(1).to_numpy(np.int64)
    order = np.lexsort((-supports, -stands_for))[:MOST_LABELS]
    texts = released.texts()
    rows = [(Cell(texts[i]), count(int(stands_for[i])), count(int(supports[i]))) for i in order]
    some = f"the {len(order):,} largest of {len(texts):,}" if len(order) < len(texts) else f"{len(texts):,}"
    caption = f"Labels in the column {column} ({some})"
    header = ["label", "items it stands for", "parts" if in_chunks(result) else "rows"]
    return section("What is published", table(caption, header, rows, sortable=True))


def _passed_through(result: Anonymized) -> str:
    frame, passing = result.frame, result.passing
    kinds: list[tuple[Hashable, str]] = [
        (label, frame.dtypes.iloc[position].name)
        for position, label in enumerate(frame.columns)
        if label in result.passed_through
    ]
    kinds += [(name, "index") for name in frame.index.names if name is not None]
    if not kinds:
        return section("What passed through unprotected", paragraph("No other column."))
    what = "These columns are released as they were. The guarantee says nothing about them."
    header = ["column", "type"]
    rows = [[Cell(str(label)), Cell(kind)] for label, kind in kinds]
    if passing.judged:
        what += " Of those that are judged, who made the release has said that they may be published so."
        header.append("judged")
        for row, (label, _) in zip(rows, kinds, strict=True):
            row.append(Cell("judged" if passing.is_judged(label) else "no"))
    return section(
        "What passed through unprotected",
        paragraph(what),
        table("Columns", header, rows),
    )


# Parameters whose texts name a way to do it.
_NAMES = (
    "algorithm",
    "criterion",
    "loss",
    "refine_loss",
    "merge",
    "order",
    "scope",
    "how",
    "score",
    "tum",
    "cluster",
    "transaction",
    "labels",
)


def asked(result: Anonymized) -> dict[str, str]:
    """What was asked, by parameter; sizes in place of whatever may hold the text of an item."""
    given = {name: value for name, value in result.parameters.items() if value is not None or name == "m"}
    if isinstance(transaction := given.get("transaction"), Transaction):
        given |= {"transaction": transaction.algorithm, **said(transaction)}
    return {name: _described(name, value, result.frame) for name, value in given.items()}


def _described(name: str, value: Any, frame: pd.DataFrame) -> str:
    if value is None:
        return "all items of a row"
    if isinstance(value, (bool, int, float, np.number)) or (name in _NAMES and isinstance(value, str)):
        return str(value)
    if isinstance(value, Fraction):
        return shown_share(value)
    if isinstance(value, Hierarchy):
        return f"{value.n_leaves:,} leaves, height {value.height}"
    if isinstance(value, (AllItemsets, AllRules)):  # which say how many items there are, and none of them
        return repr(value)
    names = [value] if isinstance(value, str) else value
    if isinstance(names, (list, tuple)) and names and all(_is_column(each, frame) for each in names):
        return ", ".join(str(each) for each in names)
    if isinstance(value, Sized) and not isinstance(value, (str, bytes)):
        return f"{len(value):,} given"
    return "given"


def _is_column(label: Any, frame: pd.DataFrame) -> bool:
    return isinstance(label, Hashable) and label in frame.columns
