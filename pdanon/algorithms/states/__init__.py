"""States of algorithms: clusters, cuts and rules that change step by step, and the searches over them."""

__all__ = [
    "clusters",
    "cuts",
    "cuts_search",
    "diverse_sets",
    "rules",
    "sets_search",
    "timed_search",
]
