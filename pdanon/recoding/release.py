"""Release: the one door by which a frame leaves, audited from scratch before anyone sees it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import pandas as pd

from pdanon.errors import GuaranteeError
from pdanon.guarantees.verdict import Audit
from pdanon.itemsets.columns import added_label, with_column
from pdanon.recoding.decision import Decided
from pdanon.recoding.result import Anonymized
from pdanon.recoding.unmodified_columns import Passing, passing, recorded
from pdanon.recoding.warnings import items_left, warn_if_short, warn_if_useless

__all__ = ["demand", "release"]


def release(
    frame: pd.DataFrame, positions: Sequence[int], decided: Decided, judged: Sequence[Hashable] = ()
) -> Anonymized:
    """Write the rows of a release, and audit it from scratch before anyone sees it.

    Parameters
    ----------
    frame : pandas.DataFrame
        The original; it is not modified.
    positions : sequence of int
        Where its list column is, which is recoded, and its private column, if there is one, which is built
        anew.
    decided : Decided
        What becomes of its items.
    judged : sequence of hashable
        Columns that pass through, and that the caller has judged.

    Returns
    -------
    Anonymized

    Raises
    ------
    InfeasibleError
        If there is no more than an attempt, which is then its ``partial``.
    GuaranteeError
        If the release fails its audit. It is withheld.
    """
    result, audit = _written(frame, positions, decided, judged)
    if decided.problem is not None:
        decided.problem.partial = result
        raise decided.problem
    demand(audit)
    warn_if_useless(result.useless, result.guarantee)
    warn_if_short(result.parameters, result.guarantee)
    return result


def _written(
    frame: pd.DataFrame, positions: Sequence[int], decided: Decided, judged: Sequence[Hashable]
) -> tuple[Anonymized, Audit]:
    """The rows and all that is known of them, with the audit's verdict, whatever it is."""
    label, groups = frame.columns[positions[0]], None
    if decided.recoding.groups is not None:
        groups = pd.Series(decided.recoding.groups, index=frame.index, name="group")
    released, classes, told = _rows(frame, positions, decided, judged)
    audit = decided.guarantee.audit(released, label)
    result = Anonymized(
        released,
        decided.mapping,
        classes,
        groups,
        audit.guarantee,
        decided.loss,
        {**decided.parameters, **recorded(judged)},
        told,
        items_left(decided.mapping, decided.loss, len(frame), decided.guarantee),
        audit.holds,
        decided.trace,
    )
    return result, audit


def _rows(
    frame: pd.DataFrame, positions: Sequence[int], decided: Decided, judged: Sequence[Hashable]
) -> tuple[pd.DataFrame, pd.DataFrame | None, Passing]:
    """What is published, and its clusters or classes beside it, and what passes through."""
    position, *hidden = positions
    if decided.chunks is not None:  # of which no row of the original is one
        return decided.chunks.to_frame(frame.columns[position]), decided.chunks.classes(), Passing()
    released = with_column(frame, position, decided.recoding.apply(decided.columns.itemsets).to_pandas())
    for place, private in zip(hidden, decided.columns.columns[1:], strict=True):
        released = with_column(released, place, private.to_pandas())
    for label, values in decided.added.items():
        released.insert(released.shape[1], added_label(frame, label), values)
    return released, decided.classes, passing(frame, [position], decided.guarantee, judged, private=hidden)


def demand(audit: Audit) -> None:
    """Withhold a release that fails its audit."""
    if not audit.holds:
        raise GuaranteeError(
            "the release does not have its guarantee and is withheld",
            got=f"{audit.rows_at_risk} rows at risk under {audit.guarantee!r}",
            hint="this is a defect of pdanon; please report it with the parameters that were used",
        )
