"""Tables at random, as if they were released, with guarantees: what two audits are compared on."""

from __future__ import annotations

from contextlib import suppress
from random import Random

import pandas as pd
from contract import verdict
from naive import disassociation as naive

import pdanon
from pdanon.errors import PdanonError

LETTERS = "abcdef"
NAMING = {"LmDiversity", "KLm", "Coherence", "PSRules", "RhoUncertainty", "SensitiveGroups"}
KINDS = [name for name in pdanon.guarantees.__all__ if name[0].isupper() and name != "KMap"]


def difference(seed):
    """What the audit and the independent one say of the table of a seed, if they differ."""
    frame, guarantee, column = case_of(seed)
    if guarantee is None:
        return None
    one, other = verdict(frame, guarantee, column), verdict(frame, guarantee, column, independent=True)
    if one != other:
        return f"{one} {other}"
    if isinstance(guarantee, pdanon.DisassociatedKm) and one[0] is True:
        asked = guarantee.k, guarantee.m, guarantee.safe
        return "refuted by all tables" if naive.has_guarantee(frame, *asked, limit=500) is False else None
    return None


def some_rows(random, letters=LETTERS):
    missing, longest = random.choice([0, 0, 0.2, 0.4, 0.7]), random.randint(1, 4)
    if random.random() < 0.1:
        return [random.choice([[], None]) for _ in range(random.randint(0, 5))]
    kinds = [random.sample(letters, random.randint(0, min(longest, len(letters)))) for _ in range(4)]
    rows = []
    for _ in range(random.randint(0, 10)):
        row = random.choice(kinds) if random.random() < 0.6 else random.sample(letters, random.randint(0, 2))
        rows.append(None if random.random() < missing else sorted(row))
    return rows


def some_labels(random, kept):
    """What items became, and the mapping; those that are kept stay as they are, or go."""
    pool, became, gone = [each for each in LETTERS if each not in kept], {}, random.choice([0.2, 0.2, 0.6, 1])
    random.shuffle(pool)
    while pool:
        own = [pool.pop() for _ in range(min(len(pool), random.choice([1, 1, 2])))]
        label = own[0] if len(own) == 1 else f"({','.join(sorted(own))})"
        became |= dict.fromkeys(own, None if random.random() < gone else label)
    became |= {each: None if random.random() < 0.1 else each for each in kept}
    mapping = pd.DataFrame({"group": 0, "item": sorted(became)})
    mapping["generalized"] = pd.array([became[item] for item in mapping["item"]], "string")
    return became, mapping


def publish(random, rows, became):
    as_empty = None in became.values() and random.random() < 0.5
    labels = [None if row is None else {became[item] for item in row} - {None} for row in rows]
    return [[] if row is None and as_empty else row and sorted(row) for row in labels]


def repeated(random, rows):
    """Rows in which some labels are there twice."""
    return [row and sorted(row + random.sample(row, random.randint(0, len(row)))) for row in rows]


def lists(rows):
    return pd.Series([None if row is None else [*row] for row in rows], dtype=object)


def case_of(seed):
    """A table, a guarantee and its list column."""
    random = Random(seed)
    kind = KINDS[seed % len(KINDS)]
    if kind == "DisassociatedKm":
        with suppress(PdanonError):
            return *chunks(random), "items"
        return None, None, "items"  # no release
    rows, secrets = some_rows(random), random.sample(LETTERS, random.choice([1, 1, 2]))
    if rows and kind in NAMING and random.random() < 0.9:  # otherwise they may not occur, which is refused
        rows += [[each, *random.sample("abc", 1)] for each in secrets if each not in "abc"]
        rows += [[each] for each in secrets]
    became, mapping = {each: each for each in LETTERS}, None
    draw = random.random()
    if draw < 0.5:
        became, mapping = some_labels(random, [] if random.random() < 0.05 else secrets)
        support = [sum(item in (row or ()) for row in rows) for item in mapping["item"]]
        mapping["support"] = support
        mapping.attrs["empty_rows"] = random.choice([rows.count([]), random.randint(0, 2)])
        mapping.attrs["rows_without_public"] = sum(
            row is not None and not {*row} - {*secrets} for row in rows
        )
        rows = publish(random, rows, became)
        if random.random() < 0.2:
            mapping = None
    elif draw < 0.6:  # a local recoding: an item has two labels in a row
        rows = [row and sorted({random.choice([each, f"({each},z)"]) for each in row}) for row in rows]
    if random.random() < 0.15:
        rows = repeated(random, rows)
    frame = pd.DataFrame({"items": lists(rows)})
    try:
        return frame, GUARANTEES[kind](random, frame, secrets, mapping), "items"
    except PdanonError:  # a mapping that does not fit
        return frame, None, "items"


