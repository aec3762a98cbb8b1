"""The versions that a report of a defect begins with."""

import getpass
import platform

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy

import pdanon
from pdanon._kernels import _compiled
from pdanon.itemsets import threads


def printed(capsys):
    assert pdanon.show_versions() is None
    return dict(line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines())


def test_what_runs_here_is_printed(capsys):
    facts = printed(capsys)
    assert facts["pdanon"] == pdanon.__version__
    assert facts["Python"].split()[0] == platform.python_version()
    for library in (pd, np, pa, scipy):
        assert facts[library.__name__] == library.__version__
    with pdanon.config(threads=3):
        assert printed(capsys)["threads"] == "3"


def test_a_library_that_is_missing_is_named(capsys, monkeypatch):
    monkeypatch.setattr(threads, "_OPTIONAL", ("no-such-library",))
    assert printed(capsys)["no-such-library"] == "not installed"


def test_checked_kernels_are_told_from_fast_ones(capsys, monkeypatch, tmp_path):
    for stamp, kind in (("0" * 64, "fast"), ("0" * 64 + " checked", "checked")):
        (tmp_path / _compiled.STAMP).write_text(stamp)
        monkeypatch.setattr(threads._kernels, "__file__", str(tmp_path / "__init__.py"))
        assert printed(capsys)["kernels"] == kind


def test_no_name_of_the_machine_is_printed(capsys):
    pdanon.show_versions()
    text = capsys.readouterr().out
    assert platform.node() == "" or platform.node() not in text.split()
    assert getpass.getuser() not in text.split()
