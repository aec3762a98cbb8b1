"""The tradeoff of k and m: the remaining risk and the information loss of a release for each pair."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from itertools import product
from time import perf_counter
from typing import Any

import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.registry import algorithm as named
from pdanon.algorithms.registry import parameters_of
from pdanon.cards import Measures
from pdanon.errors import InfeasibleError, ParameterError, ReleaseWarning, one_line
from pdanon.evaluation.comparison import check_combinations
from pdanon.evaluation.metrics.attack import check_sample, share_named
from pdanon.evaluation.metrics.risk import risk
from pdanon.guarantees.parameters import check_finite_m, check_k
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import read_list
from pdanon.recoding.counts import of_all_rows
from pdanon.recoding.result import Anonymized

_MEASURES = ("occurrences", "singles", "pairs", "suppressed", "NCP")


@called_by_name
def tradeoff(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: Sequence[int] = (3, 5, 11),
    m: Sequence[int] = (1, 2, 3),
    algorithm: str | None = None,
    sample: pd.DataFrame | str | None = None,
    **options: Any,
) -> pd.DataFrame:
    """Anonymize with each k and m, and measure the information loss and the remaining risk.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified, and no release is kept.
    column : hashable, optional
        The list column. By default the only one.
    k, m : sequence of int
        Values to try, in all combinations: each k at least 2, each m at least 1.
    algorithm : str, optional
        The algorithm. By default `anonymize` selects the best.
    sample : pandas.DataFrame or "split", optional
        Other rows of the same kind, or ``"split"``, as for `attack`, to measure ``named`` as well.
    **options
        Other parameters of the algorithm or of `anonymize`, such as ``hierarchy`` or ``time_limit``.

    Returns
    -------
    pandas.DataFrame
        One row per release: ``k, m``; ``below_k``, the share of rows with fewer than k matches if m + 1
        items are known, one more than the guarantee covers; with a sample ``named``, the share of persons at
        risk whom its attacker names; the losses ``occurrences, singles, pairs,
        suppressed, NCP``; ``seconds``; and ``reason``, the reason why a release is infeasible.

    Raises
    ------
    ParameterError
        If a k or m is out of range, the algorithm or an option is unknown, or the algorithm has no k or no
        m, or publishes rows in parts.
    ColumnError, ItemsetDtypeError
        If there is not exactly one list column, or it does not hold sets of items.

    See Also
    --------
    compare : Any algorithms and parameters.
    pdanon.plotting.tradeoff : A plot of the table.
    profile : The risk before anonymization.

    Notes
    -----
    Cost: the sum of all releases, and of `risk` with m + 1 for each.

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
    lacking = {"k", "m"} - parameters_of(named(algorithm)).keys() if algorithm is not None else ()
    if lacking:
        hint = "use pdanon.compare, which varies any parameter, such as vary={'c': [0.2, 0.5]}"
        problem = f"{algorithm} has no {' and no '.join(sorted(lacking))}"
        raise ParameterError(problem, where="algorithm", hint=hint)
    pairs = list(product(_check_values(k, "k", check_k), _check_values(m, "m", check_finite_m)))
    check_combinations(len(pairs), "k and m")
    if sample is not None:
        check_sample(frame, column, sample)
    rows: list[dict[str, Any]] = []
    with progress_bar("tradeoff", "releases", len(pairs)) as report:
        for each in pairs:
            rows.append(_measure_release(frame, frame.columns[position], *each, algorithm, options, sample))
            report(1)
    risks = ["below_k"] if sample is None else ["below_k", "named"]
    table = pd.DataFrame(rows, columns=["k", "m", *risks, *_MEASURES, "seconds", "reason"])
    return Measures(table.assign(reason=text_column(table["reason"])))


def _check_values(values: Any, name: str, check: Callable[[Any], int]) -> list[int]:
    found = [check(value) for value in read_list(values, name, f"pass a list, such as {name}=[5]")]
    if not found:
        raise ParameterError(f"{name} has no values", where=name, got=[])
    return sorted(set(found))


def _measure_release(
    frame: pd.DataFrame,
    column: Hashable,
    k: int,
    m: int,
    algorithm: str | None,
    options: dict[str, Any],
    sample: pd.DataFrame | str | None,
) -> dict[str, Any]:
    """Make and measure one release, or return the reason why it is infeasible."""
    began = perf_counter()
    row: dict[str, Any] = {"k": k, "m": m}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # the warning comes with the final release
        try:
            run = partial(anonymize, frame, None) if algorithm is None else partial(named(algorithm), frame)
            result: Anonymized = run(column, k=k, m=m, **options)
        except InfeasibleError as error:
            return {**row, "reason": one_line(error)}
    row["seconds"] = perf_counter() - began
    if sample is not None:
        row["named"] = share_named(frame, result, column, sample)
    left = of_all_rows(risk(result.frame, column, k=k, m=m + 1))["below_k"]
    losses = {name: result.loss[name] for name in _MEASURES if name in result.loss}
    return {**row, "below_k": left.iloc[-1] if len(left) else 0.0, **losses}
