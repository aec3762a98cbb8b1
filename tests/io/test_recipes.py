"""Frames of polars and DuckDB, in and out; skipped where these are not installed."""

import numpy as np
import pandas as pd
import pytest

import pdanon

LISTS = [["rice", "tea"], ["rice"], ["rice", "tea"], [], None, ["salt", "tea"]]
RELEASED = pd.DataFrame({"age": range(6), "items": LISTS}).txanon.pcta(k=2, m=2).frame["items"]


def lists_of(column):
    return [None if row is None or row is pd.NA else sorted(row) for row in column]


@pytest.mark.parametrize("arrow", [False, True])
def test_frames_of_polars(arrow):
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"age": range(6), "items": LISTS})
    release = frame.to_pandas(use_pyarrow_extension_array=arrow).txanon.pcta(k=2, m=2).frame
    assert lists_of(release["items"].tolist()) == lists_of(RELEASED.tolist())
    back = polars.from_pandas(release)
    assert back.schema["items"] == polars.List(polars.String)
    assert lists_of(back["items"].to_list()) == lists_of(RELEASED.tolist())


def test_frames_of_duckdb(monkeypatch):
    duckdb = pytest.importorskip("duckdb")
    invoices = pd.DataFrame(
        {"customer": [1, 1, 2, 3, 3, 4], "product": ["rice", "tea", "rice", "rice", "tea", "tea"]}
    )
    asked = (
        "select customer, list(product order by product) as items from invoices group by customer order by 1"
    )
    with duckdb.connect() as connection:
        connection.register("invoices", invoices)
        frame = connection.sql(asked).df()
        made = pdanon.from_long(invoices, by="customer", item="product")
        assert [list(row) for row in frame["items"]] == [list(row) for row in made["product"]]
        release = frame.drop(columns="customer").txanon.pcta(k=2, m=1).frame
        connection.register("release", release)
        counted = connection.sql("select unnest(items) as item, count(*) as rows from release group by item")
        expected = release["items"].explode().value_counts()
        assert dict(counted.fetchall()) == expected.to_dict()
        assert np.sum(expected) == len(invoices)
