"""Streaming: what is written is what the algorithm makes of the whole table, whole or not at all."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
import warnings
from collections import Counter
from decimal import Decimal
from functools import cache

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import frame_of, promised
from frames import collapse
from hypothesis import given, strategies as st
from pyarrow import fs

import pdanon
from pdanon import stream
from pdanon.algorithms import engines
from pdanon.algorithms.engines import Recoder
from pdanon.algorithms.losses import LOSSES
from pdanon.errors import (
    ColumnError,
    FormatError,
    GuaranteeError,
    IdentifierWarning,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
)
from pdanon.io import trees as parquet
from pdanon.io.datasets import make_baskets
from pdanon.io.parquet import read_parquet
from pdanon.io.trees import ParquetTree
from pdanon.itemsets import timing
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.stream import streamed

# Columns pass through here that tell rows apart; the tests that are about it ask for the warning.
pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")

TREE = 3
ALGORITHMS = {
    "pcta": {"k": 4, "m": 3},
    "coat": {
        "k": 6,
        "m": 2,
        "max_suppressed": 0.4,
        "labels": "first",
        "utility": [["a0", "a1", "a10"], ["a2", "a3", "a4"], ["a5"], ["a6", "a8"]],
    },
    "upcta": {"k": 6, "m": 2, "max_suppressed": 0.4, "labels": "short"},
    "apriori": {"k": 4, "m": 3, "hierarchy": TREE},
    "direct": {"k": 4, "m": 2, "hierarchy": TREE},
    "optimal": {"k": 4, "m": 2, "hierarchy": TREE},
    "vpa": {"k": 4, "m": 2, "hierarchy": TREE, "parts": 3},
    "hghs": {"k": 4, "m": 2, "hierarchy": TREE},
    "mhghs": {"k": 4, "m": None, "hierarchy": TREE},
    "coherence": {"h": 0.5, "k": 4, "p": 2, "private": ["a0", "a5"]},
    "suppress_public": {"h": 0.5, "k": 4, "p": 2, "private": ["a0", "a5"]},
    "suppress_to_k": {"k": 4, "public": ["a1", "a3", "a4", "a6", "a8", "a10"]},
    "ps_rules": {
        **{"k": 4, "c": 0.5, "suppress": True, "labels": "first"},
        "rules": pdanon.constraints.AllRules(2, ["a0", "a5"]),
    },
    "ps_rules, sampled": {
        **{"k": 3, "c": 0.4, "how": "sample", "sample": 0.5, "random_state": 1},
        "rules": [(["a1", "a2"], ["a5"]), (["a3"], ["a5"]), (["a2", "a4"], ["a5"])],
    },
    "suppress_control": {"rho": 0.5, "sensitive": ["a5", "a6"], "m": 1},
    "td_control": {"rho": 0.5, "sensitive": ["a5", "a6"], "m": 1, "hierarchy": TREE},
    "apriori, sensitive": promised(k=4, m=2, hierarchy=TREE, sensitive=["a5"], l=3),
}
IN_BLOCKS = {
    "lra": {"k": 4, "m": 2, "hierarchy": TREE, "parts": 4},
    "lra, all items": {"k": 3, "m": None, "hierarchy": TREE, "parts": 50},
}


def rows(seed, count=150, items=12):
    """Rows of a few items, many of them alike, some missing or empty."""
    rng = np.random.default_rng(seed)
    drawn = [(rng.integers(items, size=rng.integers(4)) ** 2 // items).tolist() for _ in range(count)]
    return [None if rng.random() < 0.05 else row for row in drawn]


def lists(drawn, kind):
    if not pa.types.is_integer(kind.value_type):
        drawn = [None if row is None else [f"a{item}" for item in row] for row in drawn]
    return pa.array(drawn, kind)


def one_file(table, directory):
    pq.write_table(table, directory / "baskets.parquet", row_group_size=37)
    return directory / "baskets.parquet"


def single_group(table, directory):
    pq.write_table(table, directory / ".kept", compression="zstd")
    (directory / "whole.parquet").symlink_to(".kept")
    return directory / "whole.parquet"


def partitions(table, directory):
    for number, (name, size) in enumerate({"store=a/x": 40, "store=a/y": 0, "store=b/x": 200}.items()):
        path = directory / "tree" / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        part = table.slice(40 * min(number, 1), size)
        pq.write_table(part, path, row_group_size=33, compression="gzip")
    (directory / "tree" / "_SUCCESS").touch()
    (directory / "tree" / "_metadata.parquet").touch()
    return directory / "tree"


def pattern(table, directory):
    (directory / "parts").mkdir()
    for number in range(3):
        pq.write_table(table.slice(50 * number, 50), directory / "parts" / f"part{number}.parquet")
    (directory / "parts" / "part1.parquet").rename(directory / "parts" / "_kept")
    (directory / "parts" / "part1.parquet").symlink_to("_kept")
    (directory / "parts" / "again.parquet").hardlink_to(directory / "parts" / "part2.parquet")
    pq.write_table(table.slice(0, 9), directory / "parts" / "other.parquet")
    return directory / "parts" / "part*.parquet"


LAYOUTS = [one_file, single_group, partitions, pattern]
KINDS = {
    "text": pa.list_(pa.string()),
    "dictionary": pa.list_(pa.dictionary(pa.int8(), pa.string())),
    "large": pa.large_list(pa.large_string()),
    "integers": pa.list_(pa.int64()),
}


def read(path):
    return pq.ParquetFile(path).read()


def written(target):
    """The files of a release, in the order of their names."""
    files = [target] if target.is_file() else sorted(target.rglob("*.parquet"))
    return pa.concat_tables([read(path).replace_schema_metadata() for path in files])


def lists_of(frame):
    return pa.array(frame["items"]).to_pylist()


def table_of(kind=KINDS["text"], seed=0):
    column = lists(rows(seed), kind)
    return pa.table({"number": np.arange(len(column)) // 2, "items": column})


def frame_in_memory(table):
    return table.to_pandas(types_mapper=lambda t: pd.ArrowDtype(t) if pa.types.is_nested(t) else None)


def release_in_memory(name, frame, labels="set", **asked):
    """The release of a frame: rows in memory get their labels afterwards, all others as they are written."""
    result = getattr(pdanon, name.split(",")[0])(frame, **asked)
    return result if labels == "set" else result.relabel(labels)


@cache
def released_in_memory(name):
    """The release of the frame, which all layouts and partitions have."""
    return release_in_memory(name, frame_in_memory(table_of()), **{**ALGORITHMS, **IN_BLOCKS}[name])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", [*ALGORITHMS, *IN_BLOCKS])
def test_a_release_is_that_of_the_frame_row_for_row(name, layout, tmp_path):
    asked, algorithm, target = {**ALGORITHMS, **IN_BLOCKS}[name], name.split(",")[0], tmp_path / "out"
    result = getattr(stream, algorithm)(layout(table_of(), tmp_path), target, **asked)
    expected = released_in_memory(name)
    released = written(tmp_path / "out")
    assert released["items"].to_pylist() == lists_of(expected.frame)
    assert released["number"].to_pylist() == [row // 2 for row in range(150)]
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    pd.testing.assert_series_equal(result.loss, expected.loss)
    assert repr(result.guarantee) == repr(expected.guarantee)
    assert result.parameters.keys() == expected.parameters.keys()
    assert result.rows == 150
    assert [path.is_file() for path in result.paths] == [True] * len(result.paths)


@pytest.mark.parametrize("m", [2, 3, None])
def test_the_optimum_with_suppression_is_that_of_the_frame(m, tmp_path):
    table, asked = table_of(seed=3), {"k": 9, "m": m, "hierarchy": TREE, "suppress": True}
    result = stream.optimal(one_file(table, tmp_path), tmp_path / "out", **asked)
    expected = pdanon.optimal(frame_in_memory(table), **asked)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    pd.testing.assert_series_equal(result.loss, expected.loss)
    assert result.loss["gap"] == 0
    assert result.mapping["generalized"].isna().any()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_lists_of_any_type_are_read_and_lists_of_text_are_written(kind, layout, tmp_path):
    table = table_of(kind, seed=3)
    stream.pcta(layout(table, tmp_path), tmp_path / "out", k=7)
    expected = pdanon.pcta(frame_in_memory(table), k=7).frame
    released = written(tmp_path / "out")
    assert released["items"].to_pylist() == lists_of(expected)
    assert released.schema.field("items").type == pa.list_(pa.string())


TYPES = {
    "text": lambda item: f"a{item}",
    "integers": lambda item: item,
    "floats": lambda item: item / 4,
    "dates": lambda item: dt.date(2020, 1, 1 + item),
    "times": lambda item: dt.datetime(2020, 1, 1 + item),
    "decimals": lambda item: Decimal(item) / 4,
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("made", TYPES.values(), ids=TYPES)
def test_items_that_are_only_suppressed_keep_their_type(made, tmp_path):
    column = pa.array([None if row is None else sorted({made(i) for i in row}) for row in rows(2)])
    ill = int if made(0) == "a0" else "b{}".format  # of another type
    hidden = pa.array([None if row is None else [ill(item) for item in row[:1]] for row in rows(1)])
    table = pa.table({"items": column, "hidden": hidden, "number": np.arange(150) // 2})
    asked = {"column": "items", "h": 0.6, "k": 5, "p": 2, "private": "hidden"}
    source = one_file(table, tmp_path)
    result = stream.coherence(source, tmp_path / "out.parquet", **asked)
    expected = pdanon.coherence(pdanon.read_parquet(source), **asked)
    released = pdanon.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(released, expected.frame)
    assert result.mapping["generalized"].isna().any()
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    pd.testing.assert_series_equal(result.loss, expected.loss)


@pytest.mark.parametrize("name", ["pcta", "suppress_control", "suppress_to_k"])
@pytest.mark.parametrize("kind", [pa.large_list(pa.large_string()), pa.list_(pa.string_view())], ids=str)
def test_large_text_and_views_are_released_as_in_memory(kind, name, tmp_path):
    table = pa.table({"items": lists(rows(2), KINDS["text"]).cast(kind)})
    try:
        source = one_file(table, tmp_path)
    except pa.ArrowNotImplementedError:
        pytest.skip("this Arrow does not write views")
    result = getattr(stream, name)(source, tmp_path / "out.parquet", **ALGORITHMS[name])
    expected = release_in_memory(name, pdanon.read_parquet(source), **ALGORITHMS[name])
    released = pdanon.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(released, expected.frame)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY"])
def test_encodings_that_have_no_codes_are_read(encoding, tmp_path):
    table, options = table_of(), {"use_dictionary": False, "row_group_size": 37}
    for number, encodings in enumerate([{"items.list.element": encoding}, None]):
        path = tmp_path / "in" / f"{number}.parquet"
        path.parent.mkdir(exist_ok=True)
        pq.write_table(table, path, column_encoding=encodings, **options)
    stream.pcta(tmp_path / "in", tmp_path / "out", k=3, mapping=tmp_path / "map.csv")
    expected = pdanon.pcta(frame_in_memory(pa.concat_tables([table, table])), k=3)
    assert written(tmp_path / "out")["items"].to_pylist() == lists_of(expected.frame)


def test_list_columns_that_pass_through_keep_their_type(tmp_path):
    others = {"notes": pa.list_(pa.string()), "large": pa.large_list(pa.large_string())}
    others |= {"two": pa.list_(pa.string(), 2), "bytes": pa.list_(pa.binary())}
    table = pa.table(
        {
            "items": [["a"], ["a"]],
            **{name: pa.array([["x", "y"]] * 2).cast(kind) for name, kind in others.items()},
        }
    )
    pq.write_table(table, tmp_path / "in.parquet")
    stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", column="items", k=2)
    released, original = (read(tmp_path / f"{name}.parquet").drop_columns("items") for name in ("out", "in"))
    assert released.replace_schema_metadata().equals(original.replace_schema_metadata())
    assert released.schema.types == original.schema.types


@pytest.mark.one_in(3)
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", ["coherence", "suppress_public"])
def test_a_private_column_is_released_as_in_memory(name, layout, tmp_path):
    table, asked = table_of(), {"column": "items", "h": 0.5, "k": 5, "p": 3, "private": "ills"}
    ills = [None if row is None else [f"b{item}" for item in row[::2]] * 2 for row in rows(1)]  # no sets
    table = table.append_column("ills", pa.array(ills, pa.list_(pa.string())))
    result = getattr(stream, name)(layout(table, tmp_path), tmp_path / "out", **asked)
    expected = getattr(pdanon, name)(frame_in_memory(table), **asked)
    released = written(tmp_path / "out")
    for column in ("items", "ills"):
        assert released[column].to_pylist() == pa.array(expected.frame[column]).to_pylist()
    assert released["number"].to_pylist() == [row // 2 for row in range(150)]
    pd.testing.assert_series_equal(result.loss, expected.loss)
    assert result.guarantee.audit(frame_in_memory(released), "items").holds


def test_a_private_column_is_checked(tmp_path):
    table = table_of().append_column("ills", table_of()["items"])
    source, asked = one_file(table, tmp_path), {"h": 1, "k": 2, "p": 1}
    wrong = {"ills": "both public and private", "none": "names a column that does not exist"}
    for private, message in wrong.items():
        with pytest.raises(ParameterError, match=message):
            stream.coherence(source, tmp_path / "out", column="items", private=private, **asked)
    with pytest.raises(ColumnError, match="is the list column itself"):
        stream.coherence(source, tmp_path / "out", column="items", private="items", **asked)
    with pytest.raises(ItemsetDtypeError, match=r"baskets\.parquet, row group 0"):
        stream.coherence(source, tmp_path / "out", column="items", private="number", **asked)
    assert list(tmp_path.iterdir()) == [source]


def test_constraints_are_audited_with_the_mapping(tmp_path):
    table, constraints = table_of(seed=5), [["a1", "a5"], ["a10"], ["a0", "a3", "a8"]]
    result = stream.pcta(
        one_file(table, tmp_path),
        tmp_path / "out",
        guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=9),
    )
    expected = pdanon.pcta(
        frame_in_memory(table), guarantee=pdanon.PrivacyConstraints(constraints=constraints, k=9)
    )
    assert written(tmp_path / "out")["items"].to_pylist() == lists_of(expected.frame)
    assert result.guarantee.audit(frame_in_memory(written(tmp_path / "out"))).holds


def test_no_rows_and_empty_rows(tmp_path):
    for number, drawn in enumerate(([], [[], []], [None, [], []], [None])):
        path, target = tmp_path / f"in{number}.parquet", tmp_path / f"out{number}.parquet"
        pq.write_table(pa.table({"items": pa.array(drawn, pa.list_(pa.string()))}), path)
        assert stream.pcta(path, target, k=2).rows == len(drawn)
        assert read(target)["items"].to_pylist() == drawn
        asked = {"k": 2, "hierarchy": {"all": ["a"]}, "parts": 3}
        assert stream.lra(path, tmp_path / f"lra{number}.parquet", **asked).rows == len(drawn)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_files_keep_their_paths_row_groups_compression_and_other_columns(layout, tmp_path):
    table = table_of()
    at = pa.array(pd.date_range("2020", periods=10, tz="Europe/Athens").repeat(15))
    table = table.append_column("at", at).append_column(
        "ward", pa.array(list("xyz") * 50).dictionary_encode()
    )
    source = layout(table, tmp_path)
    result = stream.pcta(source, tmp_path / "out", k=3)
    originals = [source] if source.is_file() else sorted(source.parent.glob(source.name))
    if source.is_dir():
        originals = [path for path in sorted(source.rglob("*.parquet")) if path.name[0] != "_"]
        names = [path.relative_to(source) for path in originals]
        assert [path.relative_to(tmp_path / "out") for path in result.paths] == names
    for before, after in zip(originals, result.paths, strict=True):
        old, new = pq.ParquetFile(before), pq.ParquetFile(after)
        groups = range(old.num_row_groups)
        assert [new.metadata.row_group(i).num_rows for i in range(new.num_row_groups)] == [
            old.metadata.row_group(i).num_rows for i in groups
        ]
        for i in groups:
            kinds = [file.metadata.row_group(i).column(0).compression for file in (old, new)]
            assert kinds[0] == kinds[1]
        columns = ["number", "at", "ward"]
        assert new.read(columns).replace_schema_metadata().equals(old.read(columns).replace_schema_metadata())


def test_pandas_reads_the_same_index_and_dtypes(tmp_path):
    frame = frame_of([["ab", "cd"], ["ab"], ["cd"], ["ab", "cd"]])
    frame.index = pd.Index([3, 1, 4, 1], name="person")
    frame["ward"] = pd.Categorical(list("xyxy"))
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2)
    released = pdanon.read_parquet(tmp_path / "out.parquet")
    pd.testing.assert_frame_equal(released[["ward"]], frame[["ward"]])
    assert pd.read_parquet(tmp_path / "out.parquet")["items"].map(list).tolist() == frame["items"].tolist()


def is_stored(kind):
    """Whether this version of Arrow writes a type to Parquet, within a struct, and reads it."""
    table, file = pa.table({"x": pa.nulls(4, pa.struct([pa.field("y", kind)]))}), pa.BufferOutputStream()
    try:
        pq.write_table(table, file)
        return pq.read_table(pa.BufferReader(file.getvalue())).num_rows == 4
    except (pa.ArrowException, OSError):
        return False


def nested_types():
    """Fields of each type that has fields within, with metadata."""
    number = pa.field("number", pa.int64(), metadata={"about": "SECRET"})
    key = pa.field("key", pa.string(), nullable=False, metadata={"about": "SECRET"})
    kinds = [pa.struct([number]), pa.map_(key, number), pa.list_(number, 2)]
    kinds += [make(number) for make in (pa.list_, pa.large_list, pa.list_view, pa.large_list_view)]
    return [pa.field(f"kind {place}", kind) for place, kind in enumerate(filter(is_stored, kinds))]


def test_a_frame_is_written_without_the_metadata_of_nested_fields(tmp_path):
    kinds = [field.type for field in nested_types()]
    columns = {str(kind): pd.array(pa.nulls(2, kind), pd.ArrowDtype(kind)) for kind in kinds}
    pdanon.to_parquet(pd.DataFrame(columns), tmp_path / "nested.parquet")
    assert b"SECRET" not in (tmp_path / "nested.parquet").read_bytes()
    assert "SECRET" not in pq.read_schema(tmp_path / "nested.parquet").to_string()


def test_nothing_of_the_input_is_left_in_the_files(tmp_path):
    frame = frame_of([["tea", "rice"], ["tea", "rice"], ["tea", "SECRET"], ["rice", "tea"]])
    frame.attrs["source"] = "SECRET"
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    table = pq.read_table(tmp_path / "in.parquet")
    note = {**table.schema.metadata, b"note": b"SECRET"}
    kinds = nested_types()
    table = table.append_column("nested", pa.nulls(len(table), pa.struct(kinds)))
    fields = [field.with_metadata({"about": "SECRET"}) for field in table.schema]
    table = table.cast(pa.schema(fields, note))
    pq.write_table(table, tmp_path / "in.parquet", compression="none")
    asked = {"k": 2, "m": 2, "max_suppressed": 0.5, "utility": [["SECRET"], ["tea"], ["rice"]]}
    result = stream.coat(tmp_path / "in.parquet", tmp_path / "out.parquet", **asked)
    assert b"SECRET" in (tmp_path / "in.parquet").read_bytes()
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()
    metadata = pq.ParquetFile(tmp_path / "out.parquet").schema_arrow
    assert "SECRET" not in str(metadata.metadata) + metadata.to_string() + repr(result)
    assert read(tmp_path / "out.parquet")["items"].to_pylist()[2] == ["tea"]


def test_dictionary_entries_that_no_row_has_are_neither_missed_nor_written(tmp_path):
    codes = pa.array([0, 2, 2, 0, 0, 2], pa.int32())
    items = pa.DictionaryArray.from_arrays(codes, pa.array(["tea", "SECRET", "rice"]))
    table = pa.table({"items": pa.ListArray.from_arrays([0, 2, 4, 5, 6, 6], items)})
    pq.write_table(table, tmp_path / "in.parquet", compression="none")
    assert b"SECRET" in (tmp_path / "in.parquet").read_bytes()
    stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2)
    assert read(tmp_path / "out.parquet")["items"].to_pylist() == [["rice", "tea"]] * 2 + [
        ["tea"],
        ["rice"],
        [],
    ]
    assert b"SECRET" not in (tmp_path / "out.parquet").read_bytes()


@pytest.mark.parametrize(
    "suppressed", [[], ["a0"], [f"a{item}" for item in range(12)]], ids=["none", "one", "all"]
)
def test_recoding_alone_is_that_of_a_frame(suppressed, tmp_path):
    table, target = table_of(seed=8), tmp_path / "out.parquet"
    items = [f"a{item}" for item in range(12)]
    labels = [None if item in suppressed else f"({item[:2]})" for item in items]  # a1, a10 and a11 are alike
    mapping = pd.DataFrame({"group": 0, "item": items, "generalized": labels}).astype(
        {"item": "string[pyarrow]", "generalized": "string[pyarrow]"}
    )
    tree = ParquetTree.find(one_file(table, tmp_path))
    stream.list_files.recode_files(
        tree, target, ["items"], Recoder(mapping, missing_as_empty=bool(suppressed))
    )
    expected = pdanon.apply_mapping(frame_in_memory(table), mapping)
    assert read(target)["items"].to_pylist() == lists_of(expected)
    assert (None in lists_of(expected)) == (not suppressed)


def test_a_uri_is_read_as_a_path(tmp_path):
    source = one_file(table_of(), tmp_path)
    stream.pcta(source.as_uri(), tmp_path / "out.parquet", k=3)
    stream.pcta(source, tmp_path / "same.parquet", k=3)
    assert read(tmp_path / "out.parquet").equals(read(tmp_path / "same.parquet"))


@pytest.mark.parametrize(
    "source", ["bucket", "bucket/store=a", "bucket/*/x.parquet", "bucket/store=b/x.parquet"]
)
def test_a_remote_file_system_is_read_as_a_directory(source, tmp_path, monkeypatch):
    table = table_of()
    tree = partitions(table, tmp_path)
    tree.rename(tmp_path / "bucket")
    remote = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())

    def resolve(uri):
        scheme, _, path = str(uri).partition("://")
        return (remote, path) if scheme == "remote" else (fs.LocalFileSystem(), str(uri))

    expected = stream.pcta(tmp_path / source, tmp_path / "expected", k=3)
    monkeypatch.setattr(parquet, "resolve", resolve)
    result = stream.pcta(f"remote://{source}", tmp_path / "out", k=3)
    assert written(tmp_path / "out").equals(written(tmp_path / "expected"))
    relative = [[path.relative_to(tmp_path).parts[1:] for path in each.paths] for each in (result, expected)]
    assert relative[0] == relative[1]


def test_readers_find_the_columns_in_directory_names(tmp_path):
    table = table_of().drop_columns("number")
    stream.pcta(partitions(table, tmp_path), tmp_path / "out", k=3)
    stores = pq.read_table(tmp_path / "out")["store"].to_pylist()
    assert stores == ["a"] * 40 + ["b"] * 110


def test_a_uri_of_this_machine_is_a_path(tmp_path):
    source = one_file(table_of(), tmp_path)
    target = tmp_path / "out"
    assert stream.pcta(source, target.as_uri(), k=3).paths == (target,)
    with pytest.raises(ParameterError, match="the target exists"):
        stream.pcta(source, target.as_uri(), k=3)


@given(st.lists(st.lists(st.one_of(st.none(), st.lists(st.sampled_from("abcdef"), max_size=4)), max_size=9)))
def test_collapsing_counts_rows_and_audits_alike(batches):
    kind = pa.list_(pa.string())
    found = collapse(Itemsets.from_arrow(pa.array(batch, kind)) for batch in batches)
    itemsets, every = found.itemsets, [row for batch in batches for row in batch]
    sets, expected = (
        [None if row is None else frozenset(row) for row in rows]
        for rows in (itemsets.to_arrow().to_pylist(), every)
    )
    assert dict(zip(sets, itemsets.weights.tolist(), strict=True)) == Counter(expected)
    assert len(set(sets)) == len(sets)
    for guarantee in (pdanon.KmAnonymity(3, 2), pdanon.KmAnonymity(2, None), pdanon.KmAnonymity(3, 3)):
        one, other = (
            guarantee.recount(found),
            guarantee.audit(frame_of(None if row is None else set(row) for row in every)),
        )
        assert one.rows_at_risk == other.rows_at_risk
        assert one.threats["itemset"].tolist() == other.threats["itemset"].tolist()
        assert one.threats["support"].tolist() == other.threats["support"].tolist()


def test_weighted_constraints_are_audited_alike():
    batches = [[["a", "b"], ["a"], ["a", "b"]], [["a", "b"], ["c", "a"], []]]
    found = collapse(Itemsets.from_arrow(pa.array(batch)) for batch in batches)
    for k in (2, 3, 4):
        guarantee = pdanon.PrivacyConstraints(constraints=[["a", "b"], ["c"]], k=k)
        expected = guarantee.audit(frame_of([row for batch in batches for row in batch]))
        assert guarantee.recount(found).rows_at_risk == expected.rows_at_risk


def test_a_release_that_fails_its_audit_is_withheld(tmp_path, monkeypatch):
    source = partitions(table_of(), tmp_path)
    monkeypatch.setattr(
        engines, "relabel", lambda itemsets, *_, **asked: Itemsets.from_arrow(itemsets.to_arrow())
    )
    with pytest.raises(GuaranteeError):
        stream.pcta(source, tmp_path / "out", k=30)
    assert list(tmp_path.iterdir()) == [source]


def test_columns_that_may_identify_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr("pdanon.stream.streamed.SAMPLE", 60)  # of row groups of 37 rows
    table = table_of().append_column("person", pa.array(range(150)))
    with pytest.warns(
        IdentifierWarning, match="60 of the first 60 rows .* unique in person, .*In all 150 rows"
    ) as caught:
        stream.pcta(one_file(table, tmp_path), tmp_path / "out", k=2)
    assert [warning.filename for warning in caught] == [__file__]


def test_columns_that_identify_together_are_told_until_they_are_judged(tmp_path):
    table = table_of().drop_columns("number")
    table = table.append_column("ward", pa.array([*range(10)] * 15))
    table = table.append_column("year", pa.array([row // 10 for row in range(150)]))
    source = tmp_path / "one.parquet"
    pq.write_table(table, source)
    with pytest.warns(
        IdentifierWarning, match="^150 of 150 rows .* unique in ward and year, which"
    ) as caught:
        stream.pcta(source, tmp_path / "out", k=2)
    assert "Of all" not in str(caught[0].message)
    result = stream.pcta(source, tmp_path / "judged", k=2, keep=iter(["ward", "year"]))
    assert result.parameters["keep"] == ["ward", "year"]
    for keep, message in (
        (["wards"], "did you mean 'ward'"),
        (["items"], "'items' is recoded"),
        ("ward", "a list"),
    ):
        with pytest.raises((ColumnError, ParameterError), match=message):
            stream.pcta(source, tmp_path / "never", k=2, keep=keep)
    assert not (tmp_path / "never").exists()


def test_an_index_without_a_name_is_told_unless_it_only_counts_the_rows(tmp_path):
    frame = table_of().to_pandas(types_mapper=pd.ArrowDtype)[["items"]]
    for number, index in enumerate((range(150), [*range(150)], [f"person {row}" for row in range(150)])):
        frame.set_axis(pd.Index(index)).to_parquet(tmp_path / f"{number}.parquet", row_group_size=37)
        target = tmp_path / f"out {number}.parquet"
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", IdentifierWarning)
            found = stream.pcta(tmp_path / f"{number}.parquet", target, k=2).unmodified
        assert found.known == (("__index_level_0__",) if number == 2 else ())
        assert len(caught) == (number == 2)
    keep = ["__index_level_0__"]
    kept = stream.pcta(tmp_path / "2.parquet", tmp_path / "kept.parquet", k=2, keep=keep)
    assert kept.unmodified.judged == tuple(keep)


def test_what_cannot_be_compared_cannot_be_judged(tmp_path):
    notes = pa.array([{"a": 1}] * 150)
    source = one_file(table_of().drop_columns("number").append_column("notes", notes), tmp_path)
    with pytest.warns(IdentifierWarning, match="The values of notes cannot be compared"):
        stream.pcta(source, tmp_path / "out", k=2)
    with pytest.raises(ColumnError, match="cannot be compared\n  where: keep\n  got:   notes"):
        stream.pcta(source, tmp_path / "never", k=2, keep=["notes"])
    assert not (tmp_path / "never").exists()


def test_local_recodings_are_refused(tmp_path):
    for name in ("partition", "clump", "cahd"):
        with pytest.raises(ParameterError, match="needs all rows at once"):
            getattr(stream, name)(tmp_path, tmp_path / "out", k=2)
    with pytest.raises(AttributeError, match="did you mean 'pcta'"):
        _ = stream.pctaa
    with pytest.raises(ParameterError, match=r"call it by its name: .* pdanon\.stream\.pcta"):
        stream.anonymize(tmp_path, tmp_path / "out", algorithm="pcta", k=2)
    with pytest.raises(ParameterError, match=r"no guarantee is given\n(.|\n)*such as k=5"):
        stream.pcta(tmp_path, tmp_path / "out")
    with pytest.raises(ParameterError, match=r"pcta has no parameter 'kk'"):
        stream.pcta(tmp_path, tmp_path / "out", k=2, kk=2)


def change(table, number):
    lists_too = table.append_column("more", table["items"])
    return [
        (table.drop_columns("number"), "no columns ['number']"),
        (table.append_column("age", table["number"]), "columns ['age']"),
        (table.select(["items", "number"]), "in the order"),
        (
            table.set_column(0, "number", table["number"].cast(pa.int32())),
            "'number' of type int32 instead of",
        ),
        (lists_too, "columns ['more']"),
    ][number]


@pytest.mark.parametrize("number", range(5))
def test_files_of_different_columns_are_told_apart(number, tmp_path):
    source = partitions(table_of(), tmp_path)
    changed, message = change(table_of(), number)
    pq.write_table(changed, source / "store=b" / "y.parquet")
    with pytest.raises(FormatError) as caught:
        stream.pcta(source, tmp_path / "out", k=2)
    assert message in str(caught.value)
    assert "store=b/y.parquet" in str(caught.value)
    assert list(tmp_path.iterdir()) == [source]


def test_a_source_without_parquet_is_refused(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "notes.txt").write_text("none")
    (tmp_path / "in" / "bad.txt").write_text("none")
    for source in ("in", "in/*.parquet", "nowhere", "in/notes.txt"):
        with pytest.raises(FormatError):
            stream.pcta(tmp_path / source, tmp_path / "out", k=2)
    with pytest.raises(FormatError):
        stream.pcta("nothing://there", tmp_path / "out", k=2)


def test_a_target_that_exists_or_is_within_the_source_is_refused(tmp_path):
    source = partitions(table_of(), tmp_path)
    inside = [source / "out", source / "store=a" / "out"]
    exists = [source, source / "_SUCCESS", tmp_path]
    (tmp_path / "link").symlink_to(source)
    for target in [*inside, *exists, tmp_path / "link" / "out", tmp_path / "no" / "out"]:
        with pytest.raises(ParameterError, match="target"):
            stream.pcta(source, target, k=2)
    parts = pattern(table_of(), tmp_path)
    for number in range(2):  # a release beside what a pattern names is not part of it
        found = stream.pcta(parts, parts.parent / f"out{number}", k=2)
        assert len(found.paths) == 3


def test_a_name_that_is_too_long_is_refused_before_anything_is_read(tmp_path, monkeypatch):
    source, long = one_file(table_of(), tmp_path), tmp_path / ("x" * 300 + ".csv")
    monkeypatch.setattr(ParquetTree, "schema", lambda tree: pytest.fail("the files are read"))
    for target, mapping in ((long, None), (long / "out", None), (tmp_path / "out", long)):
        with pytest.raises(FormatError, match=r"File name too long\n  hint:  choose a shorter name"):
            stream.pcta(source, target, k=2, mapping=mapping)
    assert list(tmp_path.iterdir()) == [source]


def test_columns_of_one_name_are_refused(tmp_path):
    columns = [table_of()["items"], table_of()["number"], table_of()["number"]]
    path = tmp_path / "in.parquet"
    pq.write_table(pa.Table.from_arrays(columns, names=["items", "n", "n"]), path)
    for read in (
        lambda: stream.pcta(path, tmp_path / "out.parquet", k=2),
        lambda: stream.audit(path, pdanon.KmAnonymity(2, 1)),
        lambda: pdanon.read_parquet(path),
        lambda: pdanon.read_parquet(path, columns=["items"]),
    ):
        with pytest.raises(ColumnError, match=r"two columns have the same name\n(.|\n)*columns 2 and 3\n"):
            read()
    assert list(tmp_path.iterdir()) == [path]


def test_a_corrupt_row_group_is_named(tmp_path):
    source = partitions(table_of(), tmp_path)
    path = source / "store=b" / "x.parquet"
    column = pq.ParquetFile(path).metadata.row_group(2).column(1)
    data = bytearray(path.read_bytes())
    start = column.dictionary_page_offset or column.data_page_offset
    data[start : start + column.total_compressed_size] = b"\xff" * column.total_compressed_size
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"store=b/x\.parquet, row group 2"):
        stream.pcta(source, tmp_path / "out", k=2)
    path.write_bytes(data[:200])
    with pytest.raises(FormatError, match=r"store=b/x\.parquet"):
        stream.pcta(source, tmp_path / "out", k=2)
    assert list(tmp_path.iterdir()) == [source]


def test_bad_columns_are_named_with_the_file(tmp_path):
    table = pa.table({"items": pa.array([["SECRET", "a"], ["b", None]]), "other": pa.array([["a"], ["b"]])})
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(ColumnError):
        stream.pcta(tmp_path / "in.parquet", tmp_path / "out", k=2)
    with pytest.raises(ColumnError):
        stream.pcta(tmp_path / "in.parquet", tmp_path / "out", column="none", k=2)
    with pytest.raises(ItemsetDtypeError, match=r"row 1(.|\n)*in\.parquet, row group 0") as caught:
        stream.pcta(tmp_path / "in.parquet", tmp_path / "out", column="items", k=2)
    assert "SECRET" not in str(caught.value)
    with pytest.raises(InfeasibleError) as failed:
        stream.pcta(tmp_path / "in.parquet", tmp_path / "out", column="other", k=3)
    assert failed.value.partial is None
    assert [path.name for path in tmp_path.iterdir()] == ["in.parquet"]


def test_a_refusal_has_no_attempt_that_could_be_taken_for_a_release(tmp_path):
    asked = {"k": 100, "utility": [["a0", "a1", "a10"], ["a2", "a3", "a4"], ["a5"], ["a6", "a8"]]}
    with pytest.raises(InfeasibleError) as caught:
        stream.coat(one_file(table_of(), tmp_path), tmp_path / "out", **asked)
    assert caught.value.partial is None


@pytest.mark.parametrize(("name", "asked"), [("pcta", {"k": 2}), ("lra", IN_BLOCKS["lra, all items"])])
def test_files_that_change_meanwhile_are_noticed(name, asked, tmp_path, monkeypatch):
    table, source, decide = table_of(), one_file(table_of(), tmp_path), engines.decide
    fewer = pa.table({"number": [0, 1], "items": [["a1"], ["a2"]]})
    others = [table_of(seed=1), table.slice(0, 149), table.take(np.arange(150)[::-1]), fewer]
    others += [table.drop_columns("items"), table.drop_columns("number"), table_of(KINDS["integers"]), None]
    for changed in others:

        def change_too(*args, changed=changed, **given):
            if changed is None:
                source.unlink()
            else:
                pq.write_table(changed, source)
            return decide(*args, **given)

        pq.write_table(table, source)
        monkeypatch.setattr(engines, "decide", change_too)
        with pytest.raises(FormatError, match="have changed since they were first read"):
            getattr(stream, name)(source, tmp_path / "out", mapping=tmp_path / "map.csv", **asked)
    assert list(tmp_path.iterdir()) == []


def test_equal_rows_of_real_data_collapse(data):
    path = data / "bms_webview1.parquet"
    if not path.exists():
        pytest.skip("no bms_webview1")
    column = Itemsets.from_arrow(read(path)["items"])
    found = collapse([column]).itemsets
    assert found.weights.sum() == column.n_rows
    assert found.n_rows == len(set(map(tuple, column.to_arrow().to_pylist())))
    assert len(found.codes) < 0.8 * len(column.codes)


LABELS = st.lists(st.lists(st.sampled_from("abcd"), max_size=4) | st.none(), min_size=1, max_size=12)
MODELS = [
    pdanon.KmAnonymity(2, 1),
    pdanon.KmAnonymity(3, 2),
    pdanon.KmAnonymity(2, None),
    pdanon.LmDiversity(l=2, m=1, sensitive=["a"]),
    pdanon.RhoUncertainty(rho=0.5, sensitive=["a"]),
    pdanon.PublicK(k=2, public=["a", "b"]),
    pdanon.PrivacyConstraints(constraints=[["a", "b"], ["c"]], k=2),
    pdanon.PSRules(rules=[(["a", "b"], ["c"]), (["a"], ["c", "d"])], k=2, c=0.5),
    pdanon.PSRules(rules=pdanon.constraints.AllRules(2, ["d"]), k=2, c=0.5),
]


@given(LABELS, st.integers(1, 5), st.integers(1, 4), st.sampled_from(MODELS))
def test_an_audit_of_files_is_that_of_the_frame(tmp_path_factory, rows, per_file, per_group, model):
    table = pa.table({"items": pa.array(rows, pa.list_(pa.string()))})
    directory = tmp_path_factory.mktemp("released")
    for first in range(0, len(rows), per_file):
        path = directory / f"{first:02}.parquet"
        pq.write_table(table.slice(first, per_file), path, row_group_size=per_group)
    in_files = verdict_of(lambda: stream.audit(directory, model))
    assert in_files == verdict_of(lambda: model.audit(frame_in_memory(table)))


def verdict_of(audit):
    """What an audit says, or of which kind its refusal is."""
    try:
        found = audit()
    except pdanon.PdanonError as error:
        return type(error)
    threats = found.threats[["itemset", "support"]].itertuples(index=False)  # missing rows may be one
    return found.rows_at_risk, sorted(
        (support, [] if itemset is pd.NA else sorted(itemset)) for itemset, support in threats
    )


def test_an_audit_of_files_sees_how_often_a_row_has_a_label(tmp_path):
    pq.write_table(pa.table({"items": [["a", "a"], ["a"]]}), tmp_path / "a.parquet", row_group_size=1)
    assert stream.audit(tmp_path / "a.parquet", pdanon.KmAnonymity(2, 2)).rows_at_risk == 1
    assert stream.audit(tmp_path / "a.parquet", k=2, m=2).rows_at_risk == 1
    assert stream.audit(tmp_path / "a.parquet", "items", k=2, m=2).rows_at_risk == 1


def test_files_are_not_audited_for_what_other_columns_say(tmp_path):
    pdanon.to_parquet(pd.DataFrame({"age": [1, 1], "items": [["a"], ["a"]]}), tmp_path / "a.parquet")
    for model in (pdanon.TransactionalK(k=2), pdanon.KmAnonymity):
        with pytest.raises(ParameterError, match="not a guarantee"):
            stream.audit(tmp_path, model)


def test_what_was_written_is_audited_as_it_is_seen(tmp_path, monkeypatch):
    """A label that is written twice tells rows apart: such a release is withheld."""
    pq.write_table(pa.table({"items": [["a", "b"]] * 3 + [["a"]] * 3}), tmp_path / "in.parquet")
    relabelled = engines.relabel

    def doubled(*arguments, **options):
        rows = relabelled(*arguments, **options)
        codes = np.insert(rows.codes, 0, rows.codes[0])
        return Itemsets(codes, rows.offsets + (np.arange(len(rows.offsets)) > 0), rows.vocabulary, rows.nulls)

    monkeypatch.setattr(engines, "relabel", doubled)
    with pytest.raises(GuaranteeError):
        stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2, m=2)
    assert not (tmp_path / "out.parquet").exists()


@pytest.mark.slow
def test_what_is_elsewhere_is_there_when_it_is_asked_for():
    """In a process that has not imported it, and without the packages that it needs before."""
    script = """
