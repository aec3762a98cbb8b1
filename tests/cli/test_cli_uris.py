"""URIs on the command line: Parquet is read from them, and only releases are written to them."""

from __future__ import annotations

import traceback
from pathlib import Path

import pytest
from conftest import SECRET, frame_of, rows_of

import pdanon
import pdanon.stream
from pdanon.cli.main import main
from pdanon.errors import mask_credentials
from pdanon.io.files import locate
from pdanon.io.lines import is_lines

REMOTE = "s3://bucket/month=01/in.parquet?endpoint_override=127.0.0.1:9000&scheme=http"
KM = ("-k", "2", "-m", "1")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A table, as a file and as a policy reads it."""
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(frame_of([["tea", "rice"], ["tea"], ["rice"]] * 3), "in.parquet")


def policy(file, release):
    Path("policy.toml").write_text(
        f'input = "{file}"\nalgorithm = "pcta"\n[parameters]\nk = 2\nm = 1\n'
        f'[columns]\nitems = "items"\n[outputs]\nrelease = "{release}"\n'
    )
    return "policy.toml"


def test_a_uri_of_this_machine_is_its_path(run):
    uri = Path("in.parquet").absolute().as_uri()
    assert run("risk", uri, "-k", "5") == run("risk", "in.parquet", "-k", "5")
    assert run("run", policy(uri, "out.parquet"))[0] == 0
    assert rows_of(pdanon.read_parquet("out.parquet")) == rows_of(pdanon.read_parquet(uri))
    code, _, err = run("anonymize", uri, "in.parquet", *KM)  # the original is not overwritten
    assert (code, "two arguments name the same file" in err) == (2, True)


def test_a_uri_of_another_machine_reaches_the_reader(run, monkeypatch):
    asked = []
    frame = pdanon.read_parquet("in.parquet")
    monkeypatch.setattr("pdanon.io.lines.read_parquet", lambda path: asked.append(path) or frame)
    assert run("audit", REMOTE, *KM)[0] == 0
    assert run("anonymize", REMOTE, "out.parquet", *KM)[0] == 0
    assert run("run", policy(REMOTE, "again.parquet"))[0] == 0
    assert asked == [REMOTE] * 3


def test_what_cannot_be_reached_is_no_path_of_this_machine(run):
    code, _, err = run("risk", "nowhere://bucket/in.parquet", "-k", "2")
    assert code == 2
    assert "where: nowhere://bucket/in.parquet" in err
    assert "hint:  check the address, its endpoint and the credentials" in err


def test_what_follows_the_name_in_a_uri_is_no_part_of_it():
    assert is_lines(REMOTE)
    assert not is_lines("in.parquet?scheme=http")  # a name like any other
    assert locate(REMOTE) == REMOTE


REFUSED = {
    "release of no table": (
        ("anonymize", "in.parquet", "s3://bucket/out", *KM),
        "'s3://bucket/out' must end in .parquet or .csv",
    ),
    "the original": (
        ("anonymize", REMOTE, REMOTE.partition("?")[0] + "?region=eu", *KM),
        "two arguments name the same file",
    ),
    "mapping": (
        ("anonymize", "in.parquet", "out.parquet", *KM, "--mapping", "s3://bucket/map.csv"),
        "--mapping: 's3://bucket/map.csv' is a URI",
    ),
    "rules": (
        ("anonymize", "in.parquet", "out.parquet", "-k", "2", "--constraints", "s3://bucket/rules.csv"),
        "--constraints: 's3://bucket/rules.csv' is a URI",
    ),
    "csv": (
        ("risk", "s3://bucket/in.csv", "-k", "2", "--by", "a", "--item", "b"),
        "only Parquet files are read from a URI",
    ),
    "directory": (("risk", "s3://bucket/in", "-k", "2"), "must end in .parquet"),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_other_uris_are_refused(run, arguments, message):
    code, out, err = run(*arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert [path.name for path in Path().iterdir()] == ["in.parquet"]


def test_only_the_release_of_a_policy_has_a_uri(run):
    file = policy("in.parquet", "memory://bucket/out.parquet")
    with Path(file).open("a") as text:
        text.write('mapping = "memory://bucket/mapping.parquet"\n')
    code, _, err = run("run", file)
    assert code == 2
    assert "an output is a URI\n  where: policy.toml, [outputs]\n  got:   memory://bucket/mapping" in err


def test_a_policy_writes_to_a_uri_if_its_caller_allows_it(run):
    uri = "memory://bucket/policy.parquet"
    file = policy("in.parquet", uri)
    code, _, err = run("run", file)
    assert (code, "an output is outside the directory of the policy" in err) == (2, True)
    assert run("run", file, "--allow-outside")[0] == 0
    assert rows_of(pdanon.read_parquet(uri)) == rows_of(pdanon.read_parquet("in.parquet"))
    code, _, err = run("run", file, "--allow-outside")
    assert (code, "the file exists" in err) == (2, True)


def test_a_release_is_written_to_a_uri(run):
    uri = "memory://bucket/release.parquet"
    code, out, _ = run("anonymize", "in.parquet", uri, *KM, "--dry-run")
    assert (code, f"writes     {uri}" in out) == (0, True)
    assert run("anonymize", "in.parquet", uri, *KM)[0] == 0
    assert rows_of(pdanon.read_parquet(uri)) == rows_of(pdanon.read_parquet("in.parquet"))
    assert "replaces" in run("anonymize", "in.parquet", uri, *KM, "--overwrite", "--dry-run")[1]
    code, _, err = run("anonymize", "in.parquet", uri, *KM)
    assert (code, "pass --overwrite" in err) == (2, True)
    assert run("anonymize", "in.parquet", uri, *KM, "--overwrite")[0] == 0


@pytest.mark.parametrize(
    "uri", [f"s3://KEY:{SECRET}@bucket/out.parquet", f"s3://b/o.parquet?secret_key={SECRET}"]
)
def test_credentials_are_neither_read_from_nor_written_to_a_policy(uri):
    for roles in ({"input": uri}, {"input": "in.parquet", "outputs": {"release": uri}}):
        with pytest.raises(pdanon.ParameterError, match="the URI holds credentials") as caught:
            pdanon.Policy(**roles)
        assert SECRET not in str(caught.value)


# --- Credentials in a URI are shown nowhere

# Arrow knows no such scheme, and says so of the whole URI.
URIS = {
    "user information": f"nowhere://KEY:{SECRET}@bucket/in.parquet?region=eu",
    "a slash in the secret": f"nowhere://KEY:9/{SECRET}@bucket/in.parquet",
    "an at sign in the secret": f"ftp://KEY:a@b/{SECRET}@bucket/in.parquet",
    "a user alone": f"nowhere://{SECRET}@bucket/in.parquet",
    "query": f"nowhere://bucket/in.parquet?region=eu&secret_key={SECRET}&X-Amz-Signature={SECRET}",
    "endpoint": f"nowhere://bucket/in.parquet?endpoint_override=http%3A%2F%2FKEY%3A{SECRET}%40host",
}
CALLS = {
    "read_parquet": pdanon.read_parquet,
    "to_parquet": lambda uri: pdanon.to_parquet(frame_of([["tea"]]), uri),
    "read_csv": lambda uri: pdanon.read_csv(uri + ".csv", column="items", separator=" "),
    "to_csv": lambda uri: pdanon.to_csv(frame_of([["tea"]]), uri, separator=" "),
    "a hierarchy": pdanon.Hierarchy.from_csv,
    "stream": lambda uri: pdanon.stream.pcta(uri, "out.parquet", k=2),
    "stream, target": lambda uri: pdanon.stream.pcta("in.parquet", uri, k=2),
    "stream, mapping": lambda uri: pdanon.stream.pcta("in.parquet", "out.parquet", mapping=uri, k=2),
    "audit": lambda uri: pdanon.stream.audit(uri, pdanon.KmAnonymity(2, 1)),
    "a policy": lambda uri: pdanon.Policy(input=uri).read(),
    "a policy's text": lambda uri: print(pdanon.Policy(input=uri)),
    "an output": lambda uri: pdanon.Policy(input="in.parquet", outputs={"release": uri}),
    "risk": lambda uri: main(["risk", uri, "-k", "2"]),
    "IN": lambda uri: main(["anonymize", uri, "out.parquet", *KM]),
    "OUT": lambda uri: main(["anonymize", "in.parquet", uri, *KM]),
    "--mapping": lambda uri: main(["anonymize", "in.parquet", "out.parquet", *KM, "--mapping", uri]),
    "too many": lambda uri: main(["anonymize", "in.parquet", "out.parquet", *KM, uri]),
    "--stream": lambda uri: main(["audit", uri, "--stream", *KM]),
    "run": lambda uri: main(["run", uri]),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_no_credentials_are_shown(call, capsys):
    uri = f"nowhere://KEY:{SECRET}@bucket/in.parquet?region=eu&secret_key={SECRET}"
    shown = []
    try:
        call(uri)
    except (pdanon.PdanonError, SystemExit) as error:
        shown = traceback.format_exception(error)
    printed = "".join(capsys.readouterr())
    assert "***" in printed + "".join(shown) or "1 after -m" in printed  # it stands where no URI can
    assert SECRET not in printed
    assert not [line for line in shown if SECRET in line]


def test_no_credentials_are_shown_by_the_error_of_another_package(run, monkeypatch):
    def fail(*arguments, **options):
        raise LookupError(URIS["query"])

    monkeypatch.setattr("pdanon.accessors.TxanonAccessor.risk", fail)
    code, _, err = run("risk", "in.parquet", "-k", "2")
    assert code == 2
    assert "LookupError: nowhere://bucket/in.parquet?region=eu&secret_key=***" in err
    assert SECRET not in err


@pytest.mark.parametrize("uri", URIS.values(), ids=URIS)
def test_credentials_of_a_uri_are_masked(uri):
    assert SECRET not in mask_credentials(f"where: {uri}, row group 3")
    assert SECRET not in mask_credentials(str(Path(uri)))
    assert SECRET not in str(pdanon.ParameterError("no file", got=repr(uri)))


def test_what_is_no_secret_of_a_uri_is_shown():
    for text in (
        "s3://bucket/month=01/a@b.parquet?region=eu-west-1&scheme=http&endpoint_override=127.0.0.1:9000",
        "file:///home/me/a.parquet, row group 3",
        "C:/Users/me@home/a.parquet: ask me@example.org",
    ):
        assert mask_credentials(text) == text
    assert (
        mask_credentials("where: s3://b/a?token=x, row group 3") == "where: s3://b/a?token=***, row group 3"
    )
