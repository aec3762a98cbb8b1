"""Draw the pictures of report.md and accept.md: baskets, before and after, and the first page in Chromium."""

import subprocess
import tempfile
from pathlib import Path

import pandas as pd
from matplotlib import rc_context
from matplotlib.figure import Figure
from PIL import Image

import pdanon

ROOT = Path(__file__).parents[2]
ASSETS = ROOT / "docs" / "assets"


def main() -> None:
    baskets = pdanon.read_parquet(ROOT / "examples" / "baskets.parquet")
    result = baskets.txanon.pcta(k=5, m=2)
    with rc_context({"svg.hashsalt": "pdanon", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9.5, 6.4), layout="constrained")
        (risk, loss), (sizes, mapping) = figure.subplots(2, 2)
        result.plot.risk(baskets, m=3, ax=risk)
        result.plot.loss(ax=loss)
        result.plot.sizes(ax=sizes)
        result.plot.mapping(most=8, ax=mapping)
        figure.savefig(ASSETS / "pictures.svg", metadata={"Date": None})
    draw_first_page(baskets[:1500], baskets[1500:], ASSETS / "first_page.png")


def draw_first_page(original: pd.DataFrame, control: pd.DataFrame, path: Path) -> None:
    """Write the first screen of a report with attacks."""
    result = original.txanon.pcta(k=5, m=2)
    head = {"title": "Baskets of May", "recipient": "A university", "prepared_by": "The shop"}
    with tempfile.TemporaryDirectory() as directory:
        page = Path(directory) / "release.html"
        result.report(page, assessment=original.txanon.assess(result, control), **head)
        options = ["--headless", "--no-sandbox", "--hide-scrollbars", "--window-size=1280,900"]
        subprocess.run(["chromium", *options, f"--screenshot={path}", page.as_uri()], check=True)
    Image.open(path).convert("RGB").quantize(48).save(path, optimize=True)


if __name__ == "__main__":
    main()