import sys, pdanon
assert not {"dask", "pdanon.dask"} & {*sys.modules}
assert pdanon.stream.audit.__name__ == "audit"
assert pdanon.dask.audit.__name__ == "audit"
try:
    pdanon.streams
except AttributeError as error:
    assert "streams" in str(error)
else:
    raise SystemExit(1)
"""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_misspelt_parameter_of_an_audit_is_named(tmp_path):
    with pytest.raises(
        pdanon.ParameterError, match=r"(?s)audit has no parameter 'colum'.*did you mean 'column'"
    ):
        stream.audit(tmp_path, pdanon.KmAnonymity(2, 1), colum="items")
    with pytest.raises(pdanon.ParameterError, match=r"pdanon\.stream\.risk\n(.|\n)*source, column, k, m"):
        stream.risk(tmp_path, k=2, quasi=["age"])


@pytest.mark.parametrize(("items", "size"), [(40, 100), (60, 150)])
def test_without_an_algorithm_the_better_of_two_decides_for_all_rows(items, size, tmp_path, monkeypatch):
    """Also if the rows of the sample are too few for k, in which its own k is smaller in proportion."""
    frame = make_baskets(2000, items, random_state=1)[["items"]]
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    monkeypatch.setattr(engines, "SAMPLE", size)
    result = stream.anonymize(tmp_path / "in.parquet", tmp_path / "out.parquet", k=5, m=2)
    balanced = LOSSES[pdanon.KmAnonymity]["balanced"]
    both = [getattr(frame.txanon, name)(k=5, m=2) for name in ("pcta", "coat")]
    assert balanced(result) == min(map(balanced, both))
    on_sample = result.tried.set_index("algorithm")["loss"]
    assert (result.sample, result.guarantee.k) == (size, 5)
    assert on_sample["coat"] < balanced_of_whole_k(frame, size)


def test_a_loss_of_results_is_that_of_the_sample(tmp_path, monkeypatch):
    """A function of the caller and the loss of meaning are not known of a decision for all rows."""
    pdanon.to_parquet(make_baskets(400, 30, random_state=1)[["items"]], tmp_path / "in.parquet")
    monkeypatch.setattr(engines, "SAMPLE", 100)
    for number, asked in enumerate(
        ({"loss": lambda frame, result: -result.loss["occurrences"]}, {"loss": "meaning", "hierarchy": 4})
    ):
        target = tmp_path / f"{number}.parquet"
        result = stream.anonymize(tmp_path / "in.parquet", target, k=3, m=2, **asked)
        known = result.tried.dropna(subset="loss")
        best = known.loc[known["loss"].idxmin(), "algorithm"].split(",")[0]
        assert (result.sample, result.parameters["algorithm"]) == (100, best)


def balanced_of_whole_k(frame, size):
    """The loss of coat on as many rows with the k of the whole table."""
    rows = Itemsets.from_series(frame["items"])
    sample = pd.DataFrame({"items": ListColumns(rows).sample(size).to_pandas()})
    return LOSSES[pdanon.KmAnonymity]["balanced"](sample.txanon.coat(k=5, m=2))


# --- What a batch job logs


@pytest.fixture
def in_groups(tmp_path):
    """A file of 300 rows in three row groups."""
    table = pa.table({"items": [*map(list, make_baskets(300, 20, random_state=1)["items"])]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=100)
    return tmp_path / "in.parquet"


def test_each_pass_is_logged_with_its_rows_and_seconds(in_groups, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(timing, "_LOGGED", 0)
    with caplog.at_level("INFO", "pdanon.progress"):
        stream.pcta(in_groups, tmp_path / "out.parquet", k=5, m=2)
    texts = [re.fullmatch(r"(.*), \d+\.\d s", record.getMessage())[1] for record in caplog.records]
    for label in ("read", "write", "audit"):  # parts of a step log again what was counted
        own = [text for text in texts if text.startswith(f"{label}: ") and ": 0 " not in text]
        assert list(dict.fromkeys(own)) == [f"{label}: {n} of 300 rows" for n in (100, 200, 300)]
    order = list(dict.fromkeys(text.partition(":")[0] for text in texts))
    assert order[:4] == ["read", "pcta", "write", "audit"]
    assert {record.levelname for record in caplog.records} == {"INFO"}


def test_short_passes_have_one_record_and_a_failed_one_none(in_groups, tmp_path, monkeypatch, caplog):
    def failing(*_):
        raise InfeasibleError("none")

    monkeypatch.setattr("pdanon.stream.list_files.recode_files", failing)
    caplog.set_level("INFO", "pdanon.progress")
    with pytest.raises(InfeasibleError):
        stream.pcta(in_groups, tmp_path / "out.parquet", k=5, m=2)
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == ["read", "pcta"]


def test_a_sample_is_logged_as_one_piece_of_work(in_groups, tmp_path, monkeypatch, caplog):
    monkeypatch.setattr(engines, "SAMPLE", 100)
    caplog.set_level("INFO", "pdanon.progress")
    result = stream.anonymize(in_groups, tmp_path / "out.parquet", k=5, m=2)
    texts = [record.getMessage() for record in caplog.records]
    (sample,) = [text for text in texts if text.startswith("sample: ")]
    assert sample.startswith(f"sample: {len(result.tried)} algorithms, ")
    decided = texts[texts.index(sample) + 1 : [text[:5] for text in texts].index("write")]
    assert {text.partition(":")[0] for text in decided} == {"pcta", "coat"}  # the best two, on all rows


def test_a_table_that_fits_is_said_to_fit_once(in_groups, tmp_path, monkeypatch, caplog):
    asked = []
    monkeypatch.setattr(streamed, "fits", lambda n_bytes: asked.append(n_bytes) or len(asked) == 1)
    stream.anonymize(in_groups, tmp_path / "silent.parquet", k=5, m=2)
    assert (asked, caplog.records) == ([], [])
    caplog.set_level("INFO", "pdanon.stream")
    stream.pcta(in_groups, tmp_path / "named.parquet", k=5, m=2)  # which does the same in memory
    for number in range(2):
        stream.anonymize(in_groups, tmp_path / f"{number}.parquet", k=5, m=2)
    (record,) = caplog.records
    assert record.getMessage().startswith("the 300 rows fit into memory (about 0.1 GB): without --stream, ")
    n_items = int(read_parquet(in_groups)["items"].map(len).sum())
    assert asked[0] == asked[1]
    assert 100 * n_items < asked[0] < 110 * n_items  # and the encoded bytes


def test_levels_of_a_chosen_release_are_those_of_its_mapping(tmp_path, monkeypatch):
    frame = make_baskets(60, 20, random_state=1)[["items"]]
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    monkeypatch.setattr(engines, "SAMPLE", 30)
    result = stream.anonymize(tmp_path / "in.parquet", tmp_path / "out.parquet", k=3, m=2, hierarchy=4)
    name = result.parameters["algorithm"]
    asked = {name: value for name, value in result.parameters.items() if name not in ("algorithm", "keep")}
    same = getattr(frame.txanon, name)(**asked)
    pd.testing.assert_frame_equal(result.levels, pd.DataFrame(pdanon.metrics.meaning.levels(same, 4)))
    pd.testing.assert_frame_equal(result.levels, pd.DataFrame(pdanon.metrics.meaning.levels(result, 4)))
    assert stream.pcta(tmp_path / "in.parquet", tmp_path / "pcta.parquet", k=3, m=2).levels is None


def test_a_hierarchy_of_the_sample_alone_gives_no_levels(tmp_path, monkeypatch):
    frame = frame_of([*["ab", "ac", "bc", "a", "cd", "d"] * 20, "az"])  # z is in one row
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    monkeypatch.setattr(engines, "SAMPLE", 30)
    monkeypatch.setattr(engines, "choose", lambda *_, **__: ([("pcta", {"k": 3, "m": 1})], len, None))
    tree = {"*": {"ab": ["a", "b"], "cd": ["c", "d"]}}
    result = stream.anonymize(tmp_path / "in.parquet", tmp_path / "out.parquet", k=3, m=1, hierarchy=tree)
    assert (result.levels, result.sample) == (None, 30)
