"""Slow, obvious relational anonymizers to compare with; nothing of pdanon.

A table is a list of rows, tuples of values; None is a missing value. A column is described by a kind:
``"range"`` (numbers), ``"set"`` (text), a tuple of ordered categories, or a nested dict, a hierarchy over
text. Penalties are fractions.
"""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import product


def share(part, whole):
    return Fraction(part, whole)


# --- what covers some values


class Column:
    """One column: its values, and the tree over them as a path of nodes, from the root, for each value."""

    def __init__(self, kind, values):
        self.kind = kind
        order = kind.index if isinstance(kind, tuple) else None
        present = sorted({value for value in values if value is not None}, key=order)
        self.missing = None in values
        self.values = present + [None] * self.missing  # in order
        if kind == "range" and self.missing and len(present) == 1:
            self.kind = kind = "set"  # a range of one number does not say whether there is one
        self.ranged = kind == "range" or isinstance(kind, tuple)
        if isinstance(kind, dict):
            paths = {path[-1]: path for path in tree_paths(kind)}
            self.leaves = [*paths.values()]
            self.root = next(iter(kind))
            self.paths = {value: paths[value] for value in present}
            if self.missing:
                self.paths[None] = (self.root, None)
                self.leaves.append((self.root, None))
            order = {path: number for number, path in enumerate(self.leaves)}
            self.values.sort(key=lambda value: order[self.paths[value]])
        elif kind == "set":
            self.paths = {value: ("*", value) for value in self.values}
            self.leaves = [*self.paths.values()]
        else:
            self.paths = {value: pair_path(number, len(present)) for number, value in enumerate(present)}
            if self.missing:
                self.paths[None] = ("*", None)
            self.leaves = [*self.paths.values()]

    def under(self, node):
        """The leaves below a node, which is known by its path."""
        return [path for path in self.leaves if path[: len(node)] == node]

    def position(self, number):
        if isinstance(self.kind, tuple):
            return share(self.kind.index(number), len(self.kind) - 1)
        numbers = [value for value in self.values if value is not None]
        low, high = min(numbers), max(numbers)
        return share(number - low, high - low) if high > low else 0

    def cover(self, values):
        """What covers the values: a pair of numbers, a node, or a set."""
        if isinstance(self.kind, dict):
            return common([self.paths[value] for value in values])
        if self.kind == "set":
            return frozenset(values)
        values = set(values)
        numbers = [value for value in self.values if value is not None and value in values]
        if not numbers:
            return None
        everything = self.kind if isinstance(self.kind, tuple) else [v for v in self.values if v is not None]
        numbers = everything if None in values else numbers
        return numbers[0], numbers[-1]

    def penalty(self, values):
        values = set(values)
        if isinstance(self.kind, dict):
            return self.node_penalty(self.cover(values))
        if self.kind == "set":
            return share(len(values), len(self.values)) if len(values) > 1 else 0
        if None in values:
            return int(len(values) > 1)
        low, high = self.cover(values)
        return self.position(high) - self.position(low)

    def node_penalty(self, node):
        """Of a node of the tree, given or made for the values."""
        leaves = len(self.under(node))
        if isinstance(self.kind, dict):
            return share(leaves, len(self.leaves)) if leaves > 1 else 0
        return self.penalty(value for value, path in self.paths.items() if path[: len(node)] == node)

    def height_penalty(self, values):
        """As in k-member clustering: by heights of subtrees; a set of several values loses all."""
        if isinstance(self.kind, dict):
            node = self.cover(values)
            return share(self.height(node), self.height((self.root,)))
        return 1 if self.kind == "set" and len(set(values)) > 1 else self.penalty(values)

    def height(self, node):
        return max(len(path) for path in self.under(node)) - len(node)

    def text(self, cover):
        """What a cover is published as."""
        if cover is None or isinstance(self.kind, dict):
            return cover and cover[-1]
        if self.kind == "range":
            return cover
        if isinstance(self.kind, tuple):
            return " .. ".join(dict.fromkeys(cover))
        if cover == {None}:
            return None
        texts = [*map(str, sorted(cover - {None})), *["<NA>"] * (None in cover)]
        return texts[0] if len(cover) == 1 else "(" + ",".join(texts) + ")"

    def node_text(self, node, present=None):
        """What a node is published as, where only some of its values are there."""
        if isinstance(self.kind, dict):
            return self.text(node)
        below = [v for v, path in self.paths.items() if path[: len(node)] == node]
        return self.text(self.cover([v for v in below if present is None or v in present]))

    @property
    def whole_text(self):
        """What a suppressed value is published as."""
        if isinstance(self.kind, dict):
            return self.root
        if isinstance(self.kind, tuple) and self.values != [None]:
            return self.text((self.kind[0], self.kind[-1]))
        return self.text(self.cover(self.values))

    @property
    def whole(self):
        """What is lost by a suppressed value."""
        several = self.kind if isinstance(self.kind, tuple) and self.values != [None] else self.leaves
        return int(len(several) > 1)

    def order(self, node):
        """Nodes in pre-order."""
        return self.leaves.index(self.under(node)[0]), len(node)


