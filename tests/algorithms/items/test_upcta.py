"""UPCTA: the published examples and their utility constraints."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import frame_of, promised, rows_of
from test_clustering import became_of, block_in, outcome
from test_coat import FIG_1

import pdanon
from pdanon.guarantees.utility import check_release, partition

# The example of Fig. 4 of the paper.
FIG_4 = [{"i1", "i2", "i7"}, {"i2", "i7"}, {"i3", "i5"}, {"i4", "i6", "i7"}, {"i5", "i7"}]
FIG_4_BLOCKS = [["i1", "i2"], ["i3"], ["i4"], ["i5", "i6", "i7"]]


def upcta_of(rows, **parameters):
    return frame_of(rows).txanon.upcta(**promised(**parameters))


def mapping_of(became):
    items, labels = list(became), list(became.values())
    table = pd.DataFrame({"group": 0, "item": items, "generalized": labels})
    return table.astype({"item": "string[pyarrow]", "generalized": "string[pyarrow]"})


# --- published


def test_example_9():
    """g goes: it is in two rows and alone in its block. Then (b,c) and (d,e,f) are merged, a stays."""
    blocks = [["a"], ["b", "c"], ["d", "e", "f"], ["g"]]
    asked = {"k": 3, "constraints": [["b", "e", "f"], ["g"]], "utility": blocks}
    result = upcta_of(FIG_1, max_suppressed=0.15, **asked)
    assert outcome(result) == ([("a",), ("b", "c"), ("d", "e", "f")], ["g"])
    a, bc, d = frozenset(["a"]), frozenset(["(b,c)"]), frozenset(["(d,e,f)"])
    assert rows_of(result.frame) == [a | bc | d, a | bc | d, a | bc | d, a | bc, bc, d]
    with pytest.raises(pdanon.InfeasibleError) as caught:
        upcta_of(FIG_1, max_suppressed=0.14, **asked)  # one of seven items is more
    assert block_in(str(caught.value)) == 3


def test_infeasible_instance_of_the_paper():
    """k=2, i1 in one row and alone in its block, and nothing may be suppressed."""
    rows = [{"i1", "i2"}, {"i2"}]
    asked = {"k": 2, "constraints": [["i1"]], "utility": [["i1"], ["i2"]]}
    with pytest.raises(pdanon.InfeasibleError):
        upcta_of(rows, max_suppressed=0, **asked)
    assert outcome(upcta_of(rows, max_suppressed=0.5, **asked)) == ([("i2",)], ["i1"])


@pytest.mark.parametrize(
    ("clusters", "keeps"),
    [
        ([["i1", "i2"]], True),  # as the paper says
        ([["i5", "i6", "i7"]], True),
        ([["i1", "i3"]], False),
        ([["i1", "i2", "i3", "i4"], ["i5", "i6"]], False),  # the outcome of PCTA in the paper
    ],
)
def test_which_releases_of_fig_4_keep_the_utility_constraints(clusters, keeps):
    became = {f"i{number}": f"i{number}" for number in range(1, 8)}
    for cluster in clusters:
        became |= dict.fromkeys(cluster, f"({','.join(cluster)})")
    blocks = partition(FIG_4_BLOCKS)
    if keeps:
        check_release(mapping_of(became), blocks, 0)
        return
    with pytest.raises(pdanon.GuaranteeError, match="1 labels across blocks"):
        check_release(mapping_of(became), blocks, 7)


def test_recount_of_suppressed_items():
    became = {"i1": None, "i2": None, "i3": "i3", "i4": "i4", "i5": "i5", "i6": "i6", "i7": "i7"}
    check_release(mapping_of(became), partition(FIG_4_BLOCKS), 2)
    with pytest.raises(pdanon.GuaranteeError, match="2 suppressed items of at most 1"):
        check_release(mapping_of(became), partition(FIG_4_BLOCKS), 1)


def test_fig_4_within_its_blocks():
    """(i1,i2) is in two rows, and its block has no more to give: it is suppressed, with both its items."""
    asked = {"k": 3, "constraints": [["i1"], ["i5", "i6"]], "utility": FIG_4_BLOCKS}
    result = upcta_of(FIG_4, max_suppressed=2 / 7, **asked)
    assert outcome(result) == ([("i3",), ("i4",), ("i5",), ("i6",), ("i7",)], ["i1", "i2"])
    with pytest.raises(pdanon.InfeasibleError) as caught:
        upcta_of(FIG_4, max_suppressed=1 / 7, **asked)
    assert outcome(caught.value.partial)[0][0] == ("i1", "i2")


@pytest.mark.parametrize("rows", [["acd", "a", "ac", "d"], ["ad", "b", "abc", "ab"]])
def test_with_one_block_a_class_is_that_of_pcta(rows):
    frame = frame_of(rows).assign(age=1)
    asked = {"k": 2, "m": 2, "quasi": ["age"], "cluster": "mondrian"}
    block = pdanon.Transaction("upcta", options={"utility": [[*"abcd"]]}, refine=False)
    found = [
        pdanon.rfirst(frame, **asked, transaction=each).mapping
        for each in (block, pdanon.Transaction("pcta", refine=False))
    ]
    pd.testing.assert_frame_equal(*found)


# --- by hand


def test_all_blocks_of_an_itemset_are_exhausted_before_any_is_suppressed():
    """a is alone in its block; b has c and d to merge with, and even then {a,(b,c,d)} is rare."""
    rows = [frozenset(row) for row in ("ab", "ac", *["a"] * 4, "b", *["d"] * 4)]
    asked = {"k": 4, "constraints": [["a", "b"]], "utility": [["a"], ["b", "c", "d"]]}
    result = upcta_of(rows, max_suppressed=0.25, **asked)
    assert outcome(result) == ([("b", "c", "d")], ["a"])  # a: 6 rows, (b,c,d): 7 rows
    with pytest.raises(pdanon.InfeasibleError) as caught:
        upcta_of(rows, **asked)
    assert became_of(caught.value.partial) == {"a": "a"} | dict.fromkeys("bcd", "(b,c,d)")


def test_only_as_much_is_suppressed_as_the_itemset_needs():
    """{a,b,c} is rare, each alone in its block. Without the rarest, a, it is in three rows."""
    rows = [frozenset(row) for row in ("abc", "bc", "bc", "c", "b")]
    result = upcta_of(
        rows, k=3, constraints=[["a", "b", "c"]], utility=[["a"], ["b"], ["c"]], max_suppressed=1.0
    )
    assert outcome(result) == ([("b",), ("c",)], ["a"])
