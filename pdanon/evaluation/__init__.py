"""Evaluation of releases: measures, attacks, comparisons, explanations, plots and reports."""

from pdanon.evaluation.evidence.page import write_evidence
from pdanon.evaluation.explain import explain
from pdanon.evaluation.plotting import Plots
from pdanon.evaluation.report.release_report import write_report
from pdanon.recoding.result import add_views

__all__ = ["Plots", "explain", "write_evidence", "write_report"]

add_views(plot=Plots, report=write_report, evidence=write_evidence, explain=explain)
