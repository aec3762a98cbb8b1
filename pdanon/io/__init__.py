"""Files: Parquet and CSV, written whole or not at all; trees of files; synthetic tables."""

from pdanon.io.datasets import make_baskets
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.text import read_csv, to_csv
from pdanon.io.trees import ParquetTree

__all__ = ["ParquetTree", "make_baskets", "read_csv", "read_parquet", "to_csv", "to_parquet"]
