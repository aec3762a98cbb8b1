"""RT-datasets: quasi-identifiers and transactions of the same rows, anonymized together."""

from __future__ import annotations

from collections.abc import Callable

from pdanon.algorithms.rt.rfirst import rfirst
from pdanon.algorithms.rt.rum_bound import rum_bound
from pdanon.algorithms.rt.tfirst import tfirst
from pdanon.algorithms.rt.tum_bound import tum_bound
from pdanon.recoding.result import Anonymized

__all__ = ["RT"]

RT: dict[str, Callable[..., Anonymized]] = {
    function.__name__: function for function in (rum_bound, tum_bound, rfirst, tfirst)
}
