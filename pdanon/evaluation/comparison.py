"""Comparisons of algorithms and parameters, such as each k and m: cost, information loss and risk."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from contextlib import contextmanager, suppress
from dataclasses import replace
from importlib.metadata import version
from itertools import islice, product
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.choice import anonymize
from pdanon.algorithms.losses import check_meaning
from pdanon.algorithms.preparation import Prepared, Steps, prepare as prepared_of
from pdanon.algorithms.registry import (
    Parameters,
    algorithm as named,
    of_lists,
    parameters_of,
    parameters_of_guarantee,
    read_named_request,
    starting_from,
    text_parameters,
)
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.errors import FormatError, InfeasibleError, ParameterError, PdanonError, ReleaseWarning, one_line
from pdanon.evaluation.fingerprint import content_hash
from pdanon.evaluation.metrics.attack import check_sample, share_named
from pdanon.evaluation.metrics.risk import risk
from pdanon.guarantees import check_guarantee
from pdanon.guarantees.models import Model
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit, check_finite_m, check_k, check_m
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.io.files import replace_file, suffix_of
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.itemsets.arguments import called_by_name, moved
from pdanon.itemsets.cards import Measures
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.dtype import text_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.threads import processes
from pdanon.itemsets.timing import SETTINGS, count_steps, progress_bar
from pdanon.itemsets.validation import FilePath, check_kind, check_known, check_path, find_name, read_list
from pdanon.recoding.counts import of_all_rows
from pdanon.recoding.loss import LOSSES
from pdanon.recoding.meaning import lost_levels
from pdanon.recoding.result import Anonymized

_MOST = 100_000  # combinations of parameters
_ONCE = "pass it in one place: in the configuration, in vary, or as k= and m=, which hold for all"


@frozen
class Task:
    """One configuration: an algorithm, its parameters, and their display values."""

    label: str
    algorithm: str
    parameters: Parameters
    shown: Parameters


class Texts(dict[str, Any]):
    """Configurations of a policy, in which the parameters of a guarantee replace it."""


def list_tasks(
    configurations: Mapping[str, Mapping[str, Any]], vary: Mapping[str, Iterable[Any] | Mapping[str, Any]]
) -> list[Task]:
    """List every configuration with every combination of the varied parameters, the last varying fastest."""
    if not isinstance(configurations, Mapping) or not configurations:
        hint, got = 'such as {"pcta": {"k": 5}, "apriori": {"k": 5}}', type(configurations).__name__
        raise ParameterError("not a dict of algorithms", where="configurations", got=got, hint=hint)
    check_kind(vary, Mapping, "vary", "a dict of values by parameter")  # type: ignore[type-abstract]
    varied = {name: _choices(name, values) for name, values in vary.items()}
    check_combinations(len(configurations) * prod(map(len, varied.values())), "vary")
    tasks = []
    for label, given in configurations.items():
        if not isinstance(label, str) or not isinstance(given, Mapping):
            got = f"{type(label).__name__}: {type(given).__name__}"
            raise ParameterError("a configuration is a label and a dict", where="configurations", got=got)
        fixed = {name: value for name, value in given.items() if name != "algorithm"}
        name = given.get("algorithm", label)
        _check_names(name, label, fixed, vary, isinstance(configurations, Texts))
        fixed = {key: list(value) if isinstance(value, Iterator) else value for key, value in fixed.items()}
        shown = {key: _display_value(name, key, value) for key, value in fixed.items()}
        for chosen in product(*(_label_choices(name, key, choices) for key, choices in varied.items())):
            parameters = fixed | {key: value for key, _, value in chosen}
            tasks.append(Task(label, name, parameters, shown | {key: text for key, text, _ in chosen}))
    return tasks


def check_combinations(number: int, where: str) -> None:
    """Check the number of requested releases against its upper bound."""
    if number > _MOST:
        hint = f"vary fewer values at a time: up to {_MOST:,} combinations"
        raise ParameterError("too many combinations", where=where, got=f"{number:,}", hint=hint)


def _choices(key: str, values: Any) -> list[tuple[Any, Any]]:
    """Return the values of a varied parameter, each with its name, or None if it has no name."""
    if isinstance(values, Mapping):
        choices = list(values.items())
    elif isinstance(values, Iterable) and not isinstance(values, str):
        choices = [(None, value) for value in islice(values, _MOST + 1)]
    else:
        choices = []
    if not choices:
        raise ParameterError("a varied parameter needs a list of values", where=f"vary, {key}")
    return choices


def _label_choices(name: str, key: str, choices: list[tuple[Any, Any]]) -> list[tuple[str, Any, Any]]:
    """Return each value behind its parameter and its display value."""
    if any(text is None and _is_hidden(name, key, value) for text, value in choices):
        hint = 'name each value: {"fine": Hierarchy.of(...), "coarse": Hierarchy.of(...)}'
        raise ParameterError("a table cannot distinguish these values", where=f"vary, {key}", hint=hint)
    return [
        (key, _display_value(name, key, value) if text is None else str(text), value)
        for text, value in choices
    ]


def _check_names(
    name: Any, label: str, fixed: Mapping[str, Any], vary: Mapping[str, Any], texts: bool
) -> None:
    accepted, in_texts = parameters_of(named(name)), text_parameters(name)
    where, given = f"configuration {label!r}", fixed.keys() | vary.keys()
    for key in (*fixed, *vary):
        known = in_texts if texts or key == "start" else accepted
        check_known(key, known, f"parameter of {name}", where=where, hint=moved(key, accepted))
    if twice := fixed.keys() & vary.keys():
        got = ", ".join(sorted(twice))
        raise ParameterError("a parameter is both fixed and varied", where=where, got=got, hint=_ONCE)
    required = {key for key, is_required in in_texts.items() if is_required}
    if "guarantee" in given:
        required.remove("k")
        if numbers := {"k", "m"} & given:
            hint = "pass k and m within the guarantee; vary={'guarantee': [...]} compares several"
            got = f"guarantee and {', '.join(sorted(numbers))}"
            raise ParameterError("the guarantee is given twice", where=where, got=got, hint=hint)
    if lacking := [key for key in accepted if key in required - given]:
        got = f"no {', '.join(lacking)}"
        raise ParameterError(f"{name} lacks a parameter", where=where, got=got, hint=_ONCE)
    if isinstance(fixed.get("random_state"), (np.random.Generator, np.random.RandomState)):
        hint = "pass an int, so that each configuration is reproducible"
        raise ParameterError("configurations cannot share a generator", where="random_state", hint=hint)


def _display_value(name: str, key: str, value: Any) -> Any:
    """Return a number, or a word if the default is a word, unchanged; otherwise the name of the type."""
    if isinstance(value, Transaction | Model):  # their reprs contain no item
        return repr(value)
    if _is_hidden(name, key, value):
        return type(value).__name__
    return value.item() if isinstance(value, np.generic) else value


def _is_hidden(name: str, key: str, value: Any) -> bool:
    """Return whether a value may hold items, which a table must not show."""
    if isinstance(value, str):
        known = parameters_of(named(name)).get(key)
        return known is None or not isinstance(known.default, str)
    return not (value is None or isinstance(value, (str, bool, int, float, np.number, np.bool_, Model)))


# --- The comparison


Measure: TypeAlias = Callable[[pd.DataFrame, Anonymized], float]
Row: TypeAlias = dict[str, Any]  # the measurements of one configuration

_NAMING = ("algorithm", "label")
_COSTS = ("seconds", "memory")


@called_by_name
def compare(
    frame: pd.DataFrame,
    configurations: Mapping[str, Mapping[str, Any]],
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    vary: Mapping[str, Iterable[Any] | Mapping[str, Any]] | None = None,
    workload: Any = None,
    sample: pd.DataFrame | str | None = None,
    measures: Mapping[str, Measure] | Iterable[str] | None = None,
    hierarchy: HierarchyLike | None = None,
    loss: str | None = None,
    resume: FilePath | None = None,
    column: Hashable | None = None,
) -> pd.DataFrame:
    """Run algorithms with several parameters each, and tabulate their cost and information loss.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row per person. It is not modified, and no release is kept.
    configurations : mapping
        Parameters by algorithm name, or by any label if the parameters include ``"algorithm"``.
    k, m
        Short for ``k`` and ``m`` in every configuration. A ``guarantee`` in a configuration has its own.
    vary : mapping, optional
        Values by parameter. Every configuration runs with all combinations of them. If the values are
        neither numbers nor words, pass a mapping from a name, which the table shows, to the value.
    workload : object with a method ``are(frame, result)``, optional
        Queries whose average relative error is measured.
    sample : pandas.DataFrame or "split", optional
        Other rows of the same kind, or ``"split"``, as for `attack`. The column ``named`` is then the share
        of persons at risk whom an attacker with this sample names.
    measures : mapping or list of str, optional
        Functions of the frame and the result that return a number, by name; or the names of the losses to
        show. By default all losses.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        A hierarchy of the items, to measure the loss ``"meaning"`` of every release.
    loss : str, optional
        The loss to sort by, in ascending order; rows without a result come last. By default rows keep the
        order of the configurations.
    resume : path, optional
        A Parquet file that keeps finished rows. The next run skips them.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    pandas.DataFrame
        One row per configuration: ``algorithm``, ``label``, one column per parameter, ``seconds``,
        ``memory`` (bytes), the losses, ``ARE`` with a workload, ``named`` with a sample, the measures,
        ``holds`` (the verdict of another audit of the released frame) and ``reason``. Releases without k, in
        parts, or as bags have no ``named``. The reason is the error of a configuration
        without a result, or the text of `UselessWarning` if almost no information is left.

    Raises
    ------
    ParameterError, ColumnError, FormatError
        If an algorithm, a parameter or a loss is unknown, a required parameter is missing, or there is
        nothing to compare. If there is not exactly one list column, or ``resume`` was not written by a
        comparison.

    Notes
    -----
    A configuration that fails is a row with its reason: the message of an error of pdanon, or the type of any
    other. The table holds no item: a parameter that is neither number nor word is shown by its type.

    ``memory`` is the peak memory of the process above its memory at the start, on Linux. It is too low if the
    process still holds memory of earlier work, and a few megabytes too high if a library is loaded.
    A row in ``resume`` is identified by the content of the frame, the parameters, the workload, the measures
    and the version of pdanon. Rows that ended in an error of another package run again. The file holds
    figures and hashes of the data; do not publish it.

    `config` sets the number of processes. Each holds a copy of the frame, and measures must be functions of a
    module. If a process is killed, its rows have the reason ``BrokenProcessPool``. Cost: the sum of all
    configurations, and another audit of each.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> table = pdanon.compare(df, {"pcta": {}, "apriori": {"hierarchy": 2}}, vary={"k": [2, 3, 5]})
    >>> table[["algorithm", "k", "NCP", "holds"]].round(3)
      algorithm  k    NCP  holds
    0      pcta  2  0.381   True
    1      pcta  3  1.000   True
    2      pcta  5    NaN   <NA>
    3   apriori  2  0.381   True
    4   apriori  3  1.000   True
    5   apriori  5    NaN   <NA>
    """
    if resume is not None and suffix_of(check_path(resume, "resume")) != ".parquet":
        hint = "such as resume='comparison.parquet'"
        raise ParameterError("resume must end in .parquet", where="resume", got=os.fspath(resume), hint=hint)
    tasks = list_tasks(configurations, _add_numbers({} if vary is None else vary, k, m))
    if hierarchy is not None or any(of_lists(named(task.algorithm)) for task in tasks):
        position = find_column(frame, column)
    losses, extra = _measures(measures, tasks)
    tree = None
    if hierarchy is not None:
        tree, _ = Hierarchy.over(hierarchy, Itemsets.from_series(frame.iloc[:, position]).vocabulary)
        losses = losses if losses is None else [*losses, "meaning"]
    if loss is not None:
        loss = find_name(loss, LOSSES if losses is None else losses, "loss of this table", where="loss")
        check_meaning(loss, hierarchy)
    if workload is not None and not callable(getattr(workload, "are", None)):
        hint = "pass a pdanon.Workload, or an object with a method are(frame, result)"
        raise ParameterError("not a workload", where="workload", got=type(workload).__name__, hint=hint)
    if sample is not None:
        check_sample(frame, column, sample)
    comparison = _Comparison(frame, column, tasks, workload, extra, sample, tree)
    keys = comparison.keys() if resume is not None else [*map(str, range(len(tasks)))]
    rows = {} if resume is None else _read_rows(resume)
    missing = [number for number, key in enumerate(keys) if key not in rows]
    kept = dict(rows)
    with progress_bar("compare", "configurations", len(tasks)):
        count_steps(len(tasks) - len(missing))
        for number, row, final in _run(comparison, missing):
            rows[keys[number]] = row
            if resume is not None and final:
                kept[keys[number]] = row
                finished = [{"key": key, "seconds": None, "memory": None, **row} for key, row in kept.items()]
                with replace_file(resume, confidential=True) as draft:
                    to_parquet(pd.DataFrame(finished), draft)
            count_steps()
    further = [name for name, given in (("ARE", workload), ("named", sample)) if given is not None]
    table = _table(tasks, [rows[key] for key in keys], losses, [*further, *extra])
    if loss is None or loss not in table:  # no result may have this loss
        return Measures(table)
    return Measures(table.sort_values(loss, kind="stable", ignore_index=True))


# --- Parameters


def _add_numbers(vary: Any, k: int | None, m: ItemLimit) -> Any:
    """Add ``k`` and ``m``, if they are passed, to the varied parameters, with one value each."""
    numbers: dict[str, list[Any]] = {} if k is None else {"k": [check_k(k)]}
    if not isinstance(m, DefaultNumber):
        check_m(m)
        numbers["m"] = [m]
    if not isinstance(vary, Mapping):  # refused with the configurations
        return vary
    if twice := numbers.keys() & vary.keys():
        got = ", ".join(sorted(twice))
        raise ParameterError("a parameter is passed twice", where="vary", got=got, hint=_ONCE)
    return numbers | dict(vary)


def _measures(measures: Any, tasks: list[Task]) -> tuple[list[str] | None, dict[str, Measure]]:
    """Return the losses to show, or None for all, and further measures by name."""
    if isinstance(measures, Mapping):
        taken = {*_NAMING, *_COSTS, *LOSSES, "ARE", "named", "holds", "reason"}
        taken |= {key for task in tasks for key in task.shown}
        for name, measure in measures.items():
            if not isinstance(name, str) or name in taken or not callable(measure):
                hint = "pass a function of the frame and the result, under a name that no column has"
                got = f"{name!r}: {type(measure).__name__}"
                raise ParameterError("not a measure", where="measures", got=got, hint=hint)
        return None, dict(measures)
    if measures is None:
        return None, {}
    names = [measures] if isinstance(measures, str) else read_list(measures, "measures")
    return [find_name(name, LOSSES, "loss", where="measures") for name in names], {}


# --- One row


@frozen
class _Comparison:
    """The common input of all rows; it is pickled once per process."""

    frame: pd.DataFrame
    column: Hashable | None
    tasks: list[Task]
    workload: Any
    extra: dict[str, Measure]
    sample: Any
    tree: Hierarchy | None  # to measure the loss of meaning

    def keys(self) -> list[str]:
        """Return a content hash per task, which identifies its row in the file of ``resume``."""
        data = self.frame, self.column, self.workload, self.sample, self.tree
        common = content_hash(version("pdanon"), *data, sorted(self.extra))
        return [
            content_hash(common, task.algorithm, {key: _content(task.parameters[key]) for key in task.shown})
            for task in self.tasks
        ]

    def row(self, number: int) -> tuple[Row, bool]:
        """Measure one configuration, and return its row and whether the row is final."""
        row: Row = {}
        try:
            with warnings.catch_warnings(
                action="ignore", category=ReleaseWarning
            ):  # a comparison publishes nothing
                self._fill(row, self.tasks[number])
        except PdanonError as error:
            row["reason"] = one_line(error)
        except TimeoutError:  # an alarm set by the caller ends the whole comparison
            raise
        except Exception as error:  # the text of a foreign error may contain an item
            row["reason"] = type(error).__name__
            return row, False
        return row, True

    def _fill(self, row: Row, task: Task) -> None:
        function = named(task.algorithm)
        place = {"column": self.column} if of_lists(function) else {}
        given = read_named_request(task.algorithm, task.parameters)
        with starting_from(given.pop("start", None), task.algorithm), _measure_cost(row):
            result = function(self.frame, **place, **given)
        row.update(result.loss)
        if self.tree is not None and not result.mapping.empty:
            row["meaning"] = lost_levels(result.mapping, self.tree)
        if result.useless:
            row["reason"] = result.useless
        row["holds"] = bool(result.guarantee.audit(result.frame, self.column).holds)
        if self.workload is not None:
            answers = self.workload.are(self.frame, result)
            row["ARE"] = float(getattr(answers, "are", answers))
        if self.sample is not None:
            row["named"] = share_named(self.frame, result, self.column, self.sample)
        for name, measure in self.extra.items():
            row[name] = float(measure(self.frame, result))


def _content(value: Any) -> Any:
    """Return a path instead of the name of a file, so that the hash covers the content of the file."""
    if isinstance(value, Transaction):
        return replace(value, hierarchy=_content(value.hierarchy))
    is_file = isinstance(value, (str, os.PathLike)) and os.path.isfile(value)
    return Path(value) if is_file else value


@contextmanager
def _measure_cost(row: Row) -> Iterator[None]:
    """Add the seconds and the peak memory of a block to a row."""
    start, before = perf_counter(), None
    with suppress(OSError):  # not Linux, or not permitted
        Path("/proc/self/clear_refs").write_text("5")  # 5 resets VmHWM, the peak of resident memory
        before = _status("VmRSS")
    try:
        yield
    finally:
        row["seconds"] = perf_counter() - start
        row["memory"] = None if before is None else max(_status("VmHWM") - before, 0)


def _status(entry: str) -> int:
    """Return an entry of the status of this process, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{entry}:"))


