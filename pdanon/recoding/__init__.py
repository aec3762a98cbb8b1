"""What becomes of each item, the one door out, and what comes back."""

from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["Anonymized", "Recoding", "mapping_table"]
