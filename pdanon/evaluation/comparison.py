"""Comparisons: several algorithms, several parameters, one row each, with what it costs and what it loses."""

from __future__ import annotations

import os
import pickle
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import as_completed
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import islice, product
from math import prod
from pathlib import Path
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from pdanon.algorithms.registry import algorithm, of_lists, parameters_of
from pdanon.algorithms.rt.transaction import Transaction
from pdanon.algorithms.workers import processes
from pdanon.errors import FormatError, ParameterError, PdanonError, ReleaseWarning, one_line
from pdanon.evaluation.fingerprint import content_hash
from pdanon.io.files import replace_file
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.compatibility import text_column
from pdanon.itemsets.timing import progress_bar
from pdanon.itemsets.validation import check_count, check_kind, check_known, check_path, read_list
from pdanon.recoding.loss import LOSSES
from pdanon.recoding.result import Anonymized

__all__ = ["Task", "check_combinations", "compare", "list_tasks"]

_MOST = 100_000  # combinations of parameters


@dataclass(frozen=True, eq=False, slots=True)
class Task:
    """One configuration: an algorithm with its parameters, and what is shown of them."""

    label: str
    algorithm: str
    parameters: dict[str, Any]
    shown: dict[str, Any]


def list_tasks(
    configurations: Mapping[str, Mapping[str, Any]], vary: Mapping[str, Iterable[Any] | Mapping[str, Any]]
) -> list[Task]:
    """List every configuration, with every combination of the varied parameters.

    Parameters
    ----------
    configurations : mapping
        Parameters by the name of an algorithm, or by a label if they name the algorithm.
    vary : mapping
        Values by parameter; a mapping from names to values where a table could not show the values.

    Returns
    -------
    list of Task
        In the order given; the parameter that was named last varies fastest.

    Raises
    ------
    ParameterError
        If an algorithm or a parameter is not known, or a required one is lacking.
    """
    if not isinstance(configurations, Mapping) or not configurations:
        hint = 'such as {"pcta": {"k": 5}, "apriori": {"k": 5, "hierarchy": 5}}'
        got = type(configurations).__name__ if not isinstance(configurations, Mapping) else "no algorithm"
        raise ParameterError("give the parameters by algorithm", where="configurations", got=got, hint=hint)
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
        _check_names(name, label, fixed, vary)
        fixed = {key: list(value) if isinstance(value, Iterator) else value for key, value in fixed.items()}
        shown = {key: _shown(name, key, value) for key, value in fixed.items()}
        for combination in product(*(_named(name, key, choices) for key, choices in varied.items())):
            texts, values = zip(*combination, strict=True) if combination else ((), ())
            parameters = fixed | dict(zip(vary, values, strict=True))
            tasks.append(Task(label, name, parameters, shown | dict(zip(vary, texts, strict=True))))
    return tasks


def check_combinations(number: int, where: str) -> None:
    """Check that no more releases are requested than anybody waits for."""
    if number > _MOST:
        hint = f"vary fewer values at a time: up to {_MOST:,} combinations"
        raise ParameterError("there are too many combinations", where=where, got=f"{number:,}", hint=hint)


def _choices(key: str, values: Any) -> list[tuple[Any, Any]]:
    """The values of a varied parameter, each with its name; None if it has none."""
    if isinstance(values, Mapping):
        choices = list(values.items())
    elif isinstance(values, Iterable) and not isinstance(values, str):
        choices = [(None, value) for value in islice(values, _MOST + 1)]
    else:
        choices = []
    if not choices:
        raise ParameterError("a varied parameter needs a list of values", where=f"vary, {key}")
    return choices


