"""Alternatives to a release: others with less protection or coarser values, made and measured."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterator, Mapping
from functools import partial
from math import floor, log10
from time import perf_counter
from typing import Any

import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.items.local_suppression import local_suppression
from pdanon.algorithms.preparation import prepare
from pdanon.algorithms.relational.quasi import read_quasi
from pdanon.errors import ParameterError, PdanonError, ReleaseWarning, one_line
from pdanon.evaluation.profile import are_codes
from pdanon.evaluation.readings import SHAPES
from pdanon.guarantees import KKm, KmAnonymity
from pdanon.guarantees.parameters import check_seconds
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.timing import TimeLimitError, count_steps, limit_time, progress_bar
from pdanon.itemsets.validation import check_frame, check_kind
from pdanon.recoding.result import Anonymized, recoded_lists
from pdanon.recoding.unit_release import is_time

_MEASURES = ("occurrences", "singles", "pairs", "values")
_BANDS = 10  # at most, of a column of numbers
_CATEGORY = 3  # characters of a diagnosis
_DIAGNOSES = ("ICD-10 codes", "ICD-9 codes")


@frozen
class _Way:
    """Another release: a change, and the request."""

    change: str
    m: int | None
    quasi: tuple[Hashable, ...]
    steps: dict[Hashable, dict[str, Any]]
    deletes: bool = False

    def run(self, frame: pd.DataFrame, result: Anonymized, column: Hashable, limit: float) -> Anonymized:
        """Make the release, within a time limit."""
        prepared = prepare(frame.drop(columns=self.dropped(result)), self.steps)
        prepared = prepared.keep(*result.unmodified.judged)
        request = self.request(result)
        make = local_suppression if self.deletes else partial(anonymize, time_limit=limit)
        return prepared.release(lambda rows: make(rows, column=column, **request))

    def request(self, result: Anonymized) -> dict[str, Any]:
        """Return the parameters of the release that are not empty."""
        known, quasi = result.parameters.get("quasi"), [*self.quasi]
        found = {
            "quasi": {label: known[label] for label in quasi} if isinstance(known, Mapping) else quasi,
            "hierarchy": None if self.deletes else result.parameters.get("hierarchy"),
        }
        given = {"k": result.guarantee.k, "m": self.m}  # type: ignore[attr-defined]
        return given | {name: value for name, value in found.items() if value}

    def dropped(self, result: Anonymized) -> list[Hashable]:
        """Return the quasi-identifiers that are not protected any more."""
        return [label for label in _quasi(result) if label not in self.quasi]

    def call(self, result: Anonymized) -> str:
        """Return the call."""
        dropped, request, place = self.dropped(result), self.request(result), "result.parameters"
        texts = {name: repr(value) for name, value in request.items()}
        if isinstance(request.get("quasi"), Mapping):
            texts["quasi"] = f"{{label: {place}['quasi'][label] for label in {[*self.quasi]}}}"
        texts["hierarchy"] = f"{place}['hierarchy']"
        given = ", ".join(f"{name}={texts[name]}" for name in request)
        name = "local_suppression" if self.deletes else "anonymize"
        rows, judged = f"frame.drop(columns={dropped})" if dropped else "frame", result.unmodified.judged
        steps = f".prepare({self.steps})" * bool(self.steps)
        steps += f".keep({', '.join(map(repr, judged))})" * bool(judged)
        return f"{rows}.txanon{steps}.{name}({given})"


@called_by_name
def alternatives(frame: pd.DataFrame, result: Anonymized, *, time_limit: float = 60) -> pd.DataFrame:
    """Make and measure other releases of a table: what would answer more questions, and at what price.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original. It is not modified, and no release is kept.
    result : Anonymized
        A release of it, with ``KmAnonymity`` or ``KKm``.
    time_limit : float
        Seconds for all releases together. Each may take ten times its part, as in `anonymize`.

    Returns
    -------
    pandas.DataFrame
        One row per release, first the given one: ``change``; the losses ``occurrences, singles, pairs,
        values``; ``answers``, whether any count answers a question (see `Anonymized.do_not_publish`);
        ``reason``, if there is no release; and ``call``, with the table as ``frame``, and ``result``.

    Raises
    ------
    ParameterError
        If the guarantee is another one, or the result has several list columns.

    Notes
    -----
    These are tried: another algorithm if one was named, each quasi-identifier dropped, one known item less,
    bands of numbers, periods of dates and shorter codes, the items alone, and deletions from them. Most
    protect or publish less than the given release: choose what your readers and your attackers allow. Losses
    of coarser values are those of the prepared table.

    Cost: the sum of the releases.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]] * 8
    >>> df = pd.DataFrame({"age": range(30, 62), "items": rows})
    >>> result = df.txanon.anonymize(k=5, m=2, quasi=["age"])
    >>> print(*pdanon.alternatives(df, result)["change"], sep="; ")
    as it is; without 'age'; m=1; coarser: 'age' in band 5; deletions, without other columns
    """
    check_frame(frame)
    guarantee = check_kind(result, Anonymized, "result", "a result of this table").guarantee
    lists = recoded_lists(result)
    if not has_alternatives(result):
        got, hint = repr(guarantee), "compare releases by pdanon.compare"
        problem = "alternatives are known for KmAnonymity and KKm, and one list column"
        raise ParameterError(problem, where="result", got=got, hint=hint)
    end = perf_counter() + check_seconds(time_limit)
    ways, rows = [*_ways(frame, result, lists[0])], [_row("as it is", result)]
    with (
        progress_bar("alternatives", "releases", len(ways)),
        warnings.catch_warnings(action="ignore", category=ReleaseWarning),
    ):
        for number, way in enumerate(ways):
            row: dict[str, Any] = {"change": way.change}
            left = max(end - perf_counter(), 0.1) / (len(ways) - number)
            try:
                with limit_time(10 * left):
                    row = _row(way.change, way.run(frame, result, lists[0], left))
            except (PdanonError, TimeLimitError) as error:
                row["reason"] = one_line(error) if isinstance(error, PdanonError) else "no time left"
            rows.append(row | {"call": way.call(result)})
            count_steps()
    table = pd.DataFrame(rows, columns=["change", *_MEASURES, "answers", "reason", "call"])
    texts = {name: text_column(table[name]) for name in ("change", "reason", "call")}
    return Measures(
        table.dropna(axis=1, how="all").assign(**texts, answers=table["answers"].astype("boolean"))
    )


def has_alternatives(result: Anonymized) -> bool:
    """Return whether alternatives to a release are known."""
    is_known = isinstance(result.guarantee, KmAnonymity | KKm) and "unit" not in result.parameters
    return is_known and len(recoded_lists(result)) == 1


def _row(change: str, result: Anonymized) -> dict[str, Any]:
    losses = {name: float(result.loss[name]) for name in _MEASURES if name in result.loss}
    return {"change": change, **losses, "answers": not result.do_not_publish}


def _quasi(result: Anonymized) -> tuple[Hashable, ...]:
    return tuple(getattr(result.guarantee, "quasi", ()))


def _ways(frame: pd.DataFrame, result: Anonymized, column: Hashable) -> Iterator[_Way]:
    """Yield the alternatives of a release."""
    quasi, m = _quasi(result), result.guarantee.m  # type: ignore[attr-defined]
    if result.tried is None:
        yield _Way("another algorithm", m, quasi, {})
    for label in quasi:
        yield _Way(f"without {label!r}", m, tuple(each for each in quasi if each != label), {})
    if m is not None and m > 1:
        yield _Way(f"m={m - 1}", m - 1, quasi, {})
    described = read_quasi(result.parameters.get("quasi", {}))
    steps = {
        label: step for label in quasi if described[label][1] is None and (step := _coarser(frame[label]))
    }
    if result.parameters.get("hierarchy") is None and _holds_codes(frame[column]):
        steps[column] = {"length": _CATEGORY}
    if steps:
        texts = (f"{label!r} in {name} {own[name]}" for label, own in steps.items() for name in own)
        yield _Way(f"coarser: {', '.join(texts)}", m, quasi, steps)
    if len(quasi) > 1:
        yield _Way("items alone, without other columns", m, (), {})
    yield _Way("deletions, without other columns" if quasi else "deletions", m, (), {}, deletes=True)


def _coarser(values: pd.Series[Any]) -> dict[str, Any]:
    """Return the step that makes a column coarser; none if it has few values or no known kind."""
    known = values.dropna()
    if known.nunique() <= _BANDS:
        return {}
    if is_time(values):
        return {"period": "year"}
    if pd.api.types.is_numeric_dtype(values.dtype):
        return {"band": _round_up(float(known.max() - known.min()) / _BANDS)}
    if are_codes(values):
        return {"length": max(int(known.str.len().min()) // 2, 1)}
    return {}


def _round_up(width: float) -> float:
    """Return the next 1, 2 or 5 times a power of ten."""
    power = 10.0 ** floor(log10(width))
    found = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= width)
    return int(found) if found >= 1 else found


def _holds_codes(lists: pd.Series[Any]) -> bool:
    """Return whether all items look like diagnoses, and some are longer than their category."""
    texts = pd.Series(Itemsets.from_series(lists).texts(), dtype=object)
    is_long = bool((texts.str.len() > _CATEGORY).any())
    return is_long and any(texts.str.fullmatch(SHAPES[name]).all() for name in _DIAGNOSES)
