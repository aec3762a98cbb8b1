"""Audits of several releases: against an enumeration of attackers, and bad input."""

from __future__ import annotations

import pickle
import random
from itertools import combinations

import pandas as pd
import pyarrow as pa
import pytest
from conftest import frame_of, rows_of
from naive import series as naive

import pdanon
from examples import ALL, MANY, seeds
from pdanon import KAnonymity, KKm, KmAnonymity, LmDiversity, ParameterError, PrivacyConstraints

ITEMS = "abcde"


def random_series(draw, *, sensitive=frozenset()):
    """Releases of the same persons, each with its own recoding: rows and mappings."""
    number, people = draw.randint(2, 4), range(draw.randint(2, 12))
    rows = {one: {item for item in ITEMS if draw.random() < 0.4} for one in people}
    releases, mappings = [], []
    for _ in range(number):
        for one in people:  # some persons change an item
            if draw.random() < 0.2:
                rows[one] ^= {draw.choice(ITEMS)}
        there = [one for one in people if draw.random() < 0.85] or [0]
        occurring = sorted(set().union(*(rows[one] for one in there)) | sensitive)
        known, mapping = [item for item in occurring if item not in sensitive], {}
        sets = [draw.randrange(3) for _ in known]
        for chosen in set(sets):
            members = [item for item, each in zip(known, sets, strict=True) if each == chosen]
            label = members[0] if len(members) == 1 else f"({','.join(members)})"
            mapping |= dict.fromkeys(members, None if draw.random() < 0.1 else label)
        mapping |= {item: item for item in sensitive}
        release = {one: frozenset(mapping[item] for item in rows[one]) - {None} for one in there}
        releases.append({one: None if draw.random() < 0.05 else row for one, row in release.items()})
        mappings.append(mapping)
    return releases, mappings


def table(release, values=None):
    """A released frame in a random order of persons."""
    frame = frame_of(list(release.values())).assign(id=[f"p{one}" for one in release])
    if values is not None:
        frame["age"] = [values[one] for one in release]
    return frame.sample(frac=1, random_state=len(release))


def mapping_table(mapping):
    return pd.DataFrame(
        {"group": 0, "item": [*mapping], "generalized": pd.Series([*mapping.values()], dtype=object)}
    )


def audited(guarantee, releases, mappings=None, values=None, **options):
    frames = [table(each, values and values[i]) for i, each in enumerate(releases)]
    if mappings is None:
        return pdanon.after(frames[-1], frames[:-1], key="id").audit(guarantee, "items", **options)
    pairs = [(frame, mapping_table(each)) for frame, each in zip(frames, mappings, strict=True)]
    return series_of(pairs).audit(guarantee, "items", **options)


def series_of(pairs, key="id"):
    """The last release, after the others."""
    frame, mapping = pairs[-1]
    return pdanon.after(frame, pairs[:-1], key=key, mapping=mapping)


def counts(audit, knows="present"):
    lines = audit.spans[audit.spans["knows"] == knows]
    return {
        (first, last): n
        for first, last, n in zip(lines["first"], lines["last"], lines["rows_at_risk"], strict=True)
    }


def threats(audit, span):
    found = audit.threats
    found = found[(found["first"] == span[0]) & (found["last"] == span[1])]
    lists = pa.array(found["itemset"]).to_pylist()
    sets = [frozenset(frozenset(label.strip("()").split(",")) for label in labels) for labels in lists]
    return dict(zip(sets, found["support"], strict=True))


def read_from_labels(releases):
    """What labels tell without mappings: items that no label names may be suppressed."""
    named = [
        {item: label for row in each.values() for label in row or () for item in label.strip("()").split(",")}
        for each in releases
    ]
    everything = {item for each in named for item in each}
    return [dict.fromkeys(everything) | each for each in named]