def numbers(random):
    return {"k": random.choice([2, 2, 3, 4]), "m": random.choice([1, 2, 3, None])}


def quasi(random, frame):
    values = random.choice([[1, 2], ["x", "y", None], [1.0, float("nan"), -0.0, 0.0], [1, True, 1.0, None]])
    frame["age"] = pd.Series([random.choice(values) for _ in range(len(frame))], dtype=object)
    if random.random() < 0.5:
        frame["age"] = frame["age"].infer_objects()
    frame["sex"] = [random.choice("fm") for _ in range(len(frame))]
    return {"quasi": random.choice([["age"], ["age"], ["age", "sex"], ["sex", "age"]])}


def known_items(random, secrets):
    pool = [each for each in LETTERS if each not in secrets]
    return [random.sample(pool, random.randint(1, 3)) for _ in range(random.randint(1, 4))]


def km(random, frame, secrets, mapping):
    return pdanon.KmAnonymity(**numbers(random), mapping=mapping)


def lm(random, frame, secrets, mapping):
    asked = numbers(random) | {"l": random.choice([2, 3]), "sensitive": secrets, "mapping": mapping}
    return pdanon.LmDiversity(**asked | ({"k": None} if random.random() < 0.4 else {}))


def kkm(random, frame, secrets, mapping):
    asked = numbers(random) | quasi(random, frame) | {"mapping": mapping}
    if random.random() < 0.5:
        frame["more"] = lists(random.choice([["x"], ["x", "y"], [], None]) for _ in range(len(frame)))
        asked["columns"] = ["items", "more"]
    return pdanon.KKm(**asked)


def klm(random, frame, secrets, mapping):
    asked = numbers(random) | quasi(random, frame) | {"l": 2, "sensitive": secrets, "mapping": mapping}
    return pdanon.KLm(**asked)


def coherence(random, frame, secrets, mapping):
    asked = {
        "h": random.choice([0.3, 0.5, 0.7, 1]),
        "k": random.choice([2, 3]),
        "p": random.choice([1, 2, 3]),
    }
    if random.random() < 0.4:
        asked["effort"] = {item: random.randint(1, 4) for item in random.sample(LETTERS, 3)}
    asked["private"], asked["mapping"] = secrets, mapping
    if random.random() < 0.4:
        kinds = [[], None, ["s"], *some_rows(random, [*LETTERS[:3], "s"])]
        hidden = [random.choice(kinds) for _ in range(len(frame))]
        shown = frame["items"]
        if random.random() < 0.9:
            hidden = [
                own and [each for each in own if each not in (row or ())]
                for own, row in zip(hidden, shown, strict=True)
            ]
        frame["hidden"] = lists(hidden)
        asked["private"] = "hidden"
    return pdanon.Coherence(**asked)


def rules(random, frame, secrets, mapping):
    asked = {"k": random.choice([2, 3]), "c": random.choice([0.3, 0.5, 0.7]), "mapping": mapping}
    listed = [
        (known, random.sample(secrets, random.randint(1, len(secrets))))
        for known in known_items(random, secrets)
    ]
    public = random.choice([None, [each for each in LETTERS if each not in secrets][:3]])
    every = {"m": random.choice([1, 2, 3, "all"]), "sensitive": secrets}
    every |= {} if public is None else {"public": public}
    return pdanon.PSRules(rules=random.choice([listed, every]), **asked)


