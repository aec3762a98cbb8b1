"""Streams with quasi-identifiers: regions are as blocks in memory, and the whole keeps the guarantee."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from executors import LastFirst

import pdanon
from examples import some
from pdanon import InfeasibleError, ParameterError, Transaction, stream
from pdanon.errors import ColumnError, FormatError, GuaranteeError
from pdanon.io import grouping
from pdanon.itemsets.arguments import CallError

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning")

QUASI = ["age", "city", "size"]
CITIES = {"*": {"north": ["c0", "c1"], "south": ["c2", "c3", "c4"]}}
ITEMS = {"*": {"x": ["a", "b", "(a,b)"], "y": ["c", "d"], "z": ["e", "f", "flu"]}}
IN_TREES = dict.fromkeys(QUASI) | {"city": CITIES}
BOTH = {
    "rum_bound": {"delta": 0.6, "cluster": "mondrian"},
    "tum_bound": {"delta": 0.9},
    "rfirst": {},
    "rfirst, nodes": {
        "transaction": Transaction("apriori", hierarchy=ITEMS),
        "quasi": IN_TREES,
    },
    "rfirst, not refined": {"transaction": Transaction(refine=False), "quasi": IN_TREES},
    "rfirst, sensitive": {"transaction": Transaction("pcta", sensitive=["flu"], l=2)},
    "tfirst": {"parts": 4},
}
ALONE = ["cluster", "k_member", "mondrian", "incognito", "top_down", "full_subtree"]
RANDOM = ("rum_bound", "tum_bound", "rfirst", "cluster", "k_member")


def table(seed, rows=60, empty=0.1, missing=0.1):
    """Rows with every kind of quasi-identifier, missing values, and lists that are empty or missing."""
    rng = np.random.default_rng(seed)
    lists = [
        None
        if draw < missing
        else []
        if draw < missing + empty
        else rng.choice(["a", "b", "c", "d", "e", "f", "flu", "(a,b)"], 3)
        for draw in rng.random(rows)
    ]
    return pd.DataFrame(
        {
            "row": np.arange(rows),
            "age": pd.Series(rng.integers(20, 40, rows)).mask(rng.random(rows) < 0.05),
            "items": pdanon.as_itemsets(lists),
            "city": rng.choice([f"c{number}" for number in range(5)], rows),
            "size": pd.Categorical(rng.choice(["s", "m", "l"], rows), ["s", "m", "l"], ordered=True),
        }
    )


def write(frame, path, sizes=(10**6,)):
    """Write files of these numbers of rows, with two row groups each."""
    path.mkdir()
    start = 0
    for number, size in enumerate([*sizes, 10**6]):
        part = frame.iloc[start : start + size]
        start += size
        if len(part) or not number:
            pdanon.to_parquet(part.reset_index(drop=True), path / f"{number}.parquet")
            whole = pq.read_table(path / f"{number}.parquet")
            pq.write_table(whole, path / f"{number}.parquet", row_group_size=max(len(part) // 2, 1))
    return path


def read(path):
    return pd.concat(
        [pdanon.read_parquet(each) for each in sorted(path.glob("*.parquet"))], ignore_index=True
    )


def asked(name, **more):
    own = {"k": 3, "quasi": QUASI}
    own |= {"m": 2} if name in BOTH else {}
    own |= {"random_state": 1} if name.split(",")[0] in RANDOM else {}
    return own | BOTH.get(name, {}) | more


def run(path, target, name, **more):
    return getattr(stream, name.split(",")[0])(path, target, **asked(name, **more))


def assert_released(frame, released, result, column="items"):
    """The audit of the whole table, and what a release must keep."""
    assert result.guarantee.audit(released, column).holds
    pd.testing.assert_series_equal(released["row"], frame["row"])
    assert list(released) == list(frame)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", [*BOTH, *ALONE])
def test_one_region_is_the_table_in_memory(name, tmp_path):
    frame = table(1)
    source = write(frame, tmp_path / "source", [25, 20])
    result = run(source, tmp_path / "released", name, mapping=tmp_path / "mapping.parquet")
    own = getattr(pdanon, name.split(",")[0])(frame, **asked(name))
    pd.testing.assert_frame_equal(read(tmp_path / "released"), own.frame, check_column_type=False)
    pd.testing.assert_series_equal(result.loss, own.loss)
    assert repr(result.guarantee) == repr(own.guarantee)
    if name in BOTH:
        written = pdanon.read_parquet(tmp_path / "mapping.parquet")
        assert written.to_csv() == own.mapping.to_csv()
    if own.trace is not None:
        pd.testing.assert_frame_equal(result.trace, own.trace)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(
    ("name", "seed"),
    [
        pytest.param(name, seed, marks=[pytest.mark.slow] if seed > 1 else [])
        for name in [*BOTH, *ALONE[:3]]
        for seed in [1, *some(range(2, 20), 3)]
    ],
)
def test_regions_keep_the_guarantee_however_rows_come(name, seed, tmp_path):
    frame = table(seed, rows=int(np.random.default_rng(seed).integers(30, 90)))
    rng = np.random.default_rng(seed + 100)
    outcomes = []
    for number, jobs in enumerate([1, LastFirst()]):
        sizes = rng.integers(1, 40, number + 1)
        source = write(frame, tmp_path / f"source{number}", sizes)
        target = tmp_path / f"released{number}"
        try:
            with pdanon.config(processes=jobs):
                result = run(source, target, name, block_rows=12)
        except InfeasibleError as error:
            assert name in ("rum_bound", "tum_bound")
            outcomes.append(str(error))
            continue
        released = read(target)
        assert_released(frame, released, result)
        outcomes.append(released.drop(columns="row").to_csv())
        if name in BOTH:
            delta = BOTH[name].get("delta", 1)
            assert result.loss["NCP_relational" if name == "rum_bound" else "NCP"] <= delta + 1e-9
    assert outcomes[0] == outcomes[1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rum_bound", "rfirst, sensitive", "mondrian", "incognito"])
def test_large_row_groups_are_recoded_some_rows_at_a_time(name, tmp_path, monkeypatch):
    frame = table(1)
    source = write(frame, tmp_path / "source", [41])
    once = run(source, tmp_path / "once", name, block_rows=12)
    monkeypatch.setattr(stream.quasi_files, "_ROWS", 7)
    result = run(source, tmp_path / "released", name, block_rows=12)
    pd.testing.assert_frame_equal(read(tmp_path / "released"), read(tmp_path / "once"))
    pd.testing.assert_series_equal(result.loss, once.loss)
    file = pq.ParquetFile(tmp_path / "released" / "0.parquet").metadata  # two groups of 20, and a row
    assert [file.row_group(n).num_rows for n in range(file.num_row_groups)] == [6, 7, 7, 6, 7, 7, 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rum_bound", "rfirst, nodes", "mondrian"])
def test_rows_of_regions_wait_to_be_written_together(name, tmp_path, monkeypatch):
    """A file of rows for all parts, or for one of them: the release is that of all parts together."""
    frame = table(6)
    source, found = write(frame, tmp_path / "source", [15, 30]), []
    for number, rows in enumerate([2**25, 1000, 1]):
        monkeypatch.setattr("pdanon.io.grouping._WAITING", rows)
        target = tmp_path / f"released{number}"
        result = run(source, target, name, block_rows=12)
        found.append((read(target), result.loss))
        assert_released(frame, read(target), result)
    for released, loss in found[1:]:
        pd.testing.assert_frame_equal(released, found[0][0])
        pd.testing.assert_series_equal(loss, found[0][1], check_exact=True)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rum_bound", "mondrian"])
def test_regions_of_values_that_are_counted_together(name, tmp_path, monkeypatch):
    monkeypatch.setattr("pdanon.algorithms.regions.table_parts._CUT_KEYS", 8)
    frame = table(2)
    source = write(frame, tmp_path / "source", [25])
    result = run(source, tmp_path / "released", name, block_rows=12)
    assert_released(frame, read(tmp_path / "released"), result)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALONE[3:])
def test_equal_values_are_published_equally(name, tmp_path):
    """These algorithms need no regions: the release is that of the table in memory, whatever their size."""
    frame = pd.concat([table(seed) for seed in range(3)], ignore_index=True)
    source = write(frame, tmp_path / "source", [50, 50])
    run(source, tmp_path / "released", name, block_rows=6, max_suppressed=0.2)
    own = getattr(pdanon, name)(frame, **asked(name), max_suppressed=0.2)
    pd.testing.assert_frame_equal(read(tmp_path / "released"), own.frame, check_column_type=False)


@pytest.mark.slow
def test_losses_are_those_of_the_whole_table(tmp_path):
    """Errors of counts compare sums over all regions, not averages of their errors."""
    frame = table(3, rows=200)
    source = write(frame, tmp_path / "source", [70, 70])
    result = run(source, tmp_path / "released", "rfirst", block_rows=40, mapping=tmp_path / "mapping.parquet")
    released, mapping = read(tmp_path / "released"), pdanon.read_parquet(tmp_path / "mapping.parquet")
    lost = (
        pdanon.information_loss(frame, released, mapping, "items")
        if hasattr(pdanon, "information_loss")
        else None
    )
    actual = frame["items"].itemset.supports()
    by_label = mapping.dropna().groupby("generalized")["item"].agg(set)
    shown = released["items"].itemset.supports()
    estimate = dict.fromkeys(actual.index, 0.0)
    for label, members in by_label.items():
        for member in members:
            estimate[member] += shown[label] / len(members)
    error = sum(abs(actual[item] - estimate[item]) for item in actual.index) / actual.sum()
    assert lost is None or lost["singles"] == pytest.approx(error)
    assert result.loss["singles"] == pytest.approx(error)
    assert result.loss["suppressed"] == pytest.approx(
        mapping.loc[mapping["generalized"].isna(), "support"].sum() / mapping["support"].sum()
    )


# --- What breaks if blocks are only concatenated


def halves(one, other, **columns):
    """Two regions: ten rows of each list, far apart in age."""
    lists = [*one, *other]
    ages = [20] * len(one) + [90] * len(other)
    return pd.DataFrame(
        {"row": range(len(lists)), "age": ages, "items": pdanon.as_itemsets(lists), **columns}
    )


def released_halves(tmp_path, one, other, name="rfirst", **more):
    frame = halves(one, other)
    source = write(frame, tmp_path / "source", [7])
    given = {"k": 2, "m": 2, "quasi": ["age"], "random_state": 0, "block_rows": len(one)} | more
    result = getattr(stream, name)(
        source, tmp_path / "released", mapping=tmp_path / "mapping.parquet", **given
    )
    released = read(tmp_path / "released")
    assert_released(frame, released, result)
    return released, result, pdanon.read_parquet(tmp_path / "mapping.parquet")


def test_sensitive_item_missing_in_a_region(tmp_path):
    sensitive = Transaction("pcta", sensitive=["flu"], l=2)
    released, _, _ = released_halves(
        tmp_path, [["a"], ["a", "flu"]] * 5, [["a"], ["b"]] * 5, transaction=sensitive
    )
    assert released["items"].itemset.support(["flu"]) > 0
    wrong = Transaction("pcta", sensitive=["flux"], l=2)
    with pytest.raises(ParameterError, match="a sensitive item does not occur"):
        released_halves(tmp_path / "other", [["a"]] * 10, [["b"]] * 10, transaction=wrong)


@pytest.fixture(autouse=True)
def _other(tmp_path):
    (tmp_path / "other").mkdir()


def test_label_of_a_set_where_another_region_has_an_item_of_this_name(tmp_path):
    released, _, mapping = released_halves(tmp_path, [["a"], ["b"]] * 2, [["(a,b)"]] * 4, k=4, block_rows=8)
    labels = set(mapping.loc[mapping["item"] != "(a,b)", "generalized"])
    assert labels == {"((a,b))"}
    assert set(released["items"].iloc[-1]) == {"(a,b)"}


@pytest.mark.parametrize("labels", ["short", "first"])
def test_labels_that_count_are_counted_in_all_regions(labels, tmp_path):
    one, other = [["a"], ["b"]] * 5, [["a"], ["c"]] * 5
    with pytest.raises(ParameterError, match="labels"):
        released_halves(tmp_path, one, other, k=6, block_rows=12, labels=labels)


def test_groups_are_numbered_in_all_regions(tmp_path):
    _, _, mapping = released_halves(tmp_path, [["a"], ["b"]] * 5, [["c"], ["d"]] * 5)
    first, second = (
        set(mapping.loc[mapping["item"].isin(items), "group"]) for items in (["a", "b"], ["c", "d"])
    )
    assert not first & second
    assert sorted(first | second) == [*range(len(first | second))]


@pytest.mark.parametrize("few", [1, 2])
def test_emptied_rows_of_a_class_in_two_regions(few, tmp_path):
    """Fewer than three rows with items are emptied among rows without; elsewhere the class has labels."""
    one, other = [["a"]] * few + [[]] * (6 - few), [["a"]] * 6
    frame = pd.DataFrame({"row": range(12), "age": [20] * 12, "items": pdanon.as_itemsets(one + other)})
    source = write(frame, tmp_path / "source", [5])
    result = stream.rfirst(
        source,
        tmp_path / "released",
        k=3,
        m=1,
        quasi=["age"],
        block_rows=6,
        random_state=0,
    )
    assert_released(frame, read(tmp_path / "released"), result)
    assert not read(tmp_path / "released")["items"].itemset.lengths.any()


def test_items_suppressed_in_one_region_are_known_to_the_guarantee(tmp_path):
    """One emptied row of the other region would be found."""
    blocks = Transaction("coat", options={"utility": [["a"], ["b"]], "max_suppressed": 1})
    one, other = [["a", "b"], *[["a"]] * 9], [["a"]] * 10
    released, result, _ = released_halves(tmp_path, one, other, transaction=blocks)
    assert {item for row in released["items"] for item in row} == {"a"}
    lists = [*released["items"].head(19), []]
    assert result.guarantee.audit(released.assign(items=pdanon.as_itemsets(lists))).rows_at_risk == 1


def test_regions_share_the_clusters_of_tfirst(tmp_path):
    frame = halves([[item] for item in "abcde" * 2], [[item] for item in "fghij" * 2])
    source, mapping = write(frame, tmp_path / "source", [7]), tmp_path / "mapping.parquet"
    given = {"k": 2, "m": 1, "quasi": ["age"], "parts": 4, "block_rows": 10}
    stream.tfirst(source, tmp_path / "released", mapping=mapping, **given)
    assert pdanon.read_parquet(mapping)["group"].nunique() == 4


def test_region_without_items(tmp_path):
    released, result, _ = released_halves(tmp_path, [[]] * 10, [["a"], ["b"]] * 5)
    assert released["items"].itemset.lengths.head(10).sum() == 0
    assert result.loss["NCP"] == 1 or released["items"].itemset.lengths.sum()


@pytest.mark.slow
def test_missing_rows_are_empty_in_all_regions_or_in_none(tmp_path):
    one, other = [["a"], None] + [["b"]] * 8, [None, None, *[["a"]] * 8]
    released, _, _ = released_halves(tmp_path, one, other, k=2)
    assert released["items"].isna().sum() in (0, 3)
    hidden, _, _ = released_halves(tmp_path / "other", [["a"], *[None] * 9], other, k=2)
    assert hidden["items"].isna().sum() == 0


@pytest.mark.one_in(3)
@pytest.mark.parametrize("rows", [5, 11, 13, 18, 25])
def test_no_region_is_too_small_and_no_row_is_lost(rows, tmp_path):
    frame = table(4, rows=rows, empty=0, missing=0)
    result = run(write(frame, tmp_path / "source", [4, 4]), tmp_path / "released", "mondrian", block_rows=6)
    assert result.rows == rows
    assert_released(frame, read(tmp_path / "released"), result)


def test_hierarchy_of_consecutive_items_is_built_once(tmp_path):
    """A number as hierarchy groups the items of the whole table, though each region has some of them."""
    tree = Transaction("apriori", hierarchy=2)
    one, other = [["a"], ["c"]] * 5, [["b"], ["d"]] * 5
    _, _, mapping = released_halves(tmp_path, one, other, k=10, block_rows=20, transaction=tree)
    whole = halves(one, other).txanon.rfirst(k=10, m=2, quasi=["age"], random_state=0, transaction=tree)
    assert dict(zip(mapping["item"], mapping["generalized"], strict=True)) == dict(
        zip(whole.mapping["item"], whole.mapping["generalized"], strict=True)
    )


@pytest.mark.slow
def test_rows_keep_their_order(tmp_path):
    frame = table(6, rows=80, empty=0, missing=0).sample(frac=1, random_state=0, ignore_index=True)
    source = write(frame, tmp_path / "source", [30, 1, 20])
    run(source, tmp_path / "released", "rfirst", block_rows=10)
    released = read(tmp_path / "released")
    pd.testing.assert_series_equal(released["row"], frame["row"])
    ages = frame["age"]
    inside = [
        age in interval
        for age, interval in zip(ages, released["age"], strict=True)
        if interval == interval and age == age
    ]
    assert all(inside)


# --- Whole or not at all


def test_nothing_is_left_of_a_failed_run(tmp_path, monkeypatch):
    source = write(table(1), tmp_path / "source")
    with pytest.raises(InfeasibleError):
        run(source, tmp_path / "released", "rum_bound", delta=0, block_rows=12)
    monkeypatch.setattr(grouping, "write_rows", full)
    monkeypatch.setattr("pdanon.stream.quasi_files.write_rows", full)
    monkeypatch.setattr("pdanon.algorithms.regions.region_release.write_rows", full)
    with pytest.raises(FormatError, match="cannot be written"):
        run(source, tmp_path / "released", "rfirst")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "source"]


def full(*_):
    raise OSError(28, "No space left on device")


def test_files_that_change_between_readings_are_refused(tmp_path, monkeypatch):
    source = write(table(1), tmp_path / "source")
    decide = stream.quasi_files.decide_table

    def change(*given):
        found = decide(*given)
        pdanon.to_parquet(table(2), source / "0.parquet")
        return found

    monkeypatch.setattr(stream.quasi_files, "decide_table", change)
    with pytest.raises(FormatError, match="the files have changed"):
        run(source, tmp_path / "released", "rfirst")
    assert not (tmp_path / "released").exists()


def test_audit_reads_what_was_written(tmp_path, monkeypatch):
    """A released value that differs from the decision is found."""
    source = write(table(1, empty=0, missing=0), tmp_path / "source")
    recode = stream.quasi_files.TableFiles._recode

    def reveal(self, *given):
        for written in recode(self, *given):
            field = written.schema.field("city")
            texts = ["elsewhere", *written.column("city").to_pylist()[1:]]
            yield written.set_column(
                written.schema.get_field_index("city"), field, pa.array(texts, field.type)
            )

    monkeypatch.setattr(stream.quasi_files.TableFiles, "_recode", reveal)
    for name in ("mondrian", "rfirst"):
        with pytest.raises(GuaranteeError, match="withheld"):
            run(source, tmp_path / "released", name)
        assert not (tmp_path / "released").exists()


def test_original_files_are_not_modified(tmp_path):
    source = write(table(1), tmp_path / "source", [20])
    before = {each.name: each.read_bytes() for each in source.iterdir()}
    run(source, tmp_path / "released", "rfirst", block_rows=12)
    assert {each.name: each.read_bytes() for each in source.iterdir()} == before


def test_no_removed_value_or_item_is_in_the_files(tmp_path):
    frame = table(1, rows=40)
    frame["city"] = [f"zebra-{number}" for number in range(40)]
    frame["items"] = pdanon.as_itemsets([["a", f"giraffe-{number}"] for number in range(40)])
    source = write(frame, tmp_path / "source")
    tree = Transaction("apriori", hierarchy={"*": ["a", *(f"giraffe-{number}" for number in range(40))]})
    run(
        source,
        tmp_path / "released",
        "rfirst",
        transaction=tree,
        quasi=dict.fromkeys(QUASI) | {"city": {"*": [*frame["city"]]}},
    )
    for each in (tmp_path / "released").iterdir():
        assert not re.search(rb"zebra|giraffe", each.read_bytes())


def test_empty_table(tmp_path):
    frame = table(1).head(0)
    result = run(write(frame, tmp_path / "source"), tmp_path / "released", "rfirst")
    assert result.rows == len(read(tmp_path / "released")) == 0


# --- Wrong calls


@pytest.mark.parametrize(
    ("name", "more", "error", "message"),
    [
        ("rfirst", {"block_rows": 5}, ParameterError, "block_rows must be an integer of at least 6"),
        ("rfirst", {"n_jobs": 2}, CallError, r"pdanon.config\(processes=4\)"),
        ("rfirst", {"quasi": ["ages"]}, ColumnError, "ages"),
        ("rfirst", {"quasi": ["items"]}, ColumnError, "list column"),
        ("rfirst", {"delta": 1}, CallError, "delta"),
        ("mondrian", {"column": "items"}, ParameterError, "column"),
        ("rfirst", {"unit": "row"}, ParameterError, "rfirst has no parameter 'unit'"),
        ("rfirst", {"k": 100}, InfeasibleError, "k is larger than the number of rows"),
        (
            "rfirst",
            {"transaction": Transaction("pcta", columns=["items"])},
            ParameterError,
            "one list column",
        ),
        ("rum_bound", {"merge": "X"}, ParameterError, "merge"),
        ("rum_bound", {"rum": "X"}, ParameterError, "measure"),
        ("rum_bound", {"cluster": "X"}, ParameterError, "cluster|algorithm"),
    ],
)
def test_wrong_calls(name, more, error, message, tmp_path):
    source = write(table(1), tmp_path / "source")
    with pytest.raises(error, match=message):
        run(source, tmp_path / "released", name, **more)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["other", "source"]


def test_quasi_is_required(tmp_path):
    source = write(table(1), tmp_path / "source")
    with pytest.raises(CallError, match="quasi"):
        stream.rfirst(source, tmp_path / "released", k=3)
