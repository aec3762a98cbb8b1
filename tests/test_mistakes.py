"""What users do wrong first, and what they are told: what, where, how to go on, and no item's text."""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from conftest import SECRET

import pdanon
from pdanon import (
    ColumnError,
    FormatError,
    HierarchyError,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
)
from pdanon.algorithms.registry import functions
from pdanon.cli.main import main

RICE, SALT, TEA = (f"{SECRET}-{name}" for name in ("rice", "salt", "tea"))
ROWS = [[RICE, TEA], [RICE, SALT], [RICE, TEA], [TEA], [RICE, SALT], [TEA, SALT]]
FRAME = pd.DataFrame({"items": ROWS, "age": range(6)})
TEXT = FRAME.assign(items=["|".join(row) for row in ROWS])
OTHERS = pd.DataFrame({name: range(10, 16) for name in "qrst"})
ONE_HOT = pd.DataFrame({item: [int(item in row) for row in ROWS] for item in (RICE, SALT, TEA)})
LONG = FRAME.explode("items").rename(columns={"age": "person"}).reset_index(drop=True)


class Table:
    """What another library has for a table."""

    def to_pandas(self):
        return FRAME


class Mistake(NamedTuple):
    """A call, and what is said of it: in the first line, and in the hint, both as patterns."""

    call: Callable[[], Any]
    error: type[Exception]
    what: str
    hint: str


def column(rows):
    return pd.DataFrame({"items": pd.Series(list(rows), dtype=object)})


def by_item(hierarchy):
    return pdanon.apriori(FRAME, k=2, hierarchy=hierarchy)


