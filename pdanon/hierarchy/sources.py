"""Trees of hierarchies: arrays by node, comparison of leaves, sources (files, frames, dicts, rules, ICD)."""

from __future__ import annotations

import csv
import re
from bisect import bisect
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from functools import partial
from itertools import count, groupby, zip_longest
from numbers import Real
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import HierarchyError, ParameterError
from pdanon.io.files import replace_file
from pdanon.io.lines import TextLines
from pdanon.io.text import check_separator
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.lists import Mask
from pdanon.itemsets.validation import (
    FilePath,
    check_delimiter,
    check_frame,
    check_kind,
    check_path,
    describe,
    is_encodable,
    is_integer,
    read_list,
)

Nodes: TypeAlias = NDArray[np.int32]


def freeze(values: Any, dtype: Any) -> NDArray[Any]:
    """Return a read-only copy."""
    array = np.array(values, dtype)
    array.setflags(write=False)
    return array


# --- Forms: comparison of leaves with values that are not text


_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_TIME = re.compile(r"\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?( ?(Z|[+-]\d\d(:?\d\d)?))?)?", re.ASCII)
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Form:
    """The comparison of texts as values of one kind."""

    looks: str  # the texts with an example, for messages
    read: Callable[[str], Hashable]  # of a text without surrounding blanks; None: another kind

    @classmethod
    def of(cls, kind: pa.DataType) -> Form:
        """Return the form of the values of an Arrow type."""
        types = pa.types
        if types.is_boolean(kind):
            return cls("true or false", lambda text: _BOOLEANS.get(text.lower()))
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            read = lambda text: Decimal(text) if _NUMBER.fullmatch(text) else None  # noqa: E731
            return cls("numbers, such as 12 or 12.0", read)
        if types.is_timestamp(kind) or types.is_date(kind):
            zone = kind.tz if types.is_timestamp(kind) else None
            return cls("dates, such as 2020-01-31 or 2020-01-31 09:30", partial(_parse_time, zone=zone))
        if types.is_time(kind) or types.is_duration(kind):
            example = pa.array([0]).cast(pa.int32() if kind.bit_width == 32 else pa.int64()).cast(kind)
            return cls(f"text such as {example.cast(pa.string())[0]}", TEXT.read)
        return TEXT

    def key(self, text: str) -> Hashable:
        """Return a key that is equal for texts of one value: the value, or else the text."""
        value = self.read(text.strip())
        return text if value is None else value

    def leaves(self, names: Sequence[str], parent: Nodes, is_leaf: Mask) -> dict[Hashable, int]:
        """Return the leaf of each value: the first one, if several with the same parent have that value."""
        found: dict[Hashable, int] = {}
        leaves = np.flatnonzero(is_leaf).tolist()
        first = [found.setdefault(self.key(names[leaf]), leaf) for leaf in leaves]
        refuse_torn(parent[first] != parent[leaves], self.looks)
        return found


def refuse_torn(torn: Mask, looks: str) -> None:
    """Refuse leaves whose parent differs from that of the first leaf with the same value."""
    if torn.any():
        got = f"{np.count_nonzero(torn)} such leaves, read as {looks}"
        hint = "list each value once"
        raise HierarchyError("two leaves have one value and different parents", got=got, hint=hint)


TEXT = Form("text, letter for letter", lambda text: None)


def _parse_time(text: str, zone: str | None) -> pd.Timestamp | None:
    """Parse a date or time. A text without a time zone is in the zone of the column, if that has one."""
    if not _TIME.fullmatch(text):
        return None
    try:
        moment = pd.Timestamp(text)
    except ValueError:  # such as the 30th of February
        return None
    if zone is None or moment.tzinfo is not None:
        return moment
    localized = moment.tz_localize(zone, ambiguous="NaT", nonexistent="NaT")
    return localized if isinstance(localized, pd.Timestamp) else None


# --- Sources of hierarchies: files, frames, dicts and rules


# Name and parent of each node, in pre-order; the parent of the root is -1.
Tree: TypeAlias = tuple[tuple[str, ...], Nodes]

Range: TypeAlias = tuple[str, str]  # of codes: the bounds, equal for a prefix

