"""Measure what releases lose without each mechanism, and write tables/ablation.md of the benchmarks.

Run from the root of the checkout: ``python docs/scripts/ablation_table.py --figures FILE``. FILE keeps the
figures: a run goes on where another one ended. Each figure is of a process of its own, where a mechanism is
switched off by replacing functions. What stands around the figures in the page stays.
"""

import argparse
import ast
import io
import json
import multiprocessing
import os
import sys
import tempfile
import time
import tokenize
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

import pdanon  # noqa: E402
from pdanon import stream  # noqa: E402
from pdanon._kernels import set_moves  # noqa: E402
from pdanon.algorithms import engines  # noqa: E402
from pdanon.algorithms.refinement.nodes import GroupRefinement  # noqa: E402
from pdanon.algorithms.refinement.sets import ProtectedSets  # noqa: E402
from pdanon.algorithms.states import sets_search  # noqa: E402
from pdanon.algorithms.states.clusters import Clusters  # noqa: E402
from pdanon.algorithms.states.cuts import CutRefinement  # noqa: E402
from pdanon.algorithms.states.sets_search import Refinement, balanced_loss  # noqa: E402
from pdanon.guarantees import class_audit  # noqa: E402
from pdanon.itemsets import row_loops  # noqa: E402
from pdanon.itemsets.support import SupportIndex  # noqa: E402
from pdanon.recoding import identification  # noqa: E402
from tests.benchmarks.measure import DATA, frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

TURNS = 2
SECONDS = 0.4  # of each turn, for work that takes less: it is repeated
GROCERIES, CLICKS, MSWEB, SURVEY = "groceries", "BMS-WebView-1", "msweb", "survey"
MORE, FEW, MADE = "BMS-WebView-2", "BMS-WebView-2, few", "T10I4D100K"  # for a few rows only
ROWS = {  # of each data set: the name of its file, and how many rows from the first on
    GROCERIES: ("groceries", 9_835),
    CLICKS: ("bms_webview1", 30_000),
    MSWEB: ("uci_msweb_train", 10_000),
    SURVEY: ("rt_informs2005", 3_000),
    MORE: ("bms_webview2", 20_000),
    FEW: ("bms_webview2", 500),
    MADE: ("fimi_t10i4d100k", 100_000),
}
QUASI = ["DOBMM", "DOBYY", "RACEX", "EDUCYEAR"]
TREES: dict[str, Any] = {GROCERIES: str(DATA / "hierarchies" / "groceries_hierarchy.csv"), CLICKS: 5}
BASKETS = (GROCERIES, CLICKS, MSWEB)
Prepared = Callable[[], float]  # the work that is measured; returns its loss


# --- Tasks: each prepares a table, and returns the work


def lost(result: pdanon.Anonymized, loss: str) -> float:
    """Return a loss of a release by sets, also the balanced one, which results do not report."""
    if loss != "balanced":
        return float(result.loss[loss])
    labels, _ = pd.factorize(result.mapping["generalized"])
    changed = (result.mapping["generalized"] != result.mapping["item"]).to_numpy()
    return balanced_loss(labels.astype(np.int64), result.mapping["support"].to_numpy(), changed, len(labels))


def sets(df: pd.DataFrame, name: str, loss: str, m: int = 2, k: int = 5) -> Prepared:
    made = pdanon.coat(df, k=k, m=m)
    return lambda: lost(pdanon.refine(df, made, loss=loss), loss)


def constraints(df: pd.DataFrame, name: str, loss: str) -> Prepared:
    made = pdanon.coat(
        df,
        guarantee=pdanon.PrivacyConstraints(
            constraints=pdanon.constraints.random(df, 300, random_state=0), k=5
        ),
    )
    return lambda: lost(pdanon.refine(df, made, loss=loss), loss)


