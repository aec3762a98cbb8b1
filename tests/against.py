"""Who learns what: the attackers of docs/attackers.md, and how far each of them comes with a release.

An attacker knows something of a person and has the release, with what items became. He finds the rows that
may be the person's, takes them to be equally likely, and concludes to what they have in common. The tables
are tiny, and of pdanon there is nothing here but public names.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from fractions import Fraction
from itertools import combinations, product
from math import prod
from random import Random
from typing import Any

import attacked_tables
import pandas as pd
from attacker import ancestors, column_zero, knowledge_of, lists_of, parts
from families import RT
from naive.disassociation import reconstructions, roots_of

import pdanon

Items = frozenset[Any]
CERTAIN = Fraction(1)


@dataclass
class Promise:
    """What a release was asked to keep: so many rows, or no greater chance of a secret; for whom."""

    rows: list[Items]  # as they were
    k: int = 2
    share: Fraction | None = None  # None: no chance but certainty is too much
    most: int | None = None
    secrets: Items = frozenset()
    listed: list[Items] | None = None  # what may be known, if not all sets of up to so many
    quasi: bool = False  # whether the other column may be known
    in_order: bool = True  # whether a row of the release is that of a person

    def known(self, person: int) -> list[Items]:
        """What is foreseen that somebody knows of a person."""
        row = self.rows[person]
        if self.listed is not None:
            return [each for each in self.listed if each <= row]
        return [each for each in parts(row - self.secrets, self.most) if each]


@dataclass
class OfRows:
    """A release with a row for each person."""

    promise: Promise
    knowledge: Any
    ages: list[Any]
    meaning: dict[Any, Items] = field(init=False)

    def __post_init__(self) -> None:
        self.meaning = {}
        for (_, item), labels in self.knowledge.became.items():
            for label in labels:
                self.meaning[label] = self.meaning.get(label, frozenset()) | {item}

    def look(self, person: int, known: Items, lacks: Any = None, age: bool = False) -> tuple[int, dict]:
        """How many rows match, and the chance of each item."""
        found = self.matching(person, known, lacks, age)
        held = {item: self.knowledge.holding(found, item) for item in frozenset().union(*self.promise.rows)}
        return len(found), {item: Fraction(n, len(found)) for item, n in held.items()}

    def matching(self, person: int, known: Items, lacks: Any, age: bool) -> list[int]:
        found = self.knowledge.finds({*self.knowledge.public}, known)
        found = [row for row in found if lacks is None or not self._shows(row, lacks)]
        return [row for row in found if not age or self.ages[row] == self.ages[person]]

    def _shows(self, row: int, item: Any) -> bool:
        """Whether a row holds a label that can mean this item alone."""
        return any(self.meaning.get(label) == {item} for label in self.knowledge.published[row][0] or ())


@dataclass
class OfGroups(OfRows):
    """A release whose secrets are counted by groups of rows. Who lacks a secret is somebody else."""

    groups: list[int]
    counts: dict[tuple[int, Any], int]

    def look(self, person: int, known: Items, lacks: Any = None, age: bool = False) -> tuple[int, dict]:
        """How many rows match, and the chance of each secret, expected of items that are independent."""
        secrets = self.promise.secrets
        other = self._neighbour(person, lacks) if lacks in secrets else None
        found = self.matching(person, known - secrets, None if lacks in secrets else lacks, age)
        likely = [
            prod((self._chance(row, secret, other, lacks) for secret in known & secrets), start=Fraction(1))
            for row in found
        ]
        chances = {
            secret: sum(
                each * self._chance(row, secret, other, lacks)
                for row, each in zip(found, likely, strict=True)
            )
            / sum(likely)
            for secret in secrets
        }
        return sum(each > 0 for each in likely), chances

    def _neighbour(self, person: int, lacks: Any) -> int | None:
        same = [row for row in range(len(self.groups)) if self.groups[row] == self.groups[person]]
        return next((row for row in same if row != person and lacks not in self.promise.rows[row]), None)

    def _chance(self, row: int, secret: Any, other: int | None, lacks: Any) -> Fraction:
        size, count = self.groups.count(self.groups[row]), self.counts.get((self.groups[row], secret), 0)
        if other is not None and secret == lacks and self.groups[other] == self.groups[row]:
            return Fraction(0) if row == other else Fraction(count, size - 1)
        return Fraction(count, size)


@dataclass
class OfChunks:
    """A release of parts of records: all tables that it can have come from."""

    promise: Promise
    tables: list[list[Items]]

    def look(self, person: int, known: Items, lacks: Any = None, age: bool = False) -> tuple[int, dict]:
        """How many records match in the table where most do, and which items these have in each table."""
        found = [[row for row in table if known <= row and lacks not in row] for table in self.tables]
        found = [rows for rows in found if rows]
        items = frozenset().union(*self.promise.rows)
        sure = {item: Fraction(all(item in row for rows in found for row in rows)) for item in items}
        return max(map(len, found), default=0), sure


Release = OfRows | OfGroups | OfChunks

# --- what he knows: of a person, known items, one that is absent, and whether another column is known, too


def foreseen(release: Release, person: int) -> Iterator[tuple]:
    yield from ((known,) for known in release.promise.known(person))


def all_items(release: Release, person: int) -> Iterator[tuple]:
    known = release.promise.rows[person] - release.promise.secrets
    if known:
        yield known, None, release.promise.quasi


def secrets_too(release: Release, person: int) -> Iterator[tuple]:
    """A secret of the person, and as many other items as leave the number that is foreseen."""
    promise = release.promise
    if not promise.secrets:
        yield from foreseen(release, person)
    for secret in promise.rows[person] & promise.secrets:
        yield (frozenset({secret}),)
        for known in promise.known(person):
            if promise.most is None or len(known) < promise.most:
                yield (known | {secret},)


def absence_too(release: Release, person: int) -> Iterator[tuple]:
    promise = release.promise
    lacking = frozenset().union(*promise.rows) - promise.rows[person]
    if isinstance(release, OfGroups):
        lacking |= promise.secrets
    for known in promise.known(person):
        yield from ((known, item) for item in lacking)


def age_too(release: Release, person: int) -> Iterator[tuple]:
    yield from ((known, None, True) for known in release.promise.known(person))


def broken(release: Release, knowing: Callable) -> tuple[bool, bool]:
    """Whether somebody is found among fewer than k rows, and whether a secret has a greater chance."""
    who = what = False
    promise = release.promise
    named = promise.secrets or promise.share is not None
    items = promise.secrets if named else frozenset().union(*promise.rows)
    for person in range(len(promise.rows)):
        for known, *more in knowing(release, person):
            count, chances = release.look(person, known, *more)
            best = max((chances[item] for item in items - known), default=Fraction(0))
            who |= count < promise.k
            what |= best == CERTAIN if promise.share is None else best > promise.share
    return who, what


# --- releases of tiny tables at random, by algorithm


def release_of(name: str, seed: int) -> tuple[str, Release] | None:
    """A release by an algorithm, and the name of its guarantee; None if the table cannot have it."""
    random = Random(seed)
    items = list("abcde")[: random.randint(3, 5)]
    rows = attacked_tables.rows_of(random, items, random.randint(4, 9))
    ages = [random.choice(["30s", "40s"]) for _ in rows]
    occurring = sorted({item for row in rows for item in row or ()})
    if len(occurring) < 2:
        return None
    case = case_of(random, name, {"items": (rows, "object"), "age": (ages, "object")}, occurring)
    if isinstance(case.asked.get("private"), str):  # a column of its own, of which the mapping says nothing
        return None
    return seen(case)


def seen(case: attacked_tables.Case) -> tuple[str, Release] | None:
    """The release of a case, as who is told what items became sees it, and the name of its guarantee."""
    made = released(case)
    if made is None:
        return None
    frame, result = made
    promise, ages = result.guarantee, case.columns["age"][0]
    if isinstance(promise, pdanon.DisassociatedKm):
        found: Release | None = of_chunks(case, result)
        return found and (name_of(case, promise), found)
    knowledge = knowledge_of(frame, result, case.lists)
    told = Promise(knowledge.rows, **promised(promise, case))
    if isinstance(promise, pdanon.SensitiveGroups):
        lines = result.classes.dropna(subset="item")
        cells = zip(lines["group"], lines["item"], strict=True)
        counts = {(group, (0, str(item))): n for (group, item), n in zip(cells, lines["count"], strict=True)}
        found = OfGroups(told, knowledge, ages, result.frame["group"].tolist(), counts)
    else:
        found = OfRows(told, knowledge, knowledge.public if told.quasi else ages)
    return name_of(case, promise), found


def name_of(case: attacked_tables.Case, guarantee: Any) -> str:
    """What the table calls a guarantee."""
    with_k = isinstance(guarantee, (pdanon.LmDiversity, pdanon.SensitiveGroups)) and "k" in case.asked
    return type(guarantee).__name__ + (" with k" if with_k else "")


def case_of(random: Random, name: str, table: dict, items: list) -> attacked_tables.Case:
    """What is asked of an algorithm."""
    secrets = random.sample(items, random.randint(1, min(2, len(items) - 1)))
    others = [item for item in items if item not in secrets]
    if name in OWN:
        return attacked_tables.Case(name, table, OWN[name](random, secrets, others), ["items"])
    if name == "apriori" and random.random() < 0.5:
        return attacked_tables.diverse_case(random, table, items)
    make = attacked_tables.rt_case if name in RT else attacked_tables.item_case
    while (case := make(random, {**table}, items)).name != name:
        pass
    return case


def grouped(random: Random, secrets: list, others: list) -> dict[str, Any]:
    asked = {"p": random.choice([2, 3]), "sensitive": secrets}
    return asked | ({"k": 2, "m": random.choice([1, 2])} if random.random() < 0.5 else {})


def uncertain(random: Random, secrets: list, others: list) -> dict[str, Any]:
    return {"rho": random.choice([0.4, 0.5, 0.7]), "sensitive": secrets}


def ruled(random: Random, secrets: list, others: list) -> dict[str, Any]:
    """All rules from some itemsets, so that what is listed has all secrets to hide."""
    known = [random.sample(others, random.randint(1, min(2, len(others)))) for _ in range(3)]
    rules = [(each, [secret]) for each in known for secret in secrets]
    return {"rules": rules, "k": 2, "c": random.choice([0.4, 0.5, 0.7])}


OWN: dict[str, Callable[[Random, list, list], dict[str, Any]]] = {
    "cahd": grouped,
    "disassociate": lambda random, secrets, others: {"k": 2, "m": random.choice([1, 2])},
    "ps_rules": ruled,
    "suppress_control": uncertain,
    "td_control": lambda random, secrets, others: {
        **uncertain(random, secrets, others),
        "hierarchy": attacked_tables.tree_over(random, others),
    },
}


def promised(guarantee: Any, asking: attacked_tables.Case) -> dict[str, Any]:
    """What a guarantee promises, in the words of this page."""
    asked = asking.asked
    secrets = column_zero(asked.get("sensitive", asked.get("private", ())))
    found = {
        "k": getattr(guarantee, "k", None) or 2,
        "secrets": secrets,
        "quasi": hasattr(guarantee, "quasi"),
    }
    match type(guarantee).__name__:
        case "Coherence":
            return found | {"share": Fraction(str(asked["h"])), "most": guarantee.p}
        case "PublicK":
            items = {item for row in asking.columns["items"][0] for item in row or ()}
            return found | {"secrets": column_zero(items - {*asked["public"]})}
        case "PrivacyConstraints":
            return found | {"listed": [column_zero(each) for each in asked["constraints"]]}
        case "PSRules":
            secrets = frozenset().union(*(column_zero(hidden) for _, hidden in asked["rules"]))
            listed = [column_zero(known) for known, _ in asked["rules"]]
            return found | {"share": Fraction(str(asked["c"])), "listed": listed, "secrets": secrets}
        case "RhoUncertainty":
            return found | {"share": Fraction(str(asked["rho"])), "most": guarantee.m}
        case "SensitiveGroups":
            return found | {"share": Fraction(1, guarantee.p), "most": asked.get("m")}
        case "LmDiversity" | "KLm":
            return found | {"share": Fraction(1, guarantee.l), "most": guarantee.m}
        case _:
            return found | {"most": getattr(guarantee, "m", None)}


def of_chunks(case: attacked_tables.Case, result: Any) -> OfChunks | None:
    rows = [frozenset(row or ()) for row in case.columns["items"][0]]
    tables = all_tables(result.frame)
    return tables and OfChunks(Promise(rows, k=case.asked["k"], most=case.asked["m"]), tables)


def all_tables(frame: Any, limit: int = 2_000) -> list[list[Items]] | None:
    """All tables that chunks can have come from; None if there are too many."""
    columns = ["cluster", "joint", "size", "chunk"]
    plain = frame[columns].assign(items=lists_of(frame["items"]))
    parts_of_table = [reconstructions(*root, limit) for root in roots_of(plain)]
    if None in parts_of_table or prod(map(len, parts_of_table)) > limit:
        return None
    return [[row for part in chosen for row in part] for chosen in product(*parts_of_table)]


# --- who runs the algorithm: only tables that lead to the same release can have been the original


def originals(case: attacked_tables.Case) -> tuple[list[list[Items]], list[list[Items]]]:
    """All tables that the release of a case can stand for, and those of them that are released alike."""
    _, result = released(case)
    possible = TABLES.get(case.name, tables_of_sets)(case, result)
    return possible, [rows for rows in possible if looks_alike(case, rows, result)]


def released(case: attacked_tables.Case) -> tuple[Any, Any] | None:
    """The frame and the result; None if the table cannot have what is asked."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return case.run()
    except (pdanon.InfeasibleError, pdanon.ParameterError):
        return None