# A node of a source: its name, and whether it is a leaf. The names of leaves and of inner nodes are separate,
# since real taxonomies have inner nodes with the name of one of their leaves.
_Key: TypeAlias = tuple[str | None, bool]
# A line, row or entry of a source, its node, and the parent of that; None if the source has none.
_Link: TypeAlias = tuple[int, _Key, _Key | None]

_ROOT = "*"
_EXACT = Context(prec=2000)  # enough digits for the quotient of any two floats


def csv_tree(path: FilePath, delimiter: str) -> Tree:
    """Read the layout of ARX: one row per leaf, ``leaf;parent;...;*``."""
    check_delimiter(delimiter)
    lines = TextLines(Path(check_path(path)), delimiter, "utf-8")
    records = lines.read_safely(lambda: [*lines.records()])
    rows = [(each.line, each.fields) for each in records if "".join(each.fields).strip() or each.fields[1:]]
    return _build_tree(_row_links(rows), "line")


def write_csv(rows: Iterable[Sequence[str]], path: FilePath, delimiter: str) -> None:
    """Write the layout of ARX, whole or not at all."""
    check_delimiter(delimiter)
    with replace_file(path) as draft, draft.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)


def frame_tree(frame: pd.DataFrame) -> Tree:
    """Read a frame of edges, ``child`` and ``parent``, or of ARX rows."""
    check_frame(frame, "the source")
    if frame.columns.is_unique and set(frame.columns) - {"label"} == {"child", "parent"}:
        pairs = zip(_read_cells(frame["child"]), _read_cells(frame["parent"]), strict=True)
        return _build_tree(((row, (c, False), (p, False)) for row, (c, p) in enumerate(pairs)), "row")
    cells = zip(*(_read_cells(column) for _, column in frame.items()), strict=True)
    return _build_tree(_row_links(enumerate(_strip_padding(row) for row in cells)), "row")


def dict_tree(tree: Mapping[Any, Any]) -> Tree:
    """Read a nested dict of inner nodes, with lists of leaves at the bottom."""
    check_kind(tree, Mapping, "the source", "a dict")  # type: ignore[type-abstract]
    return _build_tree(_dict_links(tree), "entry")


def balanced_tree(items: Iterable[Any], fanout: int) -> Tree:
    """Group ``fanout`` consecutive items, then the groups, until one root remains."""
    _check_fanout(fanout)
    leaves = list(dict.fromkeys(_texts(items)))
    paths = [[leaf] for leaf in leaves]
    taken: set[str] = set()
    width = fanout
    while width < len(leaves):
        for start in range(0, len(leaves), width):
            group = paths[start : start + width]
            if len(group) > width // fanout:  # else it is one node
                name = free_name(f"{leaves[start]}..{group[-1][0]}", taken)
                for path in group:
                    path.append(name)
        width *= fanout
    return _build_rows(paths, "item")


