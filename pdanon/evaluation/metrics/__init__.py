"""Measures of the information loss and the risk of a release."""

from pdanon.evaluation.metrics import equivalence_classes as classes
from pdanon.evaluation.metrics import group_reconstruction as reconstruction
from pdanon.evaluation.metrics import patterns

__all__ = ["classes", "patterns", "reconstruction"]
