"""Hook of MkDocs: the menu lists the pages of all algorithms."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def on_config(config: Any) -> None:
    """Add the pages to the section that has their index."""
    (section,) = (entry["Algorithms"] for entry in config.nav if "Algorithms" in entry)
    pages = sorted(page.name for page in Path(config.docs_dir, "algorithms").glob("*.md"))
    section += [f"algorithms/{name}" for name in pages if name != "index.md"]
