"""HTML reports: a report of a release for others, and a confidential profile of a raw table."""

from pdanon.evaluation.report.release_report import render, write_report

__all__ = ["render", "write_report"]