def rules(df: pd.DataFrame, name: str) -> Prepared:
    items = df["items"].itemset.supports().index
    secrets = np.random.default_rng(0).choice(items, 20, replace=False).tolist()
    made = pdanon.ps_rules(df, rules=pdanon.constraints.ps_rules(df, None, secrets, 1), k=5, c=0.5)
    return lambda: lost(pdanon.refine(df, made), "NCP")


def classes(df: pd.DataFrame, name: str) -> Prepared:
    df = df[[*QUASI, "items"]]
    asked: dict[str, Any] = {"k": 5, "m": 2, "quasi": QUASI, "delta": 0.65, "random_state": 0}
    return lambda: lost(pdanon.rum_bound(df, **asked), "NCP")


def nodes(df: pd.DataFrame, name: str, algorithm: str, k: int = 5, hierarchy: int | None = None) -> Prepared:
    parts = {"parts": 10} if algorithm == "lra" else {}
    made = getattr(pdanon, algorithm)(df, k=k, hierarchy=hierarchy or TREES[name], **parts)
    return lambda: lost(pdanon.refine(df, made), "NCP")


def decision(df: pd.DataFrame, name: str, algorithm: str) -> Prepared:
    return lambda: lost(getattr(pdanon, algorithm)(df, k=5, m=2, hierarchy=TREES[name]), "NCP")


def merges(df: pd.DataFrame, name: str, m: int = 2) -> Prepared:
    return lambda: lost(pdanon.pcta(df, k=5, m=m), "NCP")


def audit(df: pd.DataFrame, name: str, m: int) -> Prepared:
    return lambda: float(pdanon.KmAnonymity(k=5, m=m).audit(df).rows_at_risk)


def attack(df: pd.DataFrame, name: str) -> Prepared:
    made = pdanon.pcta(df, k=5, m=2)
    return lambda: float(pdanon.attack(df, made, m=2, sample="split", random_state=0).rate_before)


def file_of(df: pd.DataFrame) -> Path:
    path = Path(tempfile.mkdtemp()) / "rows.parquet"
    pdanon.to_parquet(df, path)
    return path


def files(df: pd.DataFrame, name: str) -> Prepared:
    path = file_of(pd.concat([df] * 5, ignore_index=True))

    def work() -> float:
        target = Path(tempfile.mkdtemp()) / "release.parquet"
        return lost(stream.pcta(path, target, k=25, m=2), "NCP")

    return work


def class_file(df: pd.DataFrame, name: str) -> Prepared:
    df = pd.concat([df[[*QUASI[:2], "items"]]] * 4, ignore_index=True)
    path, guarantee = file_of(df), pdanon.KKm(k=5, m=2, quasi=QUASI[:2])
    return lambda: float(stream.audit(path, guarantee).rows_at_risk)


TASKS: dict[str, tuple[Callable[..., Prepared], tuple[str, ...], dict[str, Any]]] = {
    "balanced": (sets, BASKETS, {"loss": "balanced"}),
    "NCP": (sets, BASKETS, {"loss": "NCP"}),
    "NCP, k=25": (sets, (MORE,), {"loss": "NCP", "k": 25}),
    "few rows": (sets, (FEW,), {"loss": "NCP", "k": 10}),
    "UL": (sets, (GROCERIES, MSWEB), {"loss": "UL"}),
    "m=3": (sets, (GROCERIES, MSWEB), {"loss": "balanced", "m": 3}),
    "m=4": (sets, (GROCERIES, MSWEB), {"loss": "balanced", "m": 4}),
    "m=1": (sets, BASKETS, {"loss": "NCP", "m": 1}),
    "constraints": (constraints, BASKETS, {"loss": "balanced"}),
    "constraints, NCP": (constraints, BASKETS, {"loss": "NCP"}),
    "rules": (rules, (GROCERIES, MSWEB), {}),
    "classes": (classes, (SURVEY,), {}),
    "cuts, k=2": (nodes, (GROCERIES, CLICKS), {"algorithm": "apriori", "k": 2, "hierarchy": 3}),
    "cuts": (nodes, (GROCERIES, CLICKS), {"algorithm": "apriori"}),
    "blocks": (nodes, (GROCERIES, CLICKS), {"algorithm": "lra"}),
    "groups": (nodes, (GROCERIES, CLICKS), {"algorithm": "clump"}),
    "optimal": (decision, (GROCERIES, CLICKS), {"algorithm": "optimal"}),
    "pcta": (merges, (*BASKETS, MORE, MADE), {}),
    "pcta, m=3": (merges, (GROCERIES, MSWEB), {"m": 3}),
    "audit": (audit, BASKETS, {"m": 2}),
    "audit, m=3": (audit, BASKETS, {"m": 3}),
    "attack": (attack, BASKETS, {}),
    "files": (files, BASKETS, {}),
    "audit by class": (class_file, (SURVEY,), {}),
}