# --- All rows


def _run(comparison: _Comparison, numbers: list[int]) -> Iterator[tuple[int, Row, bool]]:
    """Measure configurations in this process or in several, and yield each row when it is finished."""
    jobs = SETTINGS["processes"]
    if isinstance(jobs, Executor) or jobs == 1:
        for number in numbers:
            yield number, *comparison.row(number)
        return
    with processes(jobs, _receive, _pickle(comparison)) as pool:
        running = {pool.submit(_row, number): number for number in numbers}
        for done in as_completed(running):
            error = done.exception()
            yield running[done], *(({"reason": type(error).__name__}, False) if error else done.result())


def _pickle(comparison: _Comparison) -> bytes:
    try:
        return pickle.dumps(comparison)
    except (AttributeError, TypeError, pickle.PicklingError):
        pass  # raise outside of the handler: the message of pickle, as its context, may contain an item
    hint = "pass measures and labels that are functions of a module; or set pdanon.config(processes=1)"
    raise ParameterError("the comparison cannot be sent to other processes", hint=hint)


_received: list[_Comparison] = []  # in a worker process: the one comparison that it works for


def _receive(pickled: bytes) -> None:
    _received.append(pickle.loads(pickled))


def _row(number: int) -> tuple[Row, bool]:
    return _received[0].row(number)