def tree_paths(tree, above=()):
    for name, below in tree.items():
        if isinstance(below, dict):
            yield from tree_paths(below, (*above, name))
        else:
            yield from ((*above, name, leaf) for leaf in below)


def pair_path(number, n):
    """Pairs of consecutive numbers, pairs of those, ...; a pair of one is left out."""
    path, width = [], 2
    while width < n:
        first = number // width * width
        if min(first + width, n) - first > width // 2:
            path.insert(0, (first, width))
        width *= 2
    return ("*", *path, number)


def common(paths):
    node = paths[0]
    while any(path[: len(node)] != node for path in paths):
        node = node[:-1]
    return node


class Table:
    def __init__(self, rows, kinds):
        self.rows = rows
        self.columns = [Column(kind, [row[i] for row in rows]) for i, kind in enumerate(kinds)]

    def penalty(self, numbers, heights=False):
        """Of a class of rows, given by their numbers."""
        parts = [[self.rows[number][i] for number in numbers] for i in range(len(self.columns))]
        return sum(
            column.height_penalty(part) if heights else column.penalty(part)
            for column, part in zip(self.columns, parts, strict=True)
        )

    def publish(self, groups):
        """Each row as the cover of its group."""
        released = [None] * len(self.rows)
        for group in groups:
            covers = tuple(
                column.text(column.cover([self.rows[number][i] for number in group]))
                for i, column in enumerate(self.columns)
            )
            for number in group:
                released[number] = covers
        return released

    def by_node(self, cuts):
        """Each row with its nodes, given the node of each value of each column."""
        return [tuple(cut[value] for cut, value in zip(cuts, row, strict=True)) for row in self.rows]

    def publish_nodes(self, cuts, gone=()):
        """Each row as its nodes, or as suppressed."""
        kept = [row for number, row in enumerate(self.rows) if number not in gone]
        released = [[column.whole_text for column in self.columns] for _ in self.rows]
        for place, (column, cut) in enumerate(zip(self.columns, cuts, strict=True)):
            present = {row[place] for row in kept}
            texts = {value: column.node_text(cut[value], present) for value in present}
            for number, row in enumerate(self.rows):
                if number not in gone:
                    released[number][place] = texts[row[place]]
        return [*map(tuple, released)]

    def gone(self, cuts, k, most):
        """The rows that these nodes leave in small classes, with the smallest other class if they are few.

        None if they are too many.
        """
        nodes = self.by_node(cuts)
        sizes = Counter(nodes)
        small = {each for each in sizes if sizes[each] < k}
        others = [each for each in sizes if each not in small]
        if others and 0 < sum(sizes[each] for each in small) < k:
            orders = {
                each: [c.order(node) for c, node in zip(self.columns, each, strict=True)] for each in others
            }
            small.add(min(others, key=lambda each: (sizes[each], orders[each])))
        rows = [number for number, each in enumerate(nodes) if each in small]
        return rows if not rows or k <= len(rows) <= most else None

    def loss_without(self, cuts, gone):
        """What is lost by nodes, and by suppressed rows."""
        nodes = [row for number, row in enumerate(self.by_node(cuts)) if number not in gone]
        kept = sum(c.node_penalty(node) for row in nodes for c, node in zip(self.columns, row, strict=True))
        return kept + len(gone) * sum(column.whole for column in self.columns)

    def loss_as_published(self, cuts, gone):
        """The same, where ranges and sets are of the values that are there."""
        kept = [row for number, row in enumerate(self.rows) if number not in gone]
        total = len(gone) * sum(column.whole for column in self.columns)
        for place, (column, cut) in enumerate(zip(self.columns, cuts, strict=True)):
            present = {row[place] for row in kept}
            for row in kept:
                node = cut[row[place]]
                alike = [value for value in present if cut[value] == node]
                total += column.node_penalty(node) if isinstance(column.kind, dict) else column.penalty(alike)
        return total

    def loss(self, cuts):
        return sum(
            column.node_penalty(cut[value])
            for row in self.rows
            for column, cut, value in zip(self.columns, cuts, row, strict=True)
        )


def smallest(rows):
    return min(Counter(rows).values())


# --- the algorithms


def cluster(table, k, rng):
    left, groups = [*range(len(table.rows))], []
    while len(left) >= k:
        seed = left[int(rng.integers(len(left)))]
        near = sorted((row for row in left if row != seed), key=lambda row: (table.penalty([seed, row]), row))
        groups.append([seed, *near[: k - 1]])
        left = [row for row in left if row not in groups[-1]]
    for row in left:
        min(groups, key=lambda group: table.penalty([*group, row])).append(row)
    return table.publish(groups)