TABLES = {
    "one column an item": Mistake(
        lambda: pdanon.pcta(ONE_HOT.assign(person=range(10, 16)), k=2),
        ColumnError,
        "no list-valued column",
        r"one-hot.*pdanon.from_onehot\(frame, columns=frame.columns.drop\(\['person'\]\)\)",
    ),
    "one column an item, between many others": Mistake(
        lambda: pd.concat([OTHERS, ONE_HOT, OTHERS.add_prefix("x")], axis=1).txanon.pcta(k=2),
        ColumnError,
        "no list-valued column",
        rf"pdanon.from_onehot\(frame, columns=frame.columns\[4:{4 + ONE_HOT.shape[1]}\]\)",
    ),
    "one column an item, accessor": Mistake(
        lambda: ONE_HOT.astype(bool).txanon.pcta(k=2),
        ColumnError,
        "no list-valued",
        r"one-hot.*pdanon.from_onehot\(frame\)",
    ),
    "one row an item": Mistake(
        lambda: pdanon.pcta(LONG, k=2),
        ColumnError,
        "no list-valued",
        r"pdanon.from_long\(frame, by='person', item='items'\)",
    ),
    "one row an item, and a year first": Mistake(
        lambda: pdanon.pcta(LONG.assign(year=2025)[["year", *LONG]], k=2),
        ColumnError,
        "no list-valued",
        r"pdanon.from_long\(frame, by='person', item='items'\)",
    ),
    "one row an item, and an invoice first": Mistake(
        lambda: pdanon.pcta(
            LONG.rename(columns={"person": "KundenNr"}).assign(no=7)[["no", "KundenNr", "items"]], k=2
        ),
        ColumnError,
        "no list-valued",
        r"by='KundenNr', item='items'\) makes one row per person\.",
    ),
    "one row an item, of persons under another name": Mistake(
        lambda: pdanon.pcta(LONG.rename(columns={"person": "whose"}), k=2),
        ColumnError,
        "no list-valued",
        r"by='whose', item='items'\) makes one row per person, if 'whose' identifies the person of a line\.",
    ),
    "no items at all": Mistake(
        lambda: pd.DataFrame({"age": ["old", "new"] * 3, "sex": [*"fffmmm"]}).txanon.pcta(k=2),
        ColumnError,
        "no list-valued",
        r"^No items\? pdanon.anonymize\(.*KAnonymity\(5, quasi=\['age', 'sex'\]\)\)",
    ),
    "numbers alone": Mistake(
        lambda: FRAME[["age"]].txanon.pcta(k=2),
        ColumnError,
        "no list-valued",
        r"^No items\? pdanon.anonymize\(frame, pdanon.KAnonymity\(5, quasi=\['age'\]\)\)$",
    ),
    "categories in a cell": Mistake(
        lambda: pdanon.pcta(column(map(pd.Categorical, ROWS)), k=2),
        ColumnError,
        "no list-valued",
        r"\.map\(list\) makes one of a Categorical",
    ),
    "categories in one cell": Mistake(
        lambda: pdanon.pcta(column([*ROWS, pd.Categorical(ROWS[0])]), k=2),
        ItemsetDtypeError,
        "not a list",
        r"\.map\(list\) makes one of a Categorical",
    ),
    "a result as a frame": Mistake(
        lambda: pdanon.audit(pdanon.pcta(FRAME, k=2), k=2),
        ParameterError,
        "a pandas DataFrame",
        r"pass result\.frame",
    ),
    "one row an item, named": Mistake(
        lambda: pdanon.pcta(LONG, "items", k=2),
        ItemsetDtypeError,
        "does not hold lists",
        r"pdanon.from_long\(",
    ),
    "joined text": Mistake(
        lambda: pdanon.pcta(TEXT, k=2),
        ColumnError,
        "no list-valued",
        r"pdanon.from_text\(frame\['items'\], separator='\|'\)",
    ),
    "joined text, named": Mistake(
        lambda: pdanon.pcta(TEXT, "items", k=2),
        ItemsetDtypeError,
        "not hold lists",
        r"from_text\(.*separator='\|'\)",
    ),
    "joined text, series": Mistake(
        lambda: TEXT["items"].itemset,
        ColumnError,
        "does not hold lists",
        r"from_text\(.*separator='\|'\)",
    ),
    "text of a list": Mistake(
        lambda: pdanon.pcta(FRAME.assign(items=FRAME["items"].map(str)), k=2),
        ColumnError,
        "no list-valued",
        r"pdanon.from_json\(frame\['items'\]\) makes lists",
    ),
    "text of an array": Mistake(
        lambda: pdanon.pcta(FRAME.assign(items=[str(np.array(row)) for row in ROWS]), "items", k=2),
        ItemsetDtypeError,
        "does not hold lists",
        "nothing reads back: write them by pdanon.to_csv",
    ),
    "no column": Mistake(lambda: pdanon.pcta(pd.DataFrame(), k=2), ColumnError, "no list-valued", "empty"),
    "no row": Mistake(
        lambda: pdanon.pcta(FRAME[:0], k=2), ColumnError, "no list-valued", "empty: it has no rows"
    ),
    "nothing but missing rows": Mistake(
        lambda: pdanon.pcta(column([None] * 3), k=2), ColumnError, "no list-valued", "column='items'"
    ),
    "dicts": Mistake(
        lambda: pdanon.pcta(column([{RICE: 1}] * 3), k=2), ColumnError, "no list-valued", r"\.map\(list\)"
    ),
    "dicts, named": Mistake(
        lambda: pdanon.pcta(column([{RICE: 1}] * 3), "items", k=2),
        ItemsetDtypeError,
        "a row is not a list",
        r"\.map\(list\) makes lists of the keys of dicts",
    ),
    "items that are dicts": Mistake(
        lambda: pdanon.pcta(column([[{RICE: 1}], [{TEA: 1}]]), k=2),
        ItemsetDtypeError,
        "not of one known type",
        "items must be numbers, text",
    ),
    "lists in lists": Mistake(
        lambda: pdanon.pcta(column([[[RICE]], [[TEA]]]), k=2),
        ItemsetDtypeError,
        "not of one known type",
        "items must be numbers, text",
    ),
    "items of two types": Mistake(
        lambda: pdanon.pcta(column([[RICE, 1], [RICE]]), k=2),
        ItemsetDtypeError,
        "not of one",
        "all of one type",
    ),
    "NaN among items": Mistake(
        lambda: pdanon.pcta(column([[RICE, np.nan], [RICE]]), k=2),
        ItemsetDtypeError,
        "item is missing",
        "drop",
    ),
    "a row that is text": Mistake(
        lambda: pdanon.pcta(column([[RICE], RICE]), k=2), ItemsetDtypeError, "not a list", "never parsed"
    ),
    "values that are dicts": Mistake(
        lambda: pdanon.cluster(FRAME.assign(age=[{RICE: 1}] * 6), k=2, quasi=["age"]),
        ItemsetDtypeError,
        "values of a quasi-identifier",
        "holds numbers, text",
    ),
    "categories that are no text": Mistake(
        lambda: pdanon.cluster(
            FRAME.assign(age=pd.Categorical([(RICE, 1)] * 6)), k=2, quasi=["age"], random_state=0
        ),
        ItemsetDtypeError,
        "quasi-identifier",
        "holds numbers, text",
    ),
    "a series": Mistake(
        lambda: pdanon.pcta(FRAME["items"], k=2), ParameterError, "a pandas DataFrame", r"to_frame\('items'\)"
    ),
    "another library": Mistake(
        lambda: pdanon.pcta(Table(), k=2), ParameterError, "a pandas DataFrame", r"to_pandas\(\)"
    ),
    "Arrow": Mistake(
        lambda: pdanon.pcta(pa.table({"items": ["rice,tea"] * 4}), k=2), ColumnError, "no list", "from_text"
    ),
    "a path": Mistake(
        lambda: pdanon.pcta("in.parquet", k=2), ParameterError, "a pandas DataFrame", "pdanon.read_parquet"
    ),
    "a list": Mistake(
        lambda: pdanon.pcta(ROWS, k=2), ParameterError, "a pandas DataFrame", r"pd.DataFrame\("
    ),
}
PARAMETERS = {
    "misspelt column": Mistake(
        lambda: pdanon.pcta(FRAME, "itmes", k=2), ColumnError, "'itmes' does not exist", "mean 'items'"
    ),
    "k in the place of the column": Mistake(
        lambda: pdanon.pcta(FRAME, 5, k=2), ColumnError, "column 5 does not exist", "by name, such as k="
    ),
    "two list columns": Mistake(
        lambda: pdanon.pcta(FRAME.assign(more=ROWS), k=2), ColumnError, "several list-valued", "column="
    ),
    "misspelt quasi": Mistake(
        lambda: pdanon.cluster(FRAME, k=2, quasi=["aeg"]), ColumnError, "'aeg' does not exist", "mean 'age'"
    ),
    "quasi as text": Mistake(
        lambda: pdanon.cluster(FRAME, k=2, quasi="age"),
        ParameterError,
        "a list of columns",
        r"quasi=\['age'\]",
    ),
    "no such parameter": Mistake(
        lambda: pdanon.pcta(FRAME, k=2, n=2), ParameterError, "no parameter 'n'", "its parameters: .*k, m"
    ),
    "quasi-identifiers that the guarantee is to say": Mistake(
        lambda: pdanon.bound(FRAME, k=2, quasi=["age"]),
        ParameterError,
        "no parameter 'quasi'",
        r"pdanon.KKm\(k=5, m=2, quasi=\[",
    ),
    "rho that the guarantee is to say": Mistake(
        lambda: pdanon.anonymize(FRAME, rho=0.5, sensitive=["rice"]),
        ParameterError,
        "no parameter 'rho'",
        r"pdanon.RhoUncertainty\(rho=0.5, sensitive=\[",
    ),
    "groups that the guarantee is to say": Mistake(
        lambda: pdanon.anonymize(FRAME, p=10, sensitive=["rice"]),
        ParameterError,
        "no parameter 'p'",
        r"pdanon.SensitiveGroups\(p=10, sensitive=\[",
    ),
    "no p of groups": Mistake(
        lambda: pdanon.cahd(FRAME, sensitive=["rice"]), ParameterError, "cahd needs p", "at most one row in p"
    ),
    "no rules": Mistake(
        lambda: pdanon.ps_rules(FRAME, k=2, c=0.5), ParameterError, "ps_rules needs rules", "such as rules="
    ),
    "an algorithm as a parameter": Mistake(
        lambda: FRAME.txanon.anonymize(k=2, algorithm="pcta"),
        ParameterError,
        "no parameter 'algorithm'",
        r"by its name: df\.txanon\.pcta\(k=5\)",
    ),
    "a quasi-identifier to keep": Mistake(
        lambda: FRAME.txanon.keep("age", "age"), ParameterError, "names a column twice", "needs no keep"
    ),
    "missing items in a column of another name": Mistake(
        lambda: pd.DataFrame({"codes": [["rice", None]] * 2}).txanon.pcta(k=2),
        ItemsetDtypeError,
        "an item is missing",
        r"^leave them out: pdanon\.as_itemsets\(lists, missing='drop'\)",
    ),
    "a table of a comparison that is no Parquet": Mistake(
        lambda: FRAME.txanon.compare({"pcta": {}}, k=2, resume="rows.csv"),
        ParameterError,
        "must end in .parquet",
        "such as resume=",
    ),
    "misspelt parameter": Mistake(
        lambda: FRAME.txanon.apriori(k=2, heirarchy=2), ParameterError, "'heirarchy'", "mean 'hierarchy'"
    ),
    "upper case": Mistake(lambda: pdanon.pcta(FRAME, K=2), ParameterError, "no parameter 'K'", "mean 'k'"),
    "k by place": Mistake(
        lambda: pdanon.pcta(FRAME, "items", 5),
        ParameterError,
        "pcta takes only column by position beside the frame",
        "k=5",
    ),
    "no delta": Mistake(
        lambda: pdanon.rum_bound(FRAME, k=2, quasi=["age"]),
        ParameterError,
        "needs delta",
        "such as delta=0.5: an",
    ),
    "no example of a parameter": Mistake(
        lambda: pdanon.fingerprint(),
        ParameterError,
        "fingerprint needs frame",
        "its parameters: frame",
    ),
    "the column of files by place": Mistake(
        lambda: pdanon.stream.pcta("in.parquet", "out.parquet", "items", k=2),
        ParameterError,
        "pcta takes only source and target by position",
        "by name, column='items'",
    ),
    "no k": Mistake(lambda: pdanon.pcta(FRAME), ParameterError, "no guarantee is given", "such as k=5"),
    "no hierarchy": Mistake(
        lambda: pdanon.apriori(FRAME, k=2), ParameterError, "apriori needs hierarchy", "hierarchy='tree.csv'"
    ),
    "no quasi": Mistake(lambda: pdanon.mondrian(FRAME, k=2), ParameterError, "needs quasi", r"quasi=\['age'"),
    "misspelt method": Mistake(
        lambda: FRAME.txanon.pct(k=2), AttributeError, "no such method", "mean 'pcta'"
    ),
    "k as text": Mistake(lambda: pdanon.pcta(FRAME, k="5"), ParameterError, "k must be an integer", "k=5"),
    "k of one": Mistake(
        lambda: pdanon.pcta(FRAME, k=1), ParameterError, "at least 2", "minimum number of rows"
    ),
    "m of none": Mistake(
        lambda: pdanon.pcta(FRAME, k=2, m=0), ParameterError, "at least 1", "maximum number"
    ),
    "k above the rows": Mistake(
        lambda: pdanon.pcta(FRAME, k=7), InfeasibleError, "k is larger than", "choose a smaller k"
    ),
    "a guarantee's class": Mistake(
        lambda: pdanon.anonymize(FRAME, pdanon.KmAnonymity), ParameterError, "guarantee", r"KmAnonymity\(k=5"
    ),
    "swapped": Mistake(
        lambda: pdanon.audit(pdanon.KmAnonymity(2), FRAME),
        ParameterError,
        "not a guarantee",
        r"\(k=5, m=2\)",
    ),
    "an audit of nothing": Mistake(
        lambda: FRAME.txanon.audit(), ParameterError, "no guarantee is given", "k=5, m=2"
    ),
    "an audit by numbers": Mistake(
        lambda: FRAME.txanon.audit(pdanon.KmAnonymity(5, 2), k=2), ParameterError, "given twice", "k=5, m=2"
    ),
    "a risk of nothing": Mistake(
        lambda: FRAME.txanon.risk(m=2), ParameterError, "risk needs k", "least number of rows"
    ),
    "an attack on nothing": Mistake(
        lambda: pdanon.attack(FRAME), ParameterError, "attack needs result", "result="
    ),
    "an attack on the frame": Mistake(
        lambda: FRAME.txanon.attack(pdanon.pcta(FRAME, k=2).frame),
        ParameterError,
        "a frame needs its mapping",
        r"result itself.*pdanon.attack\(frame, result\)",
    ),
    "a risk of an index": Mistake(
        lambda: FRAME.set_index("age").txanon.risk(k=2, quasi=["age"]),
        ColumnError,
        "'age' does not exist",
        r"a level of the index: pass frame.reset_index\('age'\)",
    ),
    "a guarantee by position": Mistake(
        lambda: pdanon.KKm(5, 2), ParameterError, "no argument by position", "pass them by name, k=5"
    ),
    "a guarantee without columns": Mistake(
        lambda: pdanon.KKm(k=5, m=2),
        ParameterError,
        "KKm needs quasi",
        r"quasi=\['age', 'sex'\]: the columns",
    ),
    "a guarantee that lacks two": Mistake(
        lambda: pdanon.KLm(k=5, l=2, m=2), ParameterError, "quasi and sensitive", "quasi=.*; sensitive="
    ),
    "groups without a p": Mistake(
        lambda: pdanon.SensitiveGroups(sensitive=[RICE]), ParameterError, "needs p", "one row in p"
    ),
    "sensitive items of coherence": Mistake(
        lambda: pdanon.Coherence(h=0.5, k=2, p=2, sensitive=[RICE]),
        ParameterError,
        "no parameter 'sensitive'",
        "mean 'private'",
    ),
    "k in the place of the guarantee": Mistake(
        lambda: FRAME.txanon.anonymize(5, 2), ParameterError, "not a guarantee", "by name: k=5, m=2"
    ),
    "a comparison of nothing": Mistake(
        lambda: FRAME.txanon.compare(k=2), ParameterError, "compare needs configurations", "configurations="
    ),
    "a comparison without k": Mistake(
        lambda: FRAME.txanon.compare({"pcta": {}}), ParameterError, "pcta lacks", "as k= and m="
    ),
    "a comparison with k twice": Mistake(
        lambda: FRAME.txanon.compare({"pcta": {"k": 2}}, k=2),
        ParameterError,
        "fixed and varied",
        "in one place",
    ),
    "a comparison with k varied twice": Mistake(
        lambda: FRAME.txanon.compare({"pcta": {}}, k=2, vary={"k": [2]}),
        ParameterError,
        "passed twice",
        "in one place",
    ),
    "a comparison with k as text": Mistake(
        lambda: FRAME.txanon.compare({"pcta": {}}, k="2"), ParameterError, "k must be an integer", "k=5"
    ),
    "an audit of the result": Mistake(
        lambda: pdanon.pcta(FRAME, k=2).audit(),
        AttributeError,
        "no such attribute",
        r"pdanon.audit\(result.frame, result.guarantee\)",
    ),
    "a report of nothing": Mistake(
        lambda: pdanon.pcta(FRAME, k=2).report(), ParameterError, "report needs path", "path='release.html'"
    ),
    "an explanation of nothing": Mistake(
        lambda: pdanon.pcta(FRAME, k=2).explain(),
        ParameterError,
        "explain needs item and original",
        "item='flu': an item of the original; original=frame",
    ),
    "no such plot": Mistake(
        lambda: pdanon.pcta(FRAME, k=2).plot.hist(),
        AttributeError,
        "no such plot",
        "known: loss, risk, sizes, mapping",
    ),
    "a plot of nothing": Mistake(
        lambda: pdanon.pcta(FRAME, k=2).plot.risk(), ParameterError, "risk needs original", "original=frame"
    ),
    "misspelt query": Mistake(
        lambda: FRAME["items"].itemset.suport([RICE]), AttributeError, "no such method", "mean 'support'"
    ),
    "a hierarchy of nothing": Mistake(
        pdanon.Hierarchy, ParameterError, "needs names and parent", r"pdanon.Hierarchy.of\(\{"
    ),
    "a workload of nothing": Mistake(
        pdanon.Workload, ParameterError, "needs queries", r"pdanon.Workload.itemsets\(frame"
    ),
    "a policy of nothing": Mistake(pdanon.Policy, ParameterError, "needs input", "pdanon.Policy.from_toml"),
    "sensitive items of a profile": Mistake(
        lambda: FRAME.txanon.profile(sensitive=["age"]),
        ParameterError,
        "no parameter 'sensitive'",
        "its parameters: ",
    ),
    "a refinement of nothing": Mistake(
        lambda: FRAME.txanon.refine(), ParameterError, "refine needs result", "result=pdanon.pcta"
    ),
    "progress of a call": Mistake(
        lambda: pdanon.pcta(FRAME, k=2, progress=True),
        ParameterError,
        "no parameter 'progress'",
        r"^pdanon.config\(progress=True\)$",
    ),
    "no threads": Mistake(
        lambda: pdanon.config(threads=0), ParameterError, "at least 1", "None stands for the cores"
    ),
    "the result as a mapping": Mistake(
        lambda: pdanon.apply_mapping(FRAME, pdanon.pcta(FRAME, k=2)),
        ParameterError,
        "the mapping must be",
        "frame, mapping = ",
    ),
    "a dict as a mapping": Mistake(
        lambda: pdanon.apply_mapping(FRAME, {RICE: "food"}),
        ParameterError,
        "the mapping must be",
        r"itemset.generalize\(mapping\)",
    ),
    "a mapping of one's own": Mistake(
        lambda: pdanon.apply_mapping(FRAME, pd.DataFrame({"item": [RICE], "generalized": ["food"]})),
        ParameterError,
        r"lacks columns",
        r"mapping.assign\(group=0\)",
    ),
    "rows of nothing": Mistake(
        lambda: pdanon.lcg(FRAME, hierarchy=2),
        ParameterError,
        "lcg needs rows",
        r"rows=\[0, 1\]: labels of rows",
    ),
    "the mapping of another column": Mistake(
        lambda: pdanon.apply_mapping(column([["x"], ["y"]]), pdanon.pcta(FRAME, k=2).mapping),
        ParameterError,
        "items that the mapping lacks",
        "the mapping of this column",
    ),
    "hierarchy upside down": Mistake(
        lambda: by_item({RICE: "food", SALT: "food", TEA: "drink"}),
        HierarchyError,
        "an inner node holds neither",
        r"root down.*columns=\['child', 'parent'\]",
    ),
    "hierarchy in a circle": Mistake(
        lambda: by_item(pd.DataFrame({"child": [RICE, SALT, TEA], "parent": [SALT, TEA, RICE]})),
        HierarchyError,
        "on a cycle",
        "must end at the root",
    ),
    "hierarchy that lacks items": Mistake(
        lambda: by_item({"all": {"food": [RICE, SALT]}}), HierarchyError, "does not cover", 'missing="root"'
    ),
    "hierarchy that is not there": Mistake(
        lambda: by_item("tre.csv"), FormatError, "cannot be read as CSV", "mean 'tree.csv'"
    ),
}
FILES = {
    "semicolons": Mistake(
        lambda: pdanon.read_csv("semicolons.csv", column="items", separator="|"),
        FormatError,
        "',' separates no fields",
        "delimiter=';'",
    ),
    "tabs": Mistake(
        lambda: pdanon.read_csv("tabs.csv", column="items", separator="|"),
        FormatError,
        "',' separates no fields",
        r"delimiter='\\t'",
    ),
    "misspelt CSV column": Mistake(
        lambda: pdanon.read_csv("in.csv", column="itmes", separator="|"),
        ColumnError,
        "'itmes'",
        "mean 'items'",
    ),
    "misspelt Parquet column": Mistake(
        lambda: pdanon.read_parquet("in.parquet", ["itmes"]), ColumnError, "lacks columns", "mean 'items'"
    ),
    "CSV as Parquet": Mistake(
        lambda: pdanon.read_parquet("in.csv"), FormatError, "cannot be read as Parquet", "pdanon.read_csv"
    ),
    "Parquet as CSV": Mistake(
        lambda: pdanon.read_csv("in.parquet", column="items", separator="|"),
        FormatError,
        "cannot be read as CSV",
        "pdanon.read_parquet",
    ),
    "not UTF-8": Mistake(
        lambda: pdanon.read_csv("latin.csv", column="items", separator="|"),
        FormatError,
        "as CSV",
        "CSV UTF-8",
    ),
    "directory": Mistake(
        lambda: pdanon.read_parquet("folder"), FormatError, "cannot be read", "pdanon.stream"
    ),
    "a frame as a path": Mistake(
        lambda: pdanon.read_parquet(FRAME), ParameterError, "must be a path", "the name of a file"
    ),
    "no column and separator": Mistake(
        lambda: pdanon.read_csv("in.csv"),
        ParameterError,
        "column and separator",
        "column='items'.*separator=';'",
    ),
    "misspelt file": Mistake(
        lambda: pdanon.read_parquet("inn.parquet"), FormatError, "cannot be read", "mean 'in.parquet'"
    ),
    "no such directory": Mistake(
        lambda: pdanon.read_parquet("nowhere/in.parquet"), FormatError, "cannot be", "no directory 'nowhere'"
    ),
    "no directory to write to": Mistake(
        lambda: pdanon.to_parquet(FRAME, "nowhere/out.parquet"), FormatError, "cannot be written", "make the"
    ),
    "directory to write to": Mistake(
        lambda: pdanon.to_parquet(FRAME, "folder"), FormatError, "cannot be written", "pass a file in it"
    ),
    "separator that is in items": Mistake(
        lambda: pdanon.to_csv(FRAME, "out.csv", separator="-"),
        ParameterError,
        "read back",
        "no item contains",
    ),
    "misspelt key of a policy": Mistake(
        lambda: pdanon.Policy.from_toml("policy.toml"), ParameterError, "no such key", "mean 'algorithm'"
    ),
    "misspelt policy": Mistake(
        lambda: pdanon.Policy.from_toml("polcy.toml"), FormatError, "as TOML", "mean 'policy.toml'"
    ),
}
CALLS = TABLES | PARAMETERS | FILES

