"""What refinement may do to a release, slow and obvious: all that one step leads to; nothing of pdanon."""

from __future__ import annotations

from naive import itemsets as naive
from naive.cuts import subtrees


def became_of(result):
    """What each item became in each group: a label, or None where it is suppressed."""
    table = result.mapping.astype({"generalized": object})
    labels = table["generalized"].where(table["generalized"].notna(), None)
    return dict(zip(zip(table["group"], table["item"], strict=True), labels, strict=True))


class Released:
    """Which node each item became in each group of rows; None where it is suppressed.

    Labels count over all groups, or in each of them apart.
    """

    def __init__(self, tree, rows, result, base, apart=False):
        self.rows, self.apart = rows, apart
        self.k, self.m = result.parameters["k"], result.parameters["m"]
        self.leaves = {each[0]: naive.leaves(each) for each in subtrees(tree)}
        self.children = {each[0]: [child[0] for child in each[1] or ()] for each in subtrees(tree)}
        self.base = base
        self.most = max(len(naive.leaves(tree)) - base, 1)
        self.groups = [0] * len(rows) if result.groups is None else result.groups.tolist()
        self.became = became_of(result)

    def published(self, became):
        paired = zip(self.groups, self.rows, strict=True)
        return [frozenset(became[group, item] for item in row) - {None} for group, row in paired]

    def is_safe(self, became):
        rows = self.published(became)
        tables = [rows]
        if self.apart:
            tables = [
                [row for own, row in zip(self.groups, rows, strict=True) if own == group]
                for group in set(self.groups)
            ]
        return not any(naive.km_threats(table, self.k, self.m) for table in tables)

    def cost(self, became):
        """The loss times the number of occurrences and the (number of leaves - base)."""
        most = self.most
        total = 0
        for group, row in zip(self.groups, self.rows, strict=True):
            for item in row:
                node = became[group, item]
                size = most if node is None else len(self.leaves[node])
                total += most if node is None else size - self.base if size > 1 else 0
        return total

    def finer(self, node):
        """The nodes below a node that say more than it does."""
        while len(self.children[node]) == 1:
            (node,) = self.children[node]
        return self.children[node]

    def moved(self, groups, node, targets):
        """What becomes of the items when some groups publish nodes below a node instead of what they had."""
        became = dict(self.became)
        for group, item in became:
            if group in groups and item in self.leaves[node]:
                (became[group, item],) = (each for each in targets if item in self.leaves[each])
        return became

    def neighbours(self):
        """Nodes replaced by their children, in one group or in all, and suppressed items published."""
        published = {(group, node) for (group, _), node in self.became.items() if node is not None}
        for node in {node for _, node in published}:
            groups = [group for group, other in published if other == node]
            for some in [*([] if self.apart else [groups]), *([group] for group in groups)]:
                if self.finer(node):
                    yield self.moved(some, node, self.finer(node))
        for (group, _), became in self.became.items():
            for node in self.leaves if became is None else ():
                above = {other for other in self.leaves if set(self.leaves[other]) > set(self.leaves[node])}
                if not any((group, other) in published for other in above):
                    yield self.moved([group], node, [node])


class ReleasedSets:
    """The set of each item in each group of rows; None where it is suppressed. Groups are apart."""

    def __init__(self, tree, rows, result, base):
        self.rows, self.base = rows, base
        self.k, self.m = result.parameters["k"], result.parameters["m"]
        self.most = max(len(frozenset().union(*rows)) - base, 1)
        self.groups = result.groups.tolist()
        labels = became_of(result)
        members = {}
        for (group, item), label in labels.items():
            members.setdefault((group, label), set()).add(item)
        self.became = {
            (group, item): frozenset(members[group, label]) if label is not None else None
            for (group, item), label in labels.items()
        }

    def is_safe(self, became):
        for group in set(self.groups):
            own = [row for number, row in zip(self.groups, self.rows, strict=True) if number == group]
            sets = [frozenset(became[group, item] for item in row) - {None} for row in own]
            if naive.km_threats([frozenset(map(sorted_text, row)) for row in sets], self.k, self.m):
                return False
        return True

    def cost(self, became):
        """The loss times the number of occurrences and the (number of items - base)."""
        total = 0
        for group, row in zip(self.groups, self.rows, strict=True):
            for item in row:
                own = became[group, item]
                total += self.most if own is None else len(own) - self.base if len(own) > 1 else 0
        return total

    def neighbours(self, blocks):
        """What one move of an item to another set of its group and block makes of the sets, or to its own."""
        block_of = {item: number for number, block in enumerate(blocks) for item in block}
        for (group, item), old in self.became.items():
            own = {each for (number, _), each in self.became.items() if number == group and each}
            for target in {*own, frozenset()} - {old}:
                if all(block_of[item] == block_of[other] for other in target):
                    after = dict(self.became)
                    for other in (old or frozenset()) - {item}:
                        after[group, other] = old - {item}
                    for other in target | {item}:
                        after[group, other] = target | {item}
                    yield after


def sorted_text(items):
    return "".join(sorted(items))
