"""What every registered algorithm promises, whatever rows it is given.

A new algorithm needs one more line in ARGUMENTS, and one in RECOUNTS if it has a guarantee of its own. The
rest is in its record: a record that says something else than the releases do fails here.
"""

from __future__ import annotations

import datetime as dt
import inspect
from collections import Counter
from itertools import chain, combinations

import pandas as pd
import pyarrow as pa
import pytest
from families import ALGORITHMS, IN_CHUNKS
from naive import (
    coherence as naive_coherence,
    inferences as naive_inferences,
    itemsets as naive,
    losses as naive_losses,
)

import pdanon
from pdanon import (
    Coherence,
    KmAnonymity,
    LmDiversity,
    PSRules,
    PublicK,
    RhoUncertainty,
    SensitiveGroups,
    TransactionalK,
)
from pdanon.algorithms import registry
from pdanon.errors import PdanonError
from pdanon.itemsets.columns import find_column
from pdanon.itemsets.dtype import arrow_values


def tree_over(items):
    """A hierarchy of pairs of items and pairs of those, whose nodes are not named after items."""
    pairs = {f"node {start}": list(items[start : start + 2]) for start in range(0, len(items), 2)}
    names = list(pairs)
    upper = {
        f"upper {start}": {name: pairs[name] for name in names[start : start + 2]}
        for start in range(0, len(names), 2)
    }
    return {"all": upper | {"spare": ["in no row"]}}


def blocks_of(items):
    """Utility blocks of three items, all of which may be suppressed."""
    blocks = [items[start : start + 3] for start in range(0, len(items), 3)]
    return {"utility": blocks, "max_suppressed": 1.0}


def all_but_one_public(items):
    """The first item is private."""
    return {"h": 1, "p": 2, "private": items[:1]}


def last_sensitive(items):
    """The last item is not to be inferred."""
    return {"rho": 0.5, "sensitive": items[-1:]}


# Beyond k and, where there is one, m, what to call each algorithm with, given the items of the data.
ARGUMENTS = {
    "apriori": lambda items: {"hierarchy": tree_over(items)},
    "cahd": lambda items: {"p": 2, "sensitive": items[-1:]},
    "clump": lambda items: {"hierarchy": tree_over(items)},
    "coat": blocks_of,
    "coherence": all_but_one_public,
    "direct": lambda items: {"hierarchy": tree_over(items)},
    "hghs": lambda items: {"hierarchy": tree_over(items)},
    "local_suppression": lambda items: {},
    "lra": lambda items: {"hierarchy": tree_over(items), "parts": 2},
    "mhghs": lambda items: {"hierarchy": tree_over(items)},
    "optimal": lambda items: {"hierarchy": tree_over(items)},
    "partition": lambda items: {"hierarchy": tree_over(items)},
    "pcta": lambda items: {},
    "ps_rules": lambda items: {"rules": {"m": 2, "sensitive": items[-1:]}, "c": 0.5, "suppress": True},
    "suppress_control": last_sensitive,
    "suppress_public": all_but_one_public,
    "suppress_to_k": lambda items: {"public": items[1:]},
    "td_control": lambda items: last_sensitive(items) | {"hierarchy": tree_over(items)},
    "upcta": blocks_of,
    "vpa": lambda items: {"hierarchy": tree_over(items), "parts": 2},
}
RECOUNTS = {
    KmAnonymity: lambda guarantee, bags: naive.rows_at_risk(as_sets(bags), guarantee.k, guarantee.m),
    TransactionalK: lambda guarantee, bags: sum(bags.count(bag) < guarantee.k for bag in bags),
    Coherence: lambda guarantee, bags: naive_coherence.moles(
        [row for row in as_sets(bags) if row is not None],
        *(guarantee.h, guarantee.k, guarantee.p, [*guarantee.private]),
    ),
    PublicK: lambda guarantee, bags: (
        not naive_coherence.parts_are_shared(as_sets(bags), guarantee.k, [*guarantee.public])
    ),
    LmDiversity: lambda guarantee, bags: naive.lm_threats(
        as_sets(bags),
        guarantee.l,
        guarantee.m,
        frozenset(map(text, guarantee.sensitive)),
        guarantee.k,
    ),
    RhoUncertainty: lambda guarantee, bags: naive_inferences.breaking_rules(
        [row and frozenset(map(text, row)) for row in as_sets(bags)],
        *(guarantee.rho, frozenset(map(text, guarantee.sensitive)), guarantee.m),
    ),
    SensitiveGroups: lambda guarantee, bags: [
        bag for bag in bags if bag and {*map(text, bag)} & {*map(text, guarantee.sensitive)}
    ],
    PSRules: lambda guarantee, bags: rules_at_risk(
        [row or frozenset() for row in as_sets(bags)],
        guarantee,
        {*map(text, guarantee.sensitive)},
    ),
}
RECORDS = {name: registry.ALGORITHMS[name] for name in ARGUMENTS}
GUARANTEES = {name: record.guarantees[0] for name, record in RECORDS.items()}