def k_member(table, k, rng):
    left, groups = [*range(len(table.rows))], []

    def loss(rows):
        return len(rows) * table.penalty(rows, heights=True)

    seed = left[int(rng.integers(len(left)))]
    first = True
    while len(left) >= k:
        if not first:
            seed = max(left, key=lambda row: (table.penalty([seed, row], heights=True), -row))
        first = False
        group = [seed]
        left.remove(seed)
        while len(group) < k:
            best = min(left, key=lambda row: (loss([*group, row]) - loss(group), row))
            group.append(best)
            left.remove(best)
        groups.append(group)
    for row in left:
        min(groups, key=lambda group: loss([*group, row]) - loss(group)).append(row)
    return table.publish(groups)


def mondrian(table, k):
    def boxes(rows):
        columns = range(len(table.columns))
        values = [[table.rows[row][i] for row in rows] for i in columns]
        for i in sorted(columns, key=lambda i: -table.columns[i].penalty(values[i])):
            parts = split(table.columns[i], rows, values[i])
            if len(parts) > 1 and min(map(len, parts)) >= k:
                return [box for part in parts for box in boxes(part)]
        return [rows]

    return table.publish(boxes([*range(len(table.rows))]))


def split(column, rows, values):
    rank = {value: number for number, value in enumerate(column.values)}
    if isinstance(column.kind, dict):
        node = column.cover(values)
        parts = {}
        for row, value in zip(rows, values, strict=True):
            parts.setdefault(column.paths[value][: len(node) + 1], []).append(row)
        return [*parts.values()]
    cuts = []
    for place in sorted({rank[value] for value in values})[:-1]:
        low = [row for row, value in zip(rows, values, strict=True) if rank[value] <= place]
        high = [row for row in rows if row not in low]
        cuts.append((abs(len(low) - len(high)), place, [low, high]))
    return min(cuts)[2] if cuts else [rows]


def incognito(table, k, most=0):
    cuts = best_levels(table, k, most)[0][-1]
    return table.publish_nodes(cuts, table.gone(cuts, k, most))


def best_levels(table, k, most):
    """Try every combination of levels: the cuts on the way from the leaves to the best, and its levels."""
    best = None
    heights = [max(map(len, column.leaves)) - 1 for column in table.columns]
    for levels in product(*(range(height + 1) for height in heights)):
        cuts = [
            {value: path[: height - level + 1] for value, path in column.paths.items()}
            for column, height, level in zip(table.columns, heights, levels, strict=True)
        ]
        gone = table.gone(cuts, k, most)
        if gone is not None:
            found = table.loss_without(cuts, gone), table.loss(cuts), levels
            best = found if best is None or found < best else best
    chain = [
        cuts_at(table, [min(level, reached) for level in best[2]]) for reached in range(max(heights) + 1)
    ]
    return chain, best[2]


def cuts_at(table, levels):
    cuts = []
    for column, level in zip(table.columns, levels, strict=True):
        height = max(map(len, column.leaves)) - 1
        cuts.append({value: path[: height - level + 1] for value, path in column.paths.items()})
    return cuts


def full_subtree(table, k, most=0):
    releases = []
    for allowed in sorted({0, most}):
        for cuts, steps in (raised(table, k, allowed), best_steps(table, k, allowed)):
            for each in (taken_back(table, cuts, steps, k, allowed), cuts):
                gone = table.gone(each, k, allowed)
                if gone is not None:
                    releases.append((table.loss_as_published(each, gone), len(releases), each, gone))
    return table.publish_nodes(*min(releases, key=lambda each: each[:2])[2:])


def best_steps(table, k, most):
    """The cuts at the best levels, and the steps to them from the leaves."""
    chain, levels = best_levels(table, k, most)
    steps = []
    for place, column in enumerate(table.columns):
        for level in range(1, levels[place] + 1):
            before, after = chain[level - 1][place], chain[level][place]
            nodes = {after[value] for value in after if before[value] != after[value]}
            for node in sorted(nodes, key=column.order):
                below = [value for value, path in column.paths.items() if path[: len(node)] == node]
                steps.append((place, before, {**before, **dict.fromkeys(below, node)}))
    return chain[-1], steps


