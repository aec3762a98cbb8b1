"""Sources: whatever is in a directory is read once, or refused, or hidden."""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st
from pyarrow import fs

import pdanon
from examples import examples
from pdanon import stream
from pdanon.errors import FormatError, ParameterError
from pdanon.io.parquet import list_files
from pdanon.io.tables import read_weights, write_plain
from pdanon.io.trees import ParquetTree

NAMES = ["a.parquet", "b.parquet", "C.PARQUET", "x", "y", "note.txt", "_z.parquet", ".w"]
PLACES = [f"{above}{name}" for above in ("", "x/", "y/", "x/y/", "c.parquet/") for name in NAMES]
MAKERS = {
    "file": lambda path, other: path.touch(),
    "directory": lambda path, other: path.mkdir(),
    "link": lambda path, other: path.symlink_to(other),
    "hard link": lambda path, other: path.hardlink_to(other),
    "pipe": lambda path, other: os.mkfifo(path),
}
made = st.tuples(st.sampled_from(["file", "file", *MAKERS]), st.sampled_from(PLACES), st.sampled_from(PLACES))


@pytest.fixture
def root(tmp_path):
    """A directory with a file of baskets."""
    (tmp_path / "in").mkdir()
    write(tmp_path / "in" / "a.parquet")
    return tmp_path / "in"


def write(path):
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"items": [["a"], ["a", "b"], ["a", "b"]]}), path)


def build(root, steps):
    for kind, name, other in steps:
        with suppress(OSError):  # what stands in the way stays
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            MAKERS[kind](root / name, root / other)


def naive_names(root, patterns):
    """All paths of a few levels that are not hidden, found one by one; None if they are to be refused."""
    found, reached, refused = [], [root.resolve(), *root.resolve().parents], False
    waiting = [(root, ())]
    while waiting:
        directory, below = waiting.pop()
        for path in sorted(directory.iterdir()):
            name = (*below, path.name)
            last = not patterns or len(name) == len(patterns)
            if path.name[0] in "._" or (patterns and not fnmatchcase(path.name, patterns[len(below)])):
                continue
            if not path.exists():
                refused = True
            elif path.is_dir() and not (patterns and last):
                refused |= any(path.samefile(other) for other in reached)
                reached.append(path)
                if len(name) < 5:
                    waiting.append((path, name))
            elif last:
                refused |= not path.is_file() or path.suffix not in (".parquet", ".PARQUET")
                refused |= any(path.samefile(other) for other in reached)
                reached.append(path)
                found.append("/".join(name))
    for path in reached:
        if path.suffix in (".parquet", ".PARQUET") and path.is_dir() and not patterns:
            refused |= not any(f"{path.relative_to(root)}/" in f"{name}/" for name in found)
    return None if refused or not found else sorted(found)


@settings(max_examples=examples(60))
@given(
    st.lists(made, max_size=8),
    st.sampled_from([(), ("*",), ("*", "*.parquet"), ("[a-x]*", "*"), ("*.parquet",)]),
)
def test_each_file_is_read_once_or_the_source_is_refused(steps, patterns):
    with TemporaryDirectory() as directory:
        root = Path(directory).resolve() / "in"
        root.mkdir()
        build(root, steps)
        expected = naive_names(root, patterns)
        if expected is None:
            with pytest.raises(FormatError):
                ParquetTree.find(root.joinpath(*patterns))
        else:
            assert ParquetTree.find(root.joinpath(*patterns)).names == expected


def test_links_that_lead_to_each_file_once_are_followed(root, tmp_path):
    write(tmp_path / "elsewhere" / "x.parquet")
    (root / "year=1").symlink_to(tmp_path / "elsewhere")
    write(root / ".kept" / "y")
    (root / "b.parquet").symlink_to(Path(".kept") / "y")
    (tmp_path / "way").symlink_to(root)
    result = stream.pcta(tmp_path / "way", tmp_path / "out", k=2)
    names = ["a.parquet", "b.parquet", "year=1/x.parquet"]
    assert [path.relative_to(tmp_path / "out").as_posix() for path in result.paths] == names
    assert result.rows == 9
    for target in (tmp_path / "elsewhere" / "out", tmp_path / "way" / "year=1" / "out"):
        with pytest.raises(ParameterError, match="the target is within the source"):
            stream.pcta(root, target, k=2)


def linked_back(root):
    for name in "xyz":  # as many paths as there are words of these letters
        (root / name).symlink_to(root, target_is_directory=True)


TWICE = {
    "symbolic link": lambda root: (root / "b.parquet").symlink_to("a.parquet"),
    "hard link": lambda root: (root / "b.parquet").hardlink_to(root / "a.parquet"),
    "linked directory": lambda root: [(root / "x").mkdir(), (root / "y").symlink_to("x")],
    "loops": linked_back,
    "the way up": lambda root: (root / "up").symlink_to("/"),
}


