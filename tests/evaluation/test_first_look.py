"""A first look as a page: its tables counted again, what it must not name, and that a browser shows it."""

from __future__ import annotations

import re
import subprocess
import sys

import pandas as pd
import pytest
from conftest import SECRET, frame_of, row_lists
from hypothesis import given, strategies as st
from naive import itemsets as naive
from pages import Page, brightness, rows_below, width_on_a_phone

import pdanon
from pdanon.evaluation.profile import by_length
from pdanon.io.datasets import make_baskets

RARE = [["tea", "rice"]] * 12 + [["tea", SECRET], ["rice", f"{SECRET}-2", "tea"]]


@pytest.fixture
def raw():
    """A raw table with an identifier, a card that comes again, and an item that is in one row."""
    frame = frame_of([{*row} for row in RARE] * 3)
    return frame.assign(name=[f"{SECRET}-n{n}" for n in range(42)], card=[n // 2 for n in range(42)])


def page_of(profile, path, **asked):
    profile.report(path, **asked)
    return Page(path.read_text(encoding="utf-8"))


def cells_below(page, heading):
    return rows_below(page, heading)[0]


# --- What it says


@pytest.mark.usefixtures("tables_only")
def test_what_to_do_comes_first(raw, tmp_path):
    page = page_of(raw.txanon.profile(k=5, m=2), tmp_path / "look.html")
    assert page.texts("h1", "h2") == [
        "A first look",
        *("What to do first", "Who can be singled out", "Rows", "Items", "Other columns"),
        "Date and versions",
    ]
    assert page.texts("p")[0].startswith("⚠ This page describes the original.")
    assert "do not publish it" in page.texts("p")[0]
    text = (tmp_path / "look.html").read_text(encoding="utf-8")
    found = re.findall("<li>(.*?)<p><strong>Do:</strong> (.*?)</p></li>", text)
    alerts = [(alert.what, alert.hint) for alert in raw.txanon.profile(k=5, m=2).alerts]
    assert [each[1].count("'") for each in alerts] == [each[1].count("&#x27;") for each in found]
    assert [each[0].split()[0] for each in found] == [what.split()[0] for what, _ in alerts]
    assert "'name' differs" in alerts[0][0]
    assert any("'card' has 21 values in 42 rows" in what for what, _ in alerts)


@pytest.mark.usefixtures("tables_only")
def test_values_that_cannot_be_compared_are_not_counted(tmp_path):
    frame = frame_of([["a"]] * 30).assign(odd=[{} for _ in range(30)])
    page = page_of(frame.txanon.profile(), tmp_path / "look.html")
    assert cells_below(page, "Other columns")[6:] == ["odd", "", "", "not comparable", "0", "object"]
    assert "repeated rows" not in cells_below(page, "Rows")


@pytest.mark.usefixtures("tables_only")
def test_nothing_to_do_is_said_so(tmp_path):
    page = page_of(frame_of([["a"], ["b"]] * 15).txanon.profile(), tmp_path / "look.html")
    assert "No problem was found." in page.texts("p")
    assert "There is no other column." in page.texts("p")


@pytest.mark.usefixtures("tables_only")
def test_tables_have_the_counts(raw, tmp_path):
    page = page_of(raw.txanon.profile(k=5, m=2), tmp_path / "look.html")
    assert cells_below(page, "Who can be singled out") == [
        *("known items (up to)", "singled out", "fewer than 5 matches"),
        *("1", "0 %", "14.3 %", "2", "0 %", "14.3 %"),
        *("items in the row", "rows", "1 known", "2 known"),
        *("2", "39", "7.69 %", "7.69 %", "3", "3", "100 %", "100 %"),
    ]
    rows = cells_below(page, "Rows")
    assert rows[2:16] == [
        *("rows", "42", "missing rows", "0", "empty rows", "0", "items", "4"),
        *("occurrences", "87", "distinct rows", "3", "repeated rows", "0"),
    ]
    items = cells_below(page, "Items")
    assert items[3:9] == ["2–4", "2", "6.9 %", "10–99", "2", "93.1 %"]
    assert items[12:] == ["tea", "42", "100 %", "rice", "39", "92.9 %"]
    assert cells_below(page, "Other columns")[6:] == [
        *("name", "100 %", "100 %", "42", "0", "str" if pd.__version__ >= "3" else "object"),
        *("card", "0 %", "100 %", "21", "0", "int64"),
    ]


@given(row_lists(longest=6, most=40), st.integers(2, 4))
def test_the_risk_by_length_is_that_of_a_naive_count(rows, k):
    present = [row for row in rows if row is not None]
    found = by_length(frame_of(rows).txanon.risk(k=k, m=2), len(rows) - len(present))
    rare = {known: naive.rare_itemsets(present, k, known) for known in (1, 2)}
    exposed = [{known: any(each <= row for each in rare[known]) for known in (1, 2)} for row in present]
    for name, shares in found.iterrows():
        of_length = [risk for row, risk in zip(present, exposed, strict=True) if len(row) == int(name)]
        assert shares["rows"] == len(of_length)
        for known in found.columns[1:]:
            assert shares[known] == pytest.approx(sum(risk[known] for risk in of_length) / len(of_length))
    assert found["rows"].sum() == len(present)


def test_many_lengths_are_put_together():
    lengths = [1, 2, 3, 4, 5, 8, 9, 16, 17, 32, 33, 64, 65, 100]
    rows = [[f"{length}-{place}" for place in range(length)] for length in lengths]
    found = by_length(frame_of([*rows, []]).txanon.risk(k=2, m=1), 0)
    assert found["rows"].to_dict() == {
        "0": 1,
        **{"1": 1, "2": 1, "3–4": 2, "5–8": 2, "9–16": 2, "17–32": 2, "33–64": 2, "65–128": 2},
    }
    assert found[1].tolist() == [0, *[1] * 8]


def test_a_card_that_comes_again_is_known_by_its_name():
    items = frame_of([["a"]] * 600)
    few = [n % 50 for n in range(600)]
    for label in ("customer_id", "CustomerID", "patient nbr", "DUPERSID", "card", "user"):
        said = items.assign(**{label: few}).txanon.profile().alerts
        assert any(f"column {label!r} has 50 values" in alert.what for alert in said), label
    for label in ("region", "n_cards", "valid", "monkey"):
        said = items.assign(**{label: few}).txanon.profile().alerts
        assert not any("has 50 values" in alert.what for alert in said), label
    bronze = items.assign(member_card=["bronze", "silver", "gold"] * 200).txanon.profile().alerts
    assert not any("3 values" in alert.what for alert in bronze)


@pytest.mark.usefixtures("tables_only")
def test_what_other_k_and_m_cost_is_shown(tmp_path):
    baskets = make_baskets(200, 20, random_state=1).drop(columns="store")
    table = baskets.txanon.tradeoff(k=[2, 500], m=[1], algorithm="pcta")
    for number, (look, chosen) in enumerate(
        [(baskets.txanon.profile(), ""), (None, "k and m of this release")]
    ):
        path = tmp_path / f"{number}.html"
        if look is not None:
            look.report(path, tradeoff=table)
        else:
            baskets.txanon.pcta(k=2, m=1).report(path, tradeoff=table)
        page = Page(path.read_text(encoding="utf-8"))
        cells = cells_below(page, "What each k and m costs")
        width = cells.index("") + 1
        assert cells[:3] == ["k", "m", "at risk with m + 1 known items"]
        first, second = cells[width : 2 * width], cells[2 * width :]
        assert (first[:2], first[-1]) == (["2", "1"], chosen)
        assert (second[:3], "k is larger than" in second[-1]) == (["500", "1", "none"], True)
        below = baskets.txanon.pcta(k=2, m=1).frame.txanon.risk(k=2, m=2).loc[1, "below_k"]
        assert first[2] == f"{100 * below:.3g} %"


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda table: table.drop(columns="k"), "lacks"),
        (lambda table: pd.concat([table, table]), "same k and m"),
        (lambda table: table.assign(m=[1.0, None]), "no k or no m"),
        (lambda table: table.assign(below_k="all"), "numbers"),
        (lambda table: 5, "DataFrame"),
    ],
)
@pytest.mark.usefixtures("tables_only")
def test_what_is_no_tradeoff_is_refused_and_nothing_is_written(tmp_path, spoil, match):
    table = pd.DataFrame({"k": [2, 3], "m": [1, 1], "below_k": [0.5, 0.25], "occurrences": [0.0, 0.5]})
    frame = frame_of([["a"], ["a"], ["b"], ["b"]])
    with pytest.raises(pdanon.ParameterError, match=match):
        frame.txanon.profile(k=2).report(tmp_path / "look.html", tradeoff=spoil(table))
    with pytest.raises(pdanon.ParameterError, match=match):
        frame.txanon.pcta(k=2).report(tmp_path / "release.html", tradeoff=spoil(table))
    assert list(tmp_path.iterdir()) == []


