"""Rum-bound in blocks: each as if it were alone, the whole as promised, whoever works on them."""

from __future__ import annotations

import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from conftest import SECRET, rows_of
from executors import LastFirst
from families import TRANSACTION_ALGORITHMS, gathered
from hypothesis import given, settings, strategies as st
from naive import emptied as naive_emptied, rt as naive
from naive.relational import Table
from test_rt import (
    CUTTING,
    ITEMS,
    OPTIONS,
    QUASI,
    WORLD,
    assert_contract,
    datasets,
    frame_with,
    many_rows,
    published,
    two_columns,
)

import pdanon
from examples import ALL, examples
from pdanon import InfeasibleError, KKm, KLm, ParameterError, Transaction
from pdanon.algorithms.relational.groups import cut_evenly
from pdanon.algorithms.relational.quasi import QuasiTable
from pdanon.algorithms.rt import dataset
from pdanon.algorithms.rt.dataset import Dataset
from pdanon.itemsets import threads

pytestmark = pytest.mark.filterwarnings("ignore::pdanon.IdentifierWarning")  # of the other columns

KINDS = ["range", "set", WORLD]
ASKED = {"k": 2, "m": 2, "quasi": {**dict.fromkeys(QUASI), "region": WORLD}, "random_state": 0}
merges = st.sampled_from(["R", "T", "RT"])


def run(frame, **asked):
    return pdanon.rum_bound(frame, **gathered(ASKED | {"delta": 1.0} | asked))


def assert_equal(result, other):
    pd.testing.assert_frame_equal(result.frame, other.frame)
    pd.testing.assert_frame_equal(result.mapping, other.mapping)
    pd.testing.assert_frame_equal(result.classes, other.classes)
    pd.testing.assert_series_equal(result.groups, other.groups)
    pd.testing.assert_series_equal(result.loss, other.loss)


# --- the blocks


def evenly(table, rows, parts):
    """Cut the widest column, in the order of its values; equal ones as the cuts before left them."""
    if parts == 1:
        return [sorted(rows)]
    losses = [
        column.penalty([table.rows[row][place] for row in rows]) for place, column in enumerate(table.columns)
    ]
    widest = losses.index(max(losses))
    rank = table.columns[widest].values.index
    ordered = sorted(rows, key=lambda row: rank(table.rows[row][widest]))
    half = parts // 2
    place = len(rows) * half // parts
    return evenly(table, ordered[:place], half) + evenly(table, ordered[place:], parts - half)


