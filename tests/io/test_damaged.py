"""Damaged Parquet files: the right rows, or an error that names the file; never a crash, never other rows."""

from __future__ import annotations

import gzip
from functools import partial

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from damaged import KINDS, failures, lists_of
from pyarrow import fs

import pdanon
from examples import ALL, examples
from pdanon import stream
from pdanon.errors import FormatError, ItemsetDtypeError, file_hint, read_safely
from pdanon.io.lines import read_lines
from pdanon.io.parquet import open_parquet, read_row_group
from pdanon.io.trees import ParquetTree

CODES = pa.list_(pa.dictionary(pa.int32(), pa.string()))


def counted(path, column="items"):
    """All rows, as the stream counts them."""
    return [
        row for (items,) in ParquetTree.find(path).columns([column]) for row in items.to_arrow().to_pylist()
    ]


def listed(frame, column="items"):
    return pa.array(frame[column]).to_pylist()


@pytest.mark.slow
@pytest.mark.seeds
def test_readers_of_damaged_files_give_the_right_rows_or_a_good_error():
    assert failures(0, examples(80)) == []


@pytest.mark.slow
def test_readers_of_many_damaged_files_give_the_right_rows_or_a_good_error():
    assert failures(1000, 3000 if ALL else 900) == []


# --- What Arrow does not tell


def test_rows_that_arrow_does_not_give_are_missed(tmp_path):
    path = tmp_path / "in.parquet"
    rows = [["a"], ["b", "a"], [], None, ["b"], ["a"], ["a"], ["b"], ["c"]]
    table = pa.table({"items": pa.array(rows, CODES)})
    pq.write_table(table, path, row_group_size=1, data_page_size=1, write_batch_size=1)
    given = pq.ParquetFile(path).read_row_group(0)
    if len(given) == 1:
        pytest.skip("this Arrow reads them")
    for read in (pdanon.read_parquet, counted):
        with pytest.raises(FormatError, match="0 of 1 rows") as caught:
            read(path)
        assert f"{path}, row group 0" in str(caught.value)
    with pytest.raises(FormatError, match="0 of 1 rows"):
        stream.pcta(path, tmp_path / "out.parquet", k=2)
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("said", [2, 4])
def test_rows_and_values_are_compared_with_the_footer(said, tmp_path, monkeypatch):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"items": [["a", "b"], [], ["c"]]}), path)
    other = pa.table({"items": [["a", "b"], [], ["c"], None][:said]})
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", lambda *_, **__: other)
    with pytest.raises(FormatError, match=f"{said} of 3 rows"):
        pdanon.read_parquet(path)
    other = pa.table({"items": [["a"], [], ["c"]]})  # as many rows
    with pytest.raises(FormatError, match="3 of 4 values"):
        pdanon.read_parquet(path)


NESTED = {
    "lists of lists": pa.array([[["a"], [], None, ["b", "c"]], [], None, [["a"]]]),
    "structs": pa.array([{"x": [1, 2], "y": "a"}, None, {"x": [], "y": None}, {"x": None, "y": "b"}]),
    "lists of structs": pa.array([[{"x": 1, "y": [1]}], [], None, [{"x": 2, "y": []}, None]]),
    "maps": pa.array([[("a", [1, 2])], [], None, [("b", None)]], pa.map_(pa.string(), pa.list_(pa.int8()))),
    "fixed": pa.array([["a", "b"], None, ["c", "d"], ["e", "f"]], pa.list_(pa.string(), 2)),
    "codes": pa.array([["a", None], [], None, ["b"]], CODES),
    "numbers": pa.array([1, None, 2, 3]),
}


def test_columns_of_any_depth_have_the_values_that_the_footer_says(tmp_path):
    table = pa.table(NESTED)
    try:
        pq.write_table(table, tmp_path / "in.parquet", row_group_size=3)
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of Arrow writes no missing lists of fixed length")
    with open_parquet(tmp_path / "in.parquet") as file:
        groups = [read_row_group(file, number, "in.parquet") for number in range(2)]
        assert pa.concat_tables(groups).to_pylist() == table.to_pylist()
        for name in NESTED:
            (part,) = read_row_group(file, 1, "in.parquet", [name]).columns
            assert part.to_pylist() == table[name].to_pylist()[3:]


