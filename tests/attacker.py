"""An attacker: who knows some items of a person finds the rows of a release that may be the person's.

He has the release, knows what each original item became, and of a person some items, or all, in which list
columns the row holds data, and what the quasi-identifiers are published as. A row may be the person's if it
holds what each known item became, and is not missing where the person's holds data. Where a share of a
sensitive item is promised, he may even know which original rows hold data, and leave out all others. Sets,
tiny tables, and of pdanon nothing but public names; shares are exact fractions.

What the pages on guarantees exclude he does not do: run the algorithm on tables that may have been the
original, since it breaks ties by a public rule; conclude from what was left out that it was there; look at
the blocks of a refined `lra`; compare releases of a table that grows; ask for some secret instead of a
certain one. He takes rows that match to be equally likely, and an item that a row repeats to be there once.
"""

from __future__ import annotations

import re
from collections import Counter
from fractions import Fraction
from itertools import combinations

import pandas as pd
import pyarrow as pa

import pdanon

# --- what is known


def lists_of(column):
    """The rows of a list column as lists, None where missing, whatever its type."""
    if isinstance(column.dtype, pd.ArrowDtype):
        return pa.array(column).to_pylist()
    return [None if row is None or row is pd.NA or row != row else list(row) for row in column]


def parts(known, most):
    """Subsets of up to so many, the empty one first; None: of all sizes."""
    known = sorted(known, key=repr)
    sizes = range(min(len(known), len(known) if most is None else most) + 1)
    return [frozenset(chosen) for size in sizes for chosen in combinations(known, size)]


def look(value):
    """What a cell looks like: 0.0 and -0.0, None and NaN, 1 and True do not look alike."""
    return type(value).__name__, repr(value)


def fits(choices, labels):
    """Whether each item can have become a label of its own, or nothing, as it chooses."""
    if not choices:
        return True
    first, *others = choices
    if None in first and fits(others, labels):
        return True
    return any(labels[each] and fits(others, labels - Counter([each])) for each in first if each is not None)


class Knowledge:
    """What the attacker has: published rows, what items became, and which groups a row may be of.

    An item is a pair: the number of its list column, and its text. ``public`` is what tells rows apart beside
    their items, ``groups`` where items were recoded alike, ``held`` the list columns in which the original
    row is not missing.
    """

    def __init__(self, rows, published, became, groups=None, public=None, bags=False, held=None):
        self.rows = rows
        self.published = published
        self.became = became
        self.groups = groups or [0] * len(rows)
        self.public = public or [0] * len(rows)
        self.bags = bags
        self.held = held or [
            frozenset(column for column, labels in enumerate(each) if labels is not None)
            for each in published
        ]
        # Where sensitive items are counted by groups: of each row, by item; as `surest` says.
        self.chances = []
        self._groups_of = {}
        for own, group in zip(self.public, self.groups, strict=True):
            self._groups_of.setdefault(own, set()).add(group)

    def finds(self, publics, known, data=frozenset()):
        """The rows that may be a person's, given some items, what is public, and columns that hold data."""
        return [
            row
            for row, own in enumerate(self.public)
            if own in publics
            and all(self.published[row][column] is not None for column in data)
            and any(self._may_be(row, known, group) for group in self._groups_of[own])
        ]

    def with_data(self, rows, data):
        """Some rows without those that were missing in one of some list columns."""
        return [row for row in rows if data <= self.held[row]]

    def _may_be(self, row, known, group):
        for column, labels in enumerate(self.published[row]):
            items = [item for item in known if item[0] == column]
            if items and labels is None:
                return False
            choices = [self.became.get((group, item), ()) for item in items]
            if not all(choices):
                return False
            if self.bags and not fits(choices, Counter(labels)):
                return False
            if not all(None in each or not each.isdisjoint(labels or ()) for each in choices):
                return False
        return True

    def holding(self, rows, secret):
        """How many of some rows publish an item as itself."""
        column, item = secret
        return sum(item in (self.published[row][column] or ()) for row in rows)


