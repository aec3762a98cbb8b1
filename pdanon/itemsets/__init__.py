"""List columns as integer codes, supports of itemsets, and what all rooms share."""

from pdanon.itemsets.codes import Itemsets, as_itemsets
from pdanon.itemsets.encoded_columns import ListColumns
from pdanon.itemsets.support import ItemsetTable, SupportIndex

__all__ = ["ItemsetTable", "Itemsets", "ListColumns", "SupportIndex", "as_itemsets"]
