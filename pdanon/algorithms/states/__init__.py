"""States of algorithms: clusters, cuts and rules that change step by step, and the searches over them."""

__all__ = [
    "clusters",
    "cuts",
    "rules",
    "sets_search",
]
