"""Relational quasi-identifiers: encoding, classes, and the algorithms that form them.

``attributes`` and ``quasi`` are the door in, ``release`` is the door out, and each other file is one
algorithm: a public function, and the decision that it applies, which is in FORMATIONS by the same name.
"""

from __future__ import annotations

from collections.abc import Callable

from pdanon.algorithms.relational.cluster import cluster, form_clusters
from pdanon.algorithms.relational.full_subtree import full_subtree, raise_groups
from pdanon.algorithms.relational.incognito import choose_levels, incognito
from pdanon.algorithms.relational.k_member import grow_members, k_member
from pdanon.algorithms.relational.mondrian import cut_boxes, mondrian
from pdanon.algorithms.relational.quasi import Formation
from pdanon.algorithms.relational.top_down import specialize, top_down
from pdanon.recoding.result import Anonymized

__all__ = ["FORMATIONS", "RELATIONAL"]

_ALGORITHMS: tuple[tuple[Callable[..., Anonymized], Formation], ...] = (
    (cluster, form_clusters),
    (k_member, grow_members),
    (mondrian, cut_boxes),
    (top_down, specialize),
    (incognito, choose_levels),
    (full_subtree, raise_groups),
)

RELATIONAL: dict[str, Callable[..., Anonymized]] = {each.__name__: each for each, _ in _ALGORITHMS}
FORMATIONS: dict[str, Formation] = {each.__name__: decide for each, decide in _ALGORITHMS}
