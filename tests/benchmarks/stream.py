"""Streaming: time and memory for a million baskets, and each pass beside reading or copying.

What ten and fifty million take is measured by `docs/scripts/growth.py`.
"""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pdanon.datasets
import pyarrow as pa
import pyarrow.parquet as pq

from pdanon.algorithms.engines import Recoder
from pdanon.io.trees import ParquetTree
from pdanon.itemsets.encoded_columns import ListColumns, collapse_columns
from pdanon.itemsets.support import SupportIndex
from pdanon.stream.list_files import recode_files
from tests.benchmarks.measure import PEAK, Figure, fresh_process, itemsets, ratio, seconds

ROWS = 1_000_000  # of a row group
LONGEST, MOST = 20, 2  # seconds and GB


def figures() -> Iterator[Figure]:
    baskets = itemsets("bms_webview1")
    distinct = collapse_columns([[baskets]], 1).itemsets
    shares = (
        f"{distinct.n_rows:,} of {baskets.n_rows:,} rows, {len(distinct.codes):,} of {len(baskets.codes):,}"
    )
    yield Figure("distinct transactions, BMS-WebView-1", "", None, f"{shares} occurrences", "", None)
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        yield from whole(directory)
        yield generating()
        yield recoding(directory)
        yield counting(directory)


def whole(directory: Path) -> Iterator[Figure]:
    """From files to audited files, in a process of its own."""
    source, target = directory / "1.parquet", directory / "released.parquet"
    write(source, millions=1)
    code = (
        "import time, pdanon.stream; t = time.process_time();"
        f"pdanon.stream.pcta({str(source)!r}, {str(target)!r}, k=5, m=2);"
        f"print(time.process_time() - t, {PEAK})"
    )
    taken, memory = map(float, fresh_process(code).split())
    work = "stream.pcta(k=5, m=2), 1 million rows, 2,000 items"
    yield Figure(work, "", None, f"{taken:.1f} s", f"< {LONGEST} s", taken < LONGEST)
    yield Figure(f"{work}, peak memory", "", None, f"{memory:.2f} GB", f"< {MOST} GB", memory < MOST)


def write(path: Path, millions: int) -> None:
    writer = None
    for seed in range(millions):
        frame = pdanon.datasets.make_baskets(ROWS, 2000, random_state=seed)
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table, row_group_size=ROWS)
    if writer is not None:
        writer.close()


def distinct(source: Path) -> ListColumns:
    return collapse_columns(ParquetTree.find(source).columns(["items"]), 1)


def generating() -> Figure:
    taken = min(seconds(lambda: pdanon.datasets.make_baskets(ROWS, 2000, random_state=0)) for _ in range(3))
    work = "make_baskets, a million rows, 2,000 items"
    return Figure(work, "", None, f"{taken:.2f} s", "< 1 s", taken < 1)


def counting(directory: Path) -> Figure:
    """The first pass, up to the supports of items and pairs, beside decoding the column."""
    source = directory / "10.parquet"
    write(source, millions=10)

    def decoded() -> None:
        with pq.ParquetFile(source, read_dictionary=["items.list.element"]) as file:
            for number in range(file.num_row_groups):
                file.read_row_group(number, columns=["items"])

    def run() -> None:
        index = SupportIndex.of(distinct(source).itemsets)
        assert len(index.singles) <= len(index.pairs[1])

    work = "collapsing ten million rows, and counting items and pairs"
    return ratio(work, "pyarrow: reading their items as codes", run, decoded, 12, repeats=3)


def recoding(directory: Path) -> Figure:
    """The second pass alone, beside reading and writing the same file."""
    source, copy, recoded = (directory / f"{name}.parquet" for name in ("1", "copy", "recoded"))
    tree = ParquetTree.find(source)
    made = pdanon.pcta(pdanon.read_parquet(source), "items", k=5, m=2)
    recoder = Recoder(made.mapping)

    def copied() -> None:
        with pq.ParquetFile(source) as file, pq.ParquetWriter(copy, file.schema_arrow) as writer:
            for number in range(file.num_row_groups):
                writer.write_table(file.read_row_group(number), row_group_size=ROWS)

    def run() -> None:
        recode_files(tree, recoded, ["items"], recoder)

    work = "recoding and writing a million rows"
    return ratio(work, "pyarrow: reading and writing them", run, copied, 1.3, repeats=5)
