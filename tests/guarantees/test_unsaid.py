"""What would be ignored is refused, in whatever way it is said; what was not said is not."""

from __future__ import annotations

import pytest
from conftest import frame_of

import pdanon
from pdanon import ParameterError, stream

FRAME = frame_of([{"a", "b"}, {"a", "c"}, {"a", "b"}, {"b"}])
LISTED = [["a", "c"]]
EVERY = pdanon.constraints.all_itemsets(FRAME, 1)


@pytest.mark.one_in(5)
@pytest.mark.parametrize("m", [1, 2, 3, None])
@pytest.mark.parametrize("constraints", [LISTED, EVERY], ids=["listed", "all"])
@pytest.mark.parametrize("name", ["pcta", "coat", "upcta"])
def test_m_beside_constraints(name, constraints, m, tmp_path):
    asked = {"guarantee": pdanon.PrivacyConstraints(constraints=constraints, k=2)}
    asked |= {"utility": [list("abc")]} if name == "upcta" else {}
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    (tmp_path / "policy.toml").write_text(
        f'input = "in.parquet"\nalgorithm = "{name}"\n[parameters]\nk = 2\n'
        f'm = {m or chr(34) + "all" + chr(34)}\nconstraints = [["a", "c"]]\n'
    )
    for call in (
        lambda: getattr(pdanon, name)(FRAME, m=m, **asked),
        lambda: getattr(FRAME.txanon, name)(m=m, **asked),
        lambda: getattr(stream, name)(tmp_path / "in.parquet", tmp_path / "out", m=m, **asked),
        lambda: pdanon.compare(FRAME, {name: {"m": m, **asked}}),
    ):
        with pytest.raises(ParameterError, match="the guarantee is given twice"):
            call()
    with pytest.raises(ParameterError, match="m is not used with constraints") as caught:
        pdanon.Policy.from_toml(tmp_path / "policy.toml").run()
    assert f"got:   {m}" in str(caught.value)
    result = getattr(FRAME.txanon, name)(**asked)
    assert result.parameters.get("m") == (1 if constraints is EVERY else None)


@pytest.mark.parametrize("name", ["pcta", "coat"])
def test_m_is_2_if_it_is_not_said(name):
    result = getattr(pdanon, name)(FRAME, k=2)
    assert result.guarantee == pdanon.KmAnonymity(2, 2)
    assert type(result.parameters["m"]) is type(result.guarantee.m) is int


def test_m_beside_constraints_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(FRAME, "in.parquet")
    pdanon.to_parquet(frame_of(LISTED), "rules.parquet")
    asked = ("in.parquet", "out.parquet", "-k", "2", "--constraints", "rules.parquet")
    audit = ("audit", "out.parquet", "-k", "2", "--constraints", "rules.parquet", "--mapping", "map.parquet")
    assert run("anonymize", *asked, "--algorithm", "pcta", "--mapping", "map.parquet")[0] == 0
    assert run(*audit)[0] == 0
    for command in (
        ("anonymize", *asked, "--overwrite"),
        ("anonymize", *asked, "--overwrite", "--algorithm", "coat"),
        audit,
    ):
        for m in ("2", "3", "all"):
            code, _, err = run(*command, "-m", m)
            assert code == 2
            assert "m is not used with constraints" in err
