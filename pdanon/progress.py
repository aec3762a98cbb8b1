"""Progress bars, for people who ask for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from pdanon.errors import ParameterError

__all__ = ["Report", "progress_bar"]

Report: TypeAlias = Callable[[int], object]


@contextmanager
def progress_bar(show: bool, label: str, unit: str) -> Iterator[Report]:
    """Give a function that is told how many more units are done, and shows it if asked to.

    Parameters
    ----------
    show : bool
        Whether to show a bar, on stderr or in the notebook.
    label, unit : str
        What is being done, and what is counted.
    """
    if not show:
        yield lambda done: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ParameterError(
            "progress=True needs the package tqdm", hint="pip install 'pdanon[progress]'"
        ) from None
    with tqdm(desc=label, unit=unit) as bar:
        yield bar.update
