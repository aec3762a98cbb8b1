"""Guarantees: privacy models with their parameters, and audits that verify them."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import pandas as pd

from pdanon.errors import ParameterError
from pdanon.guarantees.coherence import Coherence
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.k_anonymity import KAnonymity, PublicK, TransactionalK
from pdanon.guarantees.kkm import KKm, KLm
from pdanon.guarantees.km import KmAnonymity, PrivacyConstraints
from pdanon.guarantees.lm import LmDiversity
from pdanon.guarantees.parameters import DEFAULT_M, DefaultNumber, ItemLimit
from pdanon.guarantees.ps import PSRules
from pdanon.guarantees.rho import RhoUncertainty
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.series import KNOWLEDGE, PRESENT, refuse_unused
from pdanon.guarantees.series_audit import audit_series
from pdanon.guarantees.unit_audit import audit_units
from pdanon.guarantees.verdict import Audit, Guarantee, Recountable
from pdanon.io.units import refuse_with_unit, refuse_without_unit
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.timing import show_activity
from pdanon.itemsets.validation import check_flag, check_known, is_number

__all__ = [
    "Coherence",
    "DisassociatedKm",
    "KAnonymity",
    "KKm",
    "KLm",
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
]


@called_by_name
def audit(
    frame: pd.DataFrame,
    guarantee: Guarantee | None = None,
    column: Hashable | None = None,
    *,
    k: int | None = None,
    m: ItemLimit = DEFAULT_M,
    unit: Hashable | None = None,
    item: Hashable | None = None,
    counts: bool = False,
    previous: Sequence[pd.DataFrame | tuple[pd.DataFrame, pd.DataFrame] | Any] | None = None,
    key: Hashable | Sequence[Any] | None = None,
    mapping: pd.DataFrame | None = None,
    spans: str = "present",
) -> Audit:
    """Verify from scratch whether a guarantee holds for a frame.

    Parameters
    ----------
    frame : pandas.DataFrame
        A released frame, of pdanon or any other tool, or an original frame.
    guarantee : Guarantee
        A privacy model, such as ``pdanon.KKm(k=5, m=2, quasi=["age"])``.
    column : hashable, optional
        The list column. By default the only one.
    k, m
        Short for the guarantee ``KmAnonymity(k, m)``.
    unit : hashable, optional
        The column that names the person of a row, if a person has several rows. The guarantee is then
        counted over persons, whose rows are known to belong together.
    item : hashable, optional
        The column of items, if each row is a line with one item instead of a list. It requires ``unit``.
    counts : bool
        Whether the attacker also knows how often a person has a label. It requires ``unit``.
    previous : sequence, optional
        Earlier releases of the same persons, the oldest first: frames, results, or pairs of a frame and its
        mapping. The guarantee must also hold for an attacker who keeps all of them. See the notes.
    key : hashable or list, optional
        The column that identifies a person in all releases, or a list with the persons of the rows of each
        release, the newest last. By default the index, unless it only counts rows.
    mapping : pandas.DataFrame, optional
        The mapping of the frame, if its labels do not name their items.
    spans : {"present", "joined", "any"}
        What the attacker knows of the releases of a person: ``"present"``, that the person is in some
        consecutive releases. The others are counted beside it, and never promised: ``"joined"``, also in
        which release the person joined, and ``"any"``, exactly in which releases the person is.

    Returns
    -------
    Audit
        ``holds``, ``rows_at_risk`` and the table of ``threats``. With ``previous``, also the table ``spans``,
        and ``rows_at_risk`` counts the persons that are at risk in a span.

    Raises
    ------
    ColumnError, ItemsetDtypeError, ParameterError
        If the frame has not the columns of the guarantee, or a parameter is invalid. With ``previous``: if
        a label stands for no item of its mapping, an item has several labels in one release, or the guarantee
        has no form for several releases. If a key repeats or is missing, or there is none.

    Notes
    -----
    An attacker sees repeated labels, so a repeated label counts as another label. Only `PrivacyConstraints`
    and the listed rules of `PSRules` ignore repetitions.

    With ``unit``, ``rows_at_risk`` counts persons. Without ``counts``, a label that a person has in several
    rows counts once. The values of all other columns of the frame are known as well: an item of
    `KmAnonymity` is then a row of the person, its label together with its values. Leave out columns that
    are not published. Other guarantees allow no other columns.

    The order of rows links nobody, as a release may have other persons or be shuffled. So ``previous`` needs
    a ``key``, or an index with a name or with other values than row numbers.

    With ``previous``, the attacker knows up to m items that a person has in all releases of a span, from a
    first to a last one. Candidates are the persons in all these releases whose rows hold the label of each
    known item in each of them. Their number must be 0 or at least k. This is defined for `KmAnonymity`,
    `PrivacyConstraints`, `LmDiversity`, `KAnonymity` and `KKm`, and needs one label per item and release.
    Missing rows count as absent persons. Without a mapping, ``(a,b)`` names the items a and b, and each other
    label is an item. An item that such a release does not name may be suppressed there, so its part of the
    label is unknown. Labels that are nodes of a hierarchy, or renamed, need the mapping.

    Time: for n releases n (n + 1) / 2 spans, each as an audit of one release with longer rows. Memory: the
    rows of all releases, and of one span.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "tea"], ["rice", "salt"]]})
    >>> df.txanon.audit(pdanon.KmAnonymity(k=2, m=2))
    Audit(holds=False, rows_at_risk=1, guarantee=KmAnonymity(k=2, m=2))

    Two releases that are safe alone, and not together:

    >>> persons = ["ann", "bob", "cem", "dan", "eve"]
    >>> may = pd.DataFrame({"items": [["(rice,tea)"]] * 3 + [["salt"]] * 2})
    >>> june = pd.DataFrame({"items": [["rice"]] * 2 + [["(salt,tea)"]] * 3})
    >>> june.txanon.audit(pdanon.KmAnonymity(k=2, m=2)).holds
    True
    >>> series = {"previous": [may], "key": [persons, persons]}
    >>> audit = june.txanon.audit(pdanon.KmAnonymity(k=2, m=2), **series)
    >>> audit
    Audit(holds=False, rows_at_risk=1, guarantee=KmAnonymity(k=2, m=2), spans=3, linked=key)
    >>> audit.threats
       first  last  itemset  support   why
    0      0     1  ['tea']        1  rare
    """
    guarantee, column = read_guarantee(guarantee, column, k, m)
    check_known(spans, KNOWLEDGE, "knowledge of spans", where="spans")
    if unit is None:
        refuse_without_unit(item, counts)
    else:
        refuse_with_unit("previous", previous is not None)
    if mapping is not None:
        guarantee = guarantee.with_mapping(mapping)
    if previous is None:
        refuse_unused(key=key, spans=None if spans == PRESENT else spans)
    with show_activity("audit"):
        if previous is not None:
            return audit_series(guarantee, frame, previous, column, key=key, mapping=mapping, spans=spans)
        if unit is not None:
            counted = check_flag(counts, "counts")
            return audit_units(guarantee, frame, column, unit=unit, item=item, counts=counted)
        return guarantee.audit(frame, column)


def read_guarantee(
    guarantee: Any, column: Hashable | None, k: int | None, m: ItemLimit
) -> tuple[Guarantee, Hashable | None]:
    """Return the guarantee, or that of k and m, and the list column.

    With k or m, a name in the place of the guarantee is the list column, as in the algorithms.
    """
    numbers = k is not None or not isinstance(m, DefaultNumber)
    if numbers and isinstance(guarantee, str) and column is None:
        guarantee, column = None, guarantee
    if numbers == (guarantee is not None):
        problem = "the guarantee is given twice" if numbers else "no guarantee is given"
        hint = "pass k and m, such as k=5, m=2, or a guarantee, such as pdanon.KKm(k=5, m=2, quasi=['age'])"
        raise ParameterError(problem, where="guarantee, k and m", hint=hint)
    if numbers:
        return KmAnonymity(k, m), column  # type: ignore[arg-type]  # which explains a missing k
    check_guarantee(guarantee)
    return guarantee, column


def check_recountable(guarantee: Any, others: Sequence[str] = ()) -> Recountable:
    """Check that a guarantee can be audited on list columns alone, outside of one frame.

    Parameters
    ----------
    guarantee : object
        The guarantee.
    others : sequence of str
        Names of other guarantees that the caller takes.
    """
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
    if isinstance(guarantee, type) or not isinstance(guarantee, Guarantee):
        is_class = isinstance(guarantee, type)
        got = f"the class {guarantee.__name__}" if is_class else type(guarantee).__name__
        hint = "pass a privacy model with its parameters, such as pdanon.KmAnonymity(k=5, m=2)"
        if is_number(guarantee):
            hint = "pass k and m by name: k=5, m=2"
        raise ParameterError("not a guarantee", where="guarantee", got=got, hint=hint)
