"""Files with lines in which a person has several, over row groups and files: as in memory."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pdanon
from examples import seeds
from pdanon.errors import (
    ColumnError,
    InfeasibleError,
    ItemsetDtypeError,
    ParameterError,
    PdanonError,
)
from pdanon.recoding import unit_release

LONG = {"unit": "who", "item": "what"}


def random_lines(rng):
    """Lines of up to 8 persons, or of twice as many that are equal in pairs, in any order."""
    n, items = int(rng.integers(1, 40)), ["a", "b", "c", "d", " a"][: rng.integers(1, 6)]
    lines = pd.DataFrame({"what": rng.choice([*items, None] if rng.random() < 0.3 else items, n)})
    lines.insert(int(rng.integers(0, 2)), "who", rng.integers(0, rng.integers(1, 9), n))
    if rng.random() < 0.6:
        lines = pd.concat([lines, lines.assign(who=lines["who"] + 10)], ignore_index=True)
    lines = lines.sample(frac=1, random_state=int(rng.integers(1000)), ignore_index=True)
    return lines.assign(note="x").astype({"what": object})


def write(lines, directory, rng):
    """Write lines to some files with some row groups each, which persons span."""
    directory.mkdir()
    kinds = {"who": pa.int64(), "what": pa.string(), "note": pa.string()}
    schema = pa.schema([(name, kinds[name]) for name in lines])
    cuts = np.sort(rng.integers(0, len(lines) + 1, 2))
    for number, part in enumerate(np.split(np.arange(len(lines)), cuts)):
        table = pa.Table.from_pandas(lines.iloc[part], schema, preserve_index=False)
        pq.write_table(table, directory / f"{number}.parquet", row_group_size=3)
    return directory


def outcome(call, *args, **kwargs):
    """What a call returns, or its error without the place."""
    try:
        return call(*args, **kwargs), None
    except PdanonError as error:
        return None, (type(error), str(error).partition("\n  where")[0])


def texts(frame):
    return [*frame], frame.astype("str").replace({"<NA>": "nan", "None": "nan"}).to_numpy().tolist()


@pytest.mark.one_in(3)
@pytest.mark.parametrize("seed", seeds(60))
@pytest.mark.parametrize("counts", [False, True])
def test_a_release_is_that_of_memory(counts, seed, tmp_path):
    rng = np.random.default_rng(seed)
    lines, base = random_lines(rng), tmp_path
    request, persons = {"k": 2, "m": int(rng.integers(1, 3))}, {**LONG, "counts": counts}
    source = write(lines, base / "in", rng)
    expected, problem = outcome(pdanon.by(lines, **persons).pcta, **request)
    read = pdanon.stream.by(source, **persons)
    result, found = outcome(read.pcta, base / "out.parquet", **request)
    assert found == problem
    assert (base / "out.parquet").exists() == (problem is None)
    if problem is not None:
        return
    released = pdanon.read_parquet(base / "out.parquet")
    assert texts(released) == texts(expected.frame)
    assert result.rows == len(released)
    assert result.parameters == expected.parameters
    pd.testing.assert_frame_equal(result.mapping, expected.mapping)
    audit = pdanon.stream.by(base / "out.parquet", **persons).audit(result.guarantee)
    assert audit.holds
    risk = pd.DataFrame(pdanon.by(lines, **LONG).risk(k=2, m=2))
    pd.testing.assert_frame_equal(pd.DataFrame(read.risk(k=2, m=2)), risk)


@pytest.fixture
def lines(tmp_path):
    frame = pd.DataFrame({"who": [1, 2, 3, 4] * 6, "what": ["a", "b"] * 12, "line": range(24)})
    frame["some"] = [None] * 3 + [1] * 21
    frame["lists"] = [["a"]] * 24
    frame.to_parquet(tmp_path / "lines.parquet")
    frame[["who", "what"]].to_parquet(tmp_path / "plain.parquet")
    return tmp_path / "lines.parquet"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"unit": "nobody", "item": "what"}, ColumnError, "'nobody' does not exist"),
        ({"unit": "who", "item": "nothing"}, ColumnError, "'nothing' does not exist"),
        ({"unit": "who"}, ParameterError, "by needs item"),
        ({"unit": "who", "item": None}, ParameterError, "name the column of items"),
        ({"unit": "who", "item": "lists"}, ItemsetDtypeError, "the item column holds lists"),
        ({"unit": "lists", "item": "what"}, ColumnError, "the column of units holds lists"),
        ({"unit": "what", "item": "what"}, ParameterError, "units and items are one column"),
        ({"unit": "some", "item": "what"}, ParameterError, "3 of 24 lines"),
        ({"unit": "line", "item": "what"}, ParameterError, "each line has another person"),
        ({"unit": "who", "item": "what", "counts": 2}, ParameterError, "counts"),
        ({"unit": "who", "item": "what", "keep": ["line"]}, ParameterError, "kept columns need all lines"),
        ({"unit": ["who"], "item": "what"}, ParameterError, "unit must be"),
        (
            {"unit": "who", "item": "what", "max_risk": -3},
            ParameterError,
            "max_risk must be a number in [0, 1]",
        ),
        ({"unit": "who", "item": "what", "drop": ["who"]}, ColumnError, "'who' does not exist"),
    ],
)
def test_wrong_calls_are_explained(options, kind, message, lines, tmp_path):
    options = dict(options)
    more = {name: options.pop(name) for name in ("keep", "drop", "max_risk") if name in options}
    with pytest.raises(kind) as caught:
        pdanon.stream.by(lines, **options).anonymize(tmp_path / "out.parquet", k=2, m=1, **more)
    assert message in str(caught.value)
    assert {path.name for path in tmp_path.iterdir()} == {"lines.parquet", "plain.parquet"}


def test_audits_count_persons_and_refuse_other_columns(lines):
    guarantee = pdanon.KmAnonymity(k=3, m=1)
    with pytest.raises(ParameterError, match="other columns of lines need all lines at once"):
        pdanon.stream.by(lines, **LONG).audit(guarantee)
    plain = lines.with_name("plain.parquet")
    assert pdanon.stream.by(plain, **LONG).audit(guarantee).rows_at_risk == 4
    assert pdanon.stream.by(plain, **LONG).audit(k=guarantee.k, m=guarantee.m).rows_at_risk == 4
    assert pdanon.stream.by(plain, **LONG, counts=True).audit(pdanon.KmAnonymity(k=2, m=2)).holds
    frame = pd.DataFrame({"who": [1, 2, 3], "what": ["a", " a", "a"]})
    frame.to_parquet(lines.with_name("blanks.parquet"))
    audit = pdanon.stream.by(lines.with_name("blanks.parquet"), **LONG).audit(pdanon.KmAnonymity(k=2, m=1))
    assert audit.rows_at_risk == 1  # whoever sees the lines tells the two labels apart
    constraints = pdanon.PrivacyConstraints(constraints=[["a"]], k=2)
    with pytest.raises(ParameterError, match="ignores how often"):
        pdanon.stream.by(plain, **LONG, counts=True).audit(constraints)


def test_lines_of_several_parts_are_all_written(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(unit_release, "_LINES", 2)
    persons = pdanon.stream.by(lines.with_name("plain.parquet"), **LONG)
    result = persons.anonymize(tmp_path / "out.parquet", k=2, m=1)
    released = pdanon.read_parquet(tmp_path / "out.parquet")
    assert result.rows == len(released) == 4
    assert sorted(released["what"]) == ["a", "a", "b", "b"]


def test_integers_that_pandas_stores_as_floats_are_integers_again(tmp_path):
    lines = pd.DataFrame({"who": [1, 1, 2, 2, 3], "what": [7, 8, 7, 8, np.nan]})
    lines.to_parquet(tmp_path / "in.parquet")
    pdanon.stream.by(tmp_path / "in.parquet", **LONG).anonymize(tmp_path / "out.parquet", k=2, m=2)
    expected = pdanon.by(lines, **LONG).pcta(k=2, m=2)
    assert texts(pdanon.read_parquet(tmp_path / "out.parquet")) == texts(expected.frame)


@pytest.mark.slow
def test_without_an_algorithm_and_with_a_hierarchy(lines, tmp_path):
    source, tree = lines.with_name("plain.parquet"), pdanon.Hierarchy.balanced(["a", "b"], 2)
    persons = pdanon.stream.by(source, **LONG)
    result = persons.anonymize(tmp_path / "out.parquet", k=2, m=2)
    assert result.tried is not None
    for name, given in {"lra": {"parts": 1}, "apriori": {}}.items():
        call = {"k": 2, "m": 2, "hierarchy": tree, **given}
        mapping = tmp_path / f"{name}.csv"
        target = tmp_path / f"{name}.parquet"
        getattr(persons, name)(target, mapping=mapping, **call)
        expected = getattr(pd.read_parquet(source).txanon.by(**LONG), name)(**call)
        assert texts(pdanon.read_parquet(target)) == texts(expected.frame)
        assert mapping.exists()


def test_lines_without_other_columns_meet_any_bound_on_the_risk(lines, tmp_path):
    by = pdanon.stream.by(lines.with_name("plain.parquet"), **LONG)
    for name in ("pcta", "anonymize"):
        assert getattr(by, name)(tmp_path / name, k=2, m=1, max_risk=0).parameters["k"] == 2


def test_a_bound_on_the_loss_leaves_no_release(lines, tmp_path):
    source = lines.with_name("plain.parquet")
    with pytest.raises(InfeasibleError):
        pdanon.stream.by(source, **LONG).anonymize(tmp_path / "o.parquet", k=4, m=2, max_loss={"NCP": 0})
    assert not (tmp_path / "o.parquet").exists()
