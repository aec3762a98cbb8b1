"""A release in which next to nothing is left says so, wherever it is made, and no other one does."""

from __future__ import annotations

import warnings
from dataclasses import replace
from string import ascii_lowercase

import numpy as np
import pandas as pd
import pdanon.datasets
import pytest
from conftest import promised
from hypothesis import given, settings, strategies as st
from naive import losses as naive

import pdanon
import pdanon.stream
from examples import examples
from pdanon import KmAnonymity, UselessWarning
from pdanon.recoding.warnings import columns_left, items_left, unanswered

FLAT = {"*": ["a", "b", "c", "d"]}
RARE = pd.DataFrame({"items": [["a"], ["b"]] * 15 + [["c"], ["d"]]})  # c and d are rare, and all become *


def mapping_of(entries):
    return pd.DataFrame(entries, columns=["group", "item", "generalized", "support"])


@st.composite
def mappings(draw):
    """Mappings of a few groups, in which a few labels are very common."""
    labels = [None, "one", "two", *"abc"]
    entries = []
    for group in range(draw(st.integers(1, 3))):
        for item in draw(st.sets(st.sampled_from(ascii_lowercase[: draw(st.integers(1, 26))]))):
            label = draw(st.sampled_from([*labels, item, "one", "one", "one"]))
            label = item if label in ("a", "b", "c") else label
            entries.append((group, item, label, draw(st.sampled_from([1, 1, 5, 19, 20, 90, 95]))))
    return entries


@settings(max_examples=examples(200))
@given(mappings())
def test_nothing_left_by_its_definition(entries):
    said = items_left(mapping_of(entries), {}, 20)
    assert bool(said) == naive.nothing_left(entries)
    assert not items_left(mapping_of(entries), {}, 19)


@pytest.mark.parametrize(("kept", "useless"), [(5, True), (6, False)])
def test_the_bound_is_exact(kept, useless):
    entries = [(0, "a", "(a,b)", 94), (0, "b", "(a,b)", 1), (0, "c", "c", kept)]
    assert bool(items_left(mapping_of(entries), {}, 100)) is useless
    entries = [(0, "a", None, 95), (0, "b", "b", kept)]
    assert bool(items_left(mapping_of(entries), {}, 100)) is useless


def test_a_single_item_that_is_kept_is_no_label():
    assert not items_left(mapping_of([(0, "a", "a", 100)]), {}, 100)
    assert not items_left(mapping_of([]), {}, 100)


@pytest.mark.parametrize(
    ("kept", "pairs", "singles", "useless"),
    [
        (5, 0.95, 0.5, True),
        (6, 0.95, 0.5, False),
        (5, 0.949999, 0.5, False),
        (5, 0.95, 0.0, True),
        (5, 2.5, 1.2, True),
    ],
)
def test_a_release_in_which_nothing_can_be_counted(kept, pairs, singles, useless):
    """Each label stands for two of twenty items and a tenth of the occurrences: none is a broad one."""
    entries = [(0, item, f"set {place // 2}", 5) for place, item in enumerate(ascii_lowercase[:19])]
    entries.append((0, "z", "z", kept))
    said = items_left(mapping_of(entries), {"pairs": pairs, "singles": singles}, 100)
    assert said.startswith("95 % of the occurrences of items are changed" if useless else "")
    assert bool(said) is useless
    assert bool(items_left(mapping_of(entries), {"pairs": pairs, "singles": singles}, 19)) is False


@pytest.mark.parametrize(("ncp", "useless"), [(0.5, True), (0.499999, False)])
def test_nodes_of_a_hierarchy_can_be_counted_unless_they_are_broad(ncp, useless):
    entries = [(0, item, f"node {place // 2}", 5) for place, item in enumerate(ascii_lowercase[:20])]
    errors = {"pairs": 1.2, "singles": 0.9, "NCP": ncp}
    assert bool(items_left(mapping_of(entries), {**errors, "LM": ncp}, 100)) is useless
    assert items_left(mapping_of(entries), errors, 100)  # of sets


SENSITIVE = {
    "LmDiversity": pdanon.LmDiversity(l=2, m=1, sensitive=["s"]),
    "KLm": pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["s"]),
    "RhoUncertainty": pdanon.RhoUncertainty(rho=0.5, sensitive=["s"]),
    "SensitiveGroups": pdanon.SensitiveGroups(p=2, sensitive=["s"]),
    "PSRules": pdanon.PSRules(rules=[(["a"], ["s"])], k=2, c=0.5),
    "Coherence": pdanon.Coherence(h=0.5, k=2, p=1, private=["s"]),
    "PublicK": pdanon.PublicK(k=2, public=["a", "b", "c"]),
}


