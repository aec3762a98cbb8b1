"""Workers of a cluster have the version of the client."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

import pandas as pd
import pytest

import pdanon

dd = pytest.importorskip("dask.dataframe")
import pdanon.dask  # noqa: E402


class Client:
    """A client of a cluster whose workers have other packages."""

    def __init__(self, **found):
        self.found = found

    def run(self, function, *arguments, on_error):
        assert (function, arguments, on_error) == (version, ("pdanon",), "return")
        return self.found


HERE = version("pdanon")
OTHERS = {"0.0.9": "0.0.9 instead of", PackageNotFoundError("pdanon"): "no pdanon instead of"}


def frame_of_parts():
    lists = pdanon.as_itemsets(pd.Series([["a", "b"], ["a"]] * 5))
    return dd.from_pandas(pd.DataFrame({"items": lists}), npartitions=2)


@pytest.mark.parametrize(("found", "message"), OTHERS.items())
def test_workers_of_another_version_compute_nothing(monkeypatch, found, message):
    monkeypatch.setattr("pdanon.dask.lazy.get_client", lambda: Client(a=HERE, b=found))
    frame = frame_of_parts()
    for call in (
        lambda: frame.txanon.pcta(k=2, m=1),
        lambda: frame.txanon.audit(pdanon.KmAnonymity(2, 1)),
        lambda: frame.txanon.risk(k=2),
    ):
        with pytest.raises(pdanon.ParameterError, match="another version of pdanon") as caught:
            call()
        assert f"{message} {HERE}, on 1 of 2 workers" in str(caught.value)
        assert f"install pdanon=={HERE}" in str(caught.value)


def test_workers_of_this_version_compute(monkeypatch):
    gone = ConnectionResetError()  # of a worker that was killed
    monkeypatch.setattr("pdanon.dask.lazy.get_client", lambda: Client(a=HERE, b=HERE, c=gone))
    assert frame_of_parts().txanon.pcta(k=2, m=1).rows == 10
