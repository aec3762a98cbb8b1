"""How many examples a property is tried on: some in the fast tests, all with ``PDANON_EXAMPLES=all``."""

from __future__ import annotations

import os

ALL = os.environ.get("PDANON_EXAMPLES") == "all"


def examples(number: int) -> int:
    """So many, or a part of them."""
    return number if ALL else max(number // 5, 10)