def looks_alike(case: attacked_tables.Case, rows: list[Items], result: Any) -> bool:
    """Whether another table is released alike, with each item as the same label."""
    table = {**case.columns, "items": ([sorted(row) for row in rows], "object")}
    made = released(replace(case, columns=table))
    return made is not None and shown(made[1]) == shown(result)


def shown(result: Any) -> list[str]:
    """All that is published, and what items became, as text; what they became in groups of rows is secret."""
    lines = result.mapping[["item", "generalized"]].drop_duplicates()
    became = lines.to_csv() if result.parameters["algorithm"] not in SECRET else ""
    return [result.frame.to_csv(), became, result.classes.to_csv() if "group" in result.frame else ""]


def some_of(items: Any, least: int = 0) -> list[Items]:
    return [each for each in parts(items, None) if len(each) >= least]


def tables_of_sets(case: attacked_tables.Case, result: Any) -> list[list[Items]]:
    """In each row a label stands for some of the items that became it, and suppressed ones may have been."""
    meaning: dict[Any, set] = {}
    for item, label in zip(result.mapping["item"], result.mapping["generalized"], strict=True):
        meaning.setdefault(None if label is pd.NA else label, set()).add(item)
    gone = some_of(meaning.pop(None, ()))
    return tables_of(result.frame, {label: some_of(items, 1) for label, items in meaning.items()}, gone)


