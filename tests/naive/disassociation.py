"""Disassociation in the plainest way: its steps over sets, and all tables a release can have come from."""

from __future__ import annotations

from collections import Counter
from functools import reduce
from itertools import chain, combinations, islice, product
from math import inf, prod

# --- The steps. Rows are frozensets; a cluster is a list of them.


def clusters_of(rows, k, most, blocks=None):
    """Split rows at their most frequent terms, and join clusters of fewer than k with what follows."""
    found = []
    for part in split([frozenset(row) for row in rows if row], most, {*()}, None, blocks or {}):
        if found and len(found[-1]) < k:
            found[-1] = found[-1] + part
        else:
            found.append(part)
    if len(found) > 1 and len(found[-1]) < k:
        last = found.pop()
        found[-1] = found[-1] + last
    return found


def split(rows, most, ignored, current, blocks):
    counts = Counter(term for row in rows for term in row if term not in ignored)
    if len(rows) <= most or not counts:
        return [rows] if rows else []

    def preference(term):
        block = blocks.get(term)
        return (0 if block is None else 2 if block == current else 1), counts[term]

    best = max(map(preference, counts))
    term = min(term for term in counts if preference(term) == best)
    having = [row for row in rows if term in row]
    others = [row for row in rows if term not in row]
    return [
        *split(having, most, ignored | {term}, blocks.get(term), blocks),
        *split(others, most, ignored, current, blocks),
    ]


def is_km(rows, k, m):
    """Whether all itemsets of up to m terms that occur are in k rows."""
    seen = {
        part for row in rows for n in range(1, min(m, len(row)) + 1) for part in combinations(sorted(row), n)
    }
    return all(sum(row >= {*part} for row in rows) >= k for part in seen)


def record_chunks(rows, terms, k, m, blocks=None):
    """Put terms, in their order, into the first chunk that they fit in."""
    blocks, left, chunks = blocks or {}, list(terms), []
    while left:
        leader = next((term for term in left if term in blocks), left[0])
        chunk = set()
        for term in left:
            if blocks.get(term) == blocks.get(leader) and is_km(
                [row & (chunk | {term}) for row in rows], k, m
            ):
                chunk.add(term)
        chunks.append(chunk)
        left = [term for term in left if term not in chunk]
    return chunks


def by_support(rows):
    counts = Counter(term for row in rows for term in row)
    return sorted(counts, key=lambda term: (-counts[term], term)), counts


def chunks_of(rows, k, m, safe=False, blocks=None):
    """The record chunks of a cluster, as sets of terms, and its term chunk."""
    order, counts = by_support(rows)
    rare = {term for term in order if counts[term] < k}
    chunks = record_chunks(rows, [term for term in order if term not in rare], k, m, blocks)
    if not rare and is_short(rows, chunks, k, m):
        rare.add(order[-1])
    chunks = [chunk - rare for chunk in chunks if chunk - rare]
    while safe and chunks:
        tops = sorted((max(counts[term] for term in chunk) for chunk in chunks), reverse=True)
        second = tops[1] if len(tops) > 1 else 1 if rare else 0
        if tops[0] + second <= len(rows):
            break
        rare.add(next(term for term in order if term not in rare))
        chunks = [chunk - rare for chunk in chunks if chunk - rare]
    return chunks, rare


def is_short(rows, chunks, k, m):
    """Whether sub-records are too few to fill all rows when k of them are alike in several chunks."""
    return sum(bool(row & chunk) for row in rows for chunk in chunks) < len(rows) + k * (
        min(m, len(chunks)) - 1
    )


class Group:
    """A cluster, or a joint cluster of two groups."""

    def __init__(self, clusters, open_, closed, shared=(), parts=()):
        self.clusters, self.open, self.closed = clusters, open_, closed
        self.shared, self.parts = list(shared), list(parts)

    @property
    def rows(self):
        return [row for cluster in self.clusters for row in cluster["rows"]]


