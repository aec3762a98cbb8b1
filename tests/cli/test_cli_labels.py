"""Names of sets and their legend, on the command line and in policies."""

from __future__ import annotations

from pathlib import Path

import pytest
from commands import KM, RICE, SALT, TEA, contents, here, mapped  # noqa: F401 (`here` acts on every test)
from conftest import rows_of

import pdanon.stream
from pdanon import ParameterError
from pdanon.io.parquet import read_parquet
from pdanon.io.tables import read_columns

SHORT = ("--labels", "short", "--legend", "legend.csv")
POLICY = """
input = "in.parquet"
algorithm = "pcta"
[parameters]
k = 2
m = 2
labels = "first"
[columns]
keep = ["store"]
[outputs]
release = "out.parquet"
legend = "legend.csv"
"""


def legend_of(path):
    table = read_columns(Path(path), ["label", "item"])
    return [*zip(table["label"], table["item"], strict=True)]


@pytest.mark.parametrize("algorithm", [KM, ("-k", "2", "-m", "2")], ids=["named", "least lossy"])
def test_a_release_with_its_legend(run, algorithm):
    files = ("--mapping", "map.parquet", *SHORT)
    code, out, err = run("anonymize", "in.parquet", "out.parquet", *algorithm, "--keep", "store", *files)
    assert (code, err) == (0, "")
    assert "  legend     legend.csv\n" in out
    assert rows_of(read_parquet("out.parquet")) == [{"G1", TEA}, {"G1"}, {"G1", TEA}, {TEA}]
    assert mapped(read_parquet("map.parquet")) == {RICE: "G1", SALT: "G1", TEA: TEA}
    assert legend_of("legend.csv") == [("G1", RICE), ("G1", SALT)]


def test_a_policy_names_sets_and_writes_the_legend(run):
    Path("policy.toml").write_text(POLICY)
    code, out, err = run("run", "policy.toml")
    assert code == 0
    assert err.startswith("pdanon: writes ")
    assert "legend.csv\n" in out
    assert legend_of("legend.csv") == [(f"{RICE} +1", RICE), (f"{RICE} +1", SALT)]
    assert rows_of(read_parquet("out.parquet"))[1] == {f"{RICE} +1"}


def test_a_stream_has_labels_and_no_legend(run):
    before = contents()
    asked = ("anonymize", "--stream", "in.parquet", "out.parquet", *KM, "--keep", "store")
    code, _, err = run(*asked, *SHORT)
    assert code == 2
    assert "--stream writes no legend" in err
    assert contents() == before
    assert run(*asked, "--labels", "short")[0] == 0
    assert rows_of(read_parquet("out.parquet")) == [{"G1", TEA}, {"G1"}, {"G1", TEA}, {TEA}]
    written = pdanon.stream.pcta("in.parquet", "again.parquet", k=2, m=2, labels="short", keep=["store"])
    assert written.legend["item"].tolist() == [RICE, SALT]


def test_labels_that_nobody_knows_get_the_nearest(run):
    code, _, err = run("anonymize", "in.parquet", "out.parquet", *KM, "--labels", "shrt")
    assert code == 2
    assert "did you mean 'short'?" in err


def test_labels_where_there_are_no_sets_or_at_an_old_place():
    with pytest.raises(TypeError, match="apriori has no parameter 'labels'"):
        pdanon.stream.apriori("in.parquet", "out", k=2, hierarchy=2, labels="short")
    Path("policy.toml").write_text(POLICY.replace('labels = "first"', 'transaction = { labels = "first" }'))
    with pytest.raises(ParameterError, match="no such parameter of pcta"):
        pdanon.Policy.from_toml("policy.toml")
    asked = POLICY.replace('"pcta"', '"tfirst"').replace('labels = "first"', "parts = 1\nrefine = false")
    Path("policy.toml").write_text(asked)
    with pytest.raises(ParameterError, match=r"Transaction\(refine"):
        pdanon.Policy.from_toml("policy.toml")
    none = POLICY.replace('"pcta"', '"suppress_to_k"').replace("m = 2", f'public = ["{TEA}"]')
    Path("policy.toml").write_text(none)
    with pytest.raises(ParameterError, match="suppress_to_k publishes no sets of items"):
        pdanon.Policy.from_toml("policy.toml")