def _read_rows(path: FilePath) -> dict[str, Row]:
    if not os.path.exists(path):
        return {}
    table = read_parquet(path)
    if {"key", *_COSTS} - set(table.columns):
        hint = "pass a new path as resume=, or a file that pdanon.compare wrote"
        raise FormatError("not the file of a comparison", where=os.fspath(path), hint=hint)
    rows = table.drop(columns="key").to_dict("records")
    present = [{str(name): value for name, value in row.items() if not pd.isna(value)} for row in rows]
    return dict(zip(table["key"], present, strict=True))


def _table(tasks: list[Task], rows: list[Row], losses: list[str] | None, further: list[str]) -> pd.DataFrame:
    shown = dict.fromkeys(key for task in tasks for key in task.shown)
    if losses is None:
        losses = [name for name in LOSSES if any(name in row for row in rows)]
    table = pd.DataFrame({name: text_column([getattr(task, name) for task in tasks]) for name in _NAMING})
    for key in shown:
        values = [task.shown.get(key, pd.NA) for task in tasks]
        types = {type(value) for value in values if value is not pd.NA}
        if types == {bool} or types <= {int, float}:
            table[key] = pd.array(values)
        else:
            table[key] = text_column([value if value is pd.NA else str(value) for value in values])
    figures: dict[str, Any] = dict.fromkeys((*losses, *further), "float64")
    kinds = {"seconds": "float64", "memory": "Int64", **figures, "holds": "boolean"}
    for name, kind in kinds.items():
        table[name] = pd.array([row.get(name) for row in rows], dtype=kind)
    table["reason"] = text_column([row.get("reason") for row in rows])
    return table


