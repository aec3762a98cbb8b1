"""Tiny tables at random, released in every form, and judged by their original items.

Of pdanon there is nothing here but public names and its command: no audit judges a release, and no index
counts. Each form draws a table, releases it, and lists what breaks the promise.
"""

from __future__ import annotations

import datetime
import tempfile
import warnings
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import against
import attacked_tables
import pandas as pd
from attacker import attack, lacks, lists_of, parts
from naive import series as naive_series

import pdanon
import pdanon.stream
from pdanon.cli.main import main

ITEMS = "abcdef"
TREE = {"*": {"x": ["a", "b"], "y": ["c", "d"], "z": ["e", "f"]}}
CUTS = ("apriori", "direct", "optimal", "hghs", "mhghs")
SETS = ("pcta", "coat", "upcta")


class Outcome(NamedTuple):
    """What became of a table: its algorithm and guarantee, and what is broken; no guarantee if refused."""

    algorithm: str
    guarantee: str = ""
    broken: tuple[str, ...] = ()


def outcome_of(form: str, seed: int) -> Outcome:
    """Release the table of a seed in a form, and judge the release."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return FORMS[form](Random(f"{form} {seed}"))


def released(release: Callable[[], Any]) -> Any:
    """Return a release; None if it is refused."""
    try:
        return release()
    except (pdanon.InfeasibleError, pdanon.ColumnError, pdanon.ItemsetDtypeError):
        return None
    except pdanon.ParameterError as error:
        if isinstance(error, TypeError):  # a call with an argument that there is not
            raise
        return None


def judged(name: str, promise: Any, broken: Iterable[Any]) -> Outcome:
    return Outcome(name, type(promise).__name__, tuple(map(str, broken)))


def draw_rows(random: Random) -> list[list[str] | None]:
    items = ITEMS[: random.randint(3, 6)]
    return attacked_tables.rows_of(random, list(items), random.randint(2, 8))


def column_of(rows: list[Any]) -> pd.Series[Any]:
    return pd.Series(rows, dtype=object)


def labels_by_item(mapping: pd.DataFrame) -> dict[Any, Any]:
    """The label of each item; None if no row shows it."""
    found: dict[Any, Any] = {}
    for item, label in zip(mapping["item"].tolist(), mapping["generalized"].tolist(), strict=True):
        if found.get(item) is None:
            found[item] = None if lacks(label) else label
        assert lacks(label) or found[item] == label
    return found


def labels_of(items: Iterable[Any], labels: dict[Any, Any]) -> frozenset[Any]:
    return frozenset(labels[item] for item in items) - {None}


# --- rows in memory: any algorithm, and the attacker of that guarantee


def rows_in_memory(random: Random) -> Outcome:
    if random.random() < 0.1:
        return inferences_and_chunks(random)
    case = attacked_tables.any_case(random)
    return attacked(case, case.run)


def attacked(case: attacked_tables.Case, run: Callable[[], Any]) -> Outcome:
    """Judge what comes of a case, a frame and its result, by who knows original items."""
    made = released(run)
    if made is None:
        return Outcome(case.name)
    frame, result = made
    broken = attack(frame, result, case.lists, case.asked)
    if isinstance(result.guarantee, pdanon.KmAnonymity):
        before, after = lists_of(frame[case.lists[0]]), lists_of(result.frame[case.lists[0]])
        broken += emptied(before, after, result.guarantee.k)
    return judged(case.name, result.guarantee, broken)


def emptied(before: list[Any], after: list[Any], k: int) -> list[str]:
    """Rows that lose all their items are none, at least k, or no row shows a label."""
    count = sum(bool(row) and not shown for row, shown in zip(before, after, strict=True))
    return [f"{count} rows lost all their items"] if any(after) and 0 < count < k else []


def inferences_and_chunks(random: Random) -> Outcome:
    """Algorithms with attackers of their own."""
    name = random.choice(["suppress_control", "td_control", "disassociate"])
    rows = draw_rows(random)
    occurring = sorted({item for row in rows for item in row or ()})
    if len(occurring) < 2:
        return Outcome(name)
    case = against.case_of(random, name, {"items": (rows, "object")}, occurring)
    if name != "disassociate":
        return attacked(case, case.run)
    made = released(case.run)
    release = made and against.of_chunks(case, made[1])
    if not release:  # refused, or too many tables can have come from the chunks
        return Outcome(name)
    few, _ = against.broken(release, against.foreseen)
    return judged(name, made[1].guarantee, ["fewer than k records in each reconstruction"] * few)


# --- deletions and mixtures: the rows that show what is known, whatever others have lost


def deletions(random: Random) -> Outcome:
    """Of a class, no row or at least k show all known items, and half of these at most a sensitive one."""
    rows = draw_rows(random)
    k, m, n = random.choice([2, 2, 3]), random.choice([1, 2, 2, 3, None]), len(rows)
    frame, name = pd.DataFrame({"items": column_of(rows)}), "local_suppression"
    asked: dict[str, Any] = {"k": k, "m": m, "random_state": random.choice([0, 1])}
    secrets, quasi, kind = frozenset[Any](), [], random.random()
    if kind < 0.2:
        secrets = frozenset(random.sample(ITEMS[:3], random.randint(1, 2)))
        promise = pdanon.LmDiversity(l=2, m=m, sensitive=sorted(secrets), k=k)
        asked = {"guarantee": promise, "random_state": asked["random_state"]}
    elif kind < 0.6:
        asked["deletion_price"] = random.choice([0.1, 1, 3, 10])
    elif kind < 0.75:
        asked["weights"] = {item: random.choice([0, 0.5, 1]) for item in ITEMS}
    elif kind < 0.9:
        name, quasi = "rfirst", ["age"]
        frame["age"] = [random.choice([30, 40, 50]) for _ in rows]
        asked |= {"quasi": quasi, "transaction": name_of_deletions}
    result = released(lambda: getattr(frame.txanon, name)(**asked))
    if result is not None and kind > 0.9:
        result = released(lambda: frame.txanon.refine(result))
    if result is None:
        return Outcome(name)
    labels, after = labels_by_item(result.mapping), lists_of(result.frame["items"])
    owners = [repr(result.frame[label].tolist()[place]) for label in quasi for place in range(n)] or [""] * n
    broken = []
    for own in {*owners}:
        places = [place for place in range(n) if owners[place] == own]
        before, shown = [rows[place] for place in places], [after[place] for place in places]
        broken += [*emptied(before, shown, k), *few_show(before, shown, labels, k, m, secrets)]
    return judged(name, result.guarantee, broken)


name_of_deletions = "local_suppression"


def few_show(
    before: list[Any],
    shown: list[Any],
    labels: dict[Any, Any],
    k: int,
    m: int | None,
    secrets: frozenset[Any],
) -> list[str]:
    broken = []
    for row, own in zip(before, shown, strict=True):
        if not labels_of(row or (), labels) >= {*(own or ())}:
            broken.append(f"{row} is published as {own}")
        for known in parts(frozenset(row or ()) - secrets, m):
            crowd = [each for each in shown if each is not None and labels_of(known, labels) <= {*each}]
            likely = max((sum(secret in each for each in crowd) for secret in secrets), default=0)
            if crowd and row is not None and (len(crowd) < k or 2 * likely > len(crowd)):
                broken.append(f"{sorted(known)}: {len(crowd)} rows, {likely} with a sensitive item")
    return broken


def few_listed(constraints: Any, before: list[Any], shown: list[Any], k: int) -> list[str]:
    """What a row may show of listed items is in no row or in k."""
    there = [{*each} for each in shown if each is not None]
    lost = {item for row, own in zip(before, shown, strict=True) for item in {*(row or ())} - {*(own or ())}}
    known = [
        {*items}.difference(part) for items in constraints for part in parts(frozenset(items) & lost, None)
    ]
    crowds = [sum(each <= row for row in there) for each in known]
    return [f"a constraint: {crowd} rows" for crowd in crowds if 0 < crowd < k]


def few_below(before: list[Any], shown: list[Any], tree: Any, k: int, m: int | None) -> list[str]:
    """Rows whose items moved up a hierarchy, each in its own way: who knows items finds none or k of them."""
    broken, above = [], {leaf: {leaf, *path} for leaf, *path in paths_of(tree)}
    for row, own in zip(before, shown, strict=True):
        if not set().union(*(above[item] for item in row or ())) >= {*(own or ())}:
            broken.append(f"{row} is published as {own}")
        for known in parts(frozenset(row or ()), m):
            crowd = sum(each is not None and all(above[item] & {*each} for item in known) for each in shown)
            if row is not None and 0 < crowd < k:
                broken.append(f"{sorted(known)}: {crowd} rows")
    return broken


# --- lines of persons: an item, how often, and where

Line = tuple[str, list[str], str | None]  # person, items, store


def lines(random: Random) -> Outcome:
    kept = random.random() < 0.3
    return lines_released(random, counts=random.random() < 0.4, kept=kept, lists=random.random() < 0.3)


def lines_in_files(random: Random) -> Outcome:
    return lines_released(random, counts=random.random() < 0.5, files=True)


def lines_released(
    random: Random, *, counts: bool, kept: bool = False, lists: bool = False, files: bool = False
) -> Outcome:
    """Up to m facts about a person are facts about k persons of the release."""
    name, k, m = (
        random.choice([*SETS, *SETS, *CUTS, name_of_deletions]),
        random.choice([2, 2, 3]),
        random.choice([1, 2, 3]),
    )
    if random.random() < 0.03:
        name = "anonymize"
    asked = {"k": k, "m": m, **own_parameters(random, name)}
    drawn = draw_lines(random, lists, kept)
    frame = pd.DataFrame(drawn, columns=["person", "item", "store"])
    if not lists:
        frame["item"] = column_of([items[0] if items else None for items in frame["item"]])
    if not kept:
        del frame["store"]
    units = {"counts": counts} | ({} if lists else {"item": "item"}) | ({"keep": ["store"]} if kept else {})
    made = released(lambda: release_lines(frame, name, units, asked, files))
    if made is None:
        return Outcome(name)
    shown, result = made
    cells = lists_of(shown["item"]) if lists else [[] if lacks(each) else [each] for each in shown["item"]]
    stores = shown["store"].tolist() if kept else [None] * len(shown)
    after = facts(zip(shown["person"].tolist(), cells, stores, strict=True), None, counts)
    broken = [] if len(after) == len({line[0] for line in drawn}) else ["not all persons are there"]
    for own in facts(drawn, labels_by_item(result.mapping), counts).values():
        for known in parts(own, m):
            crowd = sum(all(other[fact] >= own[fact] for fact in known) for other in after.values())
            if crowd < k and not (crowd == 0 and name == name_of_deletions):
                broken.append(f"{sorted(known, key=repr)} of {own}: {crowd} persons")
    return judged(name, result.guarantee, broken)


def own_parameters(random: Random, name: str) -> dict[str, Any]:
    if name in CUTS:
        return {"hierarchy": TREE} | ({"suppress": random.random() < 0.5} if name == "optimal" else {})
    if name in ("coat", "upcta"):
        blocks = [[*ITEMS]] if random.random() < 0.5 else [["a", "b", "c"], ["d", "e", "f"]]
        return {"utility": blocks, "max_suppressed": random.choice([0, 0.5, 1])}
    return {}


def draw_lines(random: Random, lists: bool, kept: bool) -> list[Line]:
    items, stores, found = ITEMS[: random.randint(3, 5)], random.choice(["n", "ns"]), []
    for person in range(random.randint(2, 8)):
        for _ in range(random.choice([1, 1, 2, 3, 4])):
            size = random.choice([0, 1, 1, 2, 3]) if lists else random.choice([0, 1, 1, 1, 1])
            store = random.choice(stores) if kept else None
            found.append((f"p{person}", random.sample(items, size), store))
    return random.sample(found, len(found))


def release_lines(
    frame: pd.DataFrame, name: str, units: dict[str, Any], asked: dict[str, Any], files: bool
) -> tuple[pd.DataFrame, Any]:
    """Return released lines, and the result."""
    if not files:
        result = getattr(frame.txanon.by("person", **units), name)(**asked)
        return result.frame, result
    with tempfile.TemporaryDirectory() as directory:
        source, target = Path(directory, "in.parquet"), Path(directory, "out.parquet")
        frame.to_parquet(source)
        result = getattr(pdanon.stream.by(source, "person", **units), name)(target, **asked)
        return pdanon.read_parquet(target), result


def facts(lines: Iterable[Line], labels: dict[Any, Any] | None, counts: bool) -> dict[Any, Counter[Any]]:
    """The lines of each person that show a label, a store, or both: their number, or that there are some."""
    found: dict[Any, Counter[Any]] = {}
    for person, items, store in lines:
        own = found.setdefault(person, Counter())
        shown = frozenset(items) if labels is None else labels_of(items, labels)
        for fact in {(label, place) for label in shown for place in (None, store)}:
            own[fact] += 1
        if shown and store is not None:
            own[None, store] += 1
    return found if counts else {person: Counter(dict.fromkeys(own, 1)) for person, own in found.items()}


# --- several releases of the same persons


def series(random: Random) -> Outcome:
    """The audit counts, in each span, the persons whom an attacker with original items finds among few."""
    name = random.choice([*SETS, "apriori", "optimal", "hghs"])
    k, m, follow = random.choice([2, 2, 3]), random.choice([1, 2, 3]), random.random() < 0.7
    only_joined = follow and random.random() < 0.4
    items = ITEMS[: random.randint(3, 6)]
    rows = {one: frozenset(random.sample(items, random.randint(0, 3))) for one in range(random.randint(3, 8))}
    there = {one for one in rows if random.random() < 0.7}
    results, persons = [], []
    for _ in range(random.choice([2, 2, 3])):
        if only_joined:
            there |= {one for one in rows if random.random() < 0.3}
        else:
            there = {one for one in rows if random.random() < 0.8}
            rows |= {one: rows[one] ^ {random.choice(items)} for one in rows if random.random() < 0.2}
        persons.append(random.sample(sorted(there), len(there)))
        frame = pd.DataFrame({"items": column_of([sorted(rows[one]) for one in persons[-1]])})
        asked = {"k": k, "m": m, **own_parameters(random, name)}
        prepared = frame.txanon.start_from(results[-1] if results and follow else None)
        result = released(lambda prepared=prepared, asked=asked: getattr(prepared, name)(**asked))
        if result is None:
            return Outcome(name)
        results.append(result)
    key = [pd.Index(each) for each in persons]
    last = pdanon.after(results[-1].frame, results[:-1], key=key, mapping=results[-1].mapping)
    audit = released(lambda: last.audit(results[-1].guarantee))
    if audit is None:  # no person has a row
        return Outcome(name)
    mappings = [labels_by_item(result.mapping) for result in results]
    shown = [
        dict(zip(own, map(frozenset, lists_of(result.frame["items"])), strict=True))
        for own, result in zip(persons, results, strict=True)
    ]
    broken = []
    for first, end, counted in audit.spans[["first", "last", "rows_at_risk"]].itertuples(index=False):
        _, exposed = naive_series.km_audit(shown, mappings, (first, end), k, m)
        if len(exposed) != counted or (exposed and (only_joined or first == end)):
            broken.append(f"releases {first} to {end}: {len(exposed)} at risk, {counted} by the audit")
    return judged(name, results[-1].guarantee, broken)


# --- tables that are no lists


def raw_forms(random: Random) -> Outcome:
    """Rows that come from lines, boxes, texts, wide columns or objects, judged by the rows as drawn."""
    rows = [row and [*dict.fromkeys(row)] for row in draw_rows(random)]
    occurring = sorted({item for row in rows for item in row or ()})
    form = random.choice([*RAW])
    read = released(lambda: RAW[form](rows))
    if read is None or not occurring:
        return Outcome(form)
    expected = rows if form in ("text", "objects") else [row or [] for row in rows]
    case = attacked_tables.item_case(random, {"items": (expected, "object")}, occurring)
    if case.lists != ["items"]:
        return Outcome(form)
    frame = pd.DataFrame({"items": column_of(expected)})
    outcome = attacked(case, lambda: (frame, case_on(case, pd.DataFrame({"items": read.array}))))
    return outcome._replace(algorithm=f"{form}, {outcome.algorithm}")


def case_on(case: attacked_tables.Case, frame: Any) -> Any:
    """What a case comes to on another frame."""
    return eval(case.call, {"df": frame, "pdanon": pdanon, "datetime": datetime})


def from_lines(rows: list[Any]) -> Any:
    cells = [(place, item) for place, row in enumerate(rows) for item in row or [None]]
    return pdanon.from_long(pd.DataFrame(cells, columns=["by", "items"]), by="by", item="items")["items"]


def from_boxes(rows: list[Any]) -> Any:
    boxes = pd.DataFrame({item: [int(item in (row or ())) for row in rows] for item in ITEMS})
    return pdanon.from_onehot(boxes)["items"]


def from_places(rows: list[Any]) -> Any:
    wide = pd.DataFrame([[*(row or ()), *[None] * 6][:6] for row in rows], columns=[*"123456"], dtype=object)
    return pdanon.from_wide(wide, columns=[*"123456"], name="items")["items"]


RAW: dict[str, Callable[[list[Any]], Any]] = {
    "lines": from_lines,
    "boxes": from_boxes,
    "places": from_places,
    "text": lambda rows: pdanon.from_text(column_of([row and ";".join(row) for row in rows]), separator=";"),
    "objects": lambda rows: pdanon.from_json(
        column_of([row if row is None else [{"code": item} for item in row] for row in rows]), field="code"
    ),
}


# --- rows in files, in partitions of Dask, and on the command line


def rows_in_files(random: Random) -> Outcome:
    return rows_elsewhere(random, OnDisk)


def rows_in_partitions(random: Random) -> Outcome:
    return rows_elsewhere(random, lambda frame: InPartitions(frame, random))


def rows_by_command(random: Random) -> Outcome:
    """Of five tables, the first that the command releases."""
    outcomes = (rows_elsewhere(random, ByCommand) for _ in range(5))
    return next((each for each in outcomes if each.guarantee), Outcome("any"))


def rows_elsewhere(random: Random, accessor: Callable[[pd.DataFrame], Any]) -> Outcome:
    rows = draw_rows(random)
    occurring = sorted({item for row in rows for item in row or ()})
    if not occurring:
        return Outcome("any")
    case = attacked_tables.item_case(random, {"items": (rows, "object")}, occurring)
    if not hasattr(pdanon.stream, case.name) or case.name == "lra" or case.refine:  # blocks are in no file
        return Outcome(case.name)
    frame = attacked_tables.frame_of(case.columns)
    made = released(lambda: case_on(case, SimpleNamespace(txanon=accessor(frame))))
    if made is None or case.name != name_of_deletions:
        return attacked(case, lambda: made and (frame, made))
    shown, promise = lists_of(made.frame["items"]), made.guarantee
    if "constraints" in case.asked:
        broken = few_listed(case.asked["constraints"], rows, shown, promise.k)
    elif "hierarchy" in case.asked:
        broken = few_below(rows, shown, case.asked["hierarchy"], promise.k, promise.m)
    else:
        broken = few_show(rows, shown, labels_by_item(made.mapping), promise.k, promise.m, frozenset())
    return judged(case.name, promise, broken + emptied(rows, shown, promise.k))


class OnDisk:
    """An accessor of a frame whose algorithms release it from a file to a file."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.frame = frame

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def release(column: str, **asked: Any) -> Any:
            with tempfile.TemporaryDirectory() as directory:
                source, target = Path(directory, "in.parquet"), Path(directory, "out.parquet")
                self.frame.to_parquet(source, row_group_size=3)
                made = getattr(pdanon.stream, name)(source, target, column=column, **asked)
                told = {"mapping": made.mapping, "guarantee": made.guarantee, "parameters": made.parameters}
                return SimpleNamespace(frame=pdanon.read_parquet(target), groups=None, **told)

        return release


