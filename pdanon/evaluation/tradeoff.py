"""What k and m cost: one release for each pair of them, and what is left of risk and data in it."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Sequence
from itertools import product
from time import perf_counter
from typing import Any

import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.registry import algorithm as named
from pdanon.algorithms.registry import parameters_of
from pdanon.errors import InfeasibleError, ParameterError, ReleaseWarning, one_line
from pdanon.evaluation.comparison import check_combinations
from pdanon.evaluation.metrics.risk import risk
from pdanon.guarantees.parameters import check_k, check_m
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.compatibility import text_column
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import read_list
from pdanon.recoding.counts import of_all_rows
from pdanon.recoding.result import Anonymized

__all__ = ["tradeoff"]

_MEASURES = ("occurrences", "singles", "pairs", "suppressed", "NCP")


def tradeoff(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: Sequence[int] = (3, 5, 11),
    m: Sequence[int] = (1, 2, 3),
    algorithm: str | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Make a release for each k and m, and measure what each of them costs and leaves open.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified, and no release is kept.
    column : hashable, optional
        The list column. By default the only one.
    k, m : sequence of int
        What is tried, in all combinations: ks of at least 2, ms of at least 1.
    algorithm : str, optional
        Which algorithm. By default the best that `anonymize` finds.
    progress : bool
        Show a progress bar.
    **options
        What the algorithm, or `anonymize`, takes beside, such as ``hierarchy`` or ``time_limit``.

    Returns
    -------
    pandas.DataFrame
        One row a release: ``k, m``; ``below_k``, the share of rows that who knows one item more than was
        promised, m + 1, finds among fewer than k; the losses ``occurrences, singles, pairs, suppressed,
        NCP``; ``seconds``; and ``reason``: why there is no release.

    Raises
    ------
    ParameterError
        If a k or m is out of range, the algorithm or an option is not known, or the algorithm has no k or no
        m, or publishes rows in parts.
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column, or it does not hold sets of items.

    See Also
    --------
    compare : Any algorithms and parameters.
    pdanon.plotting.tradeoff : A picture of the table.
    profile : What the risk is before.

    Notes
    -----
    Cost: that of the releases one after the other, and of `risk` with m + 1.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]] * 3})
    >>> df.txanon.tradeoff(k=[3, 4], m=[1, 2])[["k", "m", "below_k", "occurrences"]].round(2)
       k  m  below_k  occurrences
    0  3  1      0.0         0.00
    1  3  2      0.0         0.00
    2  4  1      0.0         0.57
    3  4  2      0.0         0.57
    """
    position = find_column(frame, column)
    _check_varied(algorithm)
    asked = list(product(_values(k, "k", check_k), _values(m, "m", _known)))
    check_combinations(len(asked), "k and m")
    rows: list[dict[str, Any]] = []
    with progress_bar(progress, "tradeoff", "releases", len(asked)) as report:
        for each in asked:
            rows.append(_row(frame, frame.columns[position], *each, algorithm, options))
            report(1)
    table = pd.DataFrame(rows, columns=["k", "m", "below_k", *_MEASURES, "seconds", "reason"])
    return table.assign(reason=text_column(table["reason"]))


def _check_varied(name: str | None) -> None:
    """Check that an algorithm has a k and an m, of which the table is."""
    lacking = {"k", "m"} - parameters_of(named(name)).keys() if name is not None else ()
    if lacking:
        hint = "pdanon.compare varies any parameter, such as vary={'c': [0.2, 0.5]}"
        what = " and no ".join(sorted(lacking))
        raise ParameterError(f"{name} has no {what} to be varied", where="algorithm", hint=hint)


def _values(values: Any, name: str, check: Any) -> list[int]:
    found = [check(value) for value in read_list(values, name, f"one value is a list of one: {name}=[5]")]
    if not found:
        raise ParameterError(f"{name} has no values", where=name, got=[])
    return sorted(set(found))


def _known(m: Any) -> int:
    return check_m(m, unbounded=False) or 1


def _row(
    frame: pd.DataFrame, column: Hashable, k: int, m: int, algorithm: str | None, options: dict[str, Any]
) -> dict[str, Any]:
    """One release, measured; or why there is none."""
    began = perf_counter()
    row: dict[str, Any] = {"k": k, "m": m}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # said once, when one of them is chosen
        try:
            result = _release(frame, column, k, m, algorithm, options)
        except InfeasibleError as error:
            return {**row, "reason": one_line(error)}
    row["seconds"] = perf_counter() - began
    left = of_all_rows(risk(result.frame, column, k=k, m=m + 1))["below_k"]
    losses = {name: result.loss[name] for name in _MEASURES if name in result.loss}
    return {**row, "below_k": left.iloc[-1] if len(left) else 0.0, **losses}


def _release(
    frame: pd.DataFrame, column: Hashable, k: int, m: int, algorithm: str | None, options: dict[str, Any]
) -> Anonymized:
    if algorithm is None:
        return anonymize(frame, None, column, k=k, m=m, **options)
    result: Anonymized = named(algorithm)(frame, column, k=k, m=m, **options)
    return result
