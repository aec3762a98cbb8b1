"""Hooks of MkDocs: the menu lists the pages of all algorithms, and pages name files of the repository."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
# A link out of docs/, and the same in parentheses of its own.
OUTSIDE = r"\[([^\]]+)\]\(((?:\.\./)+(?:tests|examples|pdanon)/[^)#]+)[^)]*\)"


def on_config(config: Any) -> None:
    """Add the pages to the section that has their index."""
    (section,) = (entry["Algorithms"] for entry in config.nav if "Algorithms" in entry)
    pages = sorted(page.name for page in Path(config.docs_dir, "algorithms").glob("*.md"))
    section += [f"algorithms/{name}" for name in pages if name != "index.md"]


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Name linked files of the repository, which the site does not have, and which have no public address."""
    here = Path(page.file.abs_src_path).parent

    def path(link: str) -> str:
        return os.path.relpath(os.path.normpath(here / link), ROOT)

    markdown = re.sub(rf"\({OUTSIDE}\)", lambda found: f"({found[1]}: `{path(found[2])}`)", markdown)
    return re.sub(OUTSIDE, lambda found: f"{found[1]} (`{path(found[2])}`)", markdown)
