"""The recipe for Spark, run as the page shows it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pandas as pd
import pdanon.datasets
import pytest
from conftest import rows_of
from test_docs import BLOCK, ROOT

import pdanon

PAGE = (ROOT / "docs" / "cluster.md").read_text(encoding="utf-8")
BLOCKS = {title: text for _, title, text in BLOCK.findall(PAGE) if title}


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    """A session of Spark in this process, whose workers run this code."""
    sql = pytest.importorskip("pyspark.sql")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java")
    patch = pytest.MonkeyPatch()
    patch.setenv("PYSPARK_PYTHON", sys.executable)
    package = str(Path(pdanon.__file__).parents[1])
    patch.setenv("PYTHONPATH", os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]))
    patch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    builder = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.warehouse.dir", str(tmp_path_factory.mktemp("warehouse")))
    session = builder.config("spark.driver.bindAddress", "127.0.0.1").getOrCreate()
    yield session
    session.stop()
    patch.undo()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Spark
def test_spark_releases_what_pandas_releases(spark, tmp_path):
    lake, out = str(tmp_path / "lake"), str(tmp_path / "out")
    baskets = pdanon.datasets.make_baskets(3000, 60, random_state=0)
    frame = baskets.assign(items=[None if row is None else list(row) for row in baskets["items"]])
    frame.loc[[5, 9], "items"] = pd.Series([[], None], index=[5, 9])
    pdanon.to_parquet(frame, tmp_path / "rows.parquet")
    spark.read.parquet(str(tmp_path / "rows.parquet")).repartition(4).write.parquet(lake)
    names = {"spark": spark, "lake": lake, "out": out, "work": str(tmp_path)}
    for title in ("decide.py", "recode.py", "audit.py"):
        exec(compile(BLOCKS[title], title, "exec"), names)
    assert names["verdict"].holds
    expected = frame.txanon.pcta(k=5, m=2).frame
    parts = [pdanon.read_parquet(path) for path in sorted(Path(out).glob("*.parquet"))]
    assert content_of(pd.concat(parts)) == content_of(expected)


def content_of(frame):
    """The rows without their order; Spark may change it."""
    pairs = zip(frame["store"], rows_of(frame), strict=True)
    return sorted((store, items is None, sorted(items or [])) for store, items in pairs)
