"""Releases as commands and policies request them, of a table or of files, and the files to write."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon import stream
from pdanon.accessors import by
from pdanon.algorithms.registry import of_lists
from pdanon.algorithms.requests import read_request
from pdanon.evaluation.evidence import collect, evidence_files
from pdanon.evaluation.report import write_page
from pdanon.io.tables import Form, link_files, write_plain, write_table
from pdanon.itemsets.columns import is_list_column
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import check_max_risk, refuse_risk
from pdanon.recoding.upper_bounds import check_max_loss, refuse_loss


def bound_function(
    name: str, table: pd.DataFrame | Path | str, column: Hashable | None, persons: Mapping[str, Any]
) -> Callable[..., Any]:
    """Return a function of a table or of files, such as ``pcta`` or ``audit``, for this table.

    ``persons`` are the parameters of `by`, empty for one row per person.
    """
    if not isinstance(table, pd.DataFrame):
        if persons:
            return getattr(stream.by(table, **persons), name)
        return partial(getattr(stream, name), table, column=column)
    if persons:
        return getattr(by(table, column=column, **persons), name)
    function = getattr(table.txanon, name)
    return partial(function, column=column) if of_lists(function) else function


def release_table(
    frame: pd.DataFrame,
    algorithm: str | None,
    column: Hashable | None,
    persons: Mapping[str, Any],
    options: Mapping[str, Any],
    max_risk: float | None = None,
) -> Anonymized:
    """Release a table within bounds on its loss, ``max_loss`` among the options, and on its risk.

    Without an algorithm, the one that loses least; ``options`` are then those of a request, which name no
    guarantee. ``persons`` as in `bound_function`.
    """
    options = dict(options)
    most, risk = check_max_loss(options.pop("max_loss", None)), check_max_risk(max_risk)
    if algorithm is None:
        lists = bool(persons) or column is not None or any(is_list_column(each) for _, each in frame.items())
        guarantee, options = read_request(options, lists=lists)
        options |= {"guarantee": guarantee, "max_loss": most or None}
    result: Anonymized = bound_function(algorithm or "anonymize", frame, column, persons)(**options)
    refuse_loss(result.loss, result.useless, most)
    refuse_risk(result.unmodified, risk)
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
) -> tuple[dict[Path | str, Callable[[Path], object]], list[Path | str]]:
    """Return the functions that write outputs by file, and the files that only their owner may read.

    The release is the last file. ``persons`` are those of its rows, which links need. ``form`` is that of the
    original, and ``separator`` that of items in a release in CSV.
    """
    plain = partial(write_plain, escape_formulas=escape_formulas)
    lists = partial(write_table, column=form.lists, separator=separator, escape_formulas=escape_formulas)
    loss = pd.DataFrame({"measure": result.loss.index.astype("str"), "value": result.loss.to_numpy()})
    tables = {name: table for name, table in result.published.items() if name == "classes"} | {"loss": loss}
    tables |= {name: getattr(result, name) for name in ("mapping", "legend") if name in outputs}
    writers: dict[str, Callable[[Path], object]] = {
        **{name: partial(plain, table) for name, table in tables.items()},
        "report": partial(write_page, result, original=original, head=head),
        "release": partial(plain if form.has_lines else lists, result.frame),
    }
    files: dict[Path | str, Callable[[Path], object]] = {}
    confidential = [outputs["mapping"]] if "mapping" in outputs else []
    if "links" in outputs:
        links, secret = Path(outputs["links"]), Path(outputs["secret"])
        files |= link_files(persons, result.frame, form.lists, links, secret)
        confidential += files
    if "evidence" in outputs:
        evidence, theirs = evidence_files(collect(result, original, head=head), outputs["evidence"])
        files |= evidence
        confidential += theirs
    return files | {outputs[name]: write for name, write in writers.items() if name in outputs}, confidential