# --- What it must not say


@pytest.mark.slow
def test_no_rare_item_and_no_value_of_another_column(raw, tmp_path):
    for k in (5, 11):
        path = tmp_path / f"{k}.html"
        raw.txanon.profile(k=k).report(
            path, tradeoff=raw.drop(columns="name").txanon.tradeoff(k=[2], m=[1], algorithm="pcta")
        )
        text = path.read_text(encoding="utf-8")
        assert SECRET not in text
        assert "tea" in text


@pytest.mark.usefixtures("tables_only")
def test_text_is_never_markup(tmp_path):
    evil = "<script>alert(1)</script>"
    frame = frame_of([[evil, "a"]] * 30).assign(**{f"column{evil}": range(30)})
    path = tmp_path / "look.html"
    page = page_of(frame.txanon.profile(), path)
    assert len(page.attributes("script")) == 1
    assert evil in page.texts("th")
    assert f"column{evil}" in page.texts("th")


# --- How it is written


@pytest.mark.slow
def test_page_needs_nothing_else_and_is_well_built(raw, tmp_path):
    path = tmp_path / "look.html"
    page = page_of(
        raw.txanon.profile(),
        path,
        tradeoff=raw.drop(columns="name").txanon.tradeoff(k=[2], m=[1, 2], algorithm="pcta"),
    )
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "image"}
    assert not any("src" in attributes for _, attributes in page.elements)
    assert all(a.get(name, "#").startswith("#") for _, a in page.elements for name in ("href", "xlink:href"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) > 3
    labels = [picture["aria-label"] for picture in page.attributes("svg")]
    assert len(labels) == len(set(labels)) == 6
    assert all("scope" in attributes for attributes in page.attributes("th"))


@pytest.mark.slow
def test_same_table_gives_the_same_bytes(raw, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    for name in "ab":
        raw.txanon.profile().report(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


@pytest.mark.usefixtures("tables_only")
def test_an_empty_table_has_a_page(tmp_path):
    page = page_of(frame_of([]).txanon.profile(), tmp_path / "look.html")
    assert cells_below(page, "Rows")[2:4] == ["rows", "0"]
    page = page_of(frame_of([[], None]).txanon.profile(), tmp_path / "look.html")
    assert cells_below(page, "Who can be singled out")[3:] == [
        *("1", "0 %", "0 %", "items in the row", "rows", "1 known", "0", "1", "0 %")
    ]


@pytest.mark.usefixtures("tables_only")
def test_path_that_cannot_be_written(raw, tmp_path):
    with pytest.raises(
        pdanon.FormatError, match=r"the file cannot be written(.|\n)*make the directory first"
    ):
        raw.txanon.profile().report(tmp_path / "nowhere" / "look.html")


@pytest.mark.slow
def test_without_matplotlib_there_are_tables_only(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pandas as pd, pdanon\n"
        "df = pd.DataFrame({'items': [['a'], ['a']] * 9})\n"
        "df.txanon.profile().report('look.html', tradeoff=df.txanon.tradeoff(k=[2], m=[1], algorithm='pcta'))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    page = Page((tmp_path / "look.html").read_text(encoding="utf-8"))
    assert page.attributes("svg") == page.attributes("figure") == []
    assert len(page.attributes("table")) == 9


# --- In a browser


@pytest.fixture
def shown(raw, tmp_path):
    table = pd.DataFrame({"k": [2, 3], "m": [1, 1], "below_k": [0.5, None], "occurrences": [0.0, None]})
    path = tmp_path / "look.html"
    raw.txanon.profile().report(path, tradeoff=table)
    return path


@pytest.mark.slow
def test_browser_has_nothing_to_complain_about(browser, shown):
    dom, console = browser(shown, "--dump-dom")
    assert console == []
    assert dom.count("<svg") == 6


@pytest.mark.slow
def test_phone_needs_no_sideways_scrolling(browser, shown):
    assert width_on_a_phone(browser, shown) <= 375


@pytest.mark.slow
def test_light_and_dark_are_drawn(browser, shown):
    light, dark = brightness(browser, shown)
    assert light > 0.8
    assert dark < 0.3