@settings(max_examples=examples(60))
@given(datasets(least=1, most=40), st.integers(1, 12))
def test_blocks_are_few_and_alike_in_size(rows, most):
    table = QuasiTable.of(frame_with(rows), dict.fromkeys(QUASI) | {"region": WORLD})
    blocks = cut_evenly(table, most)
    sizes = [len(block) for block in blocks]
    assert sorted(np.concatenate(blocks)) == [*range(len(rows))]
    assert len(blocks) == -(-len(rows) // most)
    assert max(sizes) <= most
    assert max(sizes) - min(sizes) <= 1
    assert len(blocks) == 1 or min(sizes) >= most / 2  # so that of 2k rows each block has k
    naive_table = Table([row[:3] for row in rows], KINDS)
    assert [block.tolist() for block in blocks] == evenly(naive_table, [*range(len(rows))], len(blocks))


def test_no_rows_are_one_block():
    table = QuasiTable.of(frame_with([]), dict.fromkeys(QUASI) | {"region": WORLD})
    assert [block.tolist() for block in cut_evenly(table, 4)] == [[]]
    assert len(run(frame_with([]), block_rows=4).frame) == 0


# --- for any rows


@settings(max_examples=examples(50))
@given(
    datasets(least=4, most=16),
    st.integers(2, 3),
    st.none() | st.integers(1, 3),
    st.integers(0, 3),
    merges,
    st.fractions(0, 1, max_denominator=20),
)
def test_any_rows_keep_guarantee_and_bound(rows, k, m, more, merge, share):
    frame = frame_with(rows)
    asked = {"k": k, "m": m, "merge": merge, "block_rows": 2 * k + more}
    try:
        result = run(frame, **asked, delta=float(share))
    except InfeasibleError as error:
        least = float(re.search(r"they lose ([0-9.]+)", str(error)).group(1))
        assert least > share
        result, share = run(frame, **asked, delta=least), Fraction(least).limit_denominator(10**9)
    assert_contract(frame, result, k, m)
    table = Table([row[:3] for row in rows], KINDS)
    clusters = [np.flatnonzero(result.groups == group).tolist() for group in set(result.groups)]
    lost = Fraction(naive.rum(table, clusters), 3 * len(rows))
    assert lost <= share
    assert result.loss["NCP_relational"] == pytest.approx(float(lost))
    assert_equal(run(frame, **asked, delta=float(share)), result)


@pytest.mark.slow
@pytest.mark.parametrize("cluster", ["full_subtree", "incognito", "top_down"])  # which look at all values
@settings(max_examples=examples(25))
@given(datasets(least=8, most=16))
def test_blocks_lack_values_that_others_have(cluster, rows):
    frame = frame_with(rows)
    assert_contract(frame, run(frame, cluster=cluster, block_rows=4), 2, 2)


@settings(max_examples=examples(60))
@given(datasets(least=8, most=18), merges, st.integers(0, 100))
def test_blocks_are_anonymized_each_apart(rows, merge, percent):
    """By the loops of the paper: a block may lose what its first clusters do, and its share of the rest."""
    frame, items = frame_with(rows), [row[3] for row in rows]
    table, pcta = Table([row[:3] for row in rows], KINDS), naive.Pcta(items, 2, 2)
    blocks = evenly(table, [*range(len(rows))], -(-len(rows) // 5))
    firsts = []
    for block in blocks:  # Mondrian leaves nothing to chance
        part = Dataset.of(frame, None, **encoding()).whole.take(np.array(block))
        groups = part.groups("mondrian", None)
        firsts.append([[block[place] for place in np.flatnonzero(groups == group)] for group in set(groups)])
    encoded = Dataset.of(frame, None, **encoding()).table
    unit = encoded.attributes[0].unit  # what a block may lose is rounded down to one
    loss = [int(naive.rum(table, sorted(first, key=min)) * unit) for first in firsts]
    everything = 3 * len(rows) * unit
    delta = Fraction(percent * everything + (100 - percent) * sum(loss), 100 * everything)
    delta = min(Fraction(1), Fraction(int(delta * 10**6) + 1, 10**6))
    left = int(delta * everything) - sum(loss)
    plain = Transaction(refine=False)
    result = run(frame, cluster="mondrian", merge=merge, block_rows=5, delta=float(delta), transaction=plain)
    became = [None] * len(rows)
    apart, chosen = [], {}
    for block, first, own in zip(blocks, firsts, loss, strict=True):
        most = Fraction(own + left * len(block) // len(rows), unit)
        clusters = naive.rum_bound(
            table, sorted(first, key=min), most, merge, lambda each: naive.btd([items[row] for row in each])
        )
        apart += clusters
        for cluster in clusters:
            chosen |= {(item, min(cluster)): own for item, own in pcta.became(cluster).items()}
    cluster_of = {row: min(cluster) for cluster in apart for row in cluster}
    for members in result.frame.groupby(
        [repr(each) for each in result.frame[QUASI].to_numpy().tolist()]
    ).indices.values():
        own = [{(item, cluster_of[row]) for item in items[row]} for row in members]
        sets = {each: chosen[each] and (chosen[each], each[1]) for row in own for each in row}
        sets = naive_emptied.hidden(own, sets, 2)
        for row, each in zip(members, own, strict=True):
            shown = {sets[item][0] for item in each if sets[item]}
            became[row] = {
                "(" + ",".join(sorted(own)) + ")" if len(own) > 1 else next(iter(own)) for own in shown
            }
    assert rows_of(result.frame) == became
    groups = [sorted(np.flatnonzero(result.groups == group).tolist()) for group in set(result.groups)]
    assert sorted(groups) == sorted(map(sorted, apart))


def encoding(**asked):
    asked = {key: value for key, value in ASKED.items() if key != "random_state"} | asked
    return {"transaction": Transaction()} | asked


def test_one_block_is_the_whole():
    frame = many_rows()
    whole = run(frame, delta=0.6)
    with pdanon.config(processes=2):
        assert_equal(run(frame, delta=0.6, block_rows=60), whole)
        assert_equal(run(frame, delta=0.6), whole)
    assert not run(frame, delta=0.6, block_rows=59).frame.equals(whole.frame)


@pytest.mark.one_in(3)
@pytest.mark.parametrize("transaction", TRANSACTION_ALGORITHMS)
def test_a_block_can_be_sent(transaction):
    """What another process would make of it is the same, whatever anonymizes the items."""
    hierarchy = ITEMS if transaction in CUTTING else None
    items = Transaction(transaction, hierarchy=hierarchy, options=OPTIONS.get(transaction))
    asked = encoding(transaction=items)
    block = Dataset.of(many_rows(), None, **asked).whole.take(np.arange(3, 40))
    groups = np.arange(37) // 6
    here = block.protect(groups)
    there = pickle.loads(pickle.dumps(block)).protect(groups)
    assert here.tolist() == there.tolist()
    assert SECRET not in repr(block)


def test_sensitive_items_in_blocks():
    frame = many_rows(90)
    asked = {"sensitive": ["z"], "l": 2, "transaction": "apriori", "hierarchy": {"any": list("uvwxy")}}
    with pdanon.config(processes=ThreadPoolExecutor(2)):
        result = run(frame, **asked, block_rows=20, k=3)
    assert result.guarantee == KLm(k=3, l=2, m=2, quasi=QUASI, sensitive=["z"])
    assert not any(naive.klm_broken(published(result.frame), 3, 2, 2, {"z"}))
    assert len(set(result.groups)) >= 5


def test_several_list_columns_in_blocks():
    frame = two_columns(80)
    result = run(frame, columns=["items", "drugs"], block_rows=20, k=3)
    assert result.guarantee == KKm(k=3, m=2, quasi=QUASI, columns=["items", "drugs"])
    rows = [
        (quasi, {("items", item) for item in items} | {("drugs", item) for item in drugs})
        for (quasi, items), drugs in zip(published(result.frame), rows_of(result.frame, "drugs"), strict=True)
    ]
    assert not any(naive.kkm_broken(rows, 3, 2))
    assert len(set(result.groups)) >= 4


# --- whoever works


@pytest.mark.slow
@pytest.mark.parametrize(
    "jobs", [2, LastFirst(), ThreadPoolExecutor(3)], ids=["processes", "last first", "threads"]
)
def test_who_works_makes_no_difference(jobs):
    frame = many_rows(200)
    asked = {"delta": 0.6, "block_rows": 30, "merge": "RT"}
    alone = run(frame, **asked)
    assert_contract(frame, alone, 2, 2)
    assert alone.loss["NCP_relational"] <= 0.6
    with pdanon.config(processes=jobs):
        together = run(frame, **asked)
    assert_equal(together, alone)
    assert together.parameters == alone.parameters


@pytest.mark.slow
def test_workers_of_dask(tmp_path):
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 2, "dashboard_address": ":0"}
    frame = many_rows(120)
    alone = run(frame, delta=0.6, block_rows=30)
    with (
        distributed.LocalCluster(**options, local_directory=str(tmp_path)) as cluster,
        distributed.Client(cluster) as client,
        pdanon.config(processes=client.get_executor()),
    ):
        assert_equal(run(frame, delta=0.6, block_rows=30), alone)
        with pytest.raises(InfeasibleError, match="they lose 0"):
            run(frame, delta=0.001, block_rows=30)


def test_blocks_do_not_share_chance():
    """Two blocks of equal rows are clustered differently, and both as the same seed did before."""
    frame = frame_with([(number, "k", "a", frozenset("uv")) for number in range(12)] * 8)
    asked = {"quasi": ["age"], "delta": 0.5}
    one = run(frame, **asked, block_rows=48, random_state=1)
    assert_equal(run(frame, **asked, block_rows=48, random_state=1), one)
    other = run(frame, **asked, block_rows=48, random_state=np.random.default_rng(1))
    pd.testing.assert_frame_equal(other.frame, one.frame)


def test_progress_of_blocks(capsys):
    frame = many_rows(60)
    with pdanon.config(progress=True, processes=ThreadPoolExecutor(1)):
        run(frame, block_rows=20)
    assert "6steps" in capsys.readouterr().err.replace(" ", "")  # three blocks, formed and anonymized


def test_error_of_others_is_that_of_one_process():
    frame = many_rows(60).assign(city=[f"{SECRET}-{number % 7}" for number in range(60)])
    messages = []
    for jobs in (1, ThreadPoolExecutor(2)):
        with pytest.raises(InfeasibleError) as caught, pdanon.config(processes=jobs):
            run(frame, delta=0.01, block_rows=20)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]
    assert "delta=0.01, they lose 0." in messages[0]
    assert SECRET not in messages[0]


INTERRUPTED = """
import signal
import pdanon
from test_rt import many_rows
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # not ignored, whoever runs the tests
    asked = {"k": 2, "m": 2, "quasi": ["age", "city", "region"], "delta": 1}
    asked["transaction"] = pdanon.Transaction("pcta", order="tum")
    pdanon.config(progress=True, processes=2)
    pdanon.rum_bound(many_rows(20_000), **asked, block_rows=5000)
"""


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="a terminal interrupts a group of processes")
def test_interrupted(tmp_path):
    """Ctrl-C goes to all processes of a terminal, and none of them is left."""
    script = tmp_path / "script.py"
    script.write_text(INTERRUPTED)
    paths = os.pathsep.join(
        [
            str(Path(__file__).parent),
            str(Path(__file__).parents[2]),
            os.path.dirname(os.path.dirname(pdanon.__file__)),
        ]
    )
    environment = os.environ | {"PYTHONPATH": paths}
    running = subprocess.Popen(
        [sys.executable, str(script)], env=environment, stderr=subprocess.PIPE, start_new_session=True
    )
    try:
        told = b""
        while not re.search(rb"[1-9] ?steps", told):  # a block is formed: the processes are at work
            told += os.read(running.stderr.fileno(), 1000) or pytest.fail(told.decode())
        os.killpg(running.pid, signal.SIGINT)
        assert b"KeyboardInterrupt" in running.communicate(timeout=600)[1]
        assert running.returncode != 0
        assert is_gone(running.pid)
    finally:
        if not is_gone(running.pid, seconds=0):
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()


def is_gone(group, seconds=600):
    """Whether no process of a group is left, soon; the system may take a moment to forget them."""
    for _ in range(10 * seconds + 1):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.1)
    return False