def knowledge_of(frame, result, columns):
    """What there is to know of a result: its list columns by label."""
    tables = result.mapping
    numbers = {label: number for number, label in enumerate(columns)}
    owners = [numbers[each] for each in tables["column"]] if "column" in tables else [0] * len(tables)
    became = {}
    lines = zip(owners, tables["group"], tables["item"].tolist(), tables["generalized"].tolist(), strict=True)
    for column, group, item, label in lines:
        became.setdefault((group, (column, str(item))), set()).add(None if lacks(label) else str(label))
    originals = [*zip(*(lists_of(frame[label]) for label in columns), strict=True)]
    held = [frozenset(column for column, row in enumerate(each) if row is not None) for each in originals]
    rows = [
        frozenset((column, str(item)) for column, row in enumerate(each) for item in row or ())
        for each in originals
    ]
    shown = zip(*(lists_of(result.frame[label]) for label in columns), strict=True)
    published = [tuple(row and [*map(str, row)] for row in each) for each in shown]
    groups = None if result.groups is None else result.groups.tolist()
    public = None
    if hasattr(result.guarantee, "quasi"):
        public = looks_of(result.frame, result.guarantee.quasi)
    elif result.parameters["algorithm"] == "lra" and not result.parameters.get("refine"):
        # Each block has k rows of its own. Refined blocks have them together, and are not to be known.
        public = groups
    bags = result.parameters["algorithm"] == "clump"
    knowledge = Knowledge(rows, published, became, groups, public, bags, held)
    if isinstance(result.guarantee, pdanon.SensitiveGroups):
        knowledge.chances = [chances_of(result, knowledge, data) for data in (set(), set(), {0})]
    return knowledge


def chances_of(result, knowledge, data):
    """How likely each row has each sensitive item, if the rows of its group that hold data are alike."""
    groups = result.frame["group"].tolist()
    sizes = Counter(groups[row] for row in knowledge.with_data(range(len(groups)), data))
    told = {group: {} for group in groups}
    for group, _, item, count in result.classes.itertuples(index=False):
        if count:
            told[group][0, str(item)] = Fraction(int(count), sizes[group])
    return [told[group] for group in groups]


def looks_of(frame, columns):
    """What tells the rows of a frame apart in some columns."""
    cells = [[look(value) for value in frame[label].tolist()] for label in columns]
    return [*zip(*cells, strict=True)]


# --- what he finds. Each promise yields what is wrong: the row, what was known, and why.


def too_few(knowledge, person, known, k):
    found = knowledge.finds({knowledge.public[person]}, known, knowledge.held[person])
    if person not in found:
        yield person, known, "the row of the person does not match"
    elif len(found) < k:
        yield person, known, f"{len(found)} rows may be the person's"


def surest(knowledge, person, known, publics=None):
    """The rows he finds: not knowing where there is data, or knowing it of the person, or of all rows."""
    publics, held = publics or {knowledge.public[person]}, knowledge.held[person]
    yield knowledge.finds(publics, known)
    yield knowledge.finds(publics, known, held)
    # Which private data is missing is not to be known: it is published as if there were none.
    yield knowledge.with_data(knowledge.finds(publics, known), held & {0})


def too_sure(knowledge, person, known, secrets, share, publics=None):
    if not knowledge.held[person]:
        return  # a row that is missing has no secret
    for found in surest(knowledge, person, known, publics):
        for secret in secrets:
            count = knowledge.holding(found, secret)
            if Fraction(count, len(found)) > share:
                yield person, known, f"{count} of {len(found)} rows have the secret {secret[1]!r}"


def hidden_crowds(knowledge, k, most, secrets=frozenset(), missing=False):
    """Who knows up to so many items that are no secrets finds k rows; of missing rows only if asked."""
    for person, row in enumerate(knowledge.rows):
        if missing or knowledge.held[person]:
            for known in parts(row - secrets, most):
                yield from too_few(knowledge, person, known, k)


def hidden_secrets(knowledge, share, most, secrets):
    """Of the rows that match, a secret is in no more than a share."""
    for person, row in enumerate(knowledge.rows):
        for known in parts(row - secrets, most):
            yield from too_sure(knowledge, person, known, secrets, share)


def knowing_groups(knowledge):
    """The same for somebody who even knows which rows of a class were recoded alike."""
    public = [*zip(knowledge.public, knowledge.groups, strict=True)]
    same = knowledge.rows, knowledge.published, knowledge.became, knowledge.groups
    return Knowledge(*same, public, held=knowledge.held)


def column_zero(items):
    return frozenset((0, str(item)) for item in items)


def km(frame, knowledge, promise, asked):
    yield from hidden_crowds(knowledge, promise.k, promise.m)


def kkm(frame, knowledge, promise, asked):
    yield from covering(frame, promise.quasi, asked)
    for each in (knowledge, knowing_groups(knowledge)):
        yield from hidden_crowds(each, promise.k, promise.m, missing=True)


def lm(frame, knowledge, promise, asked):
    secrets = column_zero(asked["sensitive"])
    yield from hidden_crowds(knowledge, promise.k or 1, promise.m, secrets)
    yield from hidden_secrets(knowledge, Fraction(1, promise.l), promise.m, secrets)


