"""Plots of a release, and of several algorithms. Each function imports matplotlib when it draws."""
# Hatches, line styles and labels distinguish the data, so that no reader depends on colors.

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from itertools import chain, cycle
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.evaluation.metrics.assess import check_assessment
from pdanon.evaluation.metrics.risk import exposure
from pdanon.itemsets.arguments import CallError, called_by_name, unknown_method
from pdanon.itemsets.cards import SHARES, Measures
from pdanon.itemsets.libraries import takes_tables
from pdanon.itemsets.lists import Numbers
from pdanon.itemsets.mapping import is_kept, label_sizes
from pdanon.itemsets.validation import check_count, check_frame, check_text
from pdanon.recoding.counts import class_sizes
from pdanon.recoding.result import class_names
from pdanon.recoding.risk import hidden_items

__all__ = ["Plots", "assessment", "comparison", "frontier", "styled", "tradeoff"]


def __dir__() -> list[str]:
    """Return the public names."""
    return __all__


if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.text import Text

    from pdanon.recoding.result import Anonymized


_GLYPH = 0.6  # width of a character, as a share of the font size
_PROSE = 0.53  # average width of a character in a sentence, as a share of the font size
_LEFT = 0.85  # share of the height that remains after the layout
_LINE = 1.25  # height of a line, as a multiple of the font size
_BESIDE = 0.45  # maximum share of the width for names beside horizontal bars
_LEAST_SIZE = 4.0  # points
_MOST_BARS = 16
_SHORTEST, _LONGEST = 8, 42  # characters of a name


def label_axes(ax: Axes, *, x: str, y: str = "", title: str = "", beside: Sequence[str] = ()) -> None:
    """Set the axis labels and the title, wrapped to the room that the names ``beside`` the bars leave."""
    width, height = _extent(ax)
    width -= max(map(len, beside), default=0) * _GLYPH * _size(ax.xaxis.label)
    ax.set_xlabel(_wrap(x, width, _size(ax.xaxis.label)))
    ax.set_ylabel(_wrap(y, _LEFT * height, _size(ax.yaxis.label)))
    ax.set_title(_wrap(title, width, _size(ax.title)))


def names_beside(ax: Axes, names: Iterable[str]) -> list[str]:
    """Return names for horizontal bars, each on one line and truncated to leave room for the bars."""
    names = list(names)
    width = int(_BESIDE * _extent(ax)[0] / (_GLYPH * size_down(ax, len(names))))
    most = min(max(width, _SHORTEST), _LONGEST)
    lines = ["".join(each if each.isprintable() else " " for each in name) for name in names]
    return [line if len(line) <= most else line[: most - 1] + "…" for line in lines]


def bin_sizes(sizes: Numbers, most: int = _MOST_BARS) -> tuple[list[str], Numbers]:
    """Count each size if at most ``most`` sizes differ; otherwise count the bins 1, 2, 3 to 4, 5 to 8, ..."""
    exact, counts = np.unique(sizes.astype(np.int64), return_counts=True)
    if len(exact) <= most:
        return [f"{size:,}" for size in exact], counts
    bands = doubling_bands(exact)
    totals = np.bincount(bands - bands[0], weights=counts).astype(np.int64)
    return [band_name(band) for band in range(bands[0], bands[-1] + 1)], totals


def doubling_bands(numbers: Numbers) -> Numbers:
    """Return the band of each number: band 0 is 0, band 1 is 1, and others end at 2, 4, 8, ..."""
    return np.array([max(int(number) - 1, 0).bit_length() + (number > 0) for number in numbers], np.int64)