# --- comparisons and policies


def test_compared():
    frame = many_rows(60)
    asked = {"rum_bound": ASKED | {"delta": 0.7}}
    table = pdanon.compare(frame, asked, vary={"block_rows": [None, 20, 3]})
    assert table["holds"].tolist()[:2] == [True, True]
    assert table["NCP_relational"][1] == run(frame, delta=0.7, block_rows=20).loss["NCP_relational"]
    assert table["reason"][2].startswith("block_rows must be an integer of at least 4")


POLICY = """
input = "people.parquet"
algorithm = "rum_bound"

[parameters]
k = 2
m = 2
delta = 0.7
block_rows = 20
processes = 2
random_state = 0

[columns]
items = "items"
quasi = ["age", "city"]
drop = ["region", "other"]
"""


@pytest.mark.slow
def test_policy(tmp_path):
    frame = many_rows(60).reset_index(drop=True)
    frame.attrs = {}
    pdanon.to_parquet(frame, tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)
    result = pdanon.Policy.from_toml(tmp_path / "policy.toml").run()
    asked = {"quasi": ["age", "city"], "delta": 0.7, "block_rows": 20}
    alone = run(frame.drop(columns=["region", "other"]), **asked)
    assert rows_of(result.frame) == rows_of(alone.frame)
    pd.testing.assert_series_equal(result.loss, alone.loss)


