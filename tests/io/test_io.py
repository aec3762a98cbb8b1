"""Files come back as what was written, in every reader of pandas, and never in halves."""

from __future__ import annotations

import datetime as dt
import errno
import os
import stat
import traceback

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import SECRET
from hypothesis import given, settings, strategies as st

from examples import examples
from pdanon.errors import ColumnError, FormatError, ItemsetDtypeError, ParameterError
from pdanon.io.files import Draft, new_directory, replace_file
from pdanon.io.lines import read_lines
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.tables import write_confidential_parts
from pdanon.io.text import read_csv, to_csv
from pdanon.itemsets.codes import Itemsets, as_itemsets

fcntl = pytest.importorskip("fcntl") if os.name == "posix" else None

TEXT_LISTS = pd.ArrowDtype(pa.list_(pa.string()))


def baskets():
    """A frame with every kind of column that pandas' own Arrow backend would change."""
    index = pd.Index([5, 5, 7], name="key")
    frame = pd.DataFrame(
        {
            "items": pd.Series([["a", "b"], None, []], dtype=TEXT_LISTS, index=index),
            "n": [1, 2, 3],
            "size": pd.Categorical(["x", "y", "x"], categories=["y", "x", "z"], ordered=True),
            "store": ["q", None, "r"],
            "visits": pd.array([1, None, 2], dtype="Int64"),
            "when": pd.to_datetime(["2020-01-02", "2021-03-04", None]),
            "weight": pd.Series([1, 2, 3], dtype=pd.ArrowDtype(pa.int8()), index=index),
        },
        index=index,
    )
    frame.attrs = {"source": {"page": [1, 2]}}
    return frame


def message_chain(error):
    return "".join(traceback.format_exception(error))


def names(directory):
    return sorted(path.name for path in directory.iterdir())


# --- Parquet