@pytest.mark.parametrize("make", TWICE.values(), ids=TWICE)
def test_what_is_reached_in_two_ways_is_refused_with_its_count(make, root, tmp_path):
    make(root)
    with pytest.raises(FormatError, match="the same rows would be read twice") as caught:
        stream.pcta(root, tmp_path / "out", k=2)
    count = 3 if make is linked_back else 1
    assert f"got:   {count} files or directories that another path leads to, such as" in str(caught.value)
    assert "hint:  remove links" in str(caught.value)
    assert not (tmp_path / "out").exists()


def test_files_without_an_inode_are_known_by_their_paths(root, monkeypatch):
    (root / "b.parquet").symlink_to("a.parquet")
    found = os.stat

    def without(path, **options):
        values = list(found(path, **options))
        values[1] = 0
        return os.stat_result(values)

    monkeypatch.setattr(os, "stat", without)
    with pytest.raises(FormatError, match="read twice"):
        ParquetTree.find(root)
    (root / "b.parquet").unlink()
    write(root / "b.parquet")
    assert ParquetTree.find(root).names == ["a.parquet", "b.parquet"]


def sockets(root):
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(os.path.relpath(root / "s"))


UNREAD = {
    "1 files that do not end in .parquet, such as README.txt": lambda root: (root / "README.txt").touch(),
    "1 files that do not end in .parquet, such as a.parquet.gz": lambda root: (root / "a.parquet.gz").touch(),
    "1 links that lead nowhere, such as b.parquet": lambda root: (root / "b.parquet").symlink_to("nothing"),
    "1 links that lead nowhere, such as x": lambda root: (root / "x").symlink_to("x"),
    "1 things that are neither files nor directories, such as p": lambda root: os.mkfifo(root / "p"),
    "1 things that are neither files nor directories, such as s": sockets,
    "1 directories that end in .parquet and hold no such file, such as b.parquet": lambda root: (
        root / "b.parquet"
    ).mkdir(),
    "1 names that are not UTF-8, such as \\udcff.parquet": lambda root: (root / "\udcff.parquet").touch(),
}


@pytest.mark.parametrize(("message", "make"), UNREAD.items(), ids=range(len(UNREAD)))
def test_what_would_be_left_out_is_refused_with_its_kind(message, make, root, tmp_path):
    make(root)
    with pytest.raises(FormatError, match="not everything in the source can be read") as caught:
        stream.pcta(root, tmp_path / "out", k=2)
    assert f"got:   {message}" in str(caught.value)
    if "parquet" not in message.rpartition(" ")[2]:
        assert stream.pcta(root / "*.parquet", tmp_path / "out", k=2).rows == 3


LOGS = {
    "Delta": "_delta_log/00000000000000000000.json",
    "Hudi": ".hoodie/hoodie.properties",
    "Iceberg": "metadata/v1.metadata.json",
}
PARTS = {
    "the table": "table",
    "what holds it": "",
    "a partition": "table/date=1",
    "a file": "table/date=1/a.parquet",
    "files of a partition": "table/date=1/*.parquet",
    "files of all": "table/*/*.parquet",
    "files below": "*/*/a.parquet",
}


@pytest.fixture(params=LOGS.values(), ids=LOGS)
def table_with_versions(request, tmp_path):
    """A directory with a table that has a log, which replaced files would be read of."""
    write(tmp_path / "lake" / "table" / "date=1" / "a.parquet")
    log = tmp_path / "lake" / "table" / request.param
    log.parent.mkdir()
    log.touch()
    return tmp_path / "lake", log.parent


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_parts_of_tables_with_versions_are_refused_for_their_replaced_files(part, table_with_versions):
    lake, log = table_with_versions
    with pytest.raises(
        FormatError, match=r"files that were replaced would be read, too(.|\n)*the program that wrote it"
    ) as error:
        ParquetTree.find(lake / part)
    assert "1 logs of a table with versions, such as " in str(error.value)
    assert f"table/{log.name}" in str(error.value)


def test_links_into_tables_with_versions_are_refused(table_with_versions, tmp_path):
    lake, _ = table_with_versions
    (tmp_path / "links").mkdir()
    links = [tmp_path / "links" / name for name in ("a.parquet", "date=1")]
    for link in links:
        link.symlink_to(lake / "table" / "date=1" / ("a.parquet" if link.suffix else ""))
        for source in (link, link.parent):
            with pytest.raises(FormatError, match="files that were replaced"):
                ParquetTree.find(source)
        link.unlink()


