"""What k and m cost: the same figures as one release after the other has."""

import pandas as pd
import pytest
from conftest import frame_of

import pdanon
from pdanon.errors import ParameterError
from pdanon.io.datasets import make_baskets

BASKETS = make_baskets(300, 30, random_state=1)


@pytest.mark.parametrize("algorithm", [None, "pcta", "coat"])
def test_each_row_is_what_its_release_has(algorithm):
    table = BASKETS.txanon.tradeoff(k=[5, 2], m=[2, 1], algorithm=algorithm)
    assert table[["k", "m"]].to_numpy().tolist() == [[2, 1], [2, 2], [5, 1], [5, 2]]
    run = getattr(BASKETS.txanon.keep("store"), algorithm or "anonymize")
    for row in table.itertuples():
        result = run(k=row.k, m=row.m)
        left = result.frame.txanon.risk(k=row.k, m=row.m + 1)
        assert row.below_k == left.loc[row.m, "below_k"]
        for name in ("occurrences", "singles", "pairs", "suppressed", "NCP"):
            assert getattr(row, name) == result.loss[name]
    assert table["reason"].isna().all()
    assert (table["seconds"] > 0).all()


def test_what_cannot_be_had_has_a_reason():
    table = pdanon.tradeoff(frame_of([["a"], ["a"], ["b"]]), k=[2, 4], m=[1])
    assert table["reason"].notna().tolist() == [False, True]
    assert table["seconds"].isna().tolist() == [False, True]


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"k": 5}, "k must be a list"),
        ({"k": [1]}, "k must be"),
        ({"m": [0]}, "m must be"),
        ({"m": []}, "m has no values"),
        ({"algorithm": "pct"}, "pcta"),
        ({"algorithm": "cluster"}, "cluster"),
        ({"tme_limit": 3}, "time_limit"),
        ({"algorithm": "suppress_control"}, r"suppress_control has no k(.|\n)*compare"),
        ({"algorithm": "ps_rules"}, "ps_rules has no m"),
    ],
)
def test_what_cannot_be_asked(asked, match):
    with pytest.raises(ParameterError, match=match):
        pdanon.tradeoff(BASKETS, **{"k": [2], "m": [1], **asked})


def test_the_picture_has_a_cell_for_each():
    pytest.importorskip("matplotlib").use("Agg")
    table = pd.DataFrame({"k": [3, 5, 3, 5], "m": [1, 1, 2, 2], "pairs": [0.0, 0.5, 1.25, None]})
    ax = pdanon.plotting.tradeoff(table, measure="pairs")
    cells = {(text.get_position()): text.get_text() for text in ax.texts}
    assert cells == {(0, 0): "0 %", (1, 0): "50 %", (0, 1): "125 %", (1, 1): "none"}
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["3", "5"]
    with pytest.raises(ParameterError, match="same k and m"):
        pdanon.plotting.tradeoff(pd.concat([table, table]), measure="pairs")
    with pytest.raises(ParameterError, match="lacks"):
        pdanon.plotting.tradeoff(table)


def test_quasi_identifiers_are_known_as_well():
    frame = BASKETS.assign(age=[20 + n % 3 for n in range(300)])
    table = frame.txanon.tradeoff(k=[5], m=[1], algorithm="rum_bound", quasi=["age"], delta=0.5)
    result = frame.txanon.keep("store").rum_bound(k=5, m=1, quasi=["age"], delta=0.5)
    left = result.frame.txanon.risk(k=5, m=2, quasi=["age"])
    assert table["below_k"].tolist() == [left.loc[2, "below_k"]]
    assert table["pairs"].tolist() == [result.loss["pairs"]]
