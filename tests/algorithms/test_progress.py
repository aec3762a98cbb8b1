"""Progress bars: shown to who asks for them, and quiet about what a notebook lacks."""

from __future__ import annotations

import sys
import types
import warnings

import pytest
from conftest import frame_of

import pdanon

pytest.importorskip("tqdm")


def test_notebook_without_widgets_has_plain_bars_and_no_warning(monkeypatch, capsys):
    def get_ipython():
        """An object of a class that tqdm takes for a notebook's."""
        return object()

    shell = types.ModuleType("IPython")
    shell.get_ipython = get_ipython
    monkeypatch.setitem(sys.modules, "IPython", shell)
    monkeypatch.setitem(sys.modules, "ipykernel.zmqshell", types.ModuleType("ipykernel.zmqshell"))
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    for name in ("tqdm.auto", "tqdm.autonotebook", "tqdm.notebook"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        pdanon.pcta(frame_of([["a"], ["a"], ["b"]]), k=2, progress=True)
    assert [str(each.message) for each in caught] == []
    assert "pcta" in capsys.readouterr().err
