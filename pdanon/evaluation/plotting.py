"""Pictures of a release, and of algorithms side by side. Needs matplotlib, which is imported to draw.

Each function draws on the axes it is given, or on new ones, and returns them. What is drawn can be told apart
without colours: by hatches, line styles and labels at the data.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdanon.errors import ParameterError
from pdanon.evaluation.canvas import (
    axes,
    check_columns,
    check_tradeoff,
    horizontal,
    label_ends,
    plain,
    room,
    upright,
    whole_numbers,
)
from pdanon.evaluation.fitting import bars_across, key_above, names_beside, say, size_across
from pdanon.evaluation.metrics.risk import exposure, sensitive_of
from pdanon.evaluation.styling import SHARES, styled
from pdanon.itemsets.values import check_count
from pdanon.recoding.counts import class_sizes, is_kept, label_sizes
from pdanon.recoding.result import called

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from pdanon.recoding.result import Anonymized

__all__ = ["Plots", "comparison", "frontier", "styled", "tradeoff"]

_UNITS = {
    "k": "k (rows)",
    "m": "m (known items)",
    "occurrences": "occurrences changed",
    "suppressed": "occurrences suppressed",
    "suppressed_rows": "rows suppressed",
    "NCP_relational": "NCP of quasi-identifiers",
    "stands_for": "items that a changed label stands for (median)",
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
    """The pictures of a result: ``result.plot.loss()`` and others.

    Parameters
    ----------
    result : Anonymized
        What to draw.

    Notes
    -----
    Each method takes ``ax``, the matplotlib axes to draw on, by default those of a new figure, and returns
    them. They raise `ParameterError` if matplotlib is not installed.

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

    def loss(self, ax: Axes | None = None) -> Axes:
        """Draw the measures of loss that are shares, in percent of 100. Others, as UL in bits, are left out.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

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
        horizontal(ax, names, percents, [f"{value:.3g} %" for value in percents])
        ax.set_xlim(0, room(np.array([100.0])))
        ax.set_xticks(range(0, 101, 20))
        say(ax, x="information lost (%)", title="Information loss", beside=names)
        return ax

    def risk(
        self,
        original: pd.DataFrame,
        column: Hashable | None = None,
        *,
        k: int | None = None,
        m: int | None = None,
        ax: Axes | None = None,
    ) -> Axes:
        """Draw how many rows an attacker can narrow down to fewer than k, before and after.

        Parameters
        ----------
        original : pandas.DataFrame
            What the release was made from; a result does not keep it.
        column : hashable, optional
            The list column. By default the only one that was recoded.
        k, m : int, optional
            As for `risk`. By default those of the guarantee; m is 2 if it has none.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Raises
        ------
        ParameterError
            If the original does not have the rows of the release, or k is unknown.

        Notes
        -----
        The attacker knows the quasi-identifiers of the guarantee, if it has some, and none of its sensitive
        items: the picture is about what is promised. `risk` counts with all items known.
        """
        guarantee = self._result.guarantee
        asked = getattr(guarantee, "k", None)
        k = asked if k is None else k
        promised = getattr(guarantee, "m", None) if k == asked else None
        tables = exposure(self._result, original, column, k=k, m=m)
        return draw_risk(tables, k, ax, promised=promised, sensitive=bool(sensitive_of(self._result)))

    def sizes(self, ax: Axes | None = None) -> Axes:
        """Draw how many items each published label stands for, or how many rows each class has.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes

        Notes
        -----
        Classes are drawn if the result has them. Many different sizes are put together, each bar with twice
        as many of them as the one before.
        """
        if self._result.classes is not None:
            sizes: NDArray[Any] = class_sizes(self._result.classes)
            what, members = called(self._result)
            of, title = f"{members} in each", f"Sizes of {what}"
        else:
            sizes = label_sizes(self._result.mapping).to_numpy(np.int64)
            what, of, title = "published labels", "items that a label stands for", "What labels stand for"
        ax = axes(ax)
        names, counts = bars_across(ax, sizes)
        upright(ax, names, counts)
        say(ax, x=of, y=f"{what} (number)", title=title)
        return ax

    def mapping(self, most: int = 15, ax: Axes | None = None) -> Axes:
        """Draw the labels that stand for most items; the label of a set names its members.

        Parameters
        ----------
        most : int
            How many labels to draw.
        ax : matplotlib.axes.Axes, optional
            Where to draw.

        Returns
        -------
        matplotlib.axes.Axes
        """
        mapping = self._result.mapping
        sizes = label_sizes(mapping[~is_kept(mapping)])
        shown = sizes.head(check_count(most, "most", least=1))
        ax = axes(ax)
        names = names_beside(ax, shown.index)
        horizontal(ax, names, shown.to_numpy(), [*map(str, shown)])
        whole_numbers(ax.xaxis)
        some = f"the {len(shown)} largest of {len(sizes)}" if len(shown) < len(sizes) else f"all {len(sizes)}"
        title = f"Generalized items, {some}" if len(sizes) else "No item is generalized"
        say(ax, x="items that it stands for", title=title, beside=names)
        return ax


def draw_risk(
    tables: dict[str, pd.DataFrame],
    k: int | None,
    ax: Axes | None = None,
    *,
    promised: int | None = None,
    sensitive: bool = False,
) -> Axes:
    """Draw the risk before and after, as `pdanon.evaluation.metrics.risk.exposure` gives it.

    If the guarantee speaks of so many known items only, those beyond are parted by a line, and named. The
    axis says it if sensitive items are not known.
    """
    ax = axes(ax)
    known = next(iter(tables.values()))["known"].to_numpy()
    width = 0.8 / len(tables)
    styles = {"before": ("none", "///"), "after": ("C0", "")}
    for number, (name, table) in enumerate(tables.items()):
        fill, hatch = styles[name]
        percents = 100 * table["below_k"].to_numpy(np.float64)
        places = known + (number - (len(tables) - 1) / 2) * width
        texts = [f"{value:.3g}" for value in percents]
        bars = ax.bar(places, percents, width, facecolor=fill, edgecolor="C0", hatch=hatch, label=name)
        size = size_across(ax, texts, len(known) * len(tables) + 1)
        ax.bar_label(bars, texts, padding=2, fontsize=size)
    beyond = known[known > (known.max() if promised is None else promised)]
    ax.set_xticks(known, [f"{number}\n(beyond)" if number in beyond else f"{number}" for number in known])
    if len(beyond):
        ax.axvline(beyond[0] - 0.5, color="0.6", linewidth=1, linestyle=":")
    title = "Risk before and after" if len(tables) > 1 else "Risk of the release"
    what = "items, none of them sensitive," if sensitive else "items"
    say(ax, x=f"{what} that an attacker knows (up to)", y=f"rows matched by fewer than {k} (%)", title=title)
    top = room(100 * pd.concat(tables)["below_k"].to_numpy(np.float64))
    plain(ax)
    if len(tables) > 1:
        top *= key_above(ax, size)
    ax.set_ylim(0, top)
    return ax


def comparison(
    table: pd.DataFrame, *, x: str = "k", y: str = "NCP", by: str = "algorithm", ax: Axes | None = None
) -> Axes:
    """Draw one line for each algorithm of a comparison.

    Parameters
    ----------
    table : pandas.DataFrame
        One row for each algorithm and value of ``x``.
    x, y : str
        Columns of numbers. Rows without a value of ``y`` are left out.
    by : str
        The column that says which line a row belongs to.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

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
    repeated = int(drawn.duplicated([by, x]).sum())
    if repeated:
        hint = f"select rows so that each {by} has one for each {x}, or average them"
        raise ParameterError(f"several rows have the same {by} and {x}", got=f"{repeated} more", hint=hint)
    ax = axes(ax)
    ends = []
    for number, (name, line) in enumerate(drawn.groupby(by, sort=False, observed=True)):
        line = line.sort_values(x)
        style, marker = _LINES[number % len(_LINES)], _MARKERS[number % len(_MARKERS)]
        ax.plot(line[x], line[y], linestyle=style, marker=marker, markersize=5, label=str(name))
        ends.append((float(line[x].iloc[-1]), float(line[y].iloc[-1]), str(name)))
    ends_at = _from_nothing(y, drawn[y], ax.set_ylim)
    ax.set(xlabel=_UNITS.get(x, x), ylabel=_UNITS.get(y, y) + ends_at)
    if pd.api.types.is_integer_dtype(drawn[x]):
        whole_numbers(ax.xaxis)
    plain(ax)
    label_ends(ax, ends)
    return ax


