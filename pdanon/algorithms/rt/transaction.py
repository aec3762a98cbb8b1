"""Items of a table with quasi-identifiers: their parameters as one value, and how clusters are anonymized."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, fields, replace
from fractions import Fraction
from functools import partial
from math import lcm
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import pyarrow as pa

from pdanon.algorithms.items.apriori import find_leaves
from pdanon.algorithms.registry import ALGORITHMS, LOWERED_BY_DELETIONS, Algorithm, Parameters, Way
from pdanon.algorithms.states.clusters import first_members
from pdanon.algorithms.states.cuts import BASES, Cut, CutRefinement, CutTask
from pdanon.algorithms.states.rules import DiverseSets
from pdanon.algorithms.states.sets_search import Refinement
from pdanon.algorithms.weights import WEIGHT_STEPS, item_weights
from pdanon.errors import InfeasibleError, ParameterError
from pdanon.guarantees import KKm, KLm, KmAnonymity
from pdanon.guarantees.breaches import Breaches
from pdanon.guarantees.named import NamedItems, named_items
from pdanon.guarantees.parameters import check_seconds, check_share, materialize
from pdanon.guarantees.utility import item_blocks, partition
from pdanon.hierarchy import Hierarchy, HierarchyLike
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Mask, Numbers, join_columns
from pdanon.itemsets.columns import quasi_labels
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.lists import distinct, sums
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.timing import Clock, call_uncounted
from pdanon.itemsets.validation import check_count, check_flag, check_known, describe, find_name, quote_word
from pdanon.recoding.decision import labels_to_suppress


@constructed_by_name
@dataclass(frozen=True, repr=False)
class Transaction:
    """Parameters for the items, for algorithms that anonymize quasi-identifiers and items together.

    The name of an algorithm is short for a `Transaction` with defaults: ``transaction="pcta"``.

    Parameters
    ----------
    algorithm : str
        The algorithm that anonymizes the items of each class: any that gives k^m-anonymity. With
        ``"local_suppression"``, rows of a class lose different occurrences, and items keep their type.
    hierarchy : Hierarchy, path, DataFrame, dict or int, optional
        The hierarchy of the items, if the algorithm needs one; with ``columns``, a mapping of one for each.
    options : mapping, optional
        Further parameters of the algorithm: ``parts`` of ``lra`` and ``vpa``, ``utility`` and
        ``max_suppressed`` of ``coat`` and ``upcta``, ``weights`` of ``pcta``, ``coat``, ``upcta``
        and ``local_suppression``, ``time_limit`` of ``optimal``. ``weights`` also count in the utility loss.
    columns : sequence of hashable, optional
        Labels of several list columns, instead of ``column``. Their items form one transaction, and the
        attacker knows up to m of them. No set or node spans two columns.
    sensitive : iterable, optional
        Items that must not be inferred. An attacker does not know them. They are published as they are, or
        suppressed in a class where too few rows hide them. Requires ``l``, and ``"pcta"``, ``"coat"``,
        ``"upcta"``, ``"local_suppression"``, ``"apriori"``, ``"hghs"`` or ``"mhghs"``.
    l : int, optional
        At most 1/l of the rows that match an attacker's knowledge have a sensitive item; at least 2.
    refine : bool
        Refine the items afterwards, but no nodes beside sensitive items or of ``"lra"``.
    order : {"btd", "tum"}
        Order of the merges of classes: by the distance of their transactions (BTD), or by the loss of
        anonymizing them together. The second takes much longer. Sensitive items count in neither.
    tum : {"NCP", "UL"}
        Loss of transactions where it is compared: NCP averaged over the occurrences, or the utility loss of
        the paper averaged over the rows, which the release reports as ``loss["UL_rows"]``. The utility loss
        is not monotone: it may be higher for the original than for a release. Sensitive items do not count;
        NCP without them is ``loss["NCP_known"]``.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If the algorithm does not exist or support a parameter, or the sensitive items are of several types.

    Notes
    -----
    Columns are stored as a tuple, and sensitive items once each. A value is hashable if its parts are.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["flu", "tea"], ["tea"], ["tea"], ["flu", "rice"]]
    >>> df = pd.DataFrame({"age": [19, 22, 39, 40], "items": rows})
    >>> hidden = pdanon.Transaction("apriori", hierarchy={"*": ["tea", "rice"]}, sensitive=["flu"], l=2)
    >>> hidden
    Transaction('apriori', hierarchy=dict, sensitive=1 items, l=2)
    >>> pdanon.rfirst(df, k=2, m=1, quasi=["age"], transaction=hidden, random_state=0).frame
            age          items
    0  [19, 22]  ['flu' 'tea']
    1  [19, 22]        ['tea']
    2  [39, 40]          ['*']
    3  [39, 40]    ['*' 'flu']
    """

    algorithm: str = "pcta"
    _: KW_ONLY
    hierarchy: HierarchyLike | Mapping[Hashable, HierarchyLike] | None = None
    options: Mapping[str, Any] | None = None
    columns: Sequence[Hashable] | None = None
    sensitive: Iterable[Any] | None = None
    l: int | None = None  # noqa: E741  (its name in the literature)
    order: str = "btd"
    tum: str = "NCP"
    refine: bool = True

    def __post_init__(self) -> None:
        record = _record(self.algorithm)
        if (record.nodes is not None) != (self.hierarchy is not None):
            problem = "needs a" if record.nodes else "takes no"
            raise ParameterError(f"{record.name} {problem} hierarchy of the items", where="hierarchy")
        check_known(self.order, ("btd", "tum"), "order of merges", where="order")
        tum = find_name(self.tum, ("NCP", "UL"), "measure of transactions", where="tum")
        object.__setattr__(self, "tum", tum)
        check_flag(self.refine, "refine")
        if self.options is not None:
            object.__setattr__(self, "options", _check_options(record, self.options))
        if self.columns is not None:
            object.__setattr__(self, "columns", quasi_labels(self.columns, "columns"))
            _check_hierarchies(self.hierarchy, self.columns)
            if (self.options or {}).get("weights") is not None:
                raise ParameterError("weights need a single list column", where="columns")
        if self.sensitive is not None or self.l is not None:
            self._check_diversity(record)

    def __repr__(self) -> str:
        parts = (f"{name}={_describe(name, value)}" for name, value in set_parameters(self).items())
        return f"Transaction({', '.join([repr(self.algorithm), *parts])})"

    def _check_diversity(self, record: Algorithm) -> None:
        if self.sensitive is None or self.l is None:
            raise ParameterError(
                "sensitive and l go together",
                hint="pass the items to protect as sensitive=, and how well as l=",
            )
        if self.columns is not None:
            hint = "join the lists into one column, and begin each item with the name of its column"
            raise ParameterError("sensitive items must be in one list column", where="columns", hint=hint)
        if self.algorithm not in _DIVERSE_NODES and record.sets is None:
            hint = (
                'use "pcta", "coat", "upcta" or "local_suppression", or "apriori", "hghs" or "mhghs" with a '
                "hierarchy"
            )
            problem = "the algorithm cannot hide sensitive items"
            raise ParameterError(problem, where="transaction", got=self.algorithm, hint=hint)
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        object.__setattr__(self, "l", check_count(self.l, "l", least=2))


# Algorithms with nodes that can hide sensitive items.
_DIVERSE_NODES = ("apriori", "hghs", "mhghs")


def as_transaction(value: str | Transaction) -> Transaction:
    """Return the transaction that a name stands for, or the value itself."""
    return value if isinstance(value, Transaction) else Transaction(value)


def ways_of(configurations: Iterable[tuple[int, Mapping[str, Any]]]) -> tuple[Way, ...]:
    """Return what `anonymize` tries of an algorithm for both, given the order and options of its classes."""
    # Items become sets; for the losses that deletions lower, they are deleted as well; with a hierarchy, they
    # become nodes beside sensitive items.
    ways = []
    for order, options in configurations:
        ways += [Way(each, order, options) for each in (KKm, KLm)]
        deleting, cutting = ({**options, "transaction": name} for name in ("local_suppression", "apriori"))
        ways += [Way(each, order + 50, deleting, losses=LOWERED_BY_DELETIONS) for each in (KKm, KLm)]
        ways.append(Way(KLm, order + 50, cutting, needs="hierarchy"))
    return tuple(ways)


def set_parameters(transaction: Transaction) -> Parameters:
    """Return the parameters that differ from their defaults, without the algorithm."""
    values = ((each, getattr(transaction, each.name)) for each in fields(transaction)[1:])
    return {
        each.name: value
        for each, value in values
        if value is not None and not (isinstance(value, (str, bool)) and value == each.default)
    }


def _record(name: Any) -> Algorithm:
    """Return the record of an algorithm that can anonymize the items of some rows."""
    known = {name: each for name, each in ALGORITHMS.items() if each.nodes or each.sets}
    return known[check_known(name, known, "algorithm for transactions", where="transaction")]


# Checks of options that need no data, by name.
_CHECKS: dict[str, Callable[[Any], object]] = {
    "parts": partial(check_count, name="parts", least=1),
    "max_suppressed": partial(check_share, name="max_suppressed"),
    "time_limit": partial(check_seconds, zero=True),
}


def _check_options(record: Algorithm, options: Any) -> Parameters:
    """Return the checked options of an algorithm, copied so that they can be read repeatedly."""
    if not isinstance(options, Mapping):
        hint = f"pass them by name: {{{', '.join(f'{each!r}: ...' for each in record.options)}}}"
        raise ParameterError("options must be a mapping", got=type(options).__name__, hint=hint)
    for key, value in options.items():
        if key == "utility" and key not in record.options:
            problem, hint = f"{record.name} has no such option", 'use "coat" or "upcta", which keep to blocks'
            raise ParameterError(problem, where="options", got=quote_word(key), hint=hint)
        check_known(key, record.options, f"option of {record.name}", where="options")
        if key in _CHECKS:
            _CHECKS[key](value)
    return {key: materialize(value) for key, value in options.items()}


def _check_hierarchies(hierarchy: Any, labels: Sequence[Hashable]) -> None:
    """Check that there is a hierarchy for each of several list columns, or for none."""
    if hierarchy is None:
        return
    hint = "with columns=, pass a mapping with a hierarchy for each column"
    if not isinstance(hierarchy, Mapping) or len(hierarchy) > len(labels):
        raise ParameterError("hierarchies do not match the columns", where="hierarchy", hint=hint)
    for label in labels:
        if label not in hierarchy:
            raise ParameterError(f"column {label!r} has no hierarchy", where="hierarchy", hint=hint)


def _describe(name: str, value: Any) -> str:
    """Describe a parameter without the text of an item."""
    if name == "sensitive":
        return f"{len(value)} items"
    if name == "options":
        return f"{{{', '.join(f'{key!r}: {describe(each)}' for key, each in value.items())}}}"
    return describe(value) if name in ("hierarchy", "l") else repr(value)


# --- The items of one class


Cover: TypeAlias = tuple[Hierarchy, Codes]  # and the leaf of each item

_MOST_ROWS = 2**31  # every l above the number of rows allows no sensitive item at all


def keep_occurring(rows: Itemsets) -> tuple[Itemsets, Codes]:
    """Return rows with only the items that occur in them, and their previous codes."""
    items, codes = np.unique(rows.codes, return_inverse=True)
    vocabulary = rows.vocabulary.take(pa.array(items))
    return replace(rows, codes=codes.astype(np.int32), vocabulary=vocabulary), items


@frozen
class ClassSearch:
    """Refinement of the items of a class."""

    guarantee: KmAnonymity  # of each class
    # Hierarchy, and leaf of each item of the table, if nodes are published.
    cover: Cover | None = None
    joint: bool = False  # whether the root joins several columns; occurrences at the root are then suppressed
    blocks: Numbers | None = None  # only items of the same block share a set
    loss: str = "NCP"  # to lower: NCP or LM, for sets also the balanced one

    def begin(
        self, rows: Itemsets, items: Codes, became: Codes, clock: Clock | None = None
    ) -> Refinement | CutRefinement:
        """Start a search in a class, whose rows and items are those of `keep_occurring`."""
        # ``became`` has the node of each item, or the number of its set; -1 if it is suppressed.
        if self.cover is None:
            blocks = None if self.blocks is None else self.blocks[items]
            return Refinement(rows, became, self.guarantee, blocks, self.loss, clock)
        tree, leaves = self.cover
        index = SupportIndex.of(rows)
        one = np.zeros(len(index.weights), np.int32)
        base = BASES[self.loss]
        return CutRefinement(index, one, tree, leaves[items], became[None], self.guarantee, base, clock)

    def refine(self, rows: Itemsets, items: Codes, became: Codes) -> Codes:
        """Return the result for each item when no single move gains; parameters as in `begin`."""
        search = self.begin(rows, items, became)
        if isinstance(search, CutRefinement):
            search.lower()
        else:
            search.descend()
        found = search.best.reshape(-1).astype(np.int32)
        return np.where(found == 0, -1, found) if self.joint else found


# --- Transactions of a table with quasi-identifiers, made k^m-anonymous cluster by cluster


@frozen
class TransactionSide:
    """The transactions of all rows, and how to anonymize those of a cluster."""

    # ``decide`` is the algorithm: from rows and their items to a number for each occurrence. The number is a
    # node of the hierarchy or shared by the items of a set; -1 suppresses the occurrence.

    itemsets: Itemsets
    k: int  # 0 if the table has sensitive items: ``decide`` alone decides which classes are suppressed
    decide: Callable[[SupportIndex, Codes], Codes]
    sizes: Numbers | None  # number of leaves of each node; None if sets are published
    domains: Numbers  # number of leaves, or of items that occur, of each list column
    column_of: Codes  # list column of each item
    measure: str  # of transactions (Tum): NCP or UL
    order: str  # of merges, as in `Transaction`
    search: ClassSearch | None = None  # refines the decision
    hidden: Mask | None = None  # sensitive items, which do not count in the loss of transactions
    weights: Numbers | None = None  # importance of each item in UL, as of `item_weights`
    deletes: bool = False  # whether rows of a cluster lose different occurrences, and no item is generalized

    @property
    def measured_as(self) -> str | None:
        """Name of the loss of transactions; None if it is the NCP of all items."""
        if self.measure == "UL":
            return "UL_rows"
        return None if self.hidden is None else "NCP_known"

    @property
    def compared(self) -> TransactionSide | None:
        """The transactions, if merges compare their losses; None if they compare distances."""
        return self if self.order == "tum" else None

    @property
    def known(self) -> Itemsets:
        """The transactions without sensitive items."""
        if self.hidden is None:
            return self.itemsets
        rows = SupportIndex.of(self.itemsets).keep_items(~self.hidden)
        return replace(self.itemsets, codes=rows.codes, offsets=rows.offsets)

    @property
    def most(self) -> int:
        """Loss of all rows together if all transactions were suppressed."""
        return self._most(self.itemsets.n_rows, self._count_known(self.itemsets.codes))

    def _most(self, n_rows: int, n_occurrences: int) -> int:
        """Return the loss of some rows together if all their transactions were suppressed."""
        return n_rows if self.measure == "UL" else lcm(*self.domains.tolist()) * n_occurrences

    def protect(self, rows: Numbers) -> tuple[Numbers, Codes]:
        """Anonymize the transactions of a cluster; return the places of its occurrences and their numbers."""
        # If fewer than k rows have items, no release of them would be k^m-anonymous: all are suppressed.
        places, own, items, numbers = self._decide_rows(rows)
        if self.search is None or np.count_nonzero(own.lengths) < self.k:
            return places, numbers
        became = np.empty(len(items), np.int32)
        became[own.codes] = numbers
        refined = self.search.refine(own, items, became)[own.codes]
        both = self._hide_emptied(own, numbers), self._hide_emptied(own, refined)
        return places, min(both, key=partial(self.loss, places))

    def join(self, decided: Iterable[tuple[Numbers, Codes]]) -> Codes:
        """Return the number of each occurrence, given the places and numbers of each cluster."""
        numbers = np.full(len(self.itemsets.codes), -1, np.int32)
        for places, own in decided:
            numbers[places] = own
        return numbers

    def _hide_emptied(self, rows: Itemsets, numbers: Codes) -> Codes:
        """Suppress further occurrences until no row, or at least k rows, are emptied."""
        gone = labels_to_suppress(numbers.astype(np.int64), rows, self.k)
        return np.where(np.isin(numbers, gone), np.int32(-1), numbers)

    def _decide_rows(self, rows: Numbers) -> tuple[Numbers, Itemsets, Codes, Codes]:
        """Return the places of occurrences, the rows not missing, their items, and the decision."""
        places = self.itemsets.places(rows)
        # Missing rows hide no others.
        own, items = keep_occurring(self.itemsets.take(rows[~self.itemsets.nulls[rows]]))
        index = SupportIndex.of(own)
        if index.n_non_empty < self.k:
            return places, own, items, np.full(len(places), -1, np.int32)
        return places, own, items, call_uncounted(self.decide, index, items)

    def _count_known(self, codes: Codes) -> int:
        """Count the occurrences of items that are not sensitive."""
        return len(codes) if self.hidden is None else int(np.count_nonzero(~self.hidden[codes]))

    def loss(self, places: Numbers, numbers: Codes) -> float:
        """Return the loss of some rows together, given the new number of each occurrence."""
        # NCP is that of a release, where an occurrence costs a share of the domain of its list column. It is
        # multiplied by a common multiple of all domains, so that it is an exact integer.
        if self.hidden is not None:
            shown = ~self.hidden[self.itemsets.codes[places]]
            places, numbers = places[shown], numbers[shown]
        covered = self._stands_for(places, numbers)
        if self.measure == "NCP":
            changed = (covered > 1) | (numbers < 0)
            columns = self.column_of[self.itemsets.codes[places]]
            lost, sizes = sums(columns[changed], covered[changed], len(self.domains)), self.domains.tolist()
            return sum(each * (lcm(*sizes) // size) for each, size in zip(lost.tolist(), sizes, strict=True))
        row_of = np.searchsorted(self.itemsets.offsets, places, side="right")
        published = row_of * (int(numbers.max(initial=0)) + 2) + numbers + 1
        _, first = np.unique(published, return_index=True)
        rows, row = np.unique(row_of[first], return_inverse=True)
        size = covered[first].astype(np.float64)
        all_sizes = np.bincount(row, size, minlength=len(rows))
        terms = (np.exp2(size - all_sizes[row]) - np.exp2(-all_sizes[row])) / (1 - np.exp2(-all_sizes[row]))
        if self.weights is not None:
            # By the highest importance of an item with each number; 1 for suppressed occurrences, the last.
            heaviest = np.zeros(int(numbers.max(initial=0)) + 2, np.int64)
            np.maximum.at(heaviest, numbers, self.weights[self.itemsets.codes[places]])
            heaviest[-1] = WEIGHT_STEPS
            terms = terms * (heaviest[numbers[first]] / WEIGHT_STEPS)
        return float(terms.sum())

    def average_loss(self, rows: Numbers) -> Fraction:
        """Return the average loss of rows anonymized together, not refined, as a share of the maximum."""
        places, _, _, numbers = self._decide_rows(rows)
        known = self._count_known(self.itemsets.codes[places])
        return Fraction(self.loss(places, numbers)) / max(self._most(len(rows), known), 1)

    def _stands_for(self, places: Numbers, numbers: Codes) -> Numbers:
        """Count the items that each occurrence may stand for; all of its column if it is suppressed."""
        sizes, items = self.sizes, self.itemsets.codes[places]
        if sizes is None:
            members = distinct(numbers * np.int64(self.itemsets.n_items) + items)
            sizes = np.bincount(members[members >= 0] // self.itemsets.n_items)
        return np.where(numbers < 0, self.domains[self.column_of[items]], np.append(sizes, 0)[numbers])


# --- How the items of a table are anonymized


class _Secrets(NamedTuple):
    """The sensitive items, and the upper bound l on their share: in at most 1/l of the rows."""

    hidden: Mask
    diversity: int

    def split(self, index: SupportIndex, items: Codes) -> tuple[SupportIndex, SupportIndex]:
        """Return the known items of some rows, and the sensitive items that can hide in them."""
        # No row is missing. An attacker may know the class alone, or that a row has any known item. Both must
        # leave a sensitive item with a probability of at most 1/l.
        secret = self.hidden[items]
        known, secrets = index.keep_items(~secret), index.keep_items(secret)
        filled = secrets.within(known.lengths > 0)
        sure = (secrets.singles * self.diversity > index.n_rows) | (
            filled.singles * self.diversity > filled.n_rows
        )
        return known, secrets.keep_items(~sure)

    def publish(
        self,
        decide: Callable[[SupportIndex, SupportIndex, Codes], Codes],
        k: int,
        leaves: Codes | None,
        index: SupportIndex,
        items: Codes,
    ) -> Codes:
        """Publish sensitive items alone, and known ones as ``decide`` does if k rows have some."""
        known, secrets = self.split(index, items)
        numbers = np.full(index.n_items, -1, np.int32)
        if known.n_non_empty >= k:
            numbers = decide(known, secrets, items)
        shown = np.flatnonzero(secrets.singles > 0)
        # A set has the number of one of its own items, so no number is used twice.
        numbers[shown] = shown if leaves is None else leaves[items[shown]]
        return numbers[index.codes]


def anonymize_by(
    transaction: Transaction, columns: Sequence[Itemsets], guarantee: KKm | KLm
) -> tuple[TransactionSide, list[tuple[Hierarchy, int]] | None]:
    """Return the transactions of list columns, how to anonymize them, and the hierarchies of their items."""
    itemsets, column_of = join_columns(columns)
    km, secrets = KmAnonymity(guarantee.k, guarantee.m), None
    if isinstance(guarantee, KLm):
        # Bounded, as products with the number of rows must not overflow.
        hidden = named_items(itemsets, guarantee.sensitive)
        secrets = _Secrets(hidden, min(guarantee.l, _MOST_ROWS))
    side = partial(
        TransactionSide,
        itemsets=itemsets,
        k=0 if secrets else km.k,
        column_of=column_of,
        measure=transaction.tum,
        order=transaction.order,
        hidden=secrets and secrets.hidden,
    )
    if transaction.hierarchy is None:
        domains = np.array([max(each.n_items, 1) for each in columns])
        return _by_sets(side, transaction, itemsets, km, domains, column_of, secrets), None
    source: Any = transaction.hierarchy
    record, search = ALGORITHMS[transaction.algorithm], None
    nodes_of: Any = record.nodes
    decide: Callable[[SupportIndex, Codes], Codes]
    if secrets is not None:
        tree, leaves, n_leaves = find_leaves(source, itemsets.vocabulary, secrets.hidden)
        trees, cover = [(tree, n_leaves)], (tree, leaves)
        nodes_of = None if transaction.algorithm == "apriori" else nodes_of
        decide = partial(secrets.publish, partial(_diverse_nodes, nodes_of, km, cover, secrets), km.k, leaves)
    else:
        sources = [source] if transaction.columns is None else [source[each] for each in transaction.columns]
        items = [each.vocabulary for each in columns]
        found = [Hierarchy.over(each, own) for each, own in zip(sources, items, strict=True)]
        trees, cover = [(tree, tree.n_leaves) for tree, _ in found], _joint(found)
        joint, by_item = len(trees) > 1, record.recodes == "items"
        decide = partial(_nodes, partial(nodes_of, **_options(transaction)), by_item, km, cover, joint)
        # Algorithms that do not recode items may publish an item in several ways in a class.
        search = ClassSearch(km, cover, joint) if transaction.refine and by_item else None
    domains = np.array([n_leaves for _, n_leaves in trees])
    sizes = np.minimum(cover[0].leaves, domains.sum()).astype(np.int64)
    return side(decide=decide, sizes=sizes, domains=domains, search=search), trees


def _by_sets(
    side: Callable[..., TransactionSide],
    transaction: Transaction,
    itemsets: Itemsets,
    km: KmAnonymity,
    domains: Numbers,
    column_of: Codes,
    secrets: _Secrets | None,
) -> TransactionSide:
    """Return transactions to publish as sets of items that reveal no sensitive item."""
    # With several list columns, each set is of one column.
    options, record = _options(transaction), ALGORITHMS[transaction.algorithm]
    utility = options.get("utility")
    kinds = item_blocks(None if utility is None else partition(utility), itemsets.vocabulary)
    share = check_share(options.get("max_suppressed", 0.0), "max_suppressed")
    if len(domains) > 1:  # sets of one column may not reach k rows: suppression must be allowed
        kinds, share = kinds * len(domains) + column_of, Fraction(1)
    sets_of: Any = record.sets
    weights, deletes = item_weights(options.get("weights"), itemsets), record.recodes == "rows"
    decide: Callable[..., Codes] = partial(_sets, sets_of, km, kinds, share, weights)
    search = ClassSearch(km, blocks=kinds, loss="balanced") if transaction.refine and not deletes else None
    if secrets is not None and deletes:
        decide = partial(_diverse_deletions, sets_of, km, weights, secrets)
    elif secrets is not None:
        decide = partial(
            secrets.publish, partial(_diverse_sets, decide, km, kinds, secrets, search), km.k, None
        )
        search = None
    return side(decide=decide, sizes=None, domains=domains, search=search, weights=weights, deletes=deletes)


def _joint(covers: Sequence[Cover]) -> Cover:
    """Join trees below one root, and move their leaves; return a single tree unchanged."""
    if len(covers) == 1:
        return covers[0]
    names, parents, moved = ["*"], [np.array([-1])], []  # node 0 is the new root
    for tree, nodes in covers:
        moved.append(nodes + len(names))
        parents.append(np.where(tree.parent < 0, 0, tree.parent + len(names)))
        names += tree.names
    return Hierarchy(tuple(names), np.concatenate(parents)), np.concatenate(moved).astype(np.int32)


def _options(transaction: Transaction) -> Parameters:
    """Return the options of an algorithm, with its defaults for those not set."""
    return {**ALGORITHMS[transaction.algorithm].options, **(transaction.options or {})}


# --- Decisions: parameters first, then rows and their items. They can be sent to other processes.


def _nodes(
    nodes_of: Callable[..., Codes],
    by_item: bool,
    km: KmAnonymity,
    cover: Cover,
    joint: bool,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    tree, leaves = cover
    nodes = nodes_of(CutTask(index, tree, leaves[items], km.k, km.m))
    nodes = nodes[index.codes] if by_item else nodes
    # An occurrence at the joint root is suppressed. The cut is then the root: no other item is left.
    return np.where(nodes == 0, -1, nodes) if joint else nodes


def _diverse_nodes(
    nodes_of: Callable[..., Codes] | None,
    km: KmAnonymity,
    cover: Cover,
    hiding: _Secrets,
    known: SupportIndex,
    secrets: SupportIndex,
    items: Codes,
) -> Codes:
    """Raise a cut, or suppress nodes of another algorithm, until they reveal no sensitive item."""
    tree, leaves = cover[0], cover[1][items]
    if nodes_of is None:
        cut = Cut(known, tree, leaves, secrets=secrets, diversity=hiding.diversity)
        cut.protect(km.k, km.m)
        return np.where(known.singles > 0, cut.nodes, np.int32(-1))
    found = nodes_of(CutTask(known, tree, leaves, km.k, km.m))
    of_item = np.where(known.singles > 0, found, np.int32(-1))
    # Suppress nodes until up to m nodes reveal no sensitive item of too many of their rows.
    # Without the node, no other set has other rows, so that k^m-anonymity is kept.
    nodes, number = np.unique(of_item, return_inverse=True)
    number = np.where(of_item < 0, -1, number).astype(np.int32)
    held = sums(number[of_item >= 0], known.singles[of_item >= 0], len(nodes))
    rows = known.recode(number, len(nodes))
    breaches = Breaches(rows, secrets, Fraction(1, hiding.diversity), km.m, km.k).breaches()
    gone = np.zeros(len(nodes), np.bool_)
    for each in map(list, breaches.sets()):
        if not gone[each].any():
            gone[each[int(np.argmin(held[each]))]] = True
    of_item[(number >= 0) & gone[number]] = -1
    return of_item


def _diverse_sets(
    sets_of: Callable[[SupportIndex, Codes], Codes],
    km: KmAnonymity,
    kinds: Numbers,
    hiding: _Secrets,
    search: ClassSearch | None,
    known: SupportIndex,
    secrets: SupportIndex,
    items: Codes,
) -> Codes:
    labels = np.full(known.n_items, -1, np.int32)
    there = np.flatnonzero(known.singles)  # absent items would count as suppressed in their block
    labels[known.codes] = sets_of(known.select(there), items[there])
    if search is not None:  # before the merges: a refined set may reveal a sensitive item
        refined = search.refine(known.to_rows(pa.array(items)), items, labels)
        labels = np.where(hiding.hidden[items], -1, refined).astype(np.int32)
    sets = DiverseSets(known, secrets, labels, kinds[items], hiding.diversity, len(hiding.hidden))
    sets.protect(km.k, km.m)
    return first_members(sets.labels).astype(np.int32)


def _diverse_deletions(
    delete: Callable[..., Codes],
    km: KmAnonymity,
    weights: Numbers | None,
    hiding: _Secrets,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    known, secrets = hiding.split(index, items)
    shown = secrets.singles > 0
    if known.n_non_empty >= km.k:
        shown |= ~hiding.hidden[items]
    result, chosen = np.full(len(index.codes), -1, np.int32), shown[index.codes]
    rows, own = index.keep_items(shown), None if weights is None else weights[items]
    least = {"l": hiding.diversity, "hidden": hiding.hidden[items], "weights": own}
    result[chosen] = delete(rows, None, 0, km.k, km.m, **least)
    return result


def _sets(
    sets_of: Callable[..., Codes],
    km: KmAnonymity,
    kinds: Numbers,
    share: Fraction,
    weights: Numbers | None,
    index: SupportIndex,
    items: Codes,
) -> Codes:
    own = None if weights is None else weights[items]
    try:
        return sets_of(index, kinds[items], int(share * index.n_items), km.k, km.m, weights=own)
    except InfeasibleError as error:
        raise InfeasibleError(
            "too many items of a class cannot hide within their block",
            where=f"utility, in a class of {index.n_rows:,} rows",
            got=f"max_suppressed={float(share):g}, the share of the items of a class that may be suppressed",
            hint="pass max_suppressed=1 to suppress them in their class",
        ) from error