def _named(name: str, key: str, choices: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """The same, with what is shown of each in the place of its name."""
    if any(text is None and _is_hidden(name, key, value) for text, value in choices):
        hint = 'name each: {"fine": Hierarchy.of(...), "coarse": Hierarchy.of(...)}'
        raise ParameterError("these values cannot be told apart in a table", where=f"vary, {key}", hint=hint)
    return [(_shown(name, key, value) if text is None else str(text), value) for text, value in choices]


def _check_names(name: Any, label: str, fixed: Mapping[str, Any], vary: Mapping[str, Any]) -> None:
    accepted = {key: each for key, each in parameters_of(algorithm(name)).items() if key != "progress"}
    for key in (*fixed, *vary):
        check_known(key, accepted, f"parameter of {name}", where=f"configuration {label!r}")
    if fixed.keys() & vary.keys():
        got = ", ".join(sorted(fixed.keys() & vary.keys()))
        raise ParameterError(
            "a parameter is both fixed and varied", where=f"configuration {label!r}", got=got
        )
    lacking = [key for key, each in accepted.items() if each.default is each.empty]
    lacking = [key for key in lacking if key not in fixed and key not in vary]
    if lacking:
        got = f"no {', '.join(lacking)}"
        raise ParameterError(f"{name} lacks a parameter", where=f"configuration {label!r}", got=got)
    if isinstance(fixed.get("random_state"), (np.random.Generator, np.random.RandomState)):
        hint = "give an int: then each configuration can be run again"
        raise ParameterError(
            "a generator cannot be shared by configurations", where="random_state", hint=hint
        )


def _shown(name: str, key: str, value: Any) -> Any:
    """A number, or a word where the algorithm takes words; else only the type, for it may hold items."""
    if isinstance(value, Transaction):  # which shows no item
        return repr(value)
    if _is_hidden(name, key, value):
        return type(value).__name__
    return value.item() if isinstance(value, np.generic) else value


def _is_hidden(name: str, key: str, value: Any) -> bool:
    if isinstance(value, str):
        return not isinstance(parameters_of(algorithm(name))[key].default, str)
    return not (value is None or isinstance(value, (bool, int, float, np.number, np.bool_)))


# --- Comparisons: several algorithms, several parameters, one row each, with what it costs and what it loses


Measure: TypeAlias = Callable[[pd.DataFrame, Anonymized], float]
Row: TypeAlias = dict[str, Any]  # what was measured of one configuration

_NAMING = ("algorithm", "label")
_COSTS = ("seconds", "memory")
_VERDICT = ("holds", "reason")

_FEW = 200  # rows that show an algorithm everything it does
_loaded: set[str] = set()  # algorithms that ran in this process


def compare(
    frame: pd.DataFrame,
    configurations: Mapping[str, Mapping[str, Any]],
    *,
    vary: Mapping[str, Iterable[Any] | Mapping[str, Any]] | None = None,
    workload: Any = None,
    measures: Mapping[str, Measure] | Iterable[str] | None = None,
    loss: str | None = None,
    n_jobs: int = 1,
    resume: str | os.PathLike[str] | None = None,
    column: Hashable | None = None,
    progress: bool = False,
) -> pd.DataFrame:
    """Run algorithms with several parameters each, and tabulate what they cost and what is lost.

    Parameters
    ----------
    frame : pandas.DataFrame
        One row a person. It is not modified, and no release is kept.
    configurations : mapping
        Parameters by the name of an algorithm, or by any label if the parameters name the ``"algorithm"``.
    vary : mapping, optional
        By parameter, the values that it is to take in every configuration, alone or, if there are several
        parameters, in all combinations. Values that are no plain numbers or words are given as a mapping
        from a name, which is shown, to the value.
    workload : object with a method ``are(frame, result)``, optional
        Queries whose average relative error is measured.
    measures : mapping or list of str, optional
        Functions of the frame and the result that return a number, by name; or the names of the losses that
        are to be shown. By default all losses.
    loss : str, optional
        The loss by which rows are sorted, the least first; those without a result last. By default rows are
        in the order asked.
    n_jobs : int
        How many processes work at the same time.
    resume : path, optional
        A Parquet file in which the rows that are done are kept, to be skipped by the next run.
    column : hashable, optional
        The list column. By default the only one.
    progress : bool
        Show a progress bar.

    Returns
    -------
    pandas.DataFrame
        One row a configuration: ``algorithm``, ``label``, one column for each parameter,
        ``seconds``, ``memory`` (bytes), the losses, ``ARE`` with a workload, the measures, ``holds`` (the
        verdict of one more audit of the released frame) and ``reason``: why a configuration has no result, or
        that next to nothing is left in it, as `UselessWarning` says.

    Raises
    ------
    ParameterError
        If an algorithm, a parameter or a loss is not known, a required parameter is lacking, or there is
        nothing to compare.
    ColumnError
        If the frame has no list column, or several and none was named.
    FormatError
        If the file of ``resume`` is not one that a comparison has written.

    Notes
    -----
    A configuration that fails is a row with its reason: the message of an error of pdanon, and no more than
    the type of any other error. The table holds no item: of a parameter that is neither number nor word
    only its type is shown.

    ``memory`` is how far the process grew at its highest beyond what it held before, which Linux tells; it
    is missing elsewhere, and less than the truth if the process still holds memory of earlier work. Before an
    algorithm is measured for the first time it runs on up to 200 rows, so that the loading of its compiled
    code is not counted.

    Rows in ``resume`` are known by the content of the frame, the parameters and the workload, the names of
    the measures and the version of pdanon; those that ended in an error of another package are run
    again. The file holds figures and hashes of the data, and is no part of a release.

    With several processes each has a copy of the frame. As always with them, a script must begin its work
    below ``if __name__ == "__main__":``, and the measures must be functions of a module. If a process is
    killed, the rows that were not done have the reason ``BrokenProcessPool``.

    Cost: that of the configurations one after the other, and one more audit of each.

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
    >>> table.loc[2, "reason"].split(";")[0]
    'k is larger than the number of rows that hold an item'
    """
    check_count(n_jobs, "n_jobs", least=1)
    resume = None if resume is None else check_path(resume, "resume")
    tasks = list_tasks(configurations, {} if vary is None else vary)
    if any(of_lists(algorithm(task.algorithm)) for task in tasks):
        find_column(frame, column)
    losses, extra = _measures(measures, tasks)
    if loss is not None:
        check_known(loss, LOSSES if losses is None else losses, "loss of this table", where="loss")
    if workload is not None and not callable(getattr(workload, "are", None)):
        hint = "give a pdanon.Workload, or an object with a method are(frame, result)"
        raise ParameterError("this is no workload", where="workload", got=type(workload).__name__, hint=hint)
    comparison = _Comparison(frame, column, tasks, workload, extra)
    keys = comparison.keys() if resume is not None else [str(number) for number in range(len(tasks))]
    rows = {} if resume is None else _read_rows(resume)
    missing = [number for number, key in enumerate(keys) if key not in rows]
    kept = dict(rows)
    with progress_bar(progress, "compare", "configurations", len(tasks)) as report:
        report(len(tasks) - len(missing))
        for number, row, final in _run(comparison, missing, n_jobs):
            rows[keys[number]] = row
            if resume is not None and final:
                kept[keys[number]] = row
                _write_rows(resume, kept)
            report(1)
    table = _table(tasks, [rows[key] for key in keys], losses, workload is not None, extra)
    return table if loss is None else _by_loss(table, loss)


# --- What is asked


def _measures(measures: Any, tasks: list[Task]) -> tuple[list[str] | None, dict[str, Measure]]:
    """The losses to show, or None for all, and further measures by name."""
    if isinstance(measures, Mapping):
        taken = {*_NAMING, *_COSTS, *LOSSES, "ARE", *_VERDICT, *(key for task in tasks for key in task.shown)}
        for name, measure in measures.items():
            if not isinstance(name, str) or name in taken or not callable(measure):
                hint = "a measure is a function of the frame and the result, by a name that no column has"
                got = f"{name!r}: {type(measure).__name__}"
                raise ParameterError("this is no measure", where="measures", got=got, hint=hint)
        return None, dict(measures)
    if measures is None:
        return None, {}
    names = [measures] if isinstance(measures, str) else read_list(measures, "measures")
    return [check_known(name, LOSSES, "loss", where="measures") for name in names], {}


# --- One row


@dataclass(frozen=True, eq=False, slots=True)
class _Comparison:
    """What every row needs, as it is sent to the processes."""

    frame: pd.DataFrame
    column: Hashable | None
    tasks: list[Task]
    workload: Any
    extra: dict[str, Measure]

    def keys(self) -> list[str]:
        """By what the row of each task is known."""
        common = content_hash(
            version("pdanon"), self.frame, repr(self.column), self.workload, sorted(self.extra)
        )
        return [
            content_hash(common, task.algorithm, {key: _content(task.parameters[key]) for key in task.shown})
            for task in self.tasks
        ]

    def row(self, number: int) -> tuple[Row, bool]:
        """Measure one configuration: its row, and whether another run would have the same."""
        row: Row = {}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ReleaseWarning)  # nothing is released here
                self._fill(row, self.tasks[number])
        except PdanonError as error:
            row["reason"] = one_line(error)
        except TimeoutError:  # an alarm of the caller, which is to end the whole comparison
            raise
        except Exception as error:  # its text may show an item
            row["reason"] = type(error).__name__
            return row, False
        return row, True

    def _fill(self, row: Row, task: Task) -> None:
        function = algorithm(task.algorithm)
        place = {"column": self.column} if of_lists(function) else {}
        if task.algorithm not in _loaded:
            _loaded.add(task.algorithm)
            least = {"k": 2} if "k" in task.parameters else {}
            try:  # loads compiled code, which is not to be measured
                function(self.frame.head(_FEW), **place, **(task.parameters | least))
            except TimeoutError:
                raise
            except Exception:
                pass  # the whole frame may do, or fails as well
        with _metered(row):
            result = function(self.frame, **place, **task.parameters)
        row.update(result.loss)
        if result.useless:
            row["reason"] = result.useless
        row["holds"] = bool(result.guarantee.audit(result.frame, self.column).holds)
        if self.workload is not None:
            answers = self.workload.are(self.frame, result)
            row["ARE"] = float(getattr(answers, "are", answers))
        for name, measure in self.extra.items():
            row[name] = float(measure(self.frame, result))