def grouped(frame, knowledge, promise, asked):
    """He knows nothing of groups before he sees them, and then which group each row is in that matches."""
    secrets = column_zero(asked["sensitive"])
    if promise.k:
        yield from hidden_crowds(knowledge, promise.k, promise.m, secrets)
    for person, row in enumerate(knowledge.rows):
        for known in parts(row - secrets, None) if knowledge.held[person] else ():
            for found, chances in zip(surest(knowledge, person, known), knowledge.chances, strict=True):
                for secret in secrets:
                    if sum(chances[each].get(secret, 0) for each in found) * promise.p > len(found):
                        yield person, known, f"the secret {secret[1]!r} is too likely in {len(found)} rows"


def rho_uncertain(frame, knowledge, promise, asked):
    """Who knows any items, secret ones too, is no surer than rho of another secret."""
    secrets = column_zero(asked["sensitive"])
    for person, row in enumerate(knowledge.rows):
        for known in parts(row, promise.m):
            yield from too_sure(knowledge, person, known, secrets - known, Fraction(str(asked["rho"])))


def klm(frame, knowledge, promise, asked):
    yield from covering(frame, promise.quasi, asked)
    secrets = column_zero(asked["sensitive"])
    share = Fraction(1, promise.l)
    for each in (knowledge, knowing_groups(knowledge)):
        yield from hidden_crowds(each, promise.k, promise.m, secrets, missing=True)
        yield from hidden_secrets(each, share, promise.m, secrets)
    # Who knows the quasi-identifiers as they were may have to do with several classes.
    originals = [frame[0][label].tolist() for label in promise.quasi]
    released = frame[1]
    cells = [*zip(*(released[label].tolist() for label in promise.quasi), strict=True)]
    for person, row in enumerate(knowledge.rows):
        own = [column[person] for column in originals]
        publics = {
            knowledge.public[other]
            for other, shown in enumerate(cells)
            if all(map(covers, shown, own, originals, trees_of(promise.quasi, asked)))
        }
        for known in parts(row - secrets, promise.m):
            yield from too_sure(knowledge, person, known, secrets, share, publics)


def coherent(frame, knowledge, promise, asked):
    private = asked["private"]
    if isinstance(private, str):
        secrets = frozenset(item for row in knowledge.rows for item in row if item[0] == 1)
    else:
        secrets = column_zero(private)
    share = Fraction(str(asked["h"]))
    yield from hidden_crowds(knowledge, promise.k, promise.p, secrets, missing=True)
    yield from hidden_secrets(knowledge, share, promise.p, secrets)


def public_part(frame, knowledge, promise, asked):
    """Who knows all public items, and that there are no others, finds k rows."""
    public = column_zero(asked["public"])
    texts = {item for _, item in public}
    shown = [None if labels is None else texts.intersection(labels) for (labels,) in knowledge.published]
    for person, row in enumerate(knowledge.rows):
        known = row & public
        image = {label for item in known for label in knowledge.became[0, item]} - {None}
        found = [number for number, each in enumerate(shown) if each == image]
        if shown[person] is not None and person not in found:
            yield person, known, "the row of the person does not match"
        elif shown[person] is not None and len(found) < promise.k:
            yield person, known, f"{len(found)} rows have these public items"


def constrained(frame, knowledge, promise, asked):
    constraints = [column_zero(each) for each in asked["constraints"]]
    for person, row in enumerate(knowledge.rows):
        for known in constraints:
            if known <= row:
                yield from too_few(knowledge, person, known, promise.k)


def ruled(frame, knowledge, promise, asked):
    """Who knows what a rule knows finds k rows, and few of them hold all that is not to be inferred."""
    rules, share = asked["rules"], Fraction(str(asked["c"]))
    for person, row in enumerate(knowledge.rows):
        if isinstance(rules, list):
            pairs = [tuple(map(column_zero, rule)) for rule in rules]
        else:
            secrets = column_zero(rules.sensitive)
            pairs = [(known, {each}) for known in parts(row - secrets, rules.m) for each in secrets]
        for known, secrets in pairs:
            if known and known <= row:
                yield from too_few(knowledge, person, known, promise.k)
                for found in surest(knowledge, person, known):
                    count = sum(all(knowledge.holding([each], one) for one in secrets) for each in found)
                    if Fraction(count, len(found)) > share:
                        yield person, known, f"{count} of {len(found)} rows hold what is not to be inferred"


def transactional(frame, knowledge, promise, asked):
    """Who knows a row as it was, and even what it is published as, finds k rows that look the same."""
    alike = Counter(map(repr, knowledge.published))
    for person, row in enumerate(knowledge.rows):
        yield from too_few(knowledge, person, row, promise.k)
        count = alike[repr(knowledge.published[person])]
        if count < promise.k:
            yield person, row, f"{count} rows look like the person's"


