"""Explanations of quasi-identifiers, inferences and local recodings, compared with naive counts."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import assume, given, settings, strategies as st
from naive import (
    coherence as naive_coherence,
    inferences as naive_inferences,
    itemsets as naive,
    rt as naive_rt,
    rules as naive_rules,
)
from test_explain import PATHS, TREE, set_label

import pdanon
from examples import examples
from pdanon import InfeasibleError, ParameterError, Transaction

QUASI = st.lists(st.sampled_from([1, 2, 3, 4]), min_size=12, max_size=12)


def groups_of(result):
    return [0] * len(result.frame) if result.groups is None else result.groups.tolist()


def labels_of(result):
    """The label of each item in each group; None if it is suppressed."""
    columns = zip(*(result.mapping[name] for name in ("group", "item", "generalized")), strict=True)
    return {(group, item): None if pd.isna(label) else label for group, item, label in columns}


def restored(labels, item, paths=None):
    """The labels if an item is restored in each group that changed it."""
    changed = dict(labels)
    for (group, other), label in labels.items():
        if other != item or label == item:
            continue
        beside = [one for (where, one), same in labels.items() if where == group and same == label]
        if label is None:
            changed[group, item] = item
        elif paths is not None:
            changed |= {(group, one): paths[one][paths[one].index(label) + 1] for one in beside}
        else:
            rest = [one for one in beside if one != item]
            changed |= {(group, item): item} | {(group, one): set_label(rest) for one in rest}
    return changed


def published(rows, groups, labels):
    found = [{labels[group, item] for item in row} for group, row in zip(groups, rows, strict=True)]
    return [frozenset(labels - {None}) for labels in found]


def keys(table, *more):
    """The distinct threats that are not about emptied rows."""
    table = table[table["why"] != "emptied"]
    columns = [map(frozenset, pa.array(table["itemset"]).to_pylist()), *(table[name] for name in more)]
    found = [*zip(*columns, strict=True)]
    assert len({*found}) == len(found)
    return {*found}


def check(result, frame, rows, item, listed, oracle, paths=None):
    """Compare an explanation with the oracle of the original and of the release with the item restored."""
    why, labels, groups = result.explain(item, frame), labels_of(result), groups_of(result)
    own = {label for (_, other), label in labels.items() if other == item}
    assert why.kept == (own == {item})
    assert {*(why.became if isinstance(why.became, tuple) else [why.became])} == own
    assert listed(why.threats) == {each for each in oracle(rows, item) if item in flat(each)}
    expected = set() if why.kept else oracle(published(rows, groups, restored(labels, item, paths)), None)
    assert listed(why.exposed) == expected
    assert SECRET not in repr(why) + why._repr_html_()
    return why


def flat(key):
    """The items of a threat, known or inferred."""
    parts = [part if isinstance(part, frozenset) else frozenset([part]) for part in key]
    return frozenset().union(*parts)


# --- Inferences


@settings(max_examples=examples(16))
@given(
    rows=row_lists(least=3, most=10, longest=4),
    rho=st.sampled_from([0.3, 0.5, 0.7]),
    m=st.sampled_from([1, 2, None]),
    name=st.sampled_from(["suppress_control", "td_control"]),
    data=st.data(),
)
def test_rho_uncertainty(rows, rho, m, name, data):
    items = sorted(frozenset().union(*rows))
    sensitive = data.draw(st.sets(st.sampled_from(items), min_size=1, max_size=2)) if items else assume(False)
    frame, asked = frame_of(rows), {"hierarchy": TREE} if name == "td_control" else {}
    result = getattr(pdanon, name)(frame, rho=rho, sensitive=sorted(sensitive), m=m, **asked)
    assume(result.guarantee.m == m)  # a search that reaches its limit proves less

    def oracle(rows, _):
        found = naive_inferences.breaking_rules(rows, Fraction(str(rho)), sensitive, m)
        return naive_inferences.minimal_rules(found)

    def listed(table):
        return keys(table, "sensitive")

    item = data.draw(st.sampled_from(items))
    why = check(result, frame, rows, item, listed, oracle, PATHS if asked else None)
    assert (why.k, why.k_alone, why.loss_then) == (None, None, None)


@settings(max_examples=examples(16))
@given(
    rows=row_lists(least=3, most=10, longest=4),
    h=st.sampled_from([0.4, 0.7, 1]),
    p=st.integers(1, 3),
    name=st.sampled_from(["coherence", "suppress_public"]),
    data=st.data(),
)
def test_coherence(rows, h, p, name, data):
    items = sorted(frozenset().union(*rows))
    assume(len(items) > 1)
    private = data.draw(st.sets(st.sampled_from(items), min_size=1, max_size=2))
    frame = frame_of(rows)
    try:
        result = getattr(pdanon, name)(frame, h=h, k=2, p=p, private=sorted(private))
    except InfeasibleError:
        assume(False)

    def oracle(rows, item):
        share, hidden = Fraction(str(h)), private if item is None or item not in private else {item}
        rows = [row - (private - hidden) for row in rows]
        moles = naive_coherence.minimal_moles(rows, share, 2, p, hidden)
        return {(mole, why_of(rows, mole)) for mole in moles}

    def why_of(rows, mole):
        return "support" if naive.support(rows, mole) < 2 else "breach"

    item = data.draw(st.sampled_from(items))
    if item in private:  # only what it can be inferred from
        why = result.explain(item, frame)
        expected = {mole for mole, why in oracle(rows, item) if why == "breach"}
        assert {mole for (mole,) in keys(why.threats)} == expected
    else:
        check(result, frame, rows, item, lambda table: keys(table, "why"), oracle)


@settings(max_examples=examples(16))
@given(rows=row_lists(least=4, most=10, longest=4), c=st.sampled_from([0.4, 0.7]), data=st.data())
def test_ps_rules(rows, c, data):
    items = sorted(frozenset().union(*rows))
    assume(len(items) > 2)
    secret, *public = data.draw(st.permutations(items))
    known = st.sets(st.sampled_from(public), min_size=1, max_size=2)
    rules = [(sorted(each), [secret]) for each in data.draw(st.lists(known, min_size=1, max_size=4))]
    frame = frame_of(rows)
    try:
        result = pdanon.ps_rules(frame, rules=rules, k=2, c=c, suppress=True)
    except InfeasibleError:
        assume(False)
    item = data.draw(st.sampled_from(items))
    labels, sets = labels_of(result), [(frozenset(known), frozenset(secret)) for known, secret in rules]

    def oracle(rows, item):
        own = {one: one for one in items}
        after = {one: label for (_, one), label in restored(labels, asked).items()}
        found = naive_rules.broken(rows, sets, 2, Fraction(str(c)), own if item is not None else after)
        return {(known, inferred) for known, inferred, _ in found}

    def listed(table):
        return {*zip(map(frozenset, table["itemset"]), map(frozenset, table["sensitive"]), strict=True)}

    asked = item
    why = result.explain(item, frame)
    assert listed(why.threats) == {each for each in oracle(rows, item) if item in each[0] | each[1]}
    if not why.kept:
        left = why.exposed[why.exposed["why"] != "emptied"]
        assert listed(left) == oracle(published(rows, groups_of(result), restored(labels, item)), None)


# --- Quasi-identifiers: the recoding is local


@pytest.mark.slow
@settings(max_examples=examples(16))
@given(
    rows=row_lists(items="abcdef", least=6, most=12, longest=4),
    quasi=QUASI,
    m=st.integers(1, 2),
    nodes=st.booleans(),
    data=st.data(),
)
def test_quasi_identifiers(rows, quasi, m, nodes, data):
    items = sorted(frozenset().union(*rows))
    assume(items)
    frame = frame_of(rows).assign(age=quasi[: len(rows)])
    transaction = Transaction("apriori", hierarchy=TREE) if nodes else "pcta"
    result = pdanon.rfirst(frame, "items", k=2, m=m, quasi=["age"], transaction=transaction, random_state=0)
    classes = [*map(str, result.frame["age"])]

    def oracle(rows, _):
        found = naive_rt.minimal(naive_rt.kkm_broken([*zip(classes, rows, strict=True)], 2, m))
        return {(part, own, support) for (own, part), (support, _) in found.items()}

    def listed(table):
        return keys(table.assign(age=[*map(str, table["age"])]), "age", "support")

    item = data.draw(st.sampled_from(items))
    check(result, frame, rows, item, listed, oracle, PATHS if nodes else None)


@settings(max_examples=examples(16))
@given(rows=row_lists(items="abcst", least=6, most=12, longest=4), quasi=QUASI, data=st.data())
def test_quasi_identifiers_and_sensitive_items(rows, quasi, data):
    items = sorted(frozenset().union(*rows))
    sensitive = {*items} & {*"st"}
    assume(sensitive)
    frame = frame_of(rows).assign(age=quasi[: len(rows)])
    transaction = Transaction("pcta", sensitive=sorted(sensitive), l=2)
    asked = {"k": 2, "m": 2, "quasi": ["age"], "random_state": 0}
    try:
        result = pdanon.rfirst(frame, "items", transaction=transaction, **asked)
    except InfeasibleError:
        assume(False)
    classes = [*map(str, result.frame["age"])]

    def oracle(rows, item):
        hidden = sensitive if item is None or item not in sensitive else {item}
        rows = [(own, row - (sensitive - hidden)) for own, row in zip(classes, rows, strict=True)]
        found = naive_rt.minimal(naive_rt.klm_broken(rows, 2, 2, 2, frozenset(hidden)))
        return {(part, own, why) for (own, part), (_, why) in found.items()}

    def listed(table):
        return keys(table.assign(age=[*map(str, table["age"])]), "age", "why")

    item = data.draw(st.sampled_from(items))
    if item in sensitive:
        why = result.explain(item, frame)
        assert listed(why.threats) == {each for each in oracle(rows, item) if each[2] == "diversity"}
    else:
        check(result, frame, rows, item, listed, oracle)


@settings(max_examples=examples(20))
@given(rows=row_lists(least=4, most=12, longest=4), data=st.data())
def test_parts_of_a_table(rows, data):
    assume(sum(map(bool, rows)) >= 4)
    frame = frame_of(rows)
    result = pdanon.lra(frame, k=2, m=2, hierarchy=TREE, parts=2)
    item = data.draw(st.sampled_from(sorted(frozenset().union(*rows))))
    why = result.explain(item, frame)
    threats = naive.km_threats(rows, 2, 2)
    assert {*map(frozenset, why.threats["itemset"])} == {each for each in threats if item in each}
    labels, groups = labels_of(result), groups_of(result)
    if not why.kept:
        after = published(rows, groups, restored(labels, item, PATHS))
        exposed = {*map(frozenset, why.exposed["itemset"])} - {frozenset()}
        assert exposed == {*naive.km_threats(after, 2, 2)} - {frozenset()}


def test_a_worked_case():
    """Of the two rows of the class, one has salt: a pair of labels would show it."""
    rows = [["rice", "tea"], ["salt", "tea"], ["rice"], ["rice"]]
    frame = pd.DataFrame({"age": [30, 30, 50, 50], "items": rows})
    result = pdanon.rfirst(frame, k=2, m=2, quasi=["age"], random_state=0)
    why = result.explain("salt", frame)
    assert why.became == "(rice,salt)"
    assert [*why.threats["itemset"].map(list)] == [["salt"]]
    assert why.threats["age"].astype(str).tolist() == [str(result.frame["age"].iloc[1])]
    assert {*map(tuple, why.exposed["itemset"])} == {("rice",), ("salt",)}
    several = result.explain("rice", frame)
    assert {*several.became} == {"rice", "(rice,salt)"}
    assert "2 labels, by group" in repr(several)


def test_what_is_refused():
    frame = pd.DataFrame({"age": [30, 30, 50, 50], "one": [["a"]] * 4, "two": [["b"]] * 4})
    transaction = Transaction(columns=["one", "two"])
    result = pdanon.rfirst(frame, k=2, m=1, quasi=["age"], transaction=transaction, random_state=0)
    with pytest.raises(ParameterError, match="one list column is explained"):
        result.explain("a", frame)
    rows = [["rice", "tea"], ["salt", "tea"], ["rice"], ["rice"]]
    frame = pd.DataFrame({"age": [30, 30, 50, 50], "items": rows})
    local = pdanon.rfirst(frame, k=2, m=2, quasi=["age"], random_state=0)
    for other in (rows[::-1], [["rice", "tea"], ["salt", "milk"], ["rice"], ["rice"]]):
        with pytest.raises(ParameterError, match=r"not of this frame|lacks items"):
            local.explain("rice", frame.assign(items=other))
    with pytest.raises(ParameterError, match="does not occur"):
        local.explain(SECRET, frame)