def test_our_reader_gives_the_frame_that_was_written(tmp_path):
    frame = baskets()
    to_parquet(frame, tmp_path / "a.parquet")
    back = read_parquet(tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(back, frame)
    assert back.attrs == frame.attrs


def test_default_reader_gives_objects_and_everything_else_as_it_was(tmp_path):
    frame = baskets()
    to_parquet(frame, tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet")
    assert [None if row is None else list(row) for row in back["items"]] == [["a", "b"], None, []]
    others = list(frame.columns[1:])
    pd.testing.assert_frame_equal(back[others], frame[others])
    assert back.attrs == frame.attrs


def test_arrow_backend_gives_lists(tmp_path):
    frame = baskets()
    to_parquet(frame, tmp_path / "a.parquet")
    back = pd.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow")
    assert back["items"].dtype == TEXT_LISTS
    assert back["items"].array._pa_array.to_pylist() == [["a", "b"], None, []]
    assert back.index.tolist() == [5, 5, 7]
    assert back.attrs == frame.attrs


def test_attrs_are_read_where_pandas_keeps_them(tmp_path):
    table = pa.table({"n": [1]}).replace_schema_metadata({"PANDAS_ATTRS": '{"page": 2}'})
    pq.write_table(table, tmp_path / "a.parquet")
    read = (read_parquet, pd.read_parquet)
    assert [each(tmp_path / "a.parquet").attrs for each in read] == [{"page": 2}] * 2


@pytest.mark.parametrize("make", [pa.list_, pa.large_list, lambda item: pa.list_(item, 2)])
@pytest.mark.parametrize("item", [pa.string(), pa.int16(), pa.dictionary(pa.int32(), pa.string())])
def test_every_list_type_of_parquet_comes_back_in_every_reader(tmp_path, make, item):
    rows = [[2, 1], [3, 3]] if item == pa.int16() else [["b", "a"], ["c", "c"]]
    frame = pd.DataFrame({"items": pd.Series(rows, dtype=pd.ArrowDtype(make(item)))})
    to_parquet(frame, tmp_path / "a.parquet")
    back = read_parquet(tmp_path / "a.parquet")
    assert back["items"].dtype == frame["items"].dtype
    assert back["items"].array._pa_array.to_pylist() == rows
    plain = pd.read_parquet(tmp_path / "a.parquet")["items"]
    assert [list(row) for row in plain] == rows


def test_foreign_files_are_read_the_same_way(tmp_path):
    frame = baskets()
    frame.to_parquet(tmp_path / "pandas.parquet")
    pd.testing.assert_frame_equal(read_parquet(tmp_path / "pandas.parquet"), frame)

    directory = tmp_path / "year=2020"  # the name of a directory is not a column
    directory.mkdir()
    pq.write_table(pa.table({"items": [["b", "a"]], "n": [1]}), directory / "plain.parquet")
    back = read_parquet(directory / "plain.parquet")
    assert [dtype.name for dtype in back.dtypes] == ["list<element: string>[pyarrow]", "int64"]
    assert back["items"].tolist() == [["b", "a"]]


def test_columns_are_chosen_by_name_and_keep_the_index(tmp_path):
    to_parquet(baskets(), tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(
        read_parquet(tmp_path / "a.parquet", columns=["n", "items"]), baskets()[["n", "items"]]
    )
    with pytest.raises(ColumnError, match=r"lacks columns \['nope'\]"):
        read_parquet(tmp_path / "a.parquet", columns=["n", "nope"])


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA])
def test_sets_are_written_sorted_and_sequences_as_they_are(tmp_path, missing):
    frame = pd.DataFrame(
        {
            "sets": [{"b", "a"}, missing, frozenset()],
            "mixed": [["b", "a", "a"], missing, frozenset("ba")],
            "tuples": [("b", "a", "a"), missing, ()],
            "arrays": [np.array([2, 1, 1]), missing, np.array([], int)],
        }
    )
    before = [id(value) for value in frame.to_numpy().ravel()]
    to_parquet(frame, tmp_path / "a.parquet")
    assert [id(value) for value in frame.to_numpy().ravel()] == before
    back = read_parquet(tmp_path / "a.parquet")
    rows = {name: column.array._pa_array.to_pylist() for name, column in back.items()}
    assert rows == {
        "sets": [["a", "b"], None, []],
        "mixed": [["a", "b"], None, ["a", "b"]],
        "tuples": [["b", "a", "a"], None, []],
        "arrays": [[2, 1, 1], None, []],
    }


def test_arrow_lists_are_written_without_a_python_object_per_row(tmp_path, monkeypatch):
    """Only object columns can hold sets: rows of Arrow lists are not visited to look for them."""

    visit = pd.arrays.ArrowExtensionArray.__iter__

    def refuse_lists(array):
        assert array.dtype.type is not list, "visited row by row"
        return visit(array)

    lists = as_itemsets([["b", "a"], None, []])
    frame = pd.DataFrame({"own": lists, "plain": lists.astype(pd.ArrowDtype(pa.list_(pa.string())))})
    monkeypatch.setattr(pd.arrays.ArrowExtensionArray, "__iter__", refuse_lists)
    to_parquet(frame, tmp_path / "a.parquet")
    rows = [["a", "b"], None, []]
    assert pq.read_table(tmp_path / "a.parquet").to_pydict() == {"own": rows, "plain": rows}


def test_integer_column_labels_survive(tmp_path):
    frame = pd.DataFrame({0: as_itemsets([["a"]]), 1: [2]})
    to_parquet(frame, tmp_path / "a.parquet")
    pd.testing.assert_frame_equal(read_parquet(tmp_path / "a.parquet"), frame)


@pytest.mark.parametrize(
    "column", [[SECRET, 1], [["a"], [1, SECRET]], [["a"], SECRET], [1, [SECRET]], [SECRET + "\ud800", {}]]
)
def test_column_that_parquet_cannot_hold_is_named_without_its_values(tmp_path, column):
    frame = pd.DataFrame({"n": [1, 2], "bad": pd.Series(column, dtype=object)})
    with pytest.raises(FormatError, match="bad") as caught:
        to_parquet(frame, tmp_path / "a.parquet")
    assert SECRET not in message_chain(caught.value)
    assert names(tmp_path) == []


def test_sets_of_several_types_are_refused(tmp_path):
    with pytest.raises(ItemsetDtypeError) as caught:
        to_parquet(pd.DataFrame({"items": [{SECRET, 1}]}), tmp_path / "a.parquet")
    assert SECRET not in message_chain(caught.value)


def test_attrs_that_would_be_lost_are_refused(tmp_path):
    frame = pd.DataFrame({"n": [1]})
    frame.attrs = {"mapping": {SECRET}}
    with pytest.raises(FormatError, match="attrs") as caught:
        to_parquet(frame, tmp_path / "a.parquet")
    assert SECRET not in message_chain(caught.value)


def test_duplicate_labels_are_refused(tmp_path):
    with pytest.raises(FormatError, match="unique"):
        to_parquet(pd.DataFrame([[1, 2]], columns=["x", "x"]), tmp_path / "a.parquet")


@pytest.mark.parametrize("content", [None, b"", SECRET.encode(), b"PAR1" + SECRET.encode() + b"PAR1"])
def test_what_is_not_parquet_is_named_without_its_content(tmp_path, content):
    path = tmp_path / "a.parquet"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(FormatError, match=r"as Parquet\n.*a\.parquet") as caught:
        read_parquet(path)
    assert SECRET not in message_chain(caught.value)
    assert caught.value.__context__ is None


def test_directory_is_not_a_file(tmp_path):
    with pytest.raises(FormatError):
        read_parquet(tmp_path)


def test_truncated_file_is_refused(tmp_path):
    path = tmp_path / "a.parquet"
    to_parquet(baskets(), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FormatError):
        read_parquet(path)


def test_no_byte_of_a_removed_item_is_in_the_file(tmp_path):
    items = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2]), pa.array([SECRET, "a", "b"]))
    hidden = pa.ListArray.from_arrays(pa.array([0, 2, 3]), items)
    itemsets = Itemsets.from_arrow(hidden)
    targets = np.array([0, 1, -1], np.int32)  # the secret sorts last
    released = pd.DataFrame({"items": itemsets.recode(targets, itemsets.vocabulary).to_pandas()})
    to_parquet(released, tmp_path / "released.parquet")
    raw = pd.DataFrame({"items": pd.Series(hidden, dtype=pd.ArrowDtype(hidden.type))})
    to_parquet(raw[1:], tmp_path / "raw.parquet")
    assert read_parquet(tmp_path / "released.parquet")["items"].tolist() == [["a"], ["b"]]
    assert SECRET.encode() not in (tmp_path / "released.parquet").read_bytes()
    # The check has teeth: the same rows, not rebuilt, do hold it.
    assert read_parquet(tmp_path / "raw.parquet")["items"].tolist() == [["b"]]
    assert SECRET.encode() in (tmp_path / "raw.parquet").read_bytes()


