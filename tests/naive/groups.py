"""Slow, obvious groups of rows to compare with; a tree is (name, list of trees), a leaf (name, None)."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from naive import itemsets as naive
from naive.cuts import subtrees


def lcg(rows, tree):
    """Bottom up: as many copies of a node as every row has items left over below it; labels, sorted."""
    return sorted(_collected(rows, tree)[0])


def _collected(rows, tree):
    name, children = tree
    if children is None:
        labels, left = [], [[name] if name in row else [] for row in rows]
    else:
        labels, left = [], [[] for _ in rows]
        for child in children:
            below, pools = _collected(rows, child)
            labels += below
            left = [pool + more for pool, more in zip(left, pools, strict=True)]
    copies = min(map(len, left))
    return labels + copies * [name], [pool[copies:] for pool in left]


def lm(tree):
    """Loss metric of each node, by name."""
    most = len(naive.leaves(tree)) - 1
    return {each[0]: Fraction(len(naive.leaves(each)) - 1, max(most, 1)) for each in subtrees(tree)}


def ggd(rows, labels, tree):
    """Distortion of rows that are all published as these labels."""
    costs = lm(tree)
    suppressed = sum(len(row) - len(labels) for row in rows)
    return len(rows) * sum(costs[label] for label in labels) + suppressed


def silent(rows, k):
    """Numbers of the rows that are published without items."""
    empty = [number for number, row in enumerate(rows) if not row]
    if empty:
        others = sorted((number for number, row in enumerate(rows) if row), key=lambda n: len(rows[n]))
        empty += others[: max(k - len(empty), 0)]
    return set(empty) if len(rows) - len(empty) >= k else set(range(len(rows)))


class Partition:
    """The recursion, literally; parts are lists of row numbers, ascending."""

    def __init__(self, rows, tree, k):
        self.rows, self.k = rows, k
        self.nodes = {each[0]: each for each in subtrees(tree)}
        self.number = {name: place for place, name in enumerate(self.nodes)}
        self.items = {name: frozenset(naive.leaves(each)) for name, each in self.nodes.items()}
        self.groups, self.published = [], [frozenset() for _ in rows]
        loud = sorted(set(range(len(rows))) - silent(rows, k))
        if loud:
            self.anonymize(loud, {tree[0]}, frozenset())

    def ncp(self, name):
        return 0 if len(self.items[name]) == 1 else len(self.items[name])

    def children(self, name):
        return [child[0] for child in self.nodes[name][1] or ()]

    def gain(self, row, name):
        return sum(
            self.ncp(name) - self.ncp(child)
            for child in self.children(name)
            for _ in self.items[child] & self.rows[row]
        )

    def anonymize(self, part, cut, blocked):
        held = frozenset().union(*(self.rows[row] for row in part))
        candidates = [n for n in cut if self.children(n) and self.items[n] & held and n not in blocked]
        if not candidates:
            for row in part:
                self.published[row] = frozenset(name for name in cut if self.items[name] & self.rows[row])
            self.groups.append(part)
            return
        node = max(candidates, key=lambda n: (sum(self.gain(row, n) for row in part), -self.number[n]))
        buckets = {}
        for row in part:
            present = frozenset(c for c in self.children(node) if self.items[c] & self.rows[row])
            buckets.setdefault(present, []).append(row)
        leftover = self.balance([*buckets.values()], node)
        for present, bucket in buckets.items():
            if bucket:
                self.anonymize(bucket, cut - {node} | present, blocked)
        if leftover:
            self.anonymize(sorted(leftover), cut, blocked | {node})

    def balance(self, buckets, node):
        """Move rows out of the buckets, in place, into a leftover of no or at least k rows."""
        leftover = []
        for bucket in buckets:
            if len(bucket) < self.k:
                leftover += bucket
                bucket.clear()
        while 0 < len(leftover) < self.k:
            movable = [
                (self.gain(row, node), row) for bucket in buckets if len(bucket) > self.k for row in bucket
            ]
            if not movable:
                break
            row = min(movable)[1]
            next(bucket for bucket in buckets if row in bucket).remove(row)
            leftover.append(row)
        while 0 < len(leftover) < self.k:
            bucket = min(filter(None, buckets), key=lambda b: sum(self.gain(row, node) for row in b))
            leftover += bucket
            bucket.clear()
        return leftover


def clump(rows, tree, k, r, score, lookahead):
    """The groups, as lists of row numbers; the first of each is its seed, or all of it are equal rows."""
    number = {each[0]: place for place, each in enumerate(subtrees(tree))}
    loud = set(range(len(rows))) - silent(rows, k)
    order = sorted(loud, key=lambda n: (-len(rows[n]), sorted(number[item] for item in rows[n]), n))
    times = Counter(rows[row] for row in order)
    waiting = [row for row in order if times[rows[row]] < k]
    groups = [[row] for row in waiting[: len(waiting) // k * k : k]]
    waiting = [row for row in waiting if [row] not in groups]
    for equal in times:
        if times[equal] >= k:
            groups.append([row for row in order if rows[row] == equal])
    groups.sort(key=lambda group: order.index(group[0]))

    def distortion(members):
        found = [rows[row] for row in members]
        return ggd(found, lcg(found, tree), tree)

    filling = any(len(group) < k for group in groups)
    while waiting:
        filling = filling and any(len(group) < k for group in groups)
        examined = [number for number, group in enumerate(groups) if len(group) < k or not filling]
        at = order.index(waiting[0])
        examined.sort(key=lambda number: order.index(groups[number][0]) < at)
        costs = {}
        for number in examined[:r]:
            costs[number] = distortion([*groups[number], waiting[0]])
            costs[number] -= distortion(groups[number]) if score == "increase" else 0
        group = groups[min(costs, key=lambda number: (costs[number], number))]
        others = waiting[1 : lookahead + 1] if filling else []
        chosen = min([waiting[0], *others], key=lambda row: distortion([*group, row]))
        group.append(chosen)
        waiting.remove(chosen)
    return groups
