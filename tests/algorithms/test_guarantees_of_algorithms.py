"""``guarantee=`` of algorithms: frames, files, partitions, commands and policies decide alike."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import SECRET, frame_of

import pdanon
from pdanon import KmAnonymity, LmDiversity, ParameterError, PrivacyConstraints
from pdanon.algorithms.registry import ALGORITHMS, takes_guarantee

ROWS = [["a", "b"], ["a", "c"], ["a", "b"], ["b", "c"], ["a", "s"], ["b"], ["c"], ["c", "b"]] * 2
FRAME = frame_of(ROWS)
TAKING = sorted(name for name, record in ALGORITHMS.items() if takes_guarantee(record.function))
NEEDED = {"apriori": {"hierarchy": 2}}
LISTED = [["a", "b"], ["c"]]
GUARANTEES = {
    "km": (KmAnonymity(3, 1), {"k": 3, "m": 1}),
    "constraints": (PrivacyConstraints(constraints=LISTED, k=3), {"k": 3, "constraints": LISTED}),
    "lm": (LmDiversity(l=3, m=1, k=2, sensitive=["s"]), {"k": 2, "m": 1, "l": 3, "sensitive": ["s"]}),
}


def test_which_algorithms_take_a_guarantee():
    assert TAKING == ["apriori", "coat", "local_suppression", "pcta", "upcta"]


@pytest.mark.parametrize("name", TAKING)
def test_k_and_m_are_short_for_a_guarantee(name):
    run, own = getattr(FRAME.txanon, name), NEEDED.get(name, {})
    for numbers in ({"k": 3}, {"k": 3, "m": 1}, {"k": 3, "m": None}):
        short, long = run(**numbers, **own), run(guarantee=KmAnonymity(**numbers), **own)
        pd.testing.assert_frame_equal(short.mapping, long.mapping)
        assert short.guarantee == long.guarantee == KmAnonymity(**numbers)
        assert short.parameters.items() >= {"algorithm": name, "k": 3, "m": long.guarantee.m}.items()
        assert {key: str(value) for key, value in short.parameters.items()} == {
            key: str(value) for key, value in long.parameters.items()
        }


@pytest.mark.parametrize("name", TAKING)
def test_a_guarantee_is_given_once(name):
    run, own = getattr(FRAME.txanon, name), NEEDED.get(name, {})
    for numbers in ({"k": 3}, {"m": 2}, {"k": 3, "m": 2}):
        with pytest.raises(ParameterError, match=r"given twice\n(.|\n)*hint:  pass k and m(.|\n)*guarantee="):
            run(guarantee=KmAnonymity(3), **numbers, **own)
    with pytest.raises(ParameterError, match=r"no guarantee is given\n(.|\n)*such as k=5, m=2"):
        run(**own)
    with pytest.raises(ParameterError, match="k must be an integer"):
        run(m=2, **own)


@pytest.mark.parametrize("name", TAKING)
def test_other_guarantees_are_refused(name):
    run, own = getattr(FRAME.txanon, name), NEEDED.get(name, {})
    others = [pdanon.TransactionalK(k=2), pdanon.RhoUncertainty(rho=0.5, sensitive=[SECRET])]
    others += [PrivacyConstraints(constraints=[[SECRET]], k=2)] if name == "apriori" else []
    for other in others:
        with pytest.raises(ParameterError, match=f"{name} does not have this guarantee") as caught:
            run(guarantee=other, **own)
        message = str(caught.value)
        assert "where: guarantee" in message
        assert f"got:   {type(other).__name__}" in message
        assert all(each.__name__ in message for each in ALGORITHMS[name].guarantees)
        assert SECRET not in message
    with pytest.raises(ParameterError, match=r"the list column\n(.|\n)*hint:  pass it by name: guarantee="):
        run(KmAnonymity(3), **own)
    for no_guarantee in (KmAnonymity, 5, "items"):
        with pytest.raises(ParameterError, match="not a guarantee"):
            run(guarantee=no_guarantee, **own)
    with pytest.raises(ParameterError, match="k must be an integer"):
        run(guarantee=LmDiversity(l=2, m=1, sensitive=["s"]), **own)


@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize(
    ("old", "hint"),
    [
        ({"constraints": [[SECRET]]}, "guarantee=pdanon.PrivacyConstraints(constraints="),
        ({"sensitive": [SECRET]}, "guarantee=pdanon.LmDiversity(l=2, m=2, k=5, sensitive="),
        ({"l": 2}, "guarantee=pdanon.LmDiversity(l=2, m=2, k=5, sensitive="),
    ],
)
def test_old_spellings_are_answered(name, old, hint, tmp_path):
    asked = {"k": 2, **NEEDED.get(name, {}), **old}
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    for call in (
        lambda: getattr(pdanon, name)(FRAME, **asked),
        lambda: getattr(pdanon.stream, name)(tmp_path / "in.parquet", tmp_path / "out", **asked),
        lambda: pdanon.compare(FRAME, {name: asked}),
        lambda: pdanon.compare(FRAME, {name: NEEDED.get(name, {})}, k=2, vary={next(iter(old)): [1]}),
    ):
        with pytest.raises(ParameterError) as caught:
            call()
        assert hint in str(caught.value)
        assert SECRET not in str(caught.value)


def test_the_mapping_of_a_guarantee_is_that_of_another_release():
    first = FRAME.txanon.pcta(guarantee=LmDiversity(l=3, m=1, k=2, sensitive=["s"]))
    again = FRAME.txanon.pcta(guarantee=first.guarantee)
    pd.testing.assert_frame_equal(first.mapping, again.mapping)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", TAKING)
@pytest.mark.parametrize("kind", GUARANTEES)
def test_frames_files_partitions_policies_and_commands_decide_alike(name, kind, tmp_path, run, monkeypatch):
    guarantee, texts = GUARANTEES[kind]
    own = NEEDED.get(name, {})
    if not isinstance(guarantee, ALGORITHMS[name].guarantees):
        return
    monkeypatch.chdir(tmp_path)
    expected = getattr(FRAME.txanon, name)(guarantee=guarantee, **own)
    assert repr(expected.guarantee) == repr(guarantee)
    pdanon.to_parquet(FRAME, "in.parquet")
    released = getattr(pdanon.stream, name)("in.parquet", "out.parquet", guarantee=guarantee, **own)
    assert repr(released.guarantee) == repr(guarantee)
    pd.testing.assert_frame_equal(pdanon.read_parquet("out.parquet"), expected.frame)

    lines = "\n".join(f"{key} = {value}" for key, value in texts.items())
    tree = "[hierarchies]\nitems = 2\n" if own else ""
    (tmp_path / "policy.toml").write_text(
        f'input = "in.parquet"\nalgorithm = "{name}"\n[parameters]\n{lines}\n'
        f'[columns]\nitems = "items"\n{tree}'
    )
    by_policy = pdanon.Policy.from_toml("policy.toml").run()
    assert by_policy.frame.equals(expected.frame)
    assert repr(by_policy.guarantee) == repr(guarantee)
    assert by_policy.parameters.keys() == expected.parameters.keys()

    pdanon.to_parquet(frame_of(LISTED), "listed.parquet")
    options = ["--algorithm", name, "-k", str(guarantee.k)]
    options += ["-m", str(guarantee.m)] if hasattr(guarantee, "m") else ["--constraints", "listed.parquet"]
    options += ["-l", "3", "--sensitive", "s"] if kind == "lm" else []
    options += ["--hierarchy", "2"] if own else []
    for stream in ([], ["--stream"]):
        code, _, err = run("anonymize", "in.parquet", f"by{len(stream)}.parquet", *options, *stream)
        assert (code, err) == (0, "")
        assert pdanon.read_parquet(f"by{len(stream)}.parquet").equals(expected.frame)

    lines = FRAME.assign(person=range(len(FRAME))).explode("items")
    of_persons = getattr(lines.txanon.by("person", item="items"), name)(guarantee=guarantee, **own)
    pd.testing.assert_frame_equal(of_persons.mapping, expected.mapping)

    frames = pytest.importorskip("dask.dataframe")
    pytest.importorskip("pdanon.dask")
    lazy = getattr(frames.from_pandas(FRAME, npartitions=2).txanon, name)(guarantee=guarantee, **own)
    assert lazy.frame.compute()["items"].tolist() == expected.frame["items"].tolist()


@pytest.mark.parametrize("name", TAKING)
def test_texts_that_describe_no_guarantee_are_refused(name, tmp_path, run, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(FRAME, "in.parquet")
    for part, told in ((["-l", "2"], "-l and --sensitive"), (["--sensitive", "s"], "--sensitive and -l")):
        options = [
            "--algorithm",
            name,
            "-k",
            "2",
            *part,
            *(["--hierarchy", "2"] if name == "apriori" else []),
        ]
        code, _, err = run("anonymize", "in.parquet", "out.parquet", *options)
        assert (code, f"{told} go together" in err) == (2, True)
    for part, told in (("l = 2", "l and sensitive"), ('sensitive = ["s"]', "sensitive and l")):
        (tmp_path / "policy.toml").write_text(
            f'input = "in.parquet"\nalgorithm = "{name}"\n[parameters]\nk = 2\n{part}\n'
            '[columns]\nitems = "items"\n[hierarchies]\nitems = 2\n'
        )
        with pytest.raises(ParameterError, match=f"{told} go together"):
            pdanon.Policy.from_toml("policy.toml").run()


def test_guarantees_are_compared(tmp_path):
    diverse = [LmDiversity(l=l, m=1, k=2, sensitive=["s"]) for l in (2, 3)]  # noqa: E741
    table = pdanon.compare(FRAME, {"pcta": {}, "coat": {}}, vary={"guarantee": diverse})
    assert table["guarantee"].tolist() == [*map(repr, diverse)] * 2
    assert table["holds"].all()
    assert "k" not in table
    with pytest.raises(ParameterError, match="given twice"):
        pdanon.compare(FRAME, {"pcta": {"guarantee": diverse[0]}}, k=2)
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    (tmp_path / "policy.toml").write_text(
        'input = "in.parquet"\n[compare.algorithms.pcta]\nm = 1\nsensitive = ["s"]\nk = 2\n'
        "[compare.vary]\nl = [2, 3]\n"
    )
    by_policy = pdanon.Policy.from_toml(tmp_path / "policy.toml").compare()
    assert by_policy["l"].tolist() == [2, 3]
    assert by_policy["NCP"].tolist() == table["NCP"].tolist()[:2]


def test_tradeoff_varies_k_and_m_of_a_guarantee():
    diverse = LmDiversity(l=2, m=5, k=9, sensitive=["s"])
    table = FRAME.txanon.tradeoff(k=[2, 3], m=[1], algorithm="pcta", guarantee=diverse)
    own = [LmDiversity(l=2, m=1, k=k, sensitive=["s"]) for k in (2, 3)]
    assert table["NCP"].tolist() == [FRAME.txanon.pcta(guarantee=each).loss["NCP"] for each in own]
    tried = FRAME.txanon.tradeoff(k=[2], m=[1], guarantee=diverse, hierarchy=2)
    assert tried["reason"].isna().all()
    for other in (PrivacyConstraints(constraints=LISTED, k=2), pdanon.TransactionalK(k=2)):
        with pytest.raises(ParameterError, match="the guarantee has no k or no m"):
            FRAME.txanon.tradeoff(k=[2], m=[1], algorithm="pcta", guarantee=other)


def test_a_sample_chooses_for_a_guarantee(tmp_path):
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    listed = PrivacyConstraints(constraints=LISTED, k=3)
    asked = {"tell": {"guarantee": listed}, "describe": {"k": 3, "constraints": LISTED}}
    for name, request in asked.items():
        result = pdanon.stream.anonymize(tmp_path / "in.parquet", tmp_path / name, **request)
        assert repr(result.guarantee) == repr(listed)
    assert pdanon.read_parquet(tmp_path / "tell").equals(pdanon.read_parquet(tmp_path / "describe"))
    for request in ({"guarantee": listed, "k": 3}, {"guarantee": listed, "rho": 0.5}):
        with pytest.raises(ParameterError, match="given twice"):
            pdanon.stream.anonymize(tmp_path / "in.parquet", tmp_path / "out", **request)
    with pytest.raises(ParameterError, match="not a guarantee"):
        pdanon.stream.anonymize(tmp_path / "in.parquet", tmp_path / "out", guarantee=KmAnonymity)
