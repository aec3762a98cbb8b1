"""Local suppression for privacy constraints: no listed itemset is rare, with or without what rows lose."""

from __future__ import annotations

from collections import Counter
from itertools import chain, combinations

import dask.dataframe as dd
import pandas as pd
import pytest
from conftest import frame_of, row_lists, rows_of
from hypothesis import example, given, settings, strategies as st

import pdanon
import pdanon.dask
from examples import examples
from pdanon import stream

ROWS = row_lists(longest=5, most=12, least=5)
LISTED = st.lists(st.frozensets(st.sampled_from("abcdef"), min_size=1, max_size=3), min_size=1, max_size=6)
PRICES = st.sampled_from([None, 0.5, 3, 20])


def promise(listed, k):
    return pdanon.PrivacyConstraints(constraints=[sorted(each) for each in listed], k=k)


def occurring(listed, rows):
    return [known for known in listed if known <= frozenset().union(*rows)]


def subsets(items):
    return chain.from_iterable(combinations(sorted(items), size) for size in range(len(items) + 1))


def exposed(listed, rows, result, k):
    """Listed itemsets that 1 to k - 1 rows show, whole, or without some of the items that some row lost."""
    shown, label_of, lost = rows_of(result.frame), {}, set()
    own = {(each.group, each.item): each.generalized for each in result.mapping.itertuples()}
    for row, now, group in zip(rows, shown, result.groups, strict=True):
        became = {item: own[group, item] for item in row}
        assert now == {label for label in became.values() if label is not pd.NA}
        lost |= {item for item in row if became[item] is pd.NA}
        label_of |= {item: label for item, label in became.items() if label is not pd.NA}
    for known in listed:
        for left in (known - {*part} for part in subsets(known & lost)):
            labels = {label_of.get(item) for item in left}
            if left and 0 < sum(labels <= now for now in shown) < k:
                yield left


@settings(max_examples=examples(600))
@given(rows=ROWS, listed=LISTED, k=st.integers(2, 4), price=PRICES)
@example(  # the row ab becomes a, which nobody else shows, although others lost a
    rows=[*map(frozenset, ("ab", "bde", "", "", "ace"))],
    listed=[*map(frozenset, ("ab", "ac"))],
    k=2,
    price=None,
)
@example(  # d is suppressed so that three rows are emptied, and leaves c alone
    rows=[*map(frozenset, ("", "a", "a", "d", "abcf"))],
    listed=[*map(frozenset, ("a", "cd", "abf"))],
    k=3,
    price=None,
)
def test_no_listed_itemset_is_rare(rows, listed, k, price):
    listed, frame = occurring(listed, rows), frame_of(rows)
    if not listed:
        return
    result = frame.txanon.local_suppression(guarantee=promise(listed, k), deletion_price=price)
    assert not [*exposed(listed, rows, result, k)]
    emptied = sum(bool(before) and not now for before, now in zip(rows, rows_of(result.frame), strict=True))
    assert emptied == 0 or sum(not now for now in rows_of(result.frame)) >= k
    audits = [result.frame.txanon.audit(result.guarantee, independent=each) for each in (False, True)]
    assert all(audit.holds for audit in audits)
    bound = pdanon.bound(frame, result)
    assert bound.kind == "deletions"
    assert bound.least <= result.loss["occurrences"]


@settings(max_examples=examples(300))
@given(rows=ROWS, listed=LISTED, k=st.integers(2, 4))
@example(rows=[*map(frozenset, ("af", "a", "b", "b", "b"))], listed=[frozenset("af")], k=3)
def test_both_audits_find_what_a_release_shows(rows, listed, k):
    """The mapping of a release of some constraints, audited for others."""
    listed = occurring(listed, rows)
    if not listed:
        return
    result = frame_of(rows).txanon.local_suppression(k=2, m=1)
    guarantee = promise(listed, k).with_mapping(result.mapping)
    broken = [*exposed(listed, rows, result, k)]
    if result.mapping["generalized"].isna().any():
        emptied = sum(not now for now in rows_of(result.frame)) - rows.count(frozenset())
        broken += [emptied] * (0 < emptied < k and any(rows_of(result.frame)))
    for independent in (False, True):
        assert result.frame.txanon.audit(guarantee, independent=independent).holds == (not broken)


