"""Proven for fewer known items than were asked for: said wherever a release is looked at."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import pdanon
import pdanon.stream
from pdanon import RhoUncertainty
from pdanon.algorithms.items import rho as algorithms
from pdanon.errors import ReleaseWarning
from pdanon.guarantees import rho as inferences

ITEMS = frozenset("abcdefghijkl")  # any part of which could give s away, and none does
ROWS = [sorted((ITEMS - {each}) | own) for each in ITEMS for own in ({"s"}, set())]
FRAME = pd.DataFrame({"items": ROWS})
ASKED = {"rho": 0.5, "sensitive": ["s"]}
SAID = "The guarantee is proven for up to {m} known items; any number was requested"


@pytest.fixture
def short_searches(monkeypatch):
    monkeypatch.setattr(inferences, "_STEPS", 3000)
    monkeypatch.setattr(algorithms, "_EASY", 0)


@pytest.mark.usefixtures("tables_only")
def test_a_release_says_how_far_it_is_proven_if_that_is_not_as_far_as_was_asked(short_searches, tmp_path):
    with pytest.warns(ReleaseWarning) as caught:
        result = FRAME.txanon.suppress_control(**ASKED)
    said = SAID.format(m=result.guarantee.m)
    assert [each.message.what for each in caught] == [said]
    assert caught[0].filename == __file__
    assert result.parameters["m"] is None  # what was asked
    assert said in repr(result)
    assert said in result._repr_html_()
    result.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert f'<p class="alert warned">{said}.</p>' in page


def test_a_release_from_a_file_says_it_before_it_is_there(short_searches, tmp_path):
    pdanon.to_parquet(FRAME, tmp_path / "rows.parquet")
    with pytest.warns(ReleaseWarning, match="is proven for up to"):
        pdanon.stream.suppress_control(tmp_path / "rows.parquet", tmp_path / "released.parquet", **ASKED)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ReleaseWarning)
        with pytest.raises(ReleaseWarning):
            pdanon.stream.suppress_control(tmp_path / "rows.parquet", tmp_path / "other.parquet", **ASKED)
    assert not (tmp_path / "other.parquet").exists()


def test_it_is_said_of_what_anonymize_returns_and_of_nothing_else_that_it_tried(short_searches):
    guarantee = RhoUncertainty(rho=0.5, sensitive=["s"])
    with pytest.warns(ReleaseWarning) as caught:
        result = pdanon.anonymize(FRAME, guarantee)
    assert [each.message.what for each in caught] == [SAID.format(m=result.guarantee.m)]
    with pytest.warns(pdanon.UselessWarning) as caught:
        result = pdanon.anonymize(FRAME, guarantee, hierarchy=3)
    assert [each.category for each in caught] == [pdanon.UselessWarning]
    assert result.guarantee == guarantee
    assert result.tried["reason"][0].startswith("only proven")


def test_nothing_is_said_where_it_is_proven_as_far_as_was_asked():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for m in (None, 2):
            result = FRAME.txanon.suppress_control(**ASKED, m=m)
            assert "proven" not in repr(result)
            assert result.parameters["m"] == result.guarantee.m == m


@pytest.mark.parametrize(
    ("name", "guarantee", "asked"),
    [
        ("rfirst", pdanon.KKm, {"quasi": ["age"], "random_state": 0}),
        ("mondrian", pdanon.KAnonymity, {"quasi": ["age"]}),
    ],
)
def test_a_release_has_what_its_audit_has_proven_whatever_it_recodes(monkeypatch, name, guarantee, asked):
    """Of quasi-identifiers, too: with an audit that proves less than it was asked for."""
    frame, audit = FRAME.assign(age=range(len(FRAME))), guarantee.audit

    class Less(guarantee):
        pass

    def less(self, *rest):
        known = audit(self, *rest)
        proven = object.__new__(Less)
        for each, value in [*vars(self).items(), ("m", 2)]:
            object.__setattr__(proven, each, value)
        return pdanon.Audit(proven, known.rows_at_risk, lambda: known.threats)

    monkeypatch.setattr(guarantee, "audit", less)
    everything = {"m": None} if name == "rfirst" else {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = getattr(pdanon, name)(frame, k=2, **everything, **asked)
    assert type(result.guarantee) is Less
    said = [each.message for each in caught if type(each.message) is ReleaseWarning]
    assert [each.what for each in said] == [SAID.format(m=2)] * len(everything)
