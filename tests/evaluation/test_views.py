"""What notebooks show of tables and measures: figures, and no item."""

import re
from html import escape
from inspect import signature

import numpy as np
import pandas as pd
import pytest
from pages import Page, width_on_a_phone

import pdanon
from pdanon.itemsets.support import search_bound

FRAME = pd.DataFrame({"<b>": [1, 2] * 10, "items": [["secret", "tea"], ["tea"]] * 10})
RESULT = pdanon.keep(FRAME, "<b>").pcta(k=2, m=1)


def test_views_have_the_figures_and_no_item():
    workload = pdanon.Workload.itemsets(FRAME, 5, 1, random_state=0)
    attacked = pdanon.attack(FRAME, RESULT, m=1, n=7, random_state=0)
    answers = workload.are(FRAME, RESULT)
    views = [each._repr_html_() for each in (workload, attacked, answers)]
    assert "5 queries" in views[0]
    assert "7 cases" in views[1]
    assert f"{100 * attacked.rate:.3g} % of the guesses are right" in views[1]
    assert f"{answers.are:.4g}" in views[2]
    assert "0 without an error" in views[2]
    for view, each in zip(views, (workload, attacked, answers), strict=True):
        assert "secret" not in view + repr(each)


def test_views_escape_the_names_of_columns():
    queries = pd.DataFrame({"items": [["tea"]], "<b>": [pd.Interval(1, 1, closed="both")]})
    assert "<b>" not in pdanon.Workload.from_frame(queries)._repr_html_()


# --- df.txanon itself


def test_the_accessor_shows_what_is_in_the_table_and_no_item():
    accessor = FRAME.txanon
    text, page = repr(accessor), accessor._repr_html_()
    risks = FRAME.txanon.risk(k=5, m=2).loc[1]
    assert "20, lists in 'items'" in text
    assert "2 distinct; 1.5 in a row on average, 2 at most" in text
    assert f"2 known items single out {100 * risks['singled_out']:.3g} % of the rows" in text
    assert "secret" not in text + page
    assert len(text.splitlines()) <= 10
    for line in text.splitlines()[1:]:
        name, said = line.split(maxsplit=1)
        assert f">{name}</th>" in page
        assert escape(said) in page


def test_what_can_be_called_next_exists():
    for name, called in re.findall(r"(\w+)\((.*?)\)", repr(FRAME.txanon).partition("look ")[2]):
        if name in ("profile", "risk", "tradeoff", "anonymize", "pcta", "audit", "attack"):
            parameters = signature(getattr(FRAME.txanon, name)).parameters
            assert set(re.findall(r"(\w)=", called.partition("(")[0])) <= set(parameters)
        else:
            assert hasattr(pdanon, name)


def test_the_accessor_counts_nothing_until_it_is_shown(monkeypatch):
    def fails(*arguments):
        raise AssertionError("this was not asked for")

    monkeypatch.setattr("pdanon.itemsets.codes.Itemsets.from_series", fails)
    accessor = FRAME.txanon
    assert callable(accessor.pcta)
    with pytest.raises(AssertionError):
        repr(accessor)


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame({"a": [["x"]], "b": [["y"]]}), "several list-valued columns"),
        (pd.DataFrame({"a": [["secret", None]]}), "an item is missing"),
        (pd.DataFrame({"a": [None, None]}), "no row shows what it holds"),
        (pd.DataFrame({"a": pdanon.as_itemsets([])}), "0, lists in 'a'"),
        (pd.DataFrame({"a": pdanon.as_itemsets([[], None])}), "out 0 % of the rows"),
    ],
)
def test_what_is_wrong_with_the_lists_is_shown_and_not_raised(frame, said):
    assert said in repr(frame.txanon)
    assert "secret" not in repr(frame.txanon)