def band_name(band: int) -> str:
    """Return the numbers in a band of `doubling_bands` as text."""
    return range_name(2**band // 4 + 1, 2**band // 2)


def range_name(low: int, high: int) -> str:
    """Return a range of numbers as text; one of a single number, or an empty one, as its end."""
    return f"{high:,}" if low >= high else f"{low:,}–{high:,}"


def size_across(ax: Axes, texts: Sequence[str], places: int) -> float:
    """Return the font size at which texts side by side, in a number of places, do not overlap."""
    longest = max(map(len, texts), default=0) + 0.5
    return _clip_size(ax, _extent(ax)[0] / max(places, 1) / (_GLYPH * longest))


def size_down(ax: Axes, lines: int) -> float:
    """Return the font size at which a number of lines fit one above the other."""
    return _clip_size(ax, _extent(ax)[1] / max(lines, 1) / _LINE)


def _clip_size(ax: Axes, size: float) -> float:
    return max(min(size, _size(ax.xaxis.label)), _LEAST_SIZE)


def _size(text: Text) -> float:
    return float(text.get_fontsize())


def _extent(ax: Axes) -> tuple[float, float]:
    """Return the width and height of the axes in points."""
    points = 72 / ax.figure.dpi
    return ax.bbox.width * points, ax.bbox.height * points


def _wrap(text: str, room: float, size: float) -> str:
    return fill(text, max(int(room / (_PROSE * size)), _SHORTEST), break_long_words=False)


# --- Axes, bars, labels of lines, and checks of tables


def axes(ax: Axes | None) -> Axes:
    """Return the axes that are passed, or the axes of a new figure."""
    if ax is not None:
        if not callable(getattr(ax, "get_xaxis", None)):
            raise ParameterError("not axes of matplotlib", where="ax", got=type(ax).__name__)
        return ax
    try:
        from matplotlib import pyplot
    except ImportError:
        raise ParameterError("plots need the package matplotlib", hint="pip install matplotlib") from None
    return pyplot.subplots(layout="constrained")[1]


def horizontal_bars(ax: Axes, names: Sequence[str], values: NDArray[Any], texts: Iterable[str]) -> None:
    """Draw horizontal bars, the first at the top, with names on the left and values on the right."""
    places = np.arange(len(names))
    size = size_down(ax, max(len(names), 3))
    bars = ax.barh(places, values, 0.6, color="C0")
    ax.bar_label(bars, list(texts), padding=3, fontsize=size)
    ax.set_yticks(places, names, parse_math=False, fontsize=size)
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(max(len(names), 3) - 0.5, -0.5)
    ax.set_xlim(0, room(values))
    hide_frame(ax)


def vertical_bars(ax: Axes, sizes: Numbers) -> None:
    """Draw the number of each size as vertical bars, or that of bins if the font would have to shrink."""
    for most in (_MOST_BARS, 1):
        names, counts = bin_sizes(sizes, most)
        texts = [f"{count:,}" for count in counts]
        size = size_across(ax, [*names, *texts], len(names))
        if size == size_across(ax, [*names, *texts], 1):
            break
    places = np.arange(len(names))
    bars = ax.bar(places, counts, color="C0")
    ax.bar_label(bars, texts, padding=2, fontsize=size)
    ax.set_xticks(places, names, fontsize=size)
    ax.set_ylim(0, room(counts))
    whole_numbers(ax.yaxis)
    hide_frame(ax)


def room(values: NDArray[Any]) -> float:
    """Return the end of an axis that leaves room for the numbers at the bars."""
    return 1.18 * float(values.max(initial=0)) or 1.0


def hide_frame(ax: Axes) -> None:
    """Hide the top and the right line of the frame."""
    ax.spines[["top", "right"]].set_visible(False)


def whole_numbers(axis: Axis) -> None:
    """Place ticks at whole numbers only."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True))


def label_ends(ax: Axes, ends: Sequence[tuple[float, float, str]]) -> None:
    """Write the name of each line beside its end, and move overlapping names apart."""
    low, high = ax.get_ylim()
    least = -np.inf
    for x, y, name in sorted(ends, key=lambda end: (end[1], end[2])):
        least = max(y, least + (high - low) / 20)
        place: Any = {"xytext": (1.03, least), "textcoords": ax.get_yaxis_transform(), "va": "center"}
        line = {"arrowstyle": "-", "linewidth": 0.5, "color": "0.6"}
        ax.annotate(name, (x, y), fontsize=9, parse_math=False, arrowprops=line, **place)


def check_columns(table: pd.DataFrame, columns: Sequence[str], numbers: Sequence[str]) -> None:
    """Check that a table has each of some columns once, and that some of them hold numbers."""
    check_frame(table, "the table")
    labels = list(table.columns)
    for name in columns:
        check_text(name, "the name of a column")
    missing = [name for name in columns if labels.count(name) != 1]
    if missing:
        problem, hint = "the table lacks columns, or has them twice", f"the table has {labels}"
        raise ParameterError(problem, got=missing, hint=hint)
    texts = [name for name in numbers if not pd.api.types.is_numeric_dtype(table[name])]
    if texts:
        raise ParameterError("the columns to draw must hold numbers", where="table", got=texts)


def check_tradeoff(table: pd.DataFrame, measure: str) -> None:
    """Check that a table has exactly one value of a measure for each k and m."""
    check_columns(table, ["k", "m", measure], numbers=["k", "m", measure])
    if missing := int(table[["k", "m"]].isna().any(axis=1).sum()):
        raise ParameterError("rows have no k or no m", where="table", got=f"{missing} rows")
    if repeated := int(table.duplicated(["k", "m"]).sum()):
        raise ParameterError("several rows have the same k and m", where="table", got=f"{repeated} more")


# --- Tables for notebooks


def styled(table: pd.DataFrame) -> Measures:
    """Format a part of a table of `pdanon.compare`, `pdanon.tradeoff` or `pdanon.risk` for a notebook.

    Parameters
    ----------
    table : pandas.DataFrame
        The part. It is not modified.

    Returns
    -------
    DataFrame
        The same values. A notebook shows shares and errors in percent, each with a bar that is full at 100 %,
        memory in megabytes, and counts with commas. It hides the index and columns without values.

    Raises
    ------
    ParameterError
        If ``table`` is not a DataFrame, or has a column twice.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.plotting import styled
    >>> page = styled(pd.DataFrame({"k": [5, 11], "NCP": [0.125, None]}))._repr_html_()
    >>> "12.5 %" in page, "nan" in page
    (True, False)
    """
    check_frame(table, "the table")
    if not table.columns.is_unique:
        raise ParameterError("the table has a column twice", got=list(table.columns))
    return Measures(table)


# --- Plots of a release and of several algorithms


_UNITS = {
    "k": "k (rows)",
    "m": "m (known items)",
    "occurrences": "occurrences changed",
    "suppressed": "occurrences suppressed",
    "suppressed_rows": "rows suppressed",
    "NCP_relational": "NCP of quasi-identifiers",
    "stands_for": "items per generalized label (median)",
    "singles": "error of the count of an item (average, relative)",
    "pairs": "error of the count of a pair (average, relative)",
    "UL": "utility loss UL (bits)",
    "seconds": "time (s)",
    "singled_out": "rows singled out (share)",
    "below_k": "rows below k (share)",
}
_LINES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")


class Plots:
    """The plots of a result: ``result.plot.loss()`` and others.

    Parameters
    ----------
    result : Anonymized
        The result to draw.

    Notes
    -----
    Each method draws on ``ax``, by default the axes of a new figure, and returns these matplotlib axes. It
    raises `ParameterError` if matplotlib is not installed.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
    >>> ax = df.txanon.pcta(k=2, m=2).plot.risk(df)
    >>> [text.get_text() for text in ax.texts]
    ['25', '25', '0', '0']
    """

    def __init__(self, result: Anonymized) -> None:
        self._result = result

    def __repr__(self) -> str:
        return "Plots: loss(), risk(original), sizes(), mapping()"

    def __call__(self, *args: Any, **kwargs: Any) -> Axes:
        """Name the plots: no one of them is the default."""
        hint = "call one of its methods: plot.loss(), plot.risk(original), plot.sizes(), plot.mapping()"
        raise CallError("plot is not a function", where="result.plot()", hint=hint)

    __getattr__ = unknown_method("there is no such plot", "result.plot")

    def loss(self, ax: Axes | None = None) -> Axes:
        """Draw the measures of information loss that are shares, in percent. Others, such as UL, are omitted.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            If none of the measures is a share.
        """
        shares = self._result.loss[[name for name in SHARES if name in self._result.loss]]
        if shares.empty:
            raise ParameterError("no measure of loss is a share", got=list(self._result.loss.index))
        ax = axes(ax)
        percents = 100 * shares.to_numpy()
        names = list(shares.index)
        horizontal_bars(ax, names, percents, [f"{value:.3g} %" for value in percents])
        ax.set_xlim(0, room(np.array([100.0])))
        ax.set_xticks(range(0, 101, 20))
        label_axes(ax, x="information lost (%)", title="Information loss", beside=names)
        return ax

    @called_by_name
    def risk(
        self,
        original: pd.DataFrame,
        column: Hashable | None = None,
        *,
        k: int | None = None,
        m: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw the share of rows with fewer than k candidate rows, before and after.

        Parameters
        ----------
        original : pandas.DataFrame
            The original of the release; a result does not keep it.
        column, k, m, ax : hashable, int, int, matplotlib.axes.Axes, optional
            The list column, by default the only recoded one; k and m as in `risk`, by default those of the
            guarantee (m is 2 if it has none); and the axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            If the original does not have the rows of the release, or k is unknown.

        Notes
        -----
        The attacker knows the quasi-identifiers of the guarantee, if it has any, and none of its sensitive
        items: the plot shows what the guarantee covers. `risk` assumes that all items may be known.
        """
        guarantee = self._result.guarantee
        least = getattr(guarantee, "k", None)
        k = least if k is None else k
        tables = exposure(self._result, original, column, k=k, m=m)  # checks k, so it can be compared
        promised = getattr(guarantee, "m", None) if k == least else None
        return draw_risk(tables, k, ax, promised=promised, sensitive=bool(hidden_items(guarantee)))

    def sizes(self, ax: Axes | None = None) -> Axes:
        """Draw the number of items per published label, or the number of rows per class; many are binned.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        if self._result.classes is not None:
            sizes: NDArray[Any] = class_sizes(self._result.classes)
            what, members = class_names(self._result)
            of, title = f"{members} in each", f"Sizes of {what}"
        else:
            sizes = label_sizes(self._result.mapping).to_numpy(np.int64)
            what, of, title = "published labels", "items per label", "Items per published label"
        ax = axes(ax)
        vertical_bars(ax, sizes)
        label_axes(ax, x=of, y=f"{what} (number)", title=title)
        return ax

    def mapping(self, most: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the generalized labels with most items; the label of a set lists its members.

        Parameters
        ----------
        most : int
            Maximum number of labels.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on.

        Returns
        -------
        matplotlib.axes.Axes
        """
        mapping = self._result.mapping
        sizes = label_sizes(mapping[~is_kept(mapping)])
        shown = sizes.head(check_count(most, "most", least=1))
        ax = axes(ax)
        names = names_beside(ax, shown.index)
        horizontal_bars(ax, names, shown.to_numpy(), [*map(str, shown)])
        whole_numbers(ax.xaxis)
        some = f"the {len(shown)} largest of {len(sizes)}" if len(shown) < len(sizes) else f"all {len(sizes)}"
        title = f"Generalized items, {some}" if len(sizes) else "No item is generalized"
        label_axes(ax, x="items per label", title=title, beside=names)
        return ax


def draw_risk(
    tables: dict[str, pd.DataFrame],
    k: int | None,
    ax: Axes | None = None,
    *,
    promised: int | None,
    sensitive: bool,
) -> Axes:
    """Draw the risk before and after, as counted by `pdanon.evaluation.metrics.risk.exposure`."""
    ax = axes(ax)
    known = next(iter(tables.values()))["known"].to_numpy()
    _share_bars(ax, known, {name: table["below_k"] for name, table in tables.items()}, hatched="before")
    beyond = known[known > (known.max() if promised is None else promised)]
    ax.set_xticks(known, [f"{number}\n(beyond)" if number in beyond else f"{number}" for number in known])
    if len(beyond):
        ax.axvline(beyond[0] - 0.5, color="0.6", linewidth=1, linestyle=":")
    title = "Risk before and after" if len(tables) > 1 else "Risk of the release"
    what = "non-sensitive items" if sensitive else "items"
    x, y = f"{what} that an attacker knows (up to)", f"rows with fewer than {k} matching rows (%)"
    label_axes(ax, x=x, y=y, title=title)
    return ax


def _share_bars(ax: Axes, known: NDArray[Any], shares: dict[str, pd.Series[float]], hatched: str) -> None:
    """Draw bars of shares side by side, with their percents above them, and a key if there are several."""
    percents = {name: 100 * each.to_numpy(np.float64) for name, each in shares.items()}
    texts = {name: [f"{value:.3g}" for value in values] for name, values in percents.items()}
    n, width = len(shares), 0.8 / len(shares)
    size = size_across(ax, [*chain.from_iterable(texts.values())], len(known) * n + 1)
    for number, (name, values) in enumerate(percents.items()):
        fill, hatch = ("none", "///") if name == hatched else ("C0", "")
        places = known + (number - (n - 1) / 2) * width
        bars = ax.bar(places, values, width, facecolor=fill, edgecolor="C0", hatch=hatch, label=name)
        ax.bar_label(bars, texts[name], padding=2, fontsize=size)
    hide_frame(ax)
    top = room(np.concatenate([*percents.values()]))
    if n > 1:  # a key of one line above the bars, for which the axis is longer
        spacing = {"borderaxespad": 0, "handlelength": 1.5, "columnspacing": 1}
        ax.legend(frameon=False, loc="upper left", ncols=2, fontsize=size, **spacing)
        share = 2.5 * size / _extent(ax)[1]  # the line and its padding, as a share of the height
        top /= 1 - min(share, 0.4)
    ax.set_ylim(0, top)


def draw_bands(bands: pd.Series[int], ax: Axes, *, of: str, what: str) -> None:
    """Draw the number of rows or items in each band."""
    names = list(bands.index)
    horizontal_bars(ax, names, bands.to_numpy(), [f"{number:,}" for number in bands])
    whole_numbers(ax.xaxis)
    ax.xaxis.set_major_formatter("{x:,.0f}")
    label_axes(ax, x=f"{what} (number)", y=of, beside=names)


def draw_shares(found: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw the shares of rows singled out, and with fewer than k matches, by the number of known items."""
    known, few = np.arange(len(found)), f"fewer than {k} matches"
    _share_bars(ax, known, {"singled out": found["singled_out"], few: found["below_k"]}, hatched=few)
    ax.set_xticks(known, [str(each) for each in found.index])
    label_axes(ax, x="known items (up to)", y="rows (%)")


def draw_lengths(shares: pd.DataFrame, k: int, ax: Axes) -> None:
    """Draw the share of rows with fewer than k matches by row length: a line per number of known items."""
    places = np.arange(len(shares))
    ends: list[tuple[float, float, str]] = []
    for (known, line), style in zip((100 * shares).items(), cycle(_LINES)):
        ax.plot(places, line, linestyle=style, marker="o", markersize=4)
        ends.append((float(places[-1]), float(line.iloc[-1]), f"{known} known"))
    starts = [name.partition("–")[0] for name in shares.index]
    ax.set_xticks(places, starts, fontsize=size_across(ax, starts, len(places)))
    ax.set_ylim(0, 105)
    label_axes(ax, x="items in the row (from)", y=f"rows with fewer than {k} matches (%)")
    hide_frame(ax)
    label_ends(ax, ends)


@takes_tables
def comparison(
    table: pd.DataFrame, *, x: str = "k", y: str = "NCP", by: str = "algorithm", ax: Axes | None = None
) -> Axes:
    """Draw one line per algorithm of a comparison.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per algorithm and value of ``x``.
    x, y : str
        Columns of numbers. Rows without a value of ``y`` are omitted.
    by : str
        The column that assigns rows to lines.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a column is missing, or a line has several rows for one value of ``x``.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.plotting import comparison
    >>> table = pd.DataFrame({"algorithm": ["pcta", "pcta"], "k": [2, 5], "NCP": [0.01, 0.03]})
    >>> ax = comparison(table)
    >>> ax.get_xlabel(), ax.get_ylabel()
    ('k (rows)', 'NCP (share, axis to 0.034)')
    """
    check_columns(table, [by, x, y], numbers=[x, y])
    drawn = table[table[y].notna()]
    if repeated := int(drawn.duplicated([by, x]).sum()):
        hint = f"select one row for each {by} and {x}, or pass averages"
        raise ParameterError(f"several rows have the same {by} and {x}", got=f"{repeated} more", hint=hint)
    ax = axes(ax)
    ends = []
    groups = drawn.groupby(by, sort=False, observed=True)
    for (name, line), style, marker in zip(groups, cycle(_LINES), cycle(_MARKERS)):
        line = line.sort_values(x)
        ax.plot(line[x], line[y], linestyle=style, marker=marker, markersize=5, label=str(name))
        ends.append((float(line[x].iloc[-1]), float(line[y].iloc[-1]), str(name)))
    ends_at = _start_at_zero(y, drawn[y], ax.set_ylim)
    ax.set(xlabel=_UNITS.get(x, x), ylabel=_UNITS.get(y, y) + ends_at)
    if pd.api.types.is_integer_dtype(drawn[x]):
        whole_numbers(ax.xaxis)
    hide_frame(ax)
    label_ends(ax, ends)
    return ax


@takes_tables
def frontier(
    table: pd.DataFrame, *, risk: str, loss: str = "NCP", by: str = "algorithm", ax: Axes | None = None
) -> Axes:
    """Draw risk against information loss, and join the Pareto-optimal releases.

    Parameters
    ----------
    table : pandas.DataFrame
        One row per release.
    risk, loss : str
        Columns of numbers; lower is better. Rows without one of them are omitted.
    by : str
        The column with the name of a release. If there is a column ``k``, it is part of the name.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a column is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.plotting import frontier
    >>> losses, risks = [0.1, 0.2, 0.3], [0.4, 0.5, 0.1]
    >>> table = pd.DataFrame({"algorithm": ["a", "b", "c"], "NCP": losses, "below_k": risks})
    >>> ax = frontier(table, risk="below_k")
    >>> [text.get_text() for text in ax.texts]
    ['a', 'c']
    """
    check_columns(table, [by, risk, loss], numbers=[risk, loss])
    drawn = table.dropna(subset=[risk, loss]).sort_values([loss, risk], kind="stable")
    best = drawn[risk].astype("float64").cummin().shift(fill_value=np.inf) > drawn[risk]
    ax = axes(ax)
    ax.plot(drawn.loc[best, loss], drawn.loc[best, risk], "-", color="0.6", drawstyle="steps-post", zorder=1)
    for (name, points), marker in zip(drawn.groupby(by, sort=False, observed=True), cycle(_MARKERS)):
        ax.scatter(points[loss], points[risk], marker=marker, s=36, label=str(name), zorder=2)
    for _, point in drawn[best].iterrows():
        text = f"{point[by]}, k={point['k']}" if "k" in drawn else str(point[by])
        place = (point[loss], point[risk])
        ax.annotate(text, place, xytext=(6, 4), textcoords="offset points", fontsize=8, parse_math=False)
    ax.margins(x=0.15, y=0.1)
    ends_at = _start_at_zero(loss, drawn[loss], ax.set_xlim)
    ax.set(xlabel=_UNITS.get(loss, loss) + ends_at, ylabel=_UNITS.get(risk, risk))
    ax.legend(frameon=False, loc="upper right")
    hide_frame(ax)
    return ax


@takes_tables
def tradeoff(table: pd.DataFrame, *, measure: str = "occurrences", ax: Axes | None = None) -> Axes:
    """Draw a heat map of the cost of each k and m.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `pdanon.tradeoff`: one row for each ``k`` and ``m``.
    measure : str
        A column of shares or errors. A cell without a release is empty; an error above 1 has the color of 1.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a column is missing, or several rows have the same k and m.

    Examples
    --------
    >>> import pandas as pd
    >>> from pdanon.evaluation.plotting import tradeoff
    >>> table = pd.DataFrame({"k": [3, 5], "m": [2, 2], "occurrences": [0.1, 0.2]})
    >>> [text.get_text() for text in tradeoff(table).texts]
    ['10 %', '20 %']
    """
    check_tradeoff(table, measure)
    cells = table.pivot(index="m", columns="k", values=measure)
    shares = cells.to_numpy(np.float64)
    ax = axes(ax)
    edges = [np.arange(number + 1) - 0.5 for number in reversed(cells.shape)]
    ax.pcolormesh(*edges, np.ma.masked_invalid(shares), cmap="Blues", vmin=0, vmax=1)
    ax.set_xticks(range(cells.shape[1]), [str(k) for k in cells.columns])
    ax.set_yticks(range(cells.shape[0]), [str(m) for m in cells.index])
    titles = _UNITS | {"below_k": "rows below k if m + 1 items are known"}
    label_axes(ax, x=_UNITS["k"], y=_UNITS["m"], title=titles.get(measure, measure))
    for (row, place), share in np.ndenumerate(shares):
        if np.isnan(share):  # text on the background of the page, in its default color
            ax.text(place, row, "none", ha="center", va="center")
        else:
            color = "white" if share > 0.6 else "black"
            ax.text(place, row, f"{100 * share:.3g} %", ha="center", va="center", color=color)
    return ax


@takes_tables
def assessment(table: pd.DataFrame, *, ax: Axes | None = None) -> Axes:
    """Draw the risk of each attack with its interval, and the success on control rows as a cross.

    Parameters
    ----------
    table : pandas.DataFrame
        The table of `pdanon.assess`.
    ax : matplotlib.axes.Axes, optional
        The axes to draw on.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If this is no such table.

    Examples
    --------
    >>> import pdanon
    >>> from pdanon.evaluation.plotting import assessment
    >>> df = pdanon.datasets.make_baskets(100, 40, random_state=1)[["items"]]
    >>> assessment(df.txanon.assess(df, attacks=["linkability"])).get_xlabel()
    'risk, %'
    """
    shown, ax = check_assessment(table).iloc[::-1], axes(ax)
    names = names_beside(ax, shown["attack"])
    risk, low, high = (100 * shown[name].to_numpy(np.float64) for name in ("risk", "low", "high"))
    ax.errorbar(risk, names, xerr=(risk - low, high - risk), fmt="o", capsize=3)
    ax.plot(100 * shown["control"].to_numpy(np.float64), names, "x", color="0.5", label="control")
    label_axes(ax, x="risk, %", beside=names)
    return ax


def _start_at_zero(name: str, values: pd.Series[float], set_ends: Callable[[float, float], object]) -> str:
    """Start the axis of a share or an error at 0, and return a text with the end of the axis of a share."""
    most = float(values.max()) if len(values) else 1.0
    if name in ("singles", "pairs"):
        set_ends(0, 1.15 * most or 1.0)
    if name not in SHARES:
        return ""
    top = float(f"{min(1.15 * most, 1.0):.2g}") or 1.0
    set_ends(0, top if most < 1 else 1.02)  # leave room for the width of a line at 1
    return " (0 to 1)" if top == 1 else f" (share, axis to {top:g})"
