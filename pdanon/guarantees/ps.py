"""PS-rules: for listed background knowledge, k rows match, and sensitive items are not inferred."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ColumnError, ItemsetDtypeError, ParameterError, read_safely
from pdanon.guarantees.breaches import Breaches, minimal_sets
from pdanon.guarantees.models import Checks, ListModel
from pdanon.guarantees.named import (
    UNKNOWN,
    MappedItems,
    NamedItems,
    generalize_itemsets,
    label_codes,
    named_items,
    named_labels,
    refuse_members,
    unite_itemsets,
)
from pdanon.guarantees.parameters import (
    ItemLimit,
    check_m,
    check_size,
    format_share,
    rule_sides,
)
from pdanon.guarantees.verdict import Audit, counts_emptied, threat_table
from pdanon.io.parquet import read_parquet
from pdanon.io.text import read_csv
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.codes import Itemsets, Mask, Numbers, as_itemsets, canonical_rows, first_copies
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import inverse_order, mask_at, offsets_of
from pdanon.itemsets.mapping import check_mapping, mapping_values
from pdanon.itemsets.row_loops import first_equal_rows
from pdanon.itemsets.support import (
    ItemsetTable,
    SupportIndex,
    concatenate,
    empty_itemset,
    empty_itemsets,
    from_matrices,
)
from pdanon.itemsets.validation import check_path

_UNMAPPED = "pass the mapping, which has the labels of known items: guarantee.with_mapping(mapping)"
_AT_A_TIME = 10**6  # rules


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PSRules(ListModel):
    """The known items of a rule match no row or at least k; at most a share c have its sensitive items.

    Precisely: for a rule from known items I to sensitive items J, take the rows that contain the published
    form of I. There is no such row, or there are at least k, and at most a share c of them contain all of J.

    Parameters
    ----------
    rules : iterable of pairs, DataFrame, path, Rules or AllRules
        As in :func:`pdanon.ps_rules`, with original items; or a mapping with the keys ``m`` and
        ``sensitive``.
    k : int
        Minimum number of rows that match what an attacker knows; at least 2.
    c : float
        Maximum share of the sensitive items in these rows, above 0 and below 1.
    mapping : pandas.DataFrame, optional
        The mapping of the release. Without it, the audited frame must contain the items of the rules.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If a parameter is out of range, there is no rule, a side of a rule is empty or not list-like, or items
        are of several types. If an item is known and sensitive, or the mapping generalizes a sensitive item
        or gives its label to another item.

    Notes
    -----
    A share is read as the fraction that its digits denote, so that all comparisons are exact. A rule covers
    attackers who know exactly its known items. No rule covers attackers without any knowledge, unless all
    known items of the rule are suppressed; missing rows do not count then.

    References
    ----------
    .. [1] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Anonymizing Transaction Data to Eliminate Sensitive
       Inferences", DEXA 2010.
    .. [2] G. Loukides, A. Gkoulalas-Divanis, J. Shao, "Efficient and Flexible Anonymization of Transaction
       Data", Knowledge and Information Systems 36(1), 2013.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> rows = [["rice", "tea", "flu"], ["rice", "tea"], ["rice", "salt", "flu"], ["salt", "tea"], ["tea"]]
    >>> df = pd.DataFrame({"items": rows})
    >>> rules = [(["rice"], ["flu"]), (["tea"], ["flu"]), (["rice", "salt"], ["flu"])]
    >>> df.txanon.audit(pdanon.PSRules(rules=rules, k=2, c=0.6)).threats
               itemset sensitive  support     why
    0         ['rice']   ['flu']        3  breach
    1  ['rice' 'salt']        []        1    rare
    2  ['rice' 'salt']   ['flu']        1  breach
    """

    rules: Any  # Rules or AllRules, once they are read
    k: int
    c: Any
    mapping: pd.DataFrame | None = None

    _checks: ClassVar[Checks] = {"rules": lambda rules: read_rules(rules), "mapping": check_mapping}

    def __post_init__(self) -> None:
        super().__post_init__()
        MappedItems.of_named(self.mapping, self.sensitive)  # raises if a sensitive item is generalized

    @property
    def sensitive(self) -> NamedItems:
        """The sensitive items of the rules."""
        return self.rules.sensitive_items

    @counts_emptied
    def recount(self, columns: ListColumns) -> Audit:
        """Audit encoded list columns; `audit` reads them from a frame and calls this."""
        # They are those of a release, if ``mapping`` is given; otherwise those of an original. ``threats``
        # lists the published form of the known items of broken rules. If ``why`` is ``rare``, too few rows
        # match, and ``sensitive`` is empty. If ``why`` is ``breach``, too many of the matching rows contain
        # the items in ``sensitive``. For ``AllRules``, only minimal threats are listed. `ParameterError`: if
        # an item of a rule is neither in the mapping nor, without a mapping, in the frame, because a support
        # of 0 would prove nothing; if a sensitive item is a member of a published set; or if, without a
        # mapping, two published sets in a row share a member. Exact. Each listed rule costs the support of
        # its rarest item. For ``AllRules``, time grows with the number of itemsets of fewer than m labels
        # that more than ck rows with the same sensitive item contain, and with the number of items that
        # extend each itemset.
        published = columns.itemsets
        mapping = MappedItems.of_named(self.mapping, self.sensitive)
        is_sensitive = named_labels(published, self.sensitive, mapping)
        if mapping is None:
            refuse_members(published, self.rules.known_items, None, _UNMAPPED)
        if isinstance(self.rules, AllRules):
            return self._recount_all(published, is_sensitive, self.rules)
        antecedents, numbers = self.rules.antecedents()
        known = generalize_itemsets(antecedents, published, self.mapping, "rule")
        # The additional last item is in no row: it stands for labels that no row contains.
        n_items, sensitive = published.n_items + 1, self.rules.sensitive
        rows = SupportIndex(published.codes, published.offsets, n_items, published.weights)
        supports = rows.supports(known.codes, known.offsets)
        # If all known items are suppressed, the row of the person is any row that is not missing.
        supports[known.lengths == 0] = published.n_present
        codes = published.lookup(sensitive.vocabulary)
        codes[codes < 0] = published.n_items
        inferred = ItemsetTable.listed(*canonical_rows(codes[sensitive.codes], sensitive.offsets, n_items))
        broken = self._find_broken(rows, replace(known, supports=supports), numbers, inferred)
        return self._verdict(published, broken)

    def _verdict(self, published: Itemsets, broken: _Broken) -> Audit:
        """Return the audit with the broken rules."""
        at_risk = published.n_present
        if (broken.known.lengths > 0).all():
            at_risk = SupportIndex.of(published).rows_holding(broken.known)
        return Audit(self, at_risk, lambda: broken.table(published))

    def _recount_all(self, published: Itemsets, is_sensitive: Mask, rules: AllRules) -> Audit:
        is_known, some_are_suppressed = self._known_labels(published, is_sensitive, rules)
        rows = SupportIndex.of(published)
        codes = np.flatnonzero(is_sensitive).astype(np.int32)
        each = ItemsetTable.listed(codes, np.arange(len(codes) + 1))
        if some_are_suppressed:  # rules from suppressed items only have an empty known itemset
            nothing = empty_itemset(published.n_present)
            broken = self._find_broken(rows, nothing, np.zeros(len(each), np.int64), each)
            if len(broken.known):
                return self._verdict(published, broken)
        known, secrets = rows.keep_items(is_known), rows.keep_items(is_sensitive)
        breaches = Breaches(known, secrets, self.c, rules.m, self.k)

        def list_threats() -> pd.DataFrame:
            return self._find_broken_pairs(breaches.threats(), rows, each).table(published)

        return Audit(self, int(rows.weights[breaches.rows_at_risk()].sum()), list_threats)

    def _known_labels(self, published: Itemsets, is_sensitive: Mask, rules: AllRules) -> tuple[Mask, bool]:
        """Return whether each label stands for public items, and whether some public items are suppressed."""
        if rules.public is None and self.mapping is None:
            return ~is_sensitive, False
        if rules.public is not None:
            public = rules.public.values
        else:
            items = mapping_values(self.mapping, "item")  # type: ignore[arg-type]
            public = items.filter(pa.array(self.sensitive.find(items) < 0))
        codes = label_codes(public, published, self.mapping)
        if (unknown := int((codes == UNKNOWN).sum())) > 0:
            problem = "a public item does not occur in the data"
            hint = "check the spelling and type of the items; of a release, pass the mapping"
            raise ParameterError(problem, where="rules", got=f"{unknown} of {len(public)} items", hint=hint)
        is_known = mask_at(published.n_items + 1, codes[codes >= 0])
        return is_known[first_copies(published.vocabulary)], bool((codes < 0).any())

    def _find_broken(
        self, rows: SupportIndex, known: ItemsetTable, numbers: Numbers, inferred: ItemsetTable
    ) -> _Broken:
        """Find the known itemsets in too few rows, and the rules with a confidence above c."""
        # A rule leads from the itemset of ``known`` with its number to its itemset of ``inferred``. The
        # supports of ``known`` are given.
        rare = known.take((known.supports > 0) & (known.supports < self.k))
        of_rules = known.take(numbers)
        both = unite_itemsets(of_rules, inferred, rows.n_items)
        supports = rows.supports(both.codes, both.offsets)
        sure = supports * self.c.denominator > self.c.numerator * of_rules.supports
        nothing = empty_itemsets(rare.supports)
        return _Broken(concatenate([rare, of_rules.take(sure)]), concatenate([nothing, inferred.take(sure)]))

    def _find_broken_pairs(self, known: ItemsetTable, rows: SupportIndex, each: ItemsetTable) -> _Broken:
        """Find the broken rules from each known itemset to each sensitive item, in parts."""
        step = max(_AT_A_TIME // max(len(each), 1), 1)
        bounds = range(step, len(known), step)
        parts = [known.take(numbers) for numbers in np.split(np.arange(len(known)), bounds)]
        found = []
        for part in parts:
            numbers, items = np.divmod(np.arange(len(part) * len(each)), len(each))
            found.append(self._find_broken(rows, part, numbers, each.take(items)))
        inferred = concatenate([broken.inferred for broken in found])
        return _Broken(concatenate([broken.known for broken in found]), inferred)

    def __repr__(self) -> str:
        rules = len(self.rules) if isinstance(self.rules, Rules) else self.rules
        return f"PSRules(rules={rules}, k={self.k}, c={format_share(self.c)})"


@frozen
class _Broken:
    """Broken rules in their published form; ``inferred`` is empty if too few rows match the known items."""

    known: ItemsetTable
    inferred: ItemsetTable

    def table(self, published: Itemsets) -> pd.DataFrame:
        """Return the distinct rules as a DataFrame, ordered by known itemset, then by inferred items."""
        ranks = _ranks(self.known) * (len(self.known) + 1) + _ranks(self.inferred)
        order = np.unique(ranks, return_index=True)[1]
        known, inferred = self.known.take(order), self.inferred.take(order)
        table = threat_table(published, known, np.where(inferred.lengths == 0, "rare", "breach"))
        table.insert(1, "sensitive", pd.Series(inferred.to_rows(published.vocabulary).to_pandas()))
        return table


def _ranks(table: ItemsetTable) -> Numbers:
    """Return the rank of each itemset by size, then by codes; equal itemsets have equal ranks."""
    order = replace(table, supports=np.arange(len(table))).ordered().supports
    return inverse_order(order)[first_equal_rows(table.codes, table.offsets)]


# --- Rules as data

_HINT = (
    "pass pairs of lists, such as [(['rice'], ['flu'])], or a DataFrame with the list columns known and "
    "sensitive; or the path of such a .parquet file, of a .csv file with these columns and the separator "
    "';', or of a .toml file with m and sensitive, for all rules from m other items to a sensitive item"
)


@frozen
class Rules:
    """Listed rules from known items to sensitive items, without implied rules."""

    # A rule is implied by a rule with the same known items and a subset of its sensitive items: all of them
    # are in no more rows than some of them. Rules with other known items imply nothing, because more known
    # items may match fewer rows, with a higher confidence.

    known: Itemsets  # of each rule
    sensitive: Itemsets  # of each rule
    known_items: NamedItems  # with the number of the first rule that contains each
    sensitive_items: NamedItems
    n_given: int  # number of rules with the implied ones

    def __len__(self) -> int:
        return self.known.n_rows

    def antecedents(self) -> tuple[Itemsets, Numbers]:
        """Return the distinct sets of known items, in order, and the number of the set of each rule."""
        # Rules with the same known items are represented by the first of them.
        first = first_equal_rows(self.known.codes, self.known.offsets)
        distinct, numbers = np.unique(first, return_inverse=True)
        return self.known.take(distinct), numbers.astype(np.int64)

    def to_frame(self) -> pd.DataFrame:
        """Return the rules as a table with the list columns ``known`` and ``sensitive``."""
        return pd.DataFrame({"known": self.known.to_pandas(), "sensitive": self.sensitive.to_pandas()})

    def __repr__(self) -> str:
        implied = self.n_given - len(self)
        return f"Rules({len(self)}{f', {implied} more are implied' if implied else ''})"


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class AllRules:
    """A placeholder for all rules from 1 to m public items to one sensitive item.

    Parameters
    ----------
    m : int or None
        Maximum number of known items of a rule; at least 1. None: any.
    sensitive : list of items, or Series of bool
        The sensitive items, or whether an item is sensitive, by item.
    public : list of items, or Series of bool, optional
        The items that may be known. By default all other items of the data.

    Raises
    ------
    ParameterError, ItemsetDtypeError
        If m is out of range, there is no sensitive or no public item, an item is both, or they are of several
        types.

    Examples
    --------
    >>> import pdanon
    >>> every = pdanon.constraints.AllRules(2, ["flu"], ["rice", "tea", "salt"])
    >>> every, len(every)
    (AllRules(m=2, public=3 items, sensitive=1 items), 6)
    >>> every.to_frame().tail(2)
                 known sensitive
    4  ['rice' 'tea']   ['flu']
    5  ['salt' 'tea']   ['flu']
    """

    m: int | None
    sensitive: Any
    public: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "m", check_m(self.m))
        object.__setattr__(self, "sensitive", NamedItems.some(self.sensitive, "sensitive"))
        if self.public is not None:
            object.__setattr__(self, "public", NamedItems.some(self.public, "public"))
            if both := int((self.public.find(self.sensitive.values) >= 0).sum()):
                problem = "an item is both public and sensitive"
                hint = "remove it from public= or from sensitive="
                raise ParameterError(problem, where="public", got=f"{both} items", hint=hint)
        if self.sensitive.ranges or self.known_items.ranges:
            hint = "create the rules with pdanon.constraints.ps_rules(frame, public, sensitive, m)"
            problem = "which rules a range stands for depends on the data"
            raise ParameterError(problem, where="rules", hint=hint)

    def __len__(self) -> int:
        if self.public is None:
            hint = "create the rules with pdanon.constraints.ps_rules(frame, public, sensitive, m)"
            problem = "the number of public items depends on the data"
            raise ParameterError(problem, where="public", hint=hint)
        n, count = len(self.public), 0
        for size in self._sizes():
            count += len(self.sensitive) * comb(n, size)
            if count >= 2**63:  # the sum over all sizes would take minutes
                raise ParameterError("too many rules to count", where="m", got=f"{n} public items")
        return count

    @property
    def known_items(self) -> NamedItems:
        """The listed public items; empty if all other items are public."""
        return NamedItems.of([] if self.public is None else self.public, "known")

    @property
    def sensitive_items(self) -> NamedItems:
        """The sensitive items of all rules."""
        return self.sensitive

    def to_frame(self) -> pd.DataFrame:
        """Return the rules as a table with the list columns ``known`` and ``sensitive``, if it fits."""
        return self.listed().to_frame()

    def listed(self) -> Rules:
        """List the rules, by the number of known items, then in their order."""
        count = len(self)
        check_size(count, f"{len(self.public):,} public and {len(self.sensitive):,} sensitive items", "m")
        items = range(len(self.public))
        sizes = [(size, np.dtype((np.int32, (size,)))) for size in self._sizes()]
        known = from_matrices([np.fromiter(combinations(items, size), kind) for size, kind in sizes])
        each = np.tile(np.arange(len(self.sensitive), dtype=np.int32), len(known))
        known = known.take(np.repeat(np.arange(len(known)), len(self.sensitive)))
        inferred = ItemsetTable(each, np.arange(count + 1), known.supports)
        return Rules(
            known.to_rows(self.public.values),
            inferred.to_rows(self.sensitive.values),
            self.public,
            self.sensitive,
            count,
        )

    def _sizes(self) -> range:
        """Return the possible numbers of known items."""
        n = len(self.public)
        return range(1, (n if self.m is None else min(self.m, n)) + 1)

    def __repr__(self) -> str:
        public = "all others" if self.public is None else repr(self.public)
        return f"AllRules(m={self.m}, public={public}, sensitive={self.sensitive!r})"


@takes_tables
def ps_rules(
    frame: pd.DataFrame, public: Any, sensitive: Any, m: ItemLimit, column: Hashable | None = None
) -> AllRules:
    """Return a placeholder for all rules from 1 to m public items of a frame to one sensitive item.

    Parameters
    ----------
    frame : pandas.DataFrame
        The frame to be anonymized.
    public, sensitive, m : list of items or Series of bool, list of items or Series of bool, int or None
        As in `AllRules`. If ``public`` is None, all items of the frame that are not sensitive may be known.
    column : hashable, optional
        The list column. By default the only one.

    Returns
    -------
    AllRules
        Pass it as ``rules=``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the column or m is invalid, an item does not occur or is both public and sensitive,
        or there is no public or no sensitive item.

    Notes
    -----
    Known itemsets in no row are included, because merging items can make them occur. The rules cover the
    items of this frame only; `AllRules` without ``public`` covers all items of any data.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea", "flu"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> every = pdanon.constraints.ps_rules(df, None, ["flu"], 2)
    >>> every, len(every)
    (AllRules(m=2, public=3 items, sensitive=1 items), 6)
    """
    itemsets = Itemsets.from_series(list_column(frame, column))
    is_sensitive = named_items(itemsets, NamedItems.some(sensitive, "sensitive"))
    is_public = ~is_sensitive
    if public is not None:
        is_public = named_items(itemsets, NamedItems.some(public, "public"))
    return AllRules(
        check_m(m), *(itemsets.vocabulary.filter(pa.array(mask)) for mask in (is_sensitive, is_public))
    )


def read_rules(rules: Any) -> Rules | AllRules:
    """Read ``rules=`` in the forms that `PSRules` lists; keep their order, without implied rules."""
    if isinstance(rules, (Rules, AllRules)):
        return rules
    if isinstance(rules, (str, os.PathLike)):
        rules = _read_file(check_path(rules, "rules"))
    if isinstance(rules, Mapping):
        return _all_rules(rules)
    sides = rule_sides(rules, ("known", "sensitive"), _HINT)
    if any(isinstance(each, (str, bytes)) for side in sides if isinstance(side, list) for each in side):
        raise ItemsetDtypeError("a side of a rule is a list of items", where="rules", hint=_HINT)
    known, sensitive = (Itemsets.from_series(as_itemsets(side)) for side in sides)
    empty = int(((known.lengths == 0) | (sensitive.lengths == 0)).sum())
    if empty or not known.n_rows:
        problem = "a rule needs at least one known and one sensitive item"
        got = f"{empty} of {known.n_rows} rules lack a side" if empty else "no rules"
        raise ParameterError(problem, where="rules", got=got, hint=_HINT)
    within = known.lookup(sensitive.vocabulary)
    both = within[within >= 0]
    if len(both):
        among = np.unique(known.rows[np.isin(known.codes, both)])
        problem = "a sensitive item is among the known items of a rule"
        got = f"{len(both)} items, in {len(among)} of {known.n_rows} rules"
        hint = "remove the item from one of the sides, in all rules"
        raise ParameterError(problem, where=f"rules, rule {among[0]}", got=got, hint=hint)
    kept = _find_needed(known, sensitive)
    items = (_first_rules("known", known), _first_rules("sensitive", sensitive))
    return Rules(known.take(kept), sensitive.take(kept), *items, known.n_rows)


def _first_rules(name: str, side: Itemsets) -> NamedItems:
    """Return the items of one side of the rules, with the number of the first rule that contains them."""
    first = np.unique(side.codes, return_index=True)[1]
    return NamedItems(name, side.vocabulary, side.rows[first], "rule")


def _read_file(path: str) -> pd.DataFrame | dict[str, Any]:
    """Return the table of a file, or the parameters in a TOML file."""
    if path.lower().endswith(".parquet"):
        return read_parquet(path)
    if path.lower().endswith(".toml"):
        return read_safely(lambda: tomllib.loads(Path(path).read_bytes().decode()), path, "TOML")
    if not path.lower().endswith(".csv"):
        raise ParameterError("rules are read from .parquet, .csv and .toml files", where="rules", hint=_HINT)
    frame = read_csv(path, column="known", separator=";")
    if "sensitive" not in frame:
        raise ColumnError("the rules lack a column", where=path, got="no column 'sensitive'", hint=_HINT)
    joined = pa.array(frame["sensitive"], pa.large_string())
    split = pc.split_pattern(pc.if_else(pc.equal(joined, ""), None, joined), ";")
    return frame.assign(sensitive=Itemsets.from_arrow(split).to_pandas())


def _all_rules(given: Mapping[str, Any]) -> AllRules:
    known = {"m", "sensitive", "public"}
    if not {"m", "sensitive"} <= given.keys() <= known:
        got = f"{len(given.keys() - known)} other keys; without {sorted({'m', 'sensitive'} - given.keys())}"
        hint = "pass m = 2 and sensitive = ['flu']; and public = [...], unless all other items may be known"
        raise ParameterError("all rules of a size need m and sensitive", where="rules", got=got, hint=hint)
    m = None if given["m"] == "all" else given["m"]
    return AllRules(m, given["sensitive"], given.get("public"))


def _find_needed(known: Itemsets, sensitive: Itemsets) -> Numbers:
    """Find the rules that no other rule implies."""
    # Each rule is encoded as an itemset: its sensitive items, and an additional code for its set of known
    # items. The minimal itemsets are the needed rules.
    antecedent = first_equal_rows(known.codes, known.offsets)
    ends = sensitive.offsets[1:]
    codes = np.insert(sensitive.codes, ends, (sensitive.n_items + antecedent).astype(np.int32))
    rules = ItemsetTable(codes, offsets_of(sensitive.lengths + 1), np.arange(known.n_rows))
    return np.sort(minimal_sets(rules.distinct()).supports)
