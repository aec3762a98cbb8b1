"""What may be written: what exists is replaced only if the caller says so, wherever a policy points."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest
from conftest import frame_of

import pdanon
from pdanon.errors import ParameterError
from pdanon.io.parquet import read_parquet, to_parquet

KM = ("-k", "2", "-m", "2", "--algorithm", "pcta")
COMMANDS = {
    "anonymize": ("anonymize", "in.parquet", "OUT.parquet", *KM),
    "csv": ("anonymize", "in.parquet", "OUT.csv", *KM, "--separator", "|"),
    "mapping": ("anonymize", "in.parquet", "new.parquet", *KM, "--mapping", "OUT.csv"),
    "legend": ("anonymize", "in.parquet", "new.parquet", *KM, "--labels", "short", "--legend", "OUT.csv"),
    "report": ("anonymize", "in.parquet", "new.parquet", *KM, "--report", "OUT.html"),
    "stream": ("anonymize", "--stream", "in.parquet", "new.parquet", *KM, "--mapping", "OUT.csv"),
    "threats": ("audit", "in.parquet", "-k", "3", "--threats", "OUT.parquet"),
    "risk": ("risk", "in.parquet", "-k", "2", "--out", "OUT.csv"),
    "profile": ("profile", "in.parquet", "-k", "2", "--report", "OUT.html"),
    "tradeoff": ("tradeoff", "in.parquet", "-k", "2", "-m", "1", "--algorithm", "pcta", "--out", "OUT.csv"),
    "run": ("run", "policies/policy.toml"),
    "compare": ("compare", "policies/policy.toml"),
}
POLICY = """
input = "../in.parquet"
algorithm = "pcta"
parameters = { k = 2 }
[outputs]
release = "OUT.parquet"
comparison = "OUT.csv"
[compare]
resume = "rows.parquet"
[compare.algorithms.pcta]
k = 2
"""
OLD = b"of somebody"


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """Data, and a policy in a directory of its own."""
    monkeypatch.chdir(tmp_path)
    to_parquet(frame_of([{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}] * 2), "in.parquet")
    Path("policies").mkdir()
    Path("policies/policy.toml").write_text(POLICY)


def target_of(name):
    """What a command of the table writes."""
    if name in ("run", "compare"):
        return Path("policies", "OUT.parquet" if name == "run" else "OUT.csv")
    return Path(next(word for word in COMMANDS[name] if word.startswith("OUT")))


def files():
    return {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}


@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize("name", COMMANDS)
def test_what_exists_is_replaced_only_if_the_caller_says_so(run, name):
    target = target_of(name)
    target.write_bytes(OLD)
    before = files()
    code, out, err = run(*COMMANDS[name])
    assert (code, out) == (2, "")
    assert err.startswith(f"pdanon: error: the file exists\n  where: {target}\n  hint:  pass --overwrite")
    assert files() == before
    assert run(*COMMANDS[name], "--overwrite")[0] == (name == "threats")
    assert target.read_bytes() != OLD


@pytest.mark.parametrize("name", COMMANDS)
def test_a_dry_run_shows_what_would_be_read_and_written(run, name):
    before, target = files(), target_of(name)
    code, out, err = run(*COMMANDS[name], "--dry-run")
    assert (code, err) == (0, "")
    lines = [line.split(maxsplit=1) for line in out.splitlines()[1:]]
    policy = name in ("run", "compare")
    assert [path for does, path in lines if does == "reads"] == (
        ["policies/policy.toml", "policies/../in.parquet"] if policy else ["in.parquet"]
    )
    assert str(target) in [path for does, path in lines if does == "writes"]
    assert files() == before
    target.write_bytes(OLD)
    code, out, err = run(*COMMANDS[name], "--dry-run", "--overwrite")
    assert (code, err) == (0, "")
    assert ["replaces", str(target)] in [line.split() for line in out.splitlines()]
    assert "the file exists" in run(*COMMANDS[name], "--dry-run")[2]
    assert files() == {**before, target: OLD}


@pytest.mark.skipif(os.name != "posix", reason="links and pipes are those of POSIX")
@pytest.mark.parametrize("name", COMMANDS)
def test_pipes_and_devices_are_never_replaced(run, name):
    target = target_of(name)
    os.mkfifo("pipe")
    target.symlink_to(Path("pipe").absolute())
    more = ["--allow-outside"] if name in ("run", "compare") else []
    code, out, err = run(*COMMANDS[name], "--overwrite", *more)
    assert (code, out) == (2, "")
    assert f"this is no regular file\n  where: {target}" in err
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_a_stream_never_replaces_a_release(run):
    Path("out.parquet").write_bytes(OLD)
    command = ("anonymize", "--stream", "in.parquet", "out.parquet", *KM, "--overwrite")
    for more in ([], ["--dry-run"]):
        code, _, err = run(*command, *more)
        assert (code, "the target exists" in err) == (2, True)
    assert Path("out.parquet").read_bytes() == OLD


# --- Policies, which somebody else may have written


@pytest.mark.one_in(5)
@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize("key", ["release", "mapping", "loss", "report", "comparison", "resume"])
@pytest.mark.parametrize("how", ["above", "absolute", "link", "directory"])
def test_a_policy_writes_in_its_own_directory(run, tmp_path, key, how):
    (tmp_path / "elsewhere").mkdir()
    suffix = ".html" if key == "report" else ".parquet"
    victim = tmp_path / "elsewhere" / f"victim{suffix}"
    victim.write_bytes(OLD)
    link, directory = Path("policies", f"link{suffix}"), Path("policies/directory")
    link.symlink_to(victim)
    directory.symlink_to(tmp_path / "elsewhere")
    named = {
        "above": f"../elsewhere/victim{suffix}",
        "absolute": str(victim),
        "link": link.name,
        "directory": f"directory/new{suffix}",
    }[how]
    lines = [line for line in POLICY.splitlines() if not line.startswith(key)]
    lines.insert(lines.index("[compare]" if key == "resume" else "[outputs]") + 1, f'{key} = "{named}"')
    Path("policies/policy.toml").write_text("\n".join(lines))
    command = "compare" if key in ("comparison", "resume") else "run"
    before = files()
    for more in ([], ["--overwrite"], ["--dry-run"]):
        code, out, err = run(command, "policies/policy.toml", *more)
        assert (code, out) == (2, "")
        assert "an output is outside the directory of the policy" in err
        assert "hint:  pass --allow-outside" in err
        assert files() == before
    if key != "resume":  # which must be of a comparison
        assert run(command, "policies/policy.toml", "--overwrite", "--allow-outside")[0] == 0
        assert (victim if how != "directory" else directory / f"new{suffix}").read_bytes() != OLD


def test_outputs_are_named_before_the_work_begins(run, stand_in):
    def fail(frame, column=None, *, k):
        raise pdanon.InfeasibleError("no release")

    stand_in("pcta", fail)
    code, _, err = run("run", "policies/policy.toml")
    assert code == 1
    assert err.startswith("pdanon: writes policies/OUT.parquet\n")


def test_a_directory_of_a_policy_may_be_a_link(run):
    Path("linked").symlink_to("policies")
    assert run("run", "linked/policy.toml")[0] == 0
    assert len(read_parquet("policies/OUT.parquet")) == 8


def test_in_python_the_caller_says_it_too(here, tmp_path):
    policy = pdanon.Policy.from_toml("policies/policy.toml")
    result = policy.run()
    policy.write(result)
    with pytest.raises(ParameterError, match=r"the file exists(.|\n)*overwrite=True"):
        policy.write(result)
    policy.write(result, overwrite=True)
    outside = pdanon.Policy(
        **{each: getattr(policy, each) for each in ("input", "algorithm", "parameters", "source")},
        outputs={"release": tmp_path / "new.parquet"},
    )
    with pytest.raises(ParameterError, match=r"outside the directory(.|\n)*allow_outside=True"):
        outside.write(result)
    outside.write(result, allow_outside=True)
    assert (tmp_path / "new.parquet").exists()


def test_what_appears_meanwhile_is_not_replaced(run, stand_in):
    def late(frame, column=None, *, k, m=2):
        Path("out.parquet").write_bytes(OLD)
        return made

    made = pdanon.pcta(read_parquet("in.parquet"), k=2, m=2)
    stand_in("pcta", late)
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *KM)
    assert (code, "the file exists" in err) == (2, True)
    assert Path("out.parquet").read_bytes() == OLD
