"""Items move between the sets of a release, and sets are parted.

The algorithms that merge items into sets never part what they have merged. Here that is tried, as long as it
loses less and the guarantee stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc
from numpy.typing import NDArray

from pdanon.algorithms.refinement.task import Task
from pdanon.algorithms.states.rules import rules_of
from pdanon.algorithms.states.rules_search import ProtectedSets
from pdanon.algorithms.states.sets_price import LOSSES, Price
from pdanon.algorithms.states.sets_search import KINDS, Refinement
from pdanon.errors import ParameterError
from pdanon.guarantees import PSRules
from pdanon.guarantees.utility import check_release, item_blocks
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import to_numpy
from pdanon.itemsets.values import check_known
from pdanon.itemsets.versions import numbers_of
from pdanon.recoding.labels import relabelled_sets
from pdanon.recoding.original import labels_of
from pdanon.recoding.recoding import Recoding
from pdanon.recoding.result import Anonymized

__all__ = ["check_loss", "refined_sets"]


def refined_sets(task: Task) -> Anonymized:
    """Refine a global recoding to sets; parameters as those of `pdanon.refine`, checked."""
    itemsets, result = task.itemsets, task.result
    labels = _clusters_of(task, itemsets)
    utility = result.parameters.get("utility")
    blocks = item_blocks(utility, itemsets)
    search: Refinement | ProtectedSets
    if isinstance(result.guarantee, PSRules):
        search = _of_rules(task, result.guarantee, itemsets, labels)
    else:
        search = Refinement(itemsets, labels, result.guarantee, blocks, task.asked["loss"], task.started)
    cut_short = task.run(search)
    recoding = Recoding.of_clusters(search.best.astype(np.int32), itemsets)
    refined = task.released(itemsets, recoding, search.trace, cut_short)
    check_release(refined.mapping, utility, int((labels < 0).sum()))
    return refined


def _of_rules(task: Task, guarantee: PSRules, itemsets: Itemsets, labels: NDArray[np.int64]) -> ProtectedSets:
    rules = rules_of(guarantee, itemsets)
    price = Price.of(task.asked["loss"], itemsets, rules.index.singles, rules.index.n_rows)
    return ProtectedSets(rules, labels, price, task.started)


def check_loss(loss: Any) -> None:
    """Check that a loss is one that can be lowered: a name, or weights of items."""
    if not isinstance(loss, (Mapping, pd.Series)):
        check_known(loss, LOSSES, "loss that refine can lower", where="loss")


def _clusters_of(task: Task, itemsets: Itemsets) -> NDArray[np.int64]:
    """The cluster of each item, -1 if it is suppressed, read from the mapping table."""
    texts = labels_of(task.result, itemsets)
    labels = numbers_of(texts)
    sets = Recoding.of_clusters(labels.astype(np.int32), itemsets)
    sets = relabelled_sets(sets, itemsets, task.labels)
    target = pc.index_in(texts.dictionary.cast(sets.labels.type), value_set=sets.labels).fill_null(-2)
    if not np.array_equal(np.append(to_numpy(target), -1)[labels], sets.targets):
        raise ParameterError("the release is not one of sets", where="result", hint=KINDS)
    return labels
