"""Draw the picture of README.md and index.md: one basket, and the risk of all, before and after.

It has a ground of its own, so that it can be read on light and dark pages, and letters that are large enough
for a phone. Its figures are those of the invoices in `examples/`.
"""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from xml.sax.saxutils import escape

import pandas as pd

import pdanon

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs" / "assets" / "before_after.svg"
SHOWN = ["beef", "grapes", "honey", "onions", "tea"]  # a basket of which nobody else's has these five
K, M = 5, 2
WIDTH, HEIGHT = 560, 424
LEFT = 24
LETTER = 8.43  # width of a monospaced one of 14 px
LONGEST_BAR = 300
STYLE = """
text { font: 15px system-ui, "Segoe UI", Roboto, "Noto Sans", Arial, sans-serif; fill: #17302e; }
.head { font-weight: 600; }
.item { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; }
.ground { fill: #f5f9f8; stroke: #9db5b2; }
.chip { fill: #ffffff; stroke: #9db5b2; }
.merged { fill: #cdebe6; stroke: #00796b; }
.before { fill: #d9822b; }
.after { fill: #00897b; }
""".strip()


def baskets() -> pd.DataFrame:
    lines = pd.read_csv(ROOT / "examples" / "invoices.csv")
    return pdanon.from_long(lines, by="customer", item="product")


def text(x: float, y: float, words: str, kind: str = "") -> str:
    attribute = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}"{attribute}>{escape(words)}</text>'


def box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="5" class="{kind}"/>'


def chips(labels: Iterable[str], top: float) -> list[str]:
    """Labels in boxes, from left to right, and on as many lines as they take."""
    drawn, x = [], float(LEFT)
    for label in labels:
        width = round(len(label) * LETTER + 18)
        if x + width > WIDTH - LEFT:
            x, top = float(LEFT), top + 36
        kind = "merged" if label.startswith("(") else "chip"
        drawn.append(box(x, top, width, 28, kind))
        drawn.append(text(x + 9, top + 19, label, "item"))
        x += width + 8
    return drawn


def bars(shares: Sequence[float], top: float) -> list[str]:
    """One bar for before and one for after, each with its share."""
    drawn = []
    for kind, share in zip(("before", "after"), shares, strict=True):
        width = max(round(share * 2 * LONGEST_BAR), 2)  # half of the baskets fill the place that there is
        drawn.append(text(LEFT, top + 16, kind))
        drawn.append(box(LEFT + 62, top + 2, width, 18, kind))
        drawn.append(text(LEFT + 72 + width, top + 16, f"{share:.0%}".replace("%", " %"), "head"))
        top += 27
    return drawn


def picture() -> str:
    """The text of the file."""
    original = baskets()
    result = original.txanon.anonymize(k=K, m=M)
    row = original["product"].map(lambda items: list(items) == SHOWN).to_numpy().nonzero()[0][0]
    tables = [frame.txanon.risk(k=K, m=M + 1) for frame in (original, result.frame)]
    promised, beyond = ([table["below_k"][known - 1] for table in tables] for known in (M, M + 1))
    parts = [
        [text(LEFT, 36, "One basket, as it was bought", "head")],
        chips(SHOWN, 48),
        [text(LEFT, 108, "and as it is released", "head")],
        chips(result.frame["product"].iloc[row], 120),
        [text(LEFT, 226, f"Of all {len(original):,} baskets", "head")],
        [text(LEFT, 254, f"hold {M} products that fewer than {K} baskets hold together")],
        bars(promised, 262),
        [text(LEFT, 344, f"hold up to {M + 1} such products, which is beyond the promise k={K}, m={M}")],
        bars(beyond, 352),
    ]
    size = f'width="{WIDTH}" height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}"'
    opening = f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">'
    title = "<title>A basket and the risk of all, before and after</title>"
    ground = box(1, 1, WIDTH - 2, HEIGHT - 2, "ground")
    inside = chain.from_iterable(parts)
    return "\n".join([opening, title, f"<style>{STYLE}</style>", ground, *inside, "</svg>", ""])


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
