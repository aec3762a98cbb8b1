"""Reports: what they say, what they must not say, and that a browser shows them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from html import unescape
from itertools import chain, combinations, pairwise
from pathlib import Path

import pandas as pd
import pytest
from conftest import SECRET, frame_of
from frames import FRAMES
from pages import Page, brightness, free, rows_below, width_on_a_phone

import pdanon
import pdanon.evaluation.html
from pdanon.evaluation.html import _COLORS
from pdanon.evaluation.report import parameter_texts
from pdanon.itemsets.mapping import changes, label_sizes

ROWS = [{"rice", "tea"}, {"rice", "salt"}, {"rice", "tea"}, {"tea"}]


VERDICT = (
    "⚠ The release has its guarantee. Its unmodified columns identify rows, and are not covered. "
    "Attackers who know up to 2 items in items of a person find at least 2 matching rows."
)


@pytest.fixture
def frame():
    return frame_of(ROWS).assign(store=list("nnss"))


@pytest.fixture
def result(frame):
    return frame.txanon.pcta(k=2, m=2)


# --- What it says


@pytest.fixture
def identifying():
    """A release whose other columns tell all rows apart; one of them was judged."""
    frame = frame_of(ROWS * 10).assign(
        ward=[*range(8)] * 5, year=[n // 8 for n in range(40)], sex=["f", "m"] * 20
    )
    frame = frame.rename(columns={"year": "<year>"})
    with pytest.warns(pdanon.IdentifierWarning):
        return frame.txanon.keep("sex").pcta("items", k=2, m=2)


def test_columns_that_identify_are_told_at_the_top(identifying):
    text = pdanon.evaluation.report.render(identifying)
    page = Page(text)
    first, second = page.texts("p")[:2]
    assert first == VERDICT
    assert second == ("40 of 40 rows (100 %) are unique in ward and <year>, which are published unmodified.")
    assert [each.get("class") for each in page.attributes("p")[:2]] == ["verdict warned", "alert warned"]
    assert "✓" not in text
    assert "<year>" not in text
    assert text.index("alert warned") < text.index("<table")


@pytest.mark.usefixtures("tables_only")
def test_columns_that_were_judged_are_listed_as_judged(identifying):
    page = Page(pdanon.evaluation.report.render(identifying))
    cells, _ = rows_below(page, "Unmodified columns")
    assert cells[:3] == ["column", "type", "judged"]
    assert [cells[place : place + 3 : 2] for place in range(3, 12, 3)] == [
        *(["ward", "no"], ["<year>", "no"], ["sex", "judged"]),
    ]
    assert "<keep><sex>" in rows_below(page, "Parameters")[1]


@pytest.mark.usefixtures("tables_only")
def test_a_release_of_which_all_is_judged_is_praised():
    frame = frame_of(ROWS * 10).assign(number=range(40))
    result = frame.txanon.keep("number").pcta("items", k=2, m=2)
    first = Page(pdanon.evaluation.report.render(result)).texts("p")[0]
    assert first.startswith("✓ The release has its guarantee. Attackers who know up to 2 items")


@pytest.mark.usefixtures("tables_only")
def test_what_cannot_be_compared_is_told_at_the_top():
    result = frame_of(ROWS).assign(notes=[{}] * 4).txanon.pcta("items", k=2, m=2)
    page = Page(pdanon.evaluation.report.render(result))
    assert page.texts("p")[1] == "The values of notes cannot be compared, and are not counted."


@pytest.mark.usefixtures("tables_only")
def test_the_risk_of_both_together_is_that_of_the_audit():
    frame = frame_of(ROWS * 3).assign(age=range(12), sex=list("fm") * 6)
    result = pdanon.rfirst(frame, k=3, m=1, quasi=["age", "sex"], random_state=0)
    page = Page(pdanon.evaluation.report.render(result, original=frame))
    cells, _ = rows_below(page, "Risk before and after")
    assert cells[5:15] == [*("0", "100 %", "100 %", "0 %", "0 %"), *("1", "100 %", "100 %", "0 %", "0 %")]
    assert cells[15] == "2, beyond the guarantee"
    assert any("those that reveal most, and the values of age, sex." in text for text in page.texts("p"))


@pytest.mark.usefixtures("tables_only")
def test_report_says_what_was_asked_and_what_came_out(frame, result, tmp_path):
    path = tmp_path / "release.html"
    assert result.report(path, original=frame) is None
    page = Page(path.read_text(encoding="utf-8"))
    assert page.texts("h1", "h2") == [
        "Release report",
        "What is not promised",
        "Thresholds of authorities",
        "Attacks",
        "What to ask next",
        "Summary",
        "Parameters",
        "The guarantee",
        "Risk before and after",
        "Information loss",
        "Items",
        "Published labels",
        "Unmodified columns",
        "Tables, date and versions",
    ]
    marks = [text for text in page.texts("p") if "The release has its guarantee." in text]
    assert marks == [VERDICT]
    assert any(text.endswith("matching rows, as in KmAnonymity(k=2, m=2).") for text in page.texts("p"))
    assert "KmAnonymity(k=2, m=2)" in page.texts("p")
    assert rows_below(page, "Parameters")[0] == [
        "parameter",
        "value",
        "algorithm",
        "pcta",
        "k",
        "2",
        "m",
        "2",
        "refine",
        "False",
    ]
    # Before, salt alone finds one row of four.
    assert rows_below(page, "Risk before and after")[0][5:] == [
        *("1", "25 %", "25 %", "0 %", "0 %"),
        *("2", "25 %", "25 %", "0 %", "0 %"),
    ]
    assert "<NCP><38.1 %>" in rows_below(page, "Information loss")[1]
    assert rows_below(page, "Items")[0][3:] == [
        *("kept", "1", "3"),
        *("generalized", "2", "4"),
        *("suppressed", "0", "0"),
    ]
    assert rows_below(page, "Published labels")[0][3:] == ["(rice,salt)", "2", "3", "tea", "1", "3"]
    assert rows_below(page, "Unmodified columns")[0] == [
        *("column", "type", "judged"),
        *("store", str(frame["store"].dtype), "no"),
    ]


@pytest.mark.usefixtures("tables_only")
def test_risk_that_is_left_is_explained(frame, result):
    explained = "the guarantee has other conditions"
    assert explained not in pdanon.evaluation.report.render(result, original=frame)
    result = frame.txanon.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[["rice", "tea"]], k=2))
    page = pdanon.evaluation.report.render(result)
    assert rows_below(Page(page), "Risk of the release")[0][3:6] == [
        "1",
        "25 %",
        "25 %",
    ]  # salt is in one row
    assert explained in page


@pytest.mark.usefixtures("tables_only")
def test_risk_without_the_original_is_that_of_the_release(result):
    page = Page(pdanon.evaluation.report.render(result))
    cells, _ = rows_below(page, "Risk of the release")
    assert cells[3:] == ["1", "0 %", "0 %", "2", "0 %", "0 %"]


@pytest.mark.usefixtures("tables_only")
def test_a_release_without_its_guarantee_is_not_praised(result):
    text = pdanon.evaluation.report.render(replace(result, holds=False))
    assert "does NOT have its guarantee. Do not publish it." in text
    assert "has its guarantee" not in text
    assert "guarantee holds" not in text


@pytest.mark.usefixtures("tables_only")
def test_classes_and_local_recodings(result):
    classes = pd.DataFrame({"group": [0, 1], "size": [3, 1], "age": ["a", "b"]})
    groups = pd.Series([0, 0, 0, 1], name="group")
    result = replace(result, classes=classes, groups=groups)
    assert "  classes    2, the smallest of 1 rows\n" in repr(result)
    page = Page(pdanon.evaluation.report.render(result))
    cells, _ = rows_below(page, "Equivalence classes")
    assert cells == ["", "number", "classes", "2", "rows", "4", "smallest", "1", "largest", "3"]
    assert "An item counts once for each group of rows and each of its labels in the group." in page.texts(
        "p"
    )


@pytest.mark.usefixtures("tables_only")
def test_index_that_has_a_name_passes_through(frame):
    result = frame.set_axis(pd.Index(list("abcd"), name="person")).txanon.pcta(k=2, m=2)
    assert (
        "<person><index>"
        in rows_below(Page(pdanon.evaluation.report.render(result)), "Unmodified columns")[1]
    )


@pytest.mark.usefixtures("tables_only")
def test_a_label_of_many_items_is_short_until_it_is_opened():
    rows = [[item] for item in "abcdefg"] + [["x"]] * 9
    release = frame_of(rows).txanon.pcta(k=7, m=1)
    assert {*release.mapping["generalized"]} == {"(a,b,c,d,e,f,g)", "x"}
    text = pdanon.evaluation.report.render(release)
    assert (
        "<details><summary>(a,b,c,d,e, 2 more)</summary>(a,<wbr>b,<wbr>c,<wbr>d,<wbr>e,<wbr>f,<wbr>g)<"
        in text
    )
    few = frame_of(rows[2:]).txanon.pcta(k=5, m=1)  # five items: shown whole
    assert "<details>" not in pdanon.evaluation.report.render(few)
    tree = pd.DataFrame({"child": [*"abcdefgx"], "parent": ["(a, food)"] * 7 + ["x0"]})
    nodes = frame_of(rows).txanon.apriori(k=7, m=1, hierarchy=tree)
    assert "<details>" not in pdanon.evaluation.report.render(nodes)


@pytest.mark.usefixtures("tables_only")
def test_two_recoded_columns_are_measured_one_by_one(frame):
    two = frame.assign(other=[["x"], ["x"], ["y"], ["y"]], age=[30, 31, 40, 41])
    both = pdanon.Transaction(columns=["items", "other"])
    result = pdanon.keep(two, "store").rfirst(k=2, m=1, quasi=["age"], transaction=both)
    page = Page(pdanon.evaluation.report.render(result))
    assert page.texts("h2").count("Risk of the release") == 2


@pytest.mark.slow
@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize("kind", FRAMES)
def test_every_kind_of_frame_has_a_page(kind):
    frame = FRAMES[kind]()
    try:
        result = frame.txanon.pcta(column="items" if "items" in frame else 5, k=2, m=2)
    except pdanon.InfeasibleError:
        pytest.skip("no release")
    page = Page(pdanon.evaluation.report.render(result, original=frame))
    items = result.mapping["item"].nunique()
    assert changes(result.mapping)["items"].sum() == items
    assert label_sizes(result.mapping).sum() == items
    assert page.texts("h1") == ["Release report"]


def beyond(page):
    return [
        text
        for text in page.texts("p")
        if text.startswith("The guarantee does not cover attackers who know 2")
    ]


@pytest.mark.usefixtures("tables_only")
def test_one_item_more_than_is_promised_is_counted_and_named():
    frame = frame_of([{"a", "b"}, {"a", "c"}, {"b", "c"}, {"a"}])
    result = frame.txanon.pcta(k=2, m=1)  # no item is rare, and each pair is in one row
    assert result.frame["items"].map(list).tolist() == [["a", "b"], ["a", "c"], ["b", "c"], ["a"]]
    page = Page(pdanon.evaluation.report.render(result))
    assert rows_below(page, "Risk of the release")[0][3:] == [
        *("1", "0 %", "0 %"),
        *("2, beyond the guarantee", "75 %", "75 %"),
    ]
    assert beyond(page) == [
        "The guarantee does not cover attackers who know 2 items. For 75 % of the rows, fewer than 2 rows "
        "match then. If an attacker may know 2 items, choose a larger m."
    ]
    assert not any("has other conditions" in text for text in page.texts("p"))


@pytest.mark.usefixtures("tables_only")
def test_one_item_more_may_find_as_many():
    page = Page(pdanon.evaluation.report.render(frame_of([{"a", "b"}] * 4).txanon.pcta(k=2, m=1)))
    assert beyond(page) == [
        "The guarantee does not cover attackers who know 2 items. In this release, at least 2 rows match "
        "even then."
    ]


@pytest.mark.usefixtures("tables_only")
@pytest.mark.parametrize("m", [2, None])
def test_nothing_is_beyond_all_items_of_the_longest_row(frame, m):
    assert beyond(Page(pdanon.evaluation.report.render(frame.txanon.pcta(k=2, m=m)))) == []


@pytest.mark.usefixtures("tables_only")
def test_it_says_when_it_was_made_and_with_what(frame, result, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86399")
    cells, _ = rows_below(Page(pdanon.evaluation.report.render(result)), "Tables, date and versions")
    said = dict(zip(cells[2::2], cells[3::2], strict=True))
    assert said["report made"] == "1970-01-01 23:59 UTC"
    assert said["pdanon"] == pdanon.__version__
    assert said["pandas"] == pd.__version__
    assert said["Python"] == ".".join(map(str, sys.version_info[:3]))


@pytest.mark.usefixtures("tables_only")
def test_it_is_made_now_unless_another_time_is_said(result, monkeypatch):
    monkeypatch.delenv("SOURCE_DATE_EPOCH", raising=False)
    before = pd.Timestamp.now("UTC").floor("min")
    cells, _ = rows_below(Page(pdanon.evaluation.report.render(result)), "Tables, date and versions")
    assert before <= pd.Timestamp(cells[3].removesuffix(" UTC"), tz="UTC") <= pd.Timestamp.now("UTC")


@pytest.mark.parametrize("said", ["yesterday", "9" * 30, "1.5"])
def test_a_time_that_is_none_is_an_error(result, monkeypatch, said):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", said)
    with pytest.raises(pdanon.ParameterError, match="SOURCE_DATE_EPOCH"):
        pdanon.evaluation.report.render(result)


@pytest.mark.usefixtures("tables_only")
def test_tables_are_known_by_their_fingerprints(frame, result, tmp_path):
    pdanon.to_parquet(result.frame, tmp_path / "release.parquet")
    read = pdanon.read_parquet(tmp_path / "release.parquet")
    for original in (None, frame):
        texts = Page(pdanon.evaluation.report.render(result, original=original)).texts("p")
        shown = dict(pairwise(texts))
        assert shown["Fingerprint of the release (SHA-256):"] == read.txanon.fingerprint()
        found = shown.get("Fingerprint of the original (SHA-256):")
        assert found == (None if original is None else frame.txanon.fingerprint())


# --- The first page, for those who accept or refuse a release


BASKETS = pdanon.datasets.make_baskets(400, 80, random_state=1)[["items"]]


@pytest.fixture(scope="module")
def assessed():
    """A release, and its attacks with control rows."""
    df, control = BASKETS[:300], BASKETS[300:]
    result = df.txanon.pcta(k=8, m=1)
    return result, df.txanon.assess(result, control, n_attacks=100)


def first_page(result, **given):
    """The text of the first page, without markup, and the words that every detail below begins with."""
    text = pdanon.evaluation.report.render(result, **given)
    begin, end = text.index('<div class="first">'), text.index("<h2>Summary")
    assert text[begin:end].count("<section>") == 5  # four, and that of the summary
    return unescape(re.sub("<.*?>", " ", text[begin:end].replace("<wbr>", ""))), text


def below_8(rows, m):
    """Count the rows with a set of up to m items that fewer than 8 rows have."""
    known = [{each for size in range(1, m + 1) for each in combinations(sorted(row), size)} for row in rows]
    supports = Counter(chain.from_iterable(known))
    return sum(any(supports[each] < 8 for each in row) for row in known)


@pytest.mark.usefixtures("tables_only")
def test_the_first_page_has_promise_limits_attacks_and_thresholds(assessed):
    result, attacks = assessed
    page, _ = first_page(result, assessment=attacks)
    places = [
        "find at least 8 matching rows.",
        *("The sender counted this in all 300 rows", "What is not promised", "who know more"),
        *("as they are (here: none).", "Thresholds of authorities", "Attacks", "100 control rows"),
        *("singling out, 1 label", "linkability", "inference", "one item more", "What to ask next"),
    ]
    assert [page.find(text) for text in places] == sorted({page.index(text) for text in places})
    for line in attacks.itertuples():
        assert f"{100 * max(line.low, 0):.3g} to {100 * line.high:.3g} %" in page
        assert f"Success in {line.n_attacks} tries: {100 * line.success:.3g} %" in page
    fewest = result.meets("NHS Digital").fewest
    assert f"the fewest matching rows counts. Here: {fewest}. " in page
    for each in pdanon.thresholds.values():
        name, met = each.authority.partition(",")[0], "Met" if fewest >= each.least else "Not met"
        assert f"{met}: {each.least} rows, {name}." in page
    assert f"match for {below_8(result.frame['items'], 2)} of all 300 rows." in page
    assert below_8(result.frame["items"], 2) > below_8(result.frame["items"], 1) == 0


@pytest.mark.usefixtures("tables_only")
def test_without_attacks_the_first_page_says_how_to_play_them(assessed):
    result, attacks = assessed
    page, _ = first_page(result)
    assert "No attack was played" in page
    assert "pdanon.assess(original, result, control)" in page
    assert "No attack" not in first_page(result, assessment=attacks)[0]


@pytest.mark.usefixtures("tables_only")
def test_attacks_that_had_no_try_or_no_outsiders_are_not_called_failures():
    df = frame_of([["a"]] * 3 + [["b"]] * 3)
    result = df.txanon.pcta(k=2, m=1)
    page, _ = first_page(result, assessment=df.txanon.assess(result))  # no row has two items
    assert "no control rows: risk is the success" in page
    assert "on control rows: not tried" in page
    assert "Success in 0 tries: not tried" in page
    assert "nan" not in page


@pytest.mark.usefixtures("tables_only")
def test_the_first_page_escapes_and_names_no_item(assessed):
    evil = "<script>"
    rows = [{SECRET, "a"}, {"a", "b"}, {"a", "b"}, {"b"}]
    result = frame_of(rows).assign(**{evil: "x"}).txanon.local_suppression("items", k=2, m=1)
    table = assessed[1].assign(attack=evil)
    table.attrs["control"] = evil
    page, text = first_page(result, assessment=table)
    assert page.count(evil) >= len(table) + 2  # the attacks, the control rows, and the column
    assert text.count("<script>") == 1
    assert SECRET not in text


@pytest.mark.usefixtures("tables_only")
def test_risk_that_cannot_be_counted_meets_no_threshold():
    result = BASKETS.txanon.disassociate(k=5)
    page, _ = first_page(result)
    assert "Not counted. Rows of this release are parts of records" in page
    assert "one item more" not in page


# --- What it must not say


@pytest.mark.slow
def test_no_item_that_was_removed(tmp_path):
    rows = [{SECRET, "a"}, {"a", "b"}, {"a", "b"}, {"b", "c"}, {"c"}]
    frame = frame_of(rows)
    tree = {"all": {"A": ["a", SECRET], "B": ["b", "c"]}}
    generalized = frame.txanon.apriori(k=2, m=2, hierarchy=tree)
    blocks = [["a"], ["b"], ["c"], [SECRET]]
    suppressed = frame.txanon.coat(k=2, m=1, utility=blocks, max_suppressed=1.0)
    assert generalized.mapping["generalized"].tolist()[-1] == "A"
    assert suppressed.mapping["generalized"].isna().tolist()[-1]
    for result in (generalized, suppressed):
        path = tmp_path / "release.html"
        result.report(path, original=frame)
        assert SECRET.encode() not in path.read_bytes()
        assert SECRET not in result._repr_html_() + repr(result)


def test_no_item_that_was_asked_about(result):
    table = pd.DataFrame({"item": [SECRET], "weight": [1.0]})
    parameters = {
        **{"algorithm": "pcta", "k": 2, "m": None, "weights": table, "utility": [[SECRET], ["a"]]},
        **{"sensitive": SECRET, "constraints": pdanon.as_itemsets([[SECRET]]), "rules": [(SECRET, "tea")]},
        **{"hierarchy": f"/home/{SECRET}.csv", "criterion": "mm", "quasi": ["store"], "private": "store"},
        **{"random_state": None, "tree": pdanon.Hierarchy.from_dict({"*": [SECRET, "a"]}), "none": ()},
    }
    result = replace(result, parameters=parameters)
    assert SECRET not in pdanon.evaluation.report.render(result)
    assert parameter_texts(result) == {
        **{"algorithm": "pcta", "k": "2", "m": "all items of a row", "weights": "1 given"},
        **{"utility": "2 given", "sensitive": "given", "constraints": "1 given", "rules": "1 given"},
        **{"hierarchy": "given", "criterion": "mm", "quasi": "store", "private": "store"},
        **{"tree": "2 leaves, height 1", "none": "0 given"},
    }


def test_shares_and_ways_are_shown_as_they_were_asked():
    frame = frame_of([{"a", "s"}, {"a"}, {"a", "b"}, {"b"}])
    unsure = parameter_texts(frame.txanon.anonymize(pdanon.RhoUncertainty(rho=0.5, sensitive=["s"])))
    assert (unsure["rho"], unsure["scope"]) == ("0.5", "all")
    ruled = parameter_texts(frame.txanon.anonymize(pdanon.PSRules(rules=[(["a"], ["s"])], k=2, c=1 / 3)))
    assert (ruled["c"], ruled["how"]) == ("1/3", "tree")


@pytest.mark.usefixtures("tables_only")
def test_sensitive_items_are_said_to_be_counted_and_groups_are_called_so():
    frame = frame_of([{"a", "s"}, {"a"}, {"a", "b"}, {"b"}])
    result = frame.txanon.cahd(p=2, sensitive=["s"])
    page = Page(pdanon.evaluation.report.render(result))
    cells, _ = rows_below(page, "Groups of rows")
    assert cells[2:6] == ["groups", str(len(result.classes)), "rows", "4"]
    assert "Sensitive items are suppressed in the rows, and counted by groups." in page.texts("p")
    assert f"groups     {len(result.classes)}, the smallest of 2 rows" in repr(result)


@pytest.mark.usefixtures("tables_only")
def test_a_guarantee_that_hides_no_row_says_so():
    frame = frame_of([{"a", "s"}, {"a"}, {"a", "b"}, {"b"}, {"a", "b"}, {"b"}])
    asked = {"p": 2, "sensitive": ["s"]}
    told = {
        True: [frame.txanon.suppress_control(rho=0.5, sensitive=["s"]), frame.txanon.cahd(**asked)],
        False: [frame.txanon.cahd(**asked, k=2), frame.txanon.pcta(k=2), frame.txanon.disassociate(k=2)],
    }
    for expected, results in told.items():
        for result in results:
            page = pdanon.evaluation.report.render(result)
            assert ("That several rows match: what is known" in page) is expected


def test_no_row_of_the_data(frame):
    result = frame.assign(note=[f"{SECRET}-{row}" for row in range(4)]).txanon.pcta(k=2, m=2)
    assert SECRET not in pdanon.evaluation.report.render(result)


def test_audit_shows_no_threat():
    audit = frame_of([{SECRET}, {"a"}, {"a"}]).txanon.audit(pdanon.KmAnonymity(k=2, m=1))
    page = Page(audit._repr_html_())
    assert page.texts("p", "th", "td") == [
        *("Audit", "✗ The guarantee does not hold: 1 row is at risk.", "guarantee", "KmAnonymity(k=2, m=1)")
    ]
    assert SECRET not in audit._repr_html_()


def test_notebook_view_says_what_repr_says(result):
    view = re.sub(r'<span aria-hidden="true">.*?</span>', "", result._repr_html_())  # the names of bars
    title, verdict, *lines = Page(view).texts("p", "th", "td")
    assert verdict == VERDICT
    assert " ".join(" ".join([title, *lines]).split()) == " ".join(repr(result).split())


# --- How it is written


def test_text_is_never_markup():
    evil = '<script>alert("1")</script>'
    frame = frame_of([{evil, "a&b"}, {evil, "a&b"}]).rename(columns={"items": f"items{evil}"})
    frame.insert(0, f"column{evil}", "x")
    result = frame.txanon.pcta(k=2, m=2)
    result = replace(result, parameters={"algorithm": evil, evil: 1})
    page = Page(pdanon.evaluation.report.render(result, original=frame))
    assert len(page.attributes("script")) == 1
    assert evil in page.texts("th")
    assert "a&b" in page.texts("th")
    assert f"column{evil}" in page.texts("th")
    assert f"Labels in the column items{evil} (2)" in page.texts("caption")
    assert evil not in result._repr_html_()


@pytest.mark.slow
def test_text_controls_no_terminal_and_no_order(tmp_path):
    names = ["\0", "\x1b[2J", "\r", "\x9b", "\u202e", "\u2066"]
    frame = frame_of([set(names), set(names), {"\u05d0\u200fb", "tab\t"}, {"\u05d0\u200fb", "tab\t"}] * 6)
    frame = frame.rename(columns={"items": "\x1b]0;items"}).assign(**{"\u202ecolumn": range(24)})
    with pytest.warns(pdanon.IdentifierWarning) as warned:
        result = frame.txanon.pcta(k=2, m=2)
    look = frame.txanon.profile()
    look.report(tmp_path / "look.html")
    shown = [
        *(str(warned[0].message), repr(result), result._repr_html_(), repr(look), look._repr_html_()),
        *(repr(frame.txanon), frame.txanon._repr_html_(), (tmp_path / "look.html").read_text()),
        pdanon.evaluation.report.render(result, original=frame),
        pdanon.plotting.styled(look.frequent.rename(columns={"item": "\x1b"}))._repr_html_(),
        str(pdanon.Hierarchy.from_dict({"*": names})),
        str(pdanon.ColumnError("no such column", got="\x1b[2J", hint="\u202e")),
    ]
    for text in shown:
        assert not {*names} & {*text}
        assert not any(mark in text for mark in "\x1b\u202e\0")
    assert "\\u202ecolumn" in shown[0]
    assert "\u05d0\u200fb" in shown[7]  # a text that is written from right to left stays what it is


@pytest.mark.slow
def test_page_needs_nothing_else(frame, result):
    text = pdanon.evaluation.report.render(result, original=frame)
    page = Page(text)
    assert not {tag for tag, _ in page.elements} & {"link", "img", "iframe", "object", "image"}
    assert not any("src" in attributes for _, attributes in page.elements)
    assert all(a.get(name, "#").startswith("#") for _, a in page.elements for name in ("href", "xlink:href"))
    assert re.findall(r"url\((?!#|&quot;#)", text) == []
    assert "@import" not in text
    assert "default-src 'none'" in page.attributes("meta")[1]["content"]


@pytest.mark.slow
def test_page_is_well_built(frame, result):
    text = pdanon.evaluation.report.render(result, original=frame)
    page = Page(text)
    assert page.attributes("html") == [{"lang": "en"}]
    assert "width=device-width, initial-scale=1" in [a.get("content") for a in page.attributes("meta")]
    assert [tag for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)] == ["h1"] + ["h2"] * 13
    assert all("scope" in attributes for attributes in page.attributes("th"))
    assert len(page.attributes("caption")) == len(page.attributes("table"))
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids)) > 3
    pictures = page.attributes("svg")
    assert [picture["role"] for picture in pictures] == ["img"] * 3
    assert len({picture["aria-label"] for picture in pictures}) == 3
    assert "prefers-color-scheme: dark" in text
    assert "@media print" in text
    drawn = text.partition("</style>")[2]
    assert not set(_COLORS) & set(re.findall("#[0-9a-f]{6}", drawn))  # all became those of the page
    assert "currentColor" in drawn
    assert "var(--bar)" in drawn


@pytest.mark.slow
def test_same_release_gives_the_same_bytes(frame, tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    program = (
        "import pdanon; frame = pdanon.read_parquet('in.parquet')\n"
        "frame.txanon.pcta(k=2, m=2).report('a.html', original=frame)"
    )
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True)
    again = pdanon.read_parquet(tmp_path / "in.parquet")
    again.txanon.pcta(k=2, m=2).report(tmp_path / "b.html", original=again)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_user_settings_of_matplotlib_are_left_alone(result, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    from matplotlib import pyplot, rc_context

    before = pyplot.get_fignums()
    with rc_context({"font.size": 33, "svg.fonttype": "path"}):
        inside = pdanon.evaluation.report.render(result)
        assert pyplot.rcParams["font.size"] == 33
    assert inside == pdanon.evaluation.report.render(result)
    assert pyplot.get_fignums() == before
    assert "<svg" in inside
    assert "matplotlib" not in inside.lower()  # its pictures tell no more than they show


@pytest.mark.slow
def test_without_matplotlib_there_are_tables_only(tmp_path):
    program = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "import pandas as pd, pdanon\n"
        "pd.DataFrame({'items': [['a'], ['a']]}).txanon.pcta(k=2).report('release.html')"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tmp_path)
    page = Page((tmp_path / "release.html").read_text(encoding="utf-8"))
    assert page.attributes("svg") == page.attributes("figure") == []
    assert len(page.attributes("table")) == 8


@pytest.mark.usefixtures("tables_only")
def test_path_that_cannot_be_written(result, tmp_path):
    for path in (tmp_path / "nowhere" / "release.html", tmp_path):
        with pytest.raises(pdanon.FormatError, match="the file cannot be written") as caught:
            result.report(path)
        assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("tables_only")
def test_existing_file_stays_whole(frame, result, tmp_path, monkeypatch):
    path = tmp_path / "release.html"
    path.write_text("before")
    with pytest.raises(pdanon.ParameterError, match="not of this frame"):
        result.report(path, original=frame.head(2))

    def full(*arguments):
        raise OSError(28, "no space left")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(pdanon.FormatError, match=r"the file cannot be written(.|\n)*free some space"):
        result.report(path)
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


# --- In a browser


@pytest.fixture
def page(tmp_path):
    """The report of a release with several labels."""
    frame = frame_of([{"a", "b"}, {"a", "c"}, {"a", "b", "d"}, {"b", "d"}, {"c", "e"}, {"e"}])
    path = tmp_path / "release.html"
    frame.txanon.pcta(k=2, m=1).report(path, original=frame)
    return path


@pytest.mark.slow
def test_browser_has_nothing_to_complain_about(browser, page):
    dom, console = browser(page, "--dump-dom")
    assert console == []
    assert "<button" in dom  # the script ran: its hash is that of the policy


@pytest.mark.slow
def test_policy_keeps_scripts_and_requests_out(browser, page):
    evil = '<script>document.title = "evil"</script><img src="https://example.org/a.png">'
    page.write_text(page.read_text(encoding="utf-8").replace("</main>", f"{evil}</main>"), encoding="utf-8")
    dom, console = browser(page, "--dump-dom")
    assert "<title>Release report</title>" in dom
    assert any("script" in line for line in console)
    assert any("img-src" in line for line in console)


def sorted_labels(dom):
    table = dom[dom.index('<table class="sortable">') :].partition("</table>")[0]
    heads = re.findall(r"<th [^>]*>(?=<button)", table)
    rows = re.findall(r'<th scope="row">(.*?)</th>(?:<td[^>]*>(\d+)</td>)(?:<td[^>]*>(\d+)</td>)', table)
    return [re.search('aria-sort="(.*?)"', head) for head in heads], rows


@pytest.mark.slow  # which starts a browser four times
def test_tables_are_sorted_by_buttons(browser, page):
    click = "document.querySelectorAll('table.sortable th button')[{}].click();"
    _, before = sorted_labels(browser(page, "--dump-dom")[0])
    assert len(before) >= 3
    for clicks, column, direction in [
        ((2,), 2, "ascending"),
        ((0, 2, 2), 2, "descending"),
        ((0,), 0, "ascending"),
    ]:
        script = "".join(click.format(number) for number in clicks)
        states, rows = sorted_labels(browser(free(page, script), "--dump-dom")[0])
        assert [state and state.group(1) for state in states] == [
            direction if number == column else None for number in range(3)
        ]
        keys = [row[column] if column == 0 else int(row[column]) for row in rows]
        assert keys == sorted(keys, reverse=direction == "descending")
        assert sorted(rows) == sorted(before)


@pytest.mark.slow
def test_phone_needs_no_sideways_scrolling(browser, page):
    assert width_on_a_phone(browser, page) <= 375


@pytest.mark.slow
def test_light_and_dark_are_drawn(browser, page):
    light, dark = brightness(browser, page)
    assert light > 0.85
    assert dark < 0.25


@pytest.fixture
def overview(assessed, tmp_path):
    """The report of a release with an alert, a head and all attacks."""
    result, attacks = assessed
    df = BASKETS[:300].assign(store=[n // 20 for n in range(300)])
    with pytest.warns(pdanon.IdentifierWarning):
        result = df.txanon.pcta("items", k=8, m=1)
    if "membership" not in attacks["attack"].tolist():
        attacks = pd.concat([attacks, attacks[-1:].assign(attack="membership")])
    path = tmp_path / "release.html"
    result.report(path, original=df, assessment=attacks, dataset="baskets", recipient="A university")
    return path


@pytest.mark.slow
def test_the_first_page_fits_on_a_screen(browser, overview):
    script = "document.title = Math.ceil(document.querySelector('.first').getBoundingClientRect().bottom)"
    dom, _ = browser(free(overview, script), "--window-size=1280,900", "--dump-dom")
    # And a line more where other fonts are wider.
    assert 500 < int(re.search(r"<title>(\d+)</title>", dom).group(1)) <= 925


@pytest.mark.slow
def test_the_first_page_is_one_sheet_of_paper(browser, overview, tmp_path):
    text = overview.read_text(encoding="utf-8").replace("@media print {", "@page { size: A4 } @media print {")
    sheets = {}
    for name, kept in {"first": text.partition("<section>\n<h2>Summary")[0], "whole": text}.items():
        (tmp_path / name).with_suffix(".html").write_text(kept, encoding="utf-8")
        printed = tmp_path / f"{name}.pdf"
        browser(tmp_path / f"{name}.html", f"--print-to-pdf={printed}")
        sheets[name] = len(re.findall(rb"/Type /Page\b", printed.read_bytes()))
    assert sheets["first"] == 1 < sheets["whole"]


# --- The head of a page, by its publisher


HEAD = {"title": "May <2026>", "dataset": "baskets", "prepared_by": "A & B", "approved_by": "the board"}


@pytest.mark.usefixtures("tables_only")
def test_reports_and_profiles_have_the_same_head(frame, result, tmp_path):
    for number, subject in enumerate((result, frame.txanon.profile(k=2, m=1))):
        subject.report(tmp_path / f"{number}.html", **HEAD)
        page = Page((tmp_path / f"{number}.html").read_text(encoding="utf-8"))
        assert page.texts("h1") == ["May <2026>"]
        assert page.texts("td")[:3] == ["baskets", "A & B", "the board"]
        with pytest.raises(pdanon.ParameterError, match="note must be text"):
            subject.report(tmp_path / "wrong.html", note=5)
    assert not (tmp_path / "wrong.html").exists()


@pytest.mark.slow
def test_the_page_states_the_persons_named_by_an_attacker_with_a_sample(tmp_path):
    frame = pdanon.datasets.make_baskets(400, 30, random_state=1)[["items"]]
    result = frame.txanon.pcta(k=5, m=2)
    named = frame.txanon.attack(result, sample="split", random_state=0).named
    for name, original in (("with", frame), ("without", None)):
        result.report(tmp_path / name, original=original)
    page = (tmp_path / "with").read_text(encoding="utf-8")
    assert f"an attacker with similar rows names {100 * named:.3g} % of the persons" in page.replace(
        "\u00a0", " "
    )
    assert "similar rows" not in (tmp_path / "without").read_text(encoding="utf-8")
