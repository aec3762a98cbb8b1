"""Files with a line for each item, from the command line."""

import gzip
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import pdanon
from pdanon.cli.main import main

ROWS = [
    ("007", "UK", "tea"),
    ("007", "UK", "rice"),
    ("7", "FR", "tea"),
    ("7", "FR", "rice"),
    ("7", "FR", "tea"),
]
ASKED = ["-k", "2", "-m", "2", "--by", "who", "--item", "what", "--keep", "country"]


def written(path, mark, *, encoding="utf-8"):
    text = "\n".join(mark.join(row) for row in [("who", "country", "what"), *ROWS]) + "\n"
    data = text.encode(encoding)
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def released(path, tmp_path, *more):
    target = tmp_path / "out.parquet"
    assert main(["anonymize", str(path), str(target), *ASKED, *more, "--overwrite"]) == 0
    return pdanon.read_parquet(target)


@pytest.mark.parametrize(
    ("name", "mark", "said"),
    [
        ("lines.csv", ",", ""),
        ("lines.csv", ";", "the delimiter is ';'"),
        ("lines.csv", "|", "the delimiter is '|'"),
        ("lines.csv", "\t", "the delimiter is a tab"),
        ("lines.tsv", "\t", "the delimiter is a tab"),
        ("lines.csv.gz", ";", "the delimiter is ';'"),
        ("lines.tsv.gz", "\t", "the delimiter is a tab"),
    ],
)
def test_lines_of_any_usual_csv_become_rows(tmp_path, capsys, name, mark, said):
    frame = released(written(tmp_path / name, mark), tmp_path)
    assert [set(row) for row in frame["what"]] == [{"tea", "rice"}] * 2
    assert frame["country"].tolist() == ["UK", "FR"]  # 007 is not 7
    assert list(frame) == ["country", "what"]
    assert capsys.readouterr().err.strip().endswith(said)


def test_lines_of_json_and_parquet_become_rows(tmp_path):
    table = pd.DataFrame(ROWS, columns=["who", "country", "what"])
    table.to_parquet(tmp_path / "lines.parquet")
    (tmp_path / "lines.jsonl").write_text("\n".join(map(json.dumps, table.to_dict("records"))))
    table.to_parquet(tmp_path / "CAPITALS.PARQUET")
    for name in ("lines.parquet", "lines.jsonl", "CAPITALS.PARQUET"):
        frame = released(tmp_path / name, tmp_path)
        assert [set(row) for row in frame["what"]] == [{"tea", "rice"}] * 2


def test_an_encoding_is_named_or_asked_for(tmp_path, capsys):
    path = tmp_path / "lines.csv"
    path.write_bytes("who,country,what\n1,FR,thé\n2,FR,thé\n".encode("latin-1"))
    frame = released(path, tmp_path, "--encoding", "latin-1")
    assert frame["what"].tolist() == [["thé"], ["thé"]]
    assert main(["anonymize", str(path), str(tmp_path / "o.parquet"), *ASKED]) == 2
    message = capsys.readouterr().err
    assert "--encoding" in message
    assert "th" not in message.partition("got:")[2].replace("the", "")
    assert main(["anonymize", str(path), str(tmp_path / "o.parquet"), *ASKED, "--encoding", "utf-9"]) == 2
    assert "no such encoding" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "who"], "--by and --item go together"),
        (["--item", "what"], "--by and --item go together"),
        (["--by", "whom", "--item", "what"], "did you mean 'who'"),
        (["--by", "who", "--item", "wat"], "did you mean 'what'"),
        (["--by", "who", "--item", "what", "--column", "who"], "--column is not used with --item"),
        (["--by", "who", "--item", "what", "--keep", "what"], "several values per person"),
        (["--by", "what", "--item", "who", "--keep", "country"], "2 of 2 persons"),
        (["--by", "who", "--item", "what", "--delimiter", "::"], "delimiter must be one character"),
    ],
)
def test_lines_that_are_not_understood(tmp_path, capsys, arguments, message):
    path = written(tmp_path / "lines.csv", ";")
    assert main(["anonymize", str(path), str(tmp_path / "o.parquet"), "-k", "2", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert not (tmp_path / "o.parquet").exists()


def test_lines_can_be_looked_at_before(tmp_path, capsys):
    path = written(tmp_path / "lines.csv", ";")
    assert main(["profile", str(path), "--by", "who", "--item", "what", "--keep", "country", "-m", "1"]) == 0
    shown = capsys.readouterr().out
    assert "Profile: 2 rows, lists in 'what'" in shown
    assert "country" in shown
    assert main(["profile", str(path), "--by", "who"]) == 2
    assert main(["profile", str(tmp_path / "lines.txt")]) == 2


# What the system tells begins with the memory of the process it was started from: that is a small one here.
LARGEST = """
import resource, subprocess, sys
code = subprocess.run([sys.executable, "-m", "pdanon", *sys.argv[1:]], stdout=sys.stderr).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


@pytest.mark.slow
def test_a_million_lines_in_one_command_take_less_than_a_gigabyte(tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000
    who, what = rng.integers(0, 100_000, n), rng.zipf(1.3, n) % 2000
    lines = pd.DataFrame({"who": who, "price": rng.random(n).round(2), "what": what})
    lines.assign(country="UK").to_csv(tmp_path / "lines.csv", index=False, sep=";")
    words = ["anonymize", "lines.csv", "out.parquet", "--algorithm", "coat", *ASKED]
    words += ["--mapping", "map.parquet", "--report", "report.html"]
    command = [sys.executable, "-c", LARGEST, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    code, largest = map(int, done.stdout.split())
    assert code == 0, done.stderr
    assert largest < 2**20  # KiB
    assert len(pdanon.read_parquet(tmp_path / "out.parquet")) == lines["who"].nunique()
    assert len(pdanon.read_parquet(tmp_path / "map.parquet")) == lines["what"].nunique()
    assert (tmp_path / "report.html").exists()