# --- whole or not at all


@pytest.mark.parametrize("error", [OSError("disk full"), KeyboardInterrupt(), MemoryError()])
@pytest.mark.parametrize("old", [b"old bytes", None])
@pytest.mark.parametrize("writer", ["parquet", "csv"])
def test_failure_while_writing_leaves_the_old_file_and_nothing_else(
    tmp_path, monkeypatch, writer, old, error
):
    def crash(_, path, *args, **kwargs):
        path.write_bytes(b"half of it")
        assert len(names(tmp_path)) == 1 + (old is not None)
        raise error

    path = tmp_path / f"a.{writer}"
    if old is not None:
        path.write_bytes(old)
    monkeypatch.setattr(pq, "write_table", crash)
    monkeypatch.setattr("pdanon.io.text._write_csv", crash)
    with pytest.raises(type(error)):
        to_parquet(baskets(), path) if writer == "parquet" else to_csv(baskets(), path, separator="|")
    assert names(tmp_path) == ([path.name] if old is not None else [])
    assert old is None or path.read_bytes() == old


@pytest.mark.parametrize("step", ["os.fsync", "pathlib.Path.replace"])
def test_failure_at_the_last_step_leaves_the_old_file(tmp_path, monkeypatch, step):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"old bytes")

    def crash(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(step, crash)
    with pytest.raises(KeyboardInterrupt):
        to_parquet(baskets(), path)
    assert names(tmp_path) == ["a.parquet"]
    assert path.read_bytes() == b"old bytes"


def test_what_cannot_be_written_is_named_as_it_was_given(tmp_path):
    path = tmp_path / "nowhere" / "a.parquet"
    with pytest.raises(FormatError, match="No such file or directory") as caught:
        to_parquet(baskets(), path)
    assert f"where: {path}\n" in str(caught.value)
    with pytest.raises(FormatError, match="No such file or directory"):
        read_parquet(path)


def test_bytes_reach_the_disk_before_the_name(tmp_path, monkeypatch):
    calls = []
    path = tmp_path / "a.txt"
    monkeypatch.setattr("os.fsync", lambda _: calls.append(("fsync", path.exists())))
    with replace_file(path) as temporary:
        temporary.write_text("new")
        calls.append(("written", path.exists()))
    assert calls == [("written", False), ("fsync", False)]
    assert path.read_text() == "new"


def test_replaced_file_keeps_its_permissions_and_its_link(tmp_path):
    private = tmp_path / "private.parquet"
    private.touch(mode=0o600)
    link = tmp_path / "link.parquet"
    link.symlink_to(private)
    to_parquet(baskets(), link)
    assert link.is_symlink()
    assert private.stat().st_mode & 0o777 == 0o600
    pd.testing.assert_frame_equal(read_parquet(private), baskets())


# --- Drafts

POSIX = pytest.mark.skipif(os.name != "posix", reason="permissions and locks are those of POSIX")


def modes(directory):
    return {path.name: path.stat().st_mode & 0o777 for path in directory.iterdir()}


@POSIX
@pytest.mark.parametrize(("umask", "usual"), [(0o022, 0o644), (0o002, 0o664), (0o077, 0o600)])
def test_only_the_owner_can_read_drafts_and_confidential_files(tmp_path, umask, usual):
    before = os.umask(umask)
    try:
        for name, confidential, mode in (("release", False, usual), ("mapping", True, 0o600)):
            with replace_file(tmp_path / name, confidential=confidential) as draft:
                draft.write_text("half")
                assert modes(tmp_path)[draft.name] == 0o600
            assert modes(tmp_path)[name] == mode
        (tmp_path / "mapping").chmod(0o640)  # a group that may read it
        with replace_file(tmp_path / "mapping", confidential=True) as draft:
            draft.write_text("new")
        assert modes(tmp_path) == {"release": usual, "mapping": 0o640}
        write_confidential_parts(lambda: iter([pa.table({"item": ["a"]})]), tmp_path / "parts")
        assert modes(tmp_path)["parts"] == 0o600
    finally:
        os.umask(before)


@pytest.fixture
def abandoned(tmp_path):
    """What a process leaves that is killed while it writes a file."""
    with replace_file(tmp_path / "a.txt") as draft:
        pass
    (tmp_path / "a.txt").unlink()
    draft.write_text("half")
    return draft


@POSIX
def test_drafts_of_processes_that_have_ended_are_removed(tmp_path, abandoned):
    with replace_file(tmp_path / "b.txt") as draft:  # of another target
        assert abandoned.exists()
        draft.write_text("b")
    with replace_file(tmp_path / "a.txt") as draft:
        assert [path.read_text() for path in tmp_path.iterdir() if path.name[0] == "."] == [""]
        draft.write_text("whole")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"a.txt": "whole", "b.txt": "b"}