def test_labels_that_may_stand_for_items_of_other_releases_are_warned_of():
    """Nodes of a hierarchy, without the mapping: what they hide is not counted."""
    may, june = frame_of([["a"], ["a"], ["b"], ["b"]]), frame_of([["m"], ["n"], ["m"], ["n"]])
    pair = may, mapping_table({"a": "a", "b": "b"})
    key = [may.index, june.index]
    with pytest.warns(pdanon.ReleaseWarning, match="no label of the newest release names 2 of the 4 items"):
        assert june.txanon.after(pair, key=key).audit(KmAnonymity(2, 1)).holds
    mapping = mapping_table({"a": "m", "b": "n"})
    assert not june.txanon.after(pair, key=key, mapping=mapping).audit(KmAnonymity(2, 1)).holds


@pytest.mark.filterwarnings("ignore:no label of")
@pytest.mark.parametrize("seed", seeds(50))
def test_each_attacker_is_counted(seed):
    """5,000 random series in all, by labels alone and with mappings."""
    draw = random.Random(seed)
    for _ in range(100 if ALL else 20 if MANY else 6):
        releases, mappings = random_series(draw)
        if not draw.randrange(3):
            mappings = read_from_labels(releases)
            known = None
        else:
            known = mappings
        k, m = draw.randint(2, 4), draw.randint(1, 3)
        audit = audited(KmAnonymity(k, m), releases, known)
        expected = {
            span: naive.km_audit(releases, mappings, span, k, m) for span in naive.spans_of(len(releases))
        }
        assert counts(audit) == {span: len(exposed) for span, (_, exposed) in expected.items()}
        for span, (found, _) in expected.items():
            assert threats(audit, span) == found
        at_risk = set().union(*(exposed for _, exposed in expected.values()))
        assert audit.rows_at_risk >= len(at_risk)
        if known is None:  # without mappings, no row counts as emptied
            assert audit.rows_at_risk == len(at_risk)
            assert audit.holds == (not at_risk)


@pytest.mark.parametrize("seed", seeds(20, 100))
def test_knowledge_of_joining_and_of_all_presence(seed):
    draw = random.Random(seed)
    for _ in range(20 if ALL else 8 if MANY else 4):
        releases, mappings = random_series(draw)
        k, m = draw.randint(2, 3), draw.randint(1, 2)
        there = {
            one: tuple(i for i, each in enumerate(releases) if each.get(one) is not None)
            for one in set().union(*releases)
        }
        expected = {}
        for span in naive.spans_of(len(releases)):
            persons = {one for one in naive.present(releases, span) if there[one][0] == span[0]}
            expected[span] = len(naive.km_audit(releases, mappings, span, k, m, persons)[1])
        assert counts(audited(KmAnonymity(k, m), releases, mappings, spans="joined"), "joined") == expected
        total = 0
        for pattern in {*there.values()} - {()}:  # the releases of a pattern, as a series of their own
            own = [{one: row for one, row in releases[i].items() if there[one] == pattern} for i in pattern]
            kept = [mappings[i] for i in pattern]
            total += len(naive.km_audit(own, kept, (0, len(own) - 1), k, m)[1])
        lines = audited(KmAnonymity(k, m), releases, mappings, spans="any").spans
        assert lines[lines["knows"] == "any"]["rows_at_risk"].sum() == total


