"""Versions of what runs here, for reports of defects."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from pdanon import _kernels
from pdanon._kernels._compiled import are_checked
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.threads import count_threads

_NEEDED = ("pandas", "numpy", "pyarrow", "scipy")
_OPTIONAL = ("dask", "distributed", "duckdb", "matplotlib", "mlxtend", "polars", "pyspark", "shtab", "tqdm")


@called_by_name
def show_versions() -> None:
    """Print the versions of pdanon, Python, the platform, and the libraries that pdanon can use.

    It prints no path, no name of a user or a machine, and nothing of a table. A report of a defect begins
    with it.

    Examples
    --------
    >>> import pdanon
    >>> pdanon.show_versions()
    pdanon       0.1.0
    Python       3...
    platform     ...
    threads      ...
    kernels      ...
    pandas       ...
    """
    checked = are_checked(Path(_kernels.__file__).parent)
    facts = {
        "pdanon": version("pdanon"),
        "Python": f"{platform.python_version()} {platform.python_implementation()}",
        "platform": f"{platform.system()} {platform.release()} {platform.machine()}",
        "threads": count_threads(),
        "kernels": "checked" if checked else "fast",
        **{name: _version(name) for name in _NEEDED + _OPTIONAL},
    }
    print(*(f"{name:12} {fact}" for name, fact in facts.items()), sep="\n")


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
