"""The algorithms: one file each, one public function each, and this registry of them.

A function is listed here once; the accessor, the command line, the contract tests and the documentation
take it from here.
"""

from __future__ import annotations

from collections.abc import Callable

from pdanon.algorithms.items.apriori import apriori
from pdanon.algorithms.items.clump import clump
from pdanon.algorithms.items.coat import coat
from pdanon.algorithms.items.coherence import coherence
from pdanon.algorithms.items.direct import direct
from pdanon.algorithms.items.hghs import hghs
from pdanon.algorithms.items.lra import lra
from pdanon.algorithms.items.mhghs import mhghs
from pdanon.algorithms.items.optimal import optimal
from pdanon.algorithms.items.partition import partition
from pdanon.algorithms.items.pcta import pcta
from pdanon.algorithms.items.suppress_public import suppress_public
from pdanon.algorithms.items.suppress_to_k import suppress_to_k
from pdanon.algorithms.items.upcta import upcta
from pdanon.algorithms.items.vpa import vpa
from pdanon.recoding.result import Anonymized

__all__ = ["ALGORITHMS"]

ALGORITHMS: dict[str, Callable[..., Anonymized]] = {
    function.__name__: function
    for function in (
        apriori,
        direct,
        lra,
        vpa,
        optimal,
        hghs,
        mhghs,
        pcta,
        coat,
        upcta,
        coherence,
        suppress_public,
        suppress_to_k,
        partition,
        clump,
    )
}