@pytest.mark.slow
@pytest.mark.parametrize("seed", seeds(20, 200))
def test_other_guarantees(seed):
    draw = random.Random(seed)
    for _ in range(20 if ALL else 8):
        releases, mappings = random_series(draw, sensitive=frozenset("e"))
        if not any("e" in (row or ()) for row in releases[-1].values()):
            continue  # an audit of the last release alone refuses sensitive items that do not occur
        spans, k, m = naive.spans_of(len(releases)), draw.randint(2, 3), draw.randint(1, 2)
        audit = audited(LmDiversity(l=2, m=m, k=k, sensitive=["e"]), releases, mappings)
        expected = [naive.lm_exposed(releases, mappings, span, k, m, 2, {"e"}) for span in spans]
        assert [*counts(audit).values()] == [*map(len, expected)]
        assert {*zip(audit.threats["first"], audit.threats["last"], strict=True)} == {
            span for span, each in zip(spans, expected, strict=True) if each
        }
        wanted = [draw.sample([*mappings[-1]], min(2, len(mappings[-1]))) for _ in range(3)]
        audit = audited(PrivacyConstraints(constraints=wanted, k=k), releases, mappings)
        expected = [naive.constraint_exposed(releases, mappings, span, k, wanted) for span in spans]
        assert [*counts(audit).values()] == [*map(len, expected)]
        filled = [{one: row or frozenset() for one, row in each.items()} for each in releases]
        values = [{one: draw.choice([30, 41]) for one in each} for each in releases]
        audit = audited(KAnonymity(k=k, quasi=["age"]), filled, values=values)
        expected = [naive.class_exposed(values, filled, span, k) for span in spans]
        assert [*counts(audit).values()] == [*map(len, expected)]
        assert audit.threats["size"].sum() == sum(map(len, expected))
        audit = audited(KKm(k=k, m=m, quasi=["age"]), filled, mappings, values)
        for span, found in counts(audit).items():
            persons = naive.present(filled, span)
            chosen = range(span[0], span[1] + 1)
            ages = {one: tuple(values[each][one] for each in chosen) for one in persons}
            classes = [{one for one in persons if ages[one] == age} for age in {*ages.values()}]
            assert found == sum(
                len(naive.km_audit(filled, mappings, span, k, m, each)[1]) for each in classes
            )


@pytest.mark.parametrize("seed", seeds(10, 300))
def test_the_risk_of_a_span_is_that_of_its_attackers(seed):
    draw = random.Random(seed)
    for _ in range(10):
        releases, mappings = random_series(draw)
        k, m = draw.randint(2, 4), draw.randint(1, 2)
        pairs = [(table(each), mapping_table(one)) for each, one in zip(releases, mappings, strict=True)]
        risk = series_of(pairs).risk("items", k=k, m=m)
        for first, last, singled_out, below_k, rows in risk.itertuples(index=False):
            assert rows == len(naive.present(releases, (first, last)))
            for share, least in ((singled_out, 2), (below_k, k)):
                exposed = naive.km_audit(releases, mappings, (first, last), least, m)[1]
                assert share == (len(exposed) / rows if rows else 0)


@pytest.mark.parametrize("seed", seeds(10, 400))
def test_dropping_is_counted_round_by_round(seed):
    draw = random.Random(seed)
    for _ in range(30 if ALL else 6):
        releases, mappings = random_series(draw)
        k, m = draw.randint(2, 4), draw.randint(1, 2)
        dropping = audited(KmAnonymity(k, m), releases, mappings).dropping
        expected = naive.drop_exposed(releases, mappings, k, m)
        assert dropping["dropped"].tolist() == expected
        assert dropping["round"].tolist() == [*range(1, len(expected) + 1)]
        people = sum(row is not None for row in releases[-1].values())
        assert dropping["left"].tolist() == [people - sum(expected[: i + 1]) for i in range(len(expected))]
        assert (dropping["rows"] - dropping["dropped"] == dropping["left"]).all()


def test_dropping_belongs_to_a_series():
    assert pdanon.audit(BASE, KmAnonymity(2, 1)).dropping is None
    audit = pdanon.after(BASE, BASE, key="id").audit(KmAnonymity(2, 1))
    again = pickle.loads(pickle.dumps(audit))
    pd.testing.assert_frame_equal(again.dropping, audit.dropping)


