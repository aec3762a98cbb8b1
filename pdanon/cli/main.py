"""The command line: anonymize a file, audit a release, measure a risk, run a policy."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from shlex import quote
from signal import SIGINT
from typing import Any

import pandas as pd

from pdanon import guarantees
from pdanon.algorithms.preparation import prepare
from pdanon.algorithms.registry import ALGORITHMS, Parameters, describe_quasi, read_named_request
from pdanon.cli.checks import (
    check_audit_options,
    check_classes,
    check_files,
    check_form,
    check_links,
    check_parts,
    check_stream,
    check_table,
    describe_file,
    form_of,
    has_no_items,
    inputs_of,
    is_raw,
    lacks_separator,
    number_types,
    open_table,
    outputs_of,
    prepare_read,
    read,
    read_options,
    read_with_persons,
    repeated_words,
    steps_of,
    unit_of,
    words_of,
)
from pdanon.cli.demo import play
from pdanon.cli.options import (
    Arguments,
    describe,
    facts_of_algorithm,
    flag,
    passed_options,
    summarize,
)
from pdanon.cli.output import (
    Outcome,
    announce_files,
    can_show_progress,
    collect_messages,
    document,
    escaped_output,
    facts_of_profile,
    facts_of_release,
    note,
    plan,
    print_comparison,
    print_profile,
    print_release,
    print_risk,
    print_stderr,
    print_tradeoff,
    report,
    show_warnings,
    shown_fields,
    stage,
)
from pdanon.cli.parser import Command, parser_of
from pdanon.cli.policy import Policy
from pdanon.cli.releases import bound_function, release_table, release_writers
from pdanon.cli.schema import read_steps
from pdanon.cli.signals import exit_code, ignore_signals, raise_at_signals
from pdanon.errors import (
    GuaranteeError,
    InfeasibleError,
    ParameterError,
    PdanonError,
    cause_of,
    mask_credentials,
    refuse,
)
from pdanon.evaluation import plotting
from pdanon.evaluation.after import after
from pdanon.evaluation.alternatives import alternatives, has_alternatives
from pdanon.evaluation.comparison import tradeoff
from pdanon.evaluation.evidence import Evidence, read_json
from pdanon.evaluation.fingerprint import describe_table, fingerprint
from pdanon.evaluation.matches import Facts
from pdanon.evaluation.metrics.assess import assess
from pdanon.evaluation.profile import Profile
from pdanon.evaluation.readings import RawProfile
from pdanon.evaluation.verification import verify
from pdanon.guarantees.promises import requested_guarantee
from pdanon.guarantees.sensitive_groups import COUNTS
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.io.files import remove_drafts
from pdanon.io.lines import is_text, typed_columns
from pdanon.io.tables import (
    Form,
    Writers,
    persons_of,
    read_columns,
    read_links,
    write_confidential,
    write_plain,
    write_threats,
    write_whole,
)
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.chunks import NAMES, ChunkTable, is_in_chunks
from pdanon.itemsets.columns import find_column, label_positions
from pdanon.itemsets.memory import out_of_memory
from pdanon.itemsets.threads import config
from pdanon.itemsets.validation import is_uri
from pdanon.recoding.release import check_max_loss
from pdanon.recoding.result import Anonymized, in_chunks
from pdanon.recoding.unmodified_columns import check_max_risk
from pdanon.recoding.warnings import shortfall


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command, and return its exit code."""
    try:
        raise_at_signals()
        try:
            with escaped_output():
                code = _print_outcome(sys.argv[1:] if argv is None else [*argv])
        except BrokenPipeError:
            code = 141
        except Exception as error:  # while printing
            code = _report_error(error)
        ignore_signals()
    except KeyboardInterrupt as signal:
        code = report(str(signal) or "interrupted", 128 + SIGINT)
        remove_drafts()
    return exit_code(code)


