"""The minimality attack, exhaustively: an attacker runs the algorithm on all tables of three items.

An attacker who has the rows of a release, and knows the algorithm with its parameters, keeps the tables that
are released so. A table is given away if they leave fewer than k rows for something that may be known.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, combinations_with_replacement, product
from math import factorial, prod
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

import pdanon

K = 2
ITEMS = "abc"
ROWS = [frozenset(each) for size in (1, 2, 3) for each in combinations(ITEMS, size)]
TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}

Table: TypeAlias = tuple[int, ...]  # numbers of `ROWS`, ascending
Releases: TypeAlias = dict[Table, tuple[frozenset, ...]]  # the released rows of each table


class Case(NamedTuple):
    """An algorithm: its call with m, the items that may be known, and whether it takes a seed."""

    call: Callable
    known: str = ITEMS
    takes_seed: bool = False
    takes_m: bool = True


def _with_tree(name: str, **options) -> Case:
    return Case(partial(getattr(pdanon, name), k=K, hierarchy=TREE, **options))


def _with_rules(frame: pd.DataFrame, m: int, random_state: int | None = None) -> pdanon.Anonymized:
    rules = {"m": m, "sensitive": ["c"]}
    return pdanon.ps_rules(frame, rules=rules, k=K, c=0.5, suppress=True, random_state=random_state)


def _by_name(name: str, frame: pd.DataFrame, m: int, **options) -> pdanon.Anonymized:
    return getattr(pdanon, name)(frame, k=K, **({"p": m} if "h" in options else {}), **options)


CASES = {
    "pcta": Case(partial(pdanon.pcta, k=K), takes_seed=True),
    "coat": Case(partial(pdanon.coat, k=K), takes_seed=True),
    "upcta": Case(partial(pdanon.upcta, k=K)),
    "pcta, refined": Case(partial(pdanon.pcta, k=K, refine=True), takes_seed=True),
    "apriori": _with_tree("apriori"),
    "direct": _with_tree("direct"),
    "vpa": _with_tree("vpa", parts=2),
    "optimal": _with_tree("optimal"),
    "optimal, suppress": _with_tree("optimal", suppress=True),
    "hghs": _with_tree("hghs"),
    "mhghs": _with_tree("mhghs"),
    "coherence": Case(partial(_by_name, "coherence", private=["c"], h=0.5), "ab"),
    "suppress_public": Case(partial(_by_name, "suppress_public", private=["c"], h=0.5), "ab"),
    "ps_rules": Case(_with_rules, "ab", takes_seed=True),
    "suppress_to_k": Case(partial(_by_name, "suppress_to_k", public=[*ITEMS]), takes_m=False),
}


def seeds() -> list[int]:
    """One seed for each order of the items."""
    found = {tuple(np.random.default_rng(seed).permutation(3).tolist()): seed for seed in range(60)}
    assert len(found) == 6
    return [*found.values()]


def tables(n_rows: int) -> Iterator[Table]:
    """All tables of non-empty rows, up to the order of the rows."""
    return combinations_with_replacement(range(len(ROWS)), n_rows)


def releases(case: Case, n_rows: int, m: int, seed: int | None = None) -> Releases:
    """The release of each table that has one."""
    found, options = {}, {"random_state": seed} if case.takes_seed else {}
    for table in tables(n_rows):
        frame = pd.DataFrame({"items": pdanon.as_itemsets([ROWS[number] for number in table])})
        try:
            result = case.call(frame, m=m, **options)
        except (pdanon.InfeasibleError, pdanon.ParameterError):  # too few rows, or no sensitive item
            continue
        found[table] = tuple(frozenset(row) for row in result.frame["items"])
    return found


def orders(table: Table) -> int:
    """Number of tables with these rows in any order."""
    return factorial(len(table)) // prod(map(factorial, Counter(table).values()))


def given_away(case: Case, m: int, made: Releases, consistent: Iterable[Releases]) -> list[Table]:
    """The tables whose release leaves fewer than k rows for something that may be known.

    ``made`` has the releases by the seed of the publisher, ``consistent`` those by all seeds that the
    attacker has to consider.
    """
    rows_in = defaultdict(set)  # by release: the rows of the original that each of its rows can come from
    for some in consistent:
        for table, published in some.items():
            became = dict(zip(table, published, strict=True))
            n_rows = len(table)
            for numbers in product(sorted(set(table)), repeat=n_rows):
                if tuple(sorted(numbers)) == table:
                    release = tuple(became[number] for number in numbers)
                    for row, number in enumerate(numbers):
                        rows_in[release, row].add(number)
    most = m if case.takes_m else len(ITEMS)

    def is_given_away(table: Table, release: tuple[frozenset, ...]) -> bool:
        known = {
            frozenset(each)
            for number in table
            for size in range(1, most + 1)
            for each in combinations(sorted(ROWS[number] & set(case.known)), size)
        }
        own = [[ROWS[number] for number in rows_in[release, row]] for row in range(len(table))]
        return any(sum(any(each <= row for row in rows) for rows in own) < K for each in known)

    return [table for table, release in made.items() if is_given_away(table, release)]