COMMANDS = {
    "algorithm": (
        "anonymize in.parquet o.parquet -k 2 --algorithm pct",
        "invalid choice: 'pct'",
        "mean 'pcta'",
    ),
    "option": ("anonymize in.parquet o.parquet --algoritm pcta -k 2", "--algoritm", "mean '--algorithm'"),
    "option of another command": ("risk in.parquet -k 2 --colunm items", "--colunm", "mean '--column'"),
    "command": ("anonymise in.parquet o.parquet -k 2", "invalid choice", "mean 'anonymize'"),
    "unknown letter": ("anonymize in.parquet o.parquet -k 2 -n 2", "unrecognized arguments", "--help"),
    "no k": ("anonymize in.parquet o.parquet", "-k is needed", "-k 5 -m 2"),
    "no output": ("anonymize in.parquet -k 2", "required: OUT", "anonymize --help"),
    "no separator": (
        "anonymize in.csv o.csv -k 2",
        "needs --column and --separator",
        "pass the separator of the items",
    ),
    "no column": ("anonymize in.csv o.csv -k 2 --separator |", "needs --column", "--column items"),
    "semicolons": (
        "risk semicolons.csv -k 2 --separator | --column items --delimiter ,",
        "',' separates no fields",
        "';' is its delimiter.*--delimiter",
    ),
    "compressed": (
        "anonymize in.csv.bz2 o.csv -k 2",
        "must end in",
        "decompress it first: bunzip2 in.csv.bz2",
    ),
    "ZIP archive": ("risk in.csv.zip -k 2", "must end in", "unzip in.csv.zip"),
    "statistics": ("risk in.sav -k 2", "must end in", r"pd.read_spss\(.in.sav.\).to_csv"),
    "SAS": ("risk in.SAS7BDAT -k 2", "must end in", r"pd.read_sas\(.in.SAS7BDAT., encoding=.infer.\)"),
    "JSON": ("profile in.json", "must end in", r"pd.read_json\(.in.json.\).to_csv"),
    "compressed output": (
        "anonymize in.parquet o.csv.gz -k 2",
        "must end in",
        "can be read, but not written",
    ),
    "other suffix": ("risk in.txt -k 2", "must end in", "rename it to .csv"),
    "spreadsheet": ("risk in.xlsx -k 2", "must end in", "save the sheet as 'CSV UTF-8'"),
    "directory": ("risk folder -k 2", "must end in", "--stream reads directories"),
    "misspelt file": ("risk inn.parquet -k 2", "cannot be read", "mean 'in.parquet'"),
    "onto itself": (
        "anonymize in.parquet in.parquet -k 2",
        "name the same file",
        "a different file for each",
    ),
    "output is a directory": ("anonymize in.parquet folder -k 2", "is a directory", "name a file in it"),
    "output in no directory": ("anonymize in.parquet x/o.parquet -k 2", "does not exist", "make 'x' first"),
    "no hierarchy": (
        "anonymize in.parquet o.parquet -k 2 --algorithm apriori",
        "needs --hierarchy",
        "pdanon alg",
    ),
    "foreign option": (
        "anonymize in.parquet o.parquet -k 2 --algorithm pcta --parts 2",
        "--parts",
        "that take it: lra, vpa",
    ),
    "text": ("risk text.parquet -k 2", "no list-valued column", r"from_text\(.*separator='\|'\)"),
    "policy": ("run policy.toml", "no such key", "mean 'algorithm'"),
}