# --- Mechanisms: each function switches one off in this process


def moves() -> None:
    set_moves.descend = lambda *given: None


def annealing() -> None:
    Refinement._anneals = lambda self: False


def second_annealing() -> None:
    sets_search._STARTS = 1


def repair() -> None:
    Refinement._repair = lambda self: None


def stages() -> None:
    sets_search._FIRST = 2**31


def larger() -> None:
    descend = Refinement.descend
    Refinement.descend = lambda self: descend(self) if self._is_exact else None


def rule_sets() -> None:
    ProtectedSets.descend = lambda *given: None


def kept_pairs() -> None:
    begin = Clusters.__init__
    Clusters.__init__ = lambda *given, **options: begin(*given, **{**options, "room": 0})


def counted_lines() -> None:
    Clusters._count_lines = lambda *given: None


def dense_pairs() -> None:
    SupportIndex._pairs_of_few_items = lambda self: row_loops.pair_supports(self.rows)


def skeleton() -> None:
    engines.suffices = lambda *given: False


def optimum() -> None:
    pdanon.optimal = pdanon.apriori


def lowering() -> None:
    CutRefinement.descend = CutRefinement.lower = lambda *given: None


def exchanges() -> None:
    CutRefinement._exchange = lambda *given: 0


def row_moves() -> None:
    GroupRefinement.descend = lambda *given: None


def batches() -> None:
    class_audit.AUDITED = 2**62


def rare_pairs() -> None:
    identification._FEW_ROUNDS = identification._MOST_ROUNDS


def threads() -> None:
    pdanon.config(threads=1).__enter__()


@dataclass(frozen=True)
class Mechanism:
    """What stands in a row: ``parts`` are files, or functions and classes of a file after a colon."""

    title: str
    users: str
    parts: tuple[str, ...]
    off: Callable[[], None] | None = None
    tasks: tuple[str, ...] = ()
    note: str = ""
    clock: int = 1  # of processor time; 2: of elapsed time


