"""Tiny tables at random, and what is asked of them: the cases that the attacker attacks."""

from __future__ import annotations

import datetime
import re
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

import pandas as pd
from families import OF_ROWS, PARTS, RELATIONAL, RT

import pdanon
from pdanon.algorithms.registry import ALGORITHMS, parameters_of

ITEMS = [
    ["a", "b", "c", "d", "e"],
    ["a", "a\0", "\0", "a\0b", "b"],  # which arrays of fixed width take for one another
    ["a", "b", "(a,b)", "a,b", "((a,b))"],  # which look like labels
    ["é", "e\u0301", " a", "a ", "<NA>"],
    ["\\", "(", ")", ",", "nan"],
    [1, 2, 3, 10, -1],
    [datetime.date(2020, 1, day) for day in range(1, 6)],
]
QUASI = [
    [1, 2, 3, 7],
    [0.0, -0.0, 0.1, 2.5],
    [1, None, 5],
    [None, 2.5],
    [Decimal("0.7"), Decimal("0.70001"), Decimal(5), Decimal("1e3")],
    ["x", "y", "z", "<NA>"],
    ["x", "(x,y)", "y", None],
    [True, False, None],
    [pd.Timestamp(2020, 1, 1), pd.Timestamp(2020, 1, 2, 3, 4, 5, 6), None],
    [datetime.date(2020, 1, 1), datetime.date(2021, 5, 6), datetime.date(1900, 1, 1)],
]
SETS = ("pcta", "coat", "upcta")
# Those that let who knows items find the row are left out; cahd has a case of its own.
OTHERS = {pdanon.SensitiveGroups, pdanon.RhoUncertainty}
HIDING = [name for name in OF_ROWS if OTHERS.isdisjoint(ALGORITHMS[name].guarantees)]
CUTS = ("apriori", "direct", "vpa", "lra", "hghs", "mhghs", "optimal")


Columns = dict[str, tuple[list[Any], str | None]]  # values and dtype, by label


def frame_of(columns):
    return pd.DataFrame({label: pd.Series(values, dtype=kind) for label, (values, kind) in columns.items()})


def pasted(columns, *lines):
    """A table and what is done with it, as code to be pasted."""
    series = (f"{label!r}: pd.Series({values}, dtype={kind!r})" for label, (values, kind) in columns.items())
    imports = [
        "import datetime, pandas as pd, pdanon",
        "from decimal import Decimal",
        "from pandas import Interval, Timestamp",
    ]
    table = f"df = pd.DataFrame({{{', '.join(series)}}})"
    nothing = {"<NA>": "pd.NA", "nan": "float('nan')"}  # unless it is the text of an item
    table = re.sub(r"(?<=[\[ ])(<NA>|nan)(?=[,\]])", lambda found: nothing[found[0]], table)
    return "\n".join([*imports, table, *lines])


PROMISED = {"k", "m", "l", "sensitive", "constraints"}  # parameters of guarantees
LISTED = {"pcta", "upcta", "coat", "local_suppression"}  # algorithms with constraints


@dataclass
class Case:
    """A call: algorithm, table, arguments, list columns, refinement, and what `anonymize` is to promise."""

    name: str
    columns: Columns
    asked: dict[str, Any]
    lists: list[str]
    refine: str | None = None
    promise: str = ""

    @property
    def call(self):
        # The promise names the quasi-identifiers; beside it stand their hierarchies.
        beside = {"hierarchy", "quasi"} if isinstance(self.asked.get("quasi"), dict) else {"hierarchy"}
        asked = {key: self.asked[key] for key in self.asked if not self.promise or key in beside}
        arguments = [self.promise, "" if self.without_column else repr(self.lists[0])]
        if self.name in RT:
            parts = [f"{key}={asked.pop(key)!r}" for key in [*asked] if key in PARTS]
            items = ", ".join([repr(asked.pop("transaction")), *parts])
            arguments.append(f"transaction=pdanon.Transaction({items})")
        kind = "PrivacyConstraints" if "constraints" in asked else "LmDiversity" if "l" in asked else ""
        if kind:
            own = [f"{key}={asked.pop(key)!r}" for key in [*asked] if key in PROMISED]
            arguments.append(f"guarantee=pdanon.{kind}({', '.join(own)})")
        arguments += [f"{key}={value!r}" for key, value in asked.items()]
        return f"df.txanon.{self.name}({', '.join(filter(None, arguments))})"

    @property
    def without_column(self):
        return self.name in RELATIONAL or "columns" in self.asked

    def run(self):
        """The frame, and what comes of it."""
        df = frame_of(self.columns)
        result = eval(self.call, {"df": df, "pdanon": pdanon, "datetime": datetime})
        if self.refine and can_be_refined(result):
            result = pdanon.refine(df, result, loss=self.refine)
        return df, result

    def __repr__(self):
        lines = [f"result = {self.call}"]
        if self.refine:
            lines.append(f"result = pdanon.refine(df, result, loss={self.refine!r})")
        return pasted(self.columns, *lines, "print(result.frame, result.mapping, result.groups, sep='\\n')")


