"""Measure the refinement of releases by `ps_rules`, and write tables/refine.md.

Run from the root of the checkout: ``python docs/scripts/refine_rules_table.py``. All but its table stays.
Times are of the processor, so that other work on the machine changes them little.
"""

import sys
import time
import warnings
from datetime import date
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402
from tests.benchmarks.measure import frame, machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

COLUMNS = "| data | m | NCP, % | refined, % | share left | CPU s | CPU s, refine |"
CASES = [("BMS-WebView-1", "bms_webview1", 1), ("BMS-WebView-1", "bms_webview1", 2)]
CASES += [("BMS-WebView-2", "bms_webview2", 1), ("BMS-WebView-2", "bms_webview2", 2)]


def line(title: str, name: str, m: int) -> str:
    df = frame(name)
    items = df["items"].itemset.supports().index
    secrets = np.random.default_rng(0).choice(items, 20, replace=False).tolist()
    rules = pdanon.constraints.ps_rules(df, None, secrets, m)
    start = time.process_time()
    made = pdanon.ps_rules(df, rules=rules, k=5, c=0.5)
    between = time.process_time()
    refined = pdanon.refine(df, made)
    end = time.process_time()
    ncp = [100 * float(result.loss["NCP"]) for result in (made, refined)]
    cells = [title, str(m), *(f"{value:.3f}" for value in ncp), f"{ncp[1] / ncp[0]:.3f}"]
    text = "| " + " | ".join([*cells, f"{between - start:.2f}", f"{end - between:.2f}"]) + " |"
    print(text, flush=True)
    return text


def main() -> None:
    warnings.simplefilter("ignore", pdanon.IdentifierWarning)
    text = [f"Measured {date.today()} by `docs/scripts/refine_rules_table.py` on {machine()}.", ""]
    text += [COLUMNS, "|---" * 7 + "|", *(line(*each) for each in CASES)]
    write_section("refine.md", "refine-rules", text)


if __name__ == "__main__":
    main()
