"""Proven: whether a release has all of the guarantee that was asked for, or has it for fewer known items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pdanon.errors import ReleaseWarning, warn
from pdanon.guarantees.verdict import Guarantee

__all__ = ["SHORT", "shortfall", "warn_if_short"]

SHORT = "The guarantee is proven for"  # how a shortfall begins


def shortfall(parameters: Mapping[str, Any], guarantee: Guarantee) -> str:
    """Say for how few known items a guarantee is proven, where any number was asked for.

    Parameters
    ----------
    parameters : mapping
        What was asked.
    guarantee : Guarantee
        What the release has.

    Returns
    -------
    str
        Empty if it is proven as far as it was asked for.
    """
    m = getattr(guarantee, "m", None)
    if "m" not in parameters or parameters["m"] is not None or m is None:
        return ""
    known = "1 known item" if m == 1 else f"up to {m:,} known items"
    return f"{SHORT} {known}; any number was asked for"


def warn_if_short(parameters: Mapping[str, Any], guarantee: Guarantee) -> None:
    """Warn of a `shortfall`.

    Warns
    -----
    ReleaseWarning
        If there is one.
    """
    if short := shortfall(parameters, guarantee):
        hint = (
            "publish it where nobody can know more items of a row; else suppress sensitive items beforehand, "
            "or shorten the longest rows, in which the search for what gives one away ended early"
        )
        warn(ReleaseWarning(short, hint=hint))
