"""Tables with quasi-identifiers beyond memory: regions of similar rows, which are anonymized apart."""

from pdanon.algorithms.regions.region_release import ReleasedTable, decide_table

__all__ = ["ReleasedTable", "decide_table"]