@pytest.fixture(scope="module")
def directory(tmp_path_factory):
    directory = tmp_path_factory.mktemp("files")
    pdanon.to_parquet(FRAME, directory / "in.parquet")
    TEXT.to_parquet(directory / "text.parquet")
    TEXT.to_csv(directory / "in.csv", index=False)
    TEXT.to_csv(directory / "in.csv.gz", index=False)
    TEXT.to_csv(directory / "in.tsv", index=False, sep="\t")
    TEXT.to_csv(directory / "tabs.csv", index=False, sep="\t")
    TEXT.to_csv(directory / "semicolons.csv", index=False, sep=";")
    TEXT.replace(SECRET, f"{SECRET}é", regex=True).to_csv(directory / "latin.csv", encoding="latin-1")
    (directory / "tree.csv").write_text("a;b\n")
    (directory / "policy.toml").write_text('input = "in.parquet"\nalgoritm = "pcta"\n')
    (directory / "folder").mkdir()
    return directory


def parts_of(message):
    """The first line, and the hint."""
    hints = re.findall(r"^  hint:  (.*)$", message, re.MULTILINE)
    assert len(hints) == 1, message
    return message.partition("\n")[0], hints[0]


def assert_told(message, what, hint):
    first, said = parts_of(message)
    assert re.search(what, first), message
    assert re.search(hint, said), message
    assert SECRET not in message
    assert "Traceback" not in message


