"""Algorithms: what decides what becomes of items, of quasi-identifiers, and of both."""

__all__ = [
    "calling",
    "choice",
    "engines",
    "items",
    "progress",
    "record",
    "refinement",
    "registry",
    "relational",
    "rt",
    "states",
    "weights",
    "workers",
]