# --- what is refused


@pytest.mark.parametrize("block_rows", [5, 0, -6, 6.0, "6", True, np.nan, [6]], ids=str)
def test_refused_block_rows(block_rows):
    frame = many_rows(12)
    with pytest.raises(ParameterError, match="block_rows must be an integer of at least 6") as caught:
        run(frame, k=3, block_rows=block_rows)
    message = str(caught.value)
    assert all(part in message for part in ("where: block_rows", "got: ", "hint:  a block is cut in two"))
    assert len(run(frame, k=3, block_rows=np.int64(6)).frame) == 12


def test_old_spelling_of_processes_is_answered(tmp_path):
    with pytest.raises(ParameterError, match=r"pdanon.config\(processes=4\)"):
        run(many_rows(12), block_rows=4, n_jobs=2)
    policy = POLICY.replace("processes = 2", "n_jobs = 2")
    for text in (policy, policy.replace("n_jobs = 2", "") + "[compare]\nn_jobs = 2\n"):
        (tmp_path / "policy.toml").write_text(text)
        with pytest.raises(ParameterError, match="in a policy: processes = 4"):
            pdanon.Policy.from_toml(tmp_path / "policy.toml")
    for wrong in (0, -1, '"all"', "true", "2.0"):
        (tmp_path / "policy.toml").write_text(POLICY.replace("processes = 2", f"processes = {wrong}"))
        with pytest.raises(ParameterError, match="processes must be an integer of at least 1"):
            pdanon.Policy.from_toml(tmp_path / "policy.toml")


