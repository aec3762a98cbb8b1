"""Files whose content is of another kind than their names say: the hint fits."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

import pdanon
import pdanon.stream
from pdanon.errors import FormatError
from pdanon.io.tables import Form


@pytest.mark.parametrize(
    ("content", "got", "hint"),
    [
        (b"", "it is empty", "a line of column names"),
        ("n,items\n1,a\n".encode("utf-16"), "UTF-16", "encoding='utf-16'"),
        (gzip.compress(b"n,items\n1,a\n", mtime=0), "by gzip", r"\.csv\.gz .*gunzip"),
        (bz2.compress(b"n,items\n1,a\n"), "by bzip2", "bunzip2"),
        (lzma.compress(b"n,items\n1,a\n"), "by xz", "unxz"),
        (b"\x28\xb5\x2f\xfd\x04\x00\xff", "by zstd", "unzstd"),
        (b"PK\x03\x04\x14\x00\xff\xff", "spreadsheet", "CSV UTF-8"),
        (b"PAR1\x15\x04\xff\xff", "it is Parquet", "read_parquet"),
        ("n,items\n1,ä\n".encode("latin-1"), "not UTF-8", "latin-1"),
        (b"n,items\n1,a,b\n", "", "quotes around a field"),
    ],
)
def test_a_file_of_another_content_than_its_name_says_gets_a_hint_that_fits(tmp_path, content, got, hint):
    (tmp_path / "a.csv").write_bytes(content)
    for read in (
        lambda path: pdanon.read_csv(path, column="items", separator="|"),
        lambda path: Form(by=["n"], item="items").read(path),
        lambda path: pdanon.stream.from_long(path, tmp_path / "o.parquet", by="n", item="items"),
    ):
        with pytest.raises(FormatError, match=rf"got: .*{got}.*\n  hint: .*{hint}"):
            read(tmp_path / "a.csv")


def test_a_utf_16_file_is_read_as_its_hint_says(tmp_path):
    (tmp_path / "a.csv").write_bytes("n,items\n1,ä|b\n".encode("utf-16"))
    frame = pdanon.read_csv(tmp_path / "a.csv", column="items", separator="|", encoding="utf-16")
    assert frame["items"].tolist() == [["b", "ä"]]


def test_a_file_named_as_parquet_gets_a_hint_that_fits(tmp_path):
    (tmp_path / "a.parquet").write_bytes(gzip.compress(b"n,items\n1,a\n"))
    with pytest.raises(FormatError, match=r"compressed by gzip\n  hint: .*gunzip"):
        pdanon.read_parquet(tmp_path / "a.parquet")
