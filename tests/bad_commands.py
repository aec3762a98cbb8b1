"""Bad commands: command lines and policies, what may stand in them, and the files that they name."""

from __future__ import annotations

import io
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import pandas as pd
from bad_values import FLU, RICE, ROWS, SALT, TEA, TEXTS, good_frame, released
from conftest import SECRET

import pdanon
from pdanon.cli import main

POLICY = {
    "input.file": '"good.parquet"',
    "algorithm": '"pcta"',
    "separator": '" "',
    "parameters.k": "2",
    "parameters.m": "2",
    "columns.items": '"items"',
    "columns.drop": '["city"]',
    "columns.keep": '["age"]',
    "outputs.release": '"written.parquet"',
    "outputs.mapping": '"written.csv"',
    "compare.algorithms.pcta": "{k = 2}",
    "compare.vary.m": "[1, 2]",
    "compare.measures": '["NCP"]',
}
COMMANDS = [
    "anonymize good.parquet new.parquet --algorithm pcta -k 2 -m 2 --mapping new-mapping.csv",
    "anonymize good.csv new.csv --algorithm hghs -k 2 --hierarchy good-tree.csv --column items --separator |",
    "anonymize good.parquet new.parquet --algorithm pcta -k 2 --weights good-weights.csv --report new.html",
    "anonymize good.parquet new.parquet --algorithm coherence -k 2 -p 2 --h 0.9 --private items",
    "anonymize good.parquet new.parquet --stream --algorithm pcta -k 2 -m 2 --constraints good-sets.parquet",
    "anonymize good.parquet new.parquet -k 2 -m 2 --time-limit 1 --keep age city",
    "anonymize good.parquet new.parquet --algorithm pcta -k 2 --evidence new.json --report new-report.html",
    "verify good-evidence.json --release good.csv --original good.parquet --separator |",
    "verify good-evidence.json --release good.parquet --mapping good-mapping.csv",
    "audit good.parquet -k 2 -m 2 --threats new.parquet",
    "audit good.csv -k 2 --column items --separator |",
    "audit good.parquet -k 2 --constraints good-sets.parquet --mapping good-mapping.csv",
    "audit good.parquet -k 2 -m 1 --quasi age city",
    "risk good.parquet -k 2 -m 2 --quasi age city",
    "profile good.parquet -k 2 -m 2 --report new.html",
    "tradeoff good.parquet -k 2 3 -m 1 --algorithm pcta --report new.html --out new.csv",
    "profile good-lines.csv --by who --item what --keep city --conflicts first --delimiter ;",
    "audit good-lines.csv -k 2 -m 1 --unit who --item what --counts --delimiter ;",
    "anonymize good-lines.csv new.csv -k 2 --algorithm pcta --unit who --item what --delimiter ;",
    "audit good-lines.csv -k 2 --by who --item what --encoding cp1252",
    "risk good-ticks.csv -k 2 --by who --onehot tea rice --column items --out new.csv",
    "anonymize good-ticks.csv new.parquet -k 2 --algorithm pcta --prefix t --keep who --encoding utf-8",
    "anonymize good.csv new.csv -k 2 --algorithm pcta --by age --column items --separator | --join ;",
    "anonymize good-lines.csv new.csv -k 2 --by who --item what --links new.csv --secret new.key",
    "audit good.parquet -k 2 --previous good.parquet --links good-mapping.csv good-mapping.csv",
    "profile good-ticks.csv --onehot tea rice --tick 1",
    "run good.toml",
    "compare good.toml --all",
    "algorithms pcta",
]


