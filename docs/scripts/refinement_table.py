"""Play the refinement attack on releases of samples, by algorithm, and write tables/minimality.md.

The idea is that of S. Chhillar, M. Righi, R. Sutter, E. Kornaropoulos, "Exposing Privacy Risks in Anonymizing
Clinical Data", arXiv 2509.03350, 2025: a linear program rules out values that a local recoding hides. There,
it uses how the algorithm decides; here, exact counts of the original, which others may have published.

Run from the root of the checkout: ``python docs/scripts/refinement_table.py``. What stands around the figures
stays.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks import refinement as attack  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {"groceries": "groceries", "bms_webview1": "BMS-WebView-1"}
ROWS, ITEMS, FANOUT, K, M, ASKED = 200, 30, 4, 5, 2, 40
KNOWN = ("labels", "counts of items", "counts of pairs")
COLUMNS = "| data | release | known | decided, % | proven, % | named, % | below 5 rows, % |"


def refined(
    function: Callable[..., pdanon.Anonymized], df: pd.DataFrame, **asked: object
) -> pdanon.Anonymized:
    return pdanon.refine(df, function(df, **asked))


ALGORITHMS: dict[str, Callable[..., pdanon.Anonymized]] = {
    "pcta": pdanon.pcta,
    "pcta, refined": partial(refined, pdanon.pcta),
    "lra": partial(pdanon.lra, parts=3),
    "lra, refined": partial(refined, partial(pdanon.lra, parts=3)),
    "deletions": pdanon.local_suppression,
    "mixture": partial(pdanon.local_suppression, deletion_price=5),
}


def table(name: str) -> tuple[pd.DataFrame, list[str]]:
    """Return drawn rows of the most frequent items, and these items."""
    rows = frame(name)["items"].dropna().sample(frac=1, random_state=1)
    items = sorted(rows.explode().value_counts().index[:ITEMS])
    kept = [some for row in rows if (some := [item for item in row if item in items])][:ROWS]
    return pd.DataFrame({"items": pdanon.as_itemsets(kept)}), items


def release(name: str, df: pd.DataFrame, items: list[str]) -> tuple[pdanon.Anonymized, dict[str, set[int]]]:
    """Return a release, and the numbers of the items that each label may stand for."""
    code = {item: number for number, item in enumerate(items)}
    if not name.startswith("lra"):
        result = ALGORITHMS[name](df, k=K, m=M)
        pairs = result.mapping.dropna().groupby("generalized")["item"]
        return result, {label: {code[item] for item in group} for label, group in pairs}
    small = {f"{n}": items[n : n + FANOUT] for n in range(0, len(items), FANOUT)}
    large = {f"{n}-": [*small][n : n + FANOUT] for n in range(0, len(small), FANOUT)}
    tree = {"*": {name: {each: small[each] for each in below} for name, below in large.items()}}
    members = {item: {code[item]} for item in items} | {
        each: {code[i] for i in small[each]} for each in small
    }
    members |= {name: set().union(*(members[each] for each in below)) for name, below in large.items()}
    return ALGORITHMS[name](df, k=K, m=M, hierarchy=tree), members | {"*": {*range(len(items))}}


def at_risk(original: np.ndarray, rng: np.random.Generator) -> list[tuple[int, tuple[int, int]]]:
    """Return the rows with a pair of items that fewer than k rows hold, in random order, and such a pair."""
    support = attack.counted(original)[1]
    found = []
    for row in rng.permutation(len(original)):
        rare = [pair for pair in combinations(np.flatnonzero(original[row]), 2) if support[pair] < K]
        if rare:
            found.append((int(row), tuple(map(int, rng.choice(rare)))))
    return found


def attacked(
    original: np.ndarray,
    released: list[list[str]],
    members: Mapping[str, set[int]],
    deleted: bool,
    known: str,
) -> list[float]:
    """Return the share of cells that are decided, of hidden occurrences that are proven, and of persons."""
    state, labels = attack.read(released, members, original.shape[1], deleted)
    counts, pairs = attack.counted(original)
    given = labels._replace(
        counts=None if known == KNOWN[0] else counts, pairs=pairs if known == KNOWN[2] else None
    )
    hidden = state.possible & ~state.certain
    closed = attack.close(state, given)
    assert closed is not None
    tight = attack.Program(closed, given).tighten()
    assert (tight.possible >= original).all()
    assert (tight.certain <= original).all()
    open_cells = tight.possible & ~tight.certain
    if given.counts is None:
        prior = np.ones(original.shape)
    else:
        rest = counts - tight.certain.sum(axis=0)
        prior = np.broadcast_to(rest / np.maximum(open_cells.sum(axis=0), 1), original.shape)
    shares = attack.Program(tight, given).nearest(prior)
    persons = at_risk(original, np.random.default_rng(1))
    named = [
        chance_named(shares[:, items].prod(axis=1) * tight.possible[:, items].all(axis=1), row)
        for row, items in persons
    ]
    below = [is_below(tight, given, released, items) for _, items in persons[:ASKED]]
    decided = (hidden & ~open_cells).sum() / max(hidden.sum(), 1)
    proven = (hidden & tight.certain).sum() / max((hidden & original).sum(), 1)
    return [decided, proven, float(np.mean(named)), float(np.mean(below))]


def chance_named(scores: np.ndarray, row: int) -> float:
    """Return the chance that a person's row is drawn from those with the highest score."""
    best = scores >= scores.max() - 1e-6
    return best[row] / best.sum()


def is_below(
    state: attack.State, given: attack.Knowledge, released: list[list[str]], items: tuple[int, int]
) -> bool:
    """Return whether fewer than k rows may hold two items; rows of the same labels all may, or none."""
    rows = np.flatnonzero(state.possible[:, items].all(axis=1)).tolist()
    alike = Counter(frozenset(released[row]) for row in rows)
    one_of = {frozenset(released[row]): row for row in rows}
    left = 0
    for labels, n in alike.most_common():
        left += n * attack.is_possible(state, given, one_of[labels], items)
        if left >= K:
            return False
    return True


def measured(name: str) -> list[str]:
    """Attack all releases of a data set."""
    df, items = table(name)
    code = {item: number for number, item in enumerate(items)}
    original = np.zeros((len(df), len(items)), bool)
    for row, some in enumerate(df["items"]):
        original[row, [code[item] for item in some]] = True
    lines = []
    for algorithm in ALGORITHMS:
        result, members = release(algorithm, df, items)
        released = [[*row] for row in result.frame["items"]]
        for known in KNOWN:
            shares = attacked(original, released, members, algorithm in ("deletions", "mixture"), known)
            cells = [DATA_SETS[name], algorithm, known, *(f"{100 * share:.1f}" for share in shares)]
            lines.append("| " + " | ".join(cells) + " |")
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    warnings.simplefilter("ignore", pdanon.ReleaseWarning)
    lines = [line for name in DATA_SETS for line in measured(name)]
    made = f"Measured {date.today()} by `docs/scripts/refinement_table.py` on {machine()}"
    text = [f"{made}; {ASKED} persons for the last column.", ""]
    text += [COLUMNS, "|---" * (COLUMNS.count(" | ") + 1) + "|", *lines]
    write_section("minimality.md", "refinement", text)


if __name__ == "__main__":
    main()