def _print_outcome(words: list[str]) -> int:
    """Run a command, and print its result or its error."""
    options = words[: words.index("--")] if "--" in words else words  # known before they are parsed
    outcome = failure = None
    with collect_messages(quiet="--quiet" in options) as messages:
        try:
            arguments = Arguments(**vars(parser_of(_COMMANDS, words).parse_args(words)))
            if sys.stdout is None:
                hint = "redirect it if it is not wanted: > /dev/null"
                raise ParameterError("the standard output is closed", hint=hint)
            number = 1 if arguments.processes is None else arguments.processes
            with show_warnings(), config(progress=can_show_progress(), processes=number):
                outcome = arguments.run(arguments)
            code = outcome.code
        except BrokenPipeError:
            raise
        except Exception as error:
            failure = out_of_memory(error)
            code = _report_error(failure)
    if "--json" in options:
        command = next((word for word in words if word in _COMMANDS), None)
        print(document(command, outcome, failure, code, messages))
    elif outcome is not None and not messages.quiet:
        outcome.show()
    return code


def _report_error(error: Exception) -> int:
    if isinstance(error, PdanonError):
        return report(f"error: {error}", 1 if isinstance(error, (InfeasibleError, GuaranteeError)) else 2)
    if isinstance(error, OSError):
        where = "" if error.filename is None else f"\n  where: {error.filename}"
        return report(f"error: {cause_of(error)}{where}", 2)
    print_stderr("".join(traceback.format_exception(error)).rstrip())
    return 2  # a defect is no verdict, so the code is not 1


# --- Commands

_PANELS = ("below_k", "occurrences")  # panels of the picture: the remaining risk, and the loss
_PANEL_WIDTH, _PANEL_HEIGHT = 5.0, 4.0  # inches
# Files of a policy in the order of the text.
_SHOWN = ("release", "classes", "mapping", "legend", "loss", "report", "evidence", "page", "links", "secret")


def _plan(arguments: Arguments) -> Outcome | None:
    """Check the files of a command, and return its plan if nothing but the plan is requested."""
    check_files(arguments)
    return plan(inputs_of(arguments), outputs_of(arguments).values()) if arguments.dry_run else None


def _demo(arguments: Arguments) -> Outcome:
    """Run other commands, which print their own outcomes."""
    return Outcome({}, lambda: None, play(_print_outcome))


def _profile(arguments: Arguments) -> Outcome:
    """Print a profile, and write its page if requested."""
    is_unknown = is_raw(arguments)
    (check_parts if arguments.stream else check_table if is_unknown else check_form)(arguments)
    if planned := _plan(arguments):
        return planned
    if is_unknown:
        return _describe(describe_file(arguments), arguments)
    with open_table(arguments) as table, stage("counting", has_bar=True):
        if isinstance(table, pd.DataFrame) and arguments.keep and not form_of(arguments).drops_columns:
            named = [*arguments.keep, *(arguments.quasi or ())]
            places = {find_column(table, arguments.column), *label_positions(table, named)}
            table = table.iloc[:, sorted(places)]
        quasi = {"quasi": arguments.quasi} if arguments.quasi else {}
        found = bound_function("profile", table, arguments.column, {})(k=arguments.k, m=arguments.m, **quasi)
    if isinstance(found, RawProfile):
        return _describe(found, arguments)
    look = _with_commands(found, arguments)
    if arguments.report:
        with stage("writing"):
            look.report(arguments.report)
    outcome = Outcome(facts_of_profile(look), partial(print_profile, look))
    return _with_files(outcome, _files_of(arguments))


def _describe(found: RawProfile, arguments: Arguments) -> Outcome:
    """Print the columns of a raw table, and the next command for each form that fits."""
    refuse((arguments.report, "a page is about lists", "pass the options of a form: run it without --report"))
    source = quote(mask_credentials(str(arguments.source)))
    readings = []
    for reading in found.readings:
        options = " ".join(map(quote, words_of(reading.form)))
        call = f"pdanon anonymize {source} released.parquet {options} -k {arguments.k} -m 2"
        readings.append(reading._replace(call=call))
    alerts = [alert._replace(hint=alert.command) for alert in found.alerts]
    found = replace(found, readings=tuple(readings), alerts=tuple(alerts))
    return Outcome(shown_fields(found), partial(print, found))


