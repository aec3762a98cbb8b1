"""Draw the pictures of report.md: baskets, before and after."""

from pathlib import Path

from matplotlib import rc_context
from matplotlib.figure import Figure

import pdanon

ROOT = Path(__file__).parents[2]


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
        figure.savefig(ROOT / "docs" / "assets" / "pictures.svg", metadata={"Date": None})


if __name__ == "__main__":
    main()
