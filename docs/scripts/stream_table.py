"""Count the distinct rows of some data sets, and write the table in tables/speed/growth.md.

Run from the root of the checkout: ``python docs/scripts/stream_table.py``. What stands around the table
stays.
"""

import sys
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from pdanon.io.datasets import make_baskets  # noqa: E402
from pdanon.itemsets.codes import Itemsets  # noqa: E402
from pdanon.itemsets.support import SupportIndex  # noqa: E402
from tests.benchmarks.measure import itemsets  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

DATA_SETS = {
    "bms_webview1": "BMS-WebView-1",
    "bms_webview2": "BMS-WebView-2",
    "uci_msweb_train": "MSWeb",
    "fimi_retail": "FIMI retail",
}
MADE = {"short": 3.0, "long": 8.1}  # mean lengths
COLUMNS = (
    "| data | rows | distinct | occurrences | in distinct rows | index, MB | of distinct rows, MB | share |"
)


def data_sets() -> Iterator[tuple[str, Itemsets]]:
    for name, title in DATA_SETS.items():
        yield title, itemsets(name)
    for what, length in MADE.items():
        made = make_baskets(990_002, 41_270, mean_length=length, random_state=0)
        yield f"generated, {what} rows", Itemsets.from_series(made["items"])


def index_bytes(index: SupportIndex) -> int:
    """What the index takes as soon as a support is asked for."""
    return sum(each.nbytes for each in (index.codes, index.offsets, index.weights, *index.transpose))


def lines() -> list[str]:
    table = [COLUMNS, "|---" + "|---:" * 7 + "|"]
    for title, column in data_sets():
        every = SupportIndex.of(column)
        distinct = every.distinct()
        sizes = [index_bytes(index) for index in (every, distinct)]
        counts = [len(every.weights), len(distinct.weights), len(every.codes), len(distinct.codes)]
        cells = [title, *(f"{count:,}" for count in counts), *(f"{size / 1e6:.2f}" for size in sizes)]
        table.append("| " + " | ".join([*cells, f"{sizes[1] / sizes[0]:.2f}"]) + " |")
        print(table[-1], flush=True)
    return table


def main() -> None:
    counted = f"Counted {date.today()} by `docs/scripts/stream_table.py`."
    write_section("speed/growth.md", "stream", [*lines(), "", counted])


if __name__ == "__main__":
    main()
