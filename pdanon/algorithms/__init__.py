"""Algorithms for items, for quasi-identifiers, and for both."""

__all__ = [
    "choice",
    "engines",
    "items",
    "refinement",
    "registry",
    "relational",
    "rt",
    "states",
    "weights",
]
