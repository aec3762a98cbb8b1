"""The release report: guarantee, risk, information loss and published labels of a release."""

from __future__ import annotations

import inspect
from collections.abc import Hashable, Iterator, Mapping, Sized
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pdanon.algorithms.relational.quasi import read_quasi
from pdanon.algorithms.rt.transaction import Transaction, set_parameters
from pdanon.evaluation.fingerprint import check_release, recount_unmodified
from pdanon.evaluation.html import (
    Cell,
    count,
    document,
    figure,
    frame_table,
    paragraph,
    points,
    provenance,
    section,
    share,
    table,
    text_table,
    tradeoff_section,
    write_document,
    write_draft,
)
from pdanon.evaluation.matches import Facts, compare_thresholds, count_risks, describe_attacker
from pdanon.evaluation.metrics.assess import check_assessment
from pdanon.evaluation.metrics.attack import share_named
from pdanon.evaluation.metrics.risk import exposure
from pdanon.evaluation.plotting import draw_risk
from pdanon.guarantees import SensitiveGroups
from pdanon.guarantees.parameters import format_share
from pdanon.guarantees.ps import AllRules
from pdanon.guarantees.verdict import Guarantee
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.cards import PERCENT, SHARES, SIGNS, facts
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import label_key, list_column
from pdanon.itemsets.mapping import changes, label_sizes
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import FilePath
from pdanon.recoding.counts import class_sizes
from pdanon.recoding.result import (
    Anonymized,
    alerts,
    class_names,
    counted,
    headline,
    in_chunks,
    made_by,
    recoded_lists,
    verdict,
)
from pdanon.recoding.risk import hidden_items
from pdanon.recoding.unmodified_columns import UnmodifiedColumns

_OTHER_GUARANTEE = (
    "Some rows remain at risk because the guarantee has other conditions. This table assumes that an "
    "attacker may know any items together, including private items and items in no constraint or rule."
)


def risk_section(result: Anonymized, original: pd.DataFrame | None, column: Hashable) -> str:
    """Return the section with the risk of a recoded column; the guarantee must have a k."""
    k: int = result.guarantee.k  # type: ignore[attr-defined]
    promised: int | None = getattr(result.guarantee, "m", None)
    tables = exposure(result, original, column, m=None if promised is None else promised + 1)
    title = "Risk before and after" if original is not None else "Risk of the release"
    quasi, hidden = getattr(result.guarantee, "quasi", ()), hidden_items(result.guarantee)
    beside = f", and the values of {', '.join(map(str, quasi))}." if quasi else "."
    beside += " The attacker knows no sensitive item." if hidden else ""
    text = (
        f"Suppose that an attacker knows some items of a person in the column {column}, in the worst case "
        f"those that reveal most{beside} The row of the person is singled out if no other row matches. The "
        f"table shows the shares of the {len(result.frame):,} rows that are singled out, and that have fewer "
        f"than {k} matching rows, as in {result.guarantee!r}."
    )
    draw = partial(draw_risk, tables, k, promised=promised, sensitive=bool(hidden))
    caption = f"Rows with fewer than {k} matching rows, by the number of known items in the column {column}."
    return section(
        title,
        paragraph(text),
        figure(draw, caption),
        _risk_table(tables, k, promised),
        *map(paragraph, _explain_risk(tables, k, promised)),
        *map(paragraph, _describe_named(result, original, column)),
    )


def _describe_named(result: Anonymized, original: pd.DataFrame | None, column: Hashable) -> Iterator[str]:
    """Describe the share of persons at risk that an attacker with similar rows names."""
    if original is None or len(recoded_lists(result)) > 1:
        return
    found = share_named(original, result, column, "split")
    if isnan(found):
        return
    k = result.guarantee.k  # type: ignore[attr-defined]
    yield (
        "The matching rows are not equally likely if an attacker knows which items occur together. In a "
        f"simulation, an attacker with similar rows names {share(found).text} of the persons "
        f"whose known items fewer than {k} rows of the original hold together."
    )