def _with_files(
    outcome: Outcome, files: Mapping[str, Path | str], results: Collection[str] = ("release", "table")
) -> Outcome:
    """Return an outcome whose text ends with the written files, and names all but the results."""

    def show() -> None:
        outcome.show()
        for name, path in files.items():
            print(f"  {'written' if name in results else name:<10} {path}")

    return replace(outcome, show=show, files=files)


def _tradeoff(arguments: Arguments) -> Outcome:
    """Make a release for each k and m, print the loss and the risk, and write all files or none."""
    check_form(arguments)
    options = passed_options(arguments)
    if planned := _plan(arguments):
        return planned
    if arguments.picture and find_spec("matplotlib") is None:  # fail before the work, not after it
        raise ParameterError("pictures need the package matplotlib", hint="pip install matplotlib")
    options = describe_quasi(read_options(options, arguments))
    frame = read(arguments.source, arguments)
    label_positions(frame, arguments.keep or ())
    with stage("making releases", has_bar=True):
        steps = read_steps(steps_of(arguments))
        options |= {"prepare": [{}, steps]} if steps else {}
        trials = tradeoff(frame, arguments.column, algorithm=arguments.algorithm, **options)
    with stage("writing"):
        files: Writers = {}
        if arguments.out:
            files[arguments.out] = partial(write_plain, trials)
        if arguments.picture:
            files[arguments.picture] = partial(_draw, trials)
        if arguments.report:
            count = bound_function("profile", frame, arguments.column, {})
            look = _with_commands(count(k=min(arguments.k), m=max(arguments.m)), arguments)
            files[arguments.report] = partial(look.report, tradeoff=trials)
        write_whole(files, confidential=files, overwrite=arguments.overwrite)
    return _with_files(Outcome({"trials": trials}, partial(print_tradeoff, trials)), _files_of(arguments))


def _with_commands(look: Profile, arguments: Arguments) -> Profile:
    """Return a profile whose hints are commands for a shell."""
    words = " ".join(map(quote, repeated_words(arguments)))
    alerts = (alert._replace(hint=alert.command.replace("IN OUT", words, 1)) for alert in look.alerts)
    return replace(look, alerts=tuple(alerts))


def _draw(trials: pd.DataFrame, path: Path) -> None:
    from matplotlib.figure import Figure

    picture = Figure(figsize=(len(_PANELS) * _PANEL_WIDTH, _PANEL_HEIGHT), layout="constrained")
    for ax, measure in zip(picture.subplots(1, len(_PANELS)), _PANELS, strict=True):
        plotting.tradeoff(trials, measure=measure, ax=ax)
    picture.savefig(path)


def _anonymize(arguments: Arguments) -> Outcome:
    check_links(arguments)
    (check_stream if arguments.stream else check_form)(arguments)
    name, options = arguments.algorithm, passed_options(arguments)
    most = {name.strip(): value for name, value in arguments.max_loss} or None
    if not arguments.stream:
        check_max_loss(most, ["named"] if name is None else ())
        check_max_risk(arguments.max_risk)
        check_classes(arguments, "p" in options)
    if planned := _plan(arguments):
        return planned
    options = read_options(options, arguments)
    options = options if name is None else read_named_request(name, options)
    running = stage(f"running {name or 'the algorithms'}", has_bar=True)
    if arguments.stream:
        return _anonymize_files(arguments, options | {"max_loss": most}, running)
    frame, linked = read_with_persons(arguments)
    prepared = prepare_read(frame, arguments).keep(*(arguments.keep or ()))
    others = _read_control(arguments)
    frame = prepared.frame
    with running:
        request = options | {"max_loss": most}
        persons, risk = unit_of(arguments), arguments.max_risk
        result = release_table(prepared, name, arguments.column, persons, request, risk)
    attacks = None
    if others is not None:
        with stage("attacking", has_bar=True):
            attacks = assess(frame, result, others, arguments.column)
    with stage(f"writing {arguments.target}"):
        files, confidential = release_writers(
            result,
            frame,
            _files_of(arguments) | {"secret": arguments.secret},
            linked,
            form=form_of(arguments),
            separator=arguments.join or arguments.separator,
            head=dict(arguments.head),
            escape_formulas=arguments.escape_formulas,
            assessment=attacks,
        )
        write_whole(files, confidential, overwrite=arguments.overwrite)
    if in_chunks(result) and arguments.keep:
        note(f"{name} publishes no other column, not even those of --keep")
    return _with_files(_judge(result, frame, arguments), _files_of(arguments))


