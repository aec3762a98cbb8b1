"""Comparisons: each row is what the algorithm gives when it is called alone; failures and repetitions too."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, frame_of, rows_of
from frames import FRAMES
from naive import itemsets as naive

import pdanon
from pdanon.errors import ColumnError, FormatError, ParameterError
from pdanon.evaluation.fingerprint import content_hash
from pdanon.io.parquet import read_parquet, to_parquet

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [{RICE, TEA}, {RICE, SALT}, {RICE, TEA}, {TEA}, {RICE, SALT, TEA}, {RICE}]
FRAME = frame_of(ROWS)
FIGURES = ["NCP", "UL", "suppressed"]


def without_costs(table):
    return table.drop(columns=["seconds", "memory"])


def labels(frame, result):
    """A measure that other processes can import: number of labels that are published."""
    return len(frozenset().union(*rows_of(result.frame)))


def vanish(frame, result):
    """A measure that takes its process down, as lack of memory does."""
    os._exit(9)


class Half:
    """A workload of which half is always wrong."""

    def are(self, frame, result):
        assert len(frame) == len(result.frame)
        return 0.5


# --- Rows


@pytest.mark.parametrize("m", [2, None])
def test_k_and_m_are_those_of_every_configuration(m):
    given = {"pcta": {}, "apriori": {"hierarchy": 2}}
    expected = pdanon.compare(FRAME, {name: {**each, "k": 2, "m": m} for name, each in given.items()})
    columns = ["algorithm", "k", "m", *FIGURES]
    table = FRAME.txanon.compare(given, k=2, m=m)
    assert table["m"].tolist() == 2 * ["None" if m is None else m]
    pd.testing.assert_frame_equal(table[columns], expected[columns])
    varied = pdanon.compare(FRAME, given, k=2, vary={"m": [m]})
    pd.testing.assert_frame_equal(without_costs(varied)[columns], table[columns])
    default = pdanon.compare(FRAME, given, k=2)
    assert "m" not in default
    if m == 2:
        pd.testing.assert_frame_equal(default[FIGURES], table[FIGURES])


def test_rows_are_what_the_algorithms_give():
    asked = {"pcta": {"m": 2}, "fan-out 2": {"algorithm": "apriori", "m": 1, "hierarchy": 2}}
    table = pdanon.compare(FRAME, asked, vary={"k": [2, 3]}, measures={"labels": labels})
    assert table[["algorithm", "label", "m", "k"]].to_numpy().tolist() == [
        ["pcta", "pcta", 2, 2],
        ["pcta", "pcta", 2, 3],
        ["apriori", "fan-out 2", 1, 2],
        ["apriori", "fan-out 2", 1, 3],
    ]
    results = [pdanon.pcta(FRAME, k=k, m=2) for k in (2, 3)]
    results += [pdanon.apriori(FRAME, k=k, m=1, hierarchy=2) for k in (2, 3)]
    for row, result in zip(table.to_dict("records"), results, strict=True):
        for name in FIGURES:
            assert row[name] == result.loss[name]
        assert row["labels"] == labels(FRAME, result)
        assert row["seconds"] > 0
        assert row["holds"] is True
        assert pd.isna(row["reason"])
    assert table["LM"].isna().tolist() == [True, True, False, False]
    assert list(table) == [
        *("algorithm", "label", "m", "k", "hierarchy", "seconds", "memory"),
        *("occurrences", "stands_for", "singles", "pairs", "suppressed", "NCP", "LM", "UL"),
        *("labels", "holds", "reason"),
    ]


def test_rows_are_sorted_by_a_loss():
    asked = {"pcta": {"m": 2}, "apriori": {"m": 1, "hierarchy": 2}}
    table = pdanon.compare(FRAME, asked, vary={"k": [100, 3, 2]})
    ranked = pdanon.compare(FRAME, asked, vary={"k": [100, 3, 2]}, loss="pairs")
    assert ranked["pairs"].dropna().is_monotonic_increasing
    assert ranked["pairs"].isna().tolist() == [False] * 4 + [True] * 2
    assert sorted(ranked["pairs"].dropna()) == sorted(table["pairs"].dropna())
    with pytest.raises(pdanon.ParameterError, match="did you mean 'pairs'"):
        pdanon.compare(FRAME, asked, vary={"k": [2]}, loss="pair")


def test_a_release_in_which_nothing_is_left_is_told():
    frame = pd.DataFrame({"items": [["a"], ["b"]] * 10})
    table = pdanon.compare(frame, {"pcta": {"k": 15}})
    assert table.loc[0, "reason"].startswith("100 % of the occurrences of items became one label")


def test_combinations_vary_the_last_parameter_fastest():
    table = pdanon.compare(FRAME, {"pcta": {}}, vary={"k": [2, 3], "m": [1, None]})
    assert table[["k", "m"]].to_numpy().tolist() == [[2, "1"], [2, "None"], [3, "1"], [3, "None"]]
    assert pdanon.compare(FRAME, {"pcta": {"k": 2}})["k"].tolist() == [2]


def test_verdict_is_that_of_the_released_frame(stand_in):
    def liar(frame, column=None, *, k):
        from dataclasses import replace

        return replace(pdanon.pcta(frame, k=k), frame=frame)

    stand_in("liar", liar)
    table = pdanon.compare(FRAME, {"liar": {}, "pcta": {}}, vary={"k": [3]})
    assert table["holds"].tolist() == [not naive.km_threats(rows_of(FRAME), 3, 2), True] == [False, True]


def test_losses_may_be_chosen_and_queries_measured():
    table = pdanon.compare(FRAME, {"pcta": {"k": 2}}, measures=["UL", "LM"], workload=Half())
    assert list(table)[3:] == ["seconds", "memory", "UL", "LM", "ARE", "holds", "reason"]
    assert table["ARE"].tolist() == [0.5]


def test_relational_algorithms_and_workloads():
    frame = FRAME.assign(age=range(20, 26))
    workload = pdanon.Workload.from_frame(pd.DataFrame({"items": [[RICE], [SALT, TEA]]}))
    asked = {"pcta": {}, "mondrian": {"quasi": ["age"]}}
    table = pdanon.compare(frame, asked, vary={"k": [2]}, workload=workload, column="items")
    merged, mondrian = pdanon.pcta(frame, k=2), pdanon.mondrian(frame, k=2, quasi=["age"])
    assert table["reason"].isna().all()
    assert table["ARE"].tolist() == [workload.are(frame, result).are for result in (merged, mondrian)]
    assert table["ARE"].tolist()[1] == 0
    assert table["NCP_relational"].tolist()[1] == mondrian.loss["NCP_relational"]
    assert table["holds"].tolist() == [True, True]


ROOMY = """
from dataclasses import replace