def with_guarantee(*models):
    return {name for name, model in GUARANTEES.items() if model in models}


INFERRING = with_guarantee(RhoUncertainty)  # who has items that nobody may infer; a row need not hide
GROUPING = {name for name, record in RECORDS.items() if record.adds}  # what groups hide is in a second table
WITH_SECRETS = INFERRING | GROUPING | with_guarantee(PSRules)  # the last item stays as it is, or goes
LOCAL = {name for name, record in RECORDS.items() if record.recodes != "items"} - GROUPING  # group by group
KEEPING = {name for name, record in RECORDS.items() if record.keeps_type}  # all items, or they go
TRANSACTIONAL = with_guarantee(TransactionalK)  # all rows are published alike, k by k, with items or without
ALL_ROWS = (KEEPING - LOCAL) | TRANSACTIONAL  # rows without items need k like all others
BAGS = {name for name, record in RECORDS.items() if record.repeats}  # in whose rows a label can come again
SHARES = {"occurrences", "suppressed", "NCP", "LM", "S/N", "GGD", "NCP_relational", "suppressed_rows", "gap"}

algorithms = pytest.mark.parametrize("name", ARGUMENTS)
every_algorithm = pytest.mark.parametrize("name", [*ARGUMENTS, *IN_CHUNKS])
hiding = pytest.mark.parametrize("name", [name for name in ARGUMENTS if name not in WITH_SECRETS])


def listed(frame):
    """The rows of the list column, whatever its type; None for a missing row."""
    column = frame.iloc[:, find_column(frame)]
    if isinstance(column.dtype, pd.ArrowDtype):
        return arrow_values(column).to_pylist()
    return [None if row is pd.NA else row for row in column]


def sets_of(frame):
    return [None if row is None else set(row) for row in listed(frame)]


def rows_of(frame):
    return [frozenset(row or ()) for row in sets_of(frame)]


def bags_of(frame):
    """The rows of the list column with what they hold several times; None for a missing row."""
    return [None if row is None else sorted(row) for row in listed(frame)]


def as_sets(bags):
    return [None if bag is None else frozenset(bag) for bag in bags]


def items_of(frame):
    return sorted({item for row in sets_of(frame) for item in row or ()})


def arguments_of(name, frame, **asked):
    own = {} if name in IN_CHUNKS else ARGUMENTS[name](items_of(frame))
    arguments = {"k": 2, "m": 2} | own | asked
    accepted = {*inspect.signature(ALGORITHMS[name]).parameters}
    if name in GROUPING or "guarantee" in asked:
        accepted -= {"k", "m"}  # items stay as they are without; with them see its own tests
    return {key: value for key, value in arguments.items() if key not in ("k", "m") or key in accepted}


def is_possible(name, frame, k=2):
    """Whether the item that is sensitive is not the only one, and can be hidden among others."""
    if name not in WITH_SECRETS:
        return True
    rows, items = rows_of(frame), items_of(frame)
    if name in INFERRING:
        return len(items) > 0
    if name in GROUPING:
        n_present = sum(row is not None for row in sets_of(frame))
        return len(items) > 1 and 2 * sum(items[-1] in row for row in rows) <= n_present
    return sum(bool(row - {*items[-1:]}) for row in rows) >= k


