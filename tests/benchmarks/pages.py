"""Measured sections of the pages in ``tables``: scripts write what stands between their markers.

``<!-- name -->`` begins a section of a page and ``<!-- /name -->`` ends it. The rest of the page stays.
"""

from collections.abc import Iterable
from functools import cache
from io import StringIO
from pathlib import Path

import pandas as pd

TABLES = Path(__file__).parent / "tables"


def section(page: str, name: str) -> str:
    """What stands between the markers."""
    return _parted(page, name)[1].strip()


def write_section(page: str, name: str, lines: Iterable[str]) -> None:
    before, _, after = _parted(page, name)
    text = "\n".join(lines).strip()
    (TABLES / page).write_text(f"{before}\n\n{text}\n\n{after}", encoding="utf-8")


@cache
def tables_of(page: str, name: str) -> dict[str, pd.DataFrame]:
    """The tables of a measured section, by the heading and the line of text above each."""
    tables: dict[str, pd.DataFrame] = {}
    heading, above, lines = "", "", []
    for line in [*section(page, name).splitlines(), ""]:
        if line.startswith("|"):
            lines.append(line)
        elif lines:
            rows = "\n".join(lines[:1] + lines[2:])
            table = pd.read_csv(StringIO(rows), sep="|", skipinitialspace=True).iloc[:, 1:-1]
            name = f"{heading}: {above}"
            tables[name if name not in tables else f"{name} {len(tables)}"] = table.rename(
                columns=str.strip
            ).map(lambda cell: cell.replace("`", "").strip() if isinstance(cell, str) else cell)
            lines = []
        elif line.startswith("#"):
            heading = line.strip("# ")
        elif line:
            above = line
    return tables


def _parted(page: str, name: str) -> tuple[str, str, str]:
    """A page up to the first marker, between the two, and from the second on."""
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, started, rest = (TABLES / page).read_text(encoding="utf-8").partition(start)
    inside, ended, after = rest.partition(end)
    if not started or not ended:
        raise ValueError(f"{page} has no section {name}")
    return before + start, inside, end + after
