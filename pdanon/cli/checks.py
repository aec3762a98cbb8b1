"""Checks of arguments and files before any file is read."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd

from pdanon.algorithms.preparation import Prepared, check_steps, prepare
from pdanon.algorithms.registry import ALGORITHMS, functions
from pdanon.cli.options import TABLES, Arguments, flag
from pdanon.cli.output import note, stage
from pdanon.cli.schema import read_parameter, read_steps
from pdanon.errors import ParameterError, mask_credentials, read_safely, refuse
from pdanon.evaluation.evidence import paths_of as evidence_paths
from pdanon.evaluation.readings import RawProfile, describe_raw
from pdanon.guarantees.parameters import DefaultNumber
from pdanon.guarantees.promises import REQUIRED, check_sensitive
from pdanon.guarantees.sensitive_groups import GROUP
from pdanon.io.files import check_replaceable, locate, locate_target, suffix_of
from pdanon.io.grouping import MEMORY, group_lines
from pdanon.io.lines import Table, describe_texts, is_lines, is_parquet, is_text, read_raw_text
from pdanon.io.tables import (
    Form,
    check_distinct,
    is_csv,
    person_texts,
    read_secret,
    suffix_hint,
)
from pdanon.io.trees import check_absent
from pdanon.itemsets.chunks import NAMES
from pdanon.itemsets.validation import is_uri

_FORM = tuple(each.name for each in fields(Form))

_OF_ROWS = ("quasi", "previous", "chunks", "classes", "report", "evidence", "links")  # of one row per person

_SEPARATOR = "pass the separator of the items, such as --separator ' '; it is never guessed"

_FITS = "drop --stream if the table fits into memory"
_STREAMS = "--stream reads directories of Parquet files, in anonymize, audit, profile and risk"


def passed_form(arguments: Arguments) -> dict[str, Any]:
    """Return the arguments that specify the form of a table."""
    return {name: value for name in _FORM if (value := getattr(arguments, name)) is not None}


def form_of(arguments: Arguments) -> Form:
    """Return the form of a table as the arguments specify it."""
    form = passed_form(arguments)
    types = dict(form.get("types", ()))
    if arguments.command == "audit" and is_text(arguments.source):
        types |= number_types(chunks=arguments.chunks, groups=arguments.classes is not None)
    return Form(**form | {"types": types or None})


def number_types(*, chunks: bool, groups: bool) -> dict[str, str]:
    """Return the types of the columns that number the chunks or groups of a release."""
    return dict.fromkeys(NAMES if chunks else (GROUP,) if groups else (), "integer")


def unit_of(arguments: Arguments) -> dict[str, Any]:
    """Return the parameters of a table in which a person has several rows, or none."""
    if arguments.unit is None:
        return {}
    names = ("unit", "item", "counts")
    return {name: getattr(arguments, name) for name in names if name in arguments}


def is_raw(arguments: Arguments) -> bool:
    """Return whether a command describes a CSV file whose form is not specified."""
    known = passed_form(arguments).keys() <= {"delimiter", "encoding"}
    is_unknown = arguments.command == "profile" and known
    return is_unknown and not arguments.stream and is_text(arguments.source)


def has_no_items(arguments: Arguments) -> bool:
    """Return whether an audit is of quasi-identifiers alone, in a text file whose form names no items."""
    of_columns = arguments.command == "audit" and arguments.quasi and isinstance(arguments.m, DefaultNumber)
    reading = {"delimiter", "encoding", "types", "no_header"}
    alone = not (passed_form(arguments).keys() - reading or arguments.sensitive)
    return bool(of_columns and alone and is_text(arguments.source))


def describe_file(arguments: Arguments) -> RawProfile:
    """Describe a CSV file whose form is not specified, and the forms that fit."""
    path = arguments.source
    with stage(f"reading {path}"):
        table, has_header = read_raw_text(path, arguments.delimiter, arguments.encoding or "utf-8")
        known = passed_form(arguments) | ({} if has_header else {"no_header": True})
        read = lambda form: Form(**form).read(path).frame  # noqa: E731
        frame = _note(table, path, arguments)
        return describe_raw(frame, k=arguments.k, known=known, convert=read)


def words_of(form: Mapping[str, Any]) -> list[str]:
    """Return the options that specify the fields of a form."""
    words = []
    for name, value in form.items():
        values = [] if value is True else [value] if isinstance(value, str) else value
        words += [flag(name), *("=".join(each) if name == "types" else str(each) for each in values)]
    return words


def steps_of(arguments: Arguments) -> dict[Hashable, dict[str, Any]]:
    """Return the steps of a preparation as the arguments specify them."""
    steps: dict[Hashable, dict[str, Any]] = {}
    for name, step, value in arguments.prepare or ():
        steps.setdefault(name, {})[step] = value
    return check_steps(steps, "--prepare")


def prepare_read(frame: pd.DataFrame, arguments: Arguments) -> Prepared:
    """Prepare a table that was read."""
    return prepare(frame, read_steps(steps_of(arguments)))


def repeated_words(arguments: Arguments) -> list[str]:
    """Return the input, a name for the output and the options of the form, for another command."""
    form, passed = form_of(arguments), passed_form(arguments)
    if form.has_no_lists:
        passed.pop("column", None)
    if form.drops_columns and arguments.keep is not None:
        passed["keep"] = arguments.keep
    options = words_of(passed)
    steps = [f"{name}.{step}={value}" for name, step, value in arguments.prepare or ()]
    options += ["--prepare", *steps] if steps else []
    words = [mask_credentials(str(arguments.source)), "released.parquet", *options]
    return [*words, "--stream"] if arguments.stream else words


def check_form(arguments: Arguments) -> None:
    """Check the form of a table, and note the name of its list column."""
    check_table(arguments)
    form = form_of(arguments)
    form.check(arguments.source, flag)
    check_unit(arguments)
    arguments.column = form.lists
    steps_of(arguments)


def check_unit(arguments: Arguments) -> None:
    """Check that all options go with a table in which a person has several rows."""
    unit = arguments.unit is not None
    hint = "pass the column that identifies the person of a row, such as --unit customer"
    gather = "pass --by instead, which gathers the lines to one row per person"
    lines = unit and arguments.item is not None
    refuse(
        (arguments.counts and not unit, "--counts needs --unit", hint),
        *(
            (unit and getattr(arguments, name), f"{flag(name)} and --unit do not go together", gather)
            for name in _OF_ROWS
        ),
        (
            unit and any(step == "max_items" for _, step, _ in arguments.prepare or ()),
            "max_items and --unit do not go together",
            gather,
        ),
        (lines and arguments.join is not None, "--join is of lists, and lines are published", "leave it out"),
    )


def check_table(arguments: Arguments) -> None:
    """Check that the input and the output are single tables, as required without --stream."""
    path = arguments.source
    if not is_lines(path):
        hint = suffix_hint(path) or (None if Path(path).suffix else _STREAMS)
        raise ParameterError(f"'{path}' must end in .parquet, .csv, .tsv or .jsonl", where="IN", hint=hint)
    if not is_uri(path):  # a missing file is reported before a wrong form
        kind = "CSV" if is_text(path) else "Parquet" if is_parquet(path) else "JSON lines"
        read_safely(lambda: os.stat(path), path, kind)
    target = arguments.target
    if isinstance(target, Path) and target.is_dir():
        hint = "name a file in it; with --stream, a path that does not exist yet"
        raise ParameterError(f"'{target}' is a directory", where="OUT", hint=hint)
    if target is not None and suffix_of(target) not in TABLES:
        hint = suffix_hint(target, written=True) or (None if Path(target).suffix else _STREAMS)
        raise ParameterError(f"'{target}' must end in .parquet or .csv", where="OUT", hint=hint)
    arguments.source = locate(path)


def check_files(arguments: Arguments) -> None:
    """Check the paths of all files before any is read."""
    if arguments.target is not None:
        arguments.target = locate_target(arguments.target, "OUT")
    files = dict(_files_among(vars(arguments)))
    words = {
        "source": "RELEASED" if arguments.command == "audit" else "IN",
        "target": "OUT",
        "page": "--evidence",
    }
    named = (files | outputs_of(arguments)).items()
    check_distinct({words.get(name, flag(name)): file for name, file in named}, "arguments")
    for name, path in outputs_of(arguments).items():
        if name == "target" and arguments.stream:
            check_absent(path)
        else:
            check_replaceable(path, overwrite=arguments.overwrite)
    if arguments.join is not None and not is_csv(str(arguments.target)):
        raise ParameterError("--join needs a release in CSV", where=str(arguments.target))
    shown = arguments.head or (arguments.target and arguments.control)
    if shown and not (arguments.report or arguments.evidence):
        hint = "pass --evidence evidence.json, --report release.html or both"
        raise ParameterError("--head and --control are of a page, and none is written", hint=hint)
    reads_items = not (form_of(arguments).has_no_joined_text or is_raw(arguments) or has_no_items(arguments))
    if is_text(arguments.source) and reads_items:
        _check_separator(arguments)
    if arguments.separator is not None or arguments.join is not None:
        return
    for name in ("threats",) if form_of(arguments).has_lines else ("target", "threats"):
        if name in files and is_csv(files[name]):
            raise lacks_separator(str(files[name]))


def outputs_of(arguments: Arguments) -> dict[str, Path | str]:
    """Return the files that a command writes, by their arguments. The release may be a URI."""
    paths = {name: getattr(arguments, name) for name in arguments.written}
    if paths.get("evidence"):
        paths["evidence"], paths["page"] = evidence_paths(paths["evidence"])
    return {name: path for name, path in paths.items() if path is not None}


def inputs_of(arguments: Arguments) -> list[Path | str]:
    """Return the files that a command reads."""
    return [file for name, file in _files_among(vars(arguments)) if name not in arguments.written]


def _files_among(arguments: dict[str, Any]) -> Iterator[tuple[str, Path | str]]:
    """Yield the arguments that are files, with their names. Only the table can be a URI."""
    trees = {f"hierarchies of {column}": tree for column, tree in arguments.get("hierarchies", ())}
    steps = {f"weights of {name}": value for name, _, value in arguments.get("prepare") or ()}
    for name, value in {**arguments, **trees, **steps}.items():
        if isinstance(value, Path) or (name == "source" and value is not None):
            yield name, value


def lacks_separator(path: str) -> ParameterError:
    """Return the error for a CSV file whose items have no separator."""
    return ParameterError("a CSV file needs --separator", where=path, hint=_SEPARATOR)


def _check_separator(arguments: Arguments) -> None:
    """Check that the column and the separator of items in one text are specified."""
    lacks = [name for name in ("column", "separator") if getattr(arguments, name) is None]
    if lacks:
        hints = {
            "column": "name the column of the items, such as --column items",
            "separator": _SEPARATOR,
        }
        others = "If items have a line each: --by and --item; if they have a column each: --onehot; if each "
        others += f"place has one: --wide; 'pdanon profile {arguments.source}' shows the forms that fit"
        hint = f"{', and '.join(hints[name] for name in lacks)}. {others}"
        flags = " and ".join(map(flag, lacks))
        raise ParameterError(f"a CSV file needs {flags}", where=str(arguments.source), hint=hint)


def check_audit_options(arguments: Arguments) -> None:
    """Check that the arguments of an audit specify one guarantee completely."""
    names = ("k", "quasi", "sensitive", "l", "p", "rho", "classes", "constraints", "rules", "c")
    passed = {name for name in names if getattr(arguments, name) is not None}
    others = passed - {"k"} or arguments.mapping or arguments.stream
    refuse(
        (
            arguments.safe and not arguments.chunks,
            "--safe goes with --chunks",
            "--safe concerns items of different chunks in a release by disassociate",
        ),
        (
            arguments.chunks and others,
            "--chunks goes with -k, -m and --safe alone",
            "run pdanon audit FILE --chunks -k 5 -m 2; such a release has one guarantee, and is read whole",
        ),
        (
            arguments.independent and (arguments.stream or arguments.previous),
            "--independent goes with neither --stream nor --previous",
            "it counts one table in memory",
        ),
    )
    several = arguments.stream or arguments.unit is not None or arguments.previous is not None
    hint = "audit one table with a row per person, or leave out such items before"
    refuse((arguments.suppressed and several, "--suppressed is of one release with a row per person", hint))
    _check_series_options(arguments)
    needs_k = arguments.chunks or not passed & REQUIRED
    hint = "such as -k 5 -m 2; or --rho and --sensitive; or -p, --sensitive and --classes (of cahd)"
    groups = "such as -p 4 --sensitive flu gout --classes counts.parquet"
    mapping = "constraints name original items: pass the mapping of the release"
    lacks_mapping = "constraints" in passed and arguments.mapping is None
    of_items = min(passed & {"rho", "p", "constraints", "rules", "c"}, default="")
    both = of_items and "quasi" in passed
    refuse(
        (needs_k and arguments.k is None, "-k is needed", hint),
        (len(passed & {"p", "classes"}) == 1, "-p, --sensitive and --classes go together", groups),
        (lacks_mapping, "--constraints and --mapping go together", mapping),
        (both, f"--quasi and {flag(of_items)} do not go together", "audit one guarantee after the other"),
    )
    check_sensitive(passed, spelled=flag, known=("rho", "p", "l") if passed & {"rho", "p"} else ("l",))


def _check_series_options(arguments: Arguments) -> None:
    """Check the arguments about several releases, and tell the newest mapping from the earlier ones."""
    files = {"links": arguments.links, "mapping": arguments.mapping}
    n_releases = 1 + len(arguments.previous or ())
    *arguments.earlier_mappings, arguments.mapping = arguments.mapping or [None]
    if arguments.previous is None:
        hint = "pass the earlier releases: --previous january.parquet"
        refuse(
            (arguments.key, "--key goes with --previous", hint),
            (arguments.links, "--links goes with --previous", hint),
            (arguments.earlier_mappings, "several --mapping go with --previous", hint),
        )
        return
    hint = "drop --stream if the tables fit into memory; records in chunks cannot be linked"
    whole = arguments.stream or arguments.chunks
    refuse((whole, "--previous goes with neither --stream nor --chunks", hint))
    if arguments.links and arguments.key is not None:
        raise ParameterError("the persons are named twice", where="--links, --key", hint="pass one of them")
    for name, passed in files.items():
        if passed and len(passed) != n_releases and not (name == "mapping" and len(passed) == 1):
            hint = "pass one for each release, in the order of --previous, and that of RELEASED last"
            got = f"{len(passed)} for {n_releases} releases"
            raise ParameterError(f"{flag(name)} does not fit the releases", got=got, hint=hint)


def check_links(arguments: Arguments) -> None:
    """Check the arguments of links, and count a secret key that does not exist among the written files."""
    links, secret = arguments.links, arguments.secret
    if links is None and secret is None:
        return
    record = ALGORITHMS.get(arguments.algorithm)
    refuse(
        (
            links is None or secret is None,
            "--links and --secret go together",
            "such as --links january-links.parquet --secret series.key, with the same key for all releases",
        ),
        (
            record is not None and record.recodes == "chunks",
            f"{arguments.algorithm} publishes parts of rows, which have no links",
            None,
        ),
        (
            arguments.stream,
            "--stream writes no links",
            "drop --stream if the table fits into memory, as an audit with --previous needs anyway",
        ),
        (
            not arguments.by and arguments.unit is None,
            "--links needs --by",
            "name the columns that identify the person of a row, such as --by customer",
        ),
    )
    if secret.exists():
        read_secret(secret)
    else:
        arguments.written.append("secret")


def check_classes(arguments: Arguments, groups: bool) -> None:
    """Check that the second table of a release has a file, unless the rows repeat its counts."""
    record, file = ALGORITHMS.get(arguments.algorithm), arguments.classes
    adds = groups if record is None else bool(record.adds)
    repeats = record is not None and record.recodes == "chunks"
    what = f"{arguments.algorithm or 'cahd'} publishes a second table, of counts"
    none = "this release has no second table for --classes"
    refuse(
        (adds and file is None, what, "name its file, such as --classes counts.parquet"),
        (file and not adds and not repeats, none, "releases by cahd and disassociate have one"),
    )


def check_parts(arguments: Arguments) -> None:
    """Check that the input of --stream is Parquet with list columns, or lines with one item each."""
    check_unit(arguments)
    call = "pdanon.to_parquet(pdanon.read_parquet(path).txanon.prepare(steps).frame, other)"
    hint = f"{_FITS}; length and period can be prepared file by file, in Python: {call}"
    refuse((arguments.prepare, "--stream takes no --prepare", hint))
    has_unit = arguments.unit is not None
    lines = not has_unit and arguments.item is not None and arguments.command != "audit"
    others = ("conflicts", "onehot", "prefix", "tick", "wide", "field", "missing", "no_header", "join")
    unread = ("by", *(() if has_unit else ("item",)), "types", "delimiter", "encoding", *others)
    what = "--stream reads lists, or lines by --by or --unit and --item, and takes no"
    hint = f"{_FITS}, or write lists with pdanon.to_parquet"
    names = others if lines else unread
    refuse(*((getattr(arguments, name) is not None, f"{what} {flag(name)}", hint) for name in names))
    if lines:
        form_of(arguments).check(arguments.source, flag)
    paths = [*([] if lines else [arguments.source]), arguments.target or ""]
    if csv := [path for path in paths if is_text(path)]:
        convert = "convert the file with pdanon.read_csv and pdanon.to_parquet"
        hint = f"{convert}; only Parquet can be read in parts"
        raise ParameterError("--stream reads no CSV", where=str(csv[0]), hint=hint)
    if arguments.command in ("profile", "risk"):
        names = ("quasi",) if lines else ("quasi", "keep")
        what = "it counts list columns"
        refuse(
            *((getattr(arguments, name), f"--stream takes no {flag(name)}: {what}", _FITS) for name in names)
        )
    if arguments.source and not is_uri(arguments.source):
        arguments.source = Path(arguments.source)


def check_stream(arguments: Arguments) -> None:
    """Check that no option needs all rows at once, and that an algorithm is named if it must be."""
    check_parts(arguments)
    hint = f"pass one of {', '.join(functions('both', 'values'))}; a sample chooses only for items"
    refuse(
        (arguments.quasi and arguments.algorithm is None, "--stream with --quasi needs --algorithm", hint),
        *(
            (getattr(arguments, name), f"--stream writes no {name}, which needs all rows at once", _FITS)
            for name in ("report", "evidence")
        ),
        (
            arguments.legend,
            "--stream writes no legend",
            "pass --mapping FILE; its lines with a changed item are the legend",
        ),
    )


# --- Input of a command: its table in any form, and the files that its options name


def read(path: Path | str, arguments: Arguments, form: Form | None = None) -> pd.DataFrame:
    """Read the table of a command, with one row per person; by default in the form of the arguments."""
    with stage(f"reading {path}"):
        table = (form or form_of(arguments)).read(path, _columns_of(arguments))
    return _note(table, path, arguments)


def read_with_persons(arguments: Arguments) -> tuple[pd.DataFrame, list[str]]:
    """Read the table of a command, and the persons of its rows if it writes links."""
    path = arguments.source
    if arguments.links is None:
        return read(path, arguments), []
    with stage(f"reading {path}"):
        table, persons = form_of(arguments).read_with_persons(path, _columns_of(arguments))
    return _note(table, path, arguments), person_texts(persons)


def _note(table: Table, path: Path | str, arguments: Arguments) -> pd.DataFrame:
    """Print the notes of a table, also on columns that a command generalizes, and return its frame."""
    notes = [*table.notes]
    if arguments.command == "anonymize":
        notes += describe_texts(
            table.frame,
            arguments.source,
            "--types {}={}",
            quasi=arguments.quasi or (),
            trees=dict(arguments.hierarchies or ()),
            keep=arguments.keep or (),
            only_times=arguments.unit is not None,
        )
    for each in notes:
        note(f"{mask_credentials(str(path))}: {each}")
    return table.frame


def _columns_of(arguments: Arguments) -> list[str]:
    """Return the other columns of a table without lists that a command reads."""
    return [*(arguments.quasi or ()), *(arguments.keep or ())]


@contextmanager
def open_table(arguments: Arguments) -> Iterator[pd.DataFrame | Path | str]:
    """Read the table of a command; with --stream, yield its files."""
    source = arguments.source
    if not arguments.stream:
        yield prepare_read(read(source, arguments), arguments).frame
        return
    if arguments.item is None or arguments.unit is not None:
        yield source
        return
    target = arguments.target
    near = target.absolute().parent if isinstance(target, Path) else tempfile.gettempdir()
    with tempfile.TemporaryDirectory(prefix=".pdanon-", dir=near) as directory:
        rows = Path(directory, "rows.parquet")
        with stage("grouping lines"):
            notes = group_lines(
                source,
                rows,
                by=arguments.by,
                item=arguments.item,
                keep=_columns_of(arguments),
                memory=MEMORY,
                types=form_of(arguments).types,
                delimiter=arguments.delimiter,
                encoding=arguments.encoding or "utf-8",
            )
        for each in notes:
            note(f"{mask_credentials(str(source))}: {each}")
        arguments.column = arguments.item
        yield rows


def read_options(options: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Read the files among the options of an algorithm."""
    return {name: read_parameter(arguments.column, name, value) for name, value in options.items()}