def _risk_table(tables: dict[str, pd.DataFrame], k: int, promised: int | None) -> str:
    header = ["known items (up to)"]
    for name in tables:
        header += [f"singled out, {name}", f"fewer than {k} matches, {name}"]
    shares = pd.concat(
        [table.set_index("known")[["singled_out", "below_k"]] for table in tables.values()], axis=1
    )

    def known_cell(number: int) -> Cell:
        beyond = promised is not None and number > promised
        return Cell(f"{number:,}, beyond the guarantee", number) if beyond else count(number)

    return frame_table("Share of rows at risk", header, shares, [known_cell, *[share] * shares.shape[1]])


def _explain_risk(tables: dict[str, pd.DataFrame], k: int, promised: int | None) -> list[str]:
    """Explain the remaining risk of the release, within and beyond the guarantee."""
    after = tables["after"].set_index("known")["below_k"]
    within = after if promised is None else after.loc[:promised]
    texts = [_OTHER_GUARANTEE] if within.any() else []
    beyond = after.iloc[len(within) :]
    if len(beyond):
        known, exposed = f"{beyond.index[0]:,} items", share(beyond.iloc[0]).text
        scope = f"The guarantee does not cover attackers who know {known}."
        if beyond.any():
            found = f"For {exposed} of the rows, fewer than {k} rows match then."
            found += f" If an attacker may know {known}, choose a larger m."
        else:
            found = f"In this release, at least {k} rows match even then."
        texts += [f"{scope} {found}"]
    return texts


# --- The page


MOST_LABELS = 100
MOST_SHOWN = 5  # items of a label; the others are shown on a click

_NOTE = (
    "This page contains counts and published labels. It contains no row of the data, and no suppressed item."
)

_MEANINGS = {
    "occurrences": "Share of the occurrences of items that are generalized or suppressed.",
    "least_occurrences": "The share of occurrences that any release with this guarantee changes at least, by "
    "sets or by deletions as this one, proven from the original.",
    "least_by_sets": "The same for any release by sets.",
    "stands_for": "Median number of items that the label of a generalized occurrence stands for.",
    "singles": "Average relative error of the estimated count of an item, weighted by its count. The "
    "estimate assumes that a label stands for each of its items equally often.",
    "pairs": "Average relative error of the estimated count of a pair of items, over 200 pairs that occur, "
    "or over all if there are fewer.",
    "NCP": "Average over the occurrences of items: 0 % if published as is, 100 % if suppressed, otherwise "
    "the share of all items that the published label stands for.",
    "LM": "As NCP, but one item of each label is not counted.",
    "GGD": "As LM, but an occurrence counts 100 % if its row has the same label already.",
    "meaning": "Average over the occurrences of items: the share of the levels of a hierarchy on which the "
    "items of the published label have no common node; 0 % if published as is, 100 % if suppressed.",
    "UL": "Utility loss on a binary logarithmic scale: every step of 1 doubles it.",
    "suppressed": "Share of the occurrences of items that are suppressed.",
    "dropped": "Share of the occurrences of items that were dropped from long rows before; they count as "
    "suppressed.",
    "S/N": "Share of the occurrences of items that are suppressed, in public and private columns together.",
    "values": "Average relative error of the estimated count of a combination of quasi-identifiers. The "
    "estimate assumes that a published value stands for each of its values equally often.",
    "NCP_relational": "Average over the quasi-identifiers: the share of the range of values that the "
    "published value stands for.",
    "suppressed_rows": "Share of the rows whose quasi-identifiers are all suppressed.",
    "term_chunks": "Share of the occurrences of items that are published only as: some record of the cluster "
    "has the item.",
    "tlost": "Share of the items with a support of at least k that are in term chunks only.",
    "re": "Relative error of the count of a pair of items of medium frequency in a reconstruction, from 0 to "
    "2.",
    "KL": "Reconstruction error of the distribution of a sensitive item over four public items: average "
    "Kullback-Leibler divergence of 100 queries, in nats.",
    "gap": "Upper bound on the distance of the loss from the lowest possible loss, as a share of it.",
}


def write_report(result: Anonymized, path: FilePath, **given: Any) -> None:
    """Write the report of a release, whole or not at all: see `Anonymized.report`."""
    write_document(render(result, **given), path)