@pytest.mark.parametrize("name", SENSITIVE)
def test_sensitive_items_that_are_kept_do_not_hide_that_nothing_else_is_left(name):
    entries = [(0, "a", "*", 10), (0, "b", "*", 10), (0, "c", "c", 1), (0, "s", "s", 500)]
    assert not items_left(mapping_of(entries), {}, 100)
    said = items_left(mapping_of(entries), {}, 100, SENSITIVE[name])
    assert said == "95.2 % of the occurrences of public items became one label, which stands for 2 of 3 items"
    assert not items_left(mapping_of([(0, "s", "s", 500)]), {}, 100, SENSITIVE[name])


def test_a_private_column_has_no_lines_in_the_mapping():
    entries = [(0, "a", "a", 10), (0, "s", "s", 500)]
    assert not items_left(mapping_of(entries), {}, 100, pdanon.Coherence(h=0.5, k=2, p=1, private="secrets"))


def test_columns_are_judged_one_by_one():
    entries = [(0, "a", "(a,b)", 9), (0, "b", "(a,b)", 9), (0, "x", "x", 500), (0, "y", "y", 500)]
    mapping = mapping_of(entries).assign(column=["drugs", "drugs", "codes", "codes"])
    said = items_left(mapping, {}, 100)
    assert said.startswith("100 % of the occurrences of items in drugs became one label")


def test_columns_that_were_emptied_are_named():
    before = pd.DataFrame({"age": range(20), "same": [1] * 19 + [2], "place": ["x", "y"] * 10})
    after = pd.DataFrame({"age": ["*"] * 19 + ["[1, 2]"], "same": ["*"] * 20, "place": ["x", "y"] * 10})
    assert columns_left(before, after, [0, 1, 2]) == "Almost all rows have the same value in age"
    assert columns_left(before[:19], after[:19], [0, 1, 2]) == ""


@pytest.mark.usefixtures("tables_only")
def test_a_release_of_one_label_warns_and_says_so_everywhere(tmp_path):
    with pytest.warns(UselessWarning, match="100 % .* became one label, which stands for 4 of 4") as caught:
        result = RARE.txanon.apriori(k=3, m=1, hierarchy=FLAT)
    assert caught[0].filename == __file__
    assert "hint:  try pdanon.anonymize" in str(caught[0].message)
    assert caught[0].message.what == result.useless
    assert f"  verdict    do not publish this: {result.useless}" in repr(result)
    assert result.useless in result._repr_html_()
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f'<p class="alert warned">{result.useless}.</p>' in page
    assert "The release has its guarantee, but keeps almost no information." in page


def test_a_release_with_something_left_does_not_warn():
    assert RARE.txanon.pcta(k=2, m=1).useless == ""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RARE[:10].txanon.apriori(k=3, m=2, hierarchy=FLAT)


def many_rare_items():
    """People who each know few of very many items, as of films: sets of about forty are all that is safe."""
    rng, chances = np.random.default_rng(0), 1 / np.arange(1, 1001) ** 0.9
    chances /= chances.sum()
    rows = [rng.choice(1000, size=20, replace=False, p=chances) for _ in range(100)]
    return pd.DataFrame({"items": [[f"film {item}" for item in row] for row in rows]})


