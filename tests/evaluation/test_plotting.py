"""Pictures: what is drawn is what was counted, and it can be read without colours."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from conftest import frame_of
from hypothesis import given, strategies as st

import pdanon
from pdanon.evaluation.plotting import bin_sizes, comparison, frontier

matplotlib = pytest.importorskip("matplotlib")
from matplotlib import pyplot  # noqa: E402
from matplotlib.text import Text  # noqa: E402

# With k=2 and m=2 only rice and salt are merged; a third item would be lost otherwise.
ROWS = [{"rice", "tea"}, {"rice", "salt"}, {"rice", "tea"}, {"tea"}]
TABLE = pd.DataFrame(
    {
        "algorithm": ["a", "b", "a", "b", "c", "c"],
        "k": [5, 2, 2, 5, 2, 5],
        "NCP": [0.4, 0.1, 0.2, np.nan, 0.3, 0.3],
        "below_k": [0.1, 0.5, 0.4, 0.2, 0.4, 0.2],
    }
)


@pytest.fixture(autouse=True)
def headless():
    pyplot.switch_backend("Agg")
    pyplot.close("all")
    yield
    pyplot.close("all")


@pytest.fixture
def frame():
    return frame_of(ROWS)


@pytest.fixture
def result(frame):
    return frame.txanon.pcta(k=2, m=2)


def heights(ax):
    return [bar.get_height() for bar in ax.patches]


def widths(ax):
    return [bar.get_width() for bar in ax.patches]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def ticks(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


# --- One result


def test_loss_draws_the_shares_in_percent(result):
    ax = result.plot.loss()
    # Of 7 occurrences 4 stand for 2 of 3 items.
    assert ticks(ax.yaxis) == ["occurrences", "suppressed", "NCP"]
    assert widths(ax) == pytest.approx([100 * 4 / 7, 0, 100 * 8 / 21])
    assert texts(ax) == ["57.1 %", "0 %", "38.1 %"]
    assert ax.get_xlim()[0] == 0
    assert ax.get_xticks().tolist() == [0, 20, 40, 60, 80, 100]
    assert ax.get_xlabel() == "information lost (%)"


def test_loss_without_a_share_is_an_error(result):
    with pytest.raises(pdanon.ParameterError, match="no measure of loss is a share"):
        replace(result, loss=pd.Series({"UL": -3.0})).plot.loss()


def test_risk_is_drawn_before_and_after(frame, result):
    ax = result.plot.risk(frame)
    # Before, salt alone finds one row. After, no item and no pair does.
    assert heights(ax) == [25, 25, 0, 0]
    assert texts(ax) == ["25", "25", "0", "0"]
    assert [bar.get_hatch() for bar in ax.patches] == ["///", "///", "", ""]
    assert ax.get_xticks().tolist() == [1, 2]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["before", "after"]
    assert ax.get_ylabel() == "rows with fewer than 2 matching rows (%)"


def test_risk_of_another_k_and_m(frame, result):
    ax = result.plot.risk(frame, k=4, m=1)
    assert heights(ax) == [100, 100]  # no item is in four rows, before or after
    assert ax.get_ylabel() == "rows with fewer than 4 matching rows (%)"


def test_risk_of_the_recoded_column_among_lists(frame):
    two = frame.assign(other=[["x"], ["y"], ["z"], ["z"]])
    result = two.txanon.pcta("items", k=2, m=1)
    assert heights(result.plot.risk(two)) == [25, 0]


def test_risk_of_other_rows_is_refused(frame, result):
    with pytest.raises(pdanon.ParameterError, match="not of this frame"):
        result.plot.risk(frame.head(3))
    with pytest.raises(pdanon.ParameterError, match="not of this frame"):
        result.plot.risk(frame.set_axis([9, 8, 7, 6]))


def test_sizes_of_labels(result):
    ax = result.plot.sizes()
    assert ticks(ax.xaxis) == ["1", "2"]  # tea, and (rice,salt)
    assert heights(ax) == [1, 1]
    assert ax.get_ylabel() == "published labels (number)"


def test_sizes_of_classes(result):
    classes = pd.DataFrame({"group": [0, 1, 2], "size": [2, 5, 2], "age": ["a", "b", "c"]})
    ax = replace(result, classes=classes).plot.sizes()
    assert ticks(ax.xaxis) == ["2", "5"]
    assert heights(ax) == [2, 1]
    assert ax.get_ylabel() == "classes (number)"


def test_mapping_draws_the_largest_generalized_items():
    frame = frame_of([{"a1", "b1"}, {"a2", "b2"}, {"a3", "b1"}, {"c"}, {"c"}])
    tree = {"all": {"A": ["a1", "a2", "a3"], "B": ["b1", "b2"], "C": ["c", "d"]}}
    result = frame.txanon.apriori(k=2, m=1, hierarchy=tree)
    ax = result.plot.mapping()
    assert ticks(ax.yaxis) == ["A", "B"]
    assert widths(ax) == [3, 2]
    assert texts(ax) == ["3", "2"]
    assert ax.get_title() == "Generalized items, all 2"
    ax = result.plot.mapping(most=1)
    assert ticks(ax.yaxis) == ["A"]
    assert ax.get_title() == "Generalized items, the 1 largest of 2"


def test_nothing_to_draw():
    result = frame_of([{"a"}, {"a"}]).txanon.pcta(k=2, m=1)
    assert result.plot.mapping().get_title() == "No item is generalized"
    empty = frame_of([]).txanon.pcta(k=2, m=1)
    for ax in (empty.plot.sizes(), empty.plot.mapping(), empty.plot.loss(), empty.plot.risk(empty.frame)):
        ax.figure.canvas.draw()
        assert sum(heights(ax)) <= 0.6 * len(ax.patches)  # what there is has no length


def test_labels_are_text_and_short():
    items = ["$\\frac$", "line\nline\x07", "x" * 300]
    result = frame_of([{item} for item in items]).txanon.pcta(k=2, m=1)
    ax = result.plot.mapping()
    ax.figure.canvas.draw()
    (label,) = ticks(ax.yaxis)
    assert len(label) < 50
    assert label.isprintable()


def test_axes_are_those_given(frame, result):
    _, ax = pyplot.subplots()
    for drawn in (result.plot.loss(ax), result.plot.risk(frame, ax=ax), result.plot.sizes(ax)):
        assert drawn is ax
    assert result.plot.mapping(ax=ax) is ax
    assert comparison(TABLE, ax=ax) is ax
    assert frontier(TABLE, risk="below_k", ax=ax) is ax
    assert pyplot.get_fignums() == [1]


def pictures(result, frame, axes):
    risk, loss, sizes, mapping = axes
    result.plot.risk(frame, m=3, ax=risk)
    result.plot.loss(loss)
    result.plot.sizes(sizes)
    result.plot.mapping(ax=mapping)


def drawn_texts(ax):
    """The boxes of what can be read at the axes: bars, ticks, names and title."""
    shown = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
    shown += ax.get_legend().get_texts() if ax.get_legend() else []
    for axis, bounds in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        ticks = axis.get_major_ticks()
        shown += [tick.label1 for tick in ticks if min(bounds) <= tick.get_loc() <= max(bounds)]
    return [(text.get_text(), Text.get_window_extent(text)) for text in shown if text.get_text()]


CROWDED = [[f"item {n} of a long name", f"item {n + 1} of a long name"] for n in range(60)]
RELEASES = {
    "many labels": lambda: (frame_of(CROWDED * 2), {"k": 5, "m": 2}),
    "many sizes": lambda: (
        frame_of([[f"{n:02}{place}" for place in range(3)] for n in range(17) for _ in range(n + 1)]),
        {"k": 9, "m": 1},
    ),
    "one item": lambda: (frame_of([["a"]] * 4), {"k": 2, "m": 1}),
    "baskets": lambda: (pdanon.read_parquet("examples/baskets.parquet", ["items"]), {"k": 5, "m": 2}),
}


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["constrained", "tight"])
@pytest.mark.parametrize("shape", [(1, 1), (2, 2)], ids=["alone", "four in a figure"])
@pytest.mark.parametrize("name", RELEASES)
def test_all_that_is_written_is_inside_the_figure(name, shape, layout):
    frame, asked = RELEASES[name]()
    result = frame.txanon.pcta(**asked)
    figures = [pyplot.subplots(*shape, layout=layout, squeeze=False) for _ in range(4 // np.prod(shape))]
    pictures(result, frame, np.concatenate([axes.ravel() for _, axes in figures]))
    for figure, axes in figures:
        figure.canvas.draw()
        width, height = figure.bbox.size
        for ax in axes.ravel():
            for text, box in drawn_texts(ax):
                inside = box.x0 >= -1 and box.y0 >= -1 and box.x1 <= width + 1 and box.y1 <= height + 1
                assert inside, (text, box)


@pytest.mark.slow
@pytest.mark.parametrize("name", RELEASES)
def test_numbers_do_not_cover_each_other(name):
    frame, asked = RELEASES[name]()
    figure, axes = pyplot.subplots(2, 2, layout="constrained")
    pictures(frame.txanon.pcta(**asked), frame, axes.ravel())
    figure.canvas.draw()
    for ax in (axes[0, 0], axes[1, 0]):
        for labels in (ax.texts, [label for label in ax.get_xticklabels() if label.get_text()]):
            boxes = sorted(
                (Text.get_window_extent(label).extents for label in labels), key=lambda box: box[0]
            )
            for first, second in pairwise(boxes):
                assert first[2] <= second[0] or first[3] <= second[1] or second[3] <= first[1]
    for labels in (axes[1, 1].texts, axes[1, 1].get_yticklabels()):
        boxes = sorted((box.y0, box.y1) for box in map(Text.get_window_extent, labels))
        # Letters stand on a line and seldom reach the ends of their box.
        assert all(top <= bottom + 0.35 * (top - low) for (low, top), (bottom, _) in pairwise(boxes))


def test_what_is_counted_has_whole_ticks(result):
    table = pd.DataFrame({"algorithm": "a", "k": [2, 5, 10], "NCP": [0.1, 0.2, 0.3]})
    axes = [comparison(table).xaxis, result.plot.sizes().yaxis, result.plot.mapping().xaxis]
    for axis in axes:
        assert all(tick == int(tick) for tick in axis.get_ticklocs())


def test_what_is_beyond_the_promise_is_parted(frame, result):
    ax = result.plot.risk(frame, m=3)  # the longest row has two items
    assert ticks(ax.xaxis) == ["1", "2"]
    longer = frame_of([{"a", "b", "c"}] * 2 + [{"a", "b"}, {"a", "c"}, {"b", "c"}])
    release = longer.txanon.pcta(k=2, m=1)
    assert ticks(release.plot.risk(longer, m=3).xaxis) == ["1", "2\n(beyond)", "3\n(beyond)"]
    (line,) = release.plot.risk(longer, m=3).lines
    assert line.get_xdata() == [1.5, 1.5]
    assert ticks(release.plot.risk(longer, k=3, m=3).xaxis) == ["1", "2", "3"]


@pytest.mark.slow
def test_matplotlib_is_needed_only_to_draw():
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pandas as pd, pdanon\n"
        "result = pd.DataFrame({'items': [['a'], ['a']]}).txanon.pcta(k=2)\n"
        "print(result.plot)\n"
        "try: result.plot.loss()\n"
        "except pdanon.ParameterError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert "Plots: loss(), risk(original), sizes(), mapping()" in done.stdout
    assert "plots need the package matplotlib\n  hint:  pip install matplotlib" in done.stdout


# --- Sizes


def test_few_sizes_are_counted_one_by_one():
    names, counts = bin_sizes(np.array([3, 1, 3, 1000]))
    assert names == ["1", "3", "1,000"]
    assert counts.tolist() == [1, 2, 1]


def test_many_sizes_are_put_together():
    names, counts = bin_sizes(np.arange(1, 33))
    assert names == ["1", "2", "3–4", "5–8", "9–16", "17–32"]
    assert counts.tolist() == [1, 1, 2, 4, 8, 16]


@given(st.lists(st.integers(1, 2**40), max_size=60))
def test_every_size_is_in_one_bin(sizes):
    names, counts = bin_sizes(np.array(sizes, np.int64))
    bounds = [[int(end.replace(",", "")) for end in name.split("–")] for name in names]
    inside = [sum(low <= size <= high for size in sizes) for low, *_, high in ([*b, b[-1]] for b in bounds)]
    assert inside == counts.tolist()
    assert sum(inside) == len(sizes)


# --- Comparisons


def test_comparison_draws_a_line_each():
    ax = comparison(TABLE)
    lines = {line.get_label(): np.transpose(line.get_data()).tolist() for line in ax.lines}
    assert lines == {"a": [[2, 0.2], [5, 0.4]], "b": [[2, 0.1]], "c": [[2, 0.3], [5, 0.3]]}
    assert len({line.get_linestyle() for line in ax.lines}) == 3
    assert len({line.get_marker() for line in ax.lines}) == 3
    assert sorted(texts(ax)) == ["a", "b", "c"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("k (rows)", "NCP (share, axis to 0.46)")
    assert ax.get_ylim() == (0, 0.46)


def test_the_axis_of_a_share_is_whole_or_says_where_it_ends():
    whole = comparison(TABLE.assign(NCP=[1.0, *TABLE["NCP"][1:]]))
    assert whole.get_ylabel() == "NCP (0 to 1)"
    assert whole.get_ylim()[0] == 0 < 1 < whole.get_ylim()[1]
    errors = comparison(TABLE.assign(pairs=TABLE["NCP"] + 1), y="pairs")
    assert errors.get_ylim()[0] == 0
    bits = comparison(TABLE.assign(UL=-40.0 - TABLE["NCP"]), y="UL")
    assert bits.get_ylabel() == "utility loss UL (bits)"
    assert bits.get_ylim()[0] < -40


def test_names_of_lines_do_not_cover_each_other():
    table = pd.DataFrame({"algorithm": list("abcdef"), "k": 5, "NCP": [0.1, 0.1001, 0.1002, 0.5, 0.1, 0.1]})
    ax = comparison(table)
    ax.figure.canvas.draw()
    boxes = [Text.get_window_extent(text) for text in ax.texts]  # without the line to the point
    boxes = sorted((box.y0, box.y1) for box in boxes)
    assert all(top <= bottom for (_, top), (bottom, _) in pairwise(boxes))


def test_comparison_needs_one_row_a_point():
    with pytest.raises(pdanon.ParameterError, match="several rows have the same algorithm and k"):
        comparison(pd.concat([TABLE, TABLE.head(1)]))
    with pytest.raises(pdanon.ParameterError, match="lacks columns"):
        comparison(TABLE, y="seconds")


def test_frontier_joins_what_no_other_beats():
    ax = frontier(TABLE, risk="below_k")
    (line,) = ax.lines
    # (0.3, 0.4) is beaten by (0.2, 0.4), and (0.3, 0.2) by none.
    assert np.transpose(line.get_data()).tolist() == [[0.1, 0.5], [0.2, 0.4], [0.3, 0.2], [0.4, 0.1]]
    assert texts(ax) == ["b, k=2", "a, k=2", "c, k=5", "a, k=5"]
    drawn = np.concatenate([points.get_offsets() for points in ax.collections])
    assert len(drawn) == 5  # one row has no NCP
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("NCP (share, axis to 0.46)", "rows below k (share)")
    assert ax.get_xlim() == (0, 0.46)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=12))
def test_frontier_is_that_of_all_pairs(points):
    table = pd.DataFrame(points, columns=["loss", "risk"]).assign(algorithm="a")
    ax = frontier(table, risk="risk", loss="loss")
    joined = {tuple(point) for point in np.transpose(ax.lines[0].get_data()).tolist()}
    unbeaten = {
        (x, y) for x, y in points if not any(a <= x and b <= y and (a, b) != (x, y) for a, b in points)
    }
    assert joined == unbeaten
    pyplot.close("all")