def k_anonymous(frame, knowledge, promise, asked):
    yield from covering(frame, promise.quasi, asked)
    for person in range(len(frame[0])):
        yield from too_few(knowledge, person, frozenset(), promise.k)


JUDGES = {
    pdanon.KmAnonymity: km,
    pdanon.KKm: kkm,
    pdanon.KLm: klm,
    pdanon.LmDiversity: lm,
    pdanon.SensitiveGroups: grouped,
    pdanon.Coherence: coherent,
    pdanon.RhoUncertainty: rho_uncertain,
    pdanon.PublicK: public_part,
    pdanon.PrivacyConstraints: constrained,
    pdanon.PSRules: ruled,
    pdanon.TransactionalK: transactional,
    pdanon.KAnonymity: k_anonymous,
}


def attack(frame, result, columns, asked):
    """All that breaks the promise of a result, given its list columns and what was asked."""
    if isinstance(result.guarantee, pdanon.KAnonymity):
        n = len(frame)
        public = looks_of(result.frame, result.guarantee.quasi)
        knowledge = Knowledge([frozenset()] * n, [()] * n, {}, result.groups.tolist(), public)
    else:
        knowledge = knowledge_of(frame, result, columns)
    judge = JUDGES[type(result.guarantee)]
    return list(judge((frame, result.frame), knowledge, result.guarantee, asked))


# --- quasi-identifiers: does a published value cover an original one?


def trees_of(quasi, asked):
    trees = asked["quasi"]
    return [trees.get(label) if isinstance(trees, dict) else None for label in quasi]


def covering(frames, quasi, asked):
    """Each row is published as what covers it, or else who knows it would look elsewhere."""
    for label, tree in zip(quasi, trees_of(quasi, asked), strict=True):
        originals, shown = frames[0][label].tolist(), frames[1][label].tolist()
        for person, (value, cell) in enumerate(zip(originals, shown, strict=True)):
            if not covers(cell, value, originals, tree):
                yield person, frozenset(), f"the value {value!r} is published as {cell!r}"


def lacks(value):
    return value is None or value is pd.NA or value is pd.NaT or value != value


def measure(value):
    """A number as it is, exactly, or a time."""
    if isinstance(value, pd.Timestamp) or not hasattr(value, "isoformat"):
        return value if isinstance(value, pd.Timestamp) else Fraction(value)
    return pd.Timestamp(value)


def covers(shown, value, values, tree):
    """Whether a published cell may stand for a value of a column."""
    present = [each for each in values if not lacks(each)]
    if isinstance(shown, pd.Interval):
        low, high = measure(shown.left), measure(shown.right)
        if not lacks(value):
            return low <= measure(value) <= high
        return all(low <= measure(each) <= high for each in present)  # the whole range says nothing
    if lacks(shown):
        return lacks(value)
    if tree is not None:
        return shown in tree if lacks(value) else shown in ancestors(tree)[str(value)]
    if lacks(value):
        return any(re.fullmatch("<*<NA>>*", each) for each in members(shown, present))
    return any(reads_as(each, value) for each in members(shown, present))


def ancestors(tree, path=()):
    """The names at and above each leaf of a nested dict."""
    if isinstance(tree, dict):
        below = [ancestors(child, (*path, name)) for name, child in tree.items()]
        return {leaf: names for each in below for leaf, names in each.items()}
    return {leaf: {*path, leaf} for leaf in tree}


def members(label, values):
    """What a label names: itself if it is a value, or else what it is the set of."""
    own = any(reads_as(label, value) for value in values)
    return [label] if own else set_members(label) or [label]


def set_members(label):
    """The members of a label that reads as a set of two or more."""
    while label.startswith("(") and label.endswith(")"):
        label = label[1:-1]
        members, depth, escaped = [""], 0, False
        for mark in label:
            if escaped or mark not in "\\,()":
                members[-1] += mark
                escaped = False
            elif mark == "\\":
                escaped = True
            elif mark == "," and not depth:
                members.append("")
            else:
                members[-1] += mark
                depth += 1 if mark == "(" else -1 if mark == ")" else 0
                if depth < 0:
                    return []
        if escaped or depth:
            return []
        if len(members) > 1:
            return members
    return []


def reads_as(text, value):
    """Whether a text is that of a value."""
    if isinstance(value, str):
        return text == value
    if isinstance(value, bool):
        return text == str(value).lower()
    try:
        return measure(pd.Timestamp(text) if hasattr(value, "isoformat") else text) == measure(value)
    except ValueError:
        return False
