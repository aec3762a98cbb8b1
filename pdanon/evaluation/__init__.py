"""Evaluation of releases: measures, attacks, comparisons, explanations, plots and reports."""

from pdanon.evaluation.evidence import write_evidence
from pdanon.evaluation.explain import explain
from pdanon.evaluation.matches import meets
from pdanon.evaluation.plotting import Plots
from pdanon.evaluation.report import write_report
from pdanon.recoding.labels import relabel
from pdanon.recoding.result import Views

__all__ = ["Plots", "explain", "meets", "write_evidence", "write_report"]

Views.plot, Views.explain, Views.meets = Plots, explain, meets
Views.report, Views.evidence, Views.relabel = write_report, write_evidence, relabel