def test_large_tables_are_shown_by_what_one_item_tells(monkeypatch):
    visited = search_bound(np.array([*map(len, FRAME["items"])]), 2)
    monkeypatch.setattr("pdanon.accessors._MOST_SEARCHED", visited - 1)
    assert "1 known item singles out" in repr(FRAME.txanon)
    monkeypatch.setattr("pdanon.accessors._MOST_SEARCHED", visited)
    assert "2 known items single out" in repr(FRAME.txanon)


# --- Tables of figures


def test_styled_tables_have_percent_and_bars():
    table = pdanon.compare(FRAME, {"pcta": {"m": 1}}, vary={"k": [15, 500]})
    before = table.copy()
    page = table._repr_html_()
    pd.testing.assert_frame_equal(table, before)
    cells = [cell.strip() for cell in Page(page).texts("td")]
    losses = ["occurrences", "singles", "pairs", "suppressed", "NCP"]
    assert [
        f"{100 * loss:.3g} %" for loss in table.loc[0, losses] if f"{100 * loss:.3g} %" not in cells
    ] == []
    assert table.loc[0, "NCP"] > 0
    assert cells.index("15") < cells.index("500")  # the order of the table
    assert Page(page).texts("p")[0].endswith("shows the figure above it, from 0 to 100 %")
    assert table.loc[1, "reason"] in cells
    assert not any("nan" in cell.lower() or "<NA>" in cell for cell in cells)
    width = f'<rect x="0" width="{100 * table.loc[0, "NCP"]:.4g}"'
    assert width in page
    part = pd.DataFrame(table[["k", "NCP"]])
    assert type(table[["k", "NCP"]]) is pd.DataFrame
    assert width in pdanon.plotting.styled(part)._repr_html_()


def test_styled_tables_are_full_at_all_and_escape_what_they_hold():
    table = pd.DataFrame(
        {"<i>": ["<b>"], "NCP": [1.25], "memory": [3_400_000], "holds": [True], "none": [None]}
    )
    page = pdanon.plotting.styled(table)._repr_html_()
    assert [cell.strip() for cell in Page(page).texts("td")] == ["<b>", "125 %", "3 MB", "yes"]
    assert "<i>" not in page
    assert '<rect x="0" width="100" height="10" fill="#1a9c94"/>' in page  # the bar ends there


@pytest.mark.parametrize("table", [5, None, pd.DataFrame([[1, 2]], columns=["a", "a"])])
def test_what_cannot_be_styled(table):
    with pytest.raises(pdanon.ParameterError, match="table"):
        pdanon.plotting.styled(table)


def test_long_tables_end():
    table = pd.DataFrame({"k": range(1_000)})
    page = Page(pdanon.plotting.styled(table)._repr_html_())
    assert page.texts("td") == [str(number) for number in range(60)]
    assert page.texts("p") == ["1,000 rows, the first 60 shown"]


# --- Cards in a notebook


def cards():
    """A card of each kind that people look at."""
    release = FRAME.txanon.audit(RESULT.guarantee), FRAME.txanon.attack(RESULT, n=9, random_state=0)
    return [RESULT, FRAME.txanon, FRAME.txanon.profile(), FRAME.txanon.risk(k=5), *release]


def luminance(color):
    """Relative luminance of a color, as in the Web Content Accessibility Guidelines 2.2."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("background", ["#ffffff", "#111111", "#1e1e1e"])
def test_bars_and_verdicts_are_visible_on_any_page(background):
    colors = {*re.findall("#[0-9a-f]{6}", RESULT._repr_html_())}
    assert len(colors) == 4
    for color in colors:
        darker, lighter = sorted([luminance(color), luminance(background)])
        assert (lighter + 0.05) / (darker + 0.05) >= 2.5


def test_cards_are_small_and_load_nothing():
    for each in cards():
        page = each._repr_html_()
        assert not re.search(r"https?:|<script|<img|<link|@import|url\(", page)
        assert len(page) < 12_000
    assert len(RESULT._repr_html_()) < 5_000


@pytest.mark.slow
def test_cards_fit_a_page_and_a_phone(browser, tmp_path):
    page = tmp_path / "cards.html"
    body = "".join(each._repr_html_() for each in cards())
    page.write_text(f'<!DOCTYPE html><meta charset="utf-8"><body>{body}</body>', encoding="utf-8")
    assert browser(page, "--dump-dom")[1] == []
    assert width_on_a_phone(browser, page) <= 375


# Rules of JupyterLab 4 for all tables of outputs, in short.
JUPYTERLAB = """
.jp-RenderedHTMLCommon table { table-layout: fixed; margin: 0 auto 1em }
.jp-RenderedHTMLCommon td, .jp-RenderedHTMLCommon th, .jp-RenderedHTMLCommon tr {
    text-align: right; vertical-align: middle; padding: 0.5em; max-width: none; border: none }
