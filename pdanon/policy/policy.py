"""Policies: a release as a file that can be read, approved and run again.

A policy says in TOML which table is read, what its columns are, how it is anonymized and what is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from os import PathLike, path
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.algorithms.registry import ALGORITHMS, algorithm, of_lists, parameters_of
from pdanon.algorithms.request import ASKED, LEAST, check_asked, least_lossy
from pdanon.errors import ColumnError, ParameterError, mask_credentials
from pdanon.evaluation.comparison import compare, list_tasks
from pdanon.evaluation.report.release_report import write_page
from pdanon.guarantees.parameters import constraint_list
from pdanon.io.files import check_replaceable
from pdanon.io.forms import Form
from pdanon.io.lines import is_lines, is_text
from pdanon.io.parquet import locate
from pdanon.io.tables import (
    check_distinct,
    is_csv,
    read_columns,
    read_weights,
    suffix_hint,
    write_confidential,
    write_plain,
    write_table,
    write_whole,
)
from pdanon.itemsets.validation import (
    check_flag,
    check_frame,
    check_kind,
    check_known,
    check_path,
    check_text,
    is_integer,
    is_uri,
    read_list,
)
from pdanon.policy.schema import (
    NESTED,
    OUTPUTS,
    Roles,
    check_comparison,
    check_depth,
    check_input,
    check_transaction,
    each_changed,
    list_columns_of,
    read_toml,
    table_of,
    transaction_of,
)
from pdanon.recoding.result import Anonymized

__all__ = ["Policy"]

_BY_ROLE = dict.fromkeys(("column", "quasi", "keep"), "columns")
_BY_ROLE |= dict.fromkeys(("hierarchy", "hierarchies"), "hierarchies")


@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """What is read, how it is anonymized, and what is written. Read one with `from_toml`.

    Parameters
    ----------
    input : pathlib.Path, or str
        The data: ``.parquet``, also as a URI, ``.csv``, ``.tsv`` (these also with ``.gz``) or ``.jsonl``.
    algorithm : str, optional
        Name of the algorithm. Without it `pdanon.anonymize` tries those that can have the guarantee; a
        comparison needs none.
    parameters : dict
        Its parameters, except those that say what a column is; without an algorithm ``k`` and what
        `pdanon.anonymize` takes.
    items : str, optional
        The list column. By default the only one.
    quasi, drop : list of str
        Columns that an attacker may know, and columns that are not published.
    hierarchies : dict
        By column, the path of a hierarchy, or the fan-out of a balanced one.
    separator : str, optional
        What stands between two items in CSV files.
    outputs : dict
        Paths of ``release``, ``classes``, ``mapping``, ``legend``, ``loss``, ``report`` and ``comparison``;
        what is not named is not written.
    comparison : dict
        What `compare` runs: ``algorithms, vary, measures, n_jobs, resume``.
    source : pathlib.Path, optional
        The file of the policy.
    keep : list of str
        Columns that are published as they are, because they were judged: no warning is about them.
    form : dict
        Of a table without lists: ``by`` and ``item`` of one with a line for each item, ``onehot`` or
        ``prefix``, and ``tick``, of one with a column for each item, ``conflicts`` (``"refuse"`` or
        ``"first"``); of CSV ``delimiter``, ``encoding``, and ``separator`` if it is not that of the release.

    Notes
    -----
    Each column has a role, and so has an index that has a name: a column that nobody thought of is refused,
    not published. Of a table without lists, columns that have no role are not read.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, pdanon
    >>> rows = [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]
    >>> df = pd.DataFrame({"name": list("abcd"), "items": rows})
    >>> text = '''
    ... input = "baskets.parquet"
    ... algorithm = "pcta"
    ... [parameters]
    ... k = 2
    ... [columns]
    ... drop = ["name"]
    ... '''
    >>> with tempfile.TemporaryDirectory() as directory:
    ...     pdanon.to_parquet(df, pathlib.Path(directory) / "baskets.parquet")
    ...     path = pathlib.Path(directory) / "policy.toml"
    ...     _ = path.write_text(text)
    ...     pdanon.Policy.from_toml(path).run().frame
                       items
    0  ['(rice,salt)' 'tea']
    1        ['(rice,salt)']
    2  ['(rice,salt)' 'tea']
    3                ['tea']
    """

    input: Path | str
    algorithm: str | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    items: str | None = None
    quasi: list[str] = field(default_factory=list)
    drop: list[str] = field(default_factory=list)
    hierarchies: dict[str, Any] = field(default_factory=dict)
    separator: str | None = None
    outputs: dict[str, Path] = field(default_factory=dict)
    comparison: dict[str, Any] = field(default_factory=dict)
    source: Path | None = None
    keep: list[str] = field(default_factory=list)
    form: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, file: str | PathLike[str]) -> Policy:
        """Read a policy, and check it without reading any data.

        Parameters
        ----------
        file : path
            A TOML file. Paths in it are relative to its directory.

        Returns
        -------
        Policy

        Raises
        ------
        FormatError
            If the file cannot be read, or is not TOML.
        ParameterError
            If a key is not known or of the wrong type, the algorithm, a parameter or a role is not
            possible, or two names are those of one file.
        """
        source = Path(check_path(file, "file"))
        return cls(**read_toml(source), source=source)

    def run(self, frame: pd.DataFrame | None = None) -> Anonymized:
        """Read the table and anonymize it; nothing is written.

        Parameters
        ----------
        frame : pandas.DataFrame, optional
            What `read` returned, if it was read already.

        Returns
        -------
        Anonymized
            Audited, as every result.

        Raises
        ------
        PdanonError
            If the table cannot be read, a column has no role, or whatever the algorithm raises.
        """
        if self.algorithm is None:
            self._check_asked()
        frame = self.read() if frame is None else check_frame(frame)
        if self.algorithm is None:
            said = self._read_all(self._roles.without_algorithm(frame, self.parameters))
            return least_lossy(frame, self.items, **said)
        options = self._read_all(self._roles.joined(self.algorithm, self.parameters))
        place = {"column": self.items} if self._of_lists() else {}
        return algorithm(self.algorithm)(frame, **place, **options)

    def compare(self, *, progress: bool = False, allow_outside: bool = False) -> pd.DataFrame:
        """Run what the policy compares, as `pdanon.compare`; nothing is written but the file of ``resume``.

        Parameters
        ----------
        progress : bool
            Show a progress bar.
        allow_outside : bool
            Let the file of ``resume`` be outside of the directory of the policy.

        Returns
        -------
        pandas.DataFrame
            One row a configuration. Of a policy that names no algorithm, and none to compare, what
            `pdanon.anonymize` tried: ``tried`` of its result.
        """
        if not any(self.comparison.values()) and self.algorithm is None and self.parameters:
            tried = self.run().tried
            return pd.DataFrame() if tried is None else tried
        if not self.comparison.get("algorithms"):
            hint = "give each algorithm a table, which may be empty: [compare.algorithms.pcta]"
            raise ParameterError("the policy compares nothing", where=self._place("compare"), hint=hint)
        if "resume" in self.comparison:
            self.check_outputs([self.comparison["resume"]], overwrite=True, allow_outside=allow_outside)
        configurations = {label: self._read_all(given) for label, given in self._configurations().items()}
        varied = self.comparison.get("vary", {}).items()
        vary = {key: each_changed(values, partial(self._read, key)) for key, values in varied}
        options = {
            name: value for name, value in self.comparison.items() if name not in ("algorithms", "vary")
        }
        return compare(
            self.read(), configurations, vary=vary, column=self.items, progress=progress, **options
        )

    def read(self) -> pd.DataFrame:
        """Read the table without the columns that are dropped.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ColumnError
            If a column of the policy is not there, or one that is there has no role.
        """
        published = [*self.quasi, *self.keep]
        frame = self._form.read(self.input, published).frame
        there = [*frame.columns, *frame.index.names, *(self.drop if self._form.drops_columns else [])]
        absent = [name for name in self._roles.named if name not in there]
        if absent:
            raise ColumnError(f"the table lacks columns {absent}", where=str(self.input))
        return self._roles.published(frame, self._place("columns"), lists=self._of_lists())

    @property
    def inputs(self) -> list[Path | str]:
        """What is read: the policy itself, the table, and the files of hierarchies and parameters."""
        varied = self.comparison.get("vary", {}).values()
        settings = [*self._settings(), *(values for values in varied if isinstance(values, Mapping))]
        read = [self.source, self.input, *self.hierarchies.values()]
        read += [value for given in settings for value in _leaves(given)]
        return list(dict.fromkeys(file for file in read if isinstance(file, Path) or file is self.input))

    def check_outputs(
        self, files: Iterable[Path], *, overwrite: bool = False, allow_outside: bool = False
    ) -> None:
        """Check that files may be written: the policy names them, its caller says whether it may.

        Parameters
        ----------
        files : iterable of path
            What is to be written.
        overwrite : bool
            Replace files that exist.
        allow_outside : bool
            Write files that are outside of the directory of the policy, links followed.

        Raises
        ------
        ParameterError
            If a file exists, or is outside.
        FormatError
            If what is there is no regular file.
        """
        check_flag(overwrite, "overwrite")
        check_flag(allow_outside, "allow_outside")
        for file in (check_path(each, "files") for each in read_list(files, "files", what="a list of paths")):
            if self.source is not None and not allow_outside:
                real = Path(path.realpath(file))
                if Path(path.realpath(self.source.parent)) not in real.parents:
                    hint = "pass --allow-outside (allow_outside=True) if the policy may write there"
                    where = self._place("outputs")
                    problem = "an output is outside of the directory of the policy"
                    raise ParameterError(problem, where=where, got=str(real), hint=hint)
            check_replaceable(file, overwrite=overwrite)

    def write(
        self,
        result: Anonymized,
        original: pd.DataFrame | None = None,
        *,
        overwrite: bool = False,
        allow_outside: bool = False,
    ) -> None:
        """Write what the policy says of a result: all of it or nothing, and the release last.

        Parameters
        ----------
        result : Anonymized
            What `run` returned.
        original : pandas.DataFrame, optional
            What `read` returned: the report shows the risk before as well, and its fingerprint.
        overwrite, allow_outside : bool
            As `check_outputs`.
        """
        check_kind(result, Anonymized, "result", "a result, such as run() returns")
        loss = pd.DataFrame({"measure": result.loss.index.astype("str"), "value": result.loss.to_numpy()})
        release = partial(write_table, result.frame, column=self.items, separator=self.separator)
        writers: dict[str, Callable[[Path], object]] = {
            "loss": partial(write_plain, loss),
            "mapping": partial(write_plain, result.mapping),
            "legend": partial(write_plain, result.legend),
            "report": partial(write_page, result, original=original),
            "release": release,
        }
        if "classes" in result.published:
            writers = {"classes": partial(write_plain, result.published["classes"]), **writers}
        files = {self.outputs[name]: write for name, write in writers.items() if name in self.outputs}
        self.check_outputs([*files], overwrite=overwrite, allow_outside=allow_outside)
        confidential = [file for name, file in self.outputs.items() if name == "mapping"]
        write_whole(files, confidential, overwrite=overwrite)

    def write_comparison(
        self, table: pd.DataFrame, *, overwrite: bool = False, allow_outside: bool = False
    ) -> None:
        """Write the table of `compare`, if the policy names a file for it.

        Parameters
        ----------
        table : pandas.DataFrame
            What `compare` returned.
        overwrite, allow_outside : bool
            As `check_outputs`.
        """
        check_frame(table, "table")
        if "comparison" in self.outputs:
            file = self.outputs["comparison"]
            self.check_outputs([file], overwrite=overwrite, allow_outside=allow_outside)
            write_confidential(table, file, overwrite=overwrite)

    def __repr__(self) -> str:
        values = (f"{each.name}={getattr(self, each.name)!r}" for each in fields(self))
        return mask_credentials(f"Policy({', '.join(values)})")

    # --- Checks

    def __post_init__(self) -> None:
        self._check_types()
        self._form.check(self.input)
        object.__setattr__(self, "items", self._form.lists)
        self._roles.check(self._place("columns"), self._place("hierarchies"))
        self._check_files()
        if self.algorithm is not None:
            self._check_algorithm(self.algorithm)
        elif self.parameters:
            self._check_asked()
        if self.comparison.get("algorithms"):
            for task in list_tasks(self._configurations(), self.comparison.get("vary", {})):
                check_transaction(task.parameters)

    def _check_types(self) -> None:
        """Check what each part is; paths may be given as text."""
        object.__setattr__(self, "input", locate(check_path(self.input, "input")))
        if self.source is not None:
            check_path(self.source, "source")
        for name in ("parameters", "hierarchies", "outputs", "comparison", "form"):
            check_depth(check_kind(getattr(self, name), dict, name, "a dict"), name)
        check_input(self.form, self._place("input"))
        for name in ("quasi", "keep", "drop"):
            check_kind(getattr(self, name), list, name, "a list of column names")
        for name in ("algorithm", "items", "separator"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name)
        for column, tree in self.hierarchies.items():
            if not is_integer(tree):
                check_path(tree, f"the hierarchy of {column!r}")
        for name in self.outputs:
            check_known(name, OUTPUTS, "output of a policy", where=self._place("outputs"))
        check_comparison(self.comparison, self._place("compare"))
        for file in self.outputs.values():
            if is_uri(check_path(file, "outputs")):
                hint = "name a file on this machine, and copy it when it is complete"
                raise ParameterError("an output is a URI", where=self._place("outputs"), got=file, hint=hint)
        outputs = {name: Path(check_path(file, name)) for name, file in self.outputs.items()}
        object.__setattr__(self, "outputs", outputs)

    def _check_asked(self) -> None:
        """Check what is asked for where no algorithm is named."""
        where = self._place("parameters")
        self._check_said()
        for key in self.parameters:
            check_known(key, ASKED, "parameter of anonymize, as no algorithm is named", where=where)
        if not LEAST & self.parameters.keys():
            hint = "give k, or rho or p with sensitive, and algorithm = ... if one is to be run and no other"
            raise ParameterError("the policy names no algorithm, and no k", where=where, hint=hint)
        check_asked(self.parameters, where)
        adds = "p" in self.parameters
        self._check_classes("cahd" if adds else "this policy", adds=adds, repeats=False)
        if self.quasi and not isinstance(self.parameters.get("random_state"), int):
            hint = "random_state = 1, or any integer: the same policy gives the same release"
            raise ParameterError("what protects quasi draws at random", where=where, hint=hint)

    def _check_said(self) -> None:
        """Check that no parameter says what a column is."""
        said = self.parameters.keys() | table_of(self.parameters.get("transaction")).keys()
        for key in said & _BY_ROLE.keys():
            hint = f"say it in [{_BY_ROLE[key]}]"
            raise ParameterError("this is said by the role of a column", where=f"parameter {key}", hint=hint)

    def _check_algorithm(self, name: str) -> None:
        accepted = parameters_of(algorithm(name))
        self._check_said()
        self._roles.check_protected(name, self._place())
        asked = self._roles.joined(name, self.parameters)
        list_tasks({name: asked}, {})
        check_transaction(asked)
        record = ALGORITHMS[name]
        self._check_classes(name, adds=bool(record.adds), repeats=record.recodes == "chunks")
        draws = "random_state" in accepted and ("how" not in accepted or asked.get("how") == "sample")
        if draws and not isinstance(self.parameters.get("random_state"), int):
            hint = "random_state = 1, or any integer: the same policy gives the same release"
            raise ParameterError(f"{name} draws at random", where=self._place("parameters"), hint=hint)

    def _check_classes(self, name: str, *, adds: bool, repeats: bool) -> None:
        """Check that a file is named for the second table of a release, unless its rows repeat that."""
        where = self._place("outputs")
        if adds and "release" in self.outputs and "classes" not in self.outputs:
            hint = 'say where to write it: classes = "counts.parquet"'
            raise ParameterError(f"{name} publishes a second table, of counts", where=where, hint=hint)
        if "classes" in self.outputs and not adds and not repeats:
            hint = "releases by cahd and disassociate have one"
            raise ParameterError(f"{name} publishes no second table", where=where, hint=hint)

    def _check_files(self) -> None:
        for name, file in {"input": self.input, **self.outputs}.items():
            allowed: tuple[str, ...] = (".html",) if name == "report" else (".parquet", ".csv")
            allowed += (".tsv", ".jsonl") if name == "input" else ()
            if not (is_lines(file) if name == "input" else Path(file).suffix.lower() in allowed):
                problem = f"{name} must end in {' or '.join(allowed)}"
                raise ParameterError(problem, where=self._place(), got=str(file), hint=suffix_hint(file))
        for file in self.outputs.values():
            if file.is_dir() or not file.parent.is_dir():
                problem = "is a directory" if file.is_dir() else "is in a directory that does not exist"
                raise ParameterError(f"an output {problem}", where=self._place("outputs"), got=str(file))
        read = [*self.inputs, self.comparison.get("resume")]
        inputs = {path.realpath(check_path(file)): file for file in read if isinstance(file, Path)}
        for file in inputs.values():
            check_distinct([*self.outputs.values(), file], "entries of the policy")
        lists = is_text(self.input) and not self._form.has_no_lists
        joined = [self.input] if lists and self._form.separator is None else []
        joined += [
            file
            for name, file in self.outputs.items()
            if name == "release" and is_csv(file) and self.separator is None
        ]
        if joined:
            hint = "say what stands between two items, such as separator = ' '; it is never guessed"
            raise ParameterError("a CSV file needs a separator", where=str(joined[0]), hint=hint)
        if lists and self.items is None:
            hint = "say which column has the items: items = ... in [columns]"
            raise ParameterError("a CSV file needs a column", where=str(self.input), hint=hint)

    @property
    def _form(self) -> Form:
        by = self.form.get("by", ())
        said = {**self.form, "by": [by] if isinstance(by, str) else by}
        return Form(**{"separator": self.separator} | said, column=self.items)

    @property
    def _roles(self) -> Roles:
        lists = [name for given in self._settings() for name in list_columns_of(given)]
        return Roles(self.items, self.quasi, self.keep, self.drop, self.hierarchies, lists)

    def _settings(self) -> list[dict[str, Any]]:
        """The parameters of the release, and of each algorithm to compare."""
        return [self.parameters, *self.comparison.get("algorithms", {}).values()]

    def _of_lists(self) -> bool:
        """Whether what runs works on a list column; a comparison may."""
        return self.algorithm is None or of_lists(algorithm(self.algorithm))

    def _place(self, table: str = "") -> str:
        return f"{self.source or 'policy'}{f', [{table}]' if table else ''}"

    # --- What an algorithm is given

    def _configurations(self) -> dict[str, dict[str, Any]]:
        """What is compared: the tables of the file, and what the roles of the columns say."""
        unsaid = {*self.comparison.get("vary", {}), "keep"}  # a comparison warns of nothing
        return {
            label: self._roles.joined(given.get("algorithm", label), given, unsaid)
            for label, given in self.comparison["algorithms"].items()
        }

    def _read(self, key: str, value: Any) -> Any:
        """What the file of a parameter holds, where the algorithms do not read it themselves."""
        if key in NESTED and isinstance(value, Mapping):
            table = self._read_all(value)
            return transaction_of(table) if key == "transaction" else table
        if not isinstance(value, Path) or key not in ("constraints", "utility", "weights"):
            return value
        if key == "constraints":
            return constraint_list(value, self.items)
        return read_weights(value) if key == "weights" else read_columns(value, ["item", "block"])

    def _read_all(self, given: Mapping[str, Any]) -> dict[str, Any]:
        return {key: self._read(key, value) for key, value in given.items()}


def _leaves(given: Mapping[str, Any]) -> Iterator[Any]:
    """The values of a table, and of those within."""
    for value in given.values():
        yield from _leaves(value) if isinstance(value, Mapping) else [value]