def _content(value: Any) -> Any:
    """A file in the place of its path: it may change."""
    if isinstance(value, Transaction):
        return replace(value, hierarchy=_content(value.hierarchy))
    is_file = isinstance(value, (str, os.PathLike)) and os.path.isfile(value)
    return Path(value) if is_file else value


@contextmanager
def _metered(row: Row) -> Iterator[None]:
    before = _reset_peak()
    start = perf_counter()
    try:
        yield
    finally:
        row["seconds"] = perf_counter() - start
        row["memory"] = None if before is None else max(_status("VmHWM") - before, 0)


def _reset_peak() -> int | None:
    """Make Linux forget the highest memory of this process, and tell what it holds now."""
    try:
        Path("/proc/self/clear_refs").write_text("5")
        return _status("VmRSS")
    except OSError:  # another system, or not permitted
        return None


def _status(entry: str) -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(f"{entry}:"))


# --- All rows


def _run(comparison: _Comparison, numbers: list[int], n_jobs: int) -> Iterator[tuple[int, Row, bool]]:
    if n_jobs == 1:
        for number in numbers:
            yield number, *comparison.row(number)
        return
    with processes(n_jobs, _receive, _sent(comparison)) as pool:
        running = {pool.submit(_row, number): number for number in numbers}
        for done in as_completed(running):
            error = done.exception()
            yield running[done], *(({"reason": type(error).__name__}, False) if error else done.result())