def write_page(result: Anonymized, path: Path, **given: Any) -> None:
    """Write the page to a temporary file, with the arguments of `render`."""
    write_draft(render(result, **given), path)


def render(result: Anonymized, *, head: Mapping[str, str | None] | None = None, **given: Any) -> str:
    """Return the page as text."""
    return document("Release report", _content(result, **given), _NOTE, head or {})


def _content(
    result: Anonymized,
    original: pd.DataFrame | None = None,
    tradeoff: pd.DataFrame | None = None,
    assessment: pd.DataFrame | None = None,
) -> Iterator[str]:
    columns = recoded_lists(result)
    if result.holds:  # an attempt may have no rows
        columns, column = check_release(result, original), next(iter(columns), None)
        judged = result.unmodified.judged
        unmodified = recount_unmodified(result.frame, result.guarantee, column, judged)
        result = replace(result, unmodified=unmodified)
    made = provenance(result, original)  # computed first: it raises if SOURCE_DATE_EPOCH is invalid
    yield '<div class="first">'
    yield _verdict(result)
    if result.holds:
        yield from _overview(result, assessment)
    yield "</div>"
    made_of = f"{counted(result, ',')}, by {made_by(result, 'an unknown algorithm')}"
    yield section("Summary", facts(made_of, headline(result)))
    yield section("Parameters", text_table("Parameters", parameter_texts(result), ["parameter", "value"]))
    yield _guarantee(result)
    if getattr(result.guarantee, "k", None) is not None and not in_chunks(result):
        for column in columns:
            yield risk_section(result, original, column)
    yield _loss(result)
    if tradeoff is not None:
        chosen = getattr(result.guarantee, "k", None), getattr(result.guarantee, "m", None)
        yield tradeoff_section(tradeoff, chosen)
    if result.classes is not None:
        yield _classes(result)
    if isinstance(result.guarantee, SensitiveGroups):
        yield _counts(result)
    if columns:
        yield _items(result)
    for column in columns:
        yield _labels(result, column)
    yield _unmodified_columns(result)
    yield made


def _verdict(result: Anonymized) -> str:
    """Return the verdict, and the warnings below it."""
    kind, sentence = verdict(result)
    found = [*alerts(result), ". ".join(result.unmodified.sentences())]
    parts = [paragraph(f"{text}.", "alert warned") for text in found if text]
    return "\n".join([paragraph(f"{SIGNS[kind]} {sentence}", f"verdict {kind}"), *parts])


def list_limits(guarantee: Guarantee, unmodified: list[str], counted: UnmodifiedColumns) -> list[str]:
    """Return sentences about what a guarantee leaves open, given the unmodified columns and their counts."""
    limits = ["Safety from those who know more, or what a person lacks, or the algorithm."]
    if getattr(guarantee, "k", None) is None:
        limits.append("That several rows match: what is known of a person may fit a single row.")
    named = f"Safety of columns that are published as they are (here: {', '.join(unmodified) or 'none'})"
    limits.append(". ".join([named, *counted.sentences()]) + ".")
    if any(hasattr(guarantee, name) for name in ("sensitive", "private")):
        limits.append("Combinations of sensitive items: each item is limited alone.")
    else:
        limits.append("That matching rows differ: what all of them share is learned anyway.")
    return [
        *limits,
        "That all matching rows are equally likely to be the person's.",
        "That nobody learns who is in the table, or learns more from another release.",
    ]


def _overview(result: Anonymized, assessment: pd.DataFrame | None) -> Iterator[str]:
    """Yield the parts of the first page below the verdict."""
    unmodified, lists = result.unmodified, recoded_lists(result)
    risk = count_risks(result.frame, result.guarantee, next(iter(lists), None)) | describe_attacks(assessment)
    yield paragraph(
        f"The sender counted this in all {counted(result, ',')} as they are published, by a program that "
        "does not trust the one that made them. An item is an entry of a person's list; covered lists: "
        f"{', '.join(map(str, lists)) or 'none'}. A row matches if it fits all that the attacker knows."
    )
    others = [*map(str, (*result.passed_through, *unmodified.levels))]
    judged = unmodified.with_judged or UnmodifiedColumns()  # the alerts have the sentences about others
    yield section("What is not promised", points(list_limits(result.guarantee, others, judged)))
    yield section("Thresholds of authorities", *_thresholds(risk))
    yield attacks_section(risk)
    yield section("What to ask next", points(_QUESTIONS))


