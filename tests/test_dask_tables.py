"""Dask with quasi-identifiers: the release of the stream, however rows are divided, and its guarantee."""

from __future__ import annotations

import itertools
import os
import signal
from collections import Counter
from uuid import uuid4

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from naive import rt as naive
from test_dask import client  # noqa: F401 - a fixture
from test_stream_tables import ALONE, BOTH, QUASI, asked, read, table, write

import pdanon
import pdanon.dask
from examples import some
from pdanon import InfeasibleError, ParameterError, Transaction, stream
from pdanon.dask import lazy, quasi_partitions
from pdanon.errors import ColumnError, GuaranteeError, ItemsetDtypeError

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning", "ignore::pdanon.UselessWarning")


@pytest.fixture(autouse=True)
def _in_this_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def divided(frame, n, seed=0):
    """A Dask frame of unknown divisions, with partitions of any size."""
    cuts = np.sort(np.random.default_rng(seed).integers(0, len(frame) + 1, n - 1)).tolist()
    parts = [frame.iloc[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(frame)], strict=True)]
    return dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])


def run(ddf, name, **more):
    return getattr(ddf.txanon, name.split(",")[0])(**asked(name, **more))


def outcome(call):
    """The result of a call, or the text of its error."""
    try:
        return call()
    except InfeasibleError as error:
        return str(error)


def streamed(frame, tmp_path, name, **more):
    source, target = write(frame, tmp_path / "source", [25]), tmp_path / "released"
    given = asked(name, **more)
    result = getattr(stream, name.split(",")[0])(source, target, mapping=tmp_path / "m.parquet", **given)
    return result, read(target)


FAST = ("rum_bound", "rfirst, sensitive", "mondrian", "full_subtree")


def typed_like(released, expected):
    """Before pandas 3, Dask converts text to another type."""
    return released if pd.__version__ >= "3" else released.astype(expected.dtypes)


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "seed", "partitions"),
    [
        *((name, 1, [3]) for name in FAST),
        *(
            pytest.param(name, seed, [1, 2, 4], marks=pytest.mark.slow)
            for name in [*BOTH, *ALONE]
            for seed in some(range(1, 12))
        ),
    ],
)
def test_the_release_is_that_of_the_stream(name, seed, partitions, tmp_path):
    frame = table(seed, rows=int(np.random.default_rng(seed).integers(30, 90)))
    block_rows = 12 if seed % 3 else 200
    expected = outcome(lambda: streamed(frame, tmp_path, name, block_rows=block_rows))
    for n in partitions:
        result = outcome(lambda n=n: run(divided(frame, n, seed), name, block_rows=block_rows))
        if isinstance(expected, str):
            assert result == expected
            continue
        whole, rows = expected
        released = result.frame.compute()
        found = typed_like(released.reset_index(drop=True), rows)
        pd.testing.assert_frame_equal(found, rows, check_column_type=False)
        pd.testing.assert_index_equal(released.index, frame.index)
        pd.testing.assert_series_equal(result.frame.dtypes, released.dtypes)
        pd.testing.assert_series_equal(result.loss, whole.loss)
        assert repr(result.guarantee) == repr(whole.guarantee)
        assert result.parameters.keys() == whole.parameters.keys()
        assert result.rows == whole.rows == len(frame)
        assert (result.trace is None) == (whole.trace is None)
        assert len(result.mapping) == 0
        if name not in BOTH:
            assert result.local_mapping is None
            continue
        mapping = result.local_mapping.compute()
        assert mapping.to_csv(index=False) == pdanon.read_parquet(tmp_path / "m.parquet").to_csv(index=False)


def rows_of(frame):
    """Rows as pairs of quasi-identifiers and items."""
    cells = zip(*(frame[label].astype(str) for label in QUASI), strict=True)
    lists = [None if own is None else frozenset(own) for own in frame["items"].array.to_numpy(na_value=None)]
    return [*zip(cells, lists, strict=True)]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    ("name", "seeds"),
    [
        ("rfirst", range(2)),
        ("rfirst, sensitive", range(2)),
        *(pytest.param(name, some(range(40), 20), marks=pytest.mark.slow) for name in [*BOTH, *ALONE]),
    ],
)
def test_small_tables_are_protected_by_definition(name, seeds):
    """Each attacker of the guarantee is played, without code that the releases share."""
    for seed in seeds:
        frame = table(seed, rows=8 + seed % 5)
        if "sensitive" in name and not frame["items"].itemset.support(["flu"]):
            continue  # it must occur
        result = outcome(lambda frame=frame, seed=seed: run(divided(frame, 3, seed), name, k=2, block_rows=6))
        if isinstance(result, str):
            assert name in ("rum_bound", "tum_bound")
            continue
        rows = rows_of(result.frame.compute())
        if name in ALONE:
            assert min(Counter(cells for cells, _ in rows).values()) >= 2
        elif "sensitive" in name:
            assert not any(naive.klm_broken(rows, 2, 2, 2, frozenset(["flu"])))
        else:
            assert not any(naive.kkm_broken(rows, 2, 2))


# --- Partitions that change


class Changing:
    """The partitions of a frame, and those of another one after so many readings."""

    def __init__(self, frame, n, other, readings):
        self.bounds = np.linspace(0, len(frame), n + 1).astype(int)
        self.frame, self.other, self.readings, self.read = frame, other, readings, Counter()

    def __dask_tokenize__(self):
        return uuid4().hex

    def __call__(self, number):
        self.read[number] += 1
        source = self.frame if self.read[number] <= self.readings else self.other
        return source.iloc[self.bounds[number] : self.bounds[number + 1]]


