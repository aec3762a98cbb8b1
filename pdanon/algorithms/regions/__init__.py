"""Tables with quasi-identifiers beyond memory: regions of similar rows, which are anonymized apart.

Rows are numbers of values and items, on disk or on the workers of a cluster. A histogram of the
quasi-identifiers is in memory. It gives the regions. Each is decided by the code for blocks in memory, with
the values and items of the whole table.
"""

from pdanon.algorithms.regions.region_release import ReleasedTable, decide_table

__all__ = ["ReleasedTable", "decide_table"]