def describe_attacks(assessment: pd.DataFrame | None) -> Facts:
    """Return a table of `pdanon.assess` as ``attacks`` in the schema of the evidence, if there is one."""
    if assessment is None:
        return {}
    lines = check_assessment(assessment).astype(object).where(assessment.notna(), None).to_dict("records")
    return {"attacks": {"control": assessment.attrs.get("control", ""), "lines": lines}}


def attacks_section(risk: Facts) -> str:
    """Return the section with the attacks of `describe_attacks`, and the one of the next item."""
    attacks, what = [], _NOT_PLAYED
    if played := risk.get("attacks"):
        attacks, what = [*map(_attack_cells, played["lines"])], _PLAYED.format(played["control"])
    if beyond := risk.get("beyond"):
        rows = risk["after"]["rows"]
        text = f"Knows {beyond['items']:,} items, one more than assumed. Then fewer than {risk['k']:,} rows "
        text += f"match for {beyond['after']:,} of all {rows:,} rows."
        found = share(beyond["after"] / rows)
        attacks.append([Cell("one item more"), Cell(text), found, Cell("exact count", 0)])
    header = ["attack", "what the attacker does, and how often it succeeds", "risk", "95 % interval"]
    return section("Attacks", paragraph(what), table("Attacks", header, attacks) if attacks else "")


_NOT_PLAYED = (
    "No attack was played for this page. Ask the sender to hold rows back before the release is made, and "
    "for the table of pdanon.assess(original, result, control): singling out, linkability, inference and "
    "membership."
)
_PLAYED = (
    "Each was tried on people whose row is published. Compared with: {}; control rows are people whose row "
    "is not. The risk is 0 % if the attack succeeds no more often than on them, and 100 % if it always "
    "succeeds. It can be as high as the upper end of its interval. Other attackers may succeed more often."
)
_ATTACKERS = {
    "singling out": "Finds labels (published items, or groups of items) that only one person has.",
    "linkability": "Has two halves of a person's items, and links both to the same released row.",
    "inference": "Knows items of a person, and guesses another, or whether the person has a secret one "
    "(recall: among people with it).",
    "membership": "Has all items of two people, one of them in the release, and guesses which one it is.",
}
_QUESTIONS = (
    "Is each row one person? Several rows of one person count as different people here.",
    "Can an outsider learn more about a person than is assumed at the top?",
    "Who receives the release, and is each published column needed?",
    "Was another table about these people released? Then ask the sender for: pdanon audit --previous.",
    "Is this page about the file that you received? Let somebody run: pdanon verify evidence.json.",
)


def _attack_cells(line: Facts) -> list[Cell]:
    success, outside, guesses = (_known_share(line[name]).text for name in ("success", "control", "baseline"))
    text = f"{_ATTACKERS.get(line['attack'].partition(',')[0], '')} Success in {line['n_attacks']:,} tries: "
    text += f"{success}; on control rows: {outside}; by mere guesses: {guesses}."
    low, high = line["low"], line["high"]
    interval = "none" if low is None else f"{100 * max(low, 0):.3g} to {100 * max(high, 0):.3g} %"
    return [Cell(line["attack"]), Cell(text), _known_share(line["risk"]), Cell(interval, 0)]


def _known_share(value: float | None) -> Cell:
    # A risk below 0 says that the release does not help.
    return Cell("not tried", -1.0) if value is None else share(max(value, 0.0))


def _thresholds(risk: Facts) -> Iterator[str]:
    if risk["not_counted"]:
        yield paragraph(f"Not counted. {risk['not_counted']}")
        return
    yield paragraph(
        f"{describe_attacker(risk)} Here: {risk['after']['fewest']:,}. Numbers of authorities are for their "
        "own data, most for tables of counts. You decide if one applies."
    )
    yield points(
        f"{'Met' if each['met'] else 'Not met'}: {each['least']} rows, {each['authority'].partition(',')[0]}."
        for each in compare_thresholds(risk)
    )


