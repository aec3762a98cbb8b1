"""Values stay what they are, from every reader to every release: equal ones are one, and others are none.

A case is an Arrow type, the role of its column, and the form in which the table comes. Values are drawn from
those that other software confuses. What is expected is counted by pyarrow and Python alone.
"""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import traceback
from collections import Counter, defaultdict
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import pdanon
from examples import ALL, MANY
from pdanon import stream
from pdanon.errors import PdanonError
from pdanon.io.lines import read_lines

duckdb, polars = pytest.importorskip("duckdb"), pytest.importorskip("polars")
dask, dd = pytest.importorskip("dask"), pytest.importorskip("dask.dataframe")
pytest.importorskip("pdanon.dask")  # registers the accessors

# --- Values of each type: some differ by little, or are easily taken for a missing one

LARGE = 2**53
DAY, SECOND = 86_400, 1_600_000_000
SMALL = [0, 1, 2, 7, 100, 127]
FLOATS = [0.0, -0.0, 1.0, 1.5, -2.0, float("nan")]
TEXTS = ["", " ", "02139", "2139", "None", "NA", "nan", "1.0", "1", "ä", "A", "a"]


def numbered(kind, numbers):
    """Values of a type that Arrow stores as these integers."""
    return pa.array(numbers, pa.int32() if kind.bit_width == 32 else pa.int64()).view(kind)


def times(unit, zone=None):
    """Instants: two that differ by one unit, one at midnight, and one before 1970."""
    steps = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[unit]
    return numbered(
        pa.timestamp(unit, zone),
        [SECOND * steps, SECOND * steps + 1, 18_519 * DAY * steps, -DAY * steps, (SECOND + 7200) * steps],
    )


VALUES = {
    **{
        str(kind): pa.array([each for each in SMALL if each < 2 ** (kind.bit_width - 1)], kind)
        for kind in (pa.int8(), pa.int16(), pa.int32(), pa.uint8(), pa.uint16(), pa.uint32())
    },
    "int64": pa.array(
        [0, 1, -1, LARGE, LARGE + 1, 10625631000119104, 10625631000119105, 2**63 - 1, -(2**63)]
    ),
    "uint64": pa.array([0, 1, LARGE, LARGE + 1, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1], pa.uint64()),
    "float16": pa.array(np.array(FLOATS, np.float16)),
    "float": pa.array([*FLOATS, 0.1, 16777216.0], pa.float32()),
    "double": pa.array([*FLOATS, 0.1, 0.1 + 2**-56, 1e300, float(LARGE), float(LARGE + 2)]),
    "bool": pa.array([True, False]),
    "decimal32": pa.array(map(Decimal, ["1.10", "1.11", "0.00", "-1.10", "1000.00"]), pa.decimal32(8, 2)),
    "decimal64": pa.array(map(Decimal, ["1.10", "1.11", "0.00", "-1.10"]), pa.decimal64(16, 2)),
    "decimal128": pa.array(
        map(
            Decimal,
            ["12345678901234567890.01", "12345678901234567890.02", "0.00", "1.10", "9007199254740993.00"],
        ),
        pa.decimal128(30, 2),
    ),
    "decimal256": pa.array(
        map(Decimal, ["1" + "0" * 40 + ".1", "1" + "0" * 40 + ".2", "0.0"]), pa.decimal256(50, 1)
    ),
    **{str(kind): pa.array(TEXTS, kind) for kind in (pa.string(), pa.large_string(), pa.string_view())},
    "binary": pa.array([b"", b"a", b"\0", b"02139"]),
    "date32[day]": pa.array(
        [dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1600, 2, 29), dt.date(9999, 1, 1)]
    ),
    "date64[ms]": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2), dt.date(1969, 12, 31)], pa.date64()),
    "time32[s]": numbered(pa.time32("s"), [0, 1, 60, DAY - 1]),
    "time32[ms]": numbered(pa.time32("ms"), [0, 1, 1000]),
    "time64[us]": numbered(pa.time64("us"), [0, 1, 1000]),
    "time64[ns]": numbered(pa.time64("ns"), [0, 1, 2, 1000]),
    **{str(pa.timestamp(unit)): times(unit) for unit in ("s", "ms", "us", "ns")},
    **{
        str(pa.timestamp(unit, zone)): times(unit, zone)
        for unit, zone in (("s", "UTC"), ("us", "Europe/Athens"), ("ns", "UTC"), ("ns", "+02:00"))
    },
    **{
        str(pa.duration(unit)): numbered(pa.duration(unit), [0, 1, -1, 10**6])
        for unit in ("s", "ms", "us", "ns")
    },
    "codes of text": pa.array(TEXTS).dictionary_encode(),
    "codes of int64": pa.array([0, 1, LARGE, LARGE + 1]).dictionary_encode(),
    "codes of days": pa.array([dt.date(2020, 1, 1), dt.date(2020, 1, 2)]).dictionary_encode(),
    "struct": pa.array([{"a": LARGE + 1, "b": "x"}, {"a": None, "b": "y"}, {"a": LARGE, "b": None}]),
    "null": pa.nulls(3),
}
ROLES = ("kept", "line", "list", "person", "quasi")
FORMS = (
    "parquet",
    "files",
    "csv",
    "jsonl",
    "arrow",
    "polars",
    "duckdb",
    "numpy",
    "nullable",
    "pyarrow",
    "object",
)

