"""Risks of WP216, and membership, by attacks on the rows of a release, and on control rows not in it.

Opinion 05/2014 of the Article 29 Working Party names singling out, linkability and inference. Attacks use the
labels of the release and what they stand for, never which released row is that of a person.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import ParameterError
from pdanon.evaluation.metrics.estimates import Chances, encode_release
from pdanon.guarantees.parameters import DEFAULT_M, check_finite_m
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.cards import Measures, escape_html
from pdanon.itemsets.chunks import is_in_chunks
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, Offsets, relabel_rows
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import Floats, offsets_of, ranges, rows_of, take_rows
from pdanon.itemsets.mapping import mapping_values
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import SupportIndex, csr
from pdanon.itemsets.threads import many_parts
from pdanon.itemsets.timing import part_done, show_activity
from pdanon.itemsets.validation import (
    MOST_DRAWN,
    Seed,
    check_count,
    check_frame,
    check_known,
    random_generator,
    read_list,
)
from pdanon.recoding.counts import wilson_interval
from pdanon.recoding.identification import draw_places, draw_subsets
from pdanon.recoding.recoding import Cover
from pdanon.recoding.reconstruction import reconstruct
from pdanon.recoding.result import Anonymized, refuse_units

ATTACKS = ("singling out", "linkability", "inference", "membership")
NO_CONTROL = "no control rows: risk is the success, with all that holds for people in general"
_HOLD_BACK = "hold rows back before you anonymize: frame, control = df[:n], df[n:]"
_NEAREST = 10  # released rows that the attacker links to each half of a person's items
_DRAWS = 50_000  # predicates of several labels
_CELLS = 2**23  # matches of attacks and rows that are counted together
_COLUMNS = ("attack", "n_attacks", "success", "control", "baseline", "risk", "low", "high")
_ONE = np.int32(1)
_TIE = 1e-9  # expected counts that are equal differ by rounding


class Assessment(Measures):
    """A table of attacks; ``attrs["control"]`` describes the control rows."""

    def __repr__(self) -> str:
        return f"{self.round(3).to_string(index=False)}\n{self.attrs.get('control', '')}"

    def _repr_html_(self) -> str:
        return f"{super()._repr_html_()}\n<p>{escape_html(self.attrs.get('control', ''))}</p>"


@called_by_name
def assess(
    frame: pd.DataFrame,
    result: Anonymized | pd.DataFrame,
    control: pd.DataFrame | None = None,
    secret: Any = None,
    column: Hashable | None = None,
    *,
    mapping: pd.DataFrame | None = None,
    attacks: Sequence[str] | None = None,
    m: int = DEFAULT_M,
    n_attacks: int = 2000,
    random_state: Seed = None,
) -> Assessment:
    """Measure singling out, linkability, inference and membership by attacks on original and control rows.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original.
    result : Anonymized or pandas.DataFrame
        The release, or its frame.
    control : pandas.DataFrame, optional
        Other rows of the same kind, held back before the release was made; best as many as the original.
        Without them, the risk is the success, an upper bound.
    secret : optional
        The item that the inference is about: the attacker guesses whether a person has it. By default, each
        attack has another secret, an item of the person.
    column : hashable, optional
        The list column. By default the only one.
    mapping : pandas.DataFrame, optional
        The mapping of a frame; a result has its own. Without, labels are items of the original.
    attacks : sequence of {"singling out", "linkability", "inference", "membership"}, optional
        The attacks. By default all; without control rows, all but membership.
    m : int
        Number of items known for an inference, and most labels of a predicate; at least 1.
    n_attacks : int
        Number of attacks of each kind, at least 1. If fewer rows, pairs or labels can be attacked, each is
        once.
    random_state : int, Generator or None
        Seed or generator of the random numbers; None is the seed 0.

    Returns
    -------
    pandas.DataFrame
        A line per attack: ``attack, n_attacks, success, control, baseline, risk, low, high``. ``success`` is
        the share of attacks on the original that succeed, ``control`` that on control rows, and ``baseline``
        that of guesses without the matching rows. ``risk`` is ``(success - control) / (1 - control)``, with a
        95 % interval. ``attrs["control"]`` describes the control rows.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If a parameter is out of range, an attack is unknown, the control rows are rows of the original or
        have none of its items, or labels stand for no item. If the secret is in no row, or in all. If
        membership is requested without control rows.

    Notes
    -----
    **Singling out.** A predicate is a label of the release, or 2 to m labels of one released row. The
    attacker draws 50,000, and plays those that no other row has; if there is none, any. It succeeds if
    exactly one original row has an item of each label. Control rows beyond the number of the original are
    left out. If they are fewer, as many matches as they would have in a table of this size count.

    **Linkability.** The attacker has two halves of the items of one person, and links each to the 10 nearest
    released rows: those with the largest overlap by Jaccard of the labels, ties at random. The attack
    succeeds if one row is in both.

    **Inference.** The attacker knows m items of a person, and takes the released rows that match. If no row
    matches, all do. The guess is the item that is expected in most of them. With ``secret``, the attacker
    guesses that a person has it if more than half of them do. The line ``inference, recall`` counts only
    persons who have it.

    **Membership.** The attacker has all items of two persons, one of the original and one of the control
    rows, and tells who is in the release: whose nearest released row overlaps more, by Jaccard of the labels;
    then who has more items; else at random. An item that the original lacks proves that a person is not in
    it. Nothing is fitted. Of two control rows, he is right about half, so ``control`` is 0.5, and ``risk`` is
    the advantage ``2 * success - 1`` [3]_.

    An item with several labels matches any of them. Of a release in chunks, one `reconstruct` is attacked. Of
    groups with counts, sensitive items are drawn by the counts. Quasi-identifiers are not known to the
    attacker. Rows are not compared by index.

    The interval of a share is Wilson's, and that of the risk follows by MOVER-R [2]_. It covers the draw of
    the attacks, no other attackers: a low risk is no proof. Cost: the rows of the labels of each attack.

    References
    ----------
    .. [1] M. Giomi, F. Boenisch, C. Wehmeyer, B. Tasnádi, "A Unified Framework for Quantifying Privacy Risk
       in Synthetic Data", PoPETs 2023.
    .. [2] A. Donner, G. Y. Zou, "Closed-form confidence intervals for functions of the normal mean and
       standard deviation", Statistical Methods in Medical Research 21(4), 2012.
    .. [3] S. Yeom, I. Giacomelli, M. Fredrikson, S. Jha, "Privacy Risk in Machine Learning: Analyzing the
       Connection to Overfitting", CSF 2018.

    Examples
    --------
    >>> import pdanon
    >>> from pdanon.io.datasets import make_baskets
    >>> df = make_baskets(1000, 50, random_state=1)[["items"]]
    >>> df, control = df[:500], df[500:]
    >>> risk = df.txanon.assess(df.txanon.pcta(k=5, m=2), control, n_attacks=200)
    >>> risk["attack"].tolist()
    ['singling out, 1 label', 'singling out, 2 labels', 'linkability', 'inference', 'membership']
    >>> raw = df.txanon.assess(df, control, n_attacks=200)
    >>> bool(raw["risk"].iloc[2] > risk["risk"].iloc[2])
    True
    """
    n, m = check_count(n_attacks, "n_attacks", least=1, most=MOST_DRAWN), check_finite_m(m)
    if attacks is None:
        attacks = ATTACKS if control is not None else ATTACKS[:-1]
    chosen = [check_known(each, ATTACKS, "attack", where="attacks") for each in read_list(attacks, "attacks")]
    if control is None and "membership" in chosen:
        raise ParameterError("membership needs control rows", where="control", got="None", hint=_HOLD_BACK)
    lists, rng = list_column(frame, column), random_generator(random_state)
    items = Itemsets.from_series(lists)
    published, cover = _read_release(result, items, lists.name, mapping, rng)
    tables, n_unknown, told = [items], np.zeros(0, np.int64), NO_CONTROL
    if control is not None:
        others, n_unknown = _read_control(lists, items, control)
        tables, told = [items, others], f"{others.n_rows:,} control rows"
    code = None if secret is None else _find_secret(items, secret)
    game = Game(published, cover, tables, m, n, rng)
    plays = {
        "singling out": game.single_out(),
        "linkability": game.link(),
        "inference": game.infer(code),
        "membership": game.recognize(n_unknown),
    }
    with show_activity("assess"):
        lines = [_line(found) for name in dict.fromkeys(chosen) for found in plays[name]]
    table = Assessment(lines)
    table.attrs["control"] = told
    return table


def _read_release(
    result: Any, items: Itemsets, label: Hashable, mapping: pd.DataFrame | None, rng: np.random.Generator
) -> tuple[Itemsets, Cover]:
    """Return the rows of a release as sets of labels, and the labels of each item."""
    guarantee = None
    if isinstance(result, Anonymized):
        refuse_units(result)
        mapping = result.mapping if mapping is None else mapping
        result, guarantee = result.frame, result.guarantee
    result = check_frame(result, "result")
    if mapping is not None and "column" in mapping:
        mapping = mapping[mapping["column"] == label]
    if is_in_chunks(result.columns):
        (result,), mapping = reconstruct(result, column=label, random_state=rng), None
    published = encode_release(result, label)[0]
    chances = Chances.of(result, guarantee, items)
    if chances is not None and mapping is not None:
        published = _draw_sensitive(published, chances, items, rng)
        is_hidden = chances.is_hidden[items.lookup(mapping_values(mapping, "item"))]
        mapping = mapping.assign(generalized=mapping["generalized"].mask(is_hidden, mapping["item"]))
    return published, Cover.of_mapping(items, published, mapping)


def _draw_sensitive(
    published: Itemsets, chances: Chances, items: Itemsets, rng: np.random.Generator
) -> Itemsets:
    """Draw the rows of each sensitive item within its groups, as many as are counted."""
    sizes = np.bincount(chances.groups, minlength=chances.shares.shape[1])
    members = np.argsort(chances.groups, kind="stable")
    cells = chances.shares.tocoo()
    of_cell = sizes[cells.col]
    cell, places = ranges(offsets_of(sizes)[cells.col], of_cell)
    counts = np.rint(cells.data * of_cell)
    chosen = draw_places(offsets_of(of_cell), counts, rng)
    rows = np.concatenate((published.rows, members[places[chosen]]))
    codes = np.concatenate((published.codes, published.n_items + cells.row[cell[chosen]]))
    by_row = np.argsort(rows, kind="stable")
    texts = [each.cast(published.vocabulary.type) for each in (published.vocabulary, items.vocabulary)]
    vocabulary = pa.concat_arrays(texts)
    offsets = offsets_of(np.bincount(rows, minlength=published.n_rows))
    targets = np.arange(len(vocabulary))
    return Itemsets(*relabel_rows(codes[by_row], offsets, targets, vocabulary), published.nulls)


def _read_control(lists: pd.Series[Any], items: Itemsets, control: pd.DataFrame) -> tuple[Itemsets, Numbers]:
    """Return control rows by the codes of the original, and how many items of each it lacks."""
    given = list_column(check_frame(control, "control"), lists.name)
    rows = Itemsets.from_series(given)
    known = rows.in_codes_of(items)
    if not len(known.codes):
        problem = "no control row has an item of the original"
        got = f"{rows.n_rows:,} rows with {rows.n_items:,} items of type {rows.vocabulary.type}"
    elif shared := _count_shared(lists.index, items, given.index, known):
        problem = "the control rows are in the original"
        got = f"{shared:,} rows with the index and the items of a row of the original"
    else:
        return known, rows.lengths - known.lengths
    raise ParameterError(problem, where="control", got=got, hint=_HOLD_BACK)


def _count_shared(index: pd.Index[Any], items: Itemsets, others: pd.Index[Any], control: Itemsets) -> int:
    """Count control rows that are rows of the original; 0 if one of the same index differs."""
    # The rows of a control with a new index differ somewhere, or all rows of the table are equal.
    if not (index.is_unique and others.is_unique):
        return 0
    places = index.get_indexer(others)
    one, other = items.take(places[places >= 0]), control.take(np.flatnonzero(places >= 0))
    same = np.array_equal(one.offsets, other.offsets) and np.array_equal(one.codes, other.codes)
    return one.n_rows if same and len(SupportIndex.of(one).distinct().weights) > 1 else 0


def _find_secret(items: Itemsets, secret: Any) -> int:
    """Return the code of a secret that some rows have, and some have not."""
    code = int(items.lookup([secret])[0])
    support = 0 if code < 0 else int(SupportIndex.of(items).singles[code])
    if not 0 < support < items.n_rows:
        problem = "the secret is in no row" if not support else "the secret is in every row"
        hint = "pass an item that some rows have; its type is that of the items"
        raise ParameterError(problem, where="secret", got=f"{support:,} of {items.n_rows:,} rows", hint=hint)
    return code


# --- The attacks


@frozen
class Played:
    """Which attacks of a kind succeed, on the original and on control rows; a number is a known share."""

    name: str
    baseline: Mask | float
    success: Mask
    control: Mask | float | None = None


class Game:
    """A release, and the tables whose rows are attacked: the original, then control rows if there are any."""

    def __init__(
        self,
        published: Itemsets,
        cover: Cover,
        tables: Sequence[Itemsets],
        m: int,
        n: int,
        rng: np.random.Generator,
    ) -> None:
        self.published, self.tables, self.m, self.n, self.rng = published, tables, m, n, rng
        self.labels = csr(cover.labels, cover.offsets, published.n_items, _ONE)  # by item
        self.shares = (self.labels / np.maximum(cover.members, 1)).T.tocsr()  # of items, by label
        self.rows = SupportIndex.of(published).distinct()
        weights = np.repeat(self.rows.weights, self.rows.lengths)
        self.released = csr(self.rows.codes, self.rows.offsets, published.n_items, weights)
        self.holders = _by_item(self.rows)

    def single_out(self) -> Iterator[Played]:
        """Draw predicates of one label, and of several; as baseline, labels that need not occur together."""
        codes = self.rng.permutation(self.published.n_items).astype(np.int32)
        yield self._isolate("singling out, 1 label", codes, np.arange(len(codes) + 1))
        if self.m == 1:
            return
        able = np.flatnonzero(self.published.lengths >= 2)
        rows = self.rng.choice(able, _DRAWS) if len(able) else able
        codes, offsets = draw_subsets(self.published, rows, self.m, self.rng)
        several = f"{self.m} labels" if self.m == 2 else f"2 to {self.m} labels"
        # 2 to m of the labels of each row, uniformly for each number of labels.
        sizes = self.rng.integers(2, np.minimum(self.m, np.diff(offsets)) + 1)
        places = np.sort(draw_places(offsets, sizes, self.rng))
        yield self._isolate(f"singling out, {several}", codes[places], offsets_of(sizes))

    def _isolate(self, name: str, codes: Codes, offsets: Offsets) -> Played:
        """Play distinct predicates that one released row has; any, if none is of one row."""
        is_first = first_equal_rows(codes, offsets) == np.arange(len(offsets) - 1)
        is_single = is_first & (self.rows.supports(codes, offsets, 2) == 1)
        chosen = np.flatnonzero(is_single if is_single.any() else is_first)[: self.n]
        codes, offsets = take_rows(codes, offsets, chosen)
        guesses = self.rng.integers(0, max(self.published.n_items, 1), len(codes)).astype(np.int32)
        original, *others = self.tables
        n = original.n_rows

        def succeeds(table: Itemsets, codes: Codes) -> Mask:
            counts = self._count_rows(table, codes, offsets)
            # As many matches as in n rows, rounded.
            return (counts > 0) & (2 * counts * n < 3 * table.n_rows)

        found = [succeeds(original, each) for each in (guesses, codes)]
        control = [each.take(self.rng.permutation(each.n_rows)[:n]) for each in others]
        return Played(name, *found, *(succeeds(each, codes) for each in control))

    def _count_rows(self, table: Itemsets, codes: Codes, offsets: Offsets) -> Numbers:
        """Count the rows of a table that have an item of each label."""
        rows = SupportIndex.of(table).distinct()
        counts = np.zeros(len(offsets) - 1, np.int64)
        for begin, end, matches in _match(self.labels.T.tocsr()[codes], offsets, _by_item(rows)):
            counts[begin:end] = matches @ rows.weights
        return counts

    def link(self) -> Iterator[Played]:
        """Link both halves of the items of persons to released rows."""
        found = [self._link(table) for table in self.tables]
        n_rows = self.published.n_rows
        near = min(_NEAREST, n_rows)
        baseline = self.rng.hypergeometric(near, n_rows - near, near, len(found[0])) > 0
        yield Played("linkability", baseline, *found)

    def _link(self, table: Itemsets) -> Mask:
        rows = self._draw_rows(table.lengths, 2)
        persons = table.take(rows)
        codes = persons.codes[draw_places(persons.offsets, persons.lengths, self.rng)]
        is_first = (np.arange(len(codes)) - persons.offsets[persons.rows]) % 2 == 0
        halves = [
            self._find_near(codes[half], offsets_of(half)[persons.offsets]) for half in (is_first, ~is_first)
        ]
        return np.array([np.isin(*both).any() for both in zip(*halves, strict=True)], np.bool_)

    def _find_near(self, codes: Codes, offsets: Offsets) -> Iterator[Numbers]:
        """Yield the released rows nearest to the labels of some items of each person, ties at random."""
        for rows, overlaps in self._overlap(codes, offsets, self.published):
            if len(rows) > _NEAREST:
                least = np.partition(overlaps, -_NEAREST)[-_NEAREST]
                nearer, ties = rows[overlaps > least], rows[overlaps == least]
                rows = np.append(nearer, self.rng.choice(ties, _NEAREST - len(nearer), replace=False))
            yield rows

    def _overlap(
        self, codes: Codes, offsets: Offsets, released: Itemsets | SupportIndex
    ) -> Iterator[tuple[Numbers, Floats]]:
        """Yield the rows that share a label with some items of each person, and their overlaps."""
        items = csr(codes, offsets, self.labels.shape[0], _ONE)
        wanted = items @ self.labels
        wanted.data[:] = 1
        sizes = np.minimum(np.diff(wanted.indptr), np.diff(offsets))  # an item counts once if its labels vary
        lengths, holders = released.lengths, _by_item(released)
        for begin, end in _parts(wanted, np.arange(len(offsets)), holders):
            common = wanted[begin:end] @ holders
            for place, size in enumerate(sizes[begin:end]):
                own = slice(common.indptr[place], common.indptr[place + 1])
                rows, shared = common.indices[own], common.data[own]
                yield rows, shared / (size + lengths[rows] - shared)

    def infer(self, secret: int | None) -> Iterator[Played]:
        """Guess an item of persons with known items, or whether they have a secret item."""
        found = [self._infer(table, secret) for table in self.tables]
        _, baseline, has = found[0]
        yield Played("inference", baseline, *(success for success, _, _ in found))
        if secret is not None:
            yield Played("inference, recall", baseline[has], *(success[has] for success, _, has in found))

    def _infer(self, table: Itemsets, secret: int | None) -> tuple[Mask, Mask, Mask]:
        """Return which guesses are right, with and without matching rows, and who has the secret."""
        if secret is None:
            rows = self._draw_rows(table.lengths, 2)
            codes, offsets = draw_subsets(table, rows, self.m + 1, self.rng)
            places = self.rng.integers(offsets[:-1], offsets[1:])
            hidden, offsets = codes[places], offsets - np.arange(len(offsets))
            guesses, most = self._guess_items(np.delete(codes, places), offsets)
            return guesses == hidden, most == hidden, np.ones(len(rows), np.bool_)
        index = SupportIndex.of(table).keep_items(np.arange(table.n_items) != secret)
        known = Itemsets(index.codes, index.offsets, table.vocabulary, table.nulls)
        rows = self._draw_rows(known.lengths)
        has: Mask = (known.lengths < table.lengths)[rows]
        codes, offsets = draw_subsets(known, rows, self.m, self.rng)
        has_it, is_usual = self._guess_secret(codes, offsets, secret)
        return has_it == has, has if is_usual else ~has, has

    def _guess_secret(self, codes: Codes, offsets: Offsets, secret: int) -> tuple[Mask, bool]:
        """Guess whether most rows that match some items have a secret, and whether most of all rows have."""
        share = self.shares[:, [secret]].toarray().ravel()
        expected, counts = self.released @ share, self.rows.weights
        most = bool(2 * expected.sum() > counts.sum())
        guesses = np.full(len(offsets) - 1, most)
        for begin, end, matches in _match(self.labels[codes], offsets, self.holders):
            found = matches @ counts
            guesses[begin:end] = np.where(found > 0, 2 * (matches @ expected) > found, most)
        return guesses, most

    def _guess_items(self, codes: Codes, offsets: Offsets) -> tuple[Numbers, Numbers]:
        """Guess the most frequent other item of the rows that match some items; and of all rows."""
        n, n_items = len(offsets) - 1, self.labels.shape[0]
        known = rows_of(offsets) * n_items + codes
        total = self.released.sum(axis=0) @ self.shares
        top = np.argsort(-total, kind="stable")[: self.m + 1]
        is_other = (total[top] > 0) & ~np.isin(np.arange(n)[:, None] * n_items + top, known)
        most = np.append(top, -1)[np.column_stack((is_other, np.ones(n, np.bool_))).argmax(axis=1)]
        guesses = most.copy()
        for begin, end, matches in _match(self.labels[codes], offsets, self.holders):
            expected = (matches @ self.released @ self.shares).tocoo()
            person, item = expected.row.astype(np.int64), expected.col.astype(np.int64)
            count = np.where(np.isin((begin + person) * n_items + item, known), 0, expected.data)
            best = np.zeros(end - begin)
            np.maximum.at(best, person, count)
            is_best = (count > 0) & (count >= best[person] * (1 - _TIE))
            person, item = person[is_best], item[is_best]
            order = np.lexsort((self.rng.random(len(item)), person))
            person, first = np.unique(person[order], return_index=True)
            guesses[begin + person] = item[order][first]
        return guesses, most

    def recognize(self, n_unknown: Numbers) -> Iterator[Played]:
        """Tell persons of the original from those of control rows, in pairs."""
        original, control = self.tables
        members, others = self._draw_rows(original.lengths), self._draw_rows(control.lengths + n_unknown)
        n = min(len(members), len(others))
        persons = original.take(members[:n]), control.take(others[:n])
        codes = np.concatenate([each.codes for each in persons])
        lengths = np.concatenate([each.lengths for each in persons])
        near = self._overlap(codes, offsets_of(lengths), self.rows)
        overlaps = [found.max(initial=0) for _, found in near]
        is_known = np.append(np.ones(n), n_unknown[others[:n]] == 0)
        places = np.argsort(np.lexsort((self.rng.random(2 * n), lengths, overlaps, is_known)))
        yield Played("membership", 0.5, places[:n] > places[n:], 0.5)

    def _draw_rows(self, lengths: Numbers, least: int = 1) -> Numbers:
        """Draw rows with at least so many items, each once."""
        return self.rng.permutation(np.flatnonzero(lengths >= least))[: self.n]


def _by_item(rows: Itemsets | SupportIndex) -> Any:
    """Return a sparse matrix with the rows of each item."""
    return csr(rows.codes, rows.offsets, rows.n_items, _ONE).T.tocsr()


def _match(slots: Any, offsets: Offsets, holders: Any) -> Iterator[tuple[int, int, Any]]:
    """Yield ranges of attacks, and the rows that match each, as a sparse matrix."""
    # A row matches if it has a column of each slot of the attack. Slots without a column are ignored; if
    # there is no other, no row matches. ``holders`` has the rows of each column.
    filled = (np.diff(slots.indptr) > 0).astype(np.int64)
    needed = np.diff(np.append(0, np.cumsum(filled))[offsets])
    for begin, end in _parts(slots, offsets, holders):
        first, last = offsets[begin], offsets[end]
        held = slots[first:last] @ holders
        held.data[:] = 1  # once for each slot, by whichever of its columns
        own = csr(np.arange(last - first), offsets[begin : end + 1] - first, int(last - first), _ONE)
        matches = own @ held
        matches.data[:] = matches.data == needed[begin:end][rows_of(matches.indptr)]
        matches.eliminate_zeros()
        yield begin, end, matches


def _parts(slots: Any, offsets: Offsets, holders: Any) -> Iterator[tuple[int, int]]:
    """Yield ranges of attacks with a limited number of rows that have a column of theirs."""
    reached = offsets_of(slots @ np.diff(holders.indptr))[offsets].astype(np.int64)
    for part in many_parts(reached, int(reached[-1]) // _CELLS + 1):
        yield part
        part_done()


# --- Shares and their intervals


def check_assessment(table: Any) -> pd.DataFrame:
    """Check that a table is one of `assess`."""
    if [*check_frame(table, "assessment")] != [*_COLUMNS]:
        hint = "pass the table itself: pdanon.assess(original, result, control)"
        raise ParameterError("this is no table of assess", where="assessment", hint=hint)
    return table


def _line(played: Played) -> dict[str, Any]:
    """Return the line of a table."""
    shares = [_share(each) for each in (played.success, played.control, played.baseline)]
    success, control, _ = shares
    n = len(played.success)
    n_control = len(played.control) if isinstance(played.control, np.ndarray) else math.inf
    if not n or not n_control:
        risk = (math.nan,) * 3
    elif played.control is None:
        risk = (success, *wilson_interval(success, n))
    else:
        risk = risk_interval(success, n, control, n_control)
    return dict(zip(_COLUMNS, (played.name, n, *shares, *risk), strict=True))


def _share(found: Mask | float | None) -> float:
    return math.nan if found is None or not np.size(found) else float(np.mean(found))


def risk_interval(success: float, n: int, control: float, n_control: float) -> tuple[float, float, float]:
    """Return ``(success - control) / (1 - control)`` with its interval at 95 %; NaN if control is 1."""
    # The risk is 1 less a ratio of shares of failures, whose interval by MOVER-R follows from those of
    # Wilson.
    if control == 1:
        return (math.nan,) * 3
    one, other = 1 - success, 1 - control
    high, low = (1 - end for end in wilson_interval(success, n))
    other_high, other_low = (1 - end for end in wilson_interval(control, n_control))
    product = one * other
    least, most = low * (2 * one - low), high * (2 * one - high)
    below, above = other_high * (2 * other - other_high), other_low * (2 * other - other_low)
    down = least / (product + math.sqrt(max(product**2 - below * least, 0.0))) if least else 0.0
    up = (product + math.sqrt(max(product**2 - above * most, 0.0))) / above
    return 1 - one / other, 1 - up, 1 - down
