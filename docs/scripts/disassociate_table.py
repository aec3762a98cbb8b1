"""Measure time and loss of disassociation, and write the table of tables/loss/disassociate.md.

Run from the root of the checkout: ``python docs/scripts/disassociate_table.py``. All but its table stays.
"""

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

COLUMNS = "| data | asked | s of CPU | term_chunks, % | tlost, % | re | tKd, % |"
DATA = {"BMS-WebView-1": "bms_webview1", "BMS-WebView-2": "bms_webview2", "groceries": "groceries"}
ASKED: list[dict[str, Any]] = [{}, {"joint": False}, {"max_cluster": 5}, {"max_cluster": 50}, {"safe": True}]
TABLES = 2  # reconstructions that are averaged


def line(title: str, name: str, asked: dict[str, Any]) -> str:
    df = frame(name)
    df.head(1000).txanon.disassociate(k=5, m=2, **asked)  # the first call loads compiled code
    start = time.process_time()
    result = df.txanon.disassociate(k=5, m=2, **asked)
    seconds = time.process_time() - start
    tables = pdanon.reconstruct(result, TABLES, random_state=0)
    tkd = np.mean([pdanon.metrics.patterns.tkd(df, table) for table in tables])
    told = ", ".join(f"{key}={value}" for key, value in asked.items()) or "the defaults"
    cells = [title, f"`{told}`" if asked else told, f"{seconds:.2f}"]
    cells += [f"{100 * result.loss[measure]:.1f}" for measure in ("term_chunks", "tlost")]
    text = "| " + " | ".join([*cells, f"{result.loss['re']:.2f}", f"{100 * tkd:.1f}"]) + " |"
    print(text, flush=True)
    return text


def main() -> None:
    lines = [COLUMNS, "|---" * (COLUMNS.count("|") - 1) + "|"]
    lines += [line(title, name, asked) for title, name in DATA.items() for asked in ASKED]
    write_section("loss/disassociate.md", "losses", [*lines, "", f"Measured on {machine()}."])


if __name__ == "__main__":
    main()