OFTEN = [("line", "parquet", True), ("kept", "files", True), ("quasi", "files", True)]  # with missing values


NANOSECONDS = {"s": 10**9, "ms": 10**6, "us": 10**3, "ns": 1}


def keys(values):
    """One hashable object for each value, equal if the values are; None for missing ones and NaN."""
    return [None if each != each else each for each in shown(values)]


def shown(values):
    """The values as Python objects: instants and spans as nanoseconds, structs as text."""
    if isinstance(values, pa.ChunkedArray):
        return [each for chunk in values.chunks for each in shown(chunk)]
    kind = values.type
    if pa.types.is_dictionary(kind):
        found = shown(values.dictionary)
        return [None if place is None else found[place] for place in values.indices.to_pylist()]
    if pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        numbers = values.view(pa.int32() if kind.bit_width == 32 else pa.int64()).to_pylist()
        step = 86_400 * 10**9 if pa.types.is_date32(kind) else NANOSECONDS[getattr(kind, "unit", "ms")]
        return [None if each is None else each * step for each in numbers]
    found = values.to_pylist()
    if pa.types.is_interval(kind):
        return [
            None if each is None else (each.months * 30 + each.days) * 86_400 * 10**9 + each.nanoseconds
            for each in found
        ]
    return [str(each) if isinstance(each, dict) else each for each in found]