def frontier(
    table: pd.DataFrame, *, risk: str, loss: str = "NCP", by: str = "algorithm", ax: Axes | None = None
) -> Axes:
    """Draw risk against loss, and join the releases that no other beats in both.

    Parameters
    ----------
    table : pandas.DataFrame
        One row a release.
    risk, loss : str
        Columns of numbers, of which less is better. Rows without one of them are left out.
    by : str
        The column that names a release, together with ``k`` if there is such a column.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

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
    for number, (name, points) in enumerate(drawn.groupby(by, sort=False, observed=True)):
        marker = _MARKERS[number % len(_MARKERS)]
        ax.scatter(points[loss], points[risk], marker=marker, s=36, label=str(name), zorder=2)
    for _, point in drawn[best].iterrows():
        text = f"{point[by]}, k={point['k']}" if "k" in drawn else str(point[by])
        place = (point[loss], point[risk])
        ax.annotate(text, place, xytext=(6, 4), textcoords="offset points", fontsize=8, parse_math=False)
    ax.margins(x=0.15, y=0.1)
    ends_at = _from_nothing(loss, drawn[loss], ax.set_xlim)
    ax.set(xlabel=_UNITS.get(loss, loss) + ends_at, ylabel=_UNITS.get(risk, risk))
    ax.legend(frameon=False, loc="upper right")
    plain(ax)
    return ax


def tradeoff(table: pd.DataFrame, *, measure: str = "occurrences", ax: Axes | None = None) -> Axes:
    """Draw what each k and m costs: the darker the more.

    Parameters
    ----------
    table : pandas.DataFrame
        What `pdanon.tradeoff` returned: one row for each ``k`` and ``m``.
    measure : str
        One of its columns of shares or errors. A cell without a release is empty, and an error above 1 as
        dark as 1.
    ax : matplotlib.axes.Axes, optional
        Where to draw.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If a column is missing, or a k and m is there twice.

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
    titles = _UNITS | {"below_k": "rows below k, for who knows m + 1 items"}
    say(ax, x=_UNITS["k"], y=_UNITS["m"], title=titles.get(measure, measure))
    for (row, place), share in np.ndenumerate(shares):
        if np.isnan(share):  # on the colour of the page
            ax.text(place, row, "none", ha="center", va="center")
        else:
            colour = "white" if share > 0.6 else "black"
            ax.text(place, row, f"{100 * share:.3g} %", ha="center", va="center", color=colour)
    return ax


def _from_nothing(name: str, values: pd.Series[float], set_ends: Callable[[float, float], object]) -> str:
    """Begin the axis of a share or an error at 0, and say where that of a share ends, if not at 1."""
    most = float(values.max()) if len(values) else 1.0
    if name in ("singles", "pairs"):
        set_ends(0, 1.15 * most or 1.0)
    if name not in SHARES:
        return ""
    top = float(f"{min(1.15 * most, 1.0):.2g}") or 1.0
    set_ends(0, top if most < 1 else 1.02)  # so that a line at the top is whole
    return " (0 to 1)" if top == 1 else f" (share, axis to {top:g})"
