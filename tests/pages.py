"""Pages, as tests read them: by their elements, and in a browser. And the names of the reference."""

from __future__ import annotations

import re
from html import escape
from html.parser import HTMLParser
from pathlib import Path

API = Path(__file__).parents[1] / "docs" / "api.md"


def names_of_the_reference() -> list[str]:
    """Public names that docs/api.md lists, or pages of algorithms end with: where each is below pdanon."""
    line = r"^- \[`[\w.]+`\]\(\w+/([\w.]+)\.md(?:#pdanon\.([\w.]+))?\)$"
    names = [path or page for page, path in re.findall(line, API.read_text(encoding="utf-8"), re.MULTILINE)]
    for page in sorted((API.parent / "algorithms").glob("*.md")):
        names += re.findall(r"^::: pdanon\.(\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return names


VOID = {"meta", "wbr", "br", "link", "img", "hr", "input"}


class Page(HTMLParser):
    """A page as a list of (tag, attributes) and the text of each element that has one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.elements, self.cells = [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag in ("th", "td", "h1", "h2", "h3", "p", "caption", "button"):
            self.cells.append([tag, ""])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.cells and self.cells[-1][0] in self.open:
            self.cells[-1][1] += data

    def texts(self, *tags):
        return [text for tag, text in self.cells if tag in tags]

    def attributes(self, *tags):
        return [attributes for tag, attributes in self.elements if tag in tags]


def rows_below(page, heading):
    """The cells of the table that follows a heading, row by row, the head first."""
    cells = page.cells[page.cells.index(["h2", heading]) + 1 :]
    end = next((i for i, (tag, _) in enumerate(cells) if tag == "h2"), len(cells))
    cells = [text for tag, text in cells[:end] if tag in ("th", "td")]
    text = "".join(f"<{cell}>" for cell in cells)
    return cells, text


# --- In a browser, which is that of the fixture


def free(path, script=""):
    """A copy of a page, in which other scripts may run as well."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", path.read_text(encoding="utf-8"))
    copy = path.with_name("free.html")
    copy.write_text(text.replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
    return copy


def width_on_a_phone(browser, page):
    """How wide a page is where there are 375 pixels."""
    script = "document.title = document.querySelector('iframe').contentDocument.documentElement.scrollWidth"
    frame = f'<iframe width="375" height="900" srcdoc="{escape(page.read_text(encoding="utf-8"))}"></iframe>'
    wrapper = page.with_name("phone.html")
    wrapper.write_text(f'<!DOCTYPE html><body onload="{script}">{frame}', encoding="utf-8")
    dom, _ = browser(wrapper, "--dump-dom")
    return int(re.search(r"<title>(\d+)</title>", dom).group(1))


def brightness(browser, page):
    """How bright a page is drawn, in light and in dark, 0 to 1."""
    from matplotlib.image import imread

    found = []
    for scheme in (1, 0):
        picture = page.with_name(f"{scheme}.png")
        browser(page, f"--blink-settings=preferredColorScheme={scheme}", f"--screenshot={picture}")
        pixels = imread(picture)[..., :3]
        assert pixels.std() > 0.03  # not blank
        found.append(float(pixels.mean()))
    return found