# --- The tradeoff of k and m: the remaining risk and the information loss of a release for each pair


_MEASURES = ("occurrences", "singles", "pairs", "suppressed", "NCP")
_FURTHER = ("dropped", "values", "meaning")


@called_by_name
def tradeoff(
    frame: pd.DataFrame,
    column: Hashable | None = None,
    *,
    k: Sequence[int] = (3, 5, 11),
    m: Sequence[int] = (1, 2, 3),
    algorithm: str | None = None,
    sample: pd.DataFrame | str | None = None,
    prepare: Steps | Sequence[Steps] | None = None,
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
    prepare : mapping or sequence of mappings, optional
        Steps before the release, as for `pdanon.prepare`; or several to compare, ``{}`` for none.
    **options
        Other parameters of the algorithm or of `anonymize`, such as ``quasi`` or ``time_limit``. Of a
        ``guarantee`` with k and m, such as ``pdanon.LmDiversity``, each release has the other parameters.

    Returns
    -------
    pandas.DataFrame
        One row per release: ``k, m``; with steps ``prepared``; ``below_k``, the share of rows with fewer than
        k matches if m + 1 items are known, one more than the guarantee covers, and all of ``quasi``; with a
        sample ``named``, the share of persons at risk whom its attacker names; the losses ``occurrences,
        singles, pairs, suppressed, NCP``, and ``dropped, values`` and ``meaning`` where they apply;
        ``seconds``; and ``reason``, the reason why a release is infeasible.

    Raises
    ------
    ParameterError, ColumnError, ItemsetDtypeError
        If a k or m is out of range, the algorithm or an option is unknown, or the algorithm has no k or no m,
        or publishes rows in parts. If there is not exactly one list column of sets of items.

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
    if "guarantee" in options:
        check_guarantee(asked := options["guarantee"])
        if not {"k", "m"} <= {*parameters_of_guarantee(type(asked))}:
            got, hint = type(asked).__name__, "pass it to pdanon.compare: vary={'guarantee': [...]}"
            raise ParameterError("the guarantee has no k or no m", where="guarantee", got=got, hint=hint)
    several: list[Any] = [*prepare] if isinstance(prepare, (list, tuple)) else [prepare]
    tables = [prepared_of(frame, {} if steps is None else steps) for steps in several]
    pairs = list(product(tables, _check_values(k, "k", check_k), _check_values(m, "m", check_finite_m)))
    check_combinations(len(pairs), "k and m")
    if sample is not None:
        check_sample(frame, column, sample)
    rows: list[Row] = []
    with progress_bar("tradeoff", "releases", len(pairs)):
        for each in pairs:
            rows.append(_measure_release(*each, frame.columns[position], algorithm, options, sample))
            count_steps()
    risks = ["below_k"] if sample is None else ["below_k", "named"]
    steps = [] if prepare is None else ["prepared"]
    further = [name for name in _FURTHER if any(name in row for row in rows)]
    table = pd.DataFrame(rows, columns=["k", "m", *steps, *risks, *_MEASURES, *further, "seconds", "reason"])
    return Measures(table.assign(reason=text_column(table["reason"])))


def _check_values(values: Any, name: str, check: Callable[[Any], int]) -> list[int]:
    found = [check(value) for value in read_list(values, name, f"pass a list, such as {name}=[5]")]
    if not found:
        raise ParameterError(f"{name} has no values", where=name, got=[])
    return sorted(set(found))


def _measure_release(
    table: Prepared,
    k: int,
    m: int,
    column: Hashable,
    algorithm: str | None,
    options: Parameters,
    sample: pd.DataFrame | str | None,
) -> Row:
    """Make and measure one release, or return the reason why it is infeasible."""
    began = perf_counter()
    row: Row = {"k": k, "m": m, "prepared": table.text}
    with warnings.catch_warnings(
        action="ignore", category=ReleaseWarning
    ):  # the warning comes with the final release
        try:
            given: Parameters = {**options, "k": k, "m": m}
            if "guarantee" in options:
                given = {**options, "guarantee": replace(options["guarantee"], k=k, m=m)}
            run = anonymize if algorithm is None else named(algorithm)
            result = table.release(lambda frame: run(frame, column=column, **given))
        except InfeasibleError as error:
            return {**row, "reason": one_line(error)}
    row["seconds"] = perf_counter() - began
    if sample is not None:
        row["named"] = share_named(table.frame, result, column, sample)
    quasi = getattr(result.guarantee, "quasi", None)
    left = of_all_rows(risk(result.frame, column, k=k, m=m + 1, quasi=quasi))["below_k"]
    losses = {name: result.loss[name] for name in (*_MEASURES, *_FURTHER) if name in result.loss}
    return {**row, "below_k": left.iloc[-1] if len(left) else 0.0, **losses}