class InPartitions(OnDisk):
    """The same of a Dask frame that is cut anywhere."""

    def __init__(self, frame: pd.DataFrame, random: Random) -> None:
        super().__init__(frame.apply(pdanon.as_itemsets))
        self.cuts = sorted(random.choices(range(len(frame) + 1), k=random.randint(0, 3)))

    def __getattr__(self, name: str) -> Callable[..., Any]:
        import dask
        import dask.dataframe as dd

        import pdanon.dask  # noqa: F401 - the accessor of Dask frames

        ends = zip([0, *self.cuts], [*self.cuts, len(self.frame)], strict=True)
        divided = dd.from_map(
            lambda part: part, [self.frame.iloc[slice(*each)] for each in ends], meta=self.frame.iloc[:0]
        )

        def release(column: str, **asked: Any) -> Any:
            with dask.config.set(scheduler="synchronous"):
                made = getattr(divided.txanon, name)(column, **asked)
                told = {"mapping": made.mapping, "guarantee": made.guarantee, "parameters": made.parameters}
                return SimpleNamespace(frame=made.frame.compute().reset_index(drop=True), groups=None, **told)

        return release


class ByCommand(OnDisk):
    """The same by the command line. It publishes no groups, so there are only releases with one."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def release(column: str, **asked: Any) -> Any:
            if name not in (*SETS, *CUTS) or asked.pop("utility", None) or "guarantee" in asked:
                raise pdanon.InfeasibleError("left out")
            promise = pdanon.KmAnonymity(k=asked["k"], m=asked["m"])
            with tempfile.TemporaryDirectory() as directory:
                places = [Path(directory, each) for each in ("in.parquet", "out.parquet", "mapping.parquet")]
                self.frame.to_parquet(places[0])
                if "hierarchy" in asked:
                    lines = map(";".join, paths_of(asked["hierarchy"]))
                    asked["hierarchy"] = Path(directory, "tree.csv")
                    asked["hierarchy"].write_text("\n".join(lines))
                flags = [text for each in asked.items() for text in flags_of(*each)]
                files = [*map(str, places[:2]), "--mapping", str(places[2])]
                silent = redirect_stdout(StringIO()), redirect_stderr(StringIO())
                with silent[0], silent[1]:
                    code = main(["anonymize", *files, "--algorithm", name, "--column", column, *flags])
                if code:
                    raise pdanon.InfeasibleError(f"exit code {code}")
                frame, mapping = map(pdanon.read_parquet, places[1:])
            told = {"mapping": mapping, "guarantee": promise, "parameters": {"algorithm": name}}
            return SimpleNamespace(frame=frame, groups=None, **told)

        return release


def flags_of(name: str, value: Any) -> list[str]:
    flag = f"-{name}" if len(name) == 1 else f"--{name.replace('_', '-')}"
    if isinstance(value, bool):
        return [flag] * value
    return [flag, "all" if value is None else str(value)]


def paths_of(tree: Any, above: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The path of each leaf of a nested dict, up to the root."""
    if not isinstance(tree, dict):
        return [(leaf, *above) for leaf in tree]
    return [path for name, child in tree.items() for path in paths_of(child, (name, *above))]


