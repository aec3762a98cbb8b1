"""Risks of a release under the knowledge that its guarantee assumes, and with one item more."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import pandas as pd

from pdanon.evaluation.metrics.matches import Knowledge, Matches
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.verdict import Guarantee

_IN_CHUNKS = "Rows of this release are parts of records, so no row is a person."
_NO_ROWS = "The table has no rows."


def count_risks(
    release: pd.DataFrame,
    guarantee: Guarantee,
    column: Hashable | None,
    original: pd.DataFrame | None = None,
    population: pd.DataFrame | None = None,
) -> dict[str, Any]:
    """Count the rows at risk, before and after, as ``risk`` in the schema of the evidence.

    Numbers are exact, except that ``marketer`` is an upper bound if items are known. The population has the
    rows of all people from whom the table was drawn, in the form of the release.
    """
    reason = _IN_CHUNKS if isinstance(guarantee, DisassociatedKm) else "" if len(release) else _NO_ROWS
    if reason:
        return {"not_counted": reason}
    knowledge, k = Knowledge.of(guarantee, column), getattr(guarantee, "k", None)
    more = knowledge.one_more()
    found: dict[str, Any] = {
        "not_counted": "",
        "k": k,
        "quasi": [str(label) for label in knowledge.quasi],
        "columns": [str(label) for label in knowledge.columns],
        "items": knowledge.m,
        "kind": knowledge.kind,
        "beyond": None if more is None or k is None else {"items": more.m},
        "journalist": None,
    }
    for name, frame in {"after": release, "before": original}.items():
        found[name] = None
        if frame is not None:
            matches = Matches.of(frame, knowledge)
            found[name] = _risks_of(matches, k)
            if found["beyond"] is not None:
                found["beyond"][name] = matches.count_below(k, more.m)  # type: ignore[union-attr, arg-type]
    if population is not None:
        fewest = Matches.in_population(release, population, knowledge).fewest()
        found["journalist"] = {"rows": len(population), "fewest": fewest, "risk": 1 / fewest}
    return found


def _risks_of(matches: Matches, k: int | None) -> dict[str, Any]:
    """Return the risks of one table."""
    below = None if k is None else matches.count_below(k)
    fewest = matches.fewest(1 if k is None or below else k)
    return {
        "rows": matches.n_rows,
        "fewest": fewest,
        "prosecutor": 1 / fewest,
        "marketer": matches.average_risk(fewest),
        "singled_out": matches.count_below(2) if fewest < 2 else 0,
        "below_k": below,
    }