def exact(values):
    """What a column holds, with the signs of zeros, and what it is. NaN is a missing value."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    zone = getattr(kind, "tz", None)
    return family(kind), zone, [*map(repr, keys(values))]


def family(kind):
    """The types that hold the same values: integers of all widths differ, but text is text."""
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    for name in ("decimal", "time", "date", "timestamp", "duration", "interval"):
        if getattr(types, f"is_{name}")(kind):
            return name.replace("interval", "duration")
    return str(kind).replace("_view", "")


# --- Tables in each form, and what the project says of them


def frame_of(table, form, path):
    """The table as somebody has it; None if that form cannot hold it as it is."""
    if form == "parquet":
        return pdanon.read_parquet(path)
    if form in ("csv", "jsonl"):
        return (
            read_lines(written_as_text(table, path.with_suffix(f".{form}"))).frame
            if is_plain(table, form)
            else None
        )
    if form == "files":
        return path
    if form == "arrow":
        return table
    if form == "polars" and any(map(_ends_polars, table.schema.types)):
        return None
    try:
        if form == "polars":
            other = polars.from_arrow(table)
        elif form == "duckdb":
            other = duckdb.from_arrow(table)
        elif form == "pyarrow":
            other = table.to_pandas(types_mapper=pd.ArrowDtype)
        elif form == "numpy":
            other = table.to_pandas(types_mapper=lists_only)
        elif form == "nullable":
            other = table.to_pandas(types_mapper=lambda kind: NULLABLE.get(kind) or lists_only(kind))
        else:
            other = pd.DataFrame({name: objects(table[name]) for name in table.column_names})
    except Exception:  # the other library's own limits, such as days beyond those of pandas
        return None
    return other if same(held(other), table) else None


def is_plain(table, form):
    """Whether CSV and JSON lines can hold a table: text, and integers in JSON."""
    kind = family(table.schema.field("value").type)
    return kind == "text" or (form == "jsonl" and kind in ("int64", "uint64", "bool"))


def written_as_text(table, path):
    """Write CSV with quotes only where they are needed, or JSON lines."""
    rows = [
        dict(zip(table.column_names, row, strict=True))
        for row in zip(*table.to_pydict().values(), strict=True)
    ]
    lines = [json.dumps(row) for row in rows]
    if path.suffix == ".csv":
        lines = [",".join(table.column_names), *[",".join(map(field_of, row.values())) for row in rows]]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def field_of(value):
    """A field of CSV: a missing one is empty, and an empty text has quotes."""
    return "" if value is None else str(value) or '""'


def _ends_polars(kind):
    """Return whether polars panics when it reads or exports values of a type."""
    return pa.types.is_decimal256(kind) or (pa.types.is_list(kind) and pa.types.is_decimal(kind.value_type))


def lists_only(kind):
    return pd.ArrowDtype(kind) if pa.types.is_list(kind) else None


INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
NULLABLE = {
    **{getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")() for name in INTEGERS},
    pa.float32(): pd.Float32Dtype(),
    pa.float64(): pd.Float64Dtype(),
    pa.bool_(): pd.BooleanDtype(),
    pa.string(): pd.StringDtype("pyarrow"),
}  # fmt: skip


def objects(column):
    """The values as Python objects, lists as Arrow."""
    if pa.types.is_list(column.type):
        return pd.arrays.ArrowExtensionArray(column)
    values = np.empty(len(column), object)
    values[:] = column.to_pylist()
    return values


def held(table):
    """What a table of any library holds, as Arrow."""
    if isinstance(table, pd.DataFrame):
        return pa.table({name: column_of(table[name]) for name in table.columns})
    return pa.table(table)


def column_of(series):
    """A column of pandas as Arrow."""
    large = series.dtype == object and any(isinstance(each, int) and each >= 2**63 for each in series)
    return pa.array(series, pa.uint64() if large else None)


def same(one, other):
    """Whether two tables hold equal values, of whatever type."""
    return all(keys_of_any(one[name]) == keys_of_any(other[name]) for name in other.column_names)


def keys_of_any(values):
    if pa.types.is_list(values.type) or pa.types.is_large_list(values.type):
        lengths = [None if each is None else len(each) for each in values.to_pylist()]
        inner = pa.chunked_array([chunk.flatten() for chunk in values.chunks], values.type.value_type)
        return lengths, keys_of_any(inner)
    return exact(values)[1:]


def refused(call, values):
    """The answer of a call, or None if it is refused, which must show no value."""
    try:
        return call()
    except PdanonError as error:
        secrets = [text for text in map(str, keys(values)) if len(text) > 4]
        shown = "".join(traceback.format_exception(error)[-1:])
        chain = error
        while chain is not None:
            assert isinstance(chain, PdanonError), repr(chain)
            chain = chain.__cause__ or (None if chain.__suppress_context__ else chain.__context__)
        assert not [secret for secret in secrets if secret in shown], shown
        return None


def drawn(kind, role, missing, rng):
    """Some values of a type, each once or more often."""
    pool = VALUES[kind]
    chosen = rng.sample(range(len(pool)), rng.randint(1, min(len(pool), 5)))
    places = [rng.randrange(len(chosen)) for _ in range(rng.randint(4, 11))]
    lacking = [missing and rng.random() < 0.3 for _ in places]
    return _taken(pool, np.take(chosen, places), lacking)


def _taken(values, places, lacking=None):
    """Take values; Arrow does not take views."""
    if pa.types.is_string_view(values.type):
        return _taken(values.cast(pa.string()), places, lacking).cast(values.type)
    return values.take(
        pa.array(places, pa.int64(), mask=None if lacking is None else np.array(lacking, bool))
    )


# --- Roles: what a column is to the project

KM = pdanon.KmAnonymity(k=2, m=1)


def check_kept(values, form, path, rng):
    """An unmodified column is published as it is: value by value, and in its type."""
    table = pa.table({"items": [["a", "b"]] * len(values), "value": values})
    source = written(table, path / "source.parquet")
    if form in ("csv", "jsonl"):
        frame = frame_of(
            table.drop_columns(["items"]).append_column("other", [["a"] * len(values)]), form, source
        )
        assert frame is None or keys(held(frame)["value"]) == keys(values)
        return
    frame = frame_of(table, form, source)
    given = {"k": 2, "m": 1, "column": "items"}
    if frame is None:
        return
    if form in ("parquet", "files"):
        memory = stored(pdanon.pcta(pdanon.read_parquet(source), **given).frame, path)
        assert exact(memory["value"]) == exact(pq.read_table(source)["value"])
        if form == "files":
            assert same_file(memory, streamed(source, path, "pcta", **given))
        return
    result = pdanon.pcta(frame, **given).frame
    assert type(result) is type(frame)
    assert exact(held(result)["value"]) == exact(held(frame)["value"])
    if isinstance(frame, pd.DataFrame):
        assert result["value"].dtype == frame["value"].dtype


def check_line(values, form, path, rng):
    """Items of lines: the set of each person, and how many have each."""
    persons = [number // 2 for number in range(len(values))]
    table = pa.table({"other": persons, "value": values})
    source = written(table, path / "source.parquet")
    frame = frame_of(table, form, source)
    if frame is None:
        return
    as_shown, stripped = defaultdict(set), defaultdict(set)
    for person, key in zip(persons, keys(values), strict=True):
        cleaned = key.strip() or None if isinstance(key, str) else key
        for sets, each in ((as_shown, key), (stripped, cleaned)):
            sets[person].update([] if each is None else [each])
    audit = refused(lambda: audited(frame, KM, unit="other", item="value"), values)
    if audit is not None:
        assert audit.rows_at_risk == at_risk(as_shown.values())
    lists = refused(lambda: gathered(frame, path, "other", "value"), values)
    if lists is not None:
        assert set_counts(lists["value"]) == Counter(map(frozenset, stripped.values()))


def check_list(values, form, path, rng):
    """Items of lists: how many rows have each, and the same release of frames and files."""
    present = _present(values)
    first = [*{key: place for place, key in enumerate(keys(present))}.values()]  # a repeated item is visible
    if not first:
        return
    rows = [rng.sample(first, rng.randint(1, min(3, len(first)))) for _ in range(len(values) // 2)]
    lacking = np.array([values.null_count > 0 and rng.random() < 0.2 for _ in rows], bool)
    offsets = np.cumsum([0, *[0 if none else len(row) for row, none in zip(rows, lacking, strict=True)]])
    places = [place for row, none in zip(rows, lacking, strict=True) if not none for place in row]
    inner = _taken(present, places)
    lists = pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), inner, mask=pa.array(lacking))
    table = pa.table({"value": lists})
    source = written(table, path / "source.parquet")
    if form in ("csv", "jsonl"):
        return
    frame = frame_of(table, form, source)
    if frame is None:
        return
    flat = keys(inner)
    sets = [set(flat[first:end]) for first, end in itertools.pairwise(offsets)]
    given = {"k": 2, "m": 1, "column": "value"}
    audit = refused(lambda: audited(frame, KM, column="value"), values)
    if audit is None:
        return
    assert audit.rows_at_risk == at_risk(sets), (audit.rows_at_risk, sets)
    result = refused(
        lambda: pdanon.pcta(pdanon.read_parquet(source) if form == "files" else frame, **given), values
    )
    if result is None:
        return
    supports = held(result.mapping)["support"].to_pylist()
    assert sorted(supports) == sorted(Counter(itertools.chain(*sets)).values())
    if not audit.rows_at_risk:  # nothing must change
        labels = itertools.chain(*filter(None, held(result.frame)["value"].to_pylist()))
        assert sorted(Counter(labels).values()) == sorted(supports)
    if form == "files":
        assert same_file(stored(result.frame, path), streamed(source, path, "pcta", **given))


def check_person(values, form, path, rng):
    """Persons: those whose values are equal, and nobody else."""
    values = _present(values)
    items = [rng.choice("abc") for _ in range(len(values))]
    table = pa.table({"value": values, "other": pa.array(items, pa.string())})
    source = written(table, path / "source.parquet")
    frame = frame_of(table, form, source)
    if frame is None:
        return
    sets = defaultdict(set)
    for key, each in zip(keys(values), items, strict=True):
        sets[key].add(each)
    audit = refused(lambda: audited(frame, KM, unit="value", item="other"), values)
    if audit is not None:
        assert audit.rows_at_risk == at_risk(sets.values())
    lists = refused(lambda: gathered(frame, path, "value", "other"), values)
    if lists is not None:
        assert set_counts(lists["other"]) == Counter(map(frozenset, sets.values()))


def check_quasi(values, form, path, rng):
    """Quasi-identifiers: classes of equal values, ranges that hold them, and the same of frames and files."""
    table = pa.table({"value": values, "other": pa.array(["a"] * len(values))})  # no line of CSV is empty
    source = written(table, path / "source.parquet")
    frame = frame_of(table, form, source)
    if frame is None:
        return
    sizes = Counter(map(repr, shown(values)))
    if form != "object":
        sizes[repr(None)] += sizes.pop(repr(float("nan")), 0)  # NaN is missing
    guarantee = pdanon.KAnonymity(k=2, quasi=["value"])
    audit = refused(lambda: audited(frame, guarantee), values)
    if audit is None:
        return
    assert audit.rows_at_risk == sizes.total() - sum(size for size in sizes.values() if size > 1)
    given = {"k": 2, "quasi": ["value"]}
    result = refused(
        lambda: pdanon.mondrian(pdanon.read_parquet(source) if form == "files" else frame, **given), values
    )
    if form == "files":
        release = refused(lambda: streamed(source, path, "mondrian", **given), values)
        assert (release is None) == (result is None) or not_stored(result.frame["value"].dtype)
        if release is not None:
            assert same_file(stored(result.frame, path), release)
    if result is not None:
        assert pdanon.audit(result.frame, guarantee).holds
        check_ranges(result.frame, values)


def check_ranges(frame, values):
    """Each range holds the value of its row. Python compares all numbers exactly."""
    if isinstance(frame, pd.DataFrame) and isinstance(frame["value"].dtype, pd.IntervalDtype):
        ranges = frame["value"].array
        low, high = (keys(pa.array(pd.Series(end))) for end in (ranges.left, ranges.right))
        for value, first, last in zip(keys(values), low, high, strict=True):
            assert value is None or first <= value <= last


CHECKS = {role: globals()[f"check_{role}"] for role in ROLES}


def _present(values):
    """Return the values without missing ones. Arrow does not filter views."""
    if pa.types.is_string_view(values.type):
        return _present(values.cast(pa.string())).cast(values.type)
    return values.filter(pa.array([each is not None for each in keys(values)], pa.bool_()))


def at_risk(sets):
    """How many persons have an item that fewer than two have."""
    supports = Counter(itertools.chain(*sets))
    return sum(any(supports[each] < 2 for each in own) for own in sets)


def set_counts(lists):
    """How often each set occurs."""
    lengths = [0 if each is None else len(each) for each in lists.to_pylist()]
    lists = pa.chunked_array(lists)
    flat = [key for chunk in lists.chunks for key in keys(chunk.flatten())]
    ends = np.cumsum([0, *lengths])
    return Counter(frozenset(flat[first:end]) for first, end in itertools.pairwise(ends))


def not_stored(dtype):
    """Whether pandas has intervals of a type that it does not store: in version 2, times with a zone."""
    return pd.__version__ < "3" and isinstance(getattr(dtype, "subtype", None), pd.DatetimeTZDtype)


def written(table, path):
    pq.write_table(table, path)
    return path


def audited(frame, *given, **named):
    room = stream if hasattr(frame, "suffix") else pdanon
    return room.by(frame, **named).audit(*given) if "unit" in named else room.audit(frame, *given, **named)


def gathered(frame, path, by, item):
    """One row per person, as Arrow."""
    if hasattr(frame, "suffix"):
        stream.from_long(frame, path / "lists.parquet", by=by, item=item)
        return pq.read_table(path / "lists.parquet")
    return held(pdanon.from_long(frame, by=by, item=item))


def stored(frame, path):
    pdanon.to_parquet(frame, path / "memory.parquet")
    return pq.read_table(path / "memory.parquet")


def streamed(source, path, algorithm, **given):
    target = path / "stream.parquet"
    target.unlink(missing_ok=True)
    getattr(stream, algorithm)(source, target, **given)
    return pq.read_table(target)


def same_file(one, other):
    """Whether two files hold the same columns. Recoded ones have the same types, too."""
    assert one.column_names == other.column_names
    for name in one.column_names:
        kind = one.schema.field(name).type
        if pa.types.is_nested(kind) or isinstance(kind, pa.BaseExtensionType):
            assert kind == other.schema.field(name).type
            assert one[name].equals(other[name]) or one[name].to_pylist() == other[name].to_pylist()
        else:
            assert exact(one[name]) == exact(other[name])
    return True


@pytest.mark.one_in(2)
@pytest.mark.seeds
@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")
@pytest.mark.parametrize("kind", VALUES)
def test_values_stay_what_they_are(kind, tmp_path):
    cases = [*itertools.product(ROLES, FORMS, (False, True))]
    try:
        written(pa.table({"value": VALUES[kind]}), tmp_path / "first.parquet")
        if kind == "float16":
            pc.is_nan(VALUES[kind])
    except pa.ArrowNotImplementedError:
        pytest.skip("older Arrow does not know this type")
    if kind.endswith("tz=+02:00]"):
        try:
            VALUES[kind].cast(pa.string())
        except pa.ArrowInvalid:
            pytest.skip("older Arrow knows no zones without a name")
    rng = random.Random(kind)
    rng.shuffle(cases)
    cases.sort(key=OFTEN.__contains__, reverse=True)
    n = 450 if ALL else 10 if MANY else 3
    for number in range(n):
        role, form, missing = cases[number % len(cases)]
        values = drawn(kind, role, missing, rng)
        CHECKS[role](values, form, tmp_path, rng)


# --- Values that must not be mixed


NOON = dt.datetime(2020, 1, 1, 12, tzinfo=dt.UTC)
TWO_KINDS = {
    "numbers and texts": [7, "7"],
    "integers and floats": [LARGE + 1, float(LARGE)],
    "integers and booleans": [1, True],
    "integers and decimals": [7, Decimal(7)],
    "integers of Python and of numpy": [7, np.int64(7)],
    "dates and times": [dt.date(2020, 1, 1), dt.datetime(2020, 1, 1)],
    "two zones": [NOON, NOON.astimezone(dt.timezone(dt.timedelta(hours=2)))],
}


@pytest.mark.parametrize("pair", TWO_KINDS.values(), ids=TWO_KINDS)
def test_persons_of_two_types_are_named_with_their_column(pair):
    lines = pd.DataFrame({"who": pd.Series([*pair, *pair], dtype=object), "what": [*"xyxy"]})
    calls = [
        lambda: pdanon.from_long(lines, by="who", item="what"),
        lambda: pdanon.by(lines, "who", item="what").pcta(k=2, m=1),
        lambda: pdanon.by(lines, "who", item="what").audit(KM),
    ]
    if pair[0] != pair[1]:  # two categories
        categories = lines.assign(who=pd.Categorical(lines["who"], pd.Index(pair, dtype=object)))
        calls.append(lambda: pdanon.by(categories, "who", item="what").audit(KM))
    for call in calls:
        with pytest.raises(pdanon.ParameterError, match="the persons are of several types") as caught:
            call()
        assert "'who'" in str(caught.value)


def test_zeros_of_both_signs_are_one_person_and_lines_may_have_no_item():
    persons = pd.DataFrame({"who": pd.Series([0.0, -0.0], dtype=object), "what": ["x", "y"]})
    for kind in (object, "float64", "Float64", "double[pyarrow]"):
        assert len(pdanon.from_long(persons.astype({"who": kind}), by="who", item="what")) == 1
    lines = pa.table({"who": [1, 2], "what": pa.nulls(2, pa.decimal128(30, 2))})
    assert pdanon.by(lines, "who", item="what").audit(KM).rows_at_risk == 0


@pytest.mark.parametrize("items", [*TWO_KINDS.values(), [2**64], [-1, 2**63]], ids=str)
def test_items_of_two_types_and_beyond_64_bits_are_named_with_their_column(items):
    if isinstance(items[-1], np.int64):
        return
    frame = pd.DataFrame({"codes": pd.Series([items, items], dtype=object)})
    for call in (lambda: pdanon.pcta(frame, k=2, m=1), lambda: pdanon.audit(frame, KM)):
        with pytest.raises(pdanon.ItemsetDtypeError) as caught:
            call()
        assert "column 'codes'" in str(caught.value)
        assert str(items[-1]) not in "".join(traceback.format_exception(caught.value)[-1:])


# --- Partitions

ONE_THREAD = {"scheduler": "synchronous", "dataframe.convert-string": False}  # texts stay what they are
FEW_KINDS = ["int64", "uint64", "decimal128", "timestamp[ns, tz=UTC]"]


@pytest.mark.slow
@pytest.mark.seeds
@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")
@pytest.mark.parametrize("kind", VALUES if ALL else FEW_KINDS)
def test_partitions_release_what_frames_release(kind, tmp_path):
    """Dask: the values of a frame with all rows, and of the files."""
    rng = random.Random(kind)
    for missing in (False, True) * (3 if ALL else 1):
        values = drawn(kind, "kept", missing, rng)
        items = [rng.choice(["a", "b", "c"]) for _ in range(len(values))]
        table = pa.table({"items": [["a", "b"]] * len(values), "value": values, "other": items})
        try:
            frame = pdanon.read_parquet(written(table, tmp_path / "source.parquet"))
        except PdanonError:
            continue
        with dask.config.set(ONE_THREAD):
            check_partitions(frame, values)


def test_partitions_do_not_round_large_integers_beside_fractions():
    lines = pd.DataFrame({"who": [1, 2], "what": [LARGE, LARGE + 1]})
    parts = [lines, lines.assign(what=[0.5, 0.5])]
    mixed = dd.from_map(lambda part: part, parts, meta=parts[0])
    with dask.config.set(ONE_THREAD), pytest.raises(pdanon.ItemsetDtypeError, match="have another type"):
        mixed.txanon.by("who", item="what").audit(KM)
    items = pd.Series([LARGE, LARGE + 1, 0.5, 0.5], dtype=object)
    objects = divided(pd.DataFrame({"who": [1, 2, 3, 4], "what": items}))
    with dask.config.set(ONE_THREAD):
        audit = refused(lambda: objects.txanon.by("who", item="what").audit(KM), pa.array([LARGE]))
    assert audit is None or audit.rows_at_risk == 2


def test_partitions_of_codes_may_have_missing_ones():
    lines = pd.DataFrame({"who": [1, 1, 2, 2], "what": pd.Categorical([LARGE, LARGE + 1, LARGE, None])})
    with dask.config.set(ONE_THREAD):
        assert divided(lines).txanon.by("who", item="what").audit(KM).rows_at_risk == 1


def check_partitions(frame, values):
    parts = divided(frame)
    kept = parts.txanon.pcta(k=2, m=1, column="items").frame.compute()
    assert exact(held(kept)["value"]) == exact(held(frame)["value"])
    assert kept["value"].dtype == frame["value"].dtype
    quasi, given = frame[["value"]], {"k": 2, "quasi": ["value"]}
    classes = refused(lambda: quasi.txanon.mondrian(**given).frame, values)
    found = refused(lambda: divided(quasi).txanon.mondrian(**given).frame.compute(), values)
    assert (classes is None) == (found is None) or not_stored(classes["value"].dtype)
    if found is not None:
        assert found["value"].dtype == classes["value"].dtype
        assert repr([*found["value"]]) == repr([*classes["value"]])
    persons = frame.loc[[each is not None for each in keys(values)], ["value", "other"]]
    audit = refused(lambda: persons.txanon.by("value", item="other").audit(KM), values)
    found = refused(lambda: divided(persons).txanon.by("value", item="other").audit(KM), values)
    assert (audit and audit.rows_at_risk) == (found and found.rows_at_risk)


def divided(frame):
    return dd.from_pandas(frame, npartitions=2, sort=False)
