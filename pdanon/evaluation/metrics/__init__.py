"""Measures of the information loss and the risk of a release."""

from pdanon.evaluation.metrics import (
    disclosure,
    equivalence_classes as classes,
    group_reconstruction as reconstruction,
    meaning,
    patterns,
)

__all__ = ["classes", "disclosure", "meaning", "patterns", "reconstruction"]