def test_codes_outside_of_their_dictionary_are_refused_in_memory():
    letters = pa.array(["a", "b"])
    for codes in ([0, 1, 2**30], [0, -1, 1]):
        coded = pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), letters, safe=False)
        lists = pa.ListArray.from_arrays([0, 1, 3], coded)
        for column in (lists, pa.chunked_array([lists, lists])):
            frame = pd.DataFrame({"items": pd.Series(column, dtype=pd.ArrowDtype(lists.type))})
            with pytest.raises(ItemsetDtypeError, match="codes that are not in a dictionary of 2 entries"):
                frame.txanon.pcta(k=2)


def test_text_that_is_not_utf8_is_refused_in_memory():
    text = pa.Array.from_buffers(
        pa.string(), 1, [None, pa.py_buffer(np.int32([0, 1])), pa.py_buffer(b"\xff")]
    )
    lists = pa.ListArray.from_arrays([0, 1], text)
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    with pytest.raises(ItemsetDtypeError, match="not UTF-8"):
        frame.txanon.pcta(k=2)


def test_text_that_is_not_utf8_is_refused_in_files(tmp_path):
    path = tmp_path / "in.parquet"
    table = pa.table({"items": [["tea"], ["rice"]], "note": ["fine", "QQQQ"]})
    pq.write_table(table, path, compression="none", use_dictionary=False, write_statistics=False)
    path.write_bytes(path.read_bytes().replace(b"QQQQ", b"\xff\xff\xff\xff"))
    with pytest.raises(FormatError, match="row group 0"):
        pdanon.read_parquet(path)
    with pytest.raises(FormatError, match="row group 0"):
        stream.pcta(path, tmp_path / "out.parquet", k=2)


def test_partitions_of_dask_are_checked(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pdanon.dask")

    codes = pa.DictionaryArray.from_arrays(pa.array([0, 2**30], pa.int32()), pa.array(["a"]), safe=False)
    lists = pa.ListArray.from_arrays([0, 2], codes)
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=pd.ArrowDtype(lists.type))})
    with pytest.raises(ItemsetDtypeError, match="partition 0"):
        dd.from_pandas(frame, npartitions=1).txanon.pcta(k=2)


# --- Checksums


@pytest.mark.parametrize("name", ["copy", "out"])
def test_another_value_is_noticed_in_files_of_our_own(name, tmp_path):
    """One that is as good as the right one: only a checksum tells."""
    path = tmp_path / f"{name}.parquet"
    table = pa.table({"items": [["tea"], ["tea", "rice"], ["rice"]]})
    pq.write_table(table, tmp_path / "in.parquet", compression="none")
    pdanon.to_parquet(pdanon.read_parquet(tmp_path / "in.parquet"), tmp_path / "copy.parquet")
    stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2, m=1)
    content = path.read_bytes()
    (column,) = pq.ParquetFile(path).metadata.row_group(0).to_dict()["columns"]
    place = content.index(b"rice", column["dictionary_page_offset"])
    page = bytearray(content)
    page[place] ^= 1
    path.write_bytes(page)
    for read in (pdanon.read_parquet, counted):
        with pytest.raises(FormatError, match="row group 0"):
            read(path)


# --- What is not damaged is read


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_several_row_groups_are_read_whatever_the_lists_hold(kind, tmp_path):
    path, rows = tmp_path / "in.parquet", [["b", "a"], None, [], ["c"], ["a", "c"]]
    if pa.types.is_integer(kind.value_type):
        rows = [None if row is None else [ord(item) for item in row] for row in rows]
    pq.write_table(pa.table({"items": lists_of(rows, kind), "n": range(5)}), path, row_group_size=2)
    frame = pdanon.read_parquet(path)
    assert listed(frame) == rows
    assert frame["n"].tolist() == [0, 1, 2, 3, 4]
    assert listed(frame.iloc[[4, 0]].reset_index(drop=True)) == [rows[4], rows[0]]
    assert counted(path) == [row and sorted(row) for row in rows]
    pdanon.to_parquet(frame, path)
    assert listed(pdanon.read_parquet(path)) == rows


def test_a_file_without_row_groups_is_read(tmp_path):
    schema = pa.schema({"items": CODES, "n": pa.int64()})
    pq.ParquetWriter(tmp_path / "in.parquet", schema).close()
    frame = pdanon.read_parquet(tmp_path / "in.parquet")
    assert frame.shape == (0, 2)
    assert pdanon.read_parquet(tmp_path / "in.parquet", columns=["n"]).columns.tolist() == ["n"]