def can_be_refined(result):
    promise = result.guarantee
    if result.parameters["algorithm"] == "local_suppression":
        return False
    if isinstance(promise, pdanon.KKm):
        return promise.columns is None and result.parameters["transaction"].algorithm != "lra"
    known = (pdanon.KmAnonymity, pdanon.TransactionalK, pdanon.PrivacyConstraints, pdanon.PSRules)
    return isinstance(promise, known)


# --- tables


def rows_of(random, items, n):
    """Rows over some items: missing, in some tables often, empty, repeated, and with repeats."""
    rows, missing = [], random.choice([0, 0.12, 0.12, 0.4])
    for _ in range(n):
        kind = random.random()
        if random.random() < missing:
            rows.append(None)
        elif kind < 0.12:
            rows.append([])
        elif kind < 0.35 and rows:
            rows.append(random.choice(rows))
        else:
            row = random.sample(items, random.randint(1, min(len(items), 4)))
            rows.append(row + [row[0]] * (random.random() < 0.1))
    return [row if row is None else [*row] for row in rows]


def quasi_of(random, n):
    """A column of quasi-identifiers, its dtype, and a hierarchy for some."""
    pool = random.choice(QUASI)
    values = [random.choice(pool) for _ in range(n)]
    kind, tree = None, None
    texts = all(isinstance(each, str) or each is None for each in pool)
    if texts:
        kind = random.choice(["category", "str", "object"])
        if random.random() < 0.5:
            tree = tree_over(random, [each for each in pool if each is not None])
    elif any(
        isinstance(each, (Decimal, bool, datetime.date)) and not isinstance(each, pd.Timestamp)
        for each in pool
    ):
        kind = "object"
    return values, kind, tree


def tree_over(random, items, prefix="N"):
    """A hierarchy: its items below a root, in parts of one to three, or right below it."""
    texts = [str(item) for item in items]
    random.shuffle(texts)
    if len(texts) < 2 or random.random() < 0.3:
        return {f"{prefix}*": texts or ["in no row"]}
    tree, start = {}, 0
    while start < len(texts):
        size = random.randint(1, 3)
        tree[f"{prefix}{start}"] = texts[start : start + size]
        start += size
    return {f"{prefix}*": tree}


def blocks_of(random, items):
    """Blocks of items that may be published as one, and how many may be suppressed."""
    utility = None
    if random.random() < 0.6:
        utility = [[], []]
        for item in items:
            random.choice(utility).append(item)
        utility = [block for block in utility if block]
    return {"utility": utility, "max_suppressed": random.choice([0, 0.3, 0.5, 1.0])}


# --- what is asked of them


def any_case(random):
    """A table and what is asked of it."""
    items = random.choice(ITEMS)[: random.randint(2, 5)]
    n = random.choice([1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 8])
    rows = rows_of(random, items, n)
    occurring = sorted({item for row in rows for item in row or ()})
    table = {"items": (rows, "object")}
    make = random.choices(
        [item_case, diverse_case, grouped_case, relational_case, rt_case, choice_case],
        [60, 8, 6, 10, 22, 0.7],
    )[0]
    return make(random, table, occurring)


def refinement(random):
    return random.choice(["NCP", "LM"]) if random.random() < 0.2 else None


def knowledge(random):
    return {"k": random.choice([2, 2, 3]), "m": random.choice([1, 2, 2, 3, None])}


@dataclass
class Every:
    """All rules to some items, as they are made."""

    m: int | None
    sensitive: list[Any]

    def __repr__(self):
        return f"pdanon.constraints.AllRules({self.m}, {self.sensitive!r})"


