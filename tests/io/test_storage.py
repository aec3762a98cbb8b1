"""Releases on object storage, with a server of S3 on this machine."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qsl

import pandas as pd
import pytest
from conftest import rows_of
from object_storage import KEY, baskets
from pyarrow import fs

import pdanon
import pdanon.stream
from pdanon.io.files import resolve, upload_directory, upload_file
from pdanon.io.tables import write_confidential
from pdanon.itemsets.codes import Itemsets


def test_a_frame_is_written_to_a_uri_and_read_again(bucket):
    uri = bucket.uri("months/baskets.parquet")
    for seed in (0, 1):
        pdanon.to_parquet(baskets(seed), uri)
        pd.testing.assert_frame_equal(pdanon.read_parquet(uri), baskets(seed))
    assert bucket.content() == ["months/baskets.parquet"]


@pytest.fixture
def lake(bucket, tmp_path):
    """A directory of two files on the storage, and the same on this machine."""
    for number in range(2):
        for path in (tmp_path / "lake" / f"part-{number}.parquet", None):
            if path is not None:
                path.parent.mkdir(exist_ok=True)
            pdanon.to_parquet(baskets(number), path or bucket.uri(f"lake/part-{number}.parquet"))
    return bucket.uri("lake"), tmp_path / "lake"


@pytest.mark.slow
def test_a_release_of_a_lake_equals_that_of_local_files(bucket, lake, tmp_path):
    remote, local = lake
    target = bucket.uri("released")
    result = pdanon.stream.pcta(remote, target, k=5, m=2, mapping=tmp_path / "mapping.csv")
    expected = pdanon.stream.pcta(local, tmp_path / "released", k=5, m=2)
    assert result.paths == tuple(bucket.uri(f"released/part-{number}.parquet") for number in range(2))
    for path, other in zip(result.paths, expected.paths, strict=True):
        pd.testing.assert_frame_equal(pdanon.read_parquet(path), pdanon.read_parquet(other))
    assert pdanon.stream.audit(target, result.guarantee).holds
    released = [name for name in bucket.content() if name.startswith("released/")]
    assert released == ["released/_SUCCESS", "released/part-0.parquet", "released/part-1.parquet"]
    with pytest.raises(pdanon.ParameterError, match="the target exists"):
        pdanon.stream.pcta(remote, target, k=5, m=2)


def test_a_release_of_a_file_is_a_file(bucket, lake):
    target = bucket.uri("released.parquet")
    result = pdanon.stream.pcta(lake[1] / "part-0.parquet", target, k=5, m=2)
    assert result.paths == (target,)
    assert rows_of(pdanon.read_parquet(target)) == rows_of(baskets().txanon.pcta(k=5, m=2).frame)


def test_a_target_in_the_source_is_refused(bucket, lake):
    for path in ("lake/released", "lake"):
        with pytest.raises(pdanon.ParameterError, match="the target"):
            pdanon.stream.pcta(lake[0], bucket.uri(path), k=5, m=2)
    # Another name of the same server.
    other = bucket.uri("lake/released").replace("127.0.0.1", "localhost")
    with pytest.raises(pdanon.ParameterError, match="within the source"):
        pdanon.stream.pcta(lake[0], other, k=5, m=2)


def test_an_incomplete_release_is_not_read(bucket, tmp_path):
    pdanon.to_parquet(baskets(), bucket.uri("out/part-0.parquet"))
    with bucket.files.open_output_stream(f"{bucket.name}/out/_INCOMPLETE"):
        pass
    with pytest.raises(pdanon.FormatError, match="a release is incomplete"):
        pdanon.stream.audit(bucket.uri("out"), pdanon.KmAnonymity(2, 1))


def test_a_release_without_its_guarantee_is_not_sent(bucket, lake, monkeypatch):
    before = bucket.content()
    unchanged = lambda rows, *_, **options: Itemsets.from_arrow(rows.to_arrow())  # noqa: E731
    monkeypatch.setattr("pdanon.algorithms.engines.relabel", unchanged)
    with pytest.raises(pdanon.GuaranteeError):
        pdanon.stream.pcta(lake[0], bucket.uri("released"), k=5, m=2)
    assert bucket.content() == before


# --- Connections that break


@contextmanager
def breaking_proxy(server, limit):
    """Forward connections to a server until ``limit`` bytes were sent there, and break all others."""
    sent, lock = 0, threading.Lock()
    listener = socket.create_server(("127.0.0.1", 0))

    def pump(source, target, counted):
        nonlocal sent
        while data := source.recv(65536):
            if counted:
                with lock:
                    sent += len(data)
                if sent > limit:
                    break
            target.sendall(data)
        for each in (source, target):
            each.close()

    def quietly(*arguments):
        try:
            pump(*arguments)
        except OSError:
            for each in arguments[:2]:
                each.close()

    def serve():
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if sent > limit:
                client.close()
                continue
            behind = socket.create_connection(server)
            for pair in ((client, behind, True), (behind, client, False)):
                threading.Thread(target=quietly, args=pair, daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.close()


@pytest.fixture
def impatient(monkeypatch):
    """No request is sent again, as Arrow does for six seconds."""

    def opened(uri):
        path, _, options = uri.removeprefix("s3://").partition("?")
        once = fs.AwsStandardS3RetryStrategy(max_attempts=1)
        return fs.S3FileSystem(**dict(parse_qsl(options)), retry_strategy=once), path

    monkeypatch.setattr("pdanon.io.files._open_uri", opened)


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_lost_connection_leaves_the_old_file(server, bucket, tmp_path):
    uri = bucket.uri("baskets.parquet")
    pdanon.to_parquet(baskets(0), uri)
    new = tmp_path / "new.parquet"
    frame = pd.concat([baskets(seed) for seed in range(40)], ignore_index=True)
    pdanon.to_parquet(frame, new)
    unwritten = pytest.raises(pdanon.FormatError, match="the file cannot be written")
    with breaking_proxy(server, new.stat().st_size // 2) as port, unwritten as caught:
        upload_file(new, bucket.uri("baskets.parquet", port))
    assert KEY not in str(caught.value)
    pd.testing.assert_frame_equal(pdanon.read_parquet(uri), baskets(0))


@pytest.mark.slow
@pytest.mark.usefixtures("impatient")
def test_a_lost_connection_leaves_no_release_that_is_read(server, bucket, tmp_path):
    draft = tmp_path / "draft"
    draft.mkdir()
    for number in range(4):
        pdanon.to_parquet(baskets(number), draft / f"part-{number}.parquet")
    size = sum(path.stat().st_size for path in draft.iterdir())
    unwritten = pytest.raises(pdanon.FormatError, match="the file cannot be written")
    with breaking_proxy(server, size // 2) as port, unwritten:
        upload_directory(draft, bucket.uri("out", port))
    assert "out/_INCOMPLETE" in bucket.content()  # nothing could be removed either
    with pytest.raises(pdanon.FormatError, match="a release is incomplete"):
        pdanon.stream.audit(bucket.uri("out"), pdanon.KmAnonymity(2, 1))


def test_files_sent_before_an_error_are_removed(bucket, tmp_path, monkeypatch):
    draft = tmp_path / "draft"
    draft.mkdir()
    for number in range(3):
        pdanon.to_parquet(baskets(number), draft / f"part-{number}.parquet")
    sent = []

    def copy(source, *others):
        sent.append(source)
        if len(sent) == 3:
            raise KeyboardInterrupt
        real(source, *others)

    real = fs.copy_files
    monkeypatch.setattr("pdanon.io.files.fs.copy_files", copy)
    with pytest.raises(KeyboardInterrupt):
        upload_directory(draft, bucket.uri("out"))
    assert bucket.content() == []
    assert (
        bucket.files.get_file_info(f"{bucket.name}/out").type == fs.FileType.NotFound
    )  # and can be written again


def test_a_file_that_arrives_in_part_is_an_error(tmp_path, monkeypatch):
    cut = lambda source, target, *_: Path(target).write_bytes(b"1234")  # noqa: E731
    monkeypatch.setattr("pdanon.io.files.fs.copy_files", cut)
    (tmp_path / "draft").write_bytes(b"12345")
    with pytest.raises(pdanon.FormatError, match="4 of 5 bytes"):
        upload_file(tmp_path / "draft", (tmp_path / "sent").as_uri())


def test_the_message_of_a_storage_is_not_chained(tmp_path, monkeypatch):
    def fail(*_):
        raise OSError("https://user:secret@storage")

    monkeypatch.setattr("pdanon.io.files.fs.copy_files", fail)
    (tmp_path / "draft").write_bytes(b"12345")
    with pytest.raises(pdanon.FormatError, match="cannot be written") as caught:
        upload_file(tmp_path / "draft", (tmp_path / "sent").as_uri())
    assert caught.value.__context__ is None


# --- Other schemes


def test_other_schemes_are_those_of_fsspec():
    fsspec = pytest.importorskip("fsspec")
    uri = "memory://lake/baskets.parquet"
    pdanon.to_parquet(baskets(), uri)
    pd.testing.assert_frame_equal(pdanon.read_parquet(uri), baskets())
    fsspec.filesystem("memory").rm("/lake", recursive=True)


def test_a_scheme_without_its_package_names_it(monkeypatch):
    registry = pytest.importorskip("fsspec.registry")
    err = "Install strange-package to access strange storage"
    entry = {"class": "strange_package.Storage", "err": err}
    monkeypatch.setitem(registry.known_implementations, "strange", entry)
    with pytest.raises(pdanon.FormatError, match=r"no package for strange:// is installed") as caught:
        resolve("strange://KEY:SECRET@bucket/baskets.parquet")
    assert err in str(caught.value)
    assert "SECRET" not in str(caught.value)


def test_confidential_files_stay_on_this_machine():
    with pytest.raises(pdanon.ParameterError, match="a confidential file is not written to a URI"):
        write_confidential(pd.DataFrame({"a": [1]}), "s3://bucket/mapping.csv")