def test_a_policy_sets_processes_for_its_run(tmp_path, monkeypatch):
    frame, seen = many_rows(40).reset_index(drop=True), []
    frame.attrs = {}
    pdanon.to_parquet(frame, tmp_path / "people.parquet")
    (tmp_path / "policy.toml").write_text(POLICY)

    def noted(jobs):
        seen.append(jobs)
        return threads.sharing(1)

    monkeypatch.setattr(dataset, "sharing", noted)
    result = pdanon.Policy.from_toml(tmp_path / "policy.toml").run()
    assert seen == [2]
    assert "processes" not in result.parameters
    assert "processes=1" in repr(pdanon.config())


def test_too_few_rows_for_k_are_refused_as_ever():
    with pytest.raises(InfeasibleError, match="k is larger than the number of rows"):
        run(many_rows(4), k=5, block_rows=10)


# --- real data


@pytest.mark.slow
@pytest.mark.parametrize("block_rows", [5_000, 1_000] if ALL else [1_000])
def test_informs(block_rows, data):
    """Every class and, in each, every published item and pair, counted with a dictionary."""
    path = data / "rt_informs2005.parquet"
    if not path.is_file():
        pytest.skip("no rt_informs2005")
    frame = pdanon.read_parquet(path).drop(columns="DUPERSID")
    quasi = ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR", "income"]
    trees = {"DOBYY": data / "hierarchies" / "informs2005_DOBYY_hierarchy.csv"}
    asked = {"k": 25, "quasi": {**dict.fromkeys(quasi), **trees}, "random_state": 0, "delta": 0.5}
    result = pdanon.rum_bound(frame, **asked, block_rows=block_rows)
    assert 0 < result.loss["NCP_relational"] <= 0.5
    counts = Counter()
    classes = result.frame[quasi].astype(str).agg("|".join, axis=1)
    for own, items in zip(classes, rows_of(result.frame), strict=True):
        counts.update((own, part) for part in naive.parts(items, 2))
    assert min(counts.values()) >= 25
    with pdanon.config(processes=2):
        assert_equal(pdanon.rum_bound(frame, **asked, block_rows=block_rows), result)