def rules_at_risk(rows, guarantee, secrets):
    """Rows that hold known labels, no more than a rule may know, that are in few rows or tell a secret."""
    found = set()
    known = {
        frozenset(some)
        for row in rows
        for size in range(1, guarantee.rules.m + 1)
        for some in combinations(row - secrets, size)
    }
    for some in known:
        held = [row for row in rows if some <= row]
        most = max(sum(secret in row for row in held) for secret in secrets)
        if len(held) < guarantee.k or most > guarantee.c * len(held):
            found |= {number for number, row in enumerate(rows) if some <= row}
    return len(found)


def run(name, frame, **asked):
    return ALGORITHMS[name](frame, **arguments_of(name, frame, **asked))


# --- what is promised of every result


def verdict(frame, guarantee, column=None, **asked):
    """The number of rows at risk and the guarantee that it is of, or that the audit is refused."""
    try:
        audit = pdanon.audit(frame, guarantee, column, **asked)
    except PdanonError:
        return "refused"
    return audit.holds, audit.rows_at_risk, repr(audit.guarantee)


def verdicts(frame, guarantee, column=None):
    """Those of the audit and of the independent one."""
    return verdict(frame, guarantee, column), verdict(frame, guarantee, column, independent=True)


def assert_contract(frame, result):
    assert_released(frame, result)
    assert_mapping_of(frame, result)
    became = became_of(result)
    assert_truthful(frame, result, became)
    assert not RECOUNTS[type(result.guarantee)](result.guarantee, bags_of(result.frame))
    one, other = verdicts(result.frame, result.guarantee)
    assert one == other
    assert all(0 <= loss <= 1 for name, loss in result.loss.items() if name in SHARES)
    assert_losses_that_can_be_read(frame, result)