def interval_tree(values: Iterable[Any], width: float | Decimal, fanout: int) -> Tree:
    """Put numbers into half-open bins, and merge ``fanout`` consecutive bins until one root remains."""
    _check_fanout(fanout)
    step = _parse_decimal(str(width)) if isinstance(width, (Real, Decimal, np.number, str)) else None
    if step is None or step <= 0:
        raise ParameterError("width must be a positive number", where="width", got=describe(width))
    numbers = {text: _parse_decimal(text) for text in _texts(values)}
    refused = sum(number is None for number in numbers.values())
    if refused:
        got = f"{refused} of {len(numbers)} distinct values"
        raise ParameterError("intervals need finite numbers", where="values", got=got)
    ascending = sorted((number, text) for text, number in numbers.items() if number is not None)
    quotients = (_EXACT.divmod(number, step) for number, _ in ascending)
    bins = [int(quotient) - (rest < 0) for quotient, rest in quotients]  # rounded down
    columns = [[text for _, text in ascending]]
    while len(set(bins)) > 1:
        names = {i: f"[{_product(i, step)}, {_product(i + 1, step)})" for i in set(bins)}
        columns.append([names[i] for i in bins])
        if bins[-1] - bins[0] < fanout:  # the next merge would leave one or two bins: the root replaces it
            break
        bins = [i // fanout for i in bins]
        step = _EXACT.multiply(step, Decimal(fanout))
    return _build_rows(zip(*columns, strict=True), "value")


def prefix_tree(codes: Iterable[Any], lengths: Iterable[int], *, upper: bool = False) -> Tree:
    """Put codes below their prefixes of the given lengths; ``upper`` joins lower and upper case."""
    given = read_list(lengths, "lengths", "pass a list, even for one length: lengths=[3]")
    wrong = [length for length in given if not is_integer(length) or length < 1]
    if wrong:
        got = f"a length of {describe(wrong[0])}"
        raise ParameterError("lengths of prefixes must be integers of at least 1", where="lengths", got=got)
    longest_first = sorted({int(length) for length in given}, reverse=True)
    rows = (
        [code, *(f"{text[:length]}*" for length in longest_first if length < len(text))]
        for code in _texts(codes)
        for text in [code.upper() if upper else code]
    )
    return _build_rows(rows, "code")


def range_tree(codes: Iterable[Any], ranges: Iterable[str]) -> Tree:
    """Put codes below their category, which is as long as the bounds of their ranges, and below these."""
    search = RangeSearch(_read_ranges(ranges))
    rows = []
    for code in _texts(codes):
        row, text = [code], code.upper()
        below = text, text  # the bounds of the last node
        for low, high in search.around(text):
            first = text[: len(low)]
            # A range within a range may hold parts of several categories, and is in none of them then.
            is_category = len(first) < len(below[0]) and all(each.startswith(first) for each in below)
            row += [f"{first}*"] * is_category
            row.append(range_text((low, high)))
            below = low, high
        rows.append(row)
    return _build_rows(rows, "code")


def _read_ranges(ranges: Iterable[str]) -> Iterator[Range]:
    """Yield the bounds of ranges in text."""
    hint = 'write a list such as ["I00-I99", "I10-I15", "E11"]'
    for place, each in enumerate(read_list(ranges, "ranges", hint)):
        match = re.fullmatch(r"([\w.]+)(?: ?- ?([\w.]+))?", each.upper()) if isinstance(each, str) else None
        low, high = match.groups(match[1]) if match else ("", "")
        if not match or len(low) != len(high) or low > high:
            what = "a range must be a code, or two of equal length in ascending order, joined by a hyphen"
            raise ParameterError(what, where="ranges", got=f"another at place {place}", hint=hint)
        yield low, high


def range_text(bounds: Range) -> str:
    """Return the name of a range of codes."""
    low, high = bounds
    return f"{low}-{high}" if low < high else f"{low}*"


class RangeSearch:
    """Ranges of codes that are disjoint or nested, by lower bound."""

    def __init__(self, ranges: Iterable[Range]) -> None:
        self._around: dict[str, list[Range]] = {
            "": []
        }  # by lower bound: the ranges with it, inner ones first
        around: list[Range] = []
        for low, high in sorted(sorted({*ranges}, reverse=True), key=itemgetter(0)):
            around = [each for each in around if each[1] >= low[: len(each[1])]]
            for start, end in around:
                if len(low) < len(end) or high[: len(end)] > end:
                    hint = "split one of them, or widen one so that it contains the other"
                    got = f"{start}-{end} and {low}-{high}"
                    raise HierarchyError("two ranges overlap", where="ranges", got=got, hint=hint)
            around = self._around[low] = [(low, high), *around]
        self._bounds = [*self._around]

    def around(self, code: str) -> list[Range]:
        """Return the ranges with a code in upper case, inner ones first."""
        found = []
        for low, high in self._around[self._bounds[bisect(self._bounds, code) - 1]]:
            first = code[: len(low)]
            if len(first) == len(low) and first <= high and first.find(".") == low.find("."):
                found.append((low, high))
        return found

    def __call__(self, code: str) -> Range | None:
        """Return the widest range with a code in lower or upper case."""
        return next(reversed(self.around(code.upper())), None)


def path_tree(items: Iterable[Any], separator: str) -> Tree:
    """Put items below the beginnings of their own text that end before a separator."""
    check_separator(separator)
    rows = (
        [text.rsplit(separator, cut)[0] for cut in range(text.count(separator) + 1)] for text in _texts(items)
    )
    return _build_rows(rows, "item")


def free_name(name: str, taken: set[str]) -> str:
    """Append ``(category)`` to a name until it is unique."""
    while name in taken:
        name += " (category)"
    taken.add(name)
    return name


def _build_rows(rows: Iterable[Sequence[str]], place: str) -> Tree:
    """Build a tree from paths that lead from a leaf up to below the root."""
    return _build_tree(_row_links(enumerate([*row, _ROOT] for row in rows)), place)


def _build_tree(links: Iterable[_Link], place: str) -> Tree:
    """Build names and parents from child-to-parent links. Children keep the order of first appearance."""
    seen: dict[_Key, int] = {}
    parent: dict[_Key, _Key] = {}
    nameless: set[int] = set()
    torn: dict[_Key, int] = {}
    for where, node, above in links:
        for key in (node, above or node):
            seen.setdefault(key, where)
            if not key[0]:
                nameless.add(where)
        if above is not None and parent.setdefault(node, above) != above:
            torn.setdefault(node, where)
    if not seen:
        raise HierarchyError("the hierarchy is empty")
    hint = "set a name, or drop the entry; names may be missing only at the end of a row"
    _refuse("a name is empty", nameless, place, hint)
    hint = "each node has one parent: rename one of the two, or drop it"
    if place == "row":
        hint += "; frame.drop_duplicates('...') with the column of leaves keeps the first"
    _refuse("a node has two different parents", torn.values(), place, hint)
    tops = [key for key in seen if key not in parent]
    root = tops[0] if len(tops) == 1 and tops[0] in parent.values() else (_ROOT, False)
    parent.update((top, root) for top in tops if top != root)
    order = _number_preorder(seen, parent, root)
    hint = "remove the cycle: the path up from each node must end at the root"
    unreached = [seen[key] for key in seen if key not in order]
    _refuse("a node is on a cycle, or below one", unreached, place, hint)
    names = tuple(str(name) for name, _ in order)
    unwritable = [seen[key] for key, name in zip(order, names, strict=True) if not is_encodable(name)]
    _refuse("a name holds half of a surrogate pair", unwritable, place)
    return names, np.array([order[parent[key]] if key in parent else -1 for key in order], np.int32)


def _number_preorder(nodes: Iterable[_Key], parent: Mapping[_Key, _Key], root: _Key) -> dict[_Key, int]:
    """Number the nodes below a root in pre-order. A root with a parent is on a cycle, and has none."""
    children: dict[_Key, list[_Key]] = {}
    for node in nodes:
        if node in parent:
            children.setdefault(parent[node], []).append(node)
    order: dict[_Key, int] = {}
    stack = [] if root in parent else [root]
    while stack:
        node = stack.pop()
        order[node] = len(order)
        stack.extend(reversed(children.get(node, [])))
    return order


def _refuse(what: str, found: Collection[int], place: str, hint: str | None = None) -> None:
    """Raise an error with the number of defects and the place of the first, if there are any."""
    if found:
        where = f"first at {place} {min(found)}"
        raise HierarchyError(what, where=where, got=f"{len(found)} in all", hint=hint)


def _row_links(rows: Iterable[tuple[int, Sequence[str | None]]]) -> Iterator[_Link]:
    """Yield the links of ARX rows, from a leaf up."""
    known: set[tuple[str | None, ...]] = set()
    for where, row in rows:
        if not row:
            continue
        tail = tuple(row[1:])
        yield where, (row[0], True), (tail[0], False) if tail else None
        if tail in known:  # an earlier row has yielded these links, as for most rows
            continue
        if all(tail):
            known.add(tail)
        path = [(name, False) for name, _ in groupby(tail)]
        yield from ((where, node, above) for node, above in zip_longest(path, path[1:]))


def _dict_links(tree: Mapping[Any, Any]) -> Iterator[_Link]:
    """Yield the links of a nested dict in reading order."""
    repeated: list[int] = []
    invalid: list[int] = []
    seen: set[str] = set()
    stack = _entries(tree, None)
    for entry in count():
        if not stack:
            break
        name, above, content = stack.pop()
        category = (name, False)
        yield entry, category, above
        if name in seen:  # this also ends the walk through a dict that contains itself
            repeated.append(entry)
        elif not isinstance(content, (Mapping, list, tuple)) or not content:
            invalid.append(entry)
        elif isinstance(content, Mapping):
            stack += _entries(content, category)
        else:
            yield from ((entry, (leaf, True), category) for leaf in _texts(content))
        seen.add(name)
    _refuse("an inner node is named twice", repeated, "entry")
    hint = "nest the dict from the root down, {'food': {'fruit': ['apples', 'pears']}}"
    if invalid and all(isinstance(content, str) for content in tree.values()):
        hint += "; for parents by child, pass pd.DataFrame(tree.items(), columns=['child', 'parent'])"
    _refuse("an inner node holds neither a dict of inner nodes nor a list of leaves", invalid, "entry", hint)


def _entries(tree: Mapping[Any, Any], above: _Key | None) -> list[tuple[str, _Key | None, Any]]:
    contents = zip(_texts(tree), tree.values(), strict=True)
    return [(name, above, content) for name, content in contents][::-1]


def _read_cells(column: pd.Series[Any]) -> list[str | None]:
    missing = column.isna().to_numpy()
    texts = iter(_texts(column[~missing]))
    return [None if is_missing else next(texts) for is_missing in missing]


def _strip_padding(row: tuple[str | None, ...]) -> tuple[str | None, ...]:
    """Drop missing cells at the end of a row."""
    end = len(row)
    while end and row[end - 1] is None:
        end -= 1
    return row[:end]


def _texts(values: Iterable[Any]) -> list[str]:
    """Write values as the items of a column are written, in the given order."""
    each = list(values) if isinstance(values, (str, Mapping)) else read_list(values, "the values")
    if all(type(value) is str for value in each):
        return each
    items = Itemsets.from_series(pd.Series([[value] for value in each], dtype=object))
    texts = items.texts()
    return [texts[code] for code in items.codes]


def _check_fanout(fanout: int) -> None:
    if not is_integer(fanout) or fanout < 2:
        raise ParameterError("fanout must be an integer of at least 2", where="fanout", got=describe(fanout))


def _parse_decimal(text: str) -> Decimal | None:
    try:
        number = Decimal(text)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _product(count: int, step: Decimal) -> str:
    return format(_EXACT.multiply(Decimal(count), step), "f")


# --- Chapters and blocks of ICD-10 and ICD-9-CM as ranges of categories, one chapter a paragraph

# ICD-10: version 2019 of the World Health Organization, 22 chapters and 274 blocks, nested ones included.
# ICD-9-CM: 19 chapters and 154 sections; the chapters 280-289 and 740-759 have none.


ICD10 = """
A00-B99 A00-A09 A15-A19 A20-A28 A30-A49 A50-A64 A65-A69 A70-A74 A75-A79 A80-A89 A92-A99 B00-B09 B15-B19
B20-B24 B25-B34 B35-B49 B50-B64 B65-B83 B85-B89 B90-B94 B95-B98 B99

C00-D48 C00-C97 C00-C75 C00-C14 C15-C26 C30-C39 C40-C41 C43-C44 C45-C49 C50 C51-C58 C60-C63 C64-C68
C69-C72 C73-C75 C76-C80 C81-C96 C97 D00-D09 D10-D36 D37-D48

D50-D89 D50-D53 D55-D59 D60-D64 D65-D69 D70-D77 D80-D89

E00-E90 E00-E07 E10-E14 E15-E16 E20-E35 E40-E46 E50-E64 E65-E68 E70-E90

F00-F99 F00-F09 F10-F19 F20-F29 F30-F39 F40-F48 F50-F59 F60-F69 F70-F79 F80-F89 F90-F98 F99

G00-G99 G00-G09 G10-G14 G20-G26 G30-G32 G35-G37 G40-G47 G50-G59 G60-G64 G70-G73 G80-G83 G90-G99

H00-H59 H00-H06 H10-H13 H15-H22 H25-H28 H30-H36 H40-H42 H43-H45 H46-H48 H49-H52 H53-H54 H55-H59

H60-H95 H60-H62 H65-H75 H80-H83 H90-H95

I00-I99 I00-I02 I05-I09 I10-I15 I20-I25 I26-I28 I30-I52 I60-I69 I70-I79 I80-I89 I95-I99

J00-J99 J00-J06 J09-J18 J20-J22 J30-J39 J40-J47 J60-J70 J80-J84 J85-J86 J90-J94 J95-J99

K00-K93 K00-K14 K20-K31 K35-K38 K40-K46 K50-K52 K55-K64 K65-K67 K70-K77 K80-K87 K90-K93

L00-L99 L00-L08 L10-L14 L20-L30 L40-L45 L50-L54 L55-L59 L60-L75 L80-L99

M00-M99 M00-M25 M00-M03 M05-M14 M15-M19 M20-M25 M30-M36 M40-M54 M40-M43 M45-M49 M50-M54 M60-M79 M60-M63
M65-M68 M70-M79 M80-M94 M80-M85 M86-M90 M91-M94 M95-M99

N00-N99 N00-N08 N10-N16 N17-N19 N20-N23 N25-N29 N30-N39 N40-N51 N60-N64 N70-N77 N80-N98 N99

O00-O99 O00-O08 O10-O16 O20-O29 O30-O48 O60-O75 O80-O84 O85-O92 O94-O99

P00-P96 P00-P04 P05-P08 P10-P15 P20-P29 P35-P39 P50-P61 P70-P74 P75-P78 P80-P83 P90-P96

Q00-Q99 Q00-Q07 Q10-Q18 Q20-Q28 Q30-Q34 Q35-Q37 Q38-Q45 Q50-Q56 Q60-Q64 Q65-Q79 Q80-Q89 Q90-Q99

R00-R99 R00-R09 R10-R19 R20-R23 R25-R29 R30-R39 R40-R46 R47-R49 R50-R69 R70-R79 R80-R82 R83-R89 R90-R94
R95-R99

S00-T98 S00-S09 S10-S19 S20-S29 S30-S39 S40-S49 S50-S59 S60-S69 S70-S79 S80-S89 S90-S99 T00-T07 T08-T14
T15-T19 T20-T32 T20-T25 T26-T28 T29-T32 T33-T35 T36-T50 T51-T65 T66-T78 T79 T80-T88 T90-T98

V01-Y98 V01-X59 V01-V99 V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V79 V80-V89 V90-V94
V95-V97 V98-V99 W00-X59 W00-W19 W20-W49 W50-W64 W65-W74 W75-W84 W85-W99 X00-X09 X10-X19 X20-X29 X30-X39
X40-X49 X50-X57 X58-X59 X60-X84 X85-Y09 Y10-Y34 Y35-Y36 Y40-Y84 Y40-Y59 Y60-Y69 Y70-Y82 Y83-Y84 Y85-Y89
Y90-Y98

Z00-Z99 Z00-Z13 Z20-Z29 Z30-Z39 Z40-Z54 Z55-Z65 Z70-Z76 Z80-Z99

U00-U85 U00-U49 U82-U85
"""

ICD9 = """
001-139 001-009 010-018 020-027 030-041 042 045-049 050-059 060-066 070-079 080-088 090-099 100-104
110-118 120-129 130-136 137-139

140-239 140-149 150-159 160-165 170-176 179-189 190-199 200-209 210-229 230-234 235-238 239

240-279 240-246 249-259 260-269 270-279

280-289

290-319 290-294 295-299 300-316 317-319

320-389 320-327 330-337 338 339 340-349 350-359 360-379 380-389

390-459 390-392 393-398 401-405 410-414 415-417 420-429 430-438 440-449 451-459

460-519 460-466 470-478 480-488 490-496 500-508 510-519

520-579 520-529 530-539 540-543 550-553 555-558 560-569 570-579

580-629 580-589 590-599 600-608 610-612 614-616 617-629

630-679 630-639 640-649 650-659 660-669 670-677 678-679

680-709 680-686 690-698 700-709

710-739 710-719 720-724 725-729 730-739

740-759

760-779 760-763 764-779

780-799 780-789 790-796 797-799

800-999 800-804 805-809 810-819 820-829 830-839 840-848 850-854 860-869 870-879 880-887 890-897 900-904
905-909 910-919 920-924 925-929 930-939 940-949 950-957 958-959 960-979 980-989 990-995 996-999

V01-V91 V01-V09 V10-V19 V20-V29 V30-V39 V40-V49 V50-V59 V60-V69 V70-V82 V83-V84 V85 V86 V87 V88 V89 V90
V91

E000-E999 E000 E001-E030 E800-E807 E810-E819 E820-E825 E826-E829 E830-E838 E840-E845 E846-E849 E850-E858
E860-E869 E870-E876 E878-E879 E880-E888 E890-E899 E900-E909 E910-E915 E916-E928 E929 E930-E949 E950-E959
E960-E969 E970-E979 E980-E989 E990-E999
"""
