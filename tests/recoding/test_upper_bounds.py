"""Upper bounds on losses: a release above one is refused, and nothing is written."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest
from conftest import frame_of

import pdanon
import pdanon.stream
from pdanon import InfeasibleError, ParameterError
from pdanon.cli.main import main
from pdanon.io.datasets import make_baskets
from pdanon.recoding.release import refuse_loss


@pytest.fixture(scope="module")
def baskets():
    return make_baskets(400, 30, random_state=0)[["items"]]


def test_a_release_within_its_bounds_is_the_same(baskets):
    free = baskets.txanon.anonymize(k=5, m=2)
    bounded = baskets.txanon.anonymize(k=5, m=2, max_loss={"pairs": 1, "ncp": 1.0})
    pd.testing.assert_frame_equal(free.frame, bounded.frame)


def test_the_least_that_was_reached_is_named(baskets):
    tried = baskets.txanon.anonymize(k=5, m=2).tried
    with pytest.raises(InfeasibleError) as error:
        baskets.txanon.anonymize(k=5, m=2, max_loss={"pairs": 0.0})
    assert f"the least that was reached is {tried['pairs'].min():.4g}" in str(error.value)


def test_another_algorithm_is_chosen_for_a_bound(baskets):
    """The release with the lowest occurrences need not have the lowest error of pairs."""
    tried = baskets.txanon.anonymize(k=5, m=2).tried.dropna(subset="loss")
    least = float(tried["pairs"].min())
    result = baskets.txanon.anonymize(k=5, m=2, loss="occurrences", max_loss={"pairs": least})
    assert result.loss["pairs"] <= least


@pytest.mark.parametrize(
    "max_loss", [{}, 0.5, {"pears": 0.5}, {"pairs": "0.5"}, {"pairs": float("nan")}, {"pairs": None}]
)
def test_bad_bounds(baskets, max_loss):
    with pytest.raises(ParameterError, match="max_loss"):
        baskets.txanon.anonymize(k=5, m=2, max_loss=max_loss)


def test_a_bound_on_a_measure_that_the_release_lacks(baskets):
    with pytest.raises(ParameterError, match="no such measure"):
        baskets.txanon.anonymize(k=5, m=2, max_loss={"KL": 0.5})


def test_an_almost_empty_release_is_refused_with_any_bound():
    refuse_loss({"pairs": 0.1}, "all is one label", {})
    with pytest.raises(InfeasibleError, match="almost no information"):
        refuse_loss({"pairs": 0.1}, "all is one label", {"pairs": 0.5})


def run(tmp_path, *words):
    """Run the command, and return its exit code and whether it left files."""
    pdanon.to_parquet(make_baskets(400, 30, random_state=0)[["items"]], tmp_path / "in.parquet")
    files = [str(tmp_path / name) for name in ("in.parquet", "out.parquet")]
    mapping = str(tmp_path / "map.parquet")
    code = main(["anonymize", *files, "-k", "5", "-m", "2", "--mapping", mapping, *words])
    return code, sorted(path.name for path in tmp_path.iterdir())


@pytest.mark.one_in(2)
@pytest.mark.parametrize(
    "how", [[], ["--algorithm", "pcta"], ["--algorithm", "pcta", "--stream"], ["--stream"]]
)
def test_the_command_line_writes_nothing(tmp_path, how, capsys):
    code, files = run(tmp_path, *how, "--max-loss", "pairs=0.001")
    assert (code, files) == (1, ["in.parquet"])
    assert "pairs=" in capsys.readouterr().err
    code, files = run(tmp_path, *how, "--max-loss", "pairs=0.99", "--max-loss", "occurrences=1")
    assert (code, files) == (0, ["in.parquet", "map.parquet", "out.parquet"])


TABLES = {
    "uniform": lambda: make_baskets(200, 150, random_state=1)[["items"]],
    "few rows": lambda: make_baskets(24, 40, random_state=2)[["items"]],
    "usual": lambda: make_baskets(300, 20, random_state=3)[["items"]],
    "alone": lambda: frame_of([{f"i{number}", f"j{number}"} for number in range(40)]),
}
CALLS = {
    "pcta": {"k": 10, "m": 2},
    "pcta strict": {"k": 20, "m": 3},
    "coat": {"k": 20, "m": 2},
    "apriori": {"k": 20, "m": 2, "hierarchy": 2},
    "apriori flat": {"k": 15, "m": 2, "hierarchy": 1000},
    "direct": {"k": 15, "m": 2, "hierarchy": 1000},
    "hghs": {"k": 20, "m": 2, "hierarchy": 3},
    "mhghs": {"k": 20, "m": 2, "hierarchy": 1000},
    "partition": {"k": 15, "hierarchy": 1000},
    "anonymize": {"k": 20, "m": 2},
}


def keeps_nothing(result):
    """Whether almost all occurrences are changed, and counts of pairs are off by almost all."""
    lost = result.loss
    nodes = "LM" in lost and lost["NCP"] < 0.5
    return lost["occurrences"] >= 0.95 and lost["pairs"] >= 0.95 and not nodes


@pytest.mark.slow
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("call", CALLS)
def test_a_useless_release_never_passes(table, call, tmp_path):
    """Forty tries: a release that keeps nothing warns, and has no exit code 0 with a bound."""
    frame, name = TABLES[table](), call.split()[0]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = getattr(frame.txanon, name)(**CALLS[call])
        except InfeasibleError:
            return
    warned = any(issubclass(each.category, pdanon.UselessWarning) for each in caught)
    assert warned or not keeps_nothing(result)
    assert warned == bool(result.do_not_publish)
    pdanon.to_parquet(frame, tmp_path / "in.parquet")
    words = [f"--{key}" if len(key) > 1 else f"-{key}" for key in CALLS[call]]
    options = [
        word for key, value in zip(words, CALLS[call].values(), strict=True) for word in (key, str(value))
    ]
    if name != "anonymize":
        options += ["--algorithm", name]
    source, target = str(tmp_path / "in.parquet"), tmp_path / "out.parquet"
    code = main(["anonymize", source, str(target), *options, "--max-loss", "pairs=0.9"])
    refused = bool(result.useless) or result.loss["pairs"] > 0.9
    assert (code, target.exists()) == ((1, False) if refused else (0, True))