# --- a sample of a population


def samples(random: Random) -> Outcome:
    """The audit of k-map says whether each known itemset of the sample leaves k people or more."""
    rows, name = draw_rows(random), random.choice([*SETS, *CUTS])
    people = pd.DataFrame({"items": column_of([row or [] for row in rows])})
    own = own_parameters(random, name)
    result = released(lambda: getattr(people.txanon, name)(k=2, m=random.choice([1, 2]), **own))
    chosen = sorted(random.sample(range(len(rows)), random.randint(1, len(rows))))
    if result is None:
        return Outcome(name)
    sample = pdanon.apply_mapping(people.iloc[chosen].reset_index(drop=True), result.mapping)
    k, m, labels = random.choice([2, 3]), random.choice([1, 2, 3]), labels_by_item(result.mapping)
    promise = pdanon.KMap(k=k, m=m, population=people, mapping=result.mapping)
    audit = released(lambda: sample.txanon.audit(promise))
    if audit is None:
        return Outcome(name)
    crowds = [
        sum(labels_of(known, labels) <= labels_of(row or (), labels) for row in rows)
        for place in chosen
        for known in parts(frozenset(rows[place] or ()), m)
    ]
    lost = [bool(row) and not labels_of(row, labels) for row in rows]
    shown = any(labels_of(row or (), labels) for row in rows)
    at_risk = shown and 0 < sum(lost) < k  # for an attacker who knows that no row was empty
    if at_risk and any(not labels_of(rows[place] or (), labels) and not lost[place] for place in chosen):
        return Outcome(name)  # the audit cannot tell them apart
    expected = min(crowds) >= k and not (at_risk and any(lost[place] for place in chosen))
    wrong = audit.holds != expected
    return judged(name, promise, [f"holds: {audit.holds}, not {expected}"] * wrong)


FORMS: dict[str, Callable[[Random], Outcome]] = {
    "rows": rows_in_memory,
    "deletions": deletions,
    "persons": lines,
    "series": series,
    "raw forms": raw_forms,
    "samples": samples,
    "files": rows_in_files,
    "persons in files": lines_in_files,
    "partitions": rows_in_partitions,
    "command line": rows_by_command,
}