def assert_losses_that_can_be_read(frame, result):
    rows = [None if row is None else [*map(text, row)] for row in sets_of(frame)]
    released = [None if bag is None else [*map(text, bag)] for bag in bags_of(result.frame)]
    columns = (result.mapping[name] for name in ("group", "item", "generalized", "support"))
    entries = [
        (group, text(item), None if pd.isna(label) else text(label), support)
        for group, item, label, support in zip(*columns, strict=True)
    ]
    if sum(len(row) * (len(row) - 1) // 2 for row in rows if row) > 200:
        return  # then pairs are drawn
    expected = {name: float(value) for name, value in naive_losses.readable(rows, released, entries).items()}
    if result.parameters["algorithm"] in GROUPING:  # the second table tells more
        del expected["singles"], expected["pairs"]
    assert {name: result.loss[name] for name in expected} == pytest.approx(expected)
    total, labels = sum(entry[3] for entry in entries), len({entry[2] for entry in entries} - {None})
    items, shown = len({*chain.from_iterable(filter(None, rows))}), repr(result)
    assert f"% of {total:,} occurrences, " in shown
    assert f"  labels     {items:,} before, {labels:,} after" in shown


def assert_released(frame, result):
    """Index, order and names of columns, attrs and all other columns are those of the input."""
    position, released = find_column(frame), result.frame
    keeping = result.parameters["algorithm"] in KEEPING
    kind = result.mapping["item"].dtype.pyarrow_dtype if keeping else pa.string()
    pd.testing.assert_index_equal(released.index, frame.index, exact=True)
    added = ["group"] if result.parameters["algorithm"] in GROUPING else []
    assert [*released.columns] == [*frame.columns, *added]
    if not added:
        pd.testing.assert_index_equal(released.columns, frame.columns, exact=True)
    others = [place for place in range(frame.shape[1]) if place != position]
    pd.testing.assert_frame_equal(released.iloc[:, others], frame.iloc[:, others], check_categorical=False)
    assert released.attrs == frame.attrs
    assert released.iloc[:, position].dtype == pd.ArrowDtype(pa.list_(kind))
    assert not any(str(dtype).startswith("list") for dtype in released.dtypes)  # which pandas cannot read
    lists = pa.array(released.iloc[:, position]).to_pylist()
    assert all(row is None or row == sorted(row) for row in lists)


def assert_mapping_of(frame, result):
    """One row for each group, item and label, with the number of rows of the group where it became that."""
    mapping, groups, rows = result.mapping, groups_of(result), rows_of(frame)
    held = Counter((group, item) for group, row in zip(groups, rows, strict=True) for item in row)
    assert [*mapping.columns] == ["group", "item", "generalized", "support"]
    keeping = result.parameters["algorithm"] in KEEPING
    assert [*map(str, mapping.dtypes[["group", "support"]])] == ["int64", "int64"]
    assert isinstance(mapping["item"].dtype, pd.ArrowDtype)
    assert mapping["generalized"].dtype == (mapping["item"].dtype if keeping else pd.ArrowDtype(pa.string()))
    pd.testing.assert_index_equal(mapping.index, pd.RangeIndex(len(mapping)), exact=True)
    keys = [*zip(mapping["group"], mapping["item"], strict=True)]
    assert keys == sorted(keys)
    found = dict.fromkeys(keys, 0)
    for key, support in zip(keys, mapping["support"], strict=True):
        found[key] += support
    assert found == held
    algorithm = result.parameters["algorithm"]
    assert len(keys) == len(held) or algorithm in BAGS
    assert not mapping.duplicated(["group", "item", "generalized"]).any()
    assert (result.groups is not None) == (algorithm in LOCAL)
    if result.groups is not None:
        pd.testing.assert_index_equal(result.groups.index, frame.index, exact=True)


def groups_of(result):
    return [0] * len(result.frame) if result.groups is None else result.groups.tolist()


def became_of(result):
    """The labels of each item in each group, None where it is suppressed; more than one only in bags."""
    labels = result.mapping["generalized"]
    keys = zip(result.mapping["group"], result.mapping["item"], strict=True)
    became = {}
    for key, label in zip(keys, labels.astype(object).where(labels.notna(), None), strict=True):
        became.setdefault(key, []).append(label)
    return became


def assert_truthful(frame, result, became):
    """Each row is published as what its items became, no more and no less."""
    algorithm = result.parameters["algorithm"]
    if algorithm in KEEPING:
        assert all({None, item} >= {*labels} for (_, item), labels in became.items())
    for group, row, bag in zip(groups_of(result), rows_of(frame), bags_of(result.frame), strict=True):
        choices = [became[group, item] for item in sorted(row)]
        if algorithm in BAGS:
            assert covers(bag or [], choices)
        else:
            assert (bag or []) == sorted({label for (label,) in choices} - {None})
    stay = missing_rows_stay(frame, result, became)
    missing = [row is None and stay for row in sets_of(frame)]
    assert [row is None for row in sets_of(result.frame)] == missing
    if result.parameters.get("hierarchy") is not None:
        above = names_above(result.parameters["hierarchy"])
        for (_, item), labels in became.items():
            assert {None, text(item), *above.get(text(item), ())} >= {*labels}


def missing_rows_stay(frame, result, became):
    """Unless something is suppressed, or rows that hold nothing would be too few if they looked different."""
    if any(None in labels for labels in became.values()):
        return False
    if result.parameters["algorithm"] in TRANSACTIONAL:
        return set() not in sets_of(frame)
    return result.parameters["algorithm"] not in KEEPING or not RECOUNTS[type(result.guarantee)](
        result.guarantee, bags_of(frame)
    )


def covers(bag, choices):
    """Whether each label is what an item of its own has become, and the other items were suppressed."""
    if not choices:
        return not bag
    first, *others = choices
    return any(
        covers(bag, others) if label is None else label in bag and covers(without(bag, label), others)
        for label in first
    )


def without(bag, label):
    return [*bag[: bag.index(label)], *bag[bag.index(label) + 1 :]]


def names_above(tree, path=()):
    """The categories above each leaf of a nested dict."""
    if isinstance(tree, dict):
        parts = [names_above(below, (name, *path)) for name, below in tree.items()]
        return {leaf: names for part in parts for leaf, names in part.items()}
    return {text(leaf): path for leaf in tree}


def text(item):
    if isinstance(item, str):
        return item
    if isinstance(item, dt.datetime):  # as one text, in whatever unit pandas counts it
        return str(item)
    return pa.scalar(item).cast(pa.string()).as_py()
