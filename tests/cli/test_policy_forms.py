"""Policies of tables in every form, and policies that name no algorithm."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
from commands import here  # noqa: F401 (`here` acts on every test)

import pdanon
from pdanon.cli.main import main
from pdanon.errors import ColumnError, ParameterError

LINES = "who;sex;note;what\n1;f;x;tea\n1;f;y;rice\n2;m;z;tea\n2;m;z;rice\n2;;z;tea\n"
TICKS = "who,sex,note,has_tea,has_rice\n1,f,x,1,0\n1,f,y,0,1\n2,m,z,1,1\n"


def policy(text):
    Path("policy.toml").write_text(text)
    return pdanon.Policy.from_toml("policy.toml")


def form(file="in.csv", more="", by='by = "who"'):
    head = 'algorithm = "pcta"\nparameters = {k = 2, m = 2}\noutputs = {release = "out.parquet"}\n'
    return f'{head}[columns]\nkeep = ["sex"]\n{more}\n[input]\nfile = "{file}"\n{by}\n'


@pytest.mark.parametrize(
    ("text", "said", "label"),
    [
        (LINES, 'item = "what"', "what"),
        (LINES, 'item = "what"\ndelimiter = ";"\nencoding = "utf-8"\nconflicts = "refuse"', "what"),
        (TICKS, 'prefix = "has_"', "items"),
        (TICKS.replace("has_", ""), 'onehot = ["tea", "rice"]', "items"),
        (TICKS.replace(",0", ",2"), 'prefix = "has_"\ntick = 1', "items"),
        (TICKS.replace(",0", ","), 'prefix = "has_"\ntick = "1"', "items"),  # read as 1.0
    ],
)
def test_a_policy_takes_lines_and_columns_of_ticks(text, said, label):
    Path("in.csv").write_text(text)
    asked = policy(form() + said)
    assert asked.items == label
    assert main(["run", "policy.toml"]) == 0
    frame = pdanon.read_parquet("out.parquet")
    assert list(frame) == ["sex", label]  # nobody's number, and no note that has no role
    assert frame["sex"].tolist() == ["f", "m"]
    assert [set(row) for row in frame[label]] == [{"tea", "rice"}] * 2


@pytest.mark.parametrize(
    ("text", "said"),
    [(LINES, 'by = "who"\nitem = "what"'), (TICKS, 'by = "who"\nprefix = "has_"'), (LINES, None)],
)
def test_a_policy_publishes_no_column_of_persons(text, said):
    Path("in.csv").write_text(text)
    asked = form(by=said or 'unit = "who"\nitem = "what"').replace('["sex"]', '["who"]')
    with pytest.raises(ParameterError, match="the column of persons is never published"):
        policy(asked).run()
    assert not Path("out.parquet").exists()


def test_a_column_of_lists_may_be_named_and_columns_of_ticks_are_called_by_it():
    Path("in.csv").write_text(TICKS)
    assert list(policy(form(more='items = "buys"') + 'prefix = "has_"').read()) == ["sex", "buys"]


@pytest.mark.parametrize(
    ("said", "message"),
    [
        ('itme = "what"', "did you mean 'item'"),
        ("", "by and item go together"),
        ('item = "what"\nonehot = ["tea"]', "not both"),
        ('item = "what"\nconflicts = "last"', "no such treatment of conflicts"),
        ('item = "what"\nencoding = 3', "encoding must be text"),
        ('item = "what"\ndelimiter = ["x"]', "delimiter must be text"),
        ('onehot = "tea"', "onehot must be a list of column names"),
        ('item = ["what"]', "item must be text"),
    ],
)
def test_what_an_input_may_not_be_is_refused_at_once(said, message):
    with pytest.raises(ParameterError, match=message):
        policy(form() + said)


def test_an_input_needs_a_file():
    with pytest.raises(ParameterError, match="the input needs a file"):
        policy('[input]\nby = "who"\nitem = "what"\n')
    with pytest.raises(ParameterError, match="must end in"):
        policy(form("in.txt") + 'item = "what"')


def test_what_is_not_in_the_file_is_told_when_it_is_read():
    Path("in.csv").write_text(LINES)
    with pytest.raises(ColumnError, match="did you mean 'what'"):
        policy(form() + 'item = "waht"').read()
    with pytest.raises(ColumnError, match="of 2 persons"):
        policy(form().replace('"sex"', '"note"') + 'item = "what"').read()
    assert len(policy(form().replace('"sex"', '"note"') + 'item = "what"\nconflicts = "first"').read()) == 2


# --- Without an algorithm


def asked(parameters, columns='keep = ["store"]', more=""):
    outputs = '[outputs]\nrelease = "out.parquet"\nmapping = "map.csv"\n'
    return f'input = "in.parquet"\n[parameters]\n{parameters}\n[columns]\n{columns}\n{outputs}{more}'


def test_without_an_algorithm_that_is_released_which_loses_least(capsys):
    policy(asked("k = 2\nm = 2"))
    assert main(["run", "policy.toml"]) == 0
    shown = capsys.readouterr().out
    assert "pcta, refined" in shown  # what was tried
    assert "KmAnonymity(k=2, m=2), audited" in shown
    expected = pdanon.keep(pdanon.read_parquet("in.parquet"), "store").anonymize(k=2, m=2)
    released = pdanon.read_parquet("out.parquet")
    assert [set(row) for row in released["items"]] == [set(row) for row in expected.frame["items"]]
    assert len(pd.read_csv("map.csv")) == 3


@pytest.mark.parametrize(
    ("parameters", "columns", "guarantee"),
    [
        ("k = 2", 'keep = ["store"]', "KmAnonymity(k=2, m=2)"),
        ('k = 2\nm = "all"\nloss = "pairs"\ntime_limit = 30', 'keep = ["store"]', "KmAnonymity(k=2, m=None)"),
        ('k = 2\nconstraints = [["a"]]', 'drop = ["store"]', "PrivacyConstraints(constraints=1, k=2)"),
        ('k = 2\nc = 0.7\nrules = [[["a"], ["b"]]]', 'keep = ["store"]', "PSRules(rules=1, k=2, c=0.7)"),
        ('k = 2\nc = 0.7\nrules = "rules.csv"', 'keep = ["store"]', "PSRules(rules=1, k=2, c=0.7)"),
        (
            'k = 2\nc = 0.7\nrules = {m = 1, sensitive = ["b"]}',
            'keep = ["store"]',
            "PSRules(rules=AllRules(m=1, public=all others, sensitive=1 items), k=2, c=0.7)",
        ),
        (
            'rho = 0.9\nsensitive = ["b"]\nm = 1',
            'keep = ["store"]',
            "RhoUncertainty(rho=0.9, sensitive=1 items, m=1)",
        ),
        ('rho = 0.9\nsensitive = ["b"]', 'keep = ["store"]', "RhoUncertainty(rho=0.9, sensitive=1 items)"),
        ("k = 2\nm = 1\nrandom_state = 1", 'quasi = ["store"]', "KKm(k=2, m=1, quasi=('store',))"),
        (
            'k = 2\nl = 2\nm = 1\nsensitive = ["b"]\nrandom_state = 1',
            'quasi = ["store"]',
            "KLm(k=2, l=2, m=1, quasi=('store',), sensitive=1 items)",
        ),
        (
            "k = 2\nrandom_state = 1",
            'quasi = ["store"]\ndrop = ["items"]',
            "KAnonymity(k=2, quasi=('store',))",
        ),
    ],
)
def test_the_guarantee_is_what_parameters_and_roles_ask_for(parameters, columns, guarantee):
    frame = pd.DataFrame({"store": ["n", "n", "s", "s"], "items": [["a", "b"], ["a"], ["a", "b"], ["a"]]})
    pdanon.to_parquet(frame, "in.parquet")
    Path("rules.csv").write_text("known,sensitive\na,b\n")
    result = policy(asked(parameters, columns)).run()
    assert repr(result.guarantee) == guarantee
    assert result.tried is not None


@pytest.mark.slow
def test_a_hierarchy_lets_more_algorithms_compete():
    tried = (
        policy(asked("k = 2", 'items = "items"\nkeep = ["store"]', "[hierarchies]\nitems = 2\n")).run().tried
    )
    assert tried.set_index("algorithm")["seconds"].notna()["apriori"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (asked("k = 2\nlos = 'pairs'"), "did you mean 'loss'"),
        (asked("m = 2"), "no algorithm, and no k"),
        (asked("rho = 0.5"), "rho and sensitive go together"),
        (asked("k = 2\nsensitive = ['a']"), "sensitive needs rho, p or l"),
        (asked("l = 2\nrho = 0.5\nsensitive = ['a']"), "sensitive needs rho, p or l"),
        (asked("k = 2\nl = 2"), "l and sensitive go together"),
        (asked("k = 2\nrho = 0.5\nsensitive = ['a']"), "rho excludes k"),
        (asked("k = 2\nkeep = ['store']"), "the role of a column sets this"),
        (asked("k = 2\nmax_suppressed = 0.1"), "no such parameter of anonymize"),
    ],
)
def test_what_cannot_be_asked_for_is_refused_at_once(text, message):
    with pytest.raises(ParameterError, match=message):
        policy(text)


@pytest.mark.parametrize(
    ("parameters", "columns", "message"),
    [
        ('constraints = [["a"]]\nrandom_state = 1', 'quasi = ["store"]', "quasi-identifiers by constraints"),
        ("m = 2\nrandom_state = 1", 'quasi = ["store"]\ndrop = ["items"]', "m counts items"),
        ('constraints = [["a"]]\nm = 2', 'keep = ["store"]', "m is not used with constraints"),
    ],
)
def test_nothing_that_is_asked_for_is_passed_over(parameters, columns, message):
    with pytest.raises(ParameterError, match=message):
        policy(asked(f"k = 2\n{parameters}", columns)).run()


def test_a_policy_that_asks_for_nothing_has_no_release():
    with pytest.raises(ParameterError, match="no algorithm, and no k"):
        policy('input = "in.parquet"\n[columns]\nkeep = ["store"]\n').run()


def test_what_is_tried_is_compared(capsys):
    policy(asked("k = 2").replace("[outputs]", '[outputs]\ncomparison = "tried.csv"'))
    assert main(["compare", "policy.toml"]) == 0
    assert "pcta" in capsys.readouterr().out
    assert not Path("out.parquet").exists()
    assert "needs utility" in pd.read_csv("tried.csv")["reason"].tolist()
    policy(asked("k = 2", more="[compare.vary]\nk = [2, 3]\n"))
    assert main(["compare", "policy.toml"]) == 2
    assert "compares nothing" in capsys.readouterr().err


def endless():
    table = {"k": 2}
    table["transaction"] = table
    return table


@pytest.mark.parametrize("part", ["parameters", "comparison", "outputs"])
def test_a_table_that_holds_itself_is_refused(part):
    with pytest.raises(pdanon.ParameterError, match="too many tables within tables"):
        pdanon.Policy(input="in.parquet", algorithm="rum_bound", **{part: endless()})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("transaction." * 5000 + "x = 1", "too many tables within tables"),
        ("weights = " + "[" * 5000 + "]" * 5000, "cannot be read as TOML"),
    ],
)
def test_a_file_of_tables_without_end_is_refused(tmp_path, line, message):
    path = tmp_path / "deep.toml"
    path.write_text(f'input = "in.parquet"\nalgorithm = "pcta"\n[parameters]\nk = 2\n{line}\n')
    with pytest.raises(pdanon.PdanonError, match=message):
        pdanon.Policy.from_toml(path)
