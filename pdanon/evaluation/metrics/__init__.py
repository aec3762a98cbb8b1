"""Measures of what a release loses and what it risks."""

from pdanon.evaluation.metrics import classes, patterns, reconstruction

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
    "reconstruction",
    "risk",
]
