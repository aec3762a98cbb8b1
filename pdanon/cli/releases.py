"""Releases as commands and policies request them, of a table or of files, and the files to write."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon import stream
from pdanon.accessors import by
from pdanon.algorithms.preparation import Prepared
from pdanon.algorithms.registry import of_lists, read_request, starting_from
from pdanon.evaluation.evidence import collect, evidence_files
from pdanon.evaluation.report import write_page
from pdanon.io.tables import Form, Writers, link_files, write_plain, write_table
from pdanon.itemsets.columns import is_list_column
from pdanon.recoding.release import check_max_loss, refuse_loss
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import check_max_risk, refuse_risk


def bound_function(
    name: str, table: pd.DataFrame | Path | str, column: Hashable | None, persons: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function of a table or of files, such as ``pcta`` or ``audit``, for this table."""
    # ``persons`` are the parameters of `by`, empty for one row per person.
    if not isinstance(table, pd.DataFrame):
        if persons:
            return getattr(stream.by(table, **persons), name)
        return partial(getattr(stream, name), table, column=column)
    if persons:
        return getattr(by(table, column=column, **persons), name)
    function = getattr(table.txanon, name)
    return partial(function, column=column) if of_lists(function) else function


def release_table(
    prepared: Prepared,
    algorithm: str | None,
    column: Hashable | None,
    persons: Mapping[str, Any],
    options: Mapping[str, Any],
    max_risk: float | None = None,
) -> Anonymized:
    """Release a table within bounds on its loss, ``max_loss`` among the options, and on its risk."""
    # Without an algorithm, the one that loses least, by ``options`` of a request without a guarantee.
    frame, options = prepared.frame, dict(options)
    if persons:
        persons, prepared = {**persons, "keep": prepared.kept}, replace(prepared, kept=())
    most = check_max_loss(options.pop("max_loss", None), ["named"] if algorithm is None else ())
    if algorithm is None:
        lists = bool(persons) or column is not None or any(is_list_column(each) for _, each in frame.items())
        guarantee, options = read_request(options, lists=lists)
        options |= {"guarantee": guarantee, "max_loss": most | options.get("max_loss", {}) or None}
    labels, earlier = options.pop("labels", "set"), options.pop("start", None)

    def run(rows: pd.DataFrame) -> Anonymized:
        return bound_function(algorithm or "anonymize", rows, column, persons)(**options).relabel(labels)

    with starting_from(earlier, algorithm or "anonymize"):
        result = prepared.release(run)
    refuse_loss(result.loss, result.useless, {each: most[each] for each in most if each != "named"})
    refuse_risk(result.unmodified, check_max_risk(max_risk))
    return result


def release_writers(
    result: Anonymized,
    original: pd.DataFrame | None,
    outputs: Mapping[str, Path | str],
    persons: list[str],
    *,
    form: Form,
    separator: str | None,
    head: Mapping[str, str],
    escape_formulas: bool = False,
    assessment: pd.DataFrame | None = None,
) -> tuple[Writers, list[Path | str]]:
    """Return the functions that write outputs by file, and the files that only their owner may read."""
    # The release is the last file. ``persons`` are those of its rows, which links need. ``form`` is that of
    # the original, and ``separator`` that of items in a release in CSV.
    facts: dict[str, Any] = {"head": head, "assessment": assessment}
    plain = partial(write_plain, escape_formulas=escape_formulas)
    lists = partial(write_table, column=form.lists, separator=separator, escape_formulas=escape_formulas)
    loss = result.loss.rename(str).rename_axis("measure").reset_index(name="value")
    tables = {name: table for name, table in result.published.items() if name == "classes"} | {"loss": loss}
    tables |= {name: getattr(result, name) for name in ("mapping", "legend") if name in outputs}
    writers: dict[str, Callable[[Path], object]] = {
        **{name: partial(plain, table) for name, table in tables.items()},
        "report": partial(write_page, result, original=original, **facts),
        "release": partial(plain if form.has_lines else lists, result.frame),
    }
    files: Writers = {}
    confidential = [outputs["mapping"]] if "mapping" in outputs else []
    if "links" in outputs:
        links, secret = Path(outputs["links"]), Path(outputs["secret"])
        files |= link_files(persons, result.frame, form.lists, links, secret)
        confidential += files
    if "evidence" in outputs:
        evidence, theirs = evidence_files(collect(result, original, **facts), outputs["evidence"])
        files |= evidence
        confidential += theirs
    return files | {outputs[name]: write for name, write in writers.items() if name in outputs}, confidential