def test_a_file_of_a_table_with_versions_is_not_read_alone(table_with_versions, monkeypatch):
    lake, _ = table_with_versions
    path = lake / "table" / "date=1" / "a.parquet"
    monkeypatch.chdir(path.parent)
    for source in (path, "a.parquet", path.as_uri()):
        with pytest.raises(FormatError, match="files that were replaced would be read, too"):
            pdanon.read_parquet(source)


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_remote_tables_with_versions_are_refused(part, table_with_versions, monkeypatch):
    lake, _ = table_with_versions
    remote = fs.SubTreeFileSystem(str(lake.parent), fs.LocalFileSystem())
    monkeypatch.setattr("pdanon.io.trees.resolve", lambda path: (remote, str(path)))
    with pytest.raises(FormatError, match=r"files that were replaced(.|\n)*where: .*subtree://lake"):
        ParquetTree.find(f"lake/{part}".rstrip("/"))


def test_logs_that_may_not_be_looked_for_are_none(root, monkeypatch):
    found = os.stat

    def refuse(path, **options):
        if str(path).endswith(("_delta_log", ".hoodie")):
            raise PermissionError(13, "SECRET")
        return found(path, **options)

    monkeypatch.setattr(os, "stat", refuse)
    assert ParquetTree.find(root).names == ["a.parquet"]


def test_a_directory_of_the_name_of_a_log_is_read(root):
    write(root / "metadata" / "b.parquet")
    assert ParquetTree.find(root).names == ["a.parquet", "metadata/b.parquet"]


def test_a_file_of_the_same_size_is_another_one_by_its_time(root):
    path, tree = root / "a.parquet", ParquetTree.find(root)
    before = tree.stamps()
    os.utime(path, ns=(0, path.stat().st_mtime_ns))
    assert tree.stamps() == before
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1_000))
    assert tree.stamps() != before


def test_each_kind_is_counted(root):
    for name in ("1.txt", "2.txt", "x/3.csv"):
        (root / name).parent.mkdir(exist_ok=True)
        (root / name).touch()
    (root / "b.parquet").symlink_to("a.parquet")
    message = (
        "3 files that do not end in .parquet, such as 1.txt; "
        "1 files or directories that another path leads to, such as b.parquet"
    )
    with pytest.raises(FormatError) as caught:
        ParquetTree.find(root)
    got = str(caught.value).partition("got:   ")[2].partition("\n")[0]
    assert sorted(got.split("; ")) == sorted(message.split("; "))


def test_directories_where_a_pattern_ends_are_refused(root):
    write(root / "b.parquet" / "part-0.parquet")
    assert ParquetTree.find(root).names == ["a.parquet", "b.parquet/part-0.parquet"]
    assert ParquetTree.find(root / "b*" / "*.parquet").names == ["b.parquet/part-0.parquet"]
    with pytest.raises(FormatError, match="1 directories where the pattern ends"):
        ParquetTree.find(root / "*.parquet")


@pytest.mark.parametrize("pattern", ["**", "**/*.parquet", "x/**", "**.parquet"])
def test_stars_for_any_number_of_directories_are_refused(pattern, root):
    with pytest.raises(FormatError, match=r"\*\* is not supported(.|\n)*one \* per level"):
        ParquetTree.find(root / pattern)


def test_a_suffix_in_capitals_is_read_and_released(root, tmp_path):
    write(root / "B.PARQUET")
    result = stream.pcta(root, tmp_path / "out", k=2)
    assert [path.name for path in result.paths] == ["B.PARQUET", "a.parquet"]


def test_no_name_is_not_the_current_directory(root, tmp_path, monkeypatch, run):
    monkeypatch.chdir(root)
    with pytest.raises(ParameterError, match="source names no file"):
        stream.pcta("", tmp_path / "out", k=2)
    code, _, err = run("anonymize", "--stream", "", str(tmp_path / "out"), "--algorithm", "pcta", "-k", "2")
    assert (code, "IN names no file" in err) == (2, True)
    assert stream.pcta(".", tmp_path / "out", k=2).rows == 3


def test_the_way_up_from_a_link_is_that_of_the_system(root, tmp_path):
    write(tmp_path / "far" / "b.parquet")
    (tmp_path / "far" / "in").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "far" / "in")
    assert ParquetTree.find(f"{tmp_path}/link/..").names == ["b.parquet"]


@pytest.mark.parametrize("end", ["?x=1", "#x", "/a?.parquet"])
def test_the_end_of_a_uri_is_not_cut_off(end, root):
    with pytest.raises(FormatError, match=r"the end of the URI(.|\n)*%3F"):
        ParquetTree.find(root.as_uri() + end)
    assert ParquetTree.find(root.as_uri() + "/%3F.parquet").names == ["a.parquet"]