def _guarantee(result: Anonymized) -> str:
    model = result.guarantee
    # The first paragraph of the docstring defines the guarantee.
    meaning = (inspect.getdoc(type(model)) or "").partition("\n\n")[0].replace("`", "")
    return section(
        "The guarantee",
        paragraph(repr(model), "model"),
        paragraph(" ".join(meaning.split())),
    )


def loss_table(loss: Mapping[str, float]) -> str:
    """Return a table of the measures of information loss, with their meanings."""
    rows = [
        (
            Cell(name),
            share(value) if name in PERCENT else Cell(f"{value:.4g}", value),
            Cell(_MEANINGS.get(name, "")),
        )
        for name, value in loss.items()
    ]
    return table("Information loss", ["measure", "value", "meaning"], rows)


def known_losses(result: Anonymized) -> dict[str, float]:
    """Return the losses of a release by name, and the lower bound on ``occurrences`` if it is known."""
    known = {str(name): float(value) for name, value in result.loss.items()}
    if (bound := result.bound) is None:
        return known
    by_sets = {"least_by_sets": bound.by_sets / bound.total} if bound.by_sets else {}
    return known | {"least_occurrences": bound.least} | by_sets


def _loss(result: Anonymized) -> str:
    picture = ""
    if set(SHARES) & set(result.loss.index):
        picture = figure(result.plot.loss, "Information loss in percent, by measure.")
    return section("Information loss", picture, loss_table(known_losses(result)))


def _classes(result: Anonymized) -> str:
    sizes, (name, members) = class_sizes(result.classes), class_names(result)
    pairs = {name: len(sizes), members: sizes.sum()}
    if len(sizes):
        pairs |= {"smallest": sizes.min(), "largest": sizes.max()}
    return section(
        "Equivalence classes" if name == "classes" else f"{name.title()} of {members}",
        figure(result.plot.sizes, f"Number of {name} by their number of {members}."),
        frame_table(name.title(), ["", "number"], pd.Series(pairs).to_frame(), [Cell, count]),
    )


def _counts(result: Anonymized) -> str:
    """Return the section with the sensitive items, which the second table of the release counts."""
    assert result.classes is not None
    lines = result.classes[result.classes["count"] > 0]
    lines = lines.assign(item=lines["item"].astype("str"), share=lines["count"] / lines["size"])
    of_item = lines.groupby("item").agg({"group": "size", "count": "sum", "share": "max"})
    caption = f"Sensitive items ({len(of_item):,})"
    header = ["item", "groups with the item", "rows", "largest share of a group"]
    return section(
        "Sensitive items",
        paragraph("No row contains them. A second table counts the rows with each item in each group."),
        frame_table(caption, header, of_item, [Cell, count, count, share], sortable=True),
    )


def _items(result: Anonymized) -> str:
    picture = ""
    if result.classes is None:
        picture = figure(result.plot.sizes, "Number of published labels by their number of items.")
    note = ""
    if isinstance(result.guarantee, SensitiveGroups):
        note = "Sensitive items are suppressed in the rows, and counted by groups."
    elif result.groups is not None and not in_chunks(result):
        note = "An item counts once for each group of rows and each of its labels in the group."
    return section(
        "Items",
        paragraph(note) if note else "",
        picture,
        frame_table("Items", ["", "items", "occurrences"], changes(result.mapping), [Cell, count, count]),
    )


def _labels(result: Anonymized, column: Hashable) -> str:
    """Return the section with the labels of a released column; anyone with the release can read them."""
    released = Itemsets.from_series(list_column(result.frame, column))
    supports, texts = SupportIndex.of(released).singles, released.texts()
    stands_for = label_sizes(result.mapping).reindex(texts).fillna(1).to_numpy(np.int64)
    order = np.lexsort((-supports, -stands_for))[:MOST_LABELS]  # the most general labels first
    short = _short_labels(result.mapping)
    rows = [
        (Cell(texts[i], short=short.get(texts[i], "")), count(stands_for[i]), count(supports[i]))
        for i in order
    ]
    some = f"the {len(order):,} largest of {len(texts):,}" if len(order) < len(texts) else f"{len(texts):,}"
    caption = f"Labels in the column {column} ({some})"
    header = ["label", "items", "parts" if in_chunks(result) else "rows"]
    return section("Published labels", table(caption, header, rows, sortable=True))