def test_a_name_with_a_dot_is_a_column_of_its_own(tmp_path):
    path, rows = tmp_path / "in.parquet", [["a"], ["b", "a"], ["b"]]
    notes = {"items.note": ["x", "y", "x"], "items.list.element": ["p", "q", "q"]}
    pq.write_table(pa.table({"items": rows, **notes, "items.list": [["c"], [], ["c"]]}), path)
    assert pdanon.read_parquet(path, columns=["items"]).columns.tolist() == ["items"]
    assert counted(path) == [["a"], ["a", "b"], ["b"]]
    assert counted(path, "items.list") == [["c"], [], ["c"]]
    tree = ParquetTree.find(path)
    with tree.open(tree.names[0], ["items"]) as file:
        schema = file.coded.schema_arrow
    assert [schema.field(name).type for name in notes] == [pa.string()] * 2
    assert pa.types.is_dictionary(schema.field("items").type.value_type)
    assert not pa.types.is_dictionary(schema.field("items.list").type.value_type)
    stream.pcta(path, tmp_path / "out.parquet", k=2, m=1, column="items")
    released = pq.ParquetFile(tmp_path / "out.parquet").read()
    assert {name: released[name].to_pylist() for name in notes} == notes
    assert [released.schema.field(name).type for name in notes] == [pa.string()] * 2


def test_differences_show_the_types_of_the_files(tmp_path):
    pq.write_table(pa.table({"items": [["a"]]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"items": [[1]]}), tmp_path / "2.parquet")
    with pytest.raises(FormatError) as caught:
        ParquetTree.find(tmp_path).find_columns(None)
    assert "of type list<element: int64> instead of list<element: string>" in str(caught.value)


def test_lists_of_codes_and_of_text_are_alike(tmp_path):
    for name in ("text", "codes"):
        pq.write_table(
            pa.table({"items": pa.array([["a"], ["b", "a"]], KINDS[name])}), tmp_path / f"{name}.parquet"
        )
    tree = ParquetTree.find(tmp_path)
    assert tree.find_columns(None) == ["items"]
    assert counted(tmp_path) == [["a"], ["a", "b"]] * 2


def test_a_column_that_is_not_asked_for_may_be_damaged(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"items": [["a"]], "n": [7]}), path, use_dictionary=False, compression="none")
    content = bytearray(path.read_bytes())
    start = pq.ParquetFile(path).metadata.row_group(0).column(1).data_page_offset
    content[start : start + 8] = b"\xff" * 8
    path.write_bytes(content)
    assert listed(pdanon.read_parquet(path, columns=["items"])) == [["a"]]
    with pytest.raises(FormatError, match="row group 0"):
        pdanon.read_parquet(path)


# --- What a file is not read for is said as what it is

ARROW = {
    "When reading information for key 'd/x' in bucket 'b': AWS Error NETWORK_CONNECTION during HeadObject "
    "operation: curlCode: 7, Could not connect to server": "it cannot be reached",
    "When listing objects under key 'd/' in bucket 'b': AWS Error ACCESS_DENIED during ListObjectsV2 "
    "operation: no": "access is denied",
    "google::cloud::Status(PERMISSION_DENIED: no)": "access is denied",
    "Cannot parse URI: 's3://K:S/2@b/x' due to syntax error at character '/'": "the URI is not well-formed",
    "Empty path component in path b//x.parquet": "a part of the path is empty",
}


@pytest.mark.parametrize(("message", "cause"), ARROW.items(), ids=range(len(ARROW)))
def test_what_is_elsewhere_and_cannot_be_read_is_not_called_damaged(message, cause, monkeypatch):
    def fail(uri):
        raise OSError(message)

    monkeypatch.setattr(
        "pdanon.io.parquet.resolve", lambda uri: read_safely(partial(fail, uri), uri, "Parquet")
    )
    with pytest.raises(FormatError) as caught:
        pdanon.read_parquet("s3://b/d/x.parquet")
    assert f"got:   {cause}\n  hint: " in str(caught.value)
    assert "damaged" not in str(caught.value)


def test_an_address_with_an_empty_part_is_refused_in_words():
    for uri in ("s3://bucket//x/y.parquet?region=eu-west-1", "s3://bucket/x//y.parquet?region=eu-west-1"):
        with pytest.raises(FormatError, match=r"a part of the path is empty\n  hint:  .*another key"):
            ParquetTree.find(uri)
        with pytest.raises(FormatError, match=r"a part of the path is empty\n  hint:  .*another key"):
            pdanon.read_parquet(uri)


