"""The minimality attack, exhaustively: an attacker runs the algorithm on all tables of three items.

An attacker who has the rows of a release, and knows the algorithm with its parameters, keeps the tables that
are released so. A table is given away if they leave fewer than k rows for something that may be known; or, of
algorithms that bound a chance, if in all of them each matching row holds the sensitive item.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, combinations_with_replacement, permutations, product
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd

import pdanon

K = 2
ITEMS = "abc"
ROWS = [frozenset(each) for size in (1, 2, 3) for each in combinations(ITEMS, size)]
TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}

Table: TypeAlias = tuple[int, ...]  # numbers of `ROWS`
Releases: TypeAlias = dict[Table, tuple[tuple, ...]]  # the released rows of each table


class Case(NamedTuple):
    """An algorithm: its call with m, the items that may be known, and whether it takes a seed.

    ``in_order``: the order of the rows decides. ``bounds_chance``: it protects the item ``c``, not rows.
    """

    call: Callable
    known: str = ITEMS
    takes_seed: bool = False
    takes_m: bool = True
    in_order: bool = False
    bounds_chance: bool = False


def _with_tree(name: str, **options) -> Case:
    return Case(partial(getattr(pdanon, name), k=K, hierarchy=TREE, **options))


def _with_rules(frame: pd.DataFrame, m: int, random_state: int | None = None) -> pdanon.Anonymized:
    rules = {"m": m, "sensitive": ["c"]}
    return pdanon.ps_rules(frame, rules=rules, k=K, c=0.5, suppress=True, random_state=random_state)


def _deletions_listed(frame: pd.DataFrame, m: int, random_state: int | None = None) -> pdanon.Anonymized:
    items = sorted({item for row in frame["items"] for item in row})
    listed = [list(each) for size in range(1, m + 1) for each in combinations(items, size)]
    promise = pdanon.PrivacyConstraints(constraints=listed, k=K)
    return pdanon.local_suppression(frame, guarantee=promise, random_state=random_state)


def _deletions_diverse(frame: pd.DataFrame, m: int, random_state: int | None = None) -> pdanon.Anonymized:
    promise = pdanon.LmDiversity(l=2, m=m, k=K, sensitive=["c"])
    return pdanon.local_suppression(frame, guarantee=promise, random_state=random_state)


def _lra_refined(frame: pd.DataFrame, m: int) -> pdanon.Anonymized:
    return pdanon.refine(frame, pdanon.lra(frame, k=K, m=m, hierarchy=TREE, parts=2))


def _chance(name: str, in_order: bool = False, **options) -> Case:
    def call(frame: pd.DataFrame, m: int) -> pdanon.Anonymized:
        return getattr(pdanon, name)(frame, sensitive=["c"], **options)

    return Case(call, "ab", takes_m=False, in_order=in_order, bounds_chance=True)


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
    "lra": _with_tree("lra", parts=2),
    "lra, refined": Case(_lra_refined),
    "local_suppression": Case(partial(pdanon.local_suppression, k=K), takes_seed=True),
    "local_suppression, mixture": Case(
        partial(pdanon.local_suppression, k=K, deletion_price=4), takes_seed=True
    ),
    "local_suppression, nodes": Case(partial(pdanon.local_suppression, k=K, hierarchy=TREE), takes_seed=True),
    "local_suppression, listed": Case(_deletions_listed, takes_seed=True),
    "local_suppression, diverse": Case(_deletions_diverse, "ab", takes_seed=True, bounds_chance=True),
    "partition": Case(partial(_by_name, "partition", hierarchy=TREE), takes_m=False, in_order=True),
    "clump": Case(partial(_by_name, "clump", hierarchy=TREE), takes_m=False),
    "cahd": _chance("cahd", in_order=True, p=2),
    "suppress_control": _chance("suppress_control", rho=0.5),
    "td_control": _chance("td_control", rho=0.5, hierarchy=TREE),
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


def releases(case: Case, n_rows: int, m: int, seed: int | None = None) -> Releases:
    """The release of each table of non-empty rows that has one."""
    found, options = {}, {"random_state": seed} if case.takes_seed else {}
    numbers = range(len(ROWS))
    ascending = combinations_with_replacement(numbers, n_rows)
    for table in product(numbers, repeat=n_rows) if case.in_order else ascending:
        frame = pd.DataFrame({"items": pdanon.as_itemsets([ROWS[number] for number in table])})
        try:
            result = case.call(frame, m=m, **options)
        except (pdanon.InfeasibleError, pdanon.ParameterError):  # too few rows, or no sensitive item
            continue
        rows = tuple(_published(result))
        became = dict(zip(table, rows, strict=True))
        assert case.in_order or all(became[number] == row for number, row in zip(table, rows, strict=True))
        found[table] = rows
        if not case.in_order:
            others = {*permutations(table)} - {table}
            found |= {each: tuple(became[number] for number in each) for each in others}
    return found


def _published(result: pdanon.Anonymized) -> Iterator[tuple]:
    """The released rows, each with its group, if there are any, and how often that has the item ``c``."""
    classes = result.published.get("classes")
    counts = {} if classes is None else dict(zip(classes["group"], classes["count"], strict=True))
    groups = result.frame["group"] if counts else [None] * len(result.frame)
    for row, group in zip(result.frame["items"], groups, strict=True):
        yield (*row, group, counts.get(group))


def given_away(case: Case, m: int, made: Releases, consistent: Iterable[Releases]) -> list[Table]:
    """The tables whose release leaves fewer than k rows for something that may be known, or tells a secret.

    ``made`` has the releases by the seed of the publisher, ``consistent`` those by all seeds that the
    attacker has to consider.
    """
    rows_in = defaultdict(set)  # by release: the rows of the original that each of its rows can come from
    for some in consistent:
        for table, release in some.items():
            for row, number in enumerate(table):
                rows_in[release, row].add(number)
    most = m if case.takes_m else len(ITEMS)

    def is_given_away(table: Table, release: tuple[tuple, ...]) -> bool:
        known = {
            frozenset(each)
            for number in table
            for size in range(0 if case.bounds_chance else 1, most + 1)
            for each in combinations(sorted(ROWS[number] & set(case.known)), size)
        }
        own = [[ROWS[number] for number in rows_in[release, row]] for row in range(len(table))]
        if case.bounds_chance:
            return any(all("c" in row for rows in own for row in rows if each <= row) for each in known)
        return any(sum(any(each <= row for row in rows) for rows in own) < K for each in known)

    return [table for table, release in made.items() if is_given_away(table, release)]
