"""Algorithms: what decides what becomes of items, of quasi-identifiers, and of both."""

__all__ = [
    "choice",
    "decision",
    "items",
    "progress",
    "refinement",
    "registry",
    "relational",
    "rt",
    "states",
    "weights",
    "workers",
]