@settings(max_examples=examples(100))
@given(rows=ROWS, listed=LISTED, k=st.integers(2, 4), price=PRICES, order=st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(rows, listed, k, price, order):
    if not (listed := occurring(listed, rows)):
        return

    def released_by(rows):
        own = {"guarantee": promise(listed, k), "deletion_price": price}
        return rows_of(frame_of(rows).txanon.local_suppression(**own).frame)

    lost = dict(zip(rows, released_by(rows), strict=True))
    shuffled = order.sample(rows, len(rows))
    assert released_by(shuffled) == [lost[row] for row in shuffled]


def test_only_listed_pairs_are_broken_up():
    rows = [frozenset(row) for row in ("abc", "ab", "ab", "ac", "ac", "bd", "b", "c", "c")]
    result = frame_of(rows).txanon.local_suppression(guarantee=promise(["bc"], 2))
    first, *others = rows_of(result.frame)
    assert others == rows[1:]  # also the item d, which is in one row
    assert first in (frozenset("ab"), frozenset("ac"))


def test_what_remains_of_a_listed_pair_is_not_rare():
    """If a is deleted, b alone is in one row, and shows whose row it is."""
    rows = [frozenset("abc"), *[frozenset("a")] * 4, *[frozenset("c")] * 4]
    for weights in ({"a": 0.01}, {"b": 0.01}):
        result = frame_of(rows).txanon.local_suppression(guarantee=promise(["ab"], 3), weights=weights)
        assert not any("b" in row for row in rows_of(result.frame))
        assert rows_of(result.frame)[1:] == rows[1:]


def test_streams_and_dask_release_the_same(tmp_path):
    rows = [frozenset(row) for row in ("abc", "ab", "ab", "ac", "bd", "b", "cd", "c", "ad")] * 2
    frame, guarantee = frame_of(rows), promise(["bc", "cd", "ad"], 3)
    expected = frame.txanon.local_suppression(guarantee=guarantee)
    assert rows_of(expected.frame) != rows
    frame.to_parquet(tmp_path / "in.parquet", row_group_size=5)
    stream.local_suppression(tmp_path / "in.parquet", tmp_path / "out.parquet", guarantee=guarantee)
    assert rows_of(pdanon.read_parquet(tmp_path / "out.parquet")) == rows_of(expected.frame)
    parts = dd.from_pandas(frame, npartitions=4).txanon.local_suppression(guarantee=guarantee)
    assert rows_of(parts.frame.compute()) == rows_of(expected.frame)


@pytest.mark.filterwarnings("ignore::pdanon.ReleaseWarning")  # how often persons have a label
@pytest.mark.parametrize("price", [None, 3])
@settings(max_examples=examples(60))
@given(
    lines=st.lists(
        st.tuples(st.integers(0, 7), st.frozensets(st.sampled_from([1, 2, 3, 4]), max_size=3)), min_size=8
    )
)
def test_what_a_person_loses_is_lost_in_all_lines(price, lines):
    frame = pd.DataFrame([(person, sorted(items)) for person, items in lines], columns=["person", "items"])
    sets = frame.groupby("person")["items"].agg(lambda lists: sorted({*chain(*lists)}))
    asked = {"k": 3, "m": 2, "deletion_price": price}
    if len(sets) < 3:
        return
    expected = pd.DataFrame({"items": [*sets]}).txanon.local_suppression(**asked)
    result = frame.txanon.by("person").local_suppression(**asked)
    assert len(result.frame) == len(frame)
    shown = result.frame.groupby("person")["items"].agg(lambda lists: frozenset(chain(*lists)))
    assert Counter(shown) == Counter(expected.frame["items"].map(frozenset))


def test_it_can_be_refined_explained_compared_and_chosen():
    rows = [frozenset(row) for row in ("abc", "ab", "ab", "ac", "bd", "b", "cd", "c", "ad")] * 2
    frame, guarantee = frame_of(rows), promise(["bc", "cd", "ad"], 3)
    result = frame.txanon.local_suppression(guarantee=guarantee)
    assert frame.txanon.refine(result).loss["occurrences"] <= result.loss["occurrences"]
    assert "published" in repr(result.explain("c", frame))
    mixture = frame.txanon.local_suppression(guarantee=guarantee, deletion_price=1)
    assert all("k=3" in repr(mixture.explain(item, frame)) for item in "abcd")
    chosen = frame.txanon.anonymize(guarantee, loss="occurrences")
    assert chosen.parameters["algorithm"] == "local_suppression"
    assert chosen.loss["occurrences"] == chosen.tried["loss"].min()
    asked = {name: {"guarantee": guarantee} for name in ("coat", "local_suppression")}
    table = pdanon.compare(frame, asked, loss="occurrences")
    assert table["holds"].all()
    assert table["algorithm"].tolist() == ["local_suppression", "coat"]


def test_bad_calls_name_what_is_wrong():
    frame = frame_of([frozenset("ab"), *[frozenset("a")] * 4, *[frozenset("b")] * 4])
    with pytest.raises(pdanon.ParameterError, match="only for KmAnonymity"):
        frame.txanon.local_suppression(guarantee=promise(["ab"], 2), hierarchy=2)
    with pytest.raises(pdanon.ParameterError, match="does not occur in the data"):
        frame.txanon.local_suppression(guarantee=promise(["ax"], 2))
    with pytest.raises(pdanon.InfeasibleError):
        frame.iloc[:1].txanon.local_suppression(guarantee=promise(["ab"], 2))
    result = frame.txanon.local_suppression(guarantee=promise(["ab"], 2))
    with pytest.raises(pdanon.ParameterError, match="the mapping is not global"):
        pdanon.apply_mapping(frame, result.mapping)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "share", "most"),
    [("groceries", 1, 0.115), ("uci_msweb_train", 0.5, 0.025), ("bms_webview1", 0.3, 0.018)],
)
def test_real_data_lose_little(data, name, share, most):
    """Sets change .32, .45 and .41 of the occurrences."""
    frame = pd.read_parquet(data / f"{name}.parquet", columns=["items"], dtype_backend="pyarrow")
    guarantee = pdanon.PrivacyConstraints(constraints=pdanon.constraints.pairs(frame, share), k=5)
    result = frame.txanon.local_suppression(guarantee=guarantee)
    assert pdanon.bound(frame, result).least < result.loss["occurrences"] <= most
