"""Hooks of MkDocs: pages of the reference, the menu of algorithms and names, and files of the repository.

``docs/api.md`` lists the public names, a line each. Its links into ``reference/`` become pages of the site.
Such a page has the name that it is called by: ``reference/audit.md`` has ``::: pdanon.audit``. A link to
``reference/audit.md#pdanon.Audit`` adds ``::: pdanon.Audit`` to it.
"""

from __future__ import annotations

import os
import re
from functools import cache
from pathlib import Path
from typing import Any

import griffe
from mkdocs.structure.files import File

ROOT = Path(__file__).parents[2]
LINE = re.compile(r"^- \[`([\w.]+)`\]\(((\w+)/([\w.]+)\.md)(?:#pdanon\.([\w.]+))?\)$", re.MULTILINE)
# A link out of docs/, and the same in parentheses of its own.
OUTSIDE = r"\[([^\]]+)\]\(((?:\.\./)+(?:tests|examples|pdanon)/[^)#]+)[^)]*\)"


def on_config(config: Any) -> None:
    """Complete the menu: the algorithms beside their index, the names below their groups."""
    docs = Path(config.docs_dir)
    algorithms = sorted(page.name for page in (docs / "algorithms").glob("*.md"))
    find_section(config.nav, "Algorithms").extend(
        f"algorithms/{name}" for name in algorithms if name != "index.md"
    )
    names = find_section(find_section(config.nav, "Reference"), "Public names")
    groups = re.split(r"^## (.+)$", (docs / "api.md").read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    of_pages = {page for _, page, path in read_names("".join(groups)) if not path}
    for title, text in zip(groups[::2], groups[1::2], strict=True):
        lines = [(name, page) for name, page, path in read_names(text) if not path or page not in of_pages]
        names.append({title: [{name: page} for name, page in lines]})


def find_section(entries: list[Any], title: str) -> list[Any]:
    """Return the entries below a title of the menu."""
    (section,) = (entry[title] for entry in entries if isinstance(entry, dict) and title in entry)
    return section


def on_files(files: Any, config: Any) -> None:
    """Make the pages of the reference."""
    names = read_names(Path(config.docs_dir, "api.md").read_text(encoding="utf-8"))
    pages: dict[str, list[str]] = {}
    for _, page, path in sorted(names, key=lambda line: line[2]):  # the name of the page is first
        pages.setdefault(page, []).append(path or Path(page).stem)
    package = load_package()
    for page, paths in pages.items():
        parts = [f"---\ntitle: {Path(page).stem}\n---\n"]
        for level, path in enumerate(paths, start=1):
            parts.append(f"::: pdanon.{path}\n    options:\n      heading_level: {min(level, 2)}")
            if package[path].is_module:  # its functions have pages
                parts[-1] += "\n      members: false"
            elif "with_mapping" in package[path].all_members:  # of guarantees, which inherit it
                parts[-1] += "\n      inherited_members: true"
        files.append(File.generated(config, page, content="\n".join(parts)))


def read_names(text: str) -> list[tuple[str, str, str]]:
    """Return the names that are listed, each with its page and its anchor there."""
    return [(name, page, path) for name, page, folder, _, path in LINE.findall(text) if folder == "reference"]


@cache
def load_package() -> Any:
    """Read the docstrings of the checkout, without an import."""
    return griffe.load("pdanon", search_paths=[ROOT])


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Add the summaries to the list of names, and name files that the site does not have."""
    if page.file.src_uri == "api.md":
        return add_summaries(markdown)
    here = ROOT / "docs" / Path(page.file.src_uri).parent

    def path(link: str) -> str:
        return os.path.relpath(os.path.normpath(here / link), ROOT)

    # These files have no public address yet.
    markdown = re.sub(rf"\({OUTSIDE}\)", lambda found: f"({found[1]}: `{path(found[2])}`)", markdown)
    return re.sub(OUTSIDE, lambda found: f"{found[1]} (`{path(found[2])}`)", markdown)


def add_summaries(markdown: str) -> str:
    """Add to each name the first line of its docstring."""
    package = load_package()

    def with_summary(found: re.Match[str]) -> str:
        docstring = package[found[5] or found[4]].docstring
        return f"{found[0]}: {docstring.value.splitlines()[0]}" if docstring else found[0]

    return LINE.sub(with_summary, markdown)