MOVES, ANNEALING = "_kernels/set_moves.py:", "_kernels/set_annealing.py:"
STATE, CLUSTERS = "algorithms/states/sets_search.py:", "algorithms/states/clusters.py:"
LOCAL, GROUPS = "_kernels/local_recoding.py:", "_kernels/row_groups.py:"
SETS = (
    "balanced",
    "NCP",
    "UL",
    "m=1",
    "m=3",
    "constraints",
    "constraints, NCP",
    "classes",
)
MECHANISMS = [
    Mechanism(
        "moves of items",
        "refine, refine=True, rum_bound",
        (
            f"{MOVES}_move_keeps_triples _is_in_each_pair _best_target descend _fill_gains _refuse",
            f"{STATE}_move",
        ),
        moves,
        SETS,
        note="keep",
    ),
    Mechanism("stages, of the costliest items first", "as moves", (), stages, SETS),
    Mechanism(
        "annealing of sets",
        "refine, refine=True",
        (
            f"{ANNEALING}Annealing _price begin _settle _shuffle _flip _add _add_single _add_triple sweep",
            f"{ANNEALING}_lack_after_leaving _fill_changes _open_targets _list_targets _list_pairs _worst",
            f"{ANNEALING}_at_places _lack_after_joining _price_triples _move_triples _move _step",
            f"{STATE}_anneals _anneal _anneal_once _begin_annealing _repair",
        ),
        annealing,
        ("balanced", "NCP", "m=3"),
    ),
    Mechanism(
        "annealing of constraints",
        "the same, with constraints",
        (
            f"{ANNEALING}_is_repeated _sum_lacks _list_candidates _list_words _count_with",
            f"{ANNEALING}_add_own _add_other _step_constrained",
        ),
        annealing,
        ("constraints", "constraints, NCP"),
    ),
    Mechanism(
        "second annealing",
        "both",
        (),
        second_annealing,
        ("balanced", "NCP", "m=3", "constraints", "NCP, k=25", "few rows"),
    ),
    Mechanism(
        "merges afterwards",
        "annealing of sets",
        (f"{STATE}_repair",),
        repair,
        ("balanced", "m=3", "NCP, k=25"),
    ),
    Mechanism(
        "checks of larger itemsets",
        "refine, m > 3",
        (
            "_kernels/rare_clusters.py",
            f"{MOVES}_leaving_keeps_larger _joining_keeps_larger",
            f"{STATE}_larger_are_safe",
        ),
        larger,
        ("m=4",),
    ),
    Mechanism(
        "sets under PS-rules",
        "refine of ps_rules",
        ("algorithms/refinement/sets.py:ProtectedSets",),
        rule_sets,
        ("rules",),
    ),
    Mechanism(
        "kept supports of pairs of clusters",
        "pcta, coat, upcta",
        ("_kernels/clusters.py:begin_lines count_rows _take_line _add_to_lines",),
        kept_pairs,
        ("pcta", "pcta, m=3"),
    ),
    Mechanism(
        "these counted at once",
        "the same",
        (
            "_kernels/clusters.py:begin_lines count_rows",
            f"{CLUSTERS}_count_lines",
        ),
        counted_lines,
        ("pcta",),
    ),
    Mechanism(
        "pairs in a dense matrix",
        "audits, risk, apriori",
        ("_kernels/counting.py:count_pairs", "itemsets/support.py:_pairs_of_few_items"),
        dense_pairs,
        ("audit", "audit, m=3"),
    ),
    Mechanism(
        "skeleton of rows",
        "stream, dask; m <= 2",
        (
            "algorithms/engines.py:suffices Request merge_found decide_in_rounds _attempt _longest",
            "itemsets/encoded_columns.py:PairCounts",
            "_kernels/counting.py:mark_shortened",
            "itemsets/row_loops.py:mark_shortened",
            "algorithms/engines.py:_decide_by_pairs",
        ),
        skeleton,
        ("files",),
        note="keep: memory of 50 million rows",
    ),
    Mechanism(
        "cut_search",
        "optimal, hghs, mhghs",
        ("_kernels/cut_search.py", "algorithms/states/cuts.py:Descent"),
        optimum,
        ("optimal",),
    ),
    Mechanism(
        "local_recoding: cuts",
        "refine of cuts and blocks",
        (
            f"{LOCAL}BlockCut replace _saving _price _publish_node _publish_safe _is_safe_elsewhere force",
            f"{LOCAL}_force _find_rare _block_of _list_rows_with _rare_in_set _tally _extend_rows",
            f"{LOCAL}_rare_in_row _list_labels",
            "algorithms/states/cuts.py:NodePrices Scenario below_only_children",
            "algorithms/states/cuts.py:Descent _find_threats CutRefinement",
        ),
        lowering,
        ("cuts", "blocks"),
    ),
    Mechanism(
        "its exchanges of nodes",
        "refine of one cut",
        (f"{LOCAL}force _force _find_rare", "algorithms/states/cuts.py:_exchange"),
        exchanges,
        ("cuts", "cuts, k=2"),
    ),
    Mechanism(
        "row_groups: moves of rows",
        "refine of groups",
        (
            f"{GROUPS}move_rows _move _transfer _cost_with _list_dissimilar _list_nearest _keep_nearest",
            "algorithms/refinement/nodes.py:descend _groups_by_node",
        ),
        row_moves,
        ("groups",),
    ),
    Mechanism(
        "row_groups: clump",
        "clump",
        (
            f"{GROUPS}Clumps clump _prepare _count_saved _open_small _open_all _unlink _scatter _clear",
            f"{GROUPS}_first_open _common _nearest_group _best_row _insert assign",
        ),
        note="a paper's algorithm",
    ),
    Mechanism(
        "clusters",
        "pcta, coat, upcta",
        ("_kernels/clusters.py", f"{CLUSTERS}Clusters"),
        note="cannot: makes the sets",
    ),
    Mechanism(
        "audit by class",
        "stream, dask",
        ("guarantees/class_audit.py",),
        batches,
        ("audit by class",),
        note="keep: bounds memory",
    ),
    Mechanism(
        "m <= 2: pairs apart",
        "audits, risk",
        ("itemsets/support.py:_rare_pairs", "_kernels/itemset_search.py:mark_pairs _has_partner"),
        note="cannot: triples start from pairs",
    ),
    Mechanism(
        "m = 2: persons by rare pairs",
        "attack",
        ("recoding/identification.py:_draw_rare_pairs", "itemsets/support.py:sorted_pairs"),
        rare_pairs,
        ("attack",),
    ),
    Mechanism(
        "pieces merged: rows",
        "stream, dask",
        ("itemsets/encoded_columns.py:collapse_columns CollapsedRows", "itemsets/equality.py:DistinctRows"),
        note="cannot: no other way",
    ),
    Mechanism(
        "pieces merged: disk",
        "stream, quasi=",
        (
            "io/grouping.py:number_buckets pack unpack write_rows read_rows regroup Buckets",
            "stream/quasi_files.py",
        ),
        note="cannot: other storage",
    ),
    Mechanism(
        "pieces merged: Dask",
        "dask",
        ("dask/list_partitions.py", "dask/quasi_partitions.py"),
        note="cannot: other storage",
    ),
    Mechanism(
        "threads",
        "all",
        ("itemsets/threads.py",),
        threads,
        ("balanced", "pcta", "audit, m=3", "files"),
        clock=2,
        note="not shown: the cores were busy",
    ),
]