def _short_labels(mapping: pd.DataFrame) -> dict[str, str]:
    """Return a short form of the labels that list many items, such as ``(a,b,c,d,e, 12 more)``."""
    published = mapping[mapping["generalized"].notna()]
    pairs = published[["generalized", "item"]].astype("str").drop_duplicates()
    short = {}
    for label, items in pairs.groupby("generalized")["item"]:
        listed = ",".join(items.head(MOST_SHOWN))
        # No node of a hierarchy, and no label that is short already.
        if len(items) > MOST_SHOWN and str(label).startswith(f"({listed},"):
            short[str(label)] = f"({listed}, {len(items) - MOST_SHOWN:,} more)"
    return short


def _unmodified_columns(result: Anonymized) -> str:
    frame, unmodified = result.frame, result.unmodified
    judged = {label_key(label) for label in unmodified.judged}
    kinds: list[tuple[Hashable, str]] = [
        (label, column.dtype.name) for label, column in frame.items() if label in result.passed_through
    ]
    kinds += [(name, "index") for name in unmodified.levels]
    return unmodified_section(
        [{"column": str(label), "type": kind, "judged": label_key(label) in judged} for label, kind in kinds]
    )


def unmodified_section(columns: list[Facts]) -> str:
    """Return the section with unmodified columns, as ``unmodified`` in the schema of the evidence."""
    if not columns:
        return section("Unmodified columns", paragraph("No other column."))
    what = "These columns are published as they are. The guarantee does not cover them."
    if any(each["judged"] for each in columns):
        what += " The publisher judged some of them, and approved their publication."
    rows = [
        (Cell(each["column"]), Cell(each["type"]), Cell("judged" if each["judged"] else "no"))
        for each in columns
    ]
    header = ["column", "type", "judged"]
    return section("Unmodified columns", paragraph(what), table("Columns", header, rows))


# Parameters whose texts are names of options, and never items.
_NAMES = (
    *("algorithm", "criterion", "loss", "refine_loss", "merge", "order", "scope", "how", "score"),
    *("tum", "cluster", "transaction", "labels", "prepared"),
)


ALL_ITEMS = "all items of a row"  # the text of m=None


def parameter_texts(result: Anonymized) -> dict[str, str]:
    """Return the parameters as texts, without seeds; values that may hold items by their size."""
    given = {name: value for name, value in result.parameters.items() if value is not None or name == "m"}
    if isinstance(transaction := given.get("transaction"), Transaction):
        given |= {"transaction": transaction.algorithm, **set_parameters(transaction)}
    if trees := [tree for _, tree in read_quasi(given.get("quasi", {})).values() if tree is not None]:
        given["hierarchies"] = trees
    return {
        name: _describe_value(name, value, result.frame)
        for name, value in given.items()
        if not name.endswith("random_state")
    }


def _describe_value(name: str, value: Any, frame: pd.DataFrame) -> str:
    if value is None:
        return ALL_ITEMS
    if isinstance(value, (bool, int, float, np.number)) or (name in _NAMES and isinstance(value, str)):
        return str(value)
    if isinstance(value, Fraction):
        return format_share(value)
    if isinstance(value, Hierarchy):
        return f"{value.n_leaves:,} leaves, height {value.height}"
    if isinstance(value, AllRules):  # its repr counts items, and names none
        return repr(value)
    if isinstance(value, str):
        return value if value in frame.columns else "given"
    if name == "quasi" or isinstance(value, (list, tuple)):
        names = [*value]
        if names and all(isinstance(each, Hashable) and each in frame.columns for each in names):
            return ", ".join(map(str, names))
    return f"{len(value):,} given" if isinstance(value, Sized) and not isinstance(value, bytes) else "given"
