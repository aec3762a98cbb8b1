"""Hierarchies of codes and paths: worked examples, naive membership, and the tables of ICD."""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given, settings, strategies as st
from trees import DATA, needs_data

from examples import examples
from pdanon.errors import HierarchyError
from pdanon.hierarchy import Hierarchy, sources


def path(tree, code):
    """The names above a code, from below the root down."""
    [leaf] = [v for v in np.flatnonzero(tree.is_leaf) if tree.names[v] == code]
    return [tree.names[v] for v in tree.ancestors_of(leaf)[1:-1]][::-1]


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("I10", ["I00-I99", "I10-I15"]),
        ("i10.0", ["I00-I99", "I10-I15", "I10*"]),
        ("I10X", ["I00-I99", "I10-I15", "I10*"]),
        ("C50.9", ["C00-D48", "C00-C97", "C00-C75", "C50*"]),
        ("T21.3", ["S00-T98", "T20-T32", "T20-T25", "T21*"]),
        ("X619", ["V01-Y98", "X60-X84", "X61*"]),
        ("Y04.2", ["V01-Y98", "X85-Y09", "Y04*"]),
        ("U07.1", ["U00-U85", "U00-U49", "U07*"]),
        ("E17.1", ["E00-E90", "E17*"]),  # in a chapter, between two of its blocks
        ("K95.0", []),
        ("I1", []),
        ("250.83", []),
        ("I.10", []),
    ],
)
def test_icd10(code, expected):
    assert path(Hierarchy.icd10([code, "A00"]), code) == expected


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("250.83", ["240-279", "249-259", "250*"]),
        ("25083", ["240-279", "249-259", "250*"]),
        ("042", ["001-139", "042*"]),
        ("281.1", ["280-289", "281*"]),
        ("e849.0", ["E000-E999", "E846-E849", "E849*"]),
        ("E8499", ["E000-E999", "E846-E849", "E849*"]),
        ("V45.81", ["V01-V91", "V40-V49", "V45*"]),
        ("10", []),  # lost zeros are not guessed
        ("8.45", []),
        ("2.3", []),
    ],
)
def test_icd9(code, expected):
    assert path(Hierarchy.icd9([code, "001"]), code) == expected


def test_atc_in_both_cases():
    tree = Hierarchy.atc(["a10ba02", "A10BA", "A"])
    assert path(tree, "a10ba02") == ["A*", "A10*", "A10B*", "A10BA*"]
    assert path(tree, "A10BA") == ["A*", "A10*", "A10B*"]
    assert path(tree, "A") == []


def test_paths_keep_equal_names_of_different_categories_apart():
    tree = Hierarchy.paths(["food > other > nuts", "drink > other > tea", "drink"], " > ")
    assert path(tree, "food > other > nuts") == ["food", "food > other"]
    assert path(tree, "drink > other > tea") == ["drink", "drink > other"]
    assert path(tree, "drink") == []
    with pytest.raises(HierarchyError, match="first at item 1"):
        Hierarchy.paths(["a/b", "/c"], "/")


_ALL = ["".join(each) for length in (1, 2, 3) for each in product("A1B2.", repeat=length)]
_BOUNDS = [code for code in _ALL if "." not in code and len(code) < 3]


def naive_members(low, high):
    heads = [code for code in _BOUNDS if len(code) == len(low) and low <= code <= high]
    return {code for code in _ALL if code[: len(low)] in heads}


_RANGES = st.lists(st.tuples(st.sampled_from(_BOUNDS), st.sampled_from(_BOUNDS)).map(sorted), max_size=6)


