"""Policies: the same file gives the same bytes, what it does not say is refused, and nothing is left over."""

from __future__ import annotations

import itertools
from hashlib import sha256
from pathlib import Path

import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import pytest
from conftest import SECRET, frame_of, rows_of
from naive import itemsets as naive

import pdanon
from pdanon.errors import ColumnError, FormatError, InfeasibleError, ParameterError
from pdanon.io.parquet import read_parquet, to_parquet
from pdanon.io.tables import Form
from pdanon.io.text import read_csv, to_csv

ROWS = [{"rice", "tea"}, {"rice", "salt"}, {"rice", "tea"}, {"tea"}]
MERGED = "(rice,salt)"  # the only way to hide the one row with salt at a smaller loss than with tea
POLICY = """
input = "in.parquet"
algorithm = "pcta"

[parameters]
k = 2
m = 2

[columns]
items = "items"
keep = ["store"]
drop = ["name"]

[outputs]
release = "released.parquet"
mapping = "mapping.csv"
loss = "loss.csv"
report = "report.html"
"""


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    """A directory with data and a policy, which is not the working directory."""
    directory = tmp_path / "project"
    directory.mkdir()
    monkeypatch.chdir(tmp_path)
    to_parquet(data(), directory / "in.parquet")
    return directory


def data():
    stores = ["north", "north", "south", "south"]
    return frame_of(ROWS).assign(name=[f"{SECRET}-{i}" for i in range(4)], store=stores)


def policy_of(here, text=POLICY, **changes):
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new)
    (here / "policy.toml").write_text(text)
    return pdanon.Policy.from_toml(here / "policy.toml")


def written(here):
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in here.iterdir()}


# --- Run


def test_run_gives_what_the_library_gives(here):
    policy = policy_of(here)
    before = written(here)
    result = policy.run()
    assert written(here) == before
    expected = pdanon.pcta(data().drop(columns="name"), "items", k=2, m=2)
    pd.testing.assert_frame_equal(result.frame, expected.frame)
    assert rows_of(result.frame) == [{MERGED, "tea"}, {MERGED}, {MERGED, "tea"}, {"tea"}]
    policy.write(result)
    assert set(written(here)) - set(before) == {"released.parquet", "mapping.csv", "loss.csv", "report.html"}
    pd.testing.assert_frame_equal(read_parquet(here / "released.parquet"), result.frame)
    loss = pd.read_csv(here / "loss.csv").set_index("measure")["value"]
    assert loss.to_dict() == pytest.approx(result.loss.to_dict())
    assert (here / "mapping.csv").read_text().count(MERGED) == 2


@pytest.mark.parametrize("named", [True, False])
def test_a_release_that_loses_too_much_is_refused(here, named):
    text = POLICY if named else POLICY.replace('algorithm = "pcta"\n', "")
    changes = {"most": ("m = 2", "m = 2\nmax_loss = { occurrences = 0.1 }")}
    with pytest.raises(InfeasibleError, match="max_loss"):  # half of the occurrences change
        policy_of(here, text, **changes).run()
    allowed = {"most": ("m = 2", "m = 2\nmax_loss = { occurrences = 0.99 }")}
    assert policy_of(here, text, **allowed).run().holds
    with pytest.raises(ParameterError, match="no such measure"):
        policy_of(here, text, most=("m = 2", "m = 2\nmax_loss = { occurences = 0.1 }")).run()


@pytest.mark.slow
def test_evidence_and_report_have_the_head_of_the_policy(here):
    text = POLICY.replace("[outputs]", "[outputs]\nevidence = 'proof.html'")
    policy = policy_of(here, text + '\n[head]\ntitle = "Baskets of May"\n')
    frame = policy.read()
    result = policy.run(frame)
    policy.write(result, frame)
    assert {"proof.json", "proof.html"} <= set(written(here))
    assert pdanon.verify(here / "proof.json", result.frame, original=frame).matches
    for page in ("proof.html", "report.html"):
        assert "<title>Baskets of May</title>" in (here / page).read_text(encoding="utf-8")
    with pytest.raises(ParameterError, match="exists"):
        policy.write(result, frame)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ('evidence = "proof.pdf"', "evidence must end in .json or .html"),
        ('evidence = "report.json"', "two entries of the policy name the same file"),
        ('evidence = "report.json"', "evidence.json comes with a page"),
        ('[head]\ntitel = "May"', "did you mean 'title'"),
        ("[head]\ntitle = 5", "title"),
    ],
)
def test_evidence_that_cannot_be_written_is_refused_before(here, more, message):
    with pytest.raises(ParameterError, match=message):
        policy_of(here, POLICY + more)


