"""A page that shows a release to others."""

from pdanon.evaluation.report.page import render, write_report

__all__ = ["render", "write_report"]
