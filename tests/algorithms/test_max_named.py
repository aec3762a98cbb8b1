"""Releases with an upper bound on the persons that an attacker with a sample names. Generated data only."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import frame_of

import pdanon
from pdanon import InfeasibleError, ParameterError
from pdanon.recoding import release


def kinds(n, seed, n_kinds=8, n_each=5):
    """Rows of several kinds, which prefer the items of their kind."""
    rng = np.random.default_rng(seed)
    own = np.repeat(np.arange(n_kinds), n_each)
    chances = np.where(own == rng.integers(0, n_kinds, n)[:, None], 0.5, 0.03)
    rows = rng.random((n, len(own))) < chances
    return frame_of([{f"p{item:02}" for item in np.flatnonzero(row)} for row in rows])


TABLE = kinds(600, 1, 6, 4)


@pytest.mark.slow
def test_a_bound_raises_k_and_promises_the_given_one():
    free = TABLE.txanon.anonymize(k=5, m=2, loss="NCP", time_limit=600)
    attacks = [TABLE.txanon.attack(free, sample="split", random_state=seed) for seed in range(9, 13)]
    before = np.mean([attack.named for attack in attacks])
    result = TABLE.txanon.anonymize(k=5, m=2, loss="NCP", max_loss={"named": before * 0.8}, time_limit=600)
    assert result.guarantee == pdanon.KmAnonymity(k=5, m=2)
    assert result.parameters["k"] == 5
    assert result.parameters["decided_k"] > 5
    assert result.loss["NCP"] > free.loss["NCP"]
    assert pdanon.audit(result.frame, pdanon.KmAnonymity(k=result.parameters["decided_k"], m=2)).holds
    attacks = [TABLE.txanon.attack(result, sample="split", random_state=seed) for seed in range(9, 13)]
    assert {attack.k for attack in attacks} == {5}
    assert np.mean([attack.named for attack in attacks]) <= before * 0.8 * 1.4  # other splits than those
    tried = result.tried
    within = tried[(tried["named"] <= before * 0.8) & tried["reason"].isna()]  # and not almost empty
    assert result.loss["NCP"] == pytest.approx(within["loss"].min())
    assert tried.loc[tried["named"] > before * 0.8, "reason"].notna().all()
    assert "above max_loss: named" in set(tried["reason"])
    # The risk beyond the guarantee is that of the promised k.
    assert result.risk["below_k_before"].iloc[-1] == pytest.approx(
        free.risk["below_k_before"].iloc[-1], abs=0.05
    )


def test_what_is_printed_belongs_to_the_promised_k(monkeypatch):
    monkeypatch.setattr(release, "_PERSONS", 60)
    monkeypatch.setattr(release, "_SPLITS", 1)
    table = kinds(200, 3, 4, 3)
    free = table.txanon.anonymize(k=3, m=2, max_loss={"named": 1})
    result = table.txanon.anonymize(k=3, m=2, max_loss={"named": 0.15})
    assert result.parameters["decided_k"] > 3
    # The default release has the promised guarantee and changes less: no bound is above it.
    assert result.loss["occurrences"] > free.loss["occurrences"] >= result.bound.least
    assert result.bound.guarantee == result.guarantee == pdanon.KmAnonymity(k=3, m=2)
    assert result.bound.reached == result.loss["occurrences"]
    assert result.named in result.tried["named"].tolist()
    assert result.named <= 0.15
    line = next(line for line in repr(result).splitlines() if line.startswith("  named"))
    assert f"{100 * result.named:.3g} %" in line
    assert line.endswith(f"decided with k={result.parameters['decided_k']}")
    assert line.split("  ")[-1].strip() in result._repr_html_()
    refined = table.txanon.refine(result)
    assert "decided_k" not in refined.parameters
    assert refined.named is None


@pytest.mark.filterwarnings("ignore::pdanon.errors.IdentifierWarning")
def test_unmodified_columns_are_counted_with_the_promised_k(monkeypatch):
    monkeypatch.setattr(release, "_PERSONS", 60)
    monkeypatch.setattr(release, "_SPLITS", 1)
    table = kinds(200, 3, 4, 3).assign(store=["n", "s", "e", "w"] * 50)
    result = table.txanon.anonymize(k=3, m=2, max_loss={"named": 0.15})
    assert result.parameters["decided_k"] > 3
    audit = result.frame.txanon.audit(pdanon.KKm(k=3, m=2, quasi=["store"]))
    assert result.unmodified.items_below_k == audit.rows_at_risk > 0


@pytest.mark.slow
def test_a_bound_that_the_release_keeps_changes_nothing():
    free, bounded = (TABLE.txanon.anonymize(k=5, m=2, **more) for more in ({}, {"max_loss": {"named": 1.0}}))
    assert bounded.frame.equals(free.frame)
    assert bounded.parameters == free.parameters
    assert "named" in bounded.tried
    assert "named" not in free.tried


@pytest.mark.slow
def test_bounds_on_loss_and_on_named_persons_hold_together(monkeypatch):
    monkeypatch.setattr(release, "_PERSONS", 400)
    monkeypatch.setattr(release, "_SPLITS", 1)
    with pytest.raises(InfeasibleError, match="max_loss"):
        TABLE.txanon.anonymize(k=5, m=2, max_loss={"named": 0.02, "NCP": 0.001})
    free = TABLE.txanon.anonymize(k=5, m=2)
    most = free.loss["NCP"] * 50
    both = TABLE.txanon.anonymize(k=5, m=2, max_loss={"named": 0.1, "NCP": most})
    assert both.loss["NCP"] <= most


@pytest.mark.slow
def test_a_bound_that_nothing_meets_is_an_error():
    frame = frame_of([{"a"}, {"b"}, {"c"}] * 2)
    with pytest.raises(InfeasibleError, match="max_loss") as error:
        frame.txanon.anonymize(k=3, m=2, max_loss={"named": 0.01})
    assert "larger bound on named" in str(error.value)


@pytest.mark.slow
def test_constraints_are_bounded_too():
    result = TABLE.txanon.anonymize(
        pdanon.PrivacyConstraints(constraints=[["p00", "p10"], ["p01"]], k=5), max_loss={"named": 0.9}
    )
    assert isinstance(result.guarantee, pdanon.PrivacyConstraints)


@pytest.mark.parametrize("most", [-0.1, 1.1, "0.1", float("nan"), True])
def test_refused_bounds(most):
    with pytest.raises(ParameterError, match=r"named.* must be a"):
        TABLE.txanon.anonymize(k=5, m=2, max_loss={"named": most})


def test_other_guarantees_have_no_bound():
    with pytest.raises(ParameterError, match="a bound on named needs k and m"):
        TABLE.txanon.anonymize(pdanon.RhoUncertainty(rho=0.5, sensitive=["p00"]), max_loss={"named": 0.5})


def test_files_have_no_bound(tmp_path):
    pdanon.to_parquet(TABLE, tmp_path / "in.parquet")
    files = tmp_path / "in.parquet", tmp_path / "out.parquet"
    with pytest.raises(ParameterError, match="a bound on named needs all rows"):
        pdanon.stream.anonymize(*files, k=5, max_named=0.5)
    with pytest.raises(ParameterError, match="there is no such measure of loss"):
        pdanon.stream.anonymize(*files, k=5, max_loss={"named": 0.5})
    with pytest.raises(ParameterError, match=r"no parameter 'max_named'(.|\n)*max_loss=\{'named': 0.1\}"):
        TABLE.txanon.anonymize(k=5, max_named=0.5)


def test_comparisons_and_tradeoffs_show_the_share():
    other = kinds(600, 2, 6, 4)
    table = pdanon.compare(TABLE, {"pcta": {}, "disassociate": {}}, k=5, m=2, sample=other)
    result = TABLE.txanon.pcta(k=5, m=2)
    attack = TABLE.txanon.attack(result, sample=other, random_state=0)
    assert table["named"].iloc[0] == attack.named
    assert np.isnan(table["named"].iloc[1])
    shares = TABLE.txanon.tradeoff(k=[5], m=[2], algorithm="pcta", sample=other)
    assert shares["named"].tolist() == [attack.named]
    assert "named" not in TABLE.txanon.tradeoff(k=[5], m=[1], algorithm="pcta")
    for call in (pdanon.compare, pdanon.tradeoff):
        given = [{"pcta": {"k": 5}}] if call is pdanon.compare else []
        with pytest.raises(ParameterError, match="no item of the original"):
            call(TABLE, *given, sample=frame_of([{"unknown"}]))
