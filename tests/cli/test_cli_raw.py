"""Raw files as people have them: `pdanon profile FILE` prints next commands, and each one works."""

from __future__ import annotations

import json
import random
import shlex
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import here  # noqa: F401 (`here` acts on every test)
from conftest import SECRET

import pdanon
from pdanon.io.parquet import to_parquet

DRAW = random.Random(5)
WORDS = ["milk", "rolls", "soda", "tea", "rice", "salt", "beer", "eggs"]
ROWS = [DRAW.sample(WORDS, DRAW.choice([1, 2, 3, 4])) for _ in range(60)]
CODES = ["E11.9", "I10", "J45.0", "K21.9", "E78.5", "M54.5", "F32", "N18.3"]
ICD9 = ["250.01", "276", "401.9", "V27", "428", "414", "038.9", "997"]
YES = ["Yes", "No"]
DX = [f"dx{n}" for n in range(1, 10)]
RARE = f"{SECRET}-rare"


def write(path: str, *lines: str, encoding: str = "utf-8") -> None:
    Path(path).write_text("\n".join(lines) + "\n", encoding=encoding)


def of_lines(header: list[str], sign: str = ",", rows: list[list[str]] = ROWS) -> list[str]:
    lines = (
        (f"{1000 + number // 2}", f"{1 + number % 28:02}-07-2015", item)
        for number, row in enumerate(rows)
        for item in row
    )
    return [sign.join(header), *map(sign.join, lines)]


def padded(row: list[str]) -> str:
    return ",".join([*row, *[""] * (4 - len(row))])


def boxes(yes: str, no: str) -> list[str]:
    return [",".join([str(i), *(yes if word in row else no for word in WORDS)]) for i, row in enumerate(ROWS)]


def codings() -> list[list[dict[str, str]]]:
    return [[{"system": "icd", "code": CODES[WORDS.index(item)]} for item in row] for row in ROWS]


def table(path: str, column: list[str], **asked: str) -> None:
    pd.DataFrame({"id": range(60), "items": column}).to_csv(path, index=False, **asked)