@pytest.mark.parametrize("error", [MemoryError, pa.ArrowMemoryError])
def test_no_memory_is_not_called_damage(error, tmp_path, monkeypatch):
    def fail(*_, **__):
        raise error("malloc of size 4096 failed")

    pq.write_table(pa.table({"items": [["a"]] * 2}), tmp_path / "in.parquet")
    (tmp_path / "in.csv").write_text("items,n\na|b,1\n")
    monkeypatch.setattr(pq.ParquetFile, "read_row_group", fail)
    monkeypatch.setattr(pd, "read_csv", fail)
    monkeypatch.setattr("pdanon.io.lines.TextLines.parse", fail)
    for read in (
        lambda: pdanon.read_parquet(tmp_path / "in.parquet"),
        lambda: stream.pcta(tmp_path / "in.parquet", tmp_path / "out.parquet", k=2),
        lambda: pdanon.read_csv(tmp_path / "in.csv", column="items", separator="|"),
        lambda: read_lines(tmp_path / "in.csv"),
    ):
        with pytest.raises(
            FormatError, match="there is not enough memory\n  hint:  read fewer columns"
        ) as caught:
            read()
        assert "UTF-8" not in str(caught.value)


def test_a_row_group_that_cannot_be_read_has_no_hint_about_the_name_of_its_file(tmp_path, monkeypatch):
    pq.write_table(pa.table({"items": [["a"]] * 4}), tmp_path / "in.parquet", row_group_size=2)
    data = bytearray((tmp_path / "in.parquet").read_bytes())
    start = pq.ParquetFile(tmp_path / "in.parquet").metadata.row_group(1).column(0).dictionary_page_offset
    data[start : start + 20] = b"\xff" * 20
    (tmp_path / "in.parquet").write_bytes(data)
    remote = fs.SubTreeFileSystem(str(tmp_path), fs.LocalFileSystem())
    monkeypatch.setattr("pdanon.io.parquet.resolve", lambda uri: (remote, "in.parquet"))
    for source, where in ((tmp_path / "in.parquet",) * 2, ("x://in.parquet", "subtree://in.parquet")):
        with pytest.raises(FormatError) as caught:
            pdanon.read_parquet(source)
        assert str(caught.value).endswith(
            f"{where}, row group 1\n  got:   it is damaged, or of another format"
        )


@pytest.mark.parametrize("name", ["in.csv.gz", "in.tsv.gz"])
def test_a_compressed_file_that_is_cut_off_is_said_to_be(name, tmp_path, run):
    content = gzip.compress(
        "".join(["items,n\n", *(f"a|b{n * 7919 % 1000},{n}\n" for n in range(9000))]).encode()
    )
    cut, no_gzip = tmp_path / name, tmp_path / f"no_{name}"
    cut.write_bytes(content[: len(content) // 2])
    no_gzip.write_text("items,n\na|b,1\n")
    for path, cause in ((cut, "it is cut off"), (no_gzip, "it is not compressed by gzip")):
        for read in (read_lines, partial(pdanon.read_csv, column="items", separator="|")):
            with pytest.raises(FormatError, match=cause) as caught:
                read(path)
            assert "UTF-8" not in str(caught.value)
            assert "quotes" not in str(caught.value)
        for form in (["--column", "items", "--separator", "|"], ["--by", "n", "--item", "items"]):
            code, _, err = run("risk", str(path), "-k", "2", *form)
            assert (code, cause in err, "hint: " in err) == (2, True, True)


def test_parquet_that_is_cut_off_is_said_to_be(tmp_path):
    pq.write_table(pa.table({"items": [["a"]] * 4}), tmp_path / "in.parquet")
    data = (tmp_path / "in.parquet").read_bytes()
    for content, cause in ((data[:-30], "it is cut off"), (b"x" + data[1:-30], "it is damaged")):
        (tmp_path / "in.parquet").write_bytes(content)
        for read in (pdanon.read_parquet, ParquetTree.find(tmp_path).find_columns):
            with pytest.raises(FormatError, match=cause):
                read(tmp_path / "in.parquet") if read is pdanon.read_parquet else read(None)


def test_the_hint_of_a_file_is_never_the_file(tmp_path):
    (tmp_path / "in.csv").touch()
    assert file_hint(tmp_path / "in.parquet", "Parquet") == "did you mean 'in.csv'?"
    appearing = "in.parquet"  # between the look at the file and the look for others
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.path.exists", lambda path: False)
        (tmp_path / appearing).touch()
        assert file_hint(tmp_path / appearing, "Parquet") == "did you mean 'in.csv'?"