@POSIX
def test_directories_are_drafts_like_files(tmp_path):
    target = tmp_path / "release"
    before = os.umask(0o027)
    try:
        with new_directory(target) as draft:
            assert modes(tmp_path) == {draft.name: 0o700}
        assert modes(tmp_path) == {"release": 0o750}
    finally:
        os.umask(before)
    target.rename(draft)  # as if its process had been killed
    (draft / "mapping").touch()
    with new_directory(target) as first, new_directory(tmp_path / "other"):
        assert list(first.iterdir()) == []
        second = Draft(target, directory=True)
        assert first.exists()  # which is still written
        assert second.path != first
        second.remove()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other", "release"]


@POSIX
def test_drafts_that_are_still_written_stay(tmp_path, abandoned):
    target = tmp_path / "a.txt"
    with abandoned.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        with replace_file(target) as draft, replace_file(target) as second:
            assert len({draft, second, abandoned}) == 3
            draft.write_text("ours")
            second.write_text("first")
    assert {path: path.read_text() for path in tmp_path.iterdir()} == {target: "ours", abandoned: "half"}


@POSIX
def test_drafts_stay_where_locks_say_nothing(tmp_path, abandoned, monkeypatch):
    def fail(*_):
        raise OSError(errno.ENOLCK, "no locks available")

    target = tmp_path / "a.txt"
    with monkeypatch.context() as patch:
        patch.setattr("platform.node", lambda: "another host")
        with replace_file(target) as draft:
            draft.write_text("of another host")
    monkeypatch.setattr("fcntl.flock", fail)
    with replace_file(target) as draft:
        draft.write_text("without locks")
    assert {path: path.read_text() for path in tmp_path.iterdir()} == {
        target: "without locks",
        abandoned: "half",
    }