def _sent(comparison: _Comparison) -> bytes:
    try:
        return pickle.dumps(comparison)
    except (AttributeError, TypeError, pickle.PicklingError):
        pass  # raised below: the message of pickle may show an item
    hint = "measures and labels must be functions of a module, not defined on the spot; or use n_jobs=1"
    raise ParameterError("this cannot be sent to other processes", hint=hint)


_received: list[_Comparison] = []  # of a working process, which has one


def _receive(sent: bytes) -> None:
    _received.append(pickle.loads(sent))


def _row(number: int) -> tuple[Row, bool]:
    return _received[0].row(number)


def _read_rows(path: str | os.PathLike[str]) -> dict[str, Row]:
    if not os.path.exists(path):
        return {}
    table = read_parquet(path)
    if {"key", *_COSTS} - set(table.columns):
        hint = "choose a new file, or one that an earlier comparison has written"
        raise FormatError("the file is not that of a comparison", where=os.fspath(path), hint=hint)
    rows = table.drop(columns="key").to_dict("records")
    known = [{str(name): value for name, value in row.items() if not pd.isna(value)} for row in rows]
    return dict(zip(table["key"], known, strict=True))


def _write_rows(path: str | os.PathLike[str], rows: Mapping[str, Row]) -> None:
    table = pd.DataFrame([{"key": key, "seconds": None, "memory": None, **row} for key, row in rows.items()])
    with replace_file(path, confidential=True) as draft:
        to_parquet(table, draft)


def _table(
    tasks: list[Task], rows: list[Row], losses: list[str] | None, asked: bool, extra: Mapping[str, Measure]
) -> pd.DataFrame:
    shown = dict.fromkeys(key for task in tasks for key in task.shown)
    if losses is None:
        losses = [name for name in LOSSES if any(name in row for row in rows)]
    table = pd.DataFrame({name: text_column([getattr(task, name) for task in tasks]) for name in _NAMING})
    for key in shown:
        table[key] = _tidy([task.shown.get(key, pd.NA) for task in tasks])
    figures: dict[str, Any] = dict.fromkeys((*losses, *(["ARE"] if asked else []), *extra), "float64")
    kinds = {"seconds": "float64", "memory": "Int64", **figures, "holds": "boolean"}
    for name, kind in kinds.items():
        table[name] = pd.array([row.get(name) for row in rows], dtype=kind)
    table["reason"] = text_column([row.get("reason") for row in rows])
    return table


def _by_loss(table: pd.DataFrame, loss: str) -> pd.DataFrame:
    if loss not in table:  # no result has it
        return table
    return table.sort_values(loss, kind="stable", ignore_index=True)


def _tidy(values: list[Any]) -> pd.api.extensions.ExtensionArray:
    """Values of a parameter as a column of one type; text if they are of several."""
    types = {type(value) for value in values if value is not pd.NA}
    if types == {bool}:
        return pd.array(values, dtype="boolean")
    if types == {int}:
        return pd.array(values, dtype="Int64")
    if types <= {int, float}:
        return pd.array(values, dtype="Float64")
    return text_column([value if value is pd.NA else str(value) for value in values])
