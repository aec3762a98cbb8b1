"""Breaches and moles: compare each search with all sets of known items in the rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from kernels.arrays import TIMES, csr, draw_rows, lists, rows_of, support_of
from pdanon._kernels import exposure
from pdanon._kernels.conflicts import MoleRows, MoleSearch, eliminate, private_peaks

N_KNOWN, N_SECRET = 5, 3
HALT = np.zeros(1, np.bool_)


def draw_cases():
    """Yield rows of known items, secret items of the same rows, weights, and a share."""
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        known, weights = draw_rows(rng, N_KNOWN, 12)
        secret = [np.flatnonzero(rng.random(N_SECRET) < 0.4).tolist() for _ in known]
        above, below = sorted(rng.integers(1, 6, 2).tolist())
        yield rng, known, secret, weights, above, below + (above == below)


def count(items, known, secret, weights):
    """Return the support of the items, and that of the most frequent secret item in the same rows."""
    held = [(s, int(w)) for row, s, w in zip(known, secret, weights, strict=True) if set(items) <= set(row)]
    peak = max(sum(weight for inside, weight in held if one in inside) for one in range(N_SECRET))
    return sum(weight for _, weight in held), peak


def minimal(sets):
    return {each for each in sets if not any(set(other) < set(each) for other in sets)}


def test_breaches():
    for rng, known, secret, weights, above, below in draw_cases():
        k, m = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        expected = {}
        for each in (each for size in range(1, m + 1) for each in combinations(range(N_KNOWN), size)):
            support, peak = count(each, known, secret, weights)
            if support >= k and peak * below > above * support:
                expected[each] = support
        for listing in (True, False):
            held, room = np.zeros(len(known), np.bool_), np.array([1000])
            rows = (*csr(known), N_KNOWN), (*csr(secret), N_SECRET)
            arguments = k, m, above, below, *rows, weights, listing, held, room, HALT
            singles = exposure.Breaches(*arguments)
            found = [singles.single_items()]
            bounds = singles.first_items()
            middle = (len(bounds) - 1) // 2
            for begin, end in ((0, middle), (middle, len(bounds) - 1)):
                found.append(exposure.Breaches(*arguments).larger(singles, begin, end))
            if listing:
                listed = {}
                for codes, offsets, supports in found:
                    listed |= dict(
                        zip(map(tuple, map(sorted, lists(codes, offsets))), supports.tolist(), strict=True)
                    )
                assert listed.items() <= expected.items()
                assert minimal(listed) == minimal(expected)
            else:
                assert held.tolist() == [any(set(each) <= set(row) for each in expected) for row in known]


def as_rows(known, secret):
    """Return rows of public items followed by private items."""
    return [[*row, *(N_KNOWN + one for one in inside)] for row, inside in zip(known, secret, strict=True)]


def test_private_peaks():
    for _, known, secret, weights, _, _ in draw_cases():
        sets = as_rows(known, secret)
        codes, offsets = csr(sets)
        ends = offsets[:-1] + np.array([len(row) for row in known])
        rows = rows_of(sets, weights, N_KNOWN + N_SECRET)
        peaks = private_peaks(
            MoleRows(codes, offsets, ends, weights, N_KNOWN + N_SECRET, N_SECRET),
            np.asarray(rows.starts)[: N_KNOWN + 1],
            np.asarray(rows.tids),
            N_KNOWN + N_SECRET,
        )
        assert peaks.tolist() == [count([item], known, secret, weights)[1] for item in range(N_KNOWN)]


def test_minimal_moles():
    """Public items that are moles alone are removed first, as the caller does."""
    for rng, known, secret, weights, above, below in draw_cases():
        k, p = int(rng.integers(2, 6)), int(rng.integers(2, 5))

        def is_mole(items, known=known, secret=secret, weights=weights, k=k, above=above, below=below):
            support, peak = count(items, known, secret, weights)
            return support > 0 and (support < k or peak * below > above * support)

        fit = [i for i in range(N_KNOWN) if support_of([i], known, weights) and not is_mole([i])]
        fit.sort(key=lambda item: support_of([item], known, weights))
        public = [sorted(fit.index(item) for item in row if item in fit) for row in known]
        n = len(fit)
        sets = [[*row, *(n + one for one in inside)] for row, inside in zip(public, secret, strict=True)]
        codes, offsets = csr(sets)
        rows = rows_of(sets, weights, n + N_SECRET)
        ends = offsets[:-1] + np.array([len(row) for row in public])
        held = MoleRows(codes, offsets, ends, weights, n + N_SECRET, N_SECRET)
        starts, tids, places = (np.array(each) for each in (rows.starts, rows.tids, rows.positions))
        supports = np.array([support_of([item], sets, weights) for item in range(n + N_SECRET)])
        peaks = private_peaks(held, starts[: n + 1], tids, n + N_SECRET)
        begins = starts[: n + 1]
        arguments = (
            begins,
            tids[: begins[-1]],
            places[: begins[-1]],
            supports[:n],
            peaks,
            n + N_SECRET,
        )
        search = MoleSearch(k, p, above, below, held, *arguments)
        found, bounds, is_all = search.minimal(1000, HALT)
        moles = [each for size in range(2, p + 1) for each in combinations(fit, size) if is_mole(each)]
        listed = [tuple(sorted(fit[i] for i in each)) for each in lists(found, bounds)]
        assert is_all
        assert len(listed) == len(set(listed))
        assert set(listed) == minimal({tuple(sorted(each)) for each in moles})


def test_eliminate():
    for seed in range(TIMES):
        rng = np.random.default_rng(seed)
        moles = [sorted(rng.choice(6, rng.integers(1, 4), replace=False).tolist()) for _ in range(8)]
        losses = rng.integers(1, 5, 6)
        moles_of = [[i for i, mole in enumerate(moles) if item in mole] for item in range(6)]
        for by_moles, by_loss in ((True, True), (True, False), (False, True)):
            left, expected = set(range(len(moles))), []
            while left:
                number = {item: len(left & set(moles_of[item])) for item in range(6)}
                best = max(
                    (item for item in number if number[item]),
                    key=lambda item: (
                        (number[item] if by_moles else 1) / (losses[item] if by_loss else 1),
                        number[item],
                        -losses[item],
                        -item,
                    ),
                )
                expected.append(best)
                left -= set(moles_of[best])
            codes, starts = csr(moles_of)
            assert eliminate(*csr(moles), starts, codes, losses, by_moles, by_loss).tolist() == expected


def test_likeliest_secrets():
    for rng, known, secret, weights, _, _ in draw_cases():
        every = [each for size in range(1, 5) for each in combinations(range(N_KNOWN), size)]
        sets = [every[i] for i in rng.permutation(len(every))]
        rows = rows_of(known, weights, N_KNOWN)
        items, counts = exposure.likeliest_secrets(rows, *csr(secret), N_SECRET, *csr(sets))
        for each, item, found in zip(sets, items.tolist(), counts.tolist(), strict=True):
            held = [
                (inside, int(weight))
                for row, inside, weight in zip(known, secret, weights, strict=True)
                if set(each) <= set(row)
            ]
            shares = [sum(weight for inside, weight in held if one in inside) for one in range(N_SECRET)]
            assert found == max(shares)
            assert item == (shares.index(max(shares)) if max(shares) else -1)