SIZES = ", ".join(f"{name} ({n_rows:,})" for name, (_, n_rows) in ROWS.items())
ABOUT = (
    f"Tables: the first rows of {SIZES}; k is 5, and m is 2, if not named. Loss: its change without the "
    "mechanism, of the table where it is worst, for at most three tasks; of UL, that of its logarithm. Time: "
    "processor time without it over that with it, the shorter of two runs in turns, from the smallest to the "
    "largest of all tables and tasks; for threads elapsed time."
)


# --- Figures


def count_tokens(part: str) -> set[tuple[str, int, int]]:
    """Return the places of names, numbers, operators and texts of a part; docstrings and layout excluded."""
    path, _, names = part.partition(":")
    text = (ROOT / "pdanon" / path).read_text(encoding="utf-8")
    nodes = [each for each in ast.walk(ast.parse(text)) if isinstance(each, (ast.FunctionDef, ast.ClassDef))]
    bodies = [ast.parse(text).body, *(each.body for each in nodes)]
    heads = [body[0] for body in bodies if body and isinstance(body[0], ast.Expr)]
    docs = {(each.lineno, each.col_offset) for each in heads if isinstance(each.value, ast.Constant)}
    chosen = [each for each in nodes if each.name in names.split()]
    assert {each.name for each in chosen} == set(names.split()), part
    spans = [
        (min([each.lineno, *(d.lineno for d in each.decorator_list)]), each.end_lineno) for each in chosen
    ]
    kinds = {tokenize.NAME, tokenize.NUMBER, tokenize.OP, tokenize.STRING}
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    places = [each.start for each in tokens if each.type in kinds and each.start not in docs]
    inside = [(at, column) for at, column in places if not names or any(a <= at <= b for a, b in spans)]
    return {(path, *place) for place in inside}