def _judge(result: Anonymized, original: pd.DataFrame, arguments: Arguments) -> Outcome:
    """Return the outcome of a release. If no count answers a question, others are made and measured."""
    measured = None
    if result.do_not_publish and has_alternatives(result):
        limit = {} if arguments.time_limit is None else {"time_limit": arguments.time_limit}
        with stage("measuring alternatives", has_bar=True):
            measured = alternatives(original, result, **limit)
    facts = facts_of_release(result) | {"alternatives": measured}
    code = 1 if arguments.strict and result.do_not_publish else 0
    return Outcome(facts, partial(print_release, result, measured), code)


def _anonymize_files(
    arguments: Arguments, options: Parameters, running: AbstractContextManager[None]
) -> Outcome:
    """Anonymize Parquet files, one row group after the other."""
    persons = unit_of(arguments)
    options |= {"max_risk": arguments.max_risk, "keep": arguments.keep or ()}
    with open_table(arguments) as source, running:
        release = bound_function(arguments.algorithm or "anonymize", source, arguments.column, persons)
        result = release(arguments.target, mapping=arguments.mapping, **options)

    def show() -> None:
        print_release(result)
        print(f"  written    {arguments.target}, {_count_files(len(result.paths))}")
        if arguments.mapping:
            print(f"  mapping    {arguments.mapping}")

    return Outcome(facts_of_release(result), show, files=_files_of(arguments))


def _audit(arguments: Arguments) -> Outcome:
    (check_parts if arguments.stream else check_form)(arguments)
    check_audit_options(arguments)
    if planned := _plan(arguments):
        return planned
    guarantee = _guarantee(arguments)
    with open_table(arguments) as table:
        with stage("auditing", has_bar=True):
            audit = _audit_table(table, arguments, guarantee)
        n_rows, counted, hashed = _describe_audited(table, arguments)
    short = shortfall({"m": getattr(guarantee, "m", None)}, audit.guarantee)
    if arguments.independent and audit.guarantee != guarantee:
        short = f"only {audit.guarantee!r}, as the time limit ended the audit"
    threats = None
    if arguments.threats:
        with stage("listing threats"):
            threats = audit.threats
            write = partial(write_threats, threats, separator=arguments.separator)
            files = {arguments.threats: write}
            write_whole(files, confidential=[arguments.threats], overwrite=arguments.overwrite)

    def show() -> None:
        print(f"Audit: {counted}")
        print(f"  guarantee  {audit.guarantee!r}")
        print(f"  verdict    {'holds' if audit.holds else 'does not hold'}")
        print(f"  at risk    {audit.rows_at_risk} {_counted(arguments)}")
        if audit.spans is not None:
            exposed = int((audit.spans["rows_at_risk"] > 0).sum())
            print(f"  spans      {exposed} of {len(audit.spans)} with rows at risk, linked by {audit.linked}")
        if short:
            print(f"  proven     {short}")
        if hashed is not None:
            print(f"  SHA-256    {hashed}")
        if threats is not None:
            print(f"  threats    {len(threats)}, written to {arguments.threats}")

    facts = {
        **{"guarantee": audit.guarantee, "holds": audit.holds, "rows_at_risk": audit.rows_at_risk},
        **{"counted": _counted(arguments), "rows": n_rows, "proven": short or None, "sha256": hashed},
        "threats": None if threats is None else len(threats),
        "independent": arguments.independent,
    }
    return Outcome(facts, show, 0 if audit.holds else 1, files=_files_of(arguments))


