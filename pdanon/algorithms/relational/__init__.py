"""Relational quasi-identifiers: encoding, classes, and the algorithms that form them.

``encoding`` is the door in: columns become ``attributes``, of which ``ranges`` is one kind, and ``cells``
what they share. ``quasi`` has the table and its classes, ``publishing`` is the door out; ``digests`` and
``suppression`` are for several algorithms. Each other file is one: a public function, the decision that it
applies, and its record, which has both.
"""

from __future__ import annotations

from pdanon.algorithms.registry import register
from pdanon.algorithms.relational import cluster, full_subtree, incognito, k_member, mondrian, top_down

__all__: list[str] = []

# In the order in which they are listed.
_FILES = (cluster, k_member, mondrian, top_down, incognito, full_subtree)
register(*(each.RECORD for each in _FILES))