@settings(max_examples=examples(150))
@example([("1", "A"), ("1A", "AA")])  # the inner one holds parts of two categories of the outer one
@given(_RANGES.map(lambda ranges: [(a, b) for a, b in ranges if len(a) == len(b)]))
def test_ranges_hold_what_naive_membership_says(ranges):
    members = {bounds: naive_members(*bounds) for bounds in ranges}
    written = [low if low == high else f"{low.lower()} - {high}" for low, high in ranges]
    if any(not (a <= b or b <= a or not a & b) for a in members.values() for b in members.values()):
        with pytest.raises(HierarchyError, match="overlap"):
            Hierarchy.ranges(_ALL, written)
        return
    tree = Hierarchy.ranges(_ALL, written)
    assert tree.n_leaves == len(_ALL)
    paths = {}
    for leaf in np.flatnonzero(tree.is_leaf):
        paths[tree.names[leaf]] = {tree.names[v] for v in tree.ancestors_of(leaf)[1:]}
    for (low, high), expected in members.items():
        name = f"{low}*" if low == high else f"{low}-{high}"
        assert {code for code, names in paths.items() if name in names} == expected
    covered = set().union(*members.values())
    assert {code for code, names in paths.items() if names == {"*"}} == {*_ALL} - covered


def test_bounds_with_dots_and_of_several_lengths():
    tree = Hierarchy.ranges(["E11.0", "E11.51", "E11.9", "E12.0", "E110"], ["E10-E14", "E11.0-E11.5"])
    assert path(tree, "E11.0") == ["E10-E14", "E11*", "E11.0-E11.5"]
    assert path(tree, "E11.51") == ["E10-E14", "E11*", "E11.0-E11.5", "E11.5*"]
    assert path(tree, "E11.9") == path(tree, "E110") == ["E10-E14", "E11*"]
    assert Hierarchy.ranges(["a"], []).names == ("*", "a")


def chapters(table):
    """The bounds of each chapter, and those of its blocks."""
    for paragraph in table.split("\n\n"):
        chapter, *blocks = [tuple(each.split("-")) * (2 - ("-" in each)) for each in paragraph.split()]
        yield chapter, blocks


@pytest.mark.parametrize(
    ("table", "n_chapters", "n_blocks"),
    [(sources.ICD10, 22, 274), (sources.ICD9, 19, 154)],
)
def test_blocks_lie_in_one_chapter_and_fill_it_from_end_to_end(table, n_chapters, n_blocks):
    found = [*chapters(table)]
    assert (len(found), sum(len(blocks) for _, blocks in found)) == (n_chapters, n_blocks)
    for (low, high), blocks in found:
        assert len(low) == len(high)
        assert len({*blocks}) == len(blocks)
        if blocks:
            assert (min(low for low, _ in blocks), max(high for _, high in blocks)) == (low, high)
    bounds = sorted(chapter for chapter, _ in found)
    assert all(high < low for (_, high), (low, _) in pairwise(bounds))


@pytest.mark.slow
@needs_data
def test_the_sections_of_icd9_are_those_of_two_other_sources():
    edges = pd.read_parquet(DATA / "hierarchies" / "icd9cm_child_parent.parquet")
    official = Hierarchy.of(edges)
    codes = [official.names[v] for v in np.flatnonzero(official.is_leaf)]
    tree = Hierarchy.icd9(codes)
    for theirs, ours in zip(official.cover(codes)[1], tree.cover(codes)[1], strict=True):
        names = [official.names[v] for v in official.ancestors_of(theirs)[1:]]
        ranges = [name for name in names if "-" in name]
        low, _, high = ranges[0].partition("-")
        assert [tree.names[v] for v in tree.ancestors_of(ours)[1:] if "-" in tree.names[v]] == ranges[
            low == high :
        ]
        category = next((name for name in names if len(name) == len(low) and "-" not in name), None)
        assert category is None or f"{category}*" in {tree.names[v] for v in tree.ancestors_of(ours)}
    rows = pd.read_csv(
        DATA / "hierarchies" / "diabetes130_icd9_hierarchy.csv", sep=";", header=None, dtype=str
    )
    diabetes = Hierarchy.icd9(rows[1])
    for code, section, chapter in rows[[1, 2, 3]].drop_duplicates().itertuples(index=False):
        above = path(diabetes, code)
        assert above[0] == chapter
        if section != code and section.partition("-")[0] != section.partition("-")[2]:
            assert section in above