def _describe_audited(table: pd.DataFrame | Path | str, arguments: Arguments) -> tuple[int, str, str | None]:
    """Return the number of rows of an audited table, its size as text, and the fingerprint of a frame."""
    if not isinstance(table, pd.DataFrame):
        tree = ParquetTree.find(table)
        _note_chunks(tree.schema().names)
        return tree.rows(), f"{tree.rows()} rows, {_count_files(len(tree.names))}", None
    counted = f"{len(table)} rows"
    if arguments.unit is not None:
        counted = f"{counted} of {table[arguments.unit].nunique()} persons"
    if arguments.chunks:
        counted = f"{ChunkTable.of(table, arguments.column).n_records} records in {len(table)} parts"
    else:
        _note_chunks(table.columns)
    return len(table), counted, fingerprint(table)


def _audit_table(table: pd.DataFrame | Path | str, arguments: Arguments, guarantee: Guarantee) -> Audit:
    """Audit a table, or with the earlier releases of the same persons."""
    if arguments.previous is None or not isinstance(table, pd.DataFrame):
        asked = {"suppressed": arguments.suppressed, "independent": arguments.independent}
        count = bound_function("audit", table, arguments.column, unit_of(arguments))
        audit: Audit = count(guarantee, **{name: value for name, value in asked.items() if value})
        return audit
    previous: list[Any] = [read(source, arguments) for source in arguments.previous]
    key = arguments.key
    if arguments.links:
        tables = zip(arguments.links, [*previous, table], strict=True)
        key = persons_of([read_links(path, each, arguments.column) for path, each in tables])
    *earlier, mapping = [_read_mapping(each) for each in (*arguments.earlier_mappings, arguments.mapping)]
    if earlier:
        previous = [*zip(previous, earlier, strict=True)]
    return after(table, previous, key=key, mapping=mapping).audit(guarantee, arguments.column)


def _read_control(arguments: Arguments) -> pd.DataFrame | None:
    if arguments.control is None:
        return None
    return prepare_read(read(arguments.control, arguments), arguments).frame


def _read_mapping(path: Path | None) -> pd.DataFrame | None:
    return None if path is None else read_columns(path, ["group", "item", "generalized"])


def _note_chunks(columns: Iterable[Hashable]) -> None:
    """Print a note if rows of a release in chunks were audited as if they were records."""
    if is_in_chunks(columns):
        names = f"{', '.join(NAMES[:-1])} and {NAMES[-1]}"
        note(f"columns {names} are those of a release by disassociate: audit it with --chunks")


def _counted(arguments: Arguments) -> str:
    return "records" if arguments.chunks else "rows" if arguments.unit is None else "persons"


def _count_files(number: int) -> str:
    return "1 file" if number == 1 else f"{number} files"


_TEXT = ("separator", "delimiter", "encoding")  # what text files of an original and of a release share


def _verify(arguments: Arguments) -> Outcome:
    """Compare evidence with the files of a release."""
    stored, _ = read_json(arguments.evidence)
    form = form_of(arguments)
    text: Parameters = {name: getattr(form, name) for name in _TEXT}
    if is_text(arguments.release):
        name = stored.guarantee["name"]
        text["types"] = number_types(chunks=name == "DisassociatedKm", groups=name == "SensitiveGroups")
    tables = {}
    for name in ("mapping", "classes"):
        path, described = getattr(arguments, name), stored.tables.get(name)
        if path is None or described is None:
            tables[name] = _read_mapping(path)
        else:
            tables[name] = _with_stored_types(read_columns(path, _column_names(described)), described)
    column = stored.guarantee["column"]
    found = verify(
        arguments.evidence,
        _with_stored_types(
            _read_verified(arguments.release, arguments, Form(column=column, **text)),
            stored.tables["release"],
        ),
        original=_read_original(stored, arguments, form),
        **tables,
        independent=arguments.independent,
    )
    facts = {"matches": found.matches, "checks": found.checks}
    return Outcome(facts, partial(print, found), 0 if found.matches else 1)