@pytest.mark.parametrize("seed", seeds(10, 500))
def test_rows_that_fit_by_their_labels_are_counted(seed):
    draw = random.Random(seed)
    for _ in range(30 if ALL else 6):
        releases, mappings = random_series(draw)
        k = draw.randint(2, 4)
        pairs = [(table(each), mapping_table(one)) for each, one in zip(releases, mappings, strict=True)]
        risk = series_of(pairs).risk("items", k=k, linked=False)
        newest = {one: row for one, row in releases[-1].items() if row is not None}
        for number, last, singled_out, below_k, rows in risk.itertuples(index=False):
            found = []
            for one, row in releases[number].items():
                if row is not None and one in newest:
                    fit = {
                        other
                        for other in newest
                        if naive.fits(row, newest[other], (mappings[number], mappings[-1]))
                    }
                    found.append((one in fit, len(fit)))
            assert (last, rows) == (len(releases) - 1, len(found))
            assert singled_out == (sum(own and n == 1 for own, n in found) / rows if rows else 0)
            assert below_k == (sum(own and n < k for own, n in found) / rows if rows else 0)


@pytest.mark.parametrize("seed", range(4))
def test_releases_of_two_publishers_leave_the_persons_in_the_candidates_of_both(seed):
    rng = random.Random(seed)
    rows = [frozenset(rng.sample("abcdef", rng.randint(1, 3))) for _ in range(40)]
    parts = [sorted(rng.sample(range(40), 28)) for _ in range(2)]
    tables = [frame_of([rows[person] for person in part]) for part in parts]
    tree = {"*": {"x": list("ab"), "y": list("cd"), "z": list("ef")}}
    releases = [tables[0].txanon.pcta(k=3, m=2), tables[1].txanon.optimal(k=2, m=2, hierarchy=tree)]
    labels = [dict(zip(each.mapping["item"], each.mapping["generalized"], strict=True)) for each in releases]
    both = sorted({*parts[0]} & {*parts[1]})
    looks = {person: [{label[item] for item in rows[person]} for label in labels] for person in both}

    def holds(person, known):
        return all(
            {label[i] for i in known} <= look for label, look in zip(labels, looks[person], strict=True)
        )

    exposed = sum(
        any(
            holds(person, known) and sum(holds(other, known) for other in both) < 3
            for size in (1, 2)
            for known in combinations("abcdef", size)
        )
        for person in both
    )
    for order in (1, -1):
        newest, earlier = releases[::-order]
        risk = newest.frame.txanon.after(earlier, key=parts[::order], mapping=newest.mapping).risk(k=3, m=2)
        assert risk["below_k"].iloc[1] == exposed / len(both)


def test_risk_with_earlier_releases_is_about_items():
    series = pdanon.after(BASE, BASE, key="id")
    with pytest.raises(ParameterError, match="linked"):
        series.risk(k=2, linked=1)
    with pytest.raises(ParameterError, match="risk has no parameter 'quasi'"):
        series.risk(k=2, quasi=["id"])


def test_a_person_alone_in_two_releases_is_at_risk():
    """Presence in both months is knowledge, too."""
    january = table({1: {"a"}, 2: {"a"}, 3: {"a"}})
    february = table({3: {"a"}, 4: {"a"}, 5: {"a"}})
    audit = february.txanon.after(january, key="id").audit(KmAnonymity(2, 1))
    assert counts(audit) == {(0, 0): 0, (0, 1): 1, (1, 1): 0}
    assert audit.threats["support"].tolist() == [1]
    assert pa.array(audit.threats["itemset"]).to_pylist() == [[]]


def test_a_row_at_risk_in_the_newest_release_alone_is_at_risk():
    """b is suppressed, which emptied one row of February."""
    january, february = {1: {"a"}, 2: {"a"}}, {1: {"a"}, 2: {"a"}, 3: set()}
    audit = audited(KmAnonymity(2, 1), [january, february], [{"a": "a"}, {"a": "a", "b": None}])
    assert counts(audit) == {(0, 0): 0, (0, 1): 0, (1, 1): 0}
    assert audit.rows_at_risk == 1


