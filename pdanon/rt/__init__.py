"""RT-datasets: quasi-identifiers and transactions of the same rows, anonymized together."""

from __future__ import annotations

from collections.abc import Callable

from pdanon.result import Anonymized
from pdanon.rt.rfirst import rfirst
from pdanon.rt.rum_bound import rum_bound
from pdanon.rt.tfirst import tfirst
from pdanon.rt.tum_bound import tum_bound

__all__ = ["RT"]

RT: dict[str, Callable[..., Anonymized]] = {
    function.__name__: function for function in (rum_bound, tum_bound, rfirst, tfirst)
}
