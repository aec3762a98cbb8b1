"""What was counted beside an item, remembered as long as the clusters stay as they were.

To count takes a look at all rows of the item; to look up takes a step for each cluster. What changes is told
by the clock of the state: an entry holds for a cluster that has not changed since.
"""

import cython
import numpy as np
from cython.cimports.pdanon._kernels.sets_state import Space, State

__all__ = ["Tallies"]

MOST = 64 * 2**20  # bytes


@cython.final
@cython.cclass
class Tallies:
    """Entries of items: all clusters beside an item, or the first ones if there is no memory for all."""

    def __init__(self, n: int, slots: int) -> None:
        self.when, self.filled = np.zeros((2, n), np.int64)
        self.is_whole = np.zeros(n, np.uint8)
        room = min(slots, MOST // (12 * max(n, 1)))
        self.entries = np.empty((n, room, 3), np.int32)


def note(
    x: cython.longlong, n_touched: cython.longlong, tallies: Tallies, state: State, space: Space
) -> cython.void:
    """Remember what `tally` has filled in for an item."""
    n: cython.longlong = min(n_touched, tallies.entries.shape[1])
    for i in range(n):
        c = space.touched[i]
        tallies.entries[x, i, 0] = cython.cast(cython.int, c)
        tallies.entries[x, i, 1] = cython.cast(cython.int, space.beside[c])
        tallies.entries[x, i, 2] = cython.cast(cython.int, space.alone[c])
    tallies.when[x], tallies.filled[x], tallies.is_whole[x] = state.clock, n, n == n_touched