def test_a_person_without_items_who_is_alone_in_a_joint_class_is_at_risk():
    january, february = {1: set(), 2: set(), 3: set()}, {1: set(), 2: set(), 3: set()}
    values = [{1: 30, 2: 30, 3: 30}, {1: 30, 2: 30, 3: 41}]
    audit = audited(KKm(k=2, m=1, quasi=["age"]), [january, february], values=values)
    assert counts(audit) == {(0, 0): 0, (0, 1): 1, (1, 1): 1}


def test_a_sensitive_item_is_held_by_at_most_one_in_l_of_the_persons_of_both_releases():
    """Of the three that are in both, two have s; of the four of each month, half."""
    january = {1: {"s"}, 2: {"s"}, 3: {"a"}, 4: {"a"}}
    february = {1: {"s"}, 2: {"s"}, 3: {"a"}, 5: {"a"}}
    audit = audited(LmDiversity(l=2, m=1, k=None, sensitive=["s"]), [january, february])
    assert counts(audit) == {(0, 0): 0, (0, 1): 3, (1, 1): 0}


def test_each_code_of_a_range_is_limited_alone(tmp_path):
    """Two of four have a code of the range, and one has each."""
    (tmp_path / "codes.txt").write_text("s1*\n")
    rows = {1: {"s10"}, 2: {"s11"}, 3: {"a"}, 4: {"a"}}
    for sensitive in (["s10", "s11"], tmp_path / "codes.txt"):
        assert audited(LmDiversity(l=3, m=1, k=None, sensitive=sensitive), [rows, rows]).holds
        assert not audited(LmDiversity(l=5, m=1, k=None, sensitive=sensitive), [rows, rows]).holds


def test_deltas_cannot_be_intersected():
    rows = [{"a"}, {"a"}, {"b"}, {"b"}]
    january = frame_of(rows).assign(id=range(4))
    february = frame_of(rows).assign(id=range(4, 8))
    audit = february.txanon.after(january, key="id").audit(KmAnonymity(2, 1))
    assert audit.holds
    assert audit.spans["rows"].tolist() == [4, 0, 4]


MAY = frame_of([["(a,b)"], ["(a,b)"], ["(c,d)"], ["(c,d)"]])
JUNE = frame_of([["(a,c)"], ["(b,d)"], ["(a,c)"], ["(b,d)"]])
TIMES = pd.date_range("2026", periods=4)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (TIMES, TIMES.tz_localize("UTC")),
        ([0, 1, 2, 3], ["0", "1", "2", "3"]),
        ([0, 1, 2, "3"], ["0", "1", "2", 3]),
        (TIMES, TIMES.date),
    ],
)
def test_keys_that_are_never_equal_are_refused(before, after):
    one, other = (pd.Series(keys, dtype=object) for keys in (list(before), list(after)))
    with pytest.raises(ParameterError, match="keys of several types link no rows"):
        JUNE.assign(id=other).txanon.after(MAY.assign(id=one), key="id").audit(KmAnonymity(2, 2))


def test_an_audit_says_if_it_links_nobody():
    apart = JUNE.assign(id=["1 ", "2 ", "3 ", "4 "])
    audit = apart.txanon.after(MAY.assign(id=[*"1234"]), key="id").audit(KmAnonymity(2, 2))
    assert audit.holds
    assert "linked='id' (nobody in two releases)" in repr(audit)


def test_an_index_of_several_levels_links_rows():
    index = pd.MultiIndex.from_product([["north", "south"], [1, 2]])
    may, june = MAY.set_axis(index), JUNE.set_axis(index)
    assert june.txanon.after(may).audit(KmAnonymity(2, 2)).rows_at_risk == 4
    assert june.txanon.after(may).risk(k=2, m=2)["below_k"].tolist() == [0, 1, 0]
    with pytest.raises(ParameterError, match="keys of several types link no rows"):
        june.txanon.after(may.rename(index=str)).audit(KmAnonymity(2, 2))
    missing = pd.MultiIndex.from_tuples([("north", 1), ("north", None), ("south", 1), ("south", 2)])
    with pytest.raises(ParameterError, match="a key is missing"):
        june.txanon.after(MAY.set_axis(missing)).audit(KmAnonymity(2, 2))