def test_a_release_in_which_nothing_can_be_counted_warns_in_streams_and_on_dask_too(tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    import pdanon.dask

    said = "^100 % of the occurrences of items are changed, and counts are off by"
    with pytest.warns(UselessWarning, match=said):
        result = many_rare_items().txanon.pcta(k=5, m=2)
    assert result.loss["stands_for"] < 50  # no label stands for nearly all items
    pdanon.to_parquet(many_rare_items(), tmp_path / "rows.parquet")
    frame = pdanon.read_parquet(tmp_path / "rows.parquet")
    asked = {"k": 5, "m": 2}
    with pytest.warns(UselessWarning, match=said):
        pdanon.stream.pcta(tmp_path / "rows.parquet", tmp_path / "released.parquet", **asked)
    with pytest.warns(UselessWarning, match=said):
        dd.from_pandas(frame, npartitions=2).txanon.pcta(**asked)


def test_diverse_releases_warn_of_the_items_that_are_not_sensitive():
    """A third of the occurrences are sensitive and kept; all others are the root, as c and d are rare."""
    rows = [["a", "s"], ["b", "t"], ["a"], ["b"]] * 15 + [["c"], ["d"]]
    frame = pd.DataFrame({"age": [20, 20, 60, 60] * 15 + [20, 60], "items": rows})
    asked = {"hierarchy": FLAT, "sensitive": ["s", "t"], "l": 2}
    said = "^100 % of the occurrences of public items became one label, which stands for 4 of 4"
    with pytest.warns(UselessWarning, match=said):
        frame[["items"]].txanon.apriori(**promised(k=3, m=1, **asked))
    hidden = pdanon.Transaction("apriori", **asked)
    with pytest.warns(UselessWarning, match=said):
        pdanon.rum_bound(frame, k=3, m=1, quasi=["age"], delta=1, transaction=hidden, random_state=0)


def test_the_command_line_says_it(tmp_path, run):
    pdanon.to_parquet(RARE, tmp_path / "rare.parquet")
    (tmp_path / "tree.csv").write_text("a;*\nb;*\nc;*\nd;*\n")
    asked = ("anonymize", tmp_path / "rare.parquet", tmp_path / "out.parquet", "--algorithm", "apriori")
    code, out, err = run(*map(str, asked), "-k", "3", "-m", "1", "--hierarchy", str(tmp_path / "tree.csv"))
    assert code == 0
    assert "pdanon: warning: 100 % of the occurrences of items became one label" in err
    assert "hint:  name no algorithm" in err
    assert "UselessWarning" not in err
    assert "  verdict    do not publish this: 100 %" in out


def test_quasi_identifiers_that_are_emptied_warn():
    frame = pd.DataFrame({"age": range(40), "items": [["a"]] * 40})
    with pytest.warns(UselessWarning, match="^Almost all rows have the same value in age"):
        result = pdanon.keep(frame, "items").mondrian(k=40, quasi=["age"])
    assert result.useless == "Almost all rows have the same value in age"
    assert pdanon.keep(frame, "items").mondrian(k=20, quasi=["age"]).useless == ""
    with pytest.warns(UselessWarning, match="^Almost all rows have the same value in age"):
        pdanon.rfirst(frame, k=40, m=1, quasi=["age"], random_state=0)


def test_classes_of_which_nothing_is_left_warn():
    rare = [["a"]] * 9 + [["b"]] + [["c"]] * 9 + [["d"]]
    frame = pd.DataFrame({"age": [20] * 20 + [60] * 20, "items": [*rare, *[["a"], ["b"]] * 10]})
    hidden = pdanon.Transaction("apriori", hierarchy=FLAT)
    with pytest.warns(UselessWarning, match="^In 1 of 2 groups of rows, with 50 % of"):
        pdanon.rfirst(frame, k=10, m=1, quasi=["age"], transaction=hidden, random_state=0)


def test_the_choice_prefers_what_has_something_left(stand_in):
    """Whatever it loses."""
    frame = pdanon.datasets.make_baskets(300, 20, random_state=0)[["items"]]
    useless = replace(frame.txanon.pcta(k=2, m=1), useless="next to nothing")
    assert useless.loss["NCP"] == 0
    stand_in("pcta", lambda frame, column=None, *, k, m: useless)
    result = frame.txanon.anonymize(KmAnonymity(k=5, m=2))
    assert result.useless == ""
    assert result.loss["NCP"] > 0
    assert result.tried["reason"][0] == "next to nothing"


def test_the_choice_warns_once_if_there_is_nothing_else():
    with pytest.warns(UselessWarning, match="became one label") as caught:
        result = RARE.txanon.anonymize(KmAnonymity(k=20, m=2))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert result.useless


@pytest.mark.slow
def test_nothing_is_left_of_the_diagnoses_below_a_hierarchy(data):
    """One rare chapter in a class forces the root on it."""
    frame = pdanon.read_parquet(data / "rt_diabetes130_patients_icd9.parquet")
    tree = data / "hierarchies" / "diabetes130_icd9_hierarchy.csv"
    kept = frame.txanon.keep("patient_nbr", "payer_code", "n_encounters")
    asked = {"quasi": ["race", "gender", "age"]}
    hidden = pdanon.Transaction("apriori", hierarchy=tree)
    with pytest.warns(UselessWarning, match="^100 % of the occurrences of items became one label"):
        kept.rum_bound(k=10, m=2, delta=0.4, transaction=hidden, **asked)
    assert kept.rum_bound(k=10, m=2, delta=0.4, **asked).useless == ""


# --- Releases whose counts answer no question


@pytest.mark.parametrize(
    ("loss", "quasi", "answers"),
    [
        ({"singles": 0.67, "pairs": 0.67}, False, False),
        ({"singles": 2 / 3, "pairs": 1.0}, False, True),
        ({"singles": 1.2, "pairs": 0.66}, False, True),
        ({"singles": 0.9, "pairs": 0.9, "values": 0.1}, True, True),
        ({"singles": 0.9, "pairs": 0.9, "values": 0.9}, True, False),
        ({"singles": 0.9, "pairs": 0.9}, True, True),  # the combinations are not measured
        ({"NCP_relational": 0.9}, True, True),
    ],
)
def test_counts_answer_nothing_if_all_are_off_by_more_than_two_thirds(loss, quasi, answers):
    guarantee = pdanon.KKm(k=5, m=2, quasi=["age"]) if quasi else KmAnonymity(k=5, m=2)
    assert bool(unanswered(loss, guarantee, 20)) is not answers
    assert unanswered(loss, guarantee, 19) == ""


@pytest.fixture(scope="module")
def unusable():
    """A table, and a release of it that answers no question."""
    frame = pdanon.datasets.make_baskets(400, 200, random_state=0)[["items"]].assign(age=range(400))
    frame["age"] %= 60
    with warnings.catch_warnings(action="ignore"):
        return frame, frame.txanon.keep("age").pcta(k=5, m=3)


def test_a_release_that_answers_nothing_says_so_first(unusable, tmp_path):
    frame, result = unusable
    assert result.useless == ""
    assert result.do_not_publish.startswith("No count answers a question: they are off by ")
    assert repr(result).splitlines()[1] == f"  verdict    do not publish this: {result.do_not_publish}"
    assert "no count of it answers a question" in result._repr_html_()
    with pytest.warns(UselessWarning, match="^No count answers"):
        frame.txanon.keep("age").pcta(k=5, m=3)
    result.evidence(tmp_path / "evidence.json")
    assert result.do_not_publish in (tmp_path / "evidence.json").read_text()


@pytest.mark.slow
def test_alternatives_are_what_their_calls_release(unusable):
    frame, result = unusable
    table = pdanon.alternatives(frame, result)
    assert table["change"].tolist() == ["as it is", "another algorithm", "m=2", "deletions"]
    assert not table["answers"][0]
    assert table["pairs"][0] == result.loss["pairs"]
    for line in table.iloc[1:].itertuples():
        again = eval(line.call, {"frame": frame})
        assert again.unmodified.judged == ("age",)
        assert [line.singles, line.pairs] == [again.loss["singles"], again.loss["pairs"]]
        assert line.answers is not bool(again.do_not_publish)


@pytest.mark.slow
def test_alternatives_of_quasi_identifiers_drop_or_coarsen_them():
    frame = pdanon.datasets.make_baskets(200, 20, random_state=0)[["items"]]
    frame = frame.assign(age=[20 + n % 53 for n in range(200)], sex=["f", "m"] * 100)
    frame["day"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(200) * 9, unit="D")
    tree = {"age": 2, "sex": pdanon.Hierarchy.of(2, ["f", "m"])}
    result = frame.txanon.anonymize(k=5, m=1, quasi={**dict.fromkeys(["age", "sex", "day"]), **tree})
    table = frame.txanon.alternatives(result, time_limit=200)
    coarser = "coarser: 'day' in period year"
    without = [f"without {name!r}" for name in ("age", "sex", "day")]
    alone = ["items alone, without other columns", "deletions, without other columns"]
    assert table["change"].tolist() == ["as it is", *without, coarser, *alone]
    for line in table.iloc[[1, 4]].itertuples():
        again = eval(line.call, {"frame": frame, "result": result})
        assert [line.pairs, line.values] == [again.loss["pairs"], again.loss["values"]]


def test_alternatives_need_a_release_of_one_list():
    frame = pd.DataFrame({"age": range(40), "items": [["a"]] * 40})
    with pytest.raises(pdanon.ParameterError, match=r"alternatives are known for(.|\n)*compare"):
        pdanon.alternatives(frame, pdanon.keep(frame, "items").mondrian(k=5, quasi=["age"]))
    with pytest.raises(pdanon.ParameterError, match="result must be"):
        pdanon.alternatives(frame, frame)
    with pytest.raises(pdanon.ParameterError, match="time_limit"):
        pdanon.alternatives(frame, frame.txanon.keep("age").pcta(k=5, m=1), time_limit=0)


@pytest.mark.slow
def test_a_strict_command_fails_and_names_alternatives(unusable, tmp_path, run):
    pdanon.to_parquet(unusable[0][["items"]], tmp_path / "in.parquet")
    asked = ["anonymize", "in.parquet", "out.parquet", "--algorithm", "pcta", "-k", "5", "-m", "3"]
    asked[1:3] = [str(tmp_path / name) for name in asked[1:3]]
    code, out, _ = run(*asked)
    assert code == 0
    assert out.splitlines()[1].startswith("  verdict    do not publish this: No count answers")
    assert "-> frame.txanon.anonymize(k=5, m=2)" in out
    assert run(*asked, "--overwrite", "--strict")[0] == 1
    assert run(*asked[:-4], "-k", "2", "-m", "1", "--overwrite", "--strict")[0] == 0
