"""Evidence of a release: its facts as JSON and as a page, and their replay from the files of the release."""

from pdanon.evaluation.evidence.page import write_evidence
from pdanon.evaluation.evidence.verification import verify

__all__ = ["verify", "write_evidence"]