def test_a_key_of_lists_is_refused():
    keyed = [each.assign(id=[[1], [2], [3], [4]]) for each in (MAY, JUNE)]
    with pytest.raises(ParameterError, match="a key is a list"):
        keyed[1].txanon.after(keyed[0], key="id").audit(KmAnonymity(2, 2), "items")


def test_rows_are_linked_by_index_or_key():
    january, february = frame_of([{"a"}, {"a"}, {"b"}, {"b"}]), frame_of([{"a"}, {"b"}, {"b"}, {"a"}])
    named = january.set_axis([*"wxyz"])
    audit = february.set_axis([*"wyzx"]).txanon.after(named).audit(KmAnonymity(2, 1))
    assert (audit.holds, audit.linked) == (True, "index")
    audit = february.set_axis([*"wxyz"]).txanon.after(named).audit(KmAnonymity(2, 1))
    assert (audit.holds, audit.rows_at_risk) == (False, 2)
    assert "linked=index" in repr(audit)
    assert "index" in audit._repr_html_()
    keys = february.assign(id=[0, 2, 3, 1])
    audit = keys.txanon.after(january.assign(id=range(4)), key="id").audit(KmAnonymity(2, 1))
    assert (audit.holds, audit.linked) == (True, "'id'")
    counted = pd.Index(range(4), name="id")  # a name says that the numbers are persons
    audit = february.set_axis(counted).txanon.after(january.set_axis(counted)).audit(KmAnonymity(2, 1))
    assert (audit.rows_at_risk, audit.linked) == (2, "index")


@pytest.mark.parametrize("seed", seeds(5, 600))
def test_persons_beside_the_releases_link_as_a_column_does(seed):
    """In any order of the rows, and without a column of the releases."""
    draw = random.Random(seed)
    releases, mappings = random_series(draw)
    frames = [table(each) for each in releases]
    pairs = [(frame, mapping_table(each)) for frame, each in zip(frames, mappings, strict=True)]
    k, m = draw.randint(2, 4), draw.randint(1, 2)
    audit = series_of(pairs).audit(KmAnonymity(k, m), "items")
    shuffled = [frame.sample(frac=1, random_state=seed).reset_index(drop=True) for frame in frames]
    ids = [frame.pop("id") for frame in shuffled]
    others = [*zip(shuffled, (each for _, each in pairs), strict=True)]
    for key in (ids, [each.to_numpy(object) for each in ids]):
        other = series_of(others, key).audit(KmAnonymity(k, m))
        assert (other.rows_at_risk, other.linked.split()[0]) == (audit.rows_at_risk, "key")
        pd.testing.assert_frame_equal(other.spans, audit.spans)
        risk = series_of(others, key).risk(k=k, m=m)
        pd.testing.assert_frame_equal(risk, series_of(pairs).risk(k=k, m=m))


