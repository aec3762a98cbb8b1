"""The algorithms: one file each, one public function each, and this registry of them.

A function is listed here once; the accessor, the command line, the contract tests and the documentation
take it from here.
"""

from __future__ import annotations

from collections.abc import Callable

from pdanon.algorithms.apriori import apriori
from pdanon.algorithms.clump import clump
from pdanon.algorithms.coat import coat
from pdanon.algorithms.coherence import coherence
from pdanon.algorithms.direct import direct
from pdanon.algorithms.hghs import hghs
from pdanon.algorithms.lra import lra
from pdanon.algorithms.mhghs import mhghs
from pdanon.algorithms.optimal import optimal
from pdanon.algorithms.partition import partition
from pdanon.algorithms.pcta import pcta
from pdanon.algorithms.suppress_public import suppress_public
from pdanon.algorithms.suppress_to_k import suppress_to_k
from pdanon.algorithms.upcta import upcta
from pdanon.algorithms.vpa import vpa
from pdanon.result import Anonymized

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