def rules_case(random, table, items):
    secrets, others = sensitive_items(random, items)
    rules = Every(random.choice([1, 2, 3, None]), secrets)
    if random.random() < 0.5:
        sides = (others, min(3, len(others))), (secrets, len(secrets))
        rules = [
            tuple(random.sample(side, random.randint(1, most)) for side, most in sides)
            for _ in range(random.randint(1, 4))
        ]
    asked = {"rules": rules, "k": random.choice([2, 2, 3]), "c": random.choice([0.3, 0.5, 0.67, 0.9])}
    asked["suppress"] = random.random() < 0.5
    if random.random() < 0.3:
        asked |= {"how": "sample", "sample": random.choice([0.3, 0.6]), "random_state": 0}
    return Case("ps_rules", table, asked, ["items"], refinement(random))


def item_case(random, table, items):
    name = random.choice(HIDING if len(items) > 2 else [each for each in HIDING if each != "ps_rules"])
    if name == "ps_rules":
        return rules_case(random, table, items)
    accepted = parameters_of(OF_ROWS[name])
    asked, lists = {key: value for key, value in knowledge(random).items() if key in accepted}, ["items"]
    if "hierarchy" in accepted:
        asked["hierarchy"] = tree_over(random, items)
    if "parts" in accepted:
        asked["parts"] = random.choice([1, 2, 3])
    if "utility" in accepted:
        asked |= blocks_of(random, items)
    if name in LISTED and random.random() < 0.25:
        filled = [row for row in table["items"][0] if row]
        if filled:
            asked["constraints"] = [
                random.sample(row, random.randint(1, len(row))) for row in random.choices(filled, k=3)
            ]
            del asked["m"]  # constraints say what is known
            asked.pop("hierarchy", None)  # items rise for k^m-anonymity only
    if "private" in accepted:
        asked |= {"h": random.choice([0.34, 0.5, 0.75, 1]), "p": random.choice([1, 2, 3])}
        private = random.sample(items, random.randint(0, min(2, len(items))))
        if random.random() < 0.3:
            secret = ["s", "t"]
            table["secrets"] = rows_of(random, secret, len(table["items"][0])), "object"
            lists, private = ["items", "secrets"], "secrets"
        asked["private"] = private
    if "public" in accepted:
        asked["public"] = random.sample(items, random.randint(0, len(items)))
    if "suppress" in accepted:
        asked["suppress"] = random.random() < 0.5
    return Case(name, table, asked, lists, refinement(random))


def sensitive_items(random, items):
    secrets = random.sample(items, random.randint(1, 2)) if len(items) > 1 else items
    return secrets, [item for item in items if item not in secrets]


def diverse_case(random, table, items):
    secrets, others = sensitive_items(random, items)
    asked = knowledge(random) | {"sensitive": secrets, "l": random.choice([2, 2, 3])}
    return Case("apriori", table, asked | {"hierarchy": tree_over(random, others)}, ["items"])


def grouped_case(random, table, items):
    secrets, others = sensitive_items(random, items)
    asked = {
        "sensitive": secrets,
        "p": random.choice([2, 2, 3]),
        "order": random.choice(["nn", "gray", "rcm"]),
    }
    if random.random() < 0.8:
        asked |= knowledge(random)
        if random.random() < 0.4:
            asked["hierarchy"] = tree_over(random, others)
    return Case("cahd", table, asked, ["items"])


def quasi_case(random, table):
    n, quasi, trees = len(table["items"][0]), ["q", "r"][: random.randint(1, 2)], {}
    for label in quasi:
        values, kind, tree = quasi_of(random, n)
        table[label] = values, kind
        if tree is not None:
            trees[label] = tree
    return {"quasi": dict.fromkeys(quasi) | trees if trees else quasi}


def relational_case(random, table, items):
    name = random.choice([*RELATIONAL])
    asked = {"k": random.choice([2, 3])} | quasi_case(random, table)
    if name in ("cluster", "k_member"):
        asked["random_state"] = 0
    return Case(name, table, asked, ["items"])