@pytest.mark.parametrize("link", [pdanon.AfterReleases.audit, pdanon.AfterReleases.risk])
def test_the_order_of_rows_links_nobody(link):
    rows = [{"a"}, {"a"}, {"b"}, {"b"}]
    january, february, named = frame_of(rows), frame_of(rows), frame_of(rows).set_axis([*"wxyz"])
    result = pdanon.pcta(pd.DataFrame({"items": [["a"], ["a"]]}), k=2, m=1)
    for newest, earlier, where in (
        (february, january, "previous, index"),
        (february, [result], "previous[0], index"),
        (february.iloc[1:], january, "previous, index"),  # the rest counts rows of February
        (february, named, "the newest release, index"),
    ):
        with pytest.raises(ParameterError, match="order links nobody") as caught:
            link(pdanon.after(newest, earlier), k=2, m=1)
        assert where in str(caught.value)
        assert "key='id'" in str(caught.value)
    with pytest.raises(ParameterError, match="order links nobody"):
        pdanon.after(february, january).risk(k=2, linked=False)


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ([[*"wxyz"]], ["list of the persons of each release", "a list of 1 for 2 releases"]),
        (pd.Series([*"wxyz"]), ["list of the persons of each release", "Series"]),
        (["id", "id"], ["a list of 2 for 2"]),
        ([[*"wxyz"], [*"wxy"]], ["the newest release, key", "3 persons for 4 rows"]),
        ([[*"wxyz"], [*"wwyz"]], ["a key repeats", "the newest release, key", "1 of 4 rows"]),
        ([[*"wxyz"], [1, 2, 3, 4]], ["keys of several types"]),
    ],
)
def test_lists_of_persons_are_checked(key, words):
    with pytest.raises(ParameterError) as caught:
        pdanon.after(MAY, MAY, key=key).audit(KmAnonymity(2, 1))
    for word in words:
        assert word in str(caught.value)


def test_a_result_as_the_newest_release_is_named_as_such():
    result = pdanon.pcta(pd.DataFrame({"items": [["a"], ["a"]]}), k=2, m=1)
    with pytest.raises(ParameterError, match=r"a result: pass result\.frame") as caught:
        pdanon.after(result, result).audit(KmAnonymity(2, 1))
    assert "previous" not in str(caught.value)


def test_results_and_pairs_carry_their_mappings():
    original = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice"], ["salt"]] * 2})
    result = pdanon.pcta(original, k=2, m=2).relabel("short")
    known = {"mapping": result.mapping, "key": [original.index] * 2}
    for release in (result, (result.frame, result.mapping)):
        series = result.frame.txanon.after(release, **known)
        audit = series.audit(result.guarantee)
        assert audit.holds
        assert series.risk(k=2)["below_k"].tolist() == [0, 0, 0]
    copied = pickle.loads(pickle.dumps(audit))
    assert copied.spans.equals(audit.spans)
    assert (repr(copied), len(copied.threats)) == (repr(audit), 0)


def test_tables_of_other_libraries():
    polars = pytest.importorskip("polars")
    rows = [["a"], ["a"], ["b"], ["b"]]
    january, february = (polars.DataFrame({"id": [1, 2, 3, 4], "items": rows}) for _ in range(2))
    audit = pdanon.after(february, january, key="id").audit(KmAnonymity(2, 1))
    assert audit.holds
    assert isinstance(audit.spans, polars.DataFrame)


BASE = table({1: {"a"}, 2: {"a"}, 3: {"b"}, 4: {"b"}})
MAPPING = mapping_table({"a": "a", "b": "b"})


@pytest.mark.parametrize(
    ("previous", "options", "words"),
    [
        ([], {}, ["there is no earlier release", "after([january, february])"]),
        ((BASE, BASE, BASE), {}, ["not a release", "previous", "tuple"]),
        ([5], {}, ["not a release", "previous[0]", "int"]),
        ([BASE, BASE.assign(id="p1")], {}, ["a key repeats", "previous[1], key 'id'", "3 of 4 rows"]),
        ([BASE.assign(id=[None, "p1", "p2", "p3"])], {}, ["a key is missing", "1 of 4 rows"]),
        ([BASE.assign(id=range(4))], {}, ["several types", "numbers and texts", ".astype(str)"]),
        ([BASE.rename(columns={"items": "codes"})], {}, ["is not 'items'", "previous[0]", "'codes'"]),
        ([BASE.drop(columns="items")], {}, ["no list-valued column", "previous[0]"]),
        ([(BASE, mapping_table({"a": "a"}))], {}, ["labels that the mapping lacks", "previous[0]"]),
        ([table({1: {"(a,b)"}, 2: {"(a,c)"}})], {}, ["several labels", "previous[0]", "1 items"]),
        ([BASE], {"spans": "all"}, ["all", "spans"]),
    ],
)
def test_bad_input_is_explained(previous, options, words):
    with pytest.raises(pdanon.PdanonError) as caught:
        pdanon.after(BASE, previous, key="id").audit(KmAnonymity(2, 1), **options)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("old", ["key", "spans", "linked", "previous"])
