"""States of a decision: what changes step by step until it is safe, or until nothing loses less."""

__all__ = [
    "clusters",
    "cuts",
    "cuts_search",
    "descent",
    "groups_search",
    "leaf_rows",
    "moles",
    "packing",
    "sets_search",
    "solver",
    "trace",
]
