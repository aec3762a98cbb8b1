"""Guarantees: privacy models with their parameters, and audits that verify them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.independent import SECONDS, count_again
from pdanon.guarantees.k_anonymity import KAnonymity, KMap, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm, list_labels
from pdanon.guarantees.km import AllItemsets, KmAnonymity, LmDiversity, PrivacyConstraints
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit, check_seconds
from pdanon.guarantees.ps import PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.verdict import Audit, Guarantee, Recountable
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import find_items, item_array, without_items
from pdanon.itemsets.columns import find_column, with_column
from pdanon.itemsets.mapping import mapping_values
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_flag, is_number

__all__ = [
    "Coherence",
    "DisassociatedKm",
    "KAnonymity",
    "KKm",
    "KLm",
    "KMap",
    "KmAnonymity",
    "LmDiversity",
    "PSRules",
    "PrivacyConstraints",
    "PublicK",
    "RhoUncertainty",
    "SensitiveGroups",
    "TransactionalK",
    "audit",
    "check_guarantee",
    "check_recountable",
    "read_guarantee",
    "read_seconds",
]


@called_by_name
def audit(
    frame: pd.DataFrame,
    guarantee: Guarantee | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    mapping: pd.DataFrame | None = None,
    suppressed: Any = (),
    independent: bool = False,
    time_limit: float | None = None,
) -> Audit:
    """Verify from scratch whether a guarantee holds for a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        A released frame, of pdanon or any other tool, or an original frame.
    guarantee : Guarantee
        A privacy model, such as ``pdanon.KKm(k=5, m=2, quasi=["age"])``.
    column, k, m : hashable, int, int, optional
        The list column, by default the only one; and short for the guarantee ``KmAnonymity(k, m)``.
    mapping : pandas.DataFrame, optional
        The mapping of the frame, if its labels do not name their items.
    suppressed : item or list of items
        What the releases of other tools write for suppressed items, such as ``"*"``: it counts as absent.
    independent : bool
        Count by a second program, in plain Python and from the definition of the guarantee. It shares no
        encoding, count or search with the algorithms and the audit.
    time_limit : float, optional
        With ``independent``, the seconds of its search; by default 60.

    Returns
    -------
    Audit
        ``holds``, ``rows_at_risk`` and the table of ``threats``.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the frame has not the columns of the guarantee, or a parameter is invalid. With ``independent``,
        also if the guarantee is `KMap` or not of pdanon, or the time ends before all single items are judged.

    Notes
    -----
    An attacker sees repeated labels, so a repeated label counts as another label. Only `PrivacyConstraints`
    and the listed rules of `PSRules` ignore repetitions.

    ARX and Amnesia write ``*`` for what they suppress. Nobody has this item, so an attacker does not know it.
    pdanon cannot tell it from an item of that name: pass ``suppressed=`` only if nobody has it. A release of
    sdcMicro has missing items: ``as_itemsets(lists, missing="drop")`` leaves them out.

    With ``independent``, itemsets are judged size by size. If the time ends and no row is at risk, the
    guarantee of the audit has the size up to which all were judged as its m (of `Coherence`, p). If rows are
    at risk, their number is then a lower bound, and a `ReleaseWarning` says so.

    Of `DisassociatedKm`, the sufficient conditions are counted. ``threats`` are those of the audit. Cost: the
    number of itemsets of up to m labels in the rows.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]})
    >>> df.txanon.audit(pdanon.KmAnonymity(k=2, m=2))
    Audit(holds=False, rows_at_risk=1, guarantee=KmAnonymity(k=2, m=2))
    >>> df.txanon.audit(pdanon.KmAnonymity(k=2, m=2), independent=True)
    Audit(holds=False, rows_at_risk=1, guarantee=KmAnonymity(k=2, m=2))
    """
    guarantee, column = read_guarantee(guarantee, column, k, m, mapping=mapping)
    items = item_array([suppressed] if pd.api.types.is_scalar(suppressed) else suppressed, "suppressed")
    if mapping is not None and (find_items(items, mapping_values(mapping, "generalized")) >= 0).any():
        hint = "leave it out of suppressed: rows with it count as rows of an item"
        raise ParameterError("the mapping publishes a sign of suppression", where="suppressed", hint=hint)
    for label in list_labels(guarantee, column) if len(items) else ():
        place = find_column(frame, label)
        frame = with_column(frame, place, without_items(frame.iloc[:, place], items))
    seconds = read_seconds(independent, time_limit)
    with show_activity("audit"):
        if seconds is not None:
            return count_again(frame, guarantee, column, seconds)
        return guarantee.audit(frame, column)


def read_seconds(independent: bool, time_limit: float | None) -> float | None:
    """Return the time limit of the independent audit, or None for the other one, which has none."""
    if check_flag(independent, "independent"):
        return SECONDS if time_limit is None else check_seconds(time_limit)
    if time_limit is not None:
        hint = "pass independent=True, or omit time_limit"
        raise ParameterError("only the independent audit has a time limit", where="time_limit", hint=hint)
    return None


def read_guarantee(
    guarantee: Any,
    column: Hashable | None,
    k: int | None,
    m: ItemLimit,
    quasi: Sequence[Hashable] | None = None,
    mapping: pd.DataFrame | None = None,
    example: str = "pdanon.KKm(k=5, m=2, quasi=['age'])",
) -> tuple[Guarantee, Hashable | None]:
    """Return the guarantee, or that of k, m and quasi-identifiers, and the list column."""
    # The guarantee has the mapping, if there is one. With k or m, a name in the place of the guarantee is the
    # list column, as in the algorithms. All itemsets of up to m items are k^m-anonymity. ``example`` is for
    # hints.
    numbers = k is not None or not isinstance(m, DefaultNumber) or quasi is not None
    if numbers and isinstance(guarantee, str) and column is None:
        guarantee, column = None, guarantee
    if numbers == (guarantee is not None):
        problem = "the guarantee is given twice" if numbers else "no guarantee is given"
        hint = f"pass k and m, such as k=5, m=2, or a guarantee, such as {example}"
        raise ParameterError(problem, where="guarantee, k and m", hint=hint)
    if quasi is not None:
        guarantee = KKm(k=k, m=m, quasi=quasi)  # type: ignore[arg-type]
    elif numbers:
        guarantee = KmAnonymity(k, m)  # type: ignore[arg-type]  # which explains a missing k
    check_guarantee(guarantee)
    if isinstance(guarantee, PrivacyConstraints) and isinstance(guarantee.constraints, AllItemsets):
        guarantee = KmAnonymity(guarantee.k, guarantee.constraints.m, guarantee.mapping)
    return (guarantee if mapping is None else guarantee.with_mapping(mapping)), column


def check_recountable(guarantee: Any, others: Sequence[str] = ()) -> Recountable:
    """Check that a guarantee can be audited on list columns alone, outside of one frame."""
    # ``others``: names of other guarantees that the caller takes.
    if isinstance(guarantee, type) or not isinstance(guarantee, Recountable):
        known = [name for name in __all__ if hasattr(globals()[name], "recount") or name in others]
        problem = "not a guarantee of items, which is needed for rows outside of one frame"
        got = getattr(guarantee, "__name__", type(guarantee).__name__)
        hint = f"pass one of {', '.join(known)}, with its parameters"
        if isinstance(guarantee, Guarantee) and not isinstance(guarantee, type):
            hint = f"{hint}; to audit {got}, read the rows into memory: pdanon.audit(frame, guarantee)"
        raise ParameterError(problem, where="guarantee", got=got, hint=hint)
    return guarantee


def check_guarantee(guarantee: Any) -> None:
    """Check that a guarantee is an instance of a privacy model."""
    is_class = isinstance(guarantee, type)
    if is_class or not isinstance(guarantee, Guarantee):
        got = f"the class {guarantee.__name__}" if is_class else type(guarantee).__name__
        hint = "pass a privacy model with its parameters, such as pdanon.KmAnonymity(k=5, m=2)"
        if is_number(guarantee):
            hint = "pass k and m by name: k=5, m=2"
        raise ParameterError("not a guarantee", where="guarantee", got=got, hint=hint)