@pytest.mark.parametrize("mistake", CALLS.values(), ids=CALLS.keys())
def test_call_is_told_what_is_wrong_and_what_to_do(mistake, directory, monkeypatch):
    monkeypatch.chdir(directory)
    with pytest.raises(mistake.error) as caught:
        mistake.call()
    assert isinstance(caught.value, pdanon.PdanonError)
    assert caught.value.__context__ is None or SECRET not in str(caught.value.__context__)
    assert_told(str(caught.value), mistake.what, mistake.hint)


@pytest.mark.parametrize(("line", "what", "hint"), COMMANDS.values(), ids=COMMANDS.keys())
def test_command_is_told_what_is_wrong_and_what_to_do(line, what, hint, directory, monkeypatch):
    monkeypatch.chdir(directory)
    before = sorted(directory.iterdir())
    told, shown = io.StringIO(), io.StringIO()
    with redirect_stderr(told), redirect_stdout(shown):
        try:
            code = main(line.split())
        except SystemExit as ended:
            code = ended.code
    assert (code, shown.getvalue()) == (2, "")
    assert_told(told.getvalue(), what, hint)
    assert sorted(directory.iterdir()) == before


@pytest.mark.parametrize(("repeated", "first"), [(0, r"drop it, .*\['age'\]\)"), (2, "use KKm")])
def test_a_number_of_each_person_is_to_be_dropped(repeated, first):
    frame = pd.concat([FRAME] * 10, ignore_index=True)
    frame["age"] = [*range(repeated), *range(len(frame) - repeated)]
    with pytest.warns(pdanon.IdentifierWarning) as caught:
        pdanon.pcta(frame, k=2)
    assert re.match(first, parts_of(str(caught[0].message))[1])