import numpy as np
import pandas as pd

import pdanon
from pdanon.algorithms.registry import ALGORITHMS


def roomy(frame, column=None, *, k, megabytes):
    np.ones(megabytes * 2**17).sum()
    return pdanon.pcta(frame, column, k=k)


ALGORITHMS["roomy"] = replace(ALGORITHMS["pcta"], function=roomy)
frame = pd.DataFrame({"items": [["a", "b"]] * 3})
pdanon.compare(frame, {"pcta": {"k": 2}})  # loads what is loaded once
print(*pdanon.compare(frame, {"roomy": {"k": 2}}, vary={"megabytes": [200, 1]})["memory"])
"""


@pytest.mark.slow
def test_memory_is_that_of_each_configuration():
    # In a process of its own: one that frees memory of earlier tests meanwhile seems to need less.
    child = subprocess.run(
        [sys.executable, "-c", ROOMY], capture_output=True, text=True, check=True, timeout=600
    )
    if "<NA>" in child.stdout:
        pytest.skip("this system does not tell")
    roomy, small = map(int, child.stdout.split())
    assert 200e6 < roomy < 300e6
    assert small < 100e6


def test_memory_that_cannot_be_told_is_missing(monkeypatch):
    monkeypatch.setattr(Path, "write_text", lambda *_: (_ for _ in ()).throw(PermissionError()))
    assert pdanon.compare(FRAME, {"pcta": {"k": 2}})["memory"].isna().all()


def test_nothing_is_modified():
    before = FRAME.copy(deep=True)
    asked = {"pcta": {"k": 2}}
    pdanon.compare(FRAME, asked, vary={"m": iter([1, 2])})
    pd.testing.assert_frame_equal(FRAME, before)
    assert asked == {"pcta": {"k": 2}}


# --- No item is shown


def test_parameters_that_may_hold_items_are_shown_by_type_or_name():
    tree = {"food": [RICE, SALT], "drink": [TEA]}
    asked = {
        "apriori": {"hierarchy": tree, "guarantee": pdanon.LmDiversity(l=2, m=2, k=2, sensitive=[SALT])},
        "text": {"algorithm": "apriori", "hierarchy": "tree.csv", "k": 2},
        "pcta": {
            "guarantee": pdanon.PrivacyConstraints(constraints=iter([[SALT]]), k=2),
            "weights": {RICE: 0.5},
        },
    }
    table = pdanon.compare(FRAME, asked)
    assert table["hierarchy"].tolist()[:2] == ["dict", "str"]
    assert table["guarantee"].tolist()[::2] == [
        "LmDiversity(l=2, m=2, sensitive=1 items, k=2)",
        "PrivacyConstraints(constraints=1, k=2)",
    ]
    assert table["weights"][2] == "dict"
    assert table["holds"].tolist()[2] is True
    assert SECRET not in table.to_csv()
    named = pdanon.compare(FRAME, {"apriori": {"k": 2}}, vary={"hierarchy": {"flat": 9, "deep": tree}})
    assert named["hierarchy"].tolist() == ["flat", "deep"]


@pytest.mark.parametrize("values", [[[SALT], [TEA]], [SALT, TEA]])
def test_varied_values_that_could_not_be_told_apart_need_names(values):
    with pytest.raises(ParameterError, match="a table cannot distinguish") as caught:
        pdanon.compare(FRAME, {"coat": {"k": 2}}, vary={"utility": values})
    assert SECRET not in str(caught.value)


def test_failures_are_rows_with_reasons(stand_in):
    def foreign(frame, column=None, *, k):
        raise KeyError(SALT)

    stand_in("foreign", foreign)
    asked = {"foreign": {}, "pcta": {}, "apriori": {"hierarchy": {"food": [RICE]}}}
    table = pdanon.compare(FRAME, asked, vary={"k": [2, 100]})
    assert table["reason"].fillna("").str.split(";").str[0].tolist() == [
        *["KeyError"] * 2,
        *("", "k is larger than the number of rows that hold an item"),
        *("the hierarchy does not cover the items", "k is larger than the number of rows that hold an item"),
    ]
    assert table["holds"].isna().tolist() == table["NCP"].isna().tolist() == [True, True, False, *[True] * 3]
    assert table["seconds"].notna().all()
    assert SECRET not in table.to_csv()


def test_what_was_measured_before_a_failure_is_kept():
    def broken(frame, result):
        raise ValueError(SALT)

    table = pdanon.compare(FRAME, {"pcta": {"k": 2}}, measures={"broken": broken})
    assert table.loc[0, ["NCP", "reason"]].tolist() == [pdanon.pcta(FRAME, k=2).loss["NCP"], "ValueError"]
    assert np.isnan(table.loc[0, "broken"])


# --- Refused

REFUSED = {
    "algorithm": ({"pctaa": {"k": 2}}, {}, "no such algorithm(.|\n)*did you mean 'pcta'"),
    "named algorithm": ({"x": {"algorithm": 5, "k": 2}}, {}, "no such algorithm(.|\n)*known: apriori"),
    "parameter": ({"coat": {"k": 2, "max_supressed": 0}}, {}, "did you mean 'max_suppressed'"),
    "varied parameter": ({"pcta": {"k": 2}}, {"vary": {"constraint": [1]}}, "did you mean 'constraints'"),
    "progress": ({"pcta": {"k": 2, "progress": True}}, {}, r"pdanon.config\(progress=True\)"),
    "lacking": ({"apriori": {"k": 2}}, {}, "apriori lacks a parameter(.|\n)*no hierarchy"),
    "twice": ({"pcta": {"k": 2}}, {"vary": {"k": [2]}}, "both fixed and varied"),
    "no values": ({"pcta": {}}, {"vary": {"k": []}}, "needs a list of values"),
    "one value": ({"pcta": {}}, {"vary": {"k": 5}}, "needs a list of values"),
    "loss": ({"pcta": {"k": 2}}, {"measures": ["NPC"]}, "no such loss(.|\n)*did you mean 'NCP'"),
    "name of a measure": ({"pcta": {"k": 2}}, {"measures": {"k": len}}, "not a measure"),
    "measure": ({"pcta": {"k": 2}}, {"measures": {"x": "NCP"}}, "not a measure"),
    "workload": ({"pcta": {"k": 2}}, {"workload": [1]}, "not a workload"),
    "processes": ({"pcta": {"k": 2}}, {"n_jobs": 2}, r"pdanon.config\(processes=4\)"),
    "nothing": ({}, {}, "not a dict of algorithms"),
    "a list": (["pcta"], {}, "not a dict of algorithms"),
    "no dict": ({"pcta": 5}, {}, "a configuration is a label and a dict"),
}


@pytest.mark.parametrize(("asked", "options", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_makes_no_sense_is_refused_before_anything_runs(asked, options, message, stand_in):
    stand_in("pcta", lambda frame, column=None, *, k, constraints=None: 1 / 0)
    with pytest.raises(ParameterError, match=message):
        pdanon.compare(FRAME, asked, **options)


def test_generator_cannot_be_shared(stand_in):
    stand_in("drawn", lambda frame, *, random_state=None: 1 / 0)
    with pytest.raises(ParameterError, match="configurations cannot share a generator"):
        pdanon.compare(FRAME, {"drawn": {"random_state": np.random.default_rng(1)}})


def test_column_is_found_or_named():
    with pytest.raises(ColumnError):
        pdanon.compare(pd.DataFrame({"x": [1]}), {"pcta": {"k": 2}})
    two = FRAME.assign(more=FRAME["items"])
    with pytest.raises(ColumnError):
        pdanon.compare(two, {"pcta": {"k": 2}})
    table = pdanon.compare(two, {"pcta": {"k": 2}}, column="more")
    assert table["holds"].tolist() == [True]


# --- Run again


def test_second_run_skips_what_is_done(tmp_path):
    path = tmp_path / "rows.parquet"
    calls = []

    def killed(frame, result):
        calls.append(result.guarantee.k)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return 1.0

    asked = {"vary": {"k": [2, 3, 100]}, "measures": {"killed": killed}, "resume": path}
    with pytest.raises(KeyboardInterrupt):
        pdanon.compare(FRAME, {"pcta": {}}, **asked)
    assert calls == [2, 3]
    assert len(read_parquet(path)) == 1
    table = pdanon.compare(FRAME, {"pcta": {}}, **asked)
    assert calls == [2, 3, 3]
    again = pdanon.compare(FRAME, {"pcta": {}}, **asked)
    assert calls == [2, 3, 3]
    pd.testing.assert_frame_equal(again, table)
    fresh = pdanon.compare(FRAME, {"pcta": {}}, **{**asked, "resume": None})
    pd.testing.assert_frame_equal(without_costs(fresh), without_costs(table))
    assert SECRET.encode() not in path.read_bytes()


def test_rows_of_other_questions_are_not_taken(tmp_path):
    path, tree = tmp_path / "rows.parquet", tmp_path / "tree.csv"
    tree.write_text("".join(f"{item};*\n" for item in (RICE, SALT, TEA)))
    calls = []

    def count(frame, result):
        return calls.append(1) or len(calls)

    def run(frame=FRAME, k=2, measure="n", **options):
        before = len(calls)
        asked = {"apriori": {"k": k, "hierarchy": str(tree)}}
        pdanon.compare(frame, asked, measures={measure: count}, resume=path, **options)
        return len(calls) > before

    assert run()
    assert not run()
    assert run(k=3)
    assert run(measure="other")
    assert run(frame_of([*ROWS[1:], ROWS[0]]))
    assert run(FRAME.assign(store=1))
    assert run(workload=Half())
    tree.write_text(f"{RICE};food;*\n{SALT};food;*\n{TEA};*\n")
    assert run()
    assert not run()


def test_row_that_broke_down_is_tried_again(tmp_path):
    calls = []

    def recovers(frame, result):
        calls.append(1)
        return 1.0 if len(calls) > 1 else {}["absent"]

    asked = {"measures": {"x": recovers}, "resume": tmp_path / "rows.parquet"}
    assert pdanon.compare(FRAME, {"pcta": {"k": 2}}, **asked)["reason"].tolist() == ["KeyError"]
    table = pdanon.compare(FRAME, {"pcta": {"k": 2}}, **asked)
    assert table["reason"].isna().all()
    assert table["x"].tolist() == [1.0]


def test_other_file_is_not_overwritten(tmp_path):
    to_parquet(FRAME, tmp_path / "data.parquet")
    before = (tmp_path / "data.parquet").read_bytes()
    with pytest.raises(FormatError, match="not the file of a comparison"):
        pdanon.compare(FRAME, {"pcta": {"k": 2}}, resume=tmp_path / "data.parquet")
    assert (tmp_path / "data.parquet").read_bytes() == before


# --- In several processes


@pytest.mark.slow
def test_processes_give_the_same_table(tmp_path):
    asked = {"pcta": {}, "apriori": {"hierarchy": 2}}
    options = {"vary": {"k": [2, 100]}, "workload": Half(), "measures": {"labels": labels}}
    alone = pdanon.compare(FRAME, asked, **options)
    with pdanon.config(processes=2):
        together = pdanon.compare(FRAME, asked, **options, resume=tmp_path / "rows.parquet")
    pd.testing.assert_frame_equal(without_costs(together), without_costs(alone))
    assert len(read_parquet(tmp_path / "rows.parquet")) == 4


@pytest.mark.slow
def test_killed_process_is_a_reason_and_tried_again(tmp_path):
    asked = {"measures": {"x": vanish}, "resume": tmp_path / "rows.parquet"}
    with pdanon.config(processes=2):
        table = pdanon.compare(FRAME, {"pcta": {"k": 2}}, **asked)
    assert table["reason"].tolist() == ["BrokenProcessPool"]
    assert table["seconds"].isna().all()
    again = pdanon.compare(FRAME, {"pcta": {"k": 2}}, **{**asked, "measures": {"x": labels}})
    assert again["x"].tolist() == [labels(FRAME, pdanon.pcta(FRAME, k=2))]


def test_measure_on_the_spot_cannot_be_sent():
    with (
        pdanon.config(processes=2),
        pytest.raises(ParameterError, match=r"cannot be sent to other processes(.|\n)*config\(processes=1\)"),
    ):
        pdanon.compare(FRAME, {"pcta": {"k": 2}}, measures={"x": lambda frame, result: 1})


def test_an_executor_for_blocks_leaves_comparisons_in_this_process():
    with pdanon.config(processes=ThreadPoolExecutor(1)):
        table = pdanon.compare(FRAME, {"pcta": {"k": 2}}, measures={"x": lambda frame, result: 1})
    assert table["x"].tolist() == [1]


# --- Fingerprints


@pytest.mark.parametrize("name", FRAMES)
def test_fingerprint_is_that_of_the_content(name):
    frame = FRAMES[name]()
    assert content_hash(frame) == content_hash(FRAMES[name]())
    assert content_hash(frame) != content_hash(frame.rename(columns=lambda label: (label, "new")))
    if len(frame):
        assert content_hash(frame) != content_hash(pd.concat([frame, frame]))


def test_fingerprints_differ_where_values_do():
    values = [1, 1.0, True, "1", None, [1], (1,), [[1]], [1, [1]], {1}, {"a": 1}, {"a": 2}, np.ones(1), len]
    values += [["ab", "c"], ["a", "bc"], np.ones(2), pd.Series([1, 2]), pd.Series([1, 2], [1, 0])]
    values += [pdanon.Hierarchy.balanced("abcd", 2), pdanon.Hierarchy.balanced("abcd", 3), b"1"]
    assert len({content_hash(value) for value in values}) == len(values)
    tree = pdanon.Hierarchy.balanced("abcd", 2)
    assert content_hash({*"xyz"}, tree) == content_hash({*"zyx"}, pdanon.Hierarchy.balanced("abcd", 2))