def test_a_draft_that_is_written_by_a_writer_of_files_is_that_file(tmp_path):
    with replace_file(tmp_path / "a.parquet", confidential=True) as draft:
        to_parquet(baskets(), draft)
        assert list(tmp_path.iterdir()) == [draft]
    assert list(tmp_path.iterdir()) == [tmp_path / "a.parquet"]
    pd.testing.assert_frame_equal(read_parquet(tmp_path / "a.parquet"), baskets())


@POSIX
@pytest.mark.parametrize("link", [False, True])
def test_what_is_no_file_is_never_replaced(tmp_path, link):
    os.mkfifo(tmp_path / "pipe.parquet")
    path = tmp_path / "pipe.parquet"
    if link:
        path = tmp_path / "link.parquet"
        path.symlink_to("pipe.parquet")
    with pytest.raises(FormatError, match="no regular file"):
        to_parquet(baskets(), path)
    assert stat.S_ISFIFO((tmp_path / "pipe.parquet").stat().st_mode)


def test_a_name_that_is_too_long_is_an_error_of_the_file(tmp_path):
    with pytest.raises(FormatError, match=r"cannot be written(.|\n)*choose a shorter name"):
        to_parquet(baskets(), tmp_path / f"{'a' * 300}.parquet")
    assert list(tmp_path.iterdir()) == []


# --- CSV