def peak() -> float:
    """Return the largest memory of this process in MB."""
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) / 1024


def run(task: str, name: str, off: Callable[[], None] | None, found: Any) -> None:
    """Run a task in this process, with a mechanism switched off, and send its loss and times."""
    warnings.simplefilter("ignore")
    prepare, _, options = TASKS[task]
    file, n_rows = ROWS[name]
    df = frame(file).head(n_rows)
    if off is not None:
        off()
    prepare(df.head(max(n_rows // 10, 300)), name, **options)()  # the first call loads compiled code
    work = prepare(df, name, **options)
    begin, times = time.process_time(), []
    while not times or time.process_time() - begin < SECONDS:
        start = time.process_time(), time.perf_counter()
        loss = work()
        times.append((time.process_time() - start[0], time.perf_counter() - start[1]))
    found.put([loss, *np.min(times, axis=0).tolist(), peak()])


def measure(task: str, name: str, off: Callable[[], None]) -> dict[str, list[float]]:
    """Run a task with and without a mechanism, in turns; return the loss, and the shortest times."""
    processes, rows = multiprocessing.get_context("fork"), ([], [])
    for _ in range(TURNS):
        for each, how in zip(rows, (None, off), strict=True):
            found = processes.SimpleQueue()
            process = processes.Process(target=run, args=(task, name, how, found))
            process.start()
            process.join()
            if process.exitcode:
                raise RuntimeError(f"{task} of {name}: exit code {process.exitcode}")
            each.append(found.get())
    return {key: np.min(each, axis=0).tolist() for key, each in zip(("with", "without"), rows, strict=True)}


def gather(path: Path) -> dict[str, dict[str, list[float]]]:
    """Measure what the file of figures lacks, and store each figure at once."""
    figures = json.loads(path.read_text()) if path.exists() else {}
    for each in MECHANISMS:
        for task in each.tasks:
            for name in TASKS[task][1]:
                key = f"{each.title} | {task} | {name}"
                if key not in figures and each.off is not None:
                    figures[key] = measure(task, name, each.off)
                    print(key, figures[key], f"{os.times().children_user:.0f} s", flush=True)
                    path.write_text(json.dumps(figures, indent=1))
    return figures


# --- The page


def row(each: Mechanism, figures: dict[str, dict[str, list[float]]]) -> str:
    tokens = len(set().union(*map(count_tokens, each.parts)))
    losses, ratios, worst = [], [], 0.0
    for task in each.tasks:
        pairs = [figures[f"{each.title} | {task} | {name}"] for name in TASKS[task][1]]
        more = max(
            (100 * (p["without"][0] - p["with"][0]) / (abs(p["with"][0]) or 1) for p in pairs), key=abs
        )
        times = [p["without"][each.clock] / p["with"][each.clock] for p in pairs]
        worst = max(worst, more)
        ratios += times
        losses.append((more, task))
    time_cell = f"{min(ratios):.2f}–{max(ratios):.2f}" if ratios else "-"
    most = [f"{task} {more:.1f}" for more, task in sorted(losses, reverse=True)[:3] if abs(more) >= 0.05]
    loss_cell = "; ".join(most) or ("0" if ratios else "-")
    verdict = each.note or ("keep" if worst >= 1 or max(ratios, default=2) >= 1.1 else "could go")
    return f"|{each.title}|{tokens:,}|{each.users}|{loss_cell}|{time_cell}|{verdict}|"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--figures", type=Path, required=True)
    figures = gather(parser.parse_args().figures)
    text = [f"Measured {date.today()} by `docs/scripts/ablation_table.py` on {machine()}.", ""]
    text += [ABOUT, ""]
    text += ["|mechanism|tokens|users|loss without, %|time|verdict|", "|---|---|---|---|---|---|"]
    text += [row(each, figures) for each in MECHANISMS]
    write_section("ablation.md", "ablation", text)


if __name__ == "__main__":
    main()
