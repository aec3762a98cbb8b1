"""What becomes of each item, the one door out, and what comes back."""

from pdanon.recoding.decision import Decided
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["Anonymized", "Decided", "Recoding", "mapping_table"]
