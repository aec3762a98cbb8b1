"""Evaluation of releases: measures, attacks, comparisons, explanations, plots and reports."""

from pdanon.evaluation.explain import explain
from pdanon.evaluation.plotting import Plots
from pdanon.evaluation.report.release_report import write_report
from pdanon.recoding.result import add_views

__all__ = ["Plots", "explain", "write_report"]

add_views(plot=Plots, report=write_report, explain=explain)
