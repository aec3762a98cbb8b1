"""Unmodified columns beside all that is published: counted in plain loops, for every family and engine."""

from __future__ import annotations

import inspect
from collections import Counter
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from contract import ARGUMENTS, arguments_of, is_possible
from families import ALGORITHMS as OF_ITEMS, RELATIONAL, RT

import pdanon
from examples import ALL, MANY
from pdanon import InfeasibleError, stream
from pdanon.guarantees.ps import AllRules

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning")

QUASI = ["age", "sex"]


def drawn_table(seed):
    """A table of few values, some of them missing, with columns to publish and perhaps an index."""
    rng = np.random.default_rng(seed)
    rows = int(rng.integers(24, 40))
    lists = [[*rng.choice([*"abcde"], rng.integers(0, 4), replace=False)] for _ in range(rows)]
    lists = [None if not row and rng.random() < 0.5 else row for row in lists]
    frame = pd.DataFrame({"items": pd.Series(lists, dtype=object), "age": rng.integers(20, 30, rows)})
    frame["sex"] = rng.choice(["f", "m"], rows)
    frame["ward"] = rng.choice(["north", "south"], rows)
    frame["zip"] = pd.array(rng.choice([1, 2, 3], rows), "Int64")
    frame.loc[rng.random(rows) < 0.1, "zip"] = pd.NA
    if seed % 3 == 1:
        frame.index = pd.Index(rng.choice(["x", "y", "z"], rows), name="site" if seed % 2 else None)
    return frame


def knowledge(guarantee):
    """The number of items that an attacker knows, and which ones: None for all, a predicate of a label."""
    named = getattr(guarantee, "sensitive", getattr(guarantee, "private", ()))
    hidden = {str(item) for item in named}
    match guarantee:
        case pdanon.TransactionalK():
            return None, lambda label: True
        case pdanon.PublicK():
            return None, lambda label: label in {*map(str, guarantee.public)}
        case pdanon.Coherence():
            return guarantee.p, lambda label: label not in hidden
        case pdanon.PSRules():
            m = guarantee.rules.m if isinstance(guarantee.rules, AllRules) else 2
            return m, lambda label: label not in hidden
    return guarantee.m, lambda label: label not in hidden


def naive(frame, columns, k, items=None, m=0, is_known=None):
    """Count the rows that fewer than k rows match in some columns, and in some of up to m labels."""
    classes = [tuple(None if pd.isna(x) else x for x in row) for row in zip(*columns, strict=True)]
    sets = [frozenset()] * len(frame) if items is None else [labels_of(row, is_known) for row in items]
    missing = [items is not None and row is None for row in sets]
    sets = [row or frozenset() for row in sets]
    return sum(
        any(
            support(classes, sets, missing, row, known) < k
            for size in range((len(sets[row]) if m is None else min(m, len(sets[row]))) + 1)
            for known in combinations(sorted(sets[row]), size)
        )
        for row in range(len(frame))
    )


def labels_of(row, is_known):
    """The labels of a row that may be known, a repeated one as several; None for a missing row."""
    if row is None or row is pd.NA or isinstance(row, float):
        return None
    counts = Counter(label for label in map(str, row) if is_known(label))
    return frozenset((label, copy) for label, number in counts.items() for copy in range(number))


def support(classes, sets, missing, row, known):
    """The rows that match a row: of its class, with what is known; missing rows only for a missing one."""
    return sum(
        classes[other] == classes[row] and {*known} <= sets[other] and (missing[row] or not missing[other])
        for other in range(len(classes))
    )