def rt_case(random, table, items):
    name = random.choice([*RT])
    asked = knowledge(random) | quasi_case(random, table)
    lists = ["items"]
    if name in ("rum_bound", "tum_bound"):
        asked |= {"delta": random.choice([0.3, 0.6, 1]), "merge": random.choice(["R", "T", "RT"])}
    if name == "tfirst":
        asked["parts"] = random.choice([1, 2])
    else:
        asked |= {"cluster": random.choice([*RELATIONAL]), "random_state": 0}
    if random.random() < 0.35:
        secrets, others = sensitive_items(random, items)
        asked |= {"sensitive": secrets, "l": random.choice([2, 2, 3])}
        asked["transaction"] = random.choice(["apriori", "apriori", *SETS])
        if asked["transaction"] == "apriori":
            asked["hierarchy"] = tree_over(random, others)
        elif asked["transaction"] != "pcta":
            asked["options"] = blocks_of(random, items)
        return Case(name, table, asked, lists)
    asked["transaction"] = random.choice([*SETS, *CUTS])
    if random.random() < 0.25:
        table["more"] = rows_of(random, ["s", "t"], len(table["items"][0])), "object"
        lists = asked["columns"] = ["items", "more"]
    if asked["transaction"] in CUTS:
        tree = tree_over(random, items)
        asked["hierarchy"] = {"items": tree, "more": tree_over(random, "st", "M")} if len(lists) > 1 else tree
    if asked["transaction"] in ("coat", "upcta") and len(lists) == 1:
        asked["options"] = blocks_of(random, items)
    return Case(name, table, asked, lists, refinement(random))


def choice_case(random, table, items):
    """What `anonymize` chooses."""
    k, m = knowledge(random).values()
    kind = random.choice(
        ["KmAnonymity", "TransactionalK", "Coherence", "LmDiversity", "KAnonymity", "KKm", "KLm"]
    )
    secrets, others = sensitive_items(random, items) if items else (["x"], [])
    asked = {} if kind in ("Coherence", "KAnonymity", "KKm") else {"hierarchy": tree_over(random, items)}
    if kind in ("LmDiversity", "KLm"):
        asked = {"hierarchy": tree_over(random, others), "sensitive": secrets}
    if kind in ("KAnonymity", "KKm", "KLm"):
        asked |= quasi_case(random, table)
    if kind == "Coherence":
        asked |= {"h": 0.75, "private": secrets}
    quasi = [*asked.get("quasi", ())]
    fields = {
        "KmAnonymity": f"k={k}, m={m}",
        "TransactionalK": f"k={k}",
        "Coherence": f"h=0.75, k={k}, p=2, private={secrets}",
        "LmDiversity": f"l=2, m={m}, sensitive={secrets}, k={k}",
        "KAnonymity": f"k={k}, quasi={quasi}",
        "KKm": f"k={k}, m={m}, quasi={quasi}",
        "KLm": f"k={k}, l=2, m={m}, quasi={quasi}, sensitive={secrets}",
    }
    return Case("anonymize", table, asked, ["items"], promise=f"pdanon.{kind}({fields[kind]})")


def random_case(seed):
    return any_case(Random(seed))


# --- frames as if they were published

LABELS = [
    ["a", "b", "c"],
    ["a", "b", "(a,b)", "s"],
    ["(a,b)", "(a,c)", "s", "t"],
    ["(s,a)", "s", "a", "((s,a))"],
    ["(s\\,a,b)", "s,a", "(s)", "s", "(s,)"],
    ["s", "s\0", "S", "s "],
    [1, 2, 3],
]
CELLS = [
    (["x", "y", None], "object"),
    ([None, float("nan"), pd.NA, 0.0, -0.0], "object"),
    ([0.0, -0.0, float("nan"), 1.5], "float64"),
    ([1, True, 1.0], "object"),
    ([1, 2, None], "Int64"),
    ([0.0, -0.0, None], "Float64"),
    (["x", "y", None], "category"),
    ([pd.Interval(-0.0, 1.0, "both"), pd.Interval(0.0, 1.0, "both"), None], None),
]


@dataclass
class Published:
    """A frame with a guarantee to audit, its list columns, and how this was asked for."""

    columns: Columns
    lists: list[str]
    asked: dict[str, Any]
    call: str

    @property
    def frame(self):
        return frame_of(self.columns)

    @property
    def promise(self):
        return eval(self.call, {"pdanon": pdanon})

    @property
    def column(self):
        """What to name in the audit: nothing, if the guarantee names the columns."""
        return None if len(self.lists) > 1 and "columns=" in self.call else self.lists[0]

    def __repr__(self):
        return pasted(self.columns, f"print(pdanon.audit(df, {self.call}, {self.column!r}))")