def raised(table, k, allowed):
    cuts = [
        necessary_cut(column, [row[i] for row in table.rows], k)
        if allowed == 0
        else allowed_cut(column, [row[i] for row in table.rows], k, allowed)
        for i, column in enumerate(table.columns)
    ]
    steps = []
    while rows_below(table.by_node(cuts), k) > allowed:
        candidates = []
        for place, (column, cut) in enumerate(zip(table.columns, cuts, strict=True)):
            for node in {path[:-1] for path in cut.values() if len(path) > 1}:
                below = [value for value, path in column.paths.items() if path[: len(node)] == node]
                if any(len(cut[value]) != len(node) + 1 for value in below):
                    continue
                higher = [*cuts]
                higher[place] = {**cut, **dict.fromkeys(below, node)}
                gain = anonymity(table, higher, k) - anonymity(table, cuts, k)
                cost = table.loss(higher) - table.loss(cuts)
                sizes = Counter(table.by_node(cuts))
                risky = any(
                    sizes[nodes] < k and nodes[place][: len(node)] == node for nodes in table.by_node(cuts)
                )
                order = column.order(node)
                free = Fraction(1, 2**32)  # what costs nothing comes first
                candidates.append((-gain / (cost or free), not risky, cost, place, order, higher))
        *_, place, _, higher = min(candidates, key=lambda each: each[:-1])
        steps.append((place, cuts[place], higher[place]))
        cuts = higher
    return cuts, steps


def taken_back(table, cuts, steps, k, most):
    def loss(cuts):
        gone = table.gone(cuts, k, most)
        return None if gone is None else table.loss_without(cuts, gone)

    for place, before, after in reversed(steps):
        changed = [value for value in before if before[value] != after[value]]
        if all(cuts[place][value] == after[value] for value in changed):
            lowered = [*cuts]
            lowered[place] = {**cuts[place], **{value: before[value] for value in changed}}
            now, then = loss(cuts), loss(lowered)
            cuts = cuts if then is None or (now is not None and then > now) else lowered
    return cuts


def rows_below(rows, k):
    return sum(size for size in Counter(rows).values() if size < k)


def anonymity(table, cuts, k):
    nodes = table.by_node(cuts)
    sizes = Counter(nodes)
    return sum(min(sizes[each], k) for each in nodes)


def necessary_cut(column, values, k):
    """Raise each value that is too rare to the lowest node in k rows, and all below that node."""
    raised = set()
    for value in set(values):
        node = column.paths[value]
        while sum(column.paths[other][: len(node)] == node for other in values) < k:
            node = node[:-1]
        raised.add(node)
    return {
        value: min((node for node in raised if path[: len(node)] == node), key=len)
        for value, path in column.paths.items()
    }


def allowed_cut(column, values, k, allowed):
    """Raise the nodes that are too rare, all at once, until few rows have such ones."""
    cut = dict(column.paths)
    while rows_below([cut[value] for value in values], k) > allowed:
        sizes = Counter(cut[value] for value in values)
        for parent in sorted({node[:-1] for node in sizes if sizes[node] < k}, key=len, reverse=True):
            cut |= {value: parent for value, path in column.paths.items() if path[: len(parent)] == parent}
    return cut


def top_down(table, k):
    # The group of each value: a node, or the values of a range.
    cuts = [
        dict.fromkeys(column.values, tuple(column.values) if column.ranged else column.leaves[0][:1])
        for column in table.columns
    ]
    while True:
        candidates = []
        now = table.by_node(cuts)
        for place, (column, cut) in enumerate(zip(table.columns, cuts, strict=True)):
            for group in set(cut.values()):
                options = []
                for order, parts in enumerate(specializations(column, group, cut)):
                    changed = [*cuts]
                    changed[place] = {**cut, **parts}
                    after = table.by_node(changed)
                    if smallest(after) >= k:
                        gain = group_loss(table, cuts) - group_loss(table, changed)
                        shrinks = smallest(now) - smallest(after)
                        options.append((-gain, order, shrinks, changed))
                if options:
                    gain, _, shrinks, changed = min(options, key=lambda each: each[:2])
                    order = first_of(column, group)
                    candidates.append((gain / Fraction(max(shrinks, 1)), place, order, changed))
        if not candidates:
            texts = [
                {value: group_text(column, group) for value, group in cut.items()}
                for column, cut in zip(table.columns, cuts, strict=True)
            ]
            return table.by_node(texts)
        cuts = min(candidates, key=lambda each: each[:-1])[-1]


def specializations(column, group, cut):
    if column.ranged:
        for place in range(1, len(group)):
            yield {value: group[:place] if value in group[:place] else group[place:] for value in group}
    elif len(column.under(group)) > 1 or column.under(group)[0] != group:
        yield {value: column.paths[value][: len(group) + 1] for value, node in cut.items() if node == group}


def group_loss(table, cuts):
    return sum(
        column.penalty(cut[value]) if column.ranged else column.node_penalty(cut[value])
        for row in table.rows
        for column, cut, value in zip(table.columns, cuts, row, strict=True)
    )


def group_text(column, group):
    return column.text(column.cover(group)) if column.ranged else column.node_text(group)


def first_of(column, group):
    if column.ranged:
        return column.values.index(group[0]), 0
    return column.leaves.index(column.under(group)[0]), len(group)
