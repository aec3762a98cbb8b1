"""Plain words: patterns that make a reader read twice do not come back."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_WORDS = 40

PATTERNS = {
    "said, told, asked": r"\b(?:is|are|was|were|be|been)\s+(?:not\s+)?(?:said|told|asked)\b",
    "who knows": r"\b[Ww]ho(?:ever)?\s+knows\b",
    "of which, of these": r"\bof\s+(?:which|these|those)\b",
    "alike": r"\balike\b",
    "anew, made-up, parted": r"\banew\b|\bmade-up\b|\bparted\b|\bgoes by\b|\bmade coarser\b",
}
# A literal, which may hold a "#", or a comment, which is kept; the tokens of Python take five times as long.
TEXT_OR_COMMENT = re.compile(r'''""".*?"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(#[^\n]*)''', re.DOTALL)
# Deliberate: pattern by file, and how often.
ALLOWED: dict[tuple[str, str], int] = {}


def sources() -> list[Path]:
    """The modules and the pages."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")]
    pages += (ROOT / "tests" / "benchmarks" / "tables").rglob("*.md")
    return sorted([*(ROOT / "pdanon").rglob("*.py"), *(ROOT / "pdanon").rglob("*.pyx"), *pages])


@lru_cache(1)
def nodes(path: Path) -> list[ast.AST]:
    """The syntax tree of a module."""
    return [*ast.walk(ast.parse(path.read_text(encoding="utf-8")))]


def texts(path: Path) -> Iterator[str]:
    """Docstrings, messages and comments of a module; the prose of a page, a paragraph each."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        yield from prose(source)
        return
    if path.suffix == ".py":
        for node in nodes(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
                yield from prose(node.value)
            if isinstance(node, ast.JoinedStr):
                yield "".join(each.value if isinstance(each, ast.Constant) else "x" for each in node.values)
        for comment in filter(None, TEXT_OR_COMMENT.findall(source)):
            yield comment.lstrip("# ")


def prose(text: str) -> Iterator[str]:
    """Paragraphs without code, tables, headings and comments of HTML."""
    text = re.sub(r"<!--.*?-->|^```.*?^```|^ *>>> .*?(?=^\s*$)", "", text, flags=re.DOTALL | re.MULTILINE)
    for paragraph in re.split(r"\n\s*\n|\n(?=\s*(?:[-*]|\d+\.) )|\n(?=\w[^\n]*\n[-=]{3})", text):
        lines = [line for line in paragraph.splitlines() if not re.match(r"\s*(\||#|--|==)", line)]
        yield " ".join(line.strip() for line in lines)


def docstrings(path: Path) -> Iterator[str]:
    """The docstrings of a module."""
    kinds = ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef
    for node in nodes(path):
        if isinstance(node, kinds) and (text := ast.get_docstring(node)):
            yield text


def found() -> Counter[tuple[str, str]]:
    """How often each pattern is in each file."""
    counts: Counter[tuple[str, str]] = Counter()
    for path in sources():
        name = path.relative_to(ROOT).as_posix()
        for text in texts(path):
            for pattern, expression in PATTERNS.items():
                counts[pattern, name] += len(re.findall(expression, text))
            for sentence in re.split(r"(?<=[.!?:;])\s+", text):
                counts["long sentence", name] += len(sentence.split()) > MOST_WORDS
        if path.suffix == ".py":
            counts["docstring What", name] += sum(text.startswith("What ") for text in docstrings(path))
    return +counts


def test_patterns_are_deliberate():
    assert found() == ALLOWED


if __name__ == "__main__":
    counts = found()
    for pattern in sorted({pattern for pattern, _ in counts}):
        print(pattern, sum(n for (each, _), n in counts.items() if each == pattern))
    by_room: Counter[str] = Counter()
    for (_, name), n in counts.items():
        by_room["/".join(name.split("/")[:3]) if name.startswith("pdanon") else name] += n
    print(sum(counts.values()), by_room.most_common(70))
