"""Count how often the intervals of ``assess`` hold the true risk, in simulated releases, and write a table.

Every person has four items, most of them frequent in a kind of persons. Each attack that may be drawn on a
release is counted, with its chance. Run from the root of the checkout:
``python docs/scripts/assess_intervals.py``. It writes a section of tables/assess.md, and takes minutes.
"""

import sys
from collections.abc import Iterator, Sequence
from datetime import date
from itertools import combinations
from math import comb
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

N_ROWS, N_KINDS, N_FREQUENT, N_ITEMS, N_RELEASES, NEAREST = 100, 5, 8, 120, 2000, 10
ATTACKS = ("singling out", "linkability", "inference")  # whose true risk is known
N_ATTACKS = (20, N_ROWS)
COLUMNS = "| attack | attacks | true risk, % | hold that of the release, % | of all releases, % |"

Rows: TypeAlias = Sequence[Sequence[int]]


def persons(n: int, rng: np.random.Generator) -> np.ndarray:
    """Draw rows of four items, as ascending numbers: items of a kind of persons, or rarely any."""
    kinds = rng.integers(N_KINDS, size=n)
    own = np.arange(N_ITEMS) // N_FREQUENT == kinds[:, None]
    drawn = np.log(np.where(own, 1.0, 0.02)) + rng.gumbel(size=own.shape)  # without replacement, by weight
    return np.sort(np.argsort(-drawn, axis=1)[:, :4], axis=1)