FILES: dict[str, tuple[Callable[[], object], str]] = {
    "sales.csv": (
        lambda: write("sales.csv", *of_lines(["Member_number", "Date", "itemDescription"])),
        "--by Member_number --item itemDescription",
    ),
    "sales.tsv": (
        lambda: write("sales.tsv", *of_lines(["customer_id", "day", "product"], "\t")),
        "--by customer_id --item product",
    ),
    "lines without a header.csv": (
        lambda: write("lines without a header.csv", *of_lines([])[1:]),
        "--by 1 --item 3 --no-header",
    ),
    "market.csv": (lambda: write("market.csv", *map(padded, ROWS)), "--wide --no-header"),
    "ragged.csv": (lambda: write("ragged.csv", *map(",".join, ROWS)), "--wide --no-header"),
    "named.csv": (
        lambda: write(
            "named.csv", "Item(s),Item 1,Item 2,Item 3,Item 4", *(f"{len(row)},{padded(row)}" for row in ROWS)
        ),
        "--wide 'Item 1' 'Item 2' 'Item 3' 'Item 4'",
    ),
    "dx.csv": (
        lambda: write(
            "dx.csv",
            "PATIENT,AGE,DX1,DX2,DX3,DX4",
            *(f"{i},{i % 9},{padded(row)}" for i, row in enumerate(ROWS)),
        ),
        "--by PATIENT --wide DX1 DX2 DX3 DX4",
    ),
    "numbers of spss.csv": (
        lambda: pd.DataFrame(
            [(float(i), WORDS.index(item), item) for i, row in enumerate(ROWS) for item in row],
            columns=["patient", "place", "drug"],
        ).to_csv("numbers of spss.csv", index=False),
        "--by patient --item drug",
    ),
    "boxes of spss.csv": (
        lambda: write("boxes of spss.csv", ",".join(["id", *WORDS]), *boxes("1.0", "2.0")),
        "--by id --onehot --tick 1",
    ),
    "numbered answers.csv": (
        lambda: write(
            "numbered answers.csv", "who,reads", *(f"R{i},{'|'.join(row)}" for i, row in enumerate(ROWS))
        ),
        "--by who --column reads --separator '|'",
    ),
    "incomplete.jsonl": (
        lambda: write(
            "incomplete.jsonl",
            *(
                json.dumps({"user": i, "codings": [*row, {"display": "?"}][i % 2 :]})
                for i, row in enumerate(codings())
            ),
        ),
        "--by user --column codings --field code --missing drop",
    ),
    "joined.csv": (
        lambda: write(
            "joined.csv", "user_id,reads", *(f"{i},{'; '.join(row)}" for i, row in enumerate(ROWS))
        ),
        "--by user_id --column reads --separator '; '",
    ),
    "fimi.csv": (
        lambda: write("fimi.csv", *(" ".join(str(WORDS.index(item)) for item in row) for row in ROWS)),
        "--column 1 --separator ' ' --no-header",
    ),
    "boxes.csv": (lambda: write("boxes.csv", ",".join(["id", *WORDS]), *boxes("1", "0")), "--by id --onehot"),
    "ticks.csv": (
        lambda: write("ticks.csv", ",".join(["id", *WORDS]), *boxes("x", "")),
        "--by id --onehot --tick x",
    ),
    "answers.csv": (
        lambda: write("answers.csv", ",".join(["id", *WORDS]), *boxes("1", "2")),
        "--by id --onehot --tick 1",
    ),
    "transactions without a header.csv": (
        lambda: write(
            "transactions without a header.csv",
            *(
                f"2016-10-{1 + i // 3:02},{9 + i % 9}:58:11,{i + 7},{word}"
                for i, row in enumerate(ROWS)
                for word in row
            ),
        ),
        "--by 3 --item 4 --no-header",
    ),
    "joined without a header.csv": (
        lambda: write("joined without a header.csv", *(f'"{",".join(row)}"' for row in ROWS)),
        "--column 1 --separator , --no-header",
    ),
    "prescriptions.csv": (
        lambda: write(
            "prescriptions.csv",
            "row_id,patient_id,doctor_id,drug_type,drug,route,dose",
            *(
                f"{i}{n},{i},{i % 7},{'MA'[n % 2]},{word},ORAL,{i}.5"
                for i, row in enumerate(ROWS)
                for n, word in enumerate(row)
            ),
        ),
        "--by patient_id --item drug",
    ),
    "orders.csv": (
        lambda: write(
            "orders.csv",
            "order_id,order_item_id,product_id,price",
            *(
                f'A{i},{n + 1},{"PQ"[i % 2]}{i % 5}{word},"{n},99"'
                for i, row in enumerate(ROWS)
                for n, word in enumerate(row)
            ),
        ),
        "--by order_id --item product_id",
    ),
    "diagnoses.csv": (
        lambda: write(
            "diagnoses.csv",
            "encounter_id,diag_1,diag_2,diag_3",
            *(
                ",".join([str(9000 + i), *("?" if i % 19 == 0 else each for each in DRAW.sample(ICD9, 3))])
                for i in range(60)
            ),
        ),
        "--by encounter_id --wide",
    ),
    "questions.csv": (
        lambda: write(
            "questions.csv",
            "Timestamp,1. Sex,9. Do you have a membership card here?,10. What do you buy?,11. Return?",
            *(
                f"2019/10/{10 + i % 9} {1 + i // 9}:38 PM,{'FM'[i % 2]},{YES[i % 2]},{';'.join(row)},No"
                for i, row in enumerate(ROWS)
            ),
        ),
        "--by Timestamp --column '10. What do you buy?' --separator ';'",
    ),
    "answers by column.csv": (
        lambda: write(
            "answers by column.csv",
            ",".join(["Internal ID", *(f"Check all that apply: {word}" for word in WORDS), "Country"]),
            *(
                ",".join([str(i), *(word if word in row else "" for word in WORDS), "CA"])
                for i, row in enumerate(ROWS)
            ),
        ),
        "--by 'Internal ID' --wide " + " ".join(f"'Check all that apply: {word}'" for word in WORDS),
    ),
    "conditions.jsonl": (
        lambda: write(
            "conditions.jsonl",
            *(
                json.dumps(
                    {
                        "resourceType": "Condition",
                        "clinicalStatus": {"coding": [{"code": ["active", "resolved"][n % 2]}]},
                        "code": {"coding": [coding], "text": coding["code"]},
                        "subject": {"reference": f"Patient/{i}"},
                    }
                )
                for i, row in enumerate(codings())
                for n, coding in enumerate(row)
            ),
        ),
        "--by subject.reference --column code.coding --field code",
    ),
    "json.csv": (
        lambda: table("json.csv", [*map(json.dumps, ROWS)], sep=";"),
        "--by id --column items --field",
    ),
    "python.csv": (lambda: table("python.csv", [*map(str, ROWS)]), "--by id --column items --field"),
    "fhir.csv": (
        lambda: table("fhir.csv", [*map(json.dumps, codings())]),
        "--by id --column items --field code",
    ),
    "fhir.jsonl": (
        lambda: write(
            "fhir.jsonl", *(json.dumps({"patient": i, "codings": row}) for i, row in enumerate(codings()))
        ),
        "--by patient --column codings --field code",
    ),
    "fhir.parquet": (
        lambda: to_parquet(pd.DataFrame({"codings": codings()}), "fhir.parquet"),
        "--column codings --field code",
    ),
    "text.parquet": (
        lambda: to_parquet(pd.DataFrame({"items": ["|".join(row) for row in ROWS]}), "text.parquet"),
        "--column items --separator '|'",
    ),
    "lines.parquet": (
        lambda: to_parquet(
            pd.DataFrame(
                [(i, item) for i, row in enumerate(ROWS) for item in row], columns=["patient", "atc"]
            ),
            "lines.parquet",
        ),
        "--by patient --item atc",
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_the_printed_commands_work(run, name):
    make, expected = FILES[name]
    make()
    code, out, err = run("profile", name)
    assert (code, [line for line in err.splitlines() if "delimiter" not in line]) == (0, [])
    commands = [line.split("-> ")[1] for line in out.splitlines() if "-> pdanon anonymize" in line]
    assert f" {expected} -k 5 -m 2" in commands[0]
    for number, command in enumerate(commands):
        words = shlex.split(command)[1:]
        words[2] = f"{number}.parquet"
        code, _, err = run(*words, "--algorithm", "pcta")
        assert code == 0, err
    if number == 0 and expected.startswith(("--wide", "--by id", "--by user_id")):
        released = pdanon.read_parquet("0.parquet")
        assert len(released) == len(ROWS)


def test_few_persons_and_columns_without_a_name_are_no_boxes(run):
    write(
        "in.csv",
        ",customer,product",
        *(f"{n},{1 + (n + n // 8) % 2},{item}" for n, item in enumerate(WORDS * 2)),
    )
    _, out, _ = run("profile", "in.csv")
    assert "-> pdanon anonymize in.csv released.parquet --by customer --item product -k 5 -m 2" in out
    write("in.csv", ",reads", *(f"{n},{';'.join(row)}" for n, row in enumerate(ROWS)))
    _, out, _ = run("profile", "in.csv")
    command = shlex.split(out.partition("-> pdanon ")[2].splitlines()[0])
    assert command[3:7] == ["--by", "", "--column", "reads"]
    assert run(*command, "--algorithm", "pcta")[0] == 0


@pytest.mark.parametrize("name", ["sales.csv", "market.csv", "fhir.csv", "boxes.csv"])
def test_the_document_has_the_same_commands(run, name):
    FILES[name][0]()
    _, out, _ = run("profile", name)
    result = json.loads(run("profile", name, "--json")[1])["result"]
    assert result["readings"]
    for reading in result["readings"]:
        assert f"-> {reading['call']}\n" in out


# --- What is shown, and what is not


def test_no_text_of_a_rare_value_is_printed(run):
    rows = [*ROWS, [RARE, "tea"], [RARE, "milk"]]
    write("sales.csv", *of_lines(["customer", "day", "product"], rows=rows))
    write("market.csv", *map(padded, rows))
    write("joined.csv", "items", *(";".join(row) for row in rows))
    write(
        "names.csv", "customer,name,product", *(f"{i // 9},{RARE},{item}" for i, item in enumerate(WORDS * 4))
    )
    for name in ("sales.csv", "market.csv", "joined.csv", "names.csv"):
        for options in ((), ("--json",)):
            code, out, err = run("profile", name, *options)
            assert code == 0
            assert RARE not in out + err


def test_a_value_is_shown_if_enough_persons_have_it(run):
    """Lines of one person do not make a value frequent."""
    lines = [f"{i},x{i % 3},{item}" for i in range(9) for item in WORDS[: 2 + i % 3]]
    write("lines.csv", "customer,place,product", *lines, *["77,ward-7,tea"] * 30, "77,ward-7,milk")
    _, out, _ = run("profile", "lines.csv")
    assert "ward-7" not in out
    assert "milk" in out
    assert "aaaa-9" in out or "a9" in out


def test_kinds_are_told_by_their_shape(run):
    rows = range(40)
    frame = pd.DataFrame(
        {
            "visit": [f"{1 + n % 28}.03.2020" for n in rows],
            "dx10": [CODES[n % 8] for n in rows],
            "dx9": [["250.00", "V30.01", "401.9", "038.9"][n % 4] for n in rows],
            "atc": [["A10BA02", "C09AA05", "N02BE01"][n % 3] for n in rows],
            "price": [f"{n},5" for n in rows],
            "nothing": None,
        }
    )
    frame.to_csv("kinds.csv", index=False, sep=";")
    result = json.loads(run("profile", "kinds.csv", "--json")[1])["result"]
    kinds = {each["column"]: each["kind"] for each in result["columns"]}
    assert kinds == {
        **{"visit": "dates", "dx10": "ICD-10 codes", "dx9": "ICD-9 codes", "atc": "ATC codes"},
        **{"price": "numbers with decimal commas", "nothing": "empty"},
    }
    assert [each["missing"] for each in result["columns"]] == [0, 0, 0, 0, 0, 40]


def isbn10(digits: str) -> str:
    """Append the check digit: weights from 10 down to 1, and a sum that 11 divides."""
    rest = -sum(int(digit) * weight for digit, weight in zip(digits, range(10, 1, -1), strict=True)) % 11
    return digits + "0123456789X"[rest]


CODED = {
    "icd10": [f"{letter}{n // 5}.{n % 5}" for letter in "EIJ" for n in range(50, 60)],
    "icd9": [f"{n // 5}.{n % 5}" for n in range(2000, 2025)] + [f"V10.{n}" for n in range(5)],
    "atc": [f"{head}0{n}" for head in ("A10BA", "C09AA", "N02BE") for n in range(10)],
    "ndc": [f"{head}-3100-{n}" for head in ("0002", "00777", "12345") for n in range(10, 20)],
    "isbn": [f"978{n % 3}1614841{n}" for n in range(10, 40)],
    "old isbn": [isbn10(f"3161484{n}") for n in range(10, 37)]
    + [isbn10(f"0439423{n}") for n in (10, 21, 32)],
    "cpt_code": [*map(str, [*range(99201, 99216), *range(80050, 80064)]), "G0008"],
    "diag": [f"{n}" for n in [*range(410, 415), *range(4010, 4020), *range(25000, 25015)]],
    "aisle": [f"food > fruit {n // 5} > apple {n}" for n in range(30)],
}
KINDS = [
    "ICD-10 codes",
    "ICD-9 codes",
    "ATC codes",
    "NDC codes",
    "ISBN codes",
    "ISBN codes",
    "CPT codes",
    "ICD-9 codes",
    "text",
]


@pytest.mark.parametrize(("item", "kind"), [*zip(CODED, KINDS, strict=True)])
def test_codes_get_their_hierarchy(run, item, kind):
    lines = [f"{n // 4},{CODED[item][n * 7 % 30]}" for n in range(120)]
    write("codes.csv", f"patient,{item}", *lines)
    _, _, command = run("profile", "codes.csv")[1].partition("in Python, write ")
    frame = pd.read_csv("codes.csv", dtype=str)
    look = pdanon.profile(frame)
    assert look.columns["kind"].tolist() == ["whole numbers", kind]
    frame = eval(look.readings[0].call)
    exec(command.partition(", and pass")[0])
    tree = pdanon.Hierarchy.from_csv("tree.csv")
    assert (np.bincount(tree.parent[tree.is_leaf])[1:] > 1).sum() > 1  # categories of several codes
    release = frame.txanon.local_suppression(k=5, m=1, hierarchy=tree)
    assert release.frame.txanon.audit(k=5, m=1).holds


def test_numbers_of_laboratories_get_the_classes_of_their_table(run):
    codes = [f"{700 + n}-{n % 10}" for n in range(30)]
    write("codes.csv", "patient,loinc", *(f"{n // 4},{codes[n * 7 % 30]}" for n in range(120)))
    write("Loinc.csv", "LOINC_NUM,NAME,CLASS", *(f"{code},{n},{n // 10}" for n, code in enumerate(codes)))
    _, out, _ = run("profile", "codes.csv")
    assert "LOINC codes" in out
    assert "without levels" in out
    tree = eval(out.partition("in Python, write ")[2].partition(".to_csv")[0])
    assert [tree.labels[node] for node in tree.children(0)] == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["number", "diag_id", "icd9_procedure"])
def test_other_numbers_are_no_diagnoses(run, name):
    write("codes.csv", f"patient,{name}", *(f"{n // 4},{CODED['diag'][n * 7 % 30]}" for n in range(120)))
    _, out, _ = run("profile", "codes.csv")
    assert "ICD" not in out
    assert "Hierarchy" not in out


def test_two_boxes_beside_lines_of_persons_are_no_items(run):
    lines = [f"{i},{i % 2},{i // 2 % 2},{item}" for i, row in enumerate(ROWS) for item in row]
    write("codes.csv", "PATIENT_ID,age_above50,cyp2c9,Code", *lines)
    _, out, _ = run("profile", "codes.csv")
    assert "-> pdanon anonymize codes.csv released.parquet --by PATIENT_ID --item Code -k 5 -m 2" in out
    assert "--onehot" not in out


def test_numbers_of_telephones_are_no_books(run):
    rows = [(n // 4, f"0{334215385 + 97 * (n % 40)}") for n in range(160)]
    write("phones.csv", "patient,phone", *(f"{person},{number}" for person, number in rows))
    assert "ISBN" not in run("profile", "phones.csv")[1]


def test_numbers_of_rows_and_answers_of_a_scale_make_no_lines(run):
    write("in.csv", "Id,TV,OpTV", *(f"{i},{i % 17},{'RBM'[i % 3]}" for i in range(50)))
    write("scale.csv", ",How do you like to read?", *(f"{i},{1 + i % 5} = yes" for i in range(50)))
    write("points.csv", "uid,trial,x,y", *(f"u{i % 9},{i % 3},{i % 7},{(i + 2) % 8}" for i in range(60)))
    told = ["Woman", "Man", "Man", "", "Woman"]
    write(
        "other.csv",
        "gender,gender_self",
        *(f"{told[i % 5]},{'Man' if i in (3, 8, 14) else ''}" for i in range(60)),
    )
    for name in ("in.csv", "scale.csv", "other.csv"):
        code, out, _ = run("profile", name)
        assert code == 0
        assert "no form of lists" in out
    assert "--wide" not in run("profile", "points.csv")[1]


def test_numbers_of_several_kinds_are_told_apart(run):
    rows = range(40)
    frame = pd.DataFrame(
        {
            "at": [f"{n % 24}:{10 + n}" for n in rows],
            "price": [f"{n},5" if n % 3 else f"{n}" for n in rows],
            "stay": [f"{200_000 + n}" if n else "NA" for n in rows],
        }
    )
    frame.to_csv("kinds.csv", index=False, sep=";")
    result = json.loads(run("profile", "kinds.csv", "--json")[1])["result"]
    assert [each["kind"] for each in result["columns"]] == ["times", "numbers with decimal commas", "text"]


def test_marks_of_missing_values_are_reported_with_the_call_that_reads_them(run):
    FILES["diagnoses.csv"][0]()
    _, out, _ = run("profile", "diagnoses.csv")
    read = out.partition("read the file by ")[2].splitlines()[0]
    exec(read, {"pd": pd, "path": "diagnoses.csv"})
    _, out, _ = run("profile", "in.csv")
    assert "missing values" not in out
    assert "-> pdanon anonymize in.csv released.parquet --by encounter_id --wide" in out


@pytest.mark.parametrize(("name", "write_file"), [("a 'b'.json", "to_json"), ("a.dta", "to_stata")])
def test_other_files_are_answered_with_the_command_that_converts_them(run, name, write_file):
    frame = pd.DataFrame(
        [(f"p{i}", word) for i, row in enumerate(ROWS) for word in row], columns=["user", "page"]
    )
    getattr(frame, write_file)(name, **({"write_index": False} if name.endswith("dta") else {}))
    code, _, err = run("profile", name)
    words = shlex.split(err.partition("hint:")[2].splitlines()[0].partition(";  ")[0])
    assert (code, words[:2]) == (2, ["python", "-c"])
    exec(words[2].partition(" of a FHIR")[0])
    pd.testing.assert_frame_equal(pd.read_csv("in.csv"), frame)


def write_transport(path: str, frame: pd.DataFrame) -> None:
    """Write whole numbers from 16 to 255, and texts, as a transport file of SAS, by its document TS-140."""

    def header(kind: str, last: str = "0" * 30) -> str:
        return f"HEADER RECORD*******{kind:8}HEADER RECORD!!!!!!!{last:32}"

    def field(place: int) -> bytes:
        is_text, label = int(frame.dtypes.iloc[place] != np.int64), f"{frame.columns[place]:8}".encode()
        start = struct.pack(">hhhh8s40s8s", 1 + is_text, 0, 8, place + 1, label, b" " * 40, b" " * 8)
        return (start + struct.pack(">hhh2s8shhl", 0, 0, 0, b"", b" " * 8, 0, 0, 8 * place)).ljust(140, b"\0")

    at = f"{'01JAN20:00:00:00':80}"
    member = f"{'SAS':8}{'LINES':8}{'SASDATA':8}{'6.06':8}{'LINUX':32}{at[:16]}"
    start = [header("LIBRARY"), f"{'SAS     SAS     SASLIB  6.06    LINUX':64}{at[:16]}", at]
    start += [header("MEMBER", "000000000000000001600000000140"), header("DSCRPTR"), member, at]
    start += [header("NAMESTR", f"000000{len(frame.columns):04}" + "0" * 20)]
    rows = [
        cell.encode().ljust(8) if isinstance(cell, str) else bytes([0x42, cell, *bytes(6)])  # base 16
        for cell in frame.to_numpy(object).ravel()
    ]
    names = b"".join(map(field, range(len(frame.columns))))
    with open(path, "wb") as file:
        file.write("".join(start).encode() + names.ljust(-len(names) // 80 * -80) + header("OBS").encode())
        file.write(b"".join(rows).ljust(-len(rows) * 8 // 80 * -80))


@pytest.mark.slow
def test_a_file_of_sas_is_released_within_three_commands(run):
    frame = pd.DataFrame(
        [(16 + i, word) for i, row in enumerate(ROWS) for word in row], columns=["USER", "PAGE"]
    )
    write_transport("lines.xpt", frame)
    code, _, err = run("profile", "lines.xpt")
    assert code == 2
    exec(shlex.split(err.partition("hint:")[2].splitlines()[0])[2])
    pd.testing.assert_frame_equal(pd.read_csv("in.csv"), frame, check_dtype=False)
    _, out, _ = run("profile", "in.csv")
    command = shlex.split(out.partition("-> pdanon ")[2].splitlines()[0])
    assert command[3:7] == ["--by", "USER", "--item", "PAGE"]
    assert run(*command)[0] == 0
    assert pdanon.read_parquet("released.parquet").txanon.audit(pdanon.KmAnonymity(5, 2)).holds


def test_equal_names_are_numbered_as_the_hint_says(run):
    FILES["answers by column.csv"][0]()
    path = Path("answers by column.csv")
    path.write_text(path.read_text().replace("apply: tea", "apply: milk"))
    code, _, err = run("profile", str(path))
    assert code == 2
    exec(shlex.split(err.partition("number them: ")[2])[2])
    _, out, _ = run("profile", "in.csv")
    assert "'Check all that apply: milk.1'" in out


def test_persons_without_items_get_the_call_for_their_columns(run):
    rows = [(["<50", ">=50"][n % 2], "*", ["816**", "819**"][n // 2 % 2]) for n in range(200)]
    frame = pd.DataFrame(rows, columns=["age", "gender", "zipcode"])
    frame.to_csv("arx.csv", sep=";", index=False)
    _, out, _ = run("profile", "arx.csv")
    assert "reads as   no form of lists" in out
    call = out.partition("-> in Python, ")[2].partition("; ")[0]
    assert eval(call).guarantee == pdanon.KAnonymity(5, quasi=("age", "gender", "zipcode"))
    for k, held in ((50, 0), (51, 1)):
        code, _, _ = run("audit", "arx.csv", "-k", str(k), "--quasi", "age", "gender", "zipcode")
        assert code == held


def test_the_call_for_many_columns_names_all(run):
    columns = [f"q{number}" for number in range(40)]
    pd.DataFrame(
        [[("low", "high", "none")[n % 3] for _ in columns] for n in range(60)], columns=columns
    ).to_csv("in.csv", index=False)
    _, out, _ = run("profile", "in.csv")
    assert f"pdanon.KAnonymity(5, quasi={columns!r})" in out


def test_what_hinders_a_form_is_told_with_its_remedy(run):
    lines = [f"{'' if n % 9 == 0 else 17000 + n // 4},{item}" for n, row in enumerate(ROWS) for item in row]
    write("sales.csv", "CustomerID,StockCode", *lines)
    _, out, _ = run("profile", "sales.csv")
    assert "some lines have no person" in out
    assert "-> leave them out, as by frame.dropna(subset=['CustomerID'])" in out


def test_a_table_without_a_form_says_so(run):
    write("in.csv", "name,city", "a,b", "c,d")
    code, out, _ = run("profile", "in.csv")
    assert code == 0
    assert "no form of lists" in out


@pytest.mark.parametrize(
    ("content", "error"),
    [
        (b"", "it is empty"),
        ("a,b\né,x\n".encode("cp1252"), "pass encoding (--encoding) of a table: cp1252"),
        ("a,b\né,x\n".encode() + "è,y\n".encode("cp1252"), "line 3\n  got:   it has two encodings"),
        (f'a,b\n{SECRET},"x\ny,z\n'.encode(), "a quote is not closed"),
        (f"{SECRET},{SECRET},b\nx,y,z\n".encode(), "two columns have the same name"),
    ],
)
def test_files_that_cannot_be_read_are_refused(run, content, error):
    Path("in.csv").write_bytes(content)
    code, out, err = run("profile", "in.csv")
    assert (code, out) == (2, "")
    assert error in err
    assert SECRET not in err


def test_anonymize_still_guesses_nothing(run):
    FILES["market.csv"][0]()
    code, _, err = run("anonymize", "market.csv", "out.parquet", "-k", "5")
    assert code == 2
    assert "pdanon profile market.csv" in err


def test_a_page_is_refused_before_there_are_lists(run):
    FILES["sales.csv"][0]()
    code, _, err = run("profile", "sales.csv", "--report", "look.html")
    assert code == 2
    assert "without --report" in err
    assert not Path("look.html").exists()


# --- The same from Python, and spelling


def test_python_answers_with_calls_that_work(run):
    for name in ("sales.csv", "named.csv", "ticks.csv", "joined.csv", "fhir.csv"):
        FILES[name][0]()
        frame = pd.read_csv(name)
        look = pdanon.profile(frame)
        assert isinstance(look, pdanon.RawProfile)
        before = frame.copy()
        space = {"pdanon": pdanon, "frame": frame}
        call = look.readings[0].call
        exec(call if call.startswith("frame[") else f"frame = {call}", space)
        assert isinstance(pdanon.profile(space["frame"]), pdanon.Profile)
        pd.testing.assert_frame_equal(pd.read_csv(name), before)
        assert f"-> {call}" in repr(look)


@pytest.mark.parametrize(
    "other", ["caf\u0065\u0301", "caf\u00e9\u200b", "caf\u00e9\u00a0", "c\u00adaf\u00e9"]
)
def test_texts_that_look_the_same_are_counted_with_the_call_that_mends_them(other):
    items = ["caf\u00e9", other, "tea"] * 9
    frame = pd.DataFrame({"customer": [n // 3 for n in range(27)], "product": [*items]})
    frame.loc[0, "product"] = "tea"
    alerts = [alert.hint for alert in pdanon.profile(frame).alerts]
    lists = pdanon.from_long(frame, by="customer", item="product")
    found = [alert.hint for alert in pdanon.profile(lists).alerts if "before you make lists" in alert.hint]
    if other.strip() == "caf\u00e9":  # blanks around an item are removed
        assert found == alerts == []
        return
    assert found == alerts
    mend = found[0].partition("apply ")[2].partition(" to the items")[0]
    frame["product"] = eval(f"frame['product']{mend}")
    assert {*frame["product"]} == {"caf\u00e9", "tea"}
    assert pdanon.profile(frame).alerts == ()


def test_two_encodings_in_one_file_are_reported():
    garbled = "café".encode().decode("cp1252")
    frame = pd.DataFrame({"customer": [n // 3 for n in range(27)], "product": ["café", garbled, "tea"] * 9})
    (alert,) = pdanon.profile(frame).alerts
    assert alert.what.startswith("1 items look like UTF-8")
    assert "two encodings" in alert.hint


def encounters(*, persons: bool, coarse: bool) -> pd.DataFrame:
    """Encounters of 120 patients with up to nine codes; coarse ones repeat in a row, such as E11."""
    draw = random.Random(7)
    codes = [*CODES, "R07", "Z00", "L40"]
    choose = draw.choices if coarse else draw.sample
    rows = [choose(codes, k=draw.randint(1, 9)) for _ in range(300)]
    frame = pd.DataFrame([[*row, *[None] * (9 - len(row))] for row in rows], columns=DX)
    frame.insert(0, "age", [20 + n % 61 for n in range(300)])
    frame.insert(1, "sex", [draw.choice("FM") for _ in rows])
    frame["date"] = [f"2024-0{1 + n % 9}-{10 + n % 19}" for n in range(300)]
    if persons:
        frame.insert(0, "patient_id", [f"P{n * 7 % 120}" for n in range(300)])
    return frame


@pytest.mark.parametrize("persons", [True, False])
@pytest.mark.parametrize("coarse", [True, False])
def test_numbered_columns_of_codes_are_places_although_persons_and_codes_repeat(run, persons, coarse):
    """Lines with the item dx1 of a patient would drop the other eight columns."""
    frame = encounters(persons=persons, coarse=coarse)
    look = pdanon.profile(frame)
    assert look.readings[0].form == {"wide": DX} | ({"by": ["patient_id"]} if persons else {})
    assert not any(reading.form.get("item") in DX for reading in look.readings)
    made = eval(look.readings[0].call, {"frame": frame, "pdanon": pdanon})
    codes = frame.melt(["patient_id"] if persons else None, DX, ignore_index=False)
    owners = codes["patient_id"] if persons else codes.index
    expected = codes.groupby(owners, sort=False)["value"].agg(lambda own: {*own.dropna()})
    assert [*map(set, made["items"])] == expected.tolist()
    with pytest.raises(pdanon.PdanonError, match=r"pdanon\.from_wide\(frame, columns=frame\.columns\["):
        pdanon.pcta(frame, k=2)
    frame.to_csv("in.csv", index=False)
    asked = f"{'--by patient_id ' * persons}--wide {' '.join(DX)} -k 5 -m 2"
    assert f"-> pdanon anonymize in.csv released.parquet {asked}" in run("profile", "in.csv")[1]


def test_the_person_of_a_row_comes_before_its_number(run):
    """By the number of an encounter, the rows of a patient would hide each other."""
    frame = encounters(persons=True, coarse=False)
    frame.insert(0, "encounter_id", range(5000, 5300))
    frame.to_csv("in.csv", index=False)
    command = run("profile", "in.csv")[1].partition("-> pdanon ")[2].splitlines()[0]
    assert f"--by patient_id --wide {' '.join(DX)} " in command
    code, _, err = run(*shlex.split(command), "--algorithm", "pcta")
    assert (code, "share" in err) == (0, False)


def test_answers_to_numbered_questions_are_no_places():
    draw = random.Random(3)
    answers = ["never", "seldom", "sometimes", "often", "always"]
    survey = pd.DataFrame({f"Q{n}": draw.choices(answers, k=80) for n in range(1, 7)})
    for frame in (survey, survey.assign(respondent=range(80)), survey.assign(user=[*range(40)] * 2)):
        assert not any("wide" in reading.form for reading in pdanon.profile(frame).readings)


def test_a_ragged_table_takes_no_other_column_for_a_place():
    """Sexes repeat, as blanks do, but no other column has them."""
    rows = [[*row, *[None] * (4 - len(row))] for row in ROWS]
    frame = pd.DataFrame(rows, columns=["main", "second", "third", "last"])
    frame.insert(0, "sex", ["F", "M"] * 30)
    frame.loc[0, ["second", "third", "last"]] = ["tea", "rice", "in no other column"]
    wide = [*frame.columns[1:]]
    assert pdanon.profile(frame).readings[0].form == {"wide": wide}
    with pytest.raises(pdanon.PdanonError, match=r"columns=frame\.columns\[1:5\]"):
        pdanon.pcta(frame, k=2)