def test_every_algorithm_says_what_it_needs():
    for name, function in functions("items", "rows", "groups", "values", "both").items():
        with pytest.raises(ParameterError, match=f"{name} needs frame"):
            function()
        with pytest.raises(ParameterError, match=r"no parameter 'keep'\n(.|\n)*txanon\.keep\('store'\)"):
            function(FRAME, keep=["store"])
        with pytest.raises(
            ParameterError, match=r"no parameter 'start'\n(.|\n)*txanon\.start_from\(january\)"
        ):
            function(FRAME, start=None)


def hint_of(call):
    with pytest.raises(pdanon.PdanonError) as caught:
        call()
    return parts_of(str(caught.value))[1]


def test_hints_for_tables_do_what_they_say():
    """The lines that a hint shows are run: then there are lists, and those of the frame that it should be."""
    expected = [sorted(row) for row in ROWS]
    one_hot = ONE_HOT.assign(person=range(10, 16))
    for frame in (one_hot, ONE_HOT.astype(bool), LONG):
        hint = hint_of(lambda frame=frame: pdanon.pcta(frame, k=2))
        made = eval(
            re.search(r"pdanon\.\w+\(.*\)(?= lists| makes)", hint)[0], {"frame": frame, "pdanon": pdanon}
        )
        assert [sorted(row) for row in made["items"]] == expected
    for frame in (TEXT, FRAME.assign(items=FRAME["items"].map(str))):
        names = {"frame": frame.copy(), "pdanon": pdanon, "ast": ast}
        hint = hint_of(lambda frame=frame: pdanon.pcta(frame, k=2))
        exec(re.search(r"frame\['items'\] = .*?\)(?= makes|$)", hint)[0], names)
        assert [sorted(row) for row in names["frame"]["items"]] == expected

    upside_down = {RICE: "food", SALT: "food", TEA: "drink"}
    edges = re.search(r"pd\.DataFrame\(.*\)", hint_of(lambda: by_item(upside_down)))[0]
    assert by_item(eval(edges, {"pd": pd, "tree": upside_down})).holds