def release(rows, k, m, most, *, refine=True, safe=False, blocks=None):
    """The groups that are published."""
    m = inf if m is None else m
    groups = []
    for part in clusters_of(rows, k, most, blocks):
        chunks, terms = chunks_of(part, k, m, safe, blocks)
        kept = frozenset().union(*chunks)
        needs = not chunks or is_short(part, chunks, k, m)
        cluster = {
            "rows": part,
            "chunks": chunks,
            "terms": set(terms),
            "first terms": set(terms),
            "needs": needs,
        }
        groups.append(Group([cluster], set(terms), set(kept)))
    joined = refine
    while joined:
        common = Counter(term for group in groups for term in group.open)
        rank = {
            term: place
            for place, term in enumerate(sorted(common, key=lambda term: (-common[term], term)), 1)
        }

        def key(group, rank=rank):
            return (sorted(rank[term] for term in group.open) + [0] * 8)[:8]

        alive = sorted((group for group in groups if group.open), key=key)
        idle = [group for group in groups if not group.open]
        joined, at, after = 0, 0, []
        while at < len(alive):
            new = join(alive[at], alive[at + 1], k, m, safe, blocks) if at + 1 < len(alive) else None
            after.append(new or alive[at])
            joined += new is not None
            at += 1 if new is None else 2
        if 100 * joined < len(alive):
            joined = 0
        groups = idle + after
    return groups


def join(one, other, k, m, safe, blocks):
    rows, clusters = one.rows + other.rows, one.clusters + other.clusters
    counts = Counter(term for row in rows for term in row)
    shared = {term for term in one.open & other.open if counts[term] >= max(k, len(clusters) + 1)}
    if safe:
        top = sum(max(shown(part).values()) for part in (one, other))
        shared = {term for term in shared if counts[term] + max(top, counts[term]) <= len(rows)}
    for cluster in clusters:
        if cluster["needs"] and cluster["terms"] and cluster["terms"] <= shared:
            shared.remove(
                min(cluster["terms"], key=lambda term: (counts[term], [-ord(each) for each in term]))
            )
    if not shared:
        return None
    order = sorted(shared, key=lambda term: (-counts[term], term))
    chunks = record_chunks([row & shared for row in rows], order, k, m, blocks)
    closed = one.closed | other.closed | shared
    for cluster in clusters:
        cluster["terms"] -= shared
    return Group(clusters, (one.open | other.open) - closed, closed, chunks, [one, other])


def shown(group):
    """How many rows of a group hold each term, at least, as is published."""
    counts = Counter()
    for part in group.parts:
        counts.update(shown(part))
    for cluster in () if group.parts else group.clusters:
        counts.update(cluster["first terms"])
        counts.update(term for row in cluster["rows"] for chunk in cluster["chunks"] for term in row & chunk)
    for chunk in group.shared:
        for term in chunk:
            counts[term] = sum(term in row for row in group.rows)
    return counts


def published(groups):
    """What is published of some groups, whatever it is called: nested tuples that can be compared."""

    def parts(rows, chunks):
        return tuple(
            sorted(
                tuple(sorted("".join(sorted(row & chunk)) for row in rows if row & chunk)) for chunk in chunks
            )
        )

    def one(group):
        if not group.parts:
            (cluster,) = group.clusters
            terms = "".join(sorted(cluster["terms"]))
            return (len(cluster["rows"]), parts(cluster["rows"], cluster["chunks"]), terms)
        return (
            len(group.rows),
            parts(group.rows, group.shared),
            tuple(sorted(map(one, group.parts), key=repr)),
        )

    return sorted(map(one, groups), key=repr)


def as_published(frame):
    """The same of a released frame."""
    records = frame[["cluster", "joint", "size", "chunk", "items"]].to_dict("records")
    known = {each["cluster"]: each for each in records}

    def one(cluster):
        below = [name for name, each in known.items() if each["joint"] == cluster]
        chunks = {}
        for each in records:
            if each["cluster"] == cluster:
                chunks.setdefault(each["chunk"], []).append("".join(sorted(each["items"])))
        terms = "".join(chunks.pop(0, [""]))
        parts = tuple(sorted(tuple(sorted(chunk)) for chunk in chunks.values()))
        rest = tuple(sorted(map(one, below), key=repr)) if below else terms
        return (known[cluster]["size"], parts, rest)

    return sorted((one(name) for name, each in known.items() if not each["joint"]), key=repr)