def test_options_of_a_series_are_asked_of_it(old):
    for call in (pdanon.audit, pdanon.risk):
        with pytest.raises(ParameterError, match=r"df.txanon.after\(january, key='id'\)"):
            call(BASE, k=2, **{old: "id"})


@pytest.mark.parametrize(
    "guarantee",
    [
        pdanon.TransactionalK(k=2),
        pdanon.PublicK(k=2, public=["a"]),
        pdanon.Coherence(h=0.5, k=2, p=1, private=["a"]),
        KKm(k=2, m=1, quasi=["id"], columns=["items"]),
    ],
)
def test_other_guarantees_are_refused_with_a_reason(guarantee):
    with pytest.raises(ParameterError, match=r"several (releases|list columns)"):
        pdanon.after(BASE, BASE, key="id").audit(guarantee)


def test_deletions_of_the_same_persons_are_refused():
    """Both releases are safe. Of the persons with a and b, one alone shows a at first, and b then."""
    key = [[*range(7)]] * 2
    rows = [["a", "b"], ["a"], ["a"], ["a"], ["b"], ["b"], ["b"]]
    frame = pd.DataFrame({"items": rows})
    seeds = (frame.txanon.local_suppression(k=3, m=2, random_state=seed) for seed in range(20))
    of_first = {rows_of(result.frame)[0]: result for result in seeds}
    before, now = of_first[frozenset("a")], of_first[frozenset("b")]
    km = pdanon.KmAnonymity(k=3, m=2)
    assert km.audit(before.frame).holds
    assert km.audit(now.frame).holds
    released = [dict(enumerate(rows_of(each.frame))) for each in (before, now)]
    found = {chosen: persons for chosen, persons in naive.shown_in_parts(released, 2) if 0 < len(persons) < 3}
    assert found[frozenset("a"), frozenset("b")] == {0}
    # frames alone do not tell that rows lost different items
    assert now.frame.txanon.after(before.frame, key=key).audit(km).holds
    for earlier, given in ((before, {}), (before.frame, {"mapping": now.mapping})):
        with pytest.raises(ParameterError, match="local recoding has no joint labels") as caught:
            now.frame.txanon.after(earlier, key=key, **given).audit(km)
        assert "another one in the next" in str(caught.value)
    listed = pdanon.PrivacyConstraints(constraints=[["a", "b"]], k=3)
    with pytest.raises(ParameterError, match="local recoding has no joint labels"):
        now.frame.txanon.after(before, key=key).audit(listed)


@pytest.mark.parametrize("price", [None, 3])
def test_deletions_of_new_persons_are_audited(price):
    """Nobody is in both releases, so that each hides its own persons."""
    rows = [["a", "b"], ["a"], ["a"], ["a"], ["b"], ["b"], ["b"], ["c"], ["c", "b"]]
    results = [
        pd.DataFrame({"items": part}).txanon.local_suppression(k=3, m=2, deletion_price=price)
        for part in (rows, rows[::-1])
    ]
    before, now = results
    assert now.groups.any()
    key = [[*range(9)], [*range(9, 18)]]
    audit = pdanon.after(now.frame, before, mapping=now.mapping, key=key).audit(k=3, m=2)
    assert audit.holds
    assert "nobody in two releases" in repr(audit)
    assert not pdanon.after(now.frame, before, mapping=now.mapping, key=key).audit(k=5, m=1).holds
    with pytest.raises(ParameterError, match="local recoding has no joint labels"):
        pdanon.after(now.frame, before, mapping=now.mapping, key=[[*range(9)], [*range(8, 17)]]).audit(
            k=3, m=2
        )
