"""Kernels: none is run that is not compiled, or is not what is written."""

from __future__ import annotations

import shutil
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader
from importlib.util import find_spec
from pathlib import Path

import pytest

import pdanon
from pdanon._kernels import _compiled

FOLDER = Path(pdanon.__file__).parent / "_kernels"
SUFFIX = EXTENSION_SUFFIXES[-1]


@pytest.fixture
def folder(tmp_path):
    """A folder with two kernels, which is taken for compiled."""
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(f"{name} = 1\n")
        (tmp_path / f"{name}{SUFFIX}").touch()
    (tmp_path / "one.pxd").write_text("cdef int one\n")
    for name in ("__init__", "_compiled"):
        (tmp_path / f"{name}.py").touch()
    (tmp_path / _compiled.STAMP).write_text(_compiled.digest(tmp_path))
    _compiled.check(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", _compiled.kernels(FOLDER))
def test_kernels_are_compiled(name):
    spec = find_spec(f"pdanon._kernels.{name}")
    assert isinstance(spec.loader, ExtensionFileLoader)


def test_a_kernel_that_is_not_compiled_is_an_error(folder):
    (folder / f"two{SUFFIX}").unlink()
    with pytest.raises(ImportError, match=r"kernel two is not compiled(?s:.)*hint: .*build_kernels\.py"):
        _compiled.check(folder)


@pytest.mark.parametrize("name", ["one.py", "two.py", "one.pxd"])
def test_a_kernel_that_has_changed_is_an_error(folder, name):
    with (folder / name).open("a") as source:
        source.write("\n")
    with pytest.raises(
        ImportError, match=r"changed since they were compiled(?s:.)*hint: .*build_kernels\.py"
    ):
        _compiled.check(folder)


def test_a_stamp_is_needed(folder):
    (folder / _compiled.STAMP).unlink()
    with pytest.raises(ImportError, match="changed since"):
        _compiled.check(folder)


def test_dates_do_not_matter(folder, tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy")
    for path in folder.iterdir():
        shutil.copyfile(path, copy / path.name)
    _compiled.check(copy)
    (copy / "__init__.py").write_text("# not a kernel\n")
    _compiled.check(copy)