def test_neither_a_file_nor_a_directory(tmp_path):
    os.mkfifo(tmp_path / "p.parquet")
    with pytest.raises(FormatError, match="neither a file nor a directory"):
        stream.pcta(tmp_path / "p.parquet", tmp_path / "out", k=2)


def test_a_directory_that_cannot_be_read_is_named(root, monkeypatch):
    (root / "closed").mkdir()
    listed = os.listdir

    def refuse(path):
        if str(path).endswith("closed"):
            raise PermissionError(13, "SECRET")
        return listed(path)

    monkeypatch.setattr(os, "listdir", refuse)
    with pytest.raises(FormatError, match=r"where: .*/closed\n(.|\n)*Permission denied"):
        ParquetTree.find(root)


def test_a_remote_listing_is_checked_alike(root):
    (root / "note.txt").touch()
    remote = fs.SubTreeFileSystem(str(root), fs.LocalFileSystem())
    with pytest.raises(FormatError, match="1 files that do not end in"):
        list_files(remote, "")
    assert list_files(remote, "", ("*.parquet",))[0] == ["a.parquet"]


# --- Names that are not text

NOT_TEXT = "\udcff"  # the byte 255


def baskets():
    return pd.DataFrame({"items": pdanon.as_itemsets([["a", "b"], ["a"], ["b"], ["a", "b"]])})


def streamed(path, **paths):
    pdanon.to_parquet(baskets(), path.parent / "in.parquet")
    asked = {"source": path.parent / "in.parquet", "target": path.parent / "out.parquet"} | paths
    stream.pcta(**asked, k=2)


WORKING = {
    "csv": lambda path: [
        pdanon.to_csv(baskets(), path / "x.csv", separator=" "),
        pdanon.read_csv(path / "x.csv", column="items", separator=" "),
    ],
    "hierarchy and report": lambda path: [
        (path / "h.csv").write_text("a;*\nb;*\n"),
        baskets().txanon.apriori(k=2, hierarchy=path / "h.csv").report(path / "page.html"),
    ],
}
REFUSED = {
    "to_parquet": lambda path: pdanon.to_parquet(baskets(), path / "x.parquet"),
    "read_parquet": lambda path: pdanon.read_parquet(path / "x.parquet"),
    "source": lambda path: streamed(path, source=path),
    "target": lambda path: streamed(path, target=path / "out.parquet"),
    "mapping": lambda path: streamed(path, mapping=path / "mapping.parquet"),
    "mapping as CSV": lambda path: write_plain(baskets(), path / "mapping.csv"),
    "resume": lambda path: pdanon.compare(baskets(), {"pcta": {"k": 2}}, resume=path / "rows.parquet"),
    "weights": lambda path: read_weights(path / "weights.csv"),
}


@pytest.mark.parametrize("use", WORKING.values(), ids=WORKING)
def test_names_that_are_not_text_are_taken(use, tmp_path):
    (tmp_path / NOT_TEXT).mkdir()
    use(tmp_path / NOT_TEXT)


@pytest.mark.parametrize("use", REFUSED.values(), ids=REFUSED)
def test_names_that_are_not_text_are_refused_where_arrow_takes_none(use, tmp_path):
    (tmp_path / NOT_TEXT).mkdir()
    with pytest.raises(FormatError) as caught:
        use(tmp_path / NOT_TEXT)
    assert f"where: {tmp_path}/\\udcff" in str(caught.value)  # which can be printed
    assert list((tmp_path / NOT_TEXT).iterdir()) == []


def test_the_command_line_prints_names_that_are_not_text(run, tmp_path):
    pdanon.to_parquet(baskets(), tmp_path / "in.parquet")
    target = tmp_path / f"{NOT_TEXT}.csv"
    asked = ("--separator", " ", "--algorithm", "pcta", "-k", "2")
    code, out, err = run("anonymize", str(tmp_path / "in.parquet"), str(target), *asked)
    assert (code, err) == (0, "")
    assert f"written    {tmp_path}/\\udcff.csv" in out
    assert target.exists()


def test_a_directory_that_is_not_text_is_refused_where_one_works_in_it(tmp_path, monkeypatch):
    (tmp_path / NOT_TEXT).mkdir()
    pdanon.to_parquet(baskets(), tmp_path / "in.parquet")
    monkeypatch.chdir(tmp_path / NOT_TEXT)
    for use in (
        lambda: pdanon.to_parquet(baskets(), "x.parquet"),
        lambda: stream.pcta(tmp_path / "in.parquet", "x.parquet", k=2),
        lambda: ParquetTree.find("x.parquet"),
    ):
        with pytest.raises(FormatError, match="the path is not UTF-8"):
            use()
    assert list(Path().iterdir()) == []
