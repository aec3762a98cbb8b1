"""Policies: a release as a file that people can read and approve, and run again."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import partial
from itertools import chain
from os import PathLike, path
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.accessors import ByPerson
from pdanon.algorithms.preparation import Prepared, check_steps, prepare
from pdanon.algorithms.registry import (
    ALGORITHMS,
    REQUEST_PARAMETERS,
    Parameters,
    algorithm,
    of_lists,
    parameters_of,
    read_named_request,
    region_parameters,
    takes_guarantee,
    text_parameters,
)
from pdanon.cli import schema
from pdanon.cli.releases import bound_function, release_table, release_writers
from pdanon.errors import ColumnError, ParameterError, ReleaseWarning, mask_credentials, refuse, warn
from pdanon.evaluation.comparison import Texts, compare, list_tasks
from pdanon.evaluation.evidence import paths_of
from pdanon.evaluation.fingerprint import fingerprint
from pdanon.guarantees.promises import REQUIRED, check_sensitive
from pdanon.io.files import check_replaceable, locate, locate_target, refuse_credentials, suffix_of
from pdanon.io.lines import describe_texts, is_lines, is_text
from pdanon.io.tables import (
    Form,
    check_distinct,
    is_csv,
    person_texts,
    read_secret,
    suffix_hint,
    write_confidential,
    write_whole,
)
from pdanon.io.trees import ParquetTree, check_absent
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.cards import HEAD
from pdanon.itemsets.columns import is_list_column
from pdanon.itemsets.threads import config
from pdanon.itemsets.validation import (
    check_count,
    check_flag,
    check_frame,
    check_kind,
    check_known,
    check_path,
    check_text,
    is_integer,
    is_uri,
    list_first,
    read_list,
)
from pdanon.recoding.labels import check_labels
from pdanon.recoding.release import check_max_loss
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import index_levels
from pdanon.stream import Streamed

__all__ = ["Policy"]

_BY_ROLE = dict.fromkeys(("column", "quasi", "keep"), "columns")
_BY_ROLE |= dict.fromkeys(("hierarchy", "hierarchies"), "hierarchies")
_BY_ROLE |= dict.fromkeys(("unit", "item"), "input")
_SUFFIXES = {  # of files, other than those of tables
    "input": (".parquet", ".csv", ".tsv", ".jsonl"),
    "report": (".html",),
    "evidence": (".json", ".html"),
}
_MOST_NAMED = 20  # columns in a message
_NO_ROLE = (
    "name them in [columns] as quasi, as keep (published as they are) or as drop; index is an index without "
    "a name"
)


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False)
class Policy:
    """Specification of a release: the input, the anonymization and the outputs. `from_toml` reads one.

    Parameters
    ----------
    input : pathlib.Path, or str
        The table: ``.parquet``, also as a URI, ``.csv``, ``.tsv`` (these also with ``.gz``) or ``.jsonl``.
    algorithm : str, optional
        Name of the algorithm. Without it `pdanon.anonymize` tries those with the guarantee. A comparison
        needs none.
    parameters : dict
        Parameters of the algorithm, except the columns: their roles specify those. Without an algorithm,
        ``k`` and other parameters of `pdanon.anonymize`. Also ``processes``, as in `config`.
    items : str, optional
        The list column. By default the only one.
    quasi, drop : list of str
        Quasi-identifiers, and columns that are not published.
    hierarchies : dict
        By column, the path of a hierarchy, or the fan-out of a balanced one.
    separator : str, optional
        The separator of items in CSV files.
    outputs : dict
        Paths of ``release``, ``classes``, ``mapping``, ``legend``, ``loss``, ``report``, ``evidence``,
        ``comparison`` and ``links``. Only outputs with a path are written. With ``links`` also ``secret``,
        the secret key of the series, which is read if it exists.
    comparison : dict
        Arguments of `compare`: ``algorithms, vary, measures, resume``; and ``processes``, as in `config`.
    source : pathlib.Path, optional
        The file of the policy.
    keep : list of str
        Unmodified columns, published without a warning.
    form : dict
        The form of the table. With one row per item: ``by`` and ``item``, or ``unit`` and ``item`` to
        publish lines again; then ``parameters`` may set ``counts``. With one column per item: ``onehot`` or
        ``prefix``, and ``tick``. With one column per place of an item: ``wide``. For lists of objects:
        ``field``. For missing items in lists: ``missing``, ``"refuse"`` or ``"drop"``. With ``by``:
        ``conflicts``, ``"refuse"`` or ``"first"``. For CSV: ``delimiter``, ``encoding``, ``no_header``, and
        ``separator`` if it differs from that of the release. For CSV and JSON lines: ``types``, such as
        ``{"age": "integer"}``; other columns of CSV are text.
    prepare : dict
        Steps before the release by column, as for `pdanon.prepare`; ``weights`` is the path of a table with
        columns ``item, weight``.
    head : dict
        Texts for the head of the report and of the evidence: ``title, dataset, purpose, recipient,
        prepared_by, approved_by, note``.

    Notes
    -----
    Each column needs a role, and so does an index that does not only count the rows: otherwise it is refused,
    not published. In a table without lists, columns without a role are not read.

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
    outputs: dict[str, Path | str] = field(default_factory=dict)
    comparison: dict[str, Any] = field(default_factory=dict)
    source: Path | None = None
    keep: list[str] = field(default_factory=list)
    form: dict[str, Any] = field(default_factory=dict)
    head: dict[str, str] = field(default_factory=dict)
    prepare: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def from_toml(cls, file: str | PathLike[str]) -> Policy:
        """Read a policy, and check it without reading the table.

        Parameters
        ----------
        file : path
            A TOML file. Paths in it are relative to its directory.

        Returns
        -------
        Policy

        Raises
        ------
        FormatError, ParameterError
            If the file cannot be read, or is not TOML. If a key is unknown or has a wrong type, the
            algorithm, a parameter or a role is not possible, or two names belong to one file.
        """
        source = Path(check_path(file, "file"))
        return cls(**schema.read_toml(source), source=source)

    def run(self, frame: pd.DataFrame | None = None) -> Anonymized:
        """Read the table and anonymize it, without writing any file.

        Parameters
        ----------
        frame : pandas.DataFrame, optional
            The table that `read` returned. By default it is read now.

        Returns
        -------
        Anonymized
            The audited release.

        Raises
        ------
        PdanonError
            If the table cannot be read, a column has no role, the algorithm fails, or the release exceeds a
            bound of ``max_loss``.
        """
        options = self._options()
        frame = self.read() if frame is None else check_frame(frame)
        with config(processes=self.parameters.get("processes", ...)):
            return release_table(self._prepare(frame), self.algorithm, self.items, self._unit, options)

    @property
    def is_streamed(self) -> bool:
        """Whether the input is a directory of Parquet files, or a path with wildcards."""
        text = str(self.input)
        if is_uri(text):  # where ? begins the query
            return "*" in text or not is_lines(text)
        return path.isdir(text) or (any(mark in text for mark in "*?[") and not path.exists(text))

    def run_stream(self, *, overwrite: bool = False, allow_outside: bool = False) -> Streamed:
        """Anonymize a directory of Parquet files in parts, and write the release and the mapping.

        Parameters
        ----------
        overwrite, allow_outside : bool
            As `check_outputs`. An existing release is never replaced.

        Returns
        -------
        Streamed
            The result of `pdanon.stream.anonymize`.

        Raises
        ------
        PdanonError
            If the files cannot be read, a column has no role, or the algorithm fails.
        """
        if "release" not in self.outputs:
            hint = 'release = "released"'
            raise ParameterError("the policy names no release", where=self._place("outputs"), hint=hint)
        self.check_outputs(self.outputs.values(), overwrite=overwrite, allow_outside=allow_outside)
        frame = ParquetTree.find(self.input).empty_frame()
        self._check_present(frame.columns)
        if not self._unit:  # a release of persons with several rows drops all other columns
            self._select_published(frame)
        options = {"drop": self.drop, "keep": self.keep, "mapping": self.outputs.get("mapping")}
        options |= self._options()
        released = bound_function(self.algorithm or "anonymize", self.input, self.items, self._unit)
        with config(processes=self.parameters.get("processes", ...)):
            return released(self.outputs["release"], **options)

    def compare(self, *, allow_outside: bool = False) -> pd.DataFrame:
        """Run the comparison of the policy with `pdanon.compare`, and write only the file of ``resume``.

        Parameters
        ----------
        allow_outside : bool
            Let the file of ``resume`` be outside the directory of the policy.

        Returns
        -------
        pandas.DataFrame
            One row per configuration. If the policy names no algorithm and compares none, the
            configurations that `pdanon.anonymize` tried: ``tried`` of its result.
        """
        if not any(self.comparison.values()) and self.algorithm is None and self.parameters:
            tried = self.run().tried
            return pd.DataFrame() if tried is None else tried
        if not self.comparison.get("algorithms"):
            hint = "add a table for each algorithm, which may be empty: [compare.algorithms.pcta]"
            raise ParameterError("the policy compares nothing", where=self._place("compare"), hint=hint)
        if "resume" in self.comparison:
            self.check_outputs([self.comparison["resume"]], overwrite=True, allow_outside=allow_outside)
        read = partial(schema.read_parameter, self.items)
        configurations = {
            label: schema.change_all(read, own) for label, own in self._configurations().items()
        }
        vary = schema.change_varied(read, self.comparison.get("vary", {}))
        others = self.comparison.keys() - {"algorithms", "vary", "processes"}
        options = {name: self.comparison[name] for name in others} | {"vary": vary, "column": self.items}
        with config(processes=self.comparison.get("processes", ...)):
            return compare(self._prepare(self.read()).frame, Texts(configurations), **options)

    def read(self) -> pd.DataFrame:
        """Read the table without dropped columns.

        Returns
        -------
        pandas.DataFrame

        Raises
        ------
        ColumnError
            If the table lacks a column of the policy, or one of its columns has no role.
        """
        columns = [*self.quasi, *self.keep]
        frame = self._form.read(self.input, columns).frame
        texts = describe_texts(
            frame,
            self.input,
            'types = {{ {} = "{}" }} in [input]',
            quasi=self.quasi,
            trees=self.hierarchies,
            keep=self.keep,
            only_times=bool(self._unit),
        )
        for each in texts:
            warn(ReleaseWarning(each))
        levels = [name for _, name in index_levels(frame)]
        self._check_present([*frame.columns, *levels, *(self.drop if self._form.drops_columns else [])])
        if self._unit:  # a release of persons with several rows drops columns without a role
            return frame.drop(columns=[name for name in self.drop if name in frame.columns])
        return self._select_published(frame)

    def _prepare(self, frame: pd.DataFrame) -> Prepared:
        return prepare(frame, schema.read_steps(self.prepare)).keep(*self.keep)

    def _check_present(self, present: Iterable[Any]) -> None:
        if absent := [name for name in self._columns if name not in [*present]]:
            raise ColumnError(f"the table lacks columns {absent}", where=str(self.input))

    @property
    def inputs(self) -> list[Path | str]:
        """The files to read: the policy itself, the table, hierarchies and files of parameters."""
        compared = [self.comparison.get(name, {}) for name in ("algorithms", "vary")]
        files = [self.source, self.input, self.hierarchies, self._known_secret, self.parameters]
        values = _leaves([*files, *compared, self.prepare])
        return list(dict.fromkeys(file for file in values if isinstance(file, Path) or file is self.input))

    @property
    def files(self) -> dict[str, Path | str]:
        """The files of the outputs, by name. The page of the evidence is beside its JSON."""
        known = self._known_secret
        files = {name: file for name, file in self.outputs.items() if file is not known}
        if "evidence" not in files:
            return files
        facts, page = paths_of(files["evidence"])
        return files | {"evidence": facts, "page": page}

    @property
    def _known_secret(self) -> Path | None:
        """The file of the secret key, unless it is to be written."""
        file = self.outputs.get("secret")
        return file if isinstance(file, Path) and file.exists() else None

    def check_outputs(
        self, files: Iterable[Path | str], *, overwrite: bool = False, allow_outside: bool = False
    ) -> None:
        """Check that the caller allows the policy to write its files.

        Parameters
        ----------
        files : iterable of path
            The files to write.
        overwrite : bool
            Replace existing files.
        allow_outside : bool
            Write files outside the directory of the policy, after links are resolved.

        Raises
        ------
        ParameterError, FormatError
            If a file exists, is outside, or is not a regular file.
        """
        check_flag(overwrite, "overwrite")
        check_flag(allow_outside, "allow_outside")
        for file in (check_path(each, "files") for each in read_list(files, "files", what="a list of paths")):
            if self.source is not None and not allow_outside:
                real = file if is_uri(file) else path.realpath(file)
                if is_uri(file) or Path(path.realpath(self.source.parent)) not in Path(real).parents:
                    hint = "pass --allow-outside (allow_outside=True) if the policy may write there"
                    problem = "an output is outside the directory of the policy"
                    raise ParameterError(problem, where=self._place("outputs"), got=real, hint=hint)
            if self.is_streamed and locate(file) == self.outputs.get("release"):
                check_absent(locate(file))  # a directory cannot be replaced in one step
            else:
                check_replaceable(file, overwrite=overwrite)

    def write(
        self,
        result: Anonymized,
        original: pd.DataFrame | None = None,
        *,
        overwrite: bool = False,
        allow_outside: bool = False,
    ) -> None:
        """Write the outputs of the policy: all or none, and the release last.

        Parameters
        ----------
        result : Anonymized
            The result of `run`.
        original : pandas.DataFrame, optional
            The table that `read` returned. The report then shows its risk and its fingerprint. Links need it.
        overwrite, allow_outside : bool
            As `check_outputs`.
        """
        check_kind(result, Anonymized, "result", "a result, such as run() returns")
        persons: list[str] = []
        if "links" in self.outputs:
            table, named = self._form.read_with_persons(self.input, [*self.quasi, *self.keep])
            if original is None or fingerprint(table.frame) != fingerprint(original):
                what = "the links need the original as its file has it"
                hint = "pass the table of the release: original = policy.read(), and run and write with it"
                raise ParameterError(what, where="original", hint=hint)
            persons = person_texts(named)
        files, confidential = release_writers(
            result,
            None if original is None else self._prepare(original).frame,
            self.outputs,
            persons,
            form=self._form,
            separator=self.separator,
            head=self.head,
        )
        self.check_outputs([*files], overwrite=overwrite, allow_outside=allow_outside)
        write_whole(files, confidential, overwrite=overwrite)

    def write_comparison(
        self, table: pd.DataFrame, *, overwrite: bool = False, allow_outside: bool = False
    ) -> None:
        """Write the table of `compare`, if the policy names a file for it.

        Parameters
        ----------
        table : pandas.DataFrame
            The result of `compare`.
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
        self._check_unit()
        self._check_links()
        check_steps(self.prepare, self._place("prepare"))
        check_labels(self.parameters.get("labels", "set"))
        self._check_columns()
        self._check_files()
        if self.algorithm is not None:
            self._check_algorithm(self.algorithm)
        elif self.parameters:
            self._check_request()
        if self.comparison.get("algorithms"):
            for task in list_tasks(Texts(self._configurations()), self.comparison.get("vary", {})):
                schema.check_transaction(task.parameters)

    def _check_types(self) -> None:
        """Check the type of each attribute, and convert texts to paths."""
        if self.source is not None:
            check_path(self.source, "source")
        object.__setattr__(self, "input", locate(check_path(self.input, "input")))
        refuse_credentials(str(self.input), self._place("input"))
        for name in ("parameters", "hierarchies", "outputs", "comparison", "form", "head", "prepare"):
            schema.check_depth(check_kind(getattr(self, name), dict, name, "a dict"), name)
        schema.check_keys(self.form, "input", self._place("input"))
        for name, text in self.head.items():
            check_known(name, HEAD, "text of a head", where=self._place("head"))
            check_text(text, name)
        for name in ("quasi", "keep", "drop"):
            check_kind(getattr(self, name), list, name, "a list of column names")
        for name in ("algorithm", "items", "separator"):
            if getattr(self, name) is not None:
                check_text(getattr(self, name), name)
        for column, tree in self.hierarchies.items():
            if not is_integer(tree):
                check_path(tree, f"the hierarchy of {column!r}")
        schema.check_comparison(self.comparison, self._place("compare"))
        for table in (self.parameters, self.comparison):
            check_count(table.get("processes", 1), "processes", least=1)
        outputs, where = {}, self._place("outputs")
        for name, file in self.outputs.items():
            check_known(name, schema.OUTPUTS, "output of a policy", where=where)
            if is_uri(check_path(file, name)) and name != "release":
                hint = "name a file on this machine; only the release is written to a URI"
                raise ParameterError("an output is a URI", where=where, got=file, hint=hint)
            outputs[name] = locate_target(file, where)
        object.__setattr__(self, "outputs", outputs)

    def _check_request(self) -> None:
        """Check the parameters of a policy without an algorithm."""
        where = self._place("parameters")
        for key in self._parameters:
            check_known(
                key, REQUEST_PARAMETERS, "parameter of anonymize, as no algorithm is named", where=where
            )
        hint = "set k, or rho or p with sensitive, or algorithm = ... to run only that one"
        asked = REQUIRED & self.parameters.keys()
        refuse((not asked, "the policy names no algorithm, and no k", hint), where=where)
        check_sensitive(self.parameters, where)
        adds = "p" in self.parameters
        self._check_classes("cahd" if adds else "this policy", adds=adds, repeats=False)

    def _check_algorithm(self, name: str) -> None:
        accepted = text_parameters(name)
        self._check_protected(name)
        if self._unit and not hasattr(ByPerson, name):
            hint = "choose another algorithm, such as pcta; or set by instead of unit"
            raise ParameterError(f"{name} takes no unit", where=self._place("input"), hint=hint)
        parameters = self._merge_parameters(name, self._parameters)
        check_max_loss(parameters.pop("max_loss", None))
        parameters.pop("labels", None)
        engine = region_parameters(name) if self.is_streamed else []
        own = {key: value for key, value in parameters.items() if key in accepted or key not in engine}
        list_tasks(Texts({name: own}), {})
        if takes_guarantee(algorithm(name)):
            check_sensitive(own, self._place("parameters"), known=("l",))
        schema.check_transaction(parameters)
        record, where = ALGORITHMS[name], self._place("parameters")
        named = "labels" in self.parameters and not record.publishes_sets
        refuse((named, f"{name} publishes no sets of items", "leave labels out"), where=where)
        self._check_classes(name, adds=bool(record.adds), repeats=record.recodes == "chunks")

    def _check_unit(self) -> None:
        """Check that all entries go with a table in which a person has several rows."""
        counts = check_flag(self.parameters.get("counts", False), "counts")
        unit, hint = "unit" in self.form, 'name the column of the persons in [input]: unit = "customer"'
        others = {"quasi": self.quasi, "[compare]": any(self.comparison.values())}
        others |= {name: name in self.outputs for name in ("report", "evidence", "classes", "links")}
        gather = "set by instead of unit, which gathers the lines to one row per person"
        refuse(
            (counts and not unit, "counts needs unit", hint),
            (
                unit and any("max_items" in own for own in self.prepare.values()),
                "max_items and unit do not go together",
                gather,
            ),
            *(
                (unit and is_set, f"{name} and unit do not go together", gather)
                for name, is_set in others.items()
            ),
            where=self._place(),
        )

    def _check_links(self) -> None:
        """Check that links have persons, and a secret key that the next releases share."""
        asked, record = {"links", "secret"} & self.outputs.keys(), ALGORITHMS.get(self.algorithm or "")
        both = 'set both: links = "january-links.parquet" and secret = "series.key"'
        hint = 'name the columns that identify the person of a row: by = "customer" in [input]'
        parts = f"{self.algorithm} publishes parts of rows, which have no links"
        refuse(
            (len(asked) == 1, "links and secret go together", both),
            (asked and "by" not in self.form, "links need by", hint),
            (asked and record is not None and record.recodes == "chunks", parts, None),
            where=self._place("outputs"),
        )
        if self._known_secret is not None:
            read_secret(self._known_secret)

    def _check_classes(self, name: str, *, adds: bool, repeats: bool) -> None:
        """Check that the second table of a release has a file, unless the rows repeat its counts."""
        outputs, hint = self.outputs, 'name its file: classes = "counts.parquet"'
        lacks, extra = "classes" not in outputs and "release" in outputs, "classes" in outputs
        none = "releases by cahd and disassociate have one"
        refuse(
            (adds and lacks, f"{name} publishes a second table, of counts", hint),
            (extra and not adds and not repeats, f"{name} publishes no second table", none),
            where=self._place("outputs"),
        )

    def _check_stream(self) -> None:
        """Check that a release in parts needs neither all rows at once nor another form."""
        others = [name for name in self.outputs if name not in ("release", "mapping")]
        where, hint = self._place(), "read one file, or leave it out: a directory is read in parts"
        form = {name: value for name, value in self.form.items() if not self._unit or name not in self._unit}
        named = 'name one, such as algorithm = "rum_bound"; a sample chooses only for items'
        unread = {"keep": self._unit and self.keep, "[input]": any(form.values())}
        unread |= {"[compare]": any(self.comparison.values()), "[prepare]": self.prepare}
        refuse(
            (self.quasi and self.algorithm is None, "quasi in parts needs an algorithm", named),
            *((is_set, f"{name} needs all rows at once", hint) for name, is_set in unread.items()),
            where=where,
        )
        if others:
            got = ", ".join(others)
            raise ParameterError("an output needs all rows at once", where=where, got=got, hint=hint)

    def _check_files(self) -> None:
        if self.is_streamed:
            return self._check_stream()
        tables = {name: file for name, file in self.outputs.items() if name != "secret"}
        for name, file in {"input": self.input, **tables}.items():
            allowed = _SUFFIXES.get(name, (".parquet", ".csv"))
            if not (is_lines(file) if name == "input" else suffix_of(file) in allowed):
                problem = f"{name} must end in {' or '.join(allowed)}"
                hint = suffix_hint(file, written=name != "input")
                raise ParameterError(problem, where=self._place(), got=str(file), hint=hint)
        for file in (each for each in self.files.values() if isinstance(each, Path)):
            if file.is_dir() or not file.parent.is_dir():
                problem = "is a directory" if file.is_dir() else "is in a directory that does not exist"
                raise ParameterError(f"an output {problem}", where=self._place("outputs"), got=str(file))
        files = [*self.inputs, self.comparison.get("resume")]
        inputs = {path.realpath(check_path(file)): file for file in files if isinstance(file, Path)}
        for file in {*inputs.values(), self.input}:
            check_distinct({**self.files, "an input": file}, "entries of the policy")
        lists = is_text(self.input) and not self._form.has_no_joined_text
        lacking = [self.input] if lists and self._form.separator is None else []
        release = self.outputs.get("release")
        if release is not None and is_csv(release) and self.separator is None and not self._form.has_lines:
            lacking.append(release)
        if lacking:
            hint = "set the separator of the items, such as separator = ' '; it is never guessed"
            raise ParameterError("a CSV file needs a separator", where=str(lacking[0]), hint=hint)
        if lists and self.items is None:
            hint = "name the column of the items: items = ... in [columns]"
            raise ParameterError("a CSV file needs a column", where=str(self.input), hint=hint)

    @property
    def _form(self) -> Form:
        by = self.form.get("by", ())
        form = {**self.form, "by": [by] if isinstance(by, str) else by}
        return Form(**{"separator": self.separator} | form, column=self.items)

    @property
    def _unit(self) -> Parameters:
        """The parameters of a table in which a person has several rows, or none."""
        if "unit" not in self.form:
            return {}
        counts = self.parameters.get("counts", False)
        return {"unit": self.form["unit"], "item": self.form.get("item"), "counts": counts}

    @property
    def _parameters(self) -> Parameters:
        """The parameters of the algorithm alone."""
        return {k: each for k, each in self.parameters.items() if k not in ("counts", "processes")}

    def _place(self, table: str = "") -> str:
        return f"{self.source or 'policy'}{f', [{table}]' if table else ''}"

    # --- Roles of columns, and the parameters that they set

    @property
    def _columns(self) -> list[str]:
        """The columns with a role."""
        items = [] if self.items is None else [self.items]
        return [*items, *self.quasi, *self.keep, *self.drop]

    def _check_columns(self) -> None:
        """Check the roles of columns, and that only items and quasi-identifiers have hierarchies."""
        parameters = self.parameters.keys() | schema.table_of(self.parameters.get("transaction")).keys()
        for key in parameters & _BY_ROLE.keys():
            hint = f"move it to [{_BY_ROLE[key]}]"
            raise ParameterError("the role of a column sets this", where=f"parameter {key}", hint=hint)
        where, names = self._place("columns"), self._columns
        if not all(isinstance(name, str) for name in names):
            raise ParameterError("a role must be a list of column names", where=where)
        if len(set(names)) < len(names):
            twice = sorted({name for name in names if names.count(name) > 1})
            raise ParameterError("a column has two roles", where=where, got=twice)
        where = self._place("hierarchies")
        for name in self.hierarchies:
            if self.items is None and not self.quasi:
                hint = "name the list column as well: items = ... in [columns]"
                raise ParameterError("a hierarchy belongs to no named column", where=where, hint=hint)
            known = [*filter(None, [self.items]), *self.quasi]
            check_known(name, known, "column with a hierarchy", where=where)

    def _check_protected(self, name: str) -> None:
        """Check that an algorithm protects the list column and the quasi-identifiers."""
        refuse(
            (
                self.items is not None and not of_lists(algorithm(name)),
                f"{name} does not protect a list column",
                "choose an algorithm for lists, or give the column another role",
            ),
            (
                self.keep and ALGORITHMS[name].recodes == "chunks",
                f"{name} publishes no other column",
                "give the columns the role drop: parts of rows cannot be linked to them",
            ),
            (
                self.quasi and "quasi" not in parameters_of(algorithm(name)),
                f"{name} does not protect quasi-identifiers",
                "choose an algorithm that takes quasi, or give the columns another role",
            ),
            where=self._place(),
        )

    def _merge_parameters(self, name: Any, own: schema.Table, varied: Iterable[str] = ()) -> Parameters:
        """Return the parameters of an algorithm, or of a request: its own, then those of the roles."""
        # Roles set no parameter that the algorithm does not take, or that is varied.
        tree = self.hierarchies.get(self.items or "")
        relational = {column: tree for column, tree in self.hierarchies.items() if column != self.items}
        values = {"quasi": self.quasi, "hierarchies": relational, "hierarchy": tree}
        parameters = {key: value for key, value in values.items() if value}
        if name is not None:
            accepted = text_parameters(name).keys() - {*varied}
            parameters = {key: value for key, value in parameters.items() if key in accepted}
        if tree and "transaction" in own:
            own = {**own, "transaction": schema.add_tree(own["transaction"], tree)}
        return {**parameters, **own}

    def _select_published(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Drop columns, and refuse the table if any other column has no role."""
        levels = [level for level, name in index_levels(frame) if name in self.drop]
        frame = frame.reset_index(levels, drop=True) if levels else frame
        frame = frame.drop(columns=[name for name in frame.columns if name in self.drop])
        columns = [name for i, name in enumerate(frame.columns) if is_list_column(frame.iloc[:, i])]
        settings = [self.parameters, *self.comparison.get("algorithms", {}).values()]
        known = [*self._columns, *chain.from_iterable(map(schema.list_columns_of, settings))]
        reads_lists = self.algorithm is None or of_lists(algorithm(self.algorithm))
        if self.items is None and len(columns) == 1 and reads_lists:  # then it needs no role
            known += columns
        names = [*frame.columns, *(name for _, name in index_levels(frame))]
        strange = [name for name in names if name not in known]
        if strange:
            got = list_first([*map(repr, strange)], _MOST_NAMED)
            raise ColumnError("columns have no role", where=self._place("columns"), got=got, hint=_NO_ROLE)
        return frame

    # --- Parameters of an algorithm

    def _options(self) -> Parameters:
        """Return the arguments of the algorithm, or of a request, with the files that they name."""
        if self.algorithm is None:
            self._check_request()
        own = self._merge_parameters(self.algorithm, self._parameters)
        options = schema.change_all(partial(schema.read_parameter, self.items), own)
        if self.algorithm is not None:
            options = read_named_request(self.algorithm, options)
        return options

    def _configurations(self) -> dict[str, Parameters]:
        """Return the configurations to compare, with the parameters that the roles of columns set."""
        unset = self.comparison.get("vary", {})
        return {
            label: self._merge_parameters(own.get("algorithm", label), own, unset)
            for label, own in self.comparison["algorithms"].items()
        }


def _leaves(values: Iterable[Any]) -> Iterator[Any]:
    """Yield values, and instead of tables those in them."""
    for value in values:
        yield from _leaves(value.values()) if isinstance(value, Mapping) else [value]