def assert_counted(frame, released, guarantee, found, keep, quasi, has_items):
    """The counts of a release are those of plain loops."""
    k = getattr(guarantee, "k", None) or 2
    recoded = {*quasi, *(["items"] if has_items else [])}
    known = [label for label in frame.columns if label not in recoded and label not in keep]
    values = [released[label].tolist() for label in known]
    if not isinstance(frame.index, pd.RangeIndex):
        known.append(frame.index.name or "index")
        values.append(frame.index.tolist())
    assert (found.known, found.k) == (tuple(known), k)
    assert found.below_k == naive(frame, values, k)
    values += [released[label].astype(str).tolist() for label in quasi]
    assert found.quasi_below_k == naive(frame, values, k)
    if has_items:
        m, is_known = knowledge(guarantee)
        items = released["items"].tolist()
        assert (found.m, found.items_counted) == (m, len(frame))
        assert found.items_below_k == naive(frame, values, k, items, m, is_known)


CALLS = [*ARGUMENTS, *RELATIONAL, *RT, *(f"{name}, sensitive" for name in RT)]


def call_of(name, frame, seed):
    """The columns to keep, and the arguments of a release: k and m vary."""
    rng, accepted = np.random.default_rng(seed), inspect.signature(function_of(name)).parameters
    k, m = int(rng.integers(2, 5)), [1, 2, 3, None][int(rng.integers(4))]
    keep = ["ward"] if seed % 4 == 0 else []
    if name in ARGUMENTS:
        return keep, arguments_of(name, frame, k=k, m=m)
    given = {"k": k, "quasi": QUASI, "delta": 0.9, "random_state": 0, "parts": 2}
    if name.split(", ")[0] in RT:
        given["m"] = m or 2
        given["transaction"] = pdanon.Transaction(**({"sensitive": ["a"], "l": 2} if "," in name else {}))
    return keep, {each: value for each, value in given.items() if each in accepted}


def function_of(name):
    return (OF_ITEMS | RELATIONAL | RT)[name.split(", ")[0]]


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", CALLS)
def test_released_columns_are_counted_as_plain_loops_do(name):
    counted = 0
    for seed in range(200 if ALL else 20 if MANY else 2):
        frame = drawn_table(seed)
        if name in RELATIONAL:
            frame = frame.drop(columns="items")
        keep, call = call_of(name, frame, seed)
        if name in ARGUMENTS and not is_possible(name, frame, call.get("k", 2)):
            continue
        try:
            result = getattr(frame.txanon.keep(*keep), name.split(", ")[0])(**call)
        except InfeasibleError:
            continue
        quasi = [] if name in ARGUMENTS else QUASI
        facts = result.guarantee, result.unmodified, keep, quasi, name not in RELATIONAL
        assert_counted(frame, result.frame, *facts)
        counted += 1
    assert counted


# --- Files and partitions

FIGURES = ("known", "rows", "k", "unique", "below_k", "quasi", "quasi_unique", "quasi_below_k", "lists", "m")
FIGURES += ("items_counted", "items_below_k", "subset", "subset_below_k", "judged")
OUTSIDE = ["pcta", "lra", "coherence", "suppress_to_k", "rum_bound", "rfirst, sensitive", "mondrian"]


def figures(result):
    return {name: getattr(result.unmodified, name) for name in FIGURES}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", OUTSIDE)
def test_files_and_partitions_are_counted_as_frames(name, tmp_path):
    dd = pytest.importorskip("dask.dataframe")
    import pdanon.dask

    for seed in range(12 if ALL else 4 if MANY else 1):
        frame = drawn_table(3 * seed).assign(items=lambda each: pdanon.as_itemsets(each["items"]))
        frame = frame.drop(columns="items") if name in RELATIONAL else frame
        keep, call = call_of(name, frame, seed)
        try:
            expected = getattr(frame.txanon.keep(*keep), name.split(", ")[0])(**call)
        except InfeasibleError:
            continue
        frame.to_parquet(tmp_path / f"{seed}.parquet", row_group_size=10)
        algorithm = name.split(", ")[0]
        target = tmp_path / f"released {seed}.parquet"
        streamed = getattr(stream, algorithm)(tmp_path / f"{seed}.parquet", target, keep=keep, **call)
        assert figures(streamed) == figures(expected)
        lazy = getattr(dd.from_pandas(frame, npartitions=3).txanon, algorithm)(keep=keep, **call)
        assert figures(lazy) == figures(expected)
