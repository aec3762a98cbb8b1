"""The path from a decision about items to a released and audited table."""

from pdanon.recoding.decision import Decision, ListRows, decide_lists
from pdanon.recoding.recoding import Recoding, mapping_table
from pdanon.recoding.result import Anonymized

__all__ = ["Anonymized", "Decision", "ListRows", "Recoding", "decide_lists", "mapping_table"]
