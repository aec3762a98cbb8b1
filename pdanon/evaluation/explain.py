"""Explanations: why an item of the original is not published as it is."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.algorithms.refinement import refine
from pdanon.algorithms.registry import algorithm, parameters_of
from pdanon.errors import ItemsetDtypeError, ParameterError, ReleaseWarning
from pdanon.guarantees import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.km import threat_table
from pdanon.guarantees.parameters import constraint_table
from pdanon.guarantees.verdict import facts
from pdanon.hierarchy import Hierarchy
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import with_column
from pdanon.itemsets.compatibility import number_texts
from pdanon.itemsets.lists import offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.table import ItemsetTable, no_itemsets
from pdanon.recoding.counts import percent
from pdanon.recoding.original import labels_of, recoded_column
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["Explanation", "explain"]


@dataclass(frozen=True, eq=False, slots=True, repr=False)
class Explanation:
    """Why an item was generalized or suppressed. It is about the original, and is not to be published.

    Parameters
    ----------
    item : object
        The item, as it was asked for.
    became : str or None
        The label that it is published as; None if it was suppressed.
    kept : bool
        Whether that is the item itself.
    k : int
        The k of the release.
    threats : pandas.DataFrame
        The minimal threats of the original that hold the item: ``itemset, support``. These are the itemsets
        of up to m items that are in fewer than k rows and have no such subset; with ``m=None`` the rows that
        fewer than k rows contain; or the constraints that fewer than k rows hold.
    exposed : pandas.DataFrame
        The threats there would be in the release if the item left its set, were published although it was
        suppressed, or if its node were replaced by the children: ``itemset`` of published labels, and
        ``support``. Empty if that would be safe.
    k_alone : int or None
        The largest k, up to that of the release, at which no itemset that holds the item is rare. None if
        there is none from 2 on.
    loss : pandas.Series
        What the release loses.
    loss_then : pandas.Series or None
        What the same algorithm with the same parameters loses with ``k_alone``. None if there is no
        ``k_alone``, or it is that of the release.
    """

    item: Any
    became: str | None
    kept: bool
    k: int
    threats: pd.DataFrame
    exposed: pd.DataFrame
    k_alone: int | None
    loss: pd.Series[float]
    loss_then: pd.Series[float] | None

    def __repr__(self) -> str:
        return "\n".join(["Explanation", *(f"  {name:<10} {text}" for name, text in self._lines())])

    def _repr_html_(self) -> str:
        return facts("Explanation", self._lines())

    def _lines(self) -> Iterator[tuple[str, str]]:
        """Names and counts; no text of an item."""
        yield "item", "kept" if self.kept else "suppressed" if self.became is None else "generalized"
        yield "threats", f"{len(self.threats)} that hold it{_rarest(self.threats)}; k={self.k}"
        if not self.kept:
            yield "exposed", f"{len(self.exposed)} if it were not{_rarest(self.exposed)}"
        yield "alone", self._alone()

    def _alone(self) -> str:
        """Up to which k no itemset that holds the item is rare, and what that k would cost."""
        if self.k_alone is None:
            return "at no k of 2 and more"
        if self.loss_then is None:
            return f"at k={self.k}: nothing that holds it is rare"
        then, now = (percent(each["occurrences"]) for each in (self.loss_then, self.loss))
        return f"up to k={self.k_alone}, where {then} of the occurrences change, now {now}"


def _rarest(threats: pd.DataFrame) -> str:
    if not len(threats):
        return ""
    least = int(threats["support"].min())
    return f", the rarest in {least} row{'s' if least > 1 else ''}"


def explain(result: Anonymized, item: Any, original: pd.DataFrame) -> Explanation:
    """Explain what became of an item; see `Anonymized.explain`."""
    guarantee = _explained(result)
    position = recoded_column(original, result)
    itemsets = Itemsets.from_series(original.iloc[:, position])
    labels = labels_of(result, itemsets)
    code = _code(item, itemsets)
    threats, rarest = _threats(itemsets, code, guarantee)
    k_alone = min(rarest, guarantee.k)
    became = labels[code].as_py()
    split = _split(itemsets, labels, code, result)
    return Explanation(
        item=item,
        became=became,
        kept=became == itemsets.texts()[code],
        k=guarantee.k,
        threats=threat_table(itemsets, threats, "rare")[["itemset", "support"]],
        exposed=_exposed(original, position, itemsets, split, guarantee),
        k_alone=k_alone if k_alone >= 2 else None,
        loss=result.loss,
        loss_then=_loss_at(k_alone, original, position, result) if 2 <= k_alone < guarantee.k else None,
    )


def _explained(result: Anonymized) -> KmAnonymity | PrivacyConstraints:
    """The guarantee of a result that can be explained item by item."""
    if not isinstance(result.guarantee, (KmAnonymity, PrivacyConstraints)):
        hint = "those with the guarantee KmAnonymity or PrivacyConstraints can be"
        got = type(result.guarantee).__name__
        raise ParameterError("this release cannot be explained", where="result", got=got, hint=hint)
    if result.groups is not None:
        hint = "mapping says what an item became in each group; ask of a result of pcta, apriori, ..."
        raise ParameterError("a local recoding has no one answer for an item", where="result", hint=hint)
    return result.guarantee


def _code(item: Any, itemsets: Itemsets) -> int:
    code = -1
    with suppress(ItemsetDtypeError):  # its text may show the item
        code = int(itemsets.lookup([item])[0])
    if code < 0:
        hint = "give one item as it is in the original; check its spelling and type"
        raise ParameterError("the item does not occur", where="item", got=type(item).__name__, hint=hint)
    return code


# --- Why it was changed


def _threats(
    itemsets: Itemsets, code: int, guarantee: KmAnonymity | PrivacyConstraints
) -> tuple[ItemsetTable, int]:
    """The minimal threats that hold an item, and the least support of an itemset that does."""
    index = SupportIndex.of(itemsets)
    if isinstance(guarantee, PrivacyConstraints):
        return _broken(constraint_table(guarantee.constraints, itemsets), code, guarantee.k, index)
    held = index.within(index.contains_any(_alone(code)))
    if guarantee.m is None:
        rows = held.distinct()
        return held.rare_rows(guarantee.k), int(rows.supports(rows.codes, rows.offsets).min())
    return _rare(code, guarantee.k, guarantee.m, index, held)


def _alone(code: int, support: int = 0) -> ItemsetTable:
    """The itemset of one item."""
    return ItemsetTable(np.array([code], np.int32), np.array([0, 1]), np.array([support]))


def _broken(constraints: ItemsetTable, code: int, k: int, index: SupportIndex) -> tuple[ItemsetTable, int]:
    """As `_threats`, of the constraints that hold an item."""
    each = SupportIndex(constraints.codes, constraints.offsets, index.n_items).distinct()
    each = each.within(each.contains_any(_alone(code)))
    table = ItemsetTable(each.codes, each.offsets, index.supports(each.codes, each.offsets))
    table = table.take(table.supports > 0)
    return table.take(table.supports < k).ordered(), int(table.supports.min(initial=k))


def _rare(code: int, k: int, m: int, index: SupportIndex, held: SupportIndex) -> tuple[ItemsetTable, int]:
    """As `_threats`, of itemsets of up to m items.

    Among the rows that hold the item, an itemset of others has the support of both together. It is a minimal
    threat with the item if it is a minimal one in these rows, and is not rare itself.
    """
    support = int(index.singles[code])
    beside = held.keep_items(np.arange(index.n_items) != code)
    if support < k or m == 1:
        found = _alone(code, support).take(np.array([support < k]))
    else:
        others = beside.rare(k, m - 1)
        found = _with(code, others.take(index.supports(others.codes, others.offsets) >= k))
    return found, _least(beside, m - 1, min(support, k))


def _with(code: int, others: ItemsetTable) -> ItemsetTable:
    """Some itemsets with one more item each."""
    n_sets, sizes = len(others), np.diff(others.offsets)
    sets = np.append(np.repeat(np.arange(n_sets), sizes), np.arange(n_sets))
    codes = np.append(others.codes, np.full(n_sets, code, np.int32))
    codes = codes[np.lexsort((codes, sets))]
    offsets = offsets_of(sizes + 1)
    return ItemsetTable(codes, offsets, others.supports).ordered()


def _least(rows: SupportIndex, m: int, most: int) -> int:
    """The least support of an itemset of up to m items that occurs, if it is below ``most``."""
    low, high = 1, most
    while m and low < high:
        middle = (low + high + 1) // 2
        if rows.at_risk(middle, m).any():
            high = middle - 1
        else:
            low = middle
    return high


# --- What would be if it were not


def _split(itemsets: Itemsets, labels: pa.StringArray, code: int, result: Anonymized) -> Recoding | None:
    """The release with less done to an item; None where nothing was done to it."""
    hierarchy = result.parameters.get("hierarchy")
    texts = itemsets.texts()
    if labels[code].as_py() == texts[code]:
        return None
    if hierarchy is None:
        clusters = number_texts(labels)
        clusters[code] = clusters.max() + 1
        return Recoding.of_clusters(clusters.astype(np.int32), itemsets)
    tree, leaves = Hierarchy.over(hierarchy, itemsets.vocabulary)
    number = {label: node for node, label in enumerate(tree.labels)}
    nodes = np.array([number.get(label, -1) for label in labels.to_pylist()], np.int32)
    below = (nodes <= leaves) & (leaves < nodes + tree.size[nodes])  # nodes are in pre-order
    if not np.where(nodes < 0, labels.is_null().to_numpy(zero_copy_only=False), below).all():
        hint = "it has changed since; explain with what the release was made from"
        raise ParameterError("the hierarchy is not that of the release", where="hierarchy", hint=hint)
    if nodes[code] < 0:
        nodes[code] = leaves[code]
    else:
        for each in np.flatnonzero(nodes == nodes[code]).tolist():
            nodes[each] = _child(tree, int(nodes[each]), int(leaves[each]))
    return Recoding.of_cut(nodes, tree)


def _child(tree: Hierarchy, node: int, leaf: int) -> int:
    """The child of a node that a leaf is below; a leaf is its own."""
    path = tree.ancestors_of(leaf).tolist()
    return int(path[max(path.index(node) - 1, 0)])


def _exposed(
    original: pd.DataFrame,
    position: int,
    itemsets: Itemsets,
    split: Recoding | None,
    guarantee: KmAnonymity | PrivacyConstraints,
) -> pd.DataFrame:
    """What an audit of the release with less done to an item finds."""
    if split is None:
        nothing = no_itemsets()
        return threat_table(itemsets, nothing, "rare")[["itemset", "support"]]
    frame = with_column(original, position, split.apply(itemsets).to_pandas())
    audited = guarantee.with_mapping(mapping_table(itemsets, split))
    return audited.audit(frame, original.columns[position]).threats[["itemset", "support"]]


def _loss_at(k: int, original: pd.DataFrame, position: int, result: Anonymized) -> pd.Series[float]:
    """What the same algorithm with the same parameters loses with another k."""
    asked = result.parameters | {"k": k}
    function = algorithm(asked["algorithm"])
    refined = "refine_loss" in asked  # by pdanon.refine
    if refined:
        del asked["refine"]
    given = {name: asked[name] for name in parameters_of(function) if name in asked}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReleaseWarning)  # nothing is released here
        made = function(original, original.columns[position], **given)
        if refined:
            how = {name: asked[f"refine_{name}"] for name in ("loss", "time_limit", "random_state")}
            made = refine(original, made, **how)
    return made.loss