# --- All tables that a release can have come from


def roots_of(frame):
    """Each cluster that is no part of another: how many records it has, and its chunks with theirs."""
    records = frame[["cluster", "joint", "size", "chunk", "items"]].to_dict("records")
    known = {each["cluster"]: each for each in records}
    for root in [name for name, each in known.items() if each["joint"] == 0]:
        places = {}
        n = number(root, 0, known, places)
        chunks, terms = {}, []
        for row in records:
            if row["cluster"] in places and row["chunk"] == 0:
                terms += [(places[row["cluster"]], term) for term in row["items"]]
            elif row["cluster"] in places:
                chunks.setdefault((row["cluster"], row["chunk"]), []).append(frozenset(row["items"]))
        yield n, [(places[name], parts) for (name, _), parts in chunks.items()], terms


def number(name, first, known, places):
    """Number the records of a cluster from a number on; return the next one."""
    below = [other for other in known if known[other]["joint"] == name]
    last = first if below else first + known[name]["size"]
    for other in below:
        last = number(other, last, known, places)
    places[name] = range(first, last)
    return last


def reconstructions(n, chunks, terms, limit):
    """All tables of n records, none of them empty; None if there may be more than the limit to try."""
    choices = placements(chunks, terms, limit)
    if prod(map(len, choices)) > limit:
        return None
    tables = {reduce(placed, choice, (frozenset(),) * n) for choice in product(*choices)}
    return {table for table in tables if all(table)}


def reconstructions_in_any_order(n, chunks, terms, limit):
    """One of the tables that differ only in the order of records of one cluster; None if too many to try."""
    alike = {}
    for place in range(n):
        alike.setdefault(tuple(place in places for places, _ in [*chunks, *terms]), []).append(place)
    tables = {(frozenset(),) * n}
    for ways in placements(chunks, terms, limit):
        if len(tables) * len(ways) > limit:
            return None
        tables = {in_order(placed(table, way), alike.values()) for table in tables for way in ways}
    return {table for table in tables if all(table)}


def placements(chunks, terms, limit):
    """For each record chunk, and for each term of a term chunk, what it can give to which records."""
    found = []
    for places, parts in chunks:
        padded = [*parts, *[frozenset()] * (len(places) - len(parts))]
        ways = islice(arrangements(padded), limit + 1)
        found.append([[*zip(places, each, strict=True)] for each in ways])
    for places, term in terms:
        held = chain.from_iterable(combinations(places, 1 + more) for more in range(len(places)))
        found.append([[(place, {term}) for place in each] for each in islice(held, limit + 1)])
    return found


def arrangements(parts):
    """All orders of some sub-records that look different."""
    if not parts:
        yield []
    for first in {*parts}:
        rest = [*parts]
        rest.remove(first)
        yield from ([first, *others] for others in arrangements(rest))


def placed(table, way):
    """A table in which some records got their parts."""
    records = [*table]
    for place, part in way:
        records[place] |= part
    return tuple(records)


def in_order(table, alike):
    """A table with the records at some places sorted."""
    records = [*table]
    for places in alike:
        own = sorted((table[place] for place in places), key=sorted)
        for place, record in zip(places, own, strict=True):
            records[place] = record
    return tuple(records)


def has_guarantee(frame, k, m, safe=False, limit=20_000):
    """Whether who knows up to m terms, or all, finds k records in some reconstruction; None if too many."""
    for n, chunks, terms in roots_of(frame):
        tables = reconstructions_in_any_order(n, chunks, terms, limit)
        if not tables:
            return None if tables is None else False
        best = Counter()
        for table in tables:
            known = Counter(
                part
                for row in table
                for size in range(1, min(m or len(row), len(row)) + 1)
                for part in combinations(sorted(row), size)
            )
            for part, count in known.items():
                best[part] = max(best[part], count)
        if any(count < k for count in best.values()):
            return False
        terms = frozenset().union(*(row for table in tables for row in table))
        for pair in combinations(sorted(terms), 2) if safe else ():
            linked = any(part >= {*pair} for _, parts in chunks for part in parts)
            if not linked and all(any(row >= {*pair} for row in table) for table in tables):
                return False
    return True
