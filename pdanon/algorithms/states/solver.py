"""Linear programs whose variables are shares, or yes and no; HiGHS solves them.

What comes back is rounded and checked by the caller: a solver counts in floating point.
"""

from __future__ import annotations

from math import floor, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["chosen", "relaxed"]

Numbers = NDArray[Any]


def chosen(
    loss: NDArray[np.int64],
    rows: Any,
    least: float | Numbers,
    most: float | Numbers,
    seconds: float,
    allowed: tuple[Any, Any] = (0, 1),
    tolerance: float = 0,
) -> tuple[NDArray[np.bool_] | None, int, bool]:
    """Say yes or no to each variable, at the least loss.

    Parameters
    ----------
    loss : ndarray of int64
        Loss of a yes.
    rows : sparse array
        Coefficients of the sums that are kept between ``least`` and ``most``.
    least, most : float or ndarray
        Bounds of the sums.
    seconds : float
        Time to search.
    allowed : pair of numbers or ndarrays
        Least and most value of the variables.
    tolerance : float
        The search may end where the bound is nearer to the loss than this share of it.

    Returns
    -------
    chosen : ndarray of bool or None
        The variables with a yes; None if nothing was found, or there is nothing to find.
    bound : int
        No choice loses less.
    solved : bool
        Whether the time sufficed to prove that nothing is better, or that there is nothing.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    result = milp(
        loss,
        integrality=np.ones(len(loss)),
        bounds=Bounds(*allowed),
        constraints=LinearConstraint(rows, least, most),
        options={"time_limit": seconds, "mip_rel_gap": tolerance},
    )
    nothing = int(loss[loss < 0].sum())
    if result.x is None:
        return None, nothing, result.status == 2
    yes = result.x > 0.5
    if result.status == 0 and not tolerance:
        return yes, int(loss[yes].sum()), True
    bound = result.mip_dual_bound
    return yes, floor(bound) if bound is not None and isfinite(bound) else nothing, False


def relaxed(
    loss: NDArray[np.int64], rows: Any, most: Numbers, seconds: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Give each variable a share from 0 to 1, at the least loss.

    Parameters
    ----------
    loss : ndarray of int64
        Loss of a share of 1.
    rows : sparse array
        Coefficients of the sums that are kept below ``most``.
    most : ndarray
        Bounds of the sums.
    seconds : float
        Time to search.

    Returns
    -------
    shares, prices : ndarray
        The shares, and how much the loss would fall for each unit that a bound were higher; None if there
        was not enough time.
    """
    from scipy.optimize import linprog

    result = linprog(loss, rows, most, bounds=(0, 1), method="highs", options={"time_limit": seconds})
    if result.status != 0:
        return None
    return result.x, np.maximum(-result.ineqlin.marginals, 0)