def redraw_half(rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw half of the rows again, each place from that of another row."""
    some = rng.permutation(len(rows))[: len(rows) // 2]
    redrawn = rows.copy()
    redrawn[some] = rows[rng.integers(len(rows), size=(len(some), 4)), np.arange(4)]
    return redrawn


def as_frame(rows: Sequence[Sequence[int]], start: int = 0) -> pd.DataFrame:
    """Return rows as sets of texts."""
    lists = [[f"{item:03}" for item in {*row}] for row in rows]
    return pd.DataFrame({"items": pdanon.as_itemsets(lists)}).set_index(
        pd.RangeIndex(start, start + len(rows))
    )


def matrix(rows: Sequence[Sequence[int]], width: int = N_ITEMS) -> np.ndarray:
    """Return which numbers each row has."""
    found = np.zeros((len(rows), width))
    for row, numbers in enumerate(rows):
        found[row, [*numbers]] = 1
    return found


def true_shares(
    released: np.ndarray, labels: np.ndarray, original: np.ndarray, control: np.ndarray
) -> dict[str, tuple[float, ...]]:
    """Return the chance of success of each attack on the original and on control rows, over all draws.

    ``released`` are labels by row, and ``labels`` by item.
    """
    items = {*original.ravel().tolist()}
    known = [[item for item in row if item in items] for row in control.tolist()]
    tables = [(matrix(rows) @ labels > 0).astype(float) for rows in (original, known)]
    return {
        "singling out, 1 label": single(released, tables),
        "singling out, 2 labels": pairs(released, tables),
        "linkability": tuple(linked(released, labels, rows) for rows in (original.tolist(), known)),
        "inference": tuple(inferred(released, labels, rows) for rows in (original.tolist(), known)),
    }


def single(released: np.ndarray, tables: list[np.ndarray]) -> tuple[float, ...]:
    counts = released.sum(axis=0)
    played = counts == 1 if (counts == 1).any() else counts > 0
    return tuple((table.sum(axis=0) == 1)[played].mean() for table in tables)


def pairs(released: np.ndarray, tables: list[np.ndarray]) -> tuple[float, ...]:
    """A row is drawn, and two of its labels."""
    sizes = released.sum(axis=1)
    drawn = np.divide(1, sizes * (sizes - 1), out=np.zeros(len(sizes)), where=sizes > 1)
    weights = np.triu((released * drawn[:, None]).T @ released, 1)
    alone = np.triu(released.T @ released, 1) == 1
    weights = weights * alone if alone.any() else weights
    return tuple((weights * (table.T @ table == 1)).sum() / weights.sum() for table in tables)


def linked(released: np.ndarray, labels: np.ndarray, rows: Rows) -> float:
    """Draw a row of two items or more, one of its halvings, and those of the rows at the same distance."""
    halves, weights = [], []
    for row in (row for row in rows if len(row) > 1):
        first = [*combinations(row, len(row) - len(row) // 2)]
        halves += [half for one in first for half in (one, tuple(set(row) - set(one)))]
        weights += [1 / len(first)] * len(first)
    wanted = matrix(halves) @ labels
    common = np.minimum(wanted, 1) @ released.T
    overlap = common / ((wanted > 0).sum(axis=1)[:, None] + released.sum(axis=1) - common)
    least = np.partition(overlap, -NEAREST, axis=1)[:, [-NEAREST]]
    sure, ties = overlap > least, (overlap == least) & (least > 0)
    n_drawn = np.where(least[:, 0] > 0, NEAREST - sure.sum(axis=1), 0)
    chances = np.ones(len(weights))
    for one in 2 * np.flatnonzero(~(sure[::2] & sure[1::2]).any(axis=1)):
        other = one + 1
        both, ties_one, ties_other = (
            each.sum() for each in (ties[one] & ties[other], ties[one], ties[other])
        )
        free, free_other = ((ties[own] & ~sure[away]).sum() for own, away in ((one, other), (other, one)))
        counts = n_drawn[one], n_drawn[other], both, free - both, ties_one, free_other, ties_other
        chances[one // 2] -= chance_apart(*map(int, counts))
    return float(np.average(chances, weights=weights))


def chance_apart(n: int, n_other: int, both: int, own: int, ties: int, free: int, ties_other: int) -> float:
    """Return the chance that two draws from ties share no row, and none with the sure rows of the other.

    ``own`` are ties of the first alone, ``free`` those of the second that are not sure in the first.
    """
    draws = range(min(n, both) + 1)
    ways = sum(comb(both, j) * comb(own, n - j) * comb(free - j, n_other) for j in draws)
    return ways / (comb(ties, n) * comb(ties_other, n_other))


def inferred(released: np.ndarray, labels: np.ndarray, rows: Rows) -> float:
    """Draw a row, three of its items, or all two, and one of these to be guessed."""
    drawn = [
        (frozenset(some) - {item}, item, 1 / comb(len(row), size) / size)
        for row in rows
        if (size := min(len(row), 3)) > 1
        for some in combinations(row, size)
        for item in some
    ]
    everything = [*dict.fromkeys(known for known, *_ in drawn)]
    place = {known: number for number, known in enumerate(everything)}
    shares = (labels / np.maximum(labels.sum(axis=0), 1)).T
    slots, total = matrix(everything), released.sum(axis=0) @ shares
    needed = (slots @ labels).sum(axis=1)[:, None]
    matches = (slots @ labels @ released.T == needed) & (needed > 0)
    counts = np.where(slots > 0, 0, matches @ released @ shares)
    most = counts.max(axis=1)
    best = counts >= most[:, None] * (1 - 1e-9)
    for row in np.flatnonzero(most == 0):
        usual = [item for item in np.argsort(-total, kind="stable")[:3] if item not in everything[row]]
        best[row] = np.arange(N_ITEMS) == usual[0]
    chances = best / best.sum(axis=1)[:, None]
    found = [chances[place[known], hidden] for known, hidden, _ in drawn]
    return float(np.average(found, weights=[weight for *_, weight in drawn]))


def simulated(kind: str, seeds: range, n_attacks: Sequence[int] = N_ATTACKS) -> Iterator[pd.DataFrame]:
    """Yield the tables of `assess` for each simulated release, with the true shares."""
    for seed in seeds:
        rng = np.random.default_rng(seed)
        original, control = persons(N_ROWS, rng), persons(N_ROWS, rng)
        df, names = as_frame(original), [f"{item:03}" for item in range(N_ITEMS)]
        if kind == "half redrawn":
            given = redraw_half(original, rng)
            released, result = matrix(given), as_frame(given)
            labels = np.diag(released.max(axis=0))
        else:
            result = df.txanon.pcta(k=2, m=1)
            label = result.mapping.set_index("item")["generalized"].reindex(names)
            labels = pd.get_dummies(label).to_numpy(float)
            released = (matrix(original) @ labels > 0).astype(float)
        truth = pd.DataFrame(true_shares(released, labels, original, control), index=["one", "other"]).T
        held_back = as_frame(control, N_ROWS)
        for n in n_attacks:
            found = df.txanon.assess(
                result, held_back, attacks=ATTACKS, n_attacks=n, random_state=rng
            ).set_index("attack")
            yield found.join(truth).assign(asked=n, seed=seed)


def coverage(tables: pd.DataFrame) -> pd.DataFrame:
    """Return the true risk by attack, and how often an interval holds that of its release, and of all."""

    def risk(success: float, control: float) -> float:
        return (success - control) / (1 - control)

    lines = []
    for (attack, n), table in tables.groupby(["attack", "asked"], sort=False):
        expected = risk(table["one"].mean(), table["other"].mean())
        low, high, own = table["low"], table["high"], risk(table["one"], table["other"])
        held = ((low <= each + 1e-12) & (each <= high + 1e-12) for each in (own, expected))
        lines.append((attack, n, table["n_attacks"].mean(), expected, *(each.mean() for each in held)))
    return pd.DataFrame(lines, columns=["attack", "asked", "n_attacks", "risk", "release", "all"])


def main() -> None:
    lines = []
    for attack, *line in coverage(pd.concat(simulated("half redrawn", range(N_RELEASES)))).itertuples(
        index=False
    ):
        _, n_attacks, *shares = line
        cells = [attack, f"{n_attacks:.0f}", *(f"{100 * share:.1f}" for share in shares)]
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], flush=True)
    made = f"Measured {date.today():%Y-%m-%d} by `docs/scripts/assess_intervals.py` on {machine()}"
    what = f"{made}; {N_RELEASES:,} releases of {N_ROWS} persons and as many control rows."
    write_section("assess.md", "intervals", [what, "", COLUMNS, "|---" * 5 + "|", *lines])


if __name__ == "__main__":
    main()
