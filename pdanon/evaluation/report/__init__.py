"""Pages: one that shows a release to others, and a first look at a raw table, which stays where it is."""

from pdanon.evaluation.report.release_report import render, write_report

__all__ = ["render", "write_report"]