def published_rows(random, labels):
    """Rows of few kinds, so that some hide in each other, and which labels are secrets, in some of them."""
    secret = random.choice(labels)
    common = random.choice([[each for each in labels if each != secret], labels])
    rows = []
    for kind in rows_of(random, common, random.choice([1, 1, 2, 3])):
        alike = random.choice([1, 2, 2, 3, 4])
        rows += [kind if kind is None else [*kind] for _ in range(alike)]
    if all(row is None for row in rows):
        rows[0] = []
    for row in random.sample(rows, random.choice([0, 1, 1, 2]) % len(rows)):
        if row is not None:
            row.append(secret)
    if random.random() < 0.2 and rows[0]:
        rows[0].reverse()
    return rows, [secret] if random.random() < 0.8 else random.sample(labels, 2)


def random_published(seed):
    random = Random(seed)
    labels = random.choice(LABELS)
    rows, named = published_rows(random, labels)
    n, table = len(rows), {"items": (rows, "object")}
    k, m = random.choice([2, 2, 3]), random.choice([1, 2, 3, None])
    quasi = ["q", "r"][: random.randint(1, 2)]
    cells = [random.choice(CELLS) for _ in quasi]
    for label, (pool, kind) in zip(quasi, cells, strict=True):
        few = random.sample(pool, random.choice([1, 1, 2]))
        table[label] = [random.choice(few) for _ in range(n)], kind
    lists, asked, name = ["items"], {}, random.choice(PROMISES)
    if name == "KmAnonymity":
        call = f"(k={k}, m={m})"
    elif name == "TransactionalK":
        call = f"(k={k})"
    elif name == "KAnonymity":
        call = f"(k={k}, quasi={quasi})"
    elif name == "PrivacyConstraints":
        filled = [row for row in rows if row] or [labels]
        asked["constraints"] = [
            random.sample(sorted(set(row)), 1 + (len(set(row)) > 1)) for row in random.choices(filled, k=2)
        ]
        call = f"(constraints={asked['constraints']}, k={k})"
    elif name == "PublicK":
        asked["named"], call = named, f"(k={k}, public={named})"
    elif name == "LmDiversity":
        asked["named"], call = named, f"(l=2, m={m}, sensitive={named}, k={random.choice([None, k])})"
    elif name == "RhoUncertainty":
        asked |= {"rho": random.choice([0.25, 0.5, 0.75]), "named": named}
        call = f"(rho={asked['rho']}, sensitive={named}, m={m})"
    elif name == "Coherence":
        asked |= {"h": random.choice([0.34, 0.5, 0.75, 1]), "named": named}
        private = named
        if random.random() < 0.3:
            table["secrets"] = rows_of(random, ["u", "v"], n), "object"
            table["secrets"][0][0] = table["secrets"][0][0] or []
            private, lists, asked["named"] = "secrets", ["items", "secrets"], []
        call = f"(h={asked['h']}, k={k}, p={m or 2}, private={private!r})"
    elif name == "PSRules":
        asked |= {"c": random.choice([0.34, 0.5, 0.75]), "named": named, "rules": Every(m, named)}
        there = [each for each in labels if any(row and each in row for row in rows)]
        others = [each for each in random.choice([there, there, labels]) if each not in named]
        if others and random.random() < 0.6:
            sides = (others, min(2, len(others))), (named, len(named))
            asked["rules"] = [
                tuple(random.sample(side, random.randint(1, most)) for side, most in sides) for _ in range(2)
            ]
            asked["named"] = [each for _, side in asked["rules"] for each in side]
        call = f"(rules={asked['rules']}, k={k}, c={asked['c']})"
    elif name == "KKm":
        columns = ""
        if random.random() < 0.2:
            table["more"] = rows_of(random, ["u", "v"], n), "object"
            table["more"][0][0] = table["more"][0][0] or []
            lists, columns = ["items", "more"], ", columns=['items', 'more']"
        call = f"(k={k}, m={m}, quasi={quasi}{columns})"
    else:
        asked["named"], call = named, f"(k={k}, l=2, m={m}, quasi={quasi}, sensitive={named})"
    return Published(table, lists, asked, f"pdanon.{name}{call}")


PROMISES = [
    *("KmAnonymity", "TransactionalK", "KAnonymity", "PrivacyConstraints", "PublicK", "LmDiversity"),
    *("Coherence", "KKm", "KLm", "PSRules", "RhoUncertainty"),
]