def tables_of_nodes(case: attacked_tables.Case, result: Any) -> list[list[Items]]:
    """In each row a node stands for some of its leaves."""
    leaves: dict[Any, set] = {}
    for leaf, names in ancestors(case.asked["hierarchy"]).items():
        for name in names:
            leaves.setdefault(name, set()).add(leaf)
    return tables_of(result.frame, {name: some_of(items, 1) for name, items in leaves.items()}, [frozenset()])


def tables_of(frame: Any, choices: dict[Any, list[Items]], gone: list[Items]) -> list[list[Items]]:
    """All tables, given what each label of a row can stand for, and what may have been in any."""
    rows = [
        {frozenset().union(*chosen) for chosen in product(*(choices[label] for label in row), gone)}
        for row in lists_of(frame["items"])
    ]
    return [*product(*rows)]


def tables_of_groups(case: attacked_tables.Case, result: Any) -> list[list[Items]]:
    """In each group as many rows have a secret as are counted, whichever these are."""
    frame = result.frame
    groups, rows = frame["group"].tolist(), [frozenset(row) for row in lists_of(frame["items"])]
    choices = []
    for line in result.classes.dropna(subset="item").itertuples():
        places = [row for row, group in enumerate(groups) if group == line.group]
        choices.append([(line.item, chosen) for chosen in combinations(places, line.count)])
    return [
        [row | {item for item, chosen in placed if place in chosen} for place, row in enumerate(rows)]
        for placed in product(*choices)
    ]


def tables_of_chunks(case: attacked_tables.Case, result: Any) -> list[list[Items]]:
    return all_tables(result.frame) or []


SECRET = ("partition", "clump")  # whose mapping is by groups of rows
TABLES = dict.fromkeys(SECRET, tables_of_nodes) | {"cahd": tables_of_groups, "disassociate": tables_of_chunks}


def concluded(promise: Promise, tables: list[list[Items]], known: Items) -> tuple[int, Fraction]:
    """How many rows can be those of a person of whom this is known, and the largest chance of a secret.

    All tables are equally likely, and so are the rows of each that match. Rows that are in no order, as
    those of parts, are as many as match in one table.
    """
    pairs = [(place, row) for table in tables for place, row in enumerate(table) if known <= row]
    if promise.in_order:
        count = len({place for place, _ in pairs})
    else:
        count = max(sum(known <= row for row in table) for table in tables)
    held = {item: sum(item in row for _, row in pairs) for item in promise.secrets - known}
    return count, Fraction(max(held.values(), default=0), len(pairs))