def test_csv_columns_are_split_and_joined(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("store,items,n\nnorth,tea|rice|tea,1\nNA,,2\nsouth,NA,3\n")
    frame = read_csv(path, column="items", separator="|")
    assert frame["items"].dtype == TEXT_LISTS
    assert frame["items"].tolist() == [["rice", "tea"], [], ["NA"]]
    assert frame.drop(columns="items").to_dict("list") == {
        "store": ["north", "NA", "south"],
        "n": list("123"),
    }
    to_csv(frame, path, separator=";; ", delimiter="\t")
    assert path.read_text() == "store\titems\tn\nnorth\trice;; tea\t1\nNA\t\t2\nsouth\tNA\t3\n"


@pytest.mark.parametrize("first", ["items,n,items", "items,n,n", '"items",n,items'])
def test_columns_of_one_name_are_refused_and_not_renamed(tmp_path, first, run):
    path = tmp_path / "in.csv"
    path.write_text(f"{first}\na|b,1,c\na|b,2,c\n")
    form = ["--column", "items", "--separator", "|"]
    for read in (lambda: read_csv(path, column="items", separator="|"), lambda: read_lines(path)):
        with pytest.raises(ColumnError, match=r"two columns have the same name(.|\n)*columns . and 3\n"):
            read()
    for command in (["risk", str(path), "-k", "2", *form], ["profile", str(path), "--onehot"]):
        assert run(*command)[0] == 2
    frame = pd.DataFrame([[["a"], 1, 2]], columns=["items", 1, "1"])
    with pytest.raises(ColumnError, match="two columns have the same name"):
        to_csv(frame, tmp_path / "out.csv", separator="|")
    path.write_text("items,,\na|b,1,2\n")  # as spreadsheets write empty columns
    assert read_csv(path, column="items", separator="|").shape == (1, 3)


def test_spaces_around_a_separator_belong_to_the_items(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('items\n"tea, rice"\n')
    assert read_csv(path, column="items", separator=",")["items"].tolist() == [[" rice", "tea"]]
    assert read_csv(path, column="items", separator=", ")["items"].tolist() == [["rice", "tea"]]


@pytest.mark.parametrize("text", ["items\na\n\nb|a\n", 'items\na\n""\nb|a\n'])
def test_file_of_one_column_may_have_empty_lines(tmp_path, text):
    (tmp_path / "a.csv").write_text(text)
    frame = read_csv(tmp_path / "a.csv", column="items", separator="|")
    assert list(frame.columns) == ["items"]
    assert frame["items"].tolist() == [["a"], [], ["a", "b"]]


def test_file_without_rows_has_no_rows(tmp_path):
    (tmp_path / "a.csv").write_text("items,n\n")
    frame = read_csv(tmp_path / "a.csv", column="items", separator="|")
    assert frame["items"].dtype == TEXT_LISTS
    assert frame.shape == (0, 2)


ITEM = st.text(st.characters(exclude_characters="|\r\0", exclude_categories=["Cs"]), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")  # of formulas
@settings(max_examples=examples(40))
@given(
    rows=st.lists(st.lists(ITEM | st.sampled_from(["NA", "null", " ", '"', "a,b", "\n"]), max_size=3)),
    alone=st.booleans(),
)
def test_csv_round_trip_of_any_text(tmp_path_factory, rows, alone):
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    frame = pd.DataFrame({"items": as_itemsets(rows)})
    if not alone:
        frame["n"] = range(len(rows))
    to_csv(frame, path, separator="|")
    types = None if alone else {"n": "integer"}
    back = read_csv(path, column="items", separator="|", types=types)
    assert back["items"].tolist() == [sorted(set(row)) for row in rows]
    assert alone or back["n"].tolist() == list(range(len(rows)))


MARKS = st.sampled_from(["a", "b", "|", ":", '"', "'", ",", ";", "\n", "\r", "\0", "\t", " ", "\\", "#", "é"])
SHORT = st.text(MARKS, min_size=1, max_size=3)


@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")  # of formulas
@settings(max_examples=examples(60))
@given(
    rows=st.lists(st.lists(SHORT, max_size=3), max_size=4),
    notes=st.lists(SHORT, min_size=4, max_size=4),
    label=SHORT,
    separator=SHORT,
    delimiter=MARKS,
)
def test_csv_of_any_separators_reads_back_or_is_refused(
    tmp_path_factory, rows, notes, label, separator, delimiter
):
    if pd.__version__ < "3" and "\0" in label + "".join(notes):
        return  # for the parser of pandas 2 a field ends there
    path = tmp_path_factory.mktemp("csv") / "a.csv"
    frame = pd.DataFrame({"note": notes[: len(rows)], label: as_itemsets(rows)})
    options = {"column": label, "separator": separator, "delimiter": delimiter}
    try:
        to_csv(frame, path, **options)
    except ParameterError:
        assert not path.exists()
        bad = delimiter in '"\n\r\0é' or any(mark in separator for mark in "\r\0")
        texts = [item for row in rows for item in row]
        # Naive: two copies of an item, joined and split again.
        assert bad or any(
            f"{text}{separator}{text}".split(separator) != [text] * 2 or set(text) & {"\r", "\0"}
            for text in texts
        )
        return
    back = read_csv(path, **options)
    assert list(back.columns) == ["note", label]
    assert back[label].tolist() == [sorted(set(row)) for row in rows]
    assert back["note"].tolist() == frame["note"].tolist()


@pytest.mark.filterwarnings("ignore::pdanon.errors.ReleaseWarning")  # of formulas
@pytest.mark.parametrize(
    ("rows", "separator", "problem"),
    [
        ([["E11:", "I10"], ["a|", "b"]], "::", "1 of 4"),
        ([["a|", "b"]], "||", "1 of 2"),
        ([["xab", "b"], ["xaba"]], "aba", "2 of 3"),
        ([["x- ", "b"], ["x", "-b"]], " - ", None),
        ([["x-", "-b"]], " --", None),
    ],
)
def test_item_that_runs_into_the_separator_is_refused(tmp_path, rows, separator, problem):
    frame = pd.DataFrame({"items": rows})
    if problem:
        with pytest.raises(ParameterError, match=problem):
            to_csv(frame, tmp_path / "a.csv", separator=separator)
        assert names(tmp_path) == []
    else:
        to_csv(frame, tmp_path / "a.csv", separator=separator)
        back = read_csv(tmp_path / "a.csv", column="items", separator=separator)
        assert back["items"].tolist() == [sorted(row) for row in rows]


def test_carriage_return_in_another_column_ends_no_row(tmp_path):
    frame = pd.DataFrame(
        {"note\r": ["one\rtwo", None, "three"], "items": [["a", "b"], [], ["c"]], "n": [1, 2, 3]}
    )
    to_csv(frame, tmp_path / "a.csv", separator="|")
    back = read_csv(tmp_path / "a.csv", column="items", separator="|", types={"n": "integer"})
    pd.testing.assert_frame_equal(
        back.drop(columns="items").fillna(""), frame.drop(columns="items").fillna("")
    )
    assert back["items"].tolist() == [["a", "b"], [], ["c"]]


@pytest.mark.parametrize(
    "labels", [["items", "items"], ["1", 1], ["n", None], ["n", ""], pd.MultiIndex.from_tuples(["ab", "ac"])]
)
def test_list_column_whose_label_is_lost_in_csv_is_refused(tmp_path, labels):
    frame = pd.DataFrame({"n": ["x"], "items": [["a"]]})
    frame.columns = labels
    with pytest.raises(ColumnError, match="label"):
        to_csv(frame, tmp_path / "a.csv", separator="|")
    assert names(tmp_path) == []


def test_items_that_are_not_text_are_written_as_their_text(tmp_path):
    days = pd.DataFrame({"items": [[dt.date(2020, 2, 1), dt.date(2019, 1, 1)], [], None], "n": [10, 9, 8]})
    to_csv(days, tmp_path / "a.csv", separator="|")
    assert (tmp_path / "a.csv").read_text() == "items,n\n2019-01-01|2020-02-01,10\n,9\n,8\n"


def test_items_that_could_not_be_read_back_are_counted_not_shown(tmp_path):
    frame = pd.DataFrame({"items": [[SECRET, f"{SECRET}|x"], ["", "b"], [f"{SECRET}\r", f"{SECRET}\0"]]})
    for rows, said in (
        (slice(None), r"carriage return.*\n.*items\n.*2 of 6.*\n.*to_parquet"),
        ([0, 1], "2 of 4 items"),
    ):
        with pytest.raises(ParameterError, match=said) as caught:
            to_csv(frame.iloc[rows], tmp_path / "a.csv", separator="|")
        assert SECRET not in message_chain(caught.value)
    assert names(tmp_path) == []


@pytest.mark.parametrize("field", ["a||b", "|a", "a|", "|"])
def test_empty_items_are_refused_with_their_row(tmp_path, field):
    (tmp_path / "a.csv").write_text(f"n,items\n1,\n2,x\n3,{field}\n4,{field}\n")
    with pytest.raises(FormatError, match=r"a\.csv, row 2\n.*2 rows"):
        read_csv(tmp_path / "a.csv", column="items", separator="|")


@pytest.mark.parametrize(
    "content",
    [
        None,
        b"",
        b"n,items\n1,\xff\xfe" + SECRET.encode() + b"\n",
        f"n,items\n1,a\n2,{SECRET},b\n".encode(),
        f"n,items\n1,a,\n2,{SECRET},b\n".encode(),
        f"items\na,{SECRET}\n".encode(),
        f'n,items\n1,"{SECRET}\n'.encode(),
    ],
    ids=["missing", "empty", "not text", "long line", "long lines", "long only line", "open quote"],
)
def test_what_is_not_csv_is_named_without_its_content(tmp_path, content):
    path = tmp_path / "a.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(
        FormatError,
        match=r"as CSV\n.*a\.csv(, line [23])?\n  got: .*(No such|empty|not UTF-8|a line has|a quote)",
    ) as caught:
        read_csv(path, column="items", separator="|")
    assert "Error" not in str(caught.value)
    assert "Warning" not in str(caught.value)
    assert SECRET not in message_chain(caught.value)
    assert caught.value.__context__ is None


def test_only_one_column_of_lists_fits_in_csv(tmp_path):
    frame = pd.DataFrame({"a": [["x"]], "b": [{"y"}]})
    with pytest.raises(ColumnError, match="several"):
        to_csv(frame, tmp_path / "a.csv", separator="|")
    with pytest.raises(ColumnError, match=r"\['b'\]"):
        to_csv(frame, tmp_path / "a.csv", separator="|", column="a")
    (tmp_path / "a.csv").write_text("a,b\nx,y\n")
    with pytest.raises(ColumnError, match="'c' does not exist"):
        read_csv(tmp_path / "a.csv", column="c", separator="|")


@pytest.mark.parametrize(
    "separators",
    [
        {"separator": ""},
        {"separator": None},
        {"separator": "\r"},
        {"separator": "|\0"},
        {"separator": "|", "delimiter": "::"},
        {"separator": "|", "delimiter": '"'},
        {"separator": "|", "delimiter": "\n"},
        {"separator": "|", "delimiter": "\r"},
        {"separator": "|", "delimiter": "\0"},
        {"separator": "|", "delimiter": "é"},
    ],
)
def test_separators_are_given_not_guessed(tmp_path, separators):
    with pytest.raises(ParameterError, match=r"where: (separator|delimiter)"):
        to_csv(baskets(), tmp_path / "a.csv", **separators)
    with pytest.raises(ParameterError, match=r"where: (separator|delimiter)"):
        read_csv(tmp_path / "a.csv", column="items", **separators)
    with pytest.raises(TypeError):
        read_csv(tmp_path / "a.csv", column="items")


def test_input_of_to_csv_is_not_changed(tmp_path):
    frame = baskets()
    to_csv(frame, tmp_path / "a.csv", separator="|")
    pd.testing.assert_frame_equal(frame, baskets())