def groups(random, frame, secrets, mapping):
    frame["group"] = [random.randint(0, 2) for _ in range(len(frame))]
    if random.random() < 0.7:
        frame["items"] = lists(
            row and [each for each in row if each not in secrets] for row in frame["items"]
        )
    sizes = frame["group"].value_counts()
    lines = [(group, n, item, random.randint(0, 2)) for group, n in sizes.items() for item in secrets]
    classes = pd.DataFrame(lines, columns=["group", "size", "item", "count"])
    classes = classes.astype({"group": int, "size": int, "count": int, "item": "string"})
    asked = {"p": random.choice([2, 3]), "sensitive": secrets, "mapping": mapping}
    asked |= {} if random.random() < 0.1 else {"classes": classes}
    return pdanon.SensitiveGroups(**asked, **(numbers(random) if random.random() < 0.6 else {}))


def chunks(random):
    """A release in chunks, or parts of clusters at random, which may be joint."""
    rows = [row or ["a"] for row in some_rows(random)] * random.choice([1, 2]) + [["b"]] * 3
    asked = {"k": 2, "m": random.choice([1, 2, 2, None]), "safe": random.random() < 0.4}
    if random.random() < 0.2:
        made = pdanon.disassociate(pd.DataFrame({"items": lists(rows)}), max_cluster=6, **asked)
        return made.frame, pdanon.DisassociatedKm(**asked)
    asked["k"] = k = random.choice([2, 2, 3, 10])  # clusters of more than 8 records are not searched
    sizes = [random.randint(max(k - 1, 1), k + 1) for _ in range(random.randint(1, 3))]
    joint, above = random.choice([0, 0, 9]), random.choice([0, 8])
    owners = [(number, joint, size) for number, size in enumerate(sizes, 1)]
    owners += [(4, above, k)] if joint and above else []
    lines = [(*each, 0, random.choice([[], [], ["e"], ["e", "f"]])) for each in owners]
    owners += [(joint, above, sum(sizes))] if joint else []
    owners += [(above, 0, sum(sizes) + k)] if joint and above else []
    terms = random.sample("abcdghijklmnopqrstuvwxyz", 24)
    for each in owners:
        for chunk in range(random.randint(int(each[0] > 7), 2)):
            part = [terms.pop(), terms.pop()] if random.random() < 0.9 else random.sample("abcde", 2)
            part, few = part[: random.choice([1, 1, 2])], random.randint(1, min(k, each[2]))
            parts = [part] * random.choice([few, min(k, each[2]), min(k, each[2]), each[2]])
            parts += [part[:1]] * random.choice([0, 0, each[2] - len(parts)])
            lines += [(*each, chunk + 1, own) for own in parts]
    frame = pd.DataFrame(lines, columns=["cluster", "joint", "size", "chunk", "items"])
    if random.random() < 0.1:
        frame["items"] = lists(repeated(random, frame["items"]))
    return frame.sample(frac=1, random_state=random.randint(0, 99)), pdanon.DisassociatedKm(**asked)


GUARANTEES = {
    "KmAnonymity": km,
    "LmDiversity": lm,
    "KKm": kkm,
    "KLm": klm,
    "Coherence": coherence,
    "PSRules": rules,
    "SensitiveGroups": groups,
    "KAnonymity": lambda random, frame, secrets, mapping: pdanon.KAnonymity(
        random.choice([2, 3]), **quasi(random, frame)
    ),
    "TransactionalK": lambda random, frame, secrets, mapping: pdanon.TransactionalK(k=random.choice([2, 3])),
    "PublicK": lambda random, frame, secrets, mapping: pdanon.PublicK(
        k=random.choice([2, 3]), public=[*secrets, "a"], mapping=mapping
    ),
    "PrivacyConstraints": lambda random, frame, secrets, mapping: pdanon.PrivacyConstraints(
        constraints=known_items(random, secrets), k=random.choice([2, 3]), mapping=mapping
    ),
    "RhoUncertainty": lambda random, frame, secrets, mapping: pdanon.RhoUncertainty(
        rho=random.choice([0.3, 0.5, 0.7]), sensitive=secrets, m=random.choice([1, 2, None]), mapping=mapping
    ),
}