TOKENS = {name: make for name, make in TEXTS.items() if isinstance(make(), (str, Path))} | {
    name: lambda text=text: text
    for name, text in {
        "-1": "-1",
        "0": "0",
        "2.5": "2.5",
        "digits": "9" * 5000,
        "10**9": str(10**9),
        "2**70": str(2**70),
        "other digits": "²",
        "1e400": "1e400",
        "nan": "nan",
        "all": "all",
        "--x": "--x",
        "-k": "-k",
        "--": "--",
        "age": "age",
        "city": "city",
        "|": "|",
        "good.parquet": "good.parquet",
        "good.csv": "good.csv",
        "good.toml": "good.toml",
        "good-lines.csv": "good-lines.csv",
        "good-ticks.csv": "good-ticks.csv",
        "new.html": "new.html",
        "good-mapping.csv": "good-mapping.csv",
        "good-sets.parquet": "good-sets.parquet",
        "no-rows.parquet": "no-rows.parquet",
        "two-lists.parquet": "two-lists.parquet",
        "good-tree.csv": "good-tree.csv",
    }.items()
}
VALUES = {
    "number": "1",
    "float": "2.5",
    "inf": "inf",
    "nan": "nan",
    "huge": "9" * 30,
    "true": "true",
    "date": "2020-01-01",
    "no text": '""',
    "text": '"x"',
    "NUL": r'"a\u0000.parquet"',
    "NUL page": r'"\u0000.html"',
    "item": f'"{RICE}"',
    "list": "[]",
    "list of text": '["x"]',
    "lists": "[[]]",
    "mixed": '[1, "x"]',
    "table": "{}",
    "table of x": "{x = 1}",
    "tables": "[{}]",
    "missing": '"missing.parquet"',
    "missing directory": '"missing/x.parquet"',
    "input.file": '"good.parquet"',
    "directory": '"directory.parquet"',
    "broken": "[",
    "list column": '["items"]',
    "column": '"age"',
    "csv": '"good.csv"',
    "tree": '"good-tree.csv"',
    "all": '"all"',
    "long": f'"{"x" * 5000}.parquet"',
    "surrogate": r'"\ud800"',
    "twice": '["age", "age"]',
    "no Parquet": '"not.parquet"',
}
MORE_KEYS = [
    *("x", "parameters.x", "parameters.constraints", "parameters.weights", "parameters.random_state"),
    *("input.by", "input.item", "input.onehot", "input.prefix", "input.conflicts", "input.x"),
    *("hierarchies.items", "hierarchies.x", "outputs.report", "compare.resume"),
    *("outputs.links", "outputs.secret"),
]


def write_files() -> None:
    """The files that the calls name, in the working directory."""
    frame = good_frame()
    pdanon.to_parquet(frame, "good.parquet")
    pdanon.to_csv(frame, "good.csv", separator="|")
    pdanon.to_parquet(frame.iloc[:0], "no-rows.parquet")
    pdanon.to_parquet(frame.assign(more=ROWS), "two-lists.parquet")
    pdanon.to_parquet(frame.drop(columns="items"), "no-lists.parquet")
    pdanon.to_parquet(pd.DataFrame({"items": [[RICE, TEA], [SALT]]}), "good-sets.parquet")
    pdanon.to_parquet(pd.DataFrame({"items": [[RICE], [TEA]]}), "good-queries.parquet")
    pdanon.to_parquet(released().frame, "good-released.parquet")
    released().mapping.to_csv("good-mapping.csv", index=False)
    released().evidence("good-evidence.json")
    Path("good-weights.csv").write_text(f"item,weight\n{RICE},0.5\n")
    Path("good-tree.csv").write_text("".join(f"{item};x;*\n" for item in (RICE, SALT, TEA, FLU)))
    Path("good-lines.csv").write_text(f"who;city;what\n1;x;{TEA}\n1;x;{RICE}\n2;y;{TEA}\n2;z;{RICE}\n")
    Path("good-ticks.csv").write_text("who,tea,rice\n1,1,0\n2,1,1\n3,1,\n")
    Path("good.toml").write_text(toml(POLICY))
    Path("not.parquet").write_text(f"items\n{RICE}\n")
    Path("bytes.csv").write_bytes(b"items,age\n\xff,1\n")
    Path("wide.csv").write_text(f"items\n{RICE},1,2\n")
    Path("nul.csv").write_bytes(f"items,age\n{RICE}\0,1\n".encode())
    for name in ("empty.csv", "empty.toml"):
        Path(name).write_text("")
    for name in ("directory", "directory.parquet", "directory.csv", "directory.html"):
        Path(name).mkdir()


def toml(entries: dict[str, str]) -> str:
    return "".join(f"{key} = {value}\n" for key, value in entries.items())


def run_command(words: list[str], is_name: bool = False) -> int:
    out, err = io.StringIO(), io.StringIO()
    for path in Path().glob("new*"):
        path.unlink()
    with redirect_stdout(out), redirect_stderr(err):
        try:
            code = main.main(words)
        except SystemExit as error:
            code = int(error.code or 0)
    told = err.getvalue()
    if code not in (0, 1, 2) or (code and not told and words[:1] not in (["audit"], ["verify"])):
        raise AssertionError(f"exit code {code}, {told!r}")
    if SECRET in told and not is_name and not any(SECRET in word for word in words):
        raise AssertionError("item text on stderr")
    return code
