"""Verdicts on any frame as if it were published: what who knows labels concludes, to compare audits with."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from attacker import Knowledge, lists_of, looks_of, parts, set_members

REFUSED = "refused"


def copies(row):
    """The labels of a row; one that is there again is one more thing to know."""
    seen = Counter()
    found = set()
    for label in map(str, row or ()):
        found.add((label, seen[label]))
        seen[label] += 1
    return frozenset(found)


def published(frame, columns, quasi=()):
    """What there is to know of a frame whose items are what they are."""
    lists = [[row if row is None else copies(row) for row in lists_of(frame[label])] for label in columns]
    rows = [*zip(*lists, strict=True)]
    items = [
        frozenset((column, copy) for column, row in enumerate(each) for copy in row or ()) for each in rows
    ]
    became = {(0, item): {item[1]} for row in items for item in row}
    return Knowledge(items, rows, became, None, looks_of(frame, quasi) if quasi else None)


def crowds(knowledge, most, secrets):
    """The rows that who knows up to so many labels, and in which columns there are data, finds."""
    for row, own in enumerate(knowledge.public):
        for data in parts(knowledge.held[row], None)[1:]:
            for known in parts(knowledge.rows[row] - secrets, most):
                yield knowledge.finds({own}, known, data)


def classes(knowledge):
    """The rows that who knows no label finds."""
    return [[row for row, each in enumerate(knowledge.public) if each == own] for own in {*knowledge.public}]


def largest(knowledge, crowd, secrets):
    """The largest share of some rows that has the same secret."""
    counts = [sum(copy in (knowledge.published[row][c] or ()) for row in crowd) for c, copy in secrets]
    return Fraction(max(counts, default=0), len(crowd))


def fewest(things, k):
    """Whether each thing is there k times."""
    return min(Counter(things).values(), default=k) >= k


def verdict(frame, promise, columns, asked):
    """Whether the promise holds, or that what it names cannot be counted."""
    name = type(promise).__name__
    if name == "KAnonymity":
        return fewest(looks_of(frame, promise.quasi), promise.k)
    if name == "TransactionalK":
        return fewest(map(repr, lists_of(frame[columns[0]])), promise.k)
    knowledge = published(frame, columns, getattr(promise, "quasi", ()))
    named = {str(item) for item in asked.get("named", ())}
    if cannot_be_counted(name, knowledge, named):
        return REFUSED
    if name == "PSRules":
        return follows(knowledge, asked["rules"], promise.k, Fraction(str(asked["c"])), named)
    if name == "PublicK":
        known = [
            row if row is None else {each for each in row if each[0] in named}
            for (row,) in knowledge.published
        ]
        return fewest((row if row is None else frozenset(row) for row in known), promise.k)
    if name == "PrivacyConstraints":
        listed = {str(item) for items in asked["constraints"] for item in items}
        if in_sets(knowledge, listed):
            return REFUSED
        return meets(knowledge, asked["constraints"], promise.k)
    secrets = frozenset()
    if name != "KKm":
        secrets = frozenset(
            each for row in knowledge.rows for each in row if each[0] == 1 or each[1][0] in named
        )
    if name == "RhoUncertainty":
        return no_inference(knowledge, promise.m, secrets, Fraction(str(asked["rho"])))
    share = Fraction(str(asked["h"])) if name == "Coherence" else Fraction(1, getattr(promise, "l", 1))
    most = promise.p if name == "Coherence" else promise.m
    least, everybody, found = promise.k or 1, classes(knowledge), [*crowds(knowledge, most, secrets)]
    crowded = found + (everybody if name in ("Coherence", "KKm", "KLm") else [])
    sure = any(
        largest(knowledge, rows, secrets) > share
        for rows in found + (everybody if name == "Coherence" else [])
    )
    return not sure and all(len(rows) >= least for rows in crowded)


def no_inference(knowledge, most, secrets, rho):
    """Whether no secret that is not known is in more than rho of the rows that who knows labels finds."""
    there = knowledge.finds(set(knowledge.public), set(), {0})
    known = {each for row in knowledge.rows for each in parts(row, most)[1:]}
    found = [(each, knowledge.finds(set(knowledge.public), each)) for each in known]
    return all(
        largest(knowledge, rows, secrets - each) <= rho for each, rows in [(set(), there), *found] if rows
    )


def labels_in(knowledge):
    """The labels of the first column."""
    return {label for row in knowledge.rows for column, (label, _) in row if column == 0}


def in_sets(knowledge, named):
    """Whether an item that is named is in a published set."""
    return any(named.intersection(set_members(label)) for label in labels_in(knowledge))


def cannot_be_counted(name, knowledge, named):
    """Whether what is named does not occur, or in a set; or a row has an item in two labels."""
    labels = labels_in(knowledge)
    if in_sets(knowledge, named):
        return True
    if name != "PublicK" and not named <= labels:
        return True
    counted = ("LmDiversity", "KLm", "Coherence", "PSRules", "RhoUncertainty")
    return name in counted and any(map(overlapping, knowledge.rows))


def overlapping(row):
    """Whether two labels of a row share an item."""
    labels = [set(set_members(label) or [label]) for _, (label, copy) in row if not copy]
    return sum(map(len, labels)) > len(set().union(*labels))


def follows(knowledge, rules, k, share, named):
    """Whether what rules know leads neither to few rows nor, in too many of them, to what is sensitive."""
    if isinstance(rules, list):
        pairs = [tuple(frozenset((0, (str(item), 0)) for item in side) for side in rule) for rule in rules]
        sets = {label for row in knowledge.rows for _, (label, _) in row}
        known = {label for each, _ in pairs for _, (label, _) in each}
        if not known <= sets or any(known.intersection(set_members(label)) for label in sets):
            return REFUSED
    else:
        secrets = {each for row in knowledge.rows for each in row if each[1][0] in named}
        rows = (row - secrets for row in knowledge.rows)
        pairs = [(each, {one}) for row in rows for each in parts(row, rules.m)[1:] for one in secrets]
    for known, sensitive in pairs:
        found = [row for row in knowledge.rows if known <= row]
        if found and (len(found) < k or Fraction(sum(sensitive <= row for row in found), len(found)) > share):
            return False
    return True


def meets(knowledge, constraints, k):
    """Whether each itemset, and to be there at all, is in no row or in k."""
    sets = [frozenset((0, (str(item), 0)) for item in each) for each in constraints]
    if not frozenset().union(*sets) <= frozenset().union(*knowledge.rows):
        return REFUSED
    present = [row for row, (labels,) in enumerate(knowledge.published) if labels is not None]
    return all(len(each) >= k for each in (present, *(knowledge.finds({0}, each) for each in sets)) if each)