@pytest.mark.parametrize("blank", [None, "", " ", np.nan], ids=repr)
@pytest.mark.parametrize("labels", [list("abc"), range(3), ["item 1", "item 2", "item 3"]], ids=str)
def test_the_hint_for_wide_baskets_lists_the_items_of_each_row(blank, labels):
    """Not `from_long`, which would join the rows with equal first items."""
    rows = [[RICE, SALT, TEA], [SALT, f" {TEA}"], [TEA], [], [RICE, TEA], [SALT]] * 2
    wide = pd.DataFrame([[*row, *[blank] * (3 - len(row))] for row in rows], columns=labels)
    for frame in (wide, wide.assign(age=range(12)), wide.iloc[::-1], wide.astype("category")):
        hint = hint_of(lambda frame=frame: pdanon.pcta(frame, k=2))
        assert "from_long" not in hint
        call = re.search(r"pdanon\.from_wide.*\)(?= lists)", hint)[0]
        made = eval(call, {"frame": frame, "pdanon": pdanon})
        expected = pd.Series([{each.strip() for each in row} for row in rows])[frame.index]
        assert [*map(set, made["items"])] == expected.tolist()
        assert [*made] == [*({*frame} - {*labels}), "items"]


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"rice": ["yes", "no"] * 6, "tea": ["no", "no", "yes"] * 4, "salt": ["yes", "no"] * 6}),
        pd.DataFrame({"born": ["A", "B", "C"] * 4, "lives": ["A", "B", "B"] * 4}),
        pd.DataFrame(
            {
                "name": [f"name {row}" for row in range(12)],
                "sex": ["f", "m"] * 6,
                "city": ["A", None, None] * 4,
            }
        ),
        pd.DataFrame({"customer": [1, 1, 2] * 4, "bought": list("abc") * 4, "returned": list("bcd") * 4}),
    ],
    ids=["answers", "places", "one item", "lines of persons"],
)
def test_other_tables_of_text_are_no_wide_baskets(frame):
    assert "wide baskets" not in hint_of(lambda: pdanon.pcta(frame, k=2))


