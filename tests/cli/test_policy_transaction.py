"""Policies that say what is done to the items beside quasi-identifiers: a name, or a table of its own."""

from __future__ import annotations

import pandas as pd
import pytest
from conftest import SECRET, frame_of

import pdanon
from pdanon import ParameterError, Transaction

ROWS = [["a", "b"], ["a"], ["b", "c"], ["b", "c"], ["a", "c"], ["a"], ["a", "c"], ["b"]]
TREE = {"*": {"x": ["a", "b"], "y": ["c"]}}
POLICY = """
input = "in.parquet"
algorithm = "rfirst"

[parameters]
k = 2
random_state = 1
transaction = "pcta"

[columns]
items = "items"
quasi = ["age"]
"""
COMPARISON = """
input = "in.parquet"
columns = { items = "items", quasi = ["age"] }
hierarchies = { items = "tree.csv" }

[compare]
measures = ["NCP"]

[compare.algorithms]
"""


def people():
    return frame_of(ROWS).assign(age=[30, 31, 45, 46, 70, 71, 72, 73])


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with data, a hierarchy and blocks, which is not the working directory."""
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(tmp_path)
    pdanon.to_parquet(people(), directory / "in.parquet")
    (directory / "tree.csv").write_text("a;x;*\nb;x;*\nc;y;*\n")
    (directory / "flat.csv").write_text("a;*\nb;*\nc;*\n")
    (directory / "blocks.csv").write_text("item,block\na,1\nb,1\nc,2\n")
    return directory


def policy_of(here, transaction='"pcta"', more="", text=POLICY):
    (here / "policy.toml").write_text(
        text.replace('transaction = "pcta"', f"transaction = {transaction}") + more
    )
    return pdanon.Policy.from_toml(here / "policy.toml")


def expected(transaction):
    return pdanon.rfirst(people(), k=2, quasi=["age"], random_state=1, transaction=transaction)


BY_ROLE = '[hierarchies]\nitems = "tree.csv"\n'
SAID = {
    '"pcta"': ("", "pcta"),
    '{ algorithm = "pcta", order = "tum" }': ("", Transaction(order="tum")),
    '"apriori"': (BY_ROLE, Transaction("apriori", hierarchy=TREE)),
    '{ algorithm = "vpa", options = { parts = 3 } }': (
        BY_ROLE,
        Transaction("vpa", hierarchy=TREE, options={"parts": 3}),
    ),
    '{ algorithm = "apriori", sensitive = ["c"], l = 2 }': (
        BY_ROLE,
        Transaction("apriori", hierarchy=TREE, sensitive=["c"], l=2),
    ),
    '{ algorithm = "upcta", options = { utility = "blocks.csv", max_suppressed = 1.0 } }': (
        "",
        Transaction("upcta", options={"utility": [["a", "b"], ["c"]], "max_suppressed": 1.0}),
    ),
    ' "coat"': (BY_ROLE, "coat"),  # which takes no hierarchy
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("said", SAID)
def test_a_policy_says_what_python_says(here, said):
    more, transaction = SAID[said]
    result = policy_of(here, said, more).run()
    pd.testing.assert_frame_equal(result.frame, expected(transaction).frame)
    assert result.guarantee == expected(transaction).guarantee


def test_the_command_line_runs_it(here, run):
    said = '{ algorithm = "apriori", order = "tum" }'
    policy_of(here, said, BY_ROLE + '[outputs]\nrelease = "out.parquet"\n')
    code, out, err = run("run", str(here / "policy.toml"))
    assert (code, err) == (0, f"pdanon: writes {here / 'out.parquet'}\n")
    assert "KKm(k=2, m=2, quasi=('age',)), audited" in out


REFUSED = {
    "pctaa": ('"pctaa"', "", "did you mean 'pcta'"),
    "number": ("5", "", "no such algorithm for transactions"),
    "key": ('{ algorithm = "pcta", ordr = "tum" }', "", "did you mean 'order'"),
    "value": ('{ algorithm = "pcta", order = "rum" }', "", "no such order of merges"),
    "option": ('{ algorithm = "vpa", options = { part = 3 } }', BY_ROLE, "did you mean 'parts'"),
    "no hierarchy": ('"apriori"', "", "apriori needs a hierarchy"),
    "hierarchy twice": ('{ algorithm = "apriori", hierarchy = "tree.csv" }', BY_ROLE, "the role of a column"),
    "sensitive": (
        f'{{ algorithm = "vpa", sensitive = ["{SECRET}"], l = 2 }}',
        BY_ROLE,
        "the algorithm cannot hide",
    ),
    "not beside": ('"pcta"\nhierarchy = 2', "", "the role of a column"),
    "flat": ('"pcta"\norder = "tum"', "", "no such parameter of rfirst"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_refused_before_data_is_read(here, what):
    said, more, message = REFUSED[what]
    (here / "in.parquet").unlink()
    with pytest.raises(ParameterError, match=message) as caught:
        policy_of(here, said, more)
    assert SECRET not in str(caught.value)


def test_compared(here):
    text = (
        COMPARISON
        + """
cuts = { algorithm = "rfirst", k = 2, random_state = 1, transaction = "apriori" }
sets = { algorithm = "rfirst", k = 2, random_state = 1 }
[compare.algorithms.flat]
algorithm = "rfirst"
k = 2
random_state = 1
transaction = { algorithm = "apriori", hierarchy = "flat.csv" }
"""
    )
    table = policy_of(here, text=text).compare()
    values = [Transaction("apriori", hierarchy=tree) for tree in (TREE, {"*": ["a", "b", "c"]})]
    losses = [expected(each).loss["NCP"] for each in (values[0], "pcta", values[1])]
    assert table["NCP"].tolist() == losses
    assert len({*losses}) == 3


def test_varied(here):
    text = (
        COMPARISON
        + """
rfirst = { k = 2, random_state = 1 }
[compare.vary.transaction]
flat = { algorithm = "apriori", hierarchy = "flat.csv" }
sets = "pcta"
"""
    )
    table = policy_of(here, text=text).compare()
    flat = Transaction("apriori", hierarchy={"*": ["a", "b", "c"]})
    assert table["transaction"].tolist() == ["flat", "sets"]
    assert table["NCP"].tolist() == [expected(each).loss["NCP"] for each in (flat, "pcta")]
    with pytest.raises(ParameterError, match="did you mean 'hierarchy'"):
        policy_of(here, text=text.replace("hierarchy = ", "hierarchi = "))


@pytest.mark.parametrize("said", ["out.parquet", "./out.parquet"])
def test_no_output_is_a_file_that_is_read(here, said):
    transaction = f'{{ algorithm = "coat", options = {{ utility = "{said}" }} }}'
    with pytest.raises(ParameterError):
        policy_of(here, transaction, '[outputs]\nrelease = "out.parquet"\n')
