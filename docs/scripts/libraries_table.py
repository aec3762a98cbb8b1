"""Measure what libraries would replace and what their import takes: the table behind docs/architecture.md.

Run from the root of the checkout: ``pip install`` the libraries of ``PIECES``, then
``python docs/scripts/libraries_table.py``. Tokens by hand and import times are measured again. Tokens with a
library are those of a replacement that was written once.
"""

import ast
import sys
import tokenize
from collections.abc import Iterator
from importlib import import_module
from io import StringIO
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

import pdanon  # noqa: E402, F401 - a library is imported after it
from tests.benchmarks.pages import write_section  # noqa: E402

TIMES = 9
LAYOUT = {"COMMENT", "NL", "NEWLINE", "INDENT", "DEDENT", "ENDMARKER"}


class Piece(NamedTuple):
    """The definitions that a library would replace, by file, and the tokens of the replacement."""

    title: str
    library: str
    tokens: int
    installed: str  # packages and their size, with all that it needs
    by_hand: dict[str, str]
    decision: str


PAGE = {
    "evaluation/evidence": "render _sections _guarantee_text _items _item_text _risk _thresholds"
    " _tables_section",
    "evaluation/html": "table _row_html _cell_html _attributes paragraph section document",
}
CARDS = {
    "itemsets/cards": "escape_html Share _rectangle card facts _named_bar Measures _column_html",
}
KEYS = {"cli/schema": "_KEYS _TYPES OUTPUTS check_keys"}
COMMANDS = {
    "cli/parser": "Parser parser_of _add_arguments _UNIT _FORM _RISK",
    "cli/options": "DEMANDS WAYS OWN COLUMNS one several choice file switch",
}
PIECES = [
    Piece("page of the evidence", "jinja2", 2598, "2, 1.3 MB", PAGE, "by hand"),
    Piece("cards", "htpy", 992, "3, 0.3 MB", CARDS, "by hand"),
    Piece("keys of policies", "msgspec", 461, "1, 0.6 MB", KEYS, "by hand"),
    Piece("keys of policies", "pydantic", 516, "5, 9.6 MB", KEYS, "by hand"),
    Piece(
        "schema of evidence",
        "jsonschema",
        175,
        "6, 3.1 MB",
        {"evaluation/evidence": "_TYPES first_violation"},
        "by hand",
    ),
    Piece("`risk` and all options", "cyclopts", 1538, "8, 17 MB", COMMANDS, "`argparse`"),
    Piece(
        "opening a URI",
        "fsspec",
        73,
        "1, 1.9 MB",
        {"io/files": "_open_uri"},
        "`pyarrow.fs`, then fsspec",
    ),
    Piece("lock of a target", "filelock", 120, "1, 1.6 MB", {"io/trees": "lock_target _lock"}, "`fcntl`"),
    Piece("draft of one file", "atomicwrites", 83, "1, 0.1 MB", {"io/files": "replace_file"}, "by hand"),
    Piece(
        "progress",
        "rich",
        187,
        "4, 12 MB",
        {"itemsets/timing": "progress_bar _show"},
        "tqdm, optional",
    ),
    Piece(
        "*did you mean*", "rapidfuzz", 193, "1, 12 MB", {"errors": "did_you_mean _nearest_file"}, "`difflib`"
    ),
]


def tokens_of(file: str, names: str) -> int:
    """Count tokens of the named definitions of a file, without docstrings and layout."""
    text = (ROOT / "pdanon" / f"{file}.py").read_text(encoding="utf-8")
    tree = ast.parse(text)
    defined = [each for each in tree.body if _name(each) in names.split()]
    assert {*map(_name, defined)} == {*names.split()}, f"{file} defines not all of {names}"
    lines = {n for each in defined for n in range(_first_line(each), (each.end_lineno or 0) + 1)}
    docs = {_doc_place(each) for each in ast.walk(tree)}
    tokens = tokenize.generate_tokens(StringIO(text).readline)
    kept = [each for each in tokens if tokenize.tok_name[each.type] not in LAYOUT and each.start not in docs]
    return sum(each.start[0] in lines for each in kept)


def _name(node: ast.stmt) -> str | None:
    target = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", node)
    return getattr(target, "name", None) or getattr(target, "id", None)


def _first_line(node: ast.stmt) -> int:
    return min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", []))])


def _doc_place(node: ast.AST) -> tuple[int, int] | None:
    """Return the place of the docstring of a definition, if it has one."""
    if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) or ast.get_docstring(node) is None:
        return None
    return node.body[0].lineno, node.body[0].col_offset


def import_ms(library: str) -> float:
    """Import a library, and return the processor time in milliseconds."""
    start = process_time()
    module = import_module({"rich": "rich.progress"}.get(library, library))
    getattr(module, "TypeAdapter", None)  # pydantic imports it late
    return 1000 * (process_time() - start)


def lines() -> Iterator[str]:
    """Yield the lines of the table."""
    libraries = [piece.library for piece in PIECES]
    with get_context("fork").Pool(1, maxtasksperchild=1) as pool:  # a process that has only imported pdanon
        rounds = [pool.map(import_ms, libraries, chunksize=1) for _ in range(TIMES)]
    yield "| piece | tokens by hand | library (packages, size) | tokens with it | import, ms | decision |"
    yield "|---|---:|---|---:|---:|---|"
    for piece, times in zip(PIECES, zip(*rounds, strict=True), strict=True):
        by_hand = sum(tokens_of(file, names) for file, names in piece.by_hand.items())
        library = f"{piece.library} ({piece.installed})"
        cells = [
            piece.title,
            f"{by_hand:,}",
            library,
            f"{piece.tokens:,}",
            f"{min(times):.1f}",
            piece.decision,
        ]
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    write_section("libraries.md", "libraries", lines())
