"""Dask frames with lines in which a person has several, over partitions: as in memory."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from test_stream_units import LONG, outcome, random_lines, texts

import pdanon
from examples import seeds
from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError

dd = pytest.importorskip("dask.dataframe")
pytest.importorskip("pdanon.dask")


def same(part):
    return part


def divided(lines, cuts):
    """A frame with partitions between cuts, some of which may be empty."""
    bounds = [0, *cuts, len(lines)]
    parts = [lines.iloc[first:end] for first, end in pairwise(bounds)]
    return dd.from_map(same, parts, meta=lines.iloc[:0])


@pytest.mark.one_in(5)
@pytest.mark.parametrize("kind", ["int64", "str", "category"])
@pytest.mark.parametrize("counts", [False, True])
@pytest.mark.parametrize("seed", seeds(25))
def test_a_release_is_that_of_memory(seed, counts, kind):
    rng = np.random.default_rng(seed)
    lines = random_lines(rng)
    lines = lines.astype({"who": kind, "what": "str"})
    ddf = divided(lines, np.sort(rng.integers(0, len(lines) + 1, int(rng.integers(0, 4)))))
    request, persons = {"k": 2, "m": int(rng.integers(1, 3))}, {**LONG, "counts": counts}
    expected, problem = outcome(lines.txanon.by(**persons).pcta, **request)
    result, found = outcome(ddf.txanon.by(**persons).pcta, **request)
    assert found == problem
    if problem is not None:
        return
    frame = result.frame.compute()
    assert texts(frame) == texts(expected.frame)
    assert frame.index.equals(pd.RangeIndex(len(frame)))
    assert (result.rows, result.parameters) == (len(frame), expected.parameters)
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    assert result.frame.txanon.by(**persons).audit(result.guarantee).holds
    risk = pd.DataFrame(lines.txanon.by(**LONG).risk(k=2, m=2))
    pd.testing.assert_frame_equal(pd.DataFrame(ddf.txanon.by(**LONG).risk(k=2, m=2)), risk)


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"unit": "nobody", "item": "what"}, ColumnError, "'nobody' does not exist"),
        ({"unit": "who", "item": "nothing"}, ColumnError, "'nothing' does not exist"),
        ({"unit": "who"}, ParameterError, "by needs item"),
        ({"unit": "what", "item": "what"}, ParameterError, "units and items are one column"),
        ({"unit": "some", "item": "what"}, ParameterError, "3 of 24 lines"),
        ({"unit": "line", "item": "what"}, ParameterError, "each line has another person"),
        ({"unit": "who", "item": "what", "keep": ["line"]}, ParameterError, "kept columns need all lines"),
    ],
)
def test_wrong_calls_are_explained(options, kind, message):
    lines = pd.DataFrame({"who": [1, 2, 3, 4] * 6, "what": ["a", "b"] * 12, "line": range(24)})
    lines["some"] = [None] * 3 + [1] * 21
    ddf = divided(lines, [5, 5, 13])
    options = dict(options)
    keep = {"keep": options.pop("keep")} if "keep" in options else {}
    with pytest.raises(kind) as caught:
        ddf.txanon.by(**options).pcta(k=2, m=1, **keep)
    assert message in str(caught.value)


def test_persons_of_different_types_are_refused():
    import dask

    with dask.config.set({"dataframe.convert-string": False}):  # which makes one person of 7 and "7"
        refuse_types()


def refuse_types():
    lines = pd.DataFrame({"who": pd.Series([7, 7, "7", "7"], dtype=object), "what": [*"xyxy"]})
    for cuts in ([2], [1, 3]):
        with pytest.raises(ParameterError, match="the persons are of several types"):
            divided(lines, cuts).txanon.by(**LONG).pcta(k=2, m=1)
    parts = [lines.iloc[:2].astype({"who": "int64"}), lines.iloc[:2].astype({"who": "float64"})]
    with pytest.raises(ItemsetDtypeError, match="the persons of a partition have another type"):
        dd.from_map(same, parts, meta=parts[0]).txanon.by(**LONG).pcta(k=2, m=1)
    parts = [lines.iloc[:2], lines.iloc[:2].assign(who=8, what=[1, 2])]
    parts = [lines.iloc[:2], lines.iloc[:2].assign(what=[1, 2])]
    ddf = dd.from_map(same, parts, meta=parts[0])
    with pytest.raises(
        ItemsetDtypeError, match=r"the items (of a partition have another type|are not of one known type)"
    ):
        ddf.txanon.by(**LONG).pcta(k=2, m=1)


def test_audits_refuse_other_columns_and_anonymize_chooses():
    lines = pd.DataFrame({"who": [1, 1, 2, 2] * 6, "what": ["a", "b"] * 12, "store": 1})
    ddf = divided(lines, [3, 9])
    with pytest.raises(ParameterError, match="other columns of lines need all lines at once"):
        ddf.txanon.by(**LONG).audit(pdanon.KmAnonymity(k=2, m=1))
    assert ddf[["what", "who"]].txanon.by(**LONG, counts=True).audit(pdanon.KmAnonymity(k=2, m=2)).holds
    assert ddf[["what", "who"]].txanon.by(**LONG, counts=True).audit(k=2, m=2).holds
    result = ddf.txanon.by(**LONG).anonymize(k=2, m=2)
    assert result.tried is not None
    assert texts(result.frame.compute())[0] == ["who", "what"]
    with pytest.raises(ColumnError, match="as_itemsets"):
        ddf.txanon.pcta(k=2)