def _read_original(stored: Evidence, arguments: Arguments, form: Form) -> pd.DataFrame | None:
    """Read the original of a release, with the columns that the evidence lists."""
    if arguments.original is None:
        return None
    described = stored.tables.get("original", stored.tables["release"])
    names = _column_names(described)
    if not form.has_no_lists and form.column is None:
        form = replace(form, column=stored.guarantee["column"])
    arguments.keep = [name for name in names if name != form.lists] if form.drops_columns else None
    return prepare_read(_read_verified(arguments.original, arguments, form), arguments).frame


def _column_names(described: Facts) -> list[str]:
    """Return the names of the columns of a table that evidence describes, without its index."""
    return [each["name"] for each in described["columns"] if not each["index"]]


def _read_verified(path: str, arguments: Arguments, form: Form) -> pd.DataFrame:
    form.check(path, flag)
    if is_text(path) and form.separator is None and not form.has_no_joined_text:
        raise lacks_separator(path)
    return read(path if is_uri(path) else Path(path), arguments, form)


def _with_stored_types(table: pd.DataFrame, described: Facts) -> pd.DataFrame:
    """Return a table with the types in which columns of text have the fingerprints of the evidence."""
    hashes = {each["name"]: each.get("fingerprint") for each in described["columns"]}
    for each in describe_table(table)["columns"]:
        name = each["name"]
        if not each["index"] and hashes.get(name) not in (None, each["fingerprint"]):
            for column in typed_columns(table[name]):
                if describe_table(column.to_frame())["columns"][0]["fingerprint"] == hashes[name]:
                    table = table.assign(**{name: column})
                    break
    return table


def _risk(arguments: Arguments) -> Outcome:
    (check_parts if arguments.stream else check_form)(arguments)
    if planned := _plan(arguments):
        return planned
    request: Parameters = {"k": arguments.k, "m": arguments.m}
    quasi = {"quasi": arguments.quasi} if arguments.quasi else {}
    with open_table(arguments) as table, stage("counting", has_bar=True):
        count = bound_function("risk", table, arguments.column, unit_of(arguments))
        risk = count(**request, **quasi)
    if arguments.out:
        write_confidential(risk, arguments.out, overwrite=arguments.overwrite)
    show = partial(print_risk, risk, whole=arguments.all, path=arguments.out)
    facts = {**request, "quasi": arguments.quasi or [], "risk": risk}
    return Outcome(facts, show, files=_files_of(arguments))


def _assess(arguments: Arguments) -> Outcome:
    check_form(arguments)
    check_max_risk(arguments.max_risk)
    if planned := _plan(arguments):
        return planned
    form = form_of(arguments)
    released = Form(column=form.lists, **{name: getattr(form, name) for name in _TEXT})
    original, release = read(arguments.source, arguments), read(arguments.release, arguments, released)
    others = _read_control(arguments)
    names = ("attacks", "m", "n_attacks", "random_state")
    request: Parameters = {name: getattr(arguments, name) for name in names}
    mapping = _read_mapping(arguments.mapping)
    with stage("attacking", has_bar=True):
        table = assess(
            original, release, others, arguments.infer, arguments.column, mapping=mapping, **request
        )
    if arguments.out:
        write_confidential(table, arguments.out, overwrite=arguments.overwrite)
    most = arguments.max_risk
    is_met = None if most is None else bool((table["high"] <= most)[table["n_attacks"] > 0].all())
    facts = {"control": table.attrs["control"], "attacks": table, "max_risk": most, "is_met": is_met}
    return Outcome(facts, partial(print, table), 1 if is_met is False else 0, files=_files_of(arguments))


