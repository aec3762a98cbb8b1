"""Measures of what a release loses and what it risks."""

__all__ = [
    "attack",
    "classes",
    "conditions",
    "cover",
    "draws",
    "estimates",
    "mining",
    "patterns",
    "queries",
    "risk",
]