CLAIMS = pd.DataFrame(
    {
        "person_id": [1, 1, 2],
        "sex": ["M", "m", "F"],
        "postcode": ["01067", "01067", "04109"],
        "icd10": ["J18", "I10", "I10"],
        "ward": ["3A", "3A", "ICU"],
    }
)


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: pdanon.pcta(CLAIMS, k=2), r"by='person_id', item='icd10'"),
        (lambda: pdanon.pcta(CLAIMS.drop(columns="icd10"), k=2), r"by='person_id', item='ward'"),
        (
            lambda: pdanon.from_long(CLAIMS.replace({"person_id": {2: None}}), by="person_id", item="icd10"),
            r"dropna\(subset=\['person_id'\]\)",
        ),
        (
            lambda: pdanon.from_long(CLAIMS, by="person_id", item="icd10", keep=["sex"]),
            "unify spellings such as m and M",
        ),
        (
            lambda: pdanon.from_long(CLAIMS, by="person_id", item="icd10", keep=["sex,ward"]),
            "these are several columns",
        ),
        (lambda: pdanon.Transaction("pcta", options={"utility": [["J18"]]}), '"coat" or "upcta", which keep'),
        (
            lambda: pdanon.anonymize(
                FRAME.assign(age=1), pdanon.KKm(k=2, m=2, quasi=["age"]), utility=[[RICE, SALT, TEA]]
            ),
            r'transaction=pdanon\.Transaction\("coat", options',
        ),
    ],
)
def test_hints_name_what_is_in_a_table_of_claims(call, hint):
    assert re.search(hint, hint_of(call))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("program", "environment", "what", "hint"),
    [
        (
            "import sys; sys.modules['dask'] = None; import pdanon.dask",
            {},
            "needs the package dask",
            r"pip install .dask\[dataframe,distributed",
        ),
        (
            "import pandas as pd, pdanon; pdanon.pcta(pd.DataFrame({'i': [['a'], ['a']]}), k=2)",
            {"PDANON_THREADS": "x"},
            "PDANON_THREADS must be an integer",
            "unset it",
        ),
    ],
    ids=["no Dask", "threads"],
)
def test_environment_is_told(program, environment, what, hint, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    message = done.stderr[done.stderr.rindex("Error: ") :]
    assert_told(message, what, hint)