def _run(arguments: Arguments) -> Outcome:
    policy = Policy.from_toml(arguments.policy)
    if "release" not in policy.outputs:
        where = f"{arguments.policy}, [outputs]"
        raise ParameterError("the policy names no release", where=where, hint='release = "released.parquet"')
    outputs = {name: file for name, file in policy.files.items() if name != "comparison"}
    allowed = {"overwrite": arguments.overwrite, "allow_outside": arguments.allow_outside}
    policy.check_outputs(outputs.values(), **allowed)
    if arguments.dry_run:
        return plan(policy.inputs, outputs.values())
    announce_files(outputs.values())
    with stage(f"running {arguments.policy}", has_bar=True):
        original = None if policy.is_streamed else policy.read()
        result = policy.run_stream(**allowed) if original is None else policy.run(original)
    if isinstance(result, Anonymized) and original is not None:
        with stage("writing"):
            policy.write(result, original, **allowed)
        outcome = _judge(result, prepare(original, read_steps(policy.prepare)).frame, arguments)
    else:
        outcome = Outcome(facts_of_release(result), partial(print_release, result))
    shown = {name: outputs[name] for name in _SHOWN if name in outputs}
    return replace(_with_files(outcome, shown, results=()), files=outputs)


def _compare(arguments: Arguments) -> Outcome:
    policy = Policy.from_toml(arguments.policy)
    allowed = {"overwrite": arguments.overwrite, "allow_outside": arguments.allow_outside}
    files = {"comparison": policy.outputs.get("comparison"), "resume": policy.comparison.get("resume")}
    written = {name: file for name, file in files.items() if file is not None}
    for name, file in written.items():
        policy.check_outputs([file], **allowed | ({"overwrite": True} if name == "resume" else {}))
    if arguments.dry_run:
        return plan(policy.inputs, written.values())
    if written:
        announce_files(written.values())
    with stage(f"running {arguments.policy}", has_bar=True):
        table = policy.compare(allow_outside=arguments.allow_outside)
    policy.write_comparison(table, **allowed)
    show = partial(print_comparison, table, whole=arguments.all)
    return Outcome({"configurations": table}, show, files=files)


def _algorithms(arguments: Arguments) -> Outcome:
    known = [facts_of_algorithm(name) for name in ([arguments.name] if arguments.name else ALGORITHMS)]

    def show() -> None:
        if arguments.name:
            print(describe(known[0]))
            return
        here, elsewhere = ([each for each in known if each["by_command"] is by] for by in (True, False))
        print(
            "By 'pdanon anonymize --algorithm NAME', a policy or Python:", *map(summarize, here), "", sep="\n"
        )
        print("By a policy ('pdanon run') or Python:", *map(summarize, elsewhere), "", sep="\n")
        print("pdanon algorithms NAME shows its guarantee and its options")

    return Outcome({"algorithms": known}, show)


def _guarantee(arguments: Arguments) -> Guarantee:
    if arguments.chunks:
        return guarantees.DisassociatedKm(k=arguments.k, m=arguments.m, safe=arguments.safe)
    mapping = _read_mapping(arguments.mapping)
    names = [name for name in signature(requested_guarantee).parameters if name != "lists"]
    request = read_options({name: getattr(arguments, name) for name in names}, arguments)
    if alone := has_no_items(arguments):
        note("no column of items is named: the audit is of the quasi-identifiers alone")
    guarantee = requested_guarantee(**request, lists=not alone)
    if isinstance(guarantee, guarantees.SensitiveGroups):
        guarantee = guarantee.with_classes(read_columns(arguments.classes, [*COUNTS]))
    return guarantee if mapping is None else guarantee.with_mapping(mapping)


def _files_of(arguments: Arguments) -> dict[str, Path | str]:
    """Return the files that a command writes, by their names in its output."""
    names = {"target": "release", "out": "table"}
    return {names.get(name, name): path for name, path in outputs_of(arguments).items()}


_COMMANDS: dict[str, Command] = {
    "demo": _demo,
    "profile": _profile,
    "tradeoff": _tradeoff,
    "anonymize": _anonymize,
    "audit": _audit,
    "verify": _verify,
    "risk": _risk,
    "assess": _assess,
    "run": _run,
    "compare": _compare,
    "algorithms": _algorithms,
}
