"""What notebooks show of tables and measures: figures, and no item."""

import re
import sys
from html import escape, unescape
from inspect import signature

import pandas as pd
import pytest

import pdanon

FRAME = pd.DataFrame({"<b>": [1, 2] * 10, "items": [["secret", "tea"], ["tea"]] * 10})
RESULT = pdanon.pcta(FRAME, k=2, m=1, keep=["<b>"])


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
        assert view.startswith("<table>")
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
    monkeypatch.setattr("pdanon.accessors._MOST_PAIRS", 9)
    assert "1 known item singles out" in repr(FRAME.txanon)
    monkeypatch.setattr("pdanon.accessors._MOST_PAIRS", 10)
    assert "2 known items single out" in repr(FRAME.txanon)


# --- Tables of figures


def test_styled_tables_have_percent_and_bars():
    table = pdanon.compare(FRAME, {"pcta": {"m": 1, "keep": ["<b>"]}}, vary={"k": [15, 500]})
    before = table.copy()
    page = pdanon.plotting.styled(table).to_html()
    pd.testing.assert_frame_equal(table, before)
    cells = [unescape(cell) for cell in re.findall("<td[^>]*>(.*?)</td>", page)]
    losses = ["occurrences", "singles", "pairs", "suppressed", "NCP"]
    assert [
        f"{100 * loss:.3g} %" for loss in table.loc[0, losses] if f"{100 * loss:.3g} %" not in cells
    ] == []
    assert table.loc[0, "NCP"] > 0
    assert "500" in cells
    assert table.loc[1, "reason"] in cells
    assert not any("nan" in cell.lower() or "<NA>" in cell for cell in cells)
    assert "linear-gradient" in page


def test_styled_tables_are_full_at_all_and_escape_what_they_hold():
    table = pd.DataFrame(
        {"<i>": ["<b>"], "NCP": [1.25], "memory": [3_400_000], "holds": [True], "none": [None]}
    )
    page = pdanon.plotting.styled(table).to_html()
    assert re.findall("<td[^>]*>(.*?)</td>", page) == ["&lt;b&gt;", "125 %", "3 MB", "yes"]
    assert "<i>" not in page
    assert "100.0%" in page  # the bar ends there


@pytest.mark.parametrize("table", [5, None, pd.DataFrame([[1, 2]], columns=["a", "a"])])
def test_what_cannot_be_styled(table):
    with pytest.raises(pdanon.ParameterError, match="table"):
        pdanon.plotting.styled(table)


def test_styled_tables_say_what_they_need(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas.io.formats.style", None)
    with pytest.raises(pdanon.ParameterError, match="jinja2"):
        pdanon.plotting.styled(FRAME.txanon.risk(k=2))