def changing(frame, n, other, readings):
    return dd.from_map(Changing(frame, n, other, readings), range(n), meta=frame.iloc[:0])


@pytest.mark.one_in(4)
@pytest.mark.parametrize("name", ["rfirst", "mondrian", "full_subtree"])
@pytest.mark.parametrize("change", ["values", "items", "order"])
def test_partitions_that_change_are_refused(name, change):
    frame = table(1, empty=0, missing=0)
    other = frame.iloc[::-1] if change == "order" else frame.copy()
    if change == "values":
        other["city"] = [*frame["city"].iloc[1:], frame["city"].iloc[0]]
    if change == "items":
        other["items"] = other["items"].to_numpy()[::-1]
        other["items"] = pdanon.as_itemsets(other["items"])
    if change == "items" and name != "rfirst":
        assert run(changing(frame, 3, other, 1), name).rows == len(frame)  # a column that is not recoded
        return
    with pytest.raises(ParameterError, match="the rows have changed since they were counted"):
        run(changing(frame, 3, other, 1), name)
    result = run(changing(frame, 3, other, 2), name)
    with pytest.raises(ParameterError, match="the rows have changed since they were counted"):
        result.frame.compute()


@pytest.mark.slow
def test_the_release_is_audited_as_it_was_recoded(monkeypatch):
    place = quasi_partitions._place

    def reveal(part, released, columns):
        recoded = place(part, released, columns)
        recoded["city"] = [*(["elsewhere"] * (len(part) > 0)), *recoded["city"].iloc[1:]]
        return recoded

    monkeypatch.setattr(quasi_partitions, "_place", reveal)
    for name in ("mondrian", "rfirst"):
        with pytest.raises(GuaranteeError, match="withheld"):
            run(divided(table(1, empty=0, missing=0), 2), name)


@pytest.mark.slow
def test_workers_release_the_same_even_if_one_is_killed(client):  # noqa: F811
    frame = table(3, rows=80)
    expected = run(divided(frame, 3), "rum_bound", block_rows=12)
    whole = expected.frame.compute()
    with dask.config.set(scheduler=None):
        result = run(divided(frame, 3), "rum_bound", block_rows=12)
        pd.testing.assert_frame_equal(result.frame.compute(), whole)
        os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
        pd.testing.assert_frame_equal(result.frame.compute(), whole)
        pd.testing.assert_frame_equal(result.local_mapping.compute(), expected.local_mapping.compute())


# --- Partitions of any kind


@pytest.mark.parametrize(("parts", "n"), [(1, 1), (1, 7), (7, 1), (5, 16), (16, 5), (12, 12)])
def test_each_piece_reaches_its_place(parts, n):
    pieces = [[f"{part} to {number}" for number in range(n)] for part in range(parts)]
    moved = dask.compute(*map(dask.delayed, lazy.exchange([*map(dask.delayed, pieces)], n)))
    found = [[*itertools.chain(*each)] for each in moved]
    assert found == [[f"{part} to {number}" for part in range(parts)] for number in range(n)]


@pytest.mark.slow
def test_partitions_without_values_or_rows():
    frame = table(2, rows=40)
    frame["city"] = frame["city"].astype(object)
    frame.loc[frame.index < 15, "city"] = None
    parts = [frame.iloc[:0], frame.iloc[:10], frame.iloc[10:10], frame.iloc[10:]]
    ddf = dd.from_map(lambda part: part, parts, meta=frame.iloc[:0])
    released = run(ddf, "rfirst", block_rows=12).frame.compute()
    expected = run(divided(frame, 1), "rfirst", block_rows=12).frame.compute()
    pd.testing.assert_frame_equal(released, expected)


def test_columns_with_other_labels_and_divisions():
    frame = table(2, rows=30).rename(columns={"age": 7, "items": 8})
    ddf = dd.from_pandas(frame, npartitions=2)
    result = ddf.txanon.rfirst(8, k=3, m=2, quasi=[7, "city"], random_state=1)
    own = frame.txanon.rfirst(8, k=3, m=2, quasi=[7, "city"], random_state=1)
    pd.testing.assert_frame_equal(typed_like(result.frame.compute(), own.frame), own.frame)
    assert result.frame.known_divisions


def test_empty_frame():
    result = run(divided(table(1).head(0), 2), "rfirst")
    assert result.rows == len(result.frame.compute()) == 0


def test_partition_with_another_type_is_named():
    frame = table(1)
    other = frame.assign(age=frame["age"].astype(str))
    ddf = dd.from_map(lambda part: part, [frame, other], meta=frame.iloc[:0])
    with pytest.raises(ItemsetDtypeError, match=r"(?s)another type.*partition 1, column 'age'"):
        run(ddf, "mondrian")


@pytest.mark.parametrize(
    ("name", "more", "error", "message"),
    [
        ("rum_bound", {"n_jobs": 2}, ParameterError, r"pdanon.config\(processes=4\)"),
        ("rfirst", {"block_rows": 5}, ParameterError, "block_rows must be an integer of at least 6"),
        ("rfirst", {"quasi": ["ages"]}, ColumnError, "ages"),
        ("rfirst", {"unit": "row"}, ParameterError, "rfirst has no parameter 'unit'"),
        ("rfirst", {"k": 100}, InfeasibleError, "k is larger than the number of rows"),
        ("mondrian", {"column": "items"}, ParameterError, "the algorithm recodes no list column"),
        (
            "rfirst",
            {"transaction": Transaction("pcta", columns=["items"])},
            ParameterError,
            "one list column",
        ),
    ],
)
def test_wrong_calls(name, more, error, message):
    with pytest.raises(error, match=message):
        run(divided(table(1), 2), name, **more)