.jp-RenderedHTMLCommon tbody tr:nth-child(odd) { background: #f5f5f5 }
"""


@pytest.mark.slow
def test_jupyterlab_does_not_align_text_to_the_right(browser, tmp_path):
    page = tmp_path / "lab.html"
    script = """
    const of = (selector) => getComputedStyle(document.querySelector(selector));
    document.title = [of(".facts td").textAlign, of(".facts tr").backgroundColor, of("td.number").textAlign,
                      of("table").tableLayout].join();
    """
    body = "".join(each._repr_html_() for each in cards())
    body = f'<body class="jp-RenderedHTMLCommon">{body}<script>{script}</script></body>'
    page.write_text(f"<!DOCTYPE html><style>{JUPYTERLAB}</style>{body}", encoding="utf-8")
    assert "<title>left,rgba(0, 0, 0, 0),right,auto</title>" in browser(page, "--dump-dom")[0]


@pytest.mark.slow
def test_words_of_wide_tables_are_not_broken(browser, tmp_path):
    page = tmp_path / "wide.html"
    table = pdanon.compare(FRAME, {"pcta": {}, "coat": {}}, k=2, m=2)
    script = """
    const cells = [...document.querySelectorAll(".rows th, .rows td:first-child")];
    document.title = cells.every((cell) => cell.offsetHeight < 70) ? "whole" : "broken";
    """
    body = f'<body style="width: 600px">{table._repr_html_()}<script>{script}</script></body>'
    page.write_text(f"<!DOCTYPE html>{body}", encoding="utf-8")
    assert "<title>whole</title>" in browser(page, "--dump-dom")[0]


def test_bars_of_all_cards_are_named_in_one_order():
    frame = pdanon.datasets.make_baskets(200, 12, mean_length=3, random_state=0)[["items"]]
    result = frame.txanon.pcta(k=5, m=2)
    views = [result, frame.txanon.profile(k=5, m=1), frame.txanon]
    spans = r'<span aria-hidden="true">([^<]+)</span>'
    names = [re.findall(spans, view._repr_html_())[:2] for view in views]
    assert [[name.removesuffix(" (| before)") for name in each] for each in names] == [
        ["singled out", "fewer than 5"]
    ] * 3
    assert names[0][0].endswith("(| before)")


def test_bars_are_the_shares_in_the_text():
    frame = pdanon.datasets.make_baskets(200, 12, mean_length=3, random_state=0)[["items"]]
    result = frame.txanon.pcta(k=5, m=2)
    page, risk = result._repr_html_(), result.risk.iloc[-1]
    widths = re.findall(r'width="([\d.]+)" height="10" fill="#1a9c94"', page)
    shares = [*risk[["singled_out", "below_k"]], *result.loss[["occurrences", "singles", "pairs"]]]
    assert 0 < max(shares) <= 1
    assert [float(width) / 100 for width in widths] == pytest.approx(shares, rel=1e-3)
    before = [*risk[["singled_out_before", "below_k_before"]]]
    lines = re.findall(r'x="([\d.]+)" width="1.5"', page)
    assert [float(line) / 98.5 for line in lines] == pytest.approx(before, rel=1e-3)