@pytest.mark.slow
@pytest.mark.parametrize("given", [True, False])
def test_the_report_is_about_what_was_read(here, given):
    policy = policy_of(here)
    original = policy.read()
    result = policy.run(original)
    policy.write(result, original if given else None)
    text = (here / "report.html").read_text(encoding="utf-8")
    assert ("Risk before and after" in text) == given
    assert (data().drop(columns="name").txanon.fingerprint() in text) == given
    assert pdanon.read_parquet(here / "released.parquet").txanon.fingerprint() in text


@pytest.mark.slow
def test_same_policy_gives_the_same_bytes(here, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    runs = []
    for _ in range(2):
        policy = policy_of(here)
        policy.write(policy.run(), overwrite=True)
        runs.append(written(here))
    assert runs[0] == runs[1]


def test_dropped_columns_are_in_no_output(here):
    frame = data().set_index("name", append=False).assign(note=SECRET)
    to_parquet(frame, here / "in.parquet")
    policy = policy_of(here, drop=('drop = ["name"]', 'drop = ["name", "note"]'))
    result = policy.run()
    policy.write(result)
    assert list(result.frame) == ["items", "store"]
    assert isinstance(result.frame.index, pd.RangeIndex)
    for name in ("released.parquet", "mapping.csv", "loss.csv"):
        assert SECRET.encode() not in (here / name).read_bytes()


def test_columns_without_a_role_are_refused(here):
    with pytest.raises(ColumnError, match=r"columns have no role(.|\n)*'name'"):
        policy_of(here, drop=('drop = ["name"]', "")).run()
    to_parquet(data().set_index("store"), here / "in.parquet")
    assert policy_of(here).run().frame.index.name == "store"
    with pytest.raises(ColumnError, match=r"columns have no role(.|\n)*'store'"):
        policy_of(here, keep=('keep = ["store"]', "")).run()
    to_parquet(data().set_axis([7, 5, 3, 1]), here / "in.parquet")
    with pytest.raises(ColumnError, match=r"columns have no role(.|\n)*'index'"):
        policy_of(here).run()
    kept = policy_of(here, keep=('["store"]', '["store", "index"]')).run()
    assert (kept.frame.index.tolist(), kept.unmodified.judged) == ([7, 5, 3, 1], ("store", "index"))
    dropped = policy_of(here, drop=('drop = ["name"]', 'drop = ["name", "index"]')).run()
    assert dropped.frame.index.equals(pd.RangeIndex(4))
    with pytest.raises(ColumnError, match=r"the table lacks columns \['shop'\]"):
        policy_of(here, keep=('["store"]', '["shop"]')).run()


def identifying(here):
    """Data whose columns tell all rows apart."""
    frame = frame_of(ROWS * 10).assign(ward=[*range(8)] * 5, year=[n // 8 for n in range(40)])
    to_parquet(frame, here / "in.parquet")


def test_columns_that_were_judged_are_a_role(here):
    identifying(here)
    roles = 'keep = ["store"]\ndrop = ["name"]'
    result = policy_of(here, roles=(roles, 'keep = ["ward", "year"]')).run()
    assert result.parameters["keep"] == ["ward", "year"]
    assert result.unmodified.judged == ("ward", "year")
    for text, message in (
        ('keep = ["ward", "year", "items"]', "a column has two roles"),
        ('drop = ["ward", "year"]\nkeep = ["ward"]', "a column has two roles"),
        ('keep = "ward"', "keep must be a list of column names"),
        ('keep = ["wards", "year"]', r"lacks columns \['wards'\]"),
    ):
        with pytest.raises((ColumnError, ParameterError), match=message):
            policy_of(here, roles=(roles, text)).run()
    with pytest.raises(ParameterError, match=r"parameter keep\n  hint:  move it to \[columns\]"):
        policy_of(here, k=("k = 2", 'k = 2\nkeep = ["store"]'))


def test_list_columns_that_parameters_name_have_their_role(here):
    frame = frame_of(ROWS * 5).assign(ill=[["flu"], ["gout"]] * 10)
    to_parquet(frame, here / "in.parquet")
    text = """
    input = "in.parquet"
    algorithm = "coherence"
    parameters = { k = 2, p = 1, h = 0.6, private = "ill" }
    columns = { items = "items" }
    """
    expected = pdanon.coherence(frame, "items", k=2, p=1, h=0.6, private="ill")
    pd.testing.assert_frame_equal(policy_of(here, text).run().frame, expected.frame)


def test_a_comparison_shows_nothing_of_what_was_judged(here):
    identifying(here)
    text = """
    input = "in.parquet"
    [columns]
    keep = ["ward", "year"]
    [compare.algorithms.pcta]
    k = 2
    """
    assert "keep" not in policy_of(here, text).compare()


def test_only_list_column_needs_no_name(here):
    result = policy_of(here, items=('items = "items"\n', "")).run()
    assert rows_of(result.frame)[1] == {MERGED}


def test_csv_in_and_out(here):
    to_csv(data(), here / "in.csv", separator="|")
    changes = {"input": ('"in.parquet"', '"in.csv"\nseparator = "|"'), "out": ("released.parquet", "out.csv")}
    policy = policy_of(here, **changes)
    policy.write(policy.run())
    released = read_csv(here / "out.csv", column="items", separator="|")
    assert list(released) == ["items", "store"]
    assert rows_of(released)[1] == {MERGED}


def test_files_are_relative_to_the_policy(here):
    (here / "tree.csv").write_text("rice;food;*\nsalt;food;*\ntea;drink;*\n")
    tree = ('"pcta"', '"apriori"'), ("[outputs]", '[hierarchies]\nitems = "tree.csv"\n[outputs]')
    result = policy_of(here, a=tree[0], b=tree[1]).run()
    assert rows_of(result.frame)[1] == {"food"}
    result = policy_of(here, a=tree[0], b=("[outputs]", "[hierarchies]\nitems = 9\n[outputs]")).run()
    assert rows_of(result.frame)[1] == {"*"}


def test_constraints_weights_and_utility_are_files_or_values(here):
    to_parquet(frame_of([{"salt"}]), here / "constraints.parquet")
    (here / "constraints.csv").write_text("salt\n")
    for name in ("constraints.parquet", "constraints.csv"):
        policy = policy_of(here, k=("k = 2\nm = 2", f'k = 3\nconstraints = "{name}"'))
        result = policy.run()
        became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
        assert naive.constraints_hold(rows_of(result.frame), [{"salt"}], 3, became)
        assert repr(result.guarantee) == "PrivacyConstraints(constraints=1, k=3)"
    (here / "weights.csv").write_text("item,weight\nsalt,0.5\n")
    for weights in ('"weights.csv"', "{ salt = 0.5 }"):
        result = policy_of(here, k=("k = 2", f"k = 2\nweights = {weights}")).run()
        assert dict(result.parameters["weights"]) == {"salt": 0.5}
    to_parquet(pd.DataFrame({"item": ["rice", "salt", "tea"], "block": [1, 2, 2]}), here / "blocks.parquet")
    for blocks in ('"blocks.parquet"', '[["rice"], ["salt", "tea"]]'):
        changes = {"a": ('"pcta"', '"upcta"'), "k": ("k = 2", f"k = 2\nutility = {blocks}")}
        assert "(salt,tea)" in set().union(*rows_of(policy_of(here, **changes).run().frame))


def test_m_may_be_all(here):
    to_parquet(frame_of([{"a", "b", "c"}, {"a", "b"}, {"a", "c"}, {"b", "c"}]), here / "in.parquet")
    roles = {"s": ('keep = ["store"]\ndrop = ["name"]', "")}
    released = rows_of(policy_of(here, **roles, m=("m = 2", 'm = "all"')).run().frame)
    assert not naive.km_threats(released, 2, None)
    assert naive.km_threats(rows_of(policy_of(here, **roles).run().frame), 2, None)


def test_infeasible_policy_says_so(here):
    before = written(here)
    with pytest.raises(InfeasibleError):
        policy_of(here, k=("k = 2", "k = 200")).run()
    assert set(written(here)) - set(before) == {"policy.toml"}


@pytest.mark.parametrize("broken", ["released", "mapping", "loss"])
@pytest.mark.parametrize("anew", [True, False])
def test_outputs_are_written_all_or_none(here, monkeypatch, broken, anew):
    policy = policy_of(here)
    result = policy.run()
    if not anew:
        for path in policy.outputs.values():
            path.write_text("of an earlier run")
    before = written(here)
    count = {"loss": 1, "mapping": 2, "released": 3}[broken]
    calls = []

    def fail_at(original):
        def fail(*arguments, **options):
            calls.append(1)
            if len(calls) == count:
                raise OSError(28, "No space left on device")
            return original(*arguments, **options)

        return fail

    monkeypatch.setattr(pyarrow.csv, "write_csv", fail_at(pyarrow.csv.write_csv))
    monkeypatch.setattr(pyarrow.parquet, "write_table", fail_at(pyarrow.parquet.write_table))
    with pytest.raises(OSError, match="No space left"):
        policy.write(result, overwrite=not anew)
    assert len(calls) == count
    assert written(here) == before


# --- Roles that some algorithms take


def test_roles_become_parameters(here, stand_in):
    received = {}

    def both(frame, column=None, *, k, m=2, quasi, hierarchy=None, random_state=None):
        received.update(column=column, quasi=quasi, hierarchy=hierarchy)
        return pdanon.pcta(frame, column, k=k)

    stand_in("rfirst", both)
    changes = {
        "a": ('"pcta"', '"rfirst"'),
        "c": ('keep = ["store"]', 'quasi = ["store"]'),
        "o": ("[outputs]", '[hierarchies]\nitems = 2\nstore = "stores.csv"\n[outputs]'),
    }
    policy_of(here, **changes).run()
    assert received == {
        "column": "items",
        "quasi": {"store": (None, here / "stores.csv")},
        "hierarchy": 2,
    }


def test_relational_policy(here):
    frame = data().assign(age=[20, 30, 40, 50])
    to_parquet(frame, here / "in.parquet")
    (here / "stores.csv").write_text("north;*\nsouth;*\n")
    text = """
    input = "in.parquet"
    algorithm = "cluster"
    parameters = { k = 2, random_state = 1 }
    outputs = { release = "out.parquet" }
    hierarchies = { store = "stores.csv" }
    columns = { quasi = ["age", "store"], keep = ["items"], drop = ["name"] }
    """
    asked = {"quasi": {"age": None, "store": here / "stores.csv"}}
    expected = pdanon.cluster(frame.drop(columns="name"), k=2, random_state=1, **asked)
    released = policy_of(here, text).run().frame
    pd.testing.assert_frame_equal(released, expected.frame)
    with pytest.raises(ParameterError, match="cluster does not protect a list column"):
        policy_of(here, text, s=('keep = ["items"]', 'items = "items"'))
    with pytest.raises(ColumnError, match=r"columns have no role(.|\n)*'items'"):
        policy_of(here, text, s=('keep = ["items"], ', "")).run()


# --- Refused before anything is read

LONG = ".".join(["a"] * 20_000)
DEEP = {
    "key": f"{LONG} = 1",
    "quoted key": ".".join(['"a"'] * 20_000) + " = 1",
    "header": f"[{LONG}]",
    "array of tables": f"[[{LONG}]]",
    "inline table": f"parameters = {{ k = 2, {LONG} = 1 }}",
    "list": f"parameters = {{ k = 2, utility = [ {{ {LONG} = 1 }} ] }}",
    "after an array": f"[[parameters.a]]\n{LONG} = 1",
}


@pytest.mark.parametrize("name", DEEP)
def test_keys_of_very_many_parts_are_refused_before_they_are_parsed(here, name, monkeypatch):
    monkeypatch.setattr("tomllib.loads", None)  # which takes the square of the number of parts
    with pytest.raises(ParameterError, match="too many tables within tables"):
        policy_of(here, f'input = "in.parquet"\n{DEEP[name]}\n')


def test_text_with_dots_is_no_key(here):
    text = " ".join(f'"{number}.5"' for number in range(200)).replace(" ", ", ")
    changes = {"n": ('drop = ["name"]', f'drop = ["name", {text}]')}
    assert len(policy_of(here, **changes).drop) == 201


@pytest.mark.slow
def test_combinations_that_nobody_waits_for_are_refused(here):
    many = list(range(2, 3002))
    text = f"""
    input = "in.parquet"
    [compare.vary]
    k = {many}
    m = {many}
    [compare.algorithms.pcta]
    """
    with pytest.raises(ParameterError, match=r"too many combinations(.|\n)*9,000,000"):
        policy_of(here, text)
    with pytest.raises(ParameterError, match="too many combinations"):
        pdanon.tradeoff(data(), k=many, m=many)
    with pytest.raises(ParameterError, match="too many combinations"):
        pdanon.compare(data(), {"pcta": {}}, vary={"k": itertools.count(2)})


REFUSED = {
    "key": (("input =", "inputs ="), "no such key of a policy(.|\n)*did you mean 'input'"),
    "role": (("drop =", "dorp ="), r"\[columns\](.|\n)*did you mean 'drop'"),
    "sensitive column": (
        ("keep =", "sensitive ="),
        r"no column can be sensitive(.|\n)*keep publishes a column as it is(.|\n)*\[parameters\]",
    ),
    "private column": (("keep =", "private ="), "no column can be private"),
    "output": (("mapping =", "maping ="), r"\[outputs\](.|\n)*did you mean 'mapping'"),
    "parameter": (("m = 2", "n = 2\nweight = 5"), "no such parameter of pcta"),
    "algorithm": (('"pcta"', '"ptca"'), "no such algorithm(.|\n)*did you mean 'pcta'"),
    "no k": (("k = 2\n", ""), "pcta lacks a parameter(.|\n)*no k"),
    "no input": (('input = "in.parquet"', ""), "a policy needs an input"),
    "type of the input": (('input = "in.parquet"', "input = 5"), "input must be text"),
    "type of a role": (('drop = ["name"]', 'drop = "name"'), "drop must be a list of column names"),
    "type in a role": (('drop = ["name"]', "drop = [1]"), "a role must be a list of column names"),
    "two roles": (('drop = ["name"]', 'drop = ["store"]'), r"a column has two roles(.|\n)*\['store'\]"),
    "role as a parameter": (
        ("m = 2", 'hierarchy = "x.csv"'),
        r"the role of a column sets this(.|\n)*\[hierarchies\]",
    ),
    "column as a parameter": (
        ("m = 2", 'column = "items"'),
        r"the role of a column sets this(.|\n)*\[columns\]",
    ),
    "quasi": (("keep =", "quasi ="), "pcta does not protect quasi-identifiers"),
    "role of what is not published": (('"pcta"', '"disassociate"'), "disassociate publishes no other column"),
    "hierarchy of no column": (
        ("[outputs]", "[hierarchies]\nitmes = 5\n[outputs]"),
        "no such column with a hierarchy(.|\n)*did you mean 'items'",
    ),
    "hierarchy of a column without a name": (
        ("[outputs]", "[hierarchies]\nitems = 5\n[outputs]"),
        "name the list column as well",
        ('items = "items"', ""),
    ),
    "suffix": (("released.parquet", "released.txt"), "must end in .parquet or .csv"),
    "directory": (("released.parquet", "new/released.parquet"), "directory that does not exist"),
    "output is input": (("released.parquet", "in.parquet"), "name the same file"),
    "output is output": (
        ("released.parquet", "./mapping.csv"),
        "name the same file\n  where: release and mapping",
    ),
    "output is a source": (
        ("[outputs]", '[hierarchies]\nitems = "loss.csv"\n[outputs]'),
        "name the same file",
    ),
    "output is constraints": (("m = 2", 'constraints = "mapping.csv"'), "name the same file"),
    "separator": (("released.parquet", "released.csv"), "a CSV file needs a separator"),
    "column of CSV": (
        ('"in.parquet"', '"in.csv"\nseparator = "|"'),
        "a CSV file needs a column",
        ('items = "items"', ""),
    ),
    "nothing to compare with": (
        ("[outputs]", "[compare]\nalgorithm = 5\n[outputs]"),
        "did you mean 'algorithms'",
    ),
    "no table to compare": (
        ("[outputs]", "[compare]\nalgorithms = {pcta = 5}\n[outputs]"),
        "must be a table",
    ),
    "nothing varied": (
        ("[outputs]", "[compare]\nvary = {k = 5}\n[outputs]"),
        "a varied parameter needs a list of values",
    ),
    "parameter to compare": (
        ("[outputs]", "[compare.algorithms.pcta]\nkk = 5\n[outputs]"),
        "no such parameter of pcta",
    ),
}


def test_constraints_written_like_the_data_are_refused(here):
    to_csv(frame_of([{"salt"}]), here / "constraints.csv", separator="|")
    policy = policy_of(here, k=("k = 2\nm = 2", 'k = 3\nconstraints = "constraints.csv"'))
    with pytest.raises(FormatError, match="the constraints have a header") as caught:
        policy.run()
    assert "salt" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message", "further"), [(*each, ("", ""))[:3] for each in REFUSED.values()], ids=REFUSED
)
def test_what_makes_no_sense_is_refused_at_once(here, monkeypatch, change, message, further):
    monkeypatch.setattr(Form, "read", lambda *arguments: 1 / 0)
    before = written(here)
    with pytest.raises(ParameterError, match=message):
        policy_of(here, change=change, further=further)
    assert {**before, "policy.toml": ""} == {**written(here), "policy.toml": ""}


@pytest.mark.parametrize("text", [f'input = "{SECRET}', f"{SECRET} = 1\n{SECRET} = 2", b"\xff"])
def test_what_is_not_toml_is_refused_without_its_text(here, text):
    path = here / "policy.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(FormatError, match="the file cannot be read as TOML") as caught:
        pdanon.Policy.from_toml(path)
    assert SECRET not in str(caught.value)
    assert caught.value.__context__ is None
    with pytest.raises(FormatError, match="No such file"):
        pdanon.Policy.from_toml(here / "none.toml")


# --- Compare

COMPARE = """
[compare]
vary = { k = [2, 3], m = [1, "all"] }
measures = ["NCP"]
resume = "rows.parquet"

[compare.algorithms.pcta]
[compare.algorithms."by category"]
algorithm = "apriori"
"""


def test_compare_gives_what_the_library_gives(here):
    (here / "tree.csv").write_text("rice;food;*\nsalt;food;*\ntea;drink;*\n")
    text = POLICY + 'comparison = "comparison.parquet"\n[hierarchies]\nitems = "tree.csv"\n' + COMPARE
    policy = policy_of(here, text)
    table = policy.compare()
    asked = {"pcta": {}, "by category": {"algorithm": "apriori", "hierarchy": here / "tree.csv"}}
    vary = {"k": [2, 3], "m": [1, None]}
    frame = data().drop(columns="name")
    expected = pdanon.compare(frame, asked, vary=vary, measures=["NCP"], column="items")
    costs = ["seconds", "memory"]
    pd.testing.assert_frame_equal(table.drop(columns=costs), expected.drop(columns=costs), check_like=True)
    assert len(read_parquet(here / "rows.parquet")) == 8
    policy.write_comparison(table)
    assert read_parquet(here / "comparison.parquet")["NCP"].tolist() == table["NCP"].tolist()
    assert not (here / "released.parquet").exists()


def test_varied_files_are_named_and_relative(here):
    (here / "tree.csv").write_text("rice;food;*\nsalt;food;*\ntea;drink;*\n")
    text = POLICY + "[compare.algorithms.apriori]\nk = 2\n[compare.vary]\n"
    text += 'hierarchy = { flat = 9, food = "tree.csv" }\n'
    table = policy_of(here, text).compare()
    assert table["hierarchy"].tolist() == ["flat", "food"]
    assert table["NCP"].tolist() == [1.0, pytest.approx(4 / 7 * 2 / 3)]


def test_policy_may_only_compare_or_only_run(here):
    with pytest.raises(ParameterError, match="the policy compares nothing"):
        policy_of(here).compare()
    text = 'input = "in.parquet"\n[columns]\ndrop = ["name", "store"]\n[compare.algorithms.pcta]\nk = 2\n'
    policy = policy_of(here, text)
    assert policy.compare()["holds"].tolist() == [True]
    with pytest.raises(ParameterError, match="the policy names no algorithm"):
        policy.run()


def test_policy_may_be_made_in_python(here):
    policy = pdanon.Policy(Path(here / "in.parquet"), "pcta", {"k": 2}, drop=["name", "store"])
    assert rows_of(policy.run().frame)[1] == {MERGED}
    with pytest.raises(ParameterError, match="did you mean 'pcta'"):
        pdanon.Policy(Path(here / "in.parquet"), "pctaa", {"k": 2})
