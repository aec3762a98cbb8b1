"""The release pipeline of all algorithms and engines, and bounds that the caller sets."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from typing import Any, Protocol, TypeVar

import numpy as np
import pandas as pd

from pdanon.errors import GuaranteeError, InfeasibleError, ParameterError
from pdanon.guarantees import KmAnonymity, PrivacyConstraints, check_recountable
from pdanon.guarantees.parameters import DEFAULT_M, check_share
from pdanon.guarantees.verdict import Audit, Guarantee
from pdanon.itemsets.codes import Itemsets
from pdanon.itemsets.columns import drop_unused, find_column
from pdanon.itemsets.encoded_columns import Gathered, ListColumns
from pdanon.itemsets.frozen import frozen
from pdanon.itemsets.memory import return_unused
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import describe, find_name, is_number, random_generator
from pdanon.recoding.decision import Decision, WrittenRows
from pdanon.recoding.identification import SampleAttack
from pdanon.recoding.loss import LOSSES
from pdanon.recoding.result import Anonymized
from pdanon.recoding.risk import MOST_ROWS, Counted, risk_of_lists
from pdanon.recoding.unmodified_columns import (
    UnmodifiedColumns,
    count_unmodified,
    judged_columns,
    keep_parameter,
    refuse_risk,
    warn_if_identified,
)
from pdanon.recoding.warnings import columns_left, items_left, unanswered, warn_if_short, warn_if_useless

Rows = TypeVar("Rows")
Rows_contra = TypeVar("Rows_contra", contravariant=True)
Draft = TypeVar("Draft")
Result = TypeVar("Result")
Result_co = TypeVar("Result_co", covariant=True)

# The columns that the caller of a release of a frame has reviewed, as `pdanon.keep` sets them.
REVIEWED: ContextVar[tuple[Hashable, ...]] = ContextVar("reviewed", default=())
# Whether releases have their risk. It takes as long as a fast release, and one of several tried is returned.
WITH_RISK: ContextVar[bool] = ContextVar("with_risk", default=True)


@frozen
class Facts:
    """All facts about a release once its rows are written and audited."""

    decision: Decision[Any]  # with all recorded parameters
    guarantee: Guarantee  # that the audit proved
    unmodified: UnmodifiedColumns
    useless: str  # describes what is almost empty; empty if nothing is
    holds: bool
    risk: Counted  # beyond the guarantee

    def of_distant(self, rows: int) -> dict[str, Any]:
        """Return the fields of the result of a number of rows in files or partitions."""
        decision = self.decision
        return {
            "mapping": decision.mapping,
            "guarantee": self.guarantee,
            "loss": decision.loss,
            "rows": rows,
            "parameters": dict(decision.parameters),
            "tried": decision.tried,
            "sample": decision.sample,
            "levels": decision.levels,
            "risk": self.risk() if callable(self.risk) else self.risk,
            "rounds": decision.rounds,
            "unmodified": self.unmodified,
        }


class Writer(Protocol[Rows_contra, Draft, Result_co]):
    """Rows to be released: those of a frame, of files, or of partitions."""

    # A draft is the release of the rows while it is not visible yet.

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""

    def write(self, decision: Decision[Rows_contra]) -> AbstractContextManager[Draft]:
        """Write a draft. It becomes visible if the block ends without an error."""

    def n_rows(self, decision: Decision[Any]) -> int:
        """Return the number of rows of the original."""
        return int(decision.rows.n_rows)  # by default, the decision knows it

    def columns_left(self, decision: Decision[Rows_contra], draft: Draft) -> str:
        """Describe the recoded columns, other than list columns, that are almost empty."""
        return ""

    def audit(self, decision: Decision[Rows_contra], draft: Draft) -> Audit:
        """Recount the rows as they were written."""

    def check_unmodified(
        self, draft: Draft, guarantee: Guarantee, judged: Sequence[Hashable]
    ) -> UnmodifiedColumns:
        """Count rows that the unmodified columns identify with all written ones, and warn."""

    def result(self, draft: Draft, facts: Facts) -> Result_co:
        """Return the result for the caller."""


def release(
    writer: Writer[Rows, Draft, Result],
    decide: Callable[[], Decision[Rows]],
    keep: Any = None,
    max_loss: Mapping[str, float] | None = None,
    max_risk: Fraction | None = None,
) -> Result:
    """Decide, write, audit and warn, for all releases."""
    # ``keep`` are the columns that the caller has reviewed, by default those of the context. ``max_loss``
    # bounds the losses, by measure, and ``max_risk`` the share of rows that unmodified columns identify with
    # all that is published.
    #
    # A decision that is only an attempt is infeasible; the attempt of a frame is the ``partial`` of the
    # error. So is a release that exceeds a bound, or is almost empty although there are bounds. A release
    # that fails its audit is withheld.
    # Before the decision, which may take long.
    judged = writer.check_keep(REVIEWED.get() if keep is None else keep)
    decision = decide()
    n_rows = writer.n_rows(decision)
    risk = decision.risk if decision.problem is None and WITH_RISK.get() else None
    if callable(risk) and n_rows > MOST_ROWS:
        risk = risk()
    parameters = {**decision.parameters, **keep_parameter(judged)}
    decision = replace(decision, parameters=parameters, risk=None)  # which frees the rows that it holds
    return_unused()  # Arrow keeps what it freed: too much beside the labels of rows
    with writer.write(decision) as draft:
        items = items_left(decision.mapping, decision.loss, n_rows, decision.guarantee)
        useless = ". ".join(filter(None, (items, writer.columns_left(decision, draft))))
        if decision.problem is None:  # the error describes an attempt
            refuse_loss(decision.loss, useless, max_loss or {})
            few = unanswered(decision.loss, decision.guarantee, n_rows)
            warn_if_useless(useless or few, decision.guarantee)
        return_unused()
        audit = writer.audit(decision, draft)
        unmodified = writer.check_unmodified(draft, audit.guarantee, judged)
        facts = Facts(decision, audit.guarantee, unmodified, useless, audit.holds, risk)
        if decision.problem is not None:
            decision.problem.partial = writer.result(draft, facts)
            raise decision.problem
        withhold(audit, "rows")
        refuse_risk(unmodified, max_risk)
        warn_if_short(decision.parameters, audit.guarantee)
        return writer.result(draft, facts)


def withhold(audit: Audit, exposed: str) -> None:
    """Raise an error unless the guarantee holds; ``exposed`` is the noun for what would be at risk."""
    if not audit.holds:
        raise GuaranteeError(
            "the release does not have its guarantee and is withheld",
            got=f"{audit.rows_at_risk} {exposed} at risk under {audit.guarantee!r}",
            hint="this is a defect of pdanon; please report it with the parameters that were used",
        )


def recount(guarantee: Guarantee, published: Gathered, count: Callable[[], ListColumns]) -> Audit:
    """Recount released rows, given the distinct ones, or the supports of their pairs."""
    # These suffice to see that nothing is rare, but not how many rows hold what is: these are counted then.
    recountable = check_recountable(guarantee)
    if isinstance(published, ListColumns):
        return recountable.recount(published)
    audit = recountable.recount(published.sort().columns())
    return audit if audit.holds else recountable.recount(count())


# --- Frames


class FrameRows(Protocol):
    """The recoding of the rows of a frame."""

    def write(self, frame: pd.DataFrame, positions: Sequence[int]) -> WrittenRows:
        """Return the recoded frame, given the positions of its list columns. The frame is not modified."""


@frozen
class FrameWriter:
    """Rows of a frame, in memory. Columns are given by position."""

    frame: pd.DataFrame  # the original, which is not modified
    lists: Sequence[int]  # the list columns that are recoded
    private: Sequence[int] = ()  # the private column of a guarantee, if any; it keeps its items
    quasi: Sequence[int] = ()  # the quasi-identifiers that are recoded

    def check_keep(self, keep: Any) -> tuple[Hashable, ...]:
        """Check the labels of columns that the caller has reviewed."""
        return judged_columns(self.frame, [*self.lists, *self.private, *self.quasi], keep)

    def write(self, decision: Decision[FrameRows]) -> nullcontext[WrittenRows]:
        """Recode the frame."""
        written = decision.rows.write(self.frame, [*self.lists, *self.private])
        drop_unused(written.frame)
        return nullcontext(written)

    def n_rows(self, decision: Decision[Any]) -> int:
        """Return the number of rows of the frame."""
        return len(self.frame)

    def columns_left(self, decision: Decision[FrameRows], draft: WrittenRows) -> str:
        """Describe the quasi-identifiers that are almost empty."""
        return columns_left(self.frame, draft.frame, self.quasi)

    def audit(self, decision: Decision[FrameRows], draft: WrittenRows) -> Audit:
        """Recount the recoded frame."""
        label = self.frame.columns[self.lists[0]] if self.lists else None
        return decision.guarantee.audit(draft.frame, label)

    def check_unmodified(
        self, draft: WrittenRows, guarantee: Guarantee, judged: Sequence[Hashable]
    ) -> UnmodifiedColumns:
        """Count rows that the unmodified columns identify, and warn."""
        if not draft.has_rows:
            return UnmodifiedColumns()
        released = draft.frame.iloc[:, : self.frame.shape[1]]  # a release may add a column
        found = count_unmodified(
            released, self.lists, guarantee, judged, quasi=self.quasi, private=self.private
        )
        warn_if_identified(found, guarantee, released)
        return found

    def result(self, draft: WrittenRows, facts: Facts) -> Anonymized:
        """Return the frame and all facts about it."""
        decision, groups = facts.decision, None
        if draft.groups is not None:
            groups = pd.Series(draft.groups, index=self.frame.index, name="group")
        return Anonymized(
            draft.frame,
            decision.mapping,
            draft.classes,
            groups,
            facts.guarantee,
            decision.loss,
            dict(decision.parameters),
            facts.unmodified,
            facts.useless,
            facts.holds,
            decision.trace,
            risk_table=facts.risk,
            bound=decision.bound,
        )


# --- Upper bounds that the caller sets: on the loss of a release, and on the share of persons that it names


_HINT = "pass a dict of measures and their largest values, such as max_loss={'pairs': 0.5}"


def check_max_loss(max_loss: Any, others: Sequence[str] = ()) -> dict[str, float]:
    """Check upper bounds on losses or other measures, and return them by the names of the measures."""
    if max_loss is None:
        return {}
    if not isinstance(max_loss, Mapping) or not max_loss:
        problem = "max_loss must be a mapping with at least one measure"
        raise ParameterError(problem, where="max_loss", got=describe(max_loss), hint=_HINT)
    found = {}
    for name, value in max_loss.items():
        measure = find_name(name, [*LOSSES, *others], "measure of loss", where="max_loss")
        if not is_number(value) or not isfinite(value):
            problem = f"the bound of {measure} must be a finite number"
            raise ParameterError(problem, where="max_loss", got=describe(value), hint=_HINT)
        found[measure] = float(value)
    return found


def excess(loss: pd.Series[float], most: Mapping[str, float]) -> list[str]:
    """Return the measures whose bound a release exceeds; it must have these measures."""
    for name in most:
        if name not in loss:
            hint = f"this release has {', '.join(map(str, loss.keys()))}"
            raise ParameterError("the release has no such measure", where="max_loss", got=name, hint=hint)
    return [name for name, bound in most.items() if not float(loss[name]) <= bound]


def refuse_loss(
    loss: pd.Series[float],
    useless: str,
    most: Mapping[str, float],
    least: Mapping[str, float] | None = None,
) -> None:
    """Refuse a release that exceeds a bound, or is almost empty, if there are bounds."""
    # ``useless`` describes what is almost empty. ``least`` has the least values that were reached, if several
    # releases were tried.
    exceeded = excess(loss, most)
    hint = "pass a smaller k or m"
    if least is None:
        hint = "call anonymize without an algorithm, which tries several"
    if exceeded:
        name = exceeded[0]
        got = f"{name}={float(loss[name]):.4g}"
        if least is not None:
            got += f"; the least that was reached is {least[name]:.4g}"
        problem = f"the release loses more than max_loss allows: {name} is above {most[name]:g}"
        raise InfeasibleError(problem, where="max_loss", got=got, hint=hint)
    if most and useless:
        problem = "the release keeps almost no information, which max_loss does not allow"
        raise InfeasibleError(problem, where="max_loss", got=useless, hint=hint)


# --- Releases that were tried


def with_risk(result: Anonymized, original: Itemsets, position: int) -> Anonymized:
    """Add the risk to a release without it, given the original of its list column."""
    targets = np.zeros(original.n_items, np.int64)  # they matter only for items that attackers do not know
    published = SupportIndex.of(Itemsets.from_series(result.frame.iloc[:, position]))
    return replace(result, risk_table=risk_of_lists(result.guarantee, original, targets, published))


# --- Persons that an attacker with a sample names

_PERSONS, _SPLITS = 2000, 4


@frozen
class NamedBound:
    """An upper bound on the persons that an attacker with a sample names."""

    most: float
    k: int  # as promised
    label: Hashable  # of the list column
    attacks: list[SampleAttack]  # one for each split of the rows

    @classmethod
    def of(cls, frame: pd.DataFrame, column: Hashable | None, guarantee: Guarantee, most: Any) -> NamedBound:
        """Check the bound, and draw the persons."""
        most = check_share(most, "max_loss['named']")
        if not isinstance(guarantee, KmAnonymity | PrivacyConstraints):
            hint = "leave it out, and measure the release: frame.txanon.attack(result, sample='split', k=5)"
            got = type(guarantee).__name__
            raise ParameterError(
                "a bound on named needs k and m, or constraints", where="max_loss", got=got, hint=hint
            )
        position = find_column(frame, column)
        m = guarantee.m if isinstance(guarantee, KmAnonymity) else int(DEFAULT_M)
        items = Itemsets.from_series(frame.iloc[:, position])
        attacks = [
            SampleAttack(items, None, guarantee.k, m, _PERSONS // _SPLITS, random_generator(seed))
            for seed in range(_SPLITS)
        ]
        return cls(float(most), guarantee.k, frame.columns[position], attacks)

    def share(self, result: Anonymized) -> float:
        """Return the share of persons that are named in a release."""
        published = Itemsets.from_series(result.frame[self.label])
        groups = None if result.groups is None else np.asarray(result.groups, np.int64)
        guesses = [each.guess(published, result.mapping, groups).chances for each in self.attacks]
        chances = np.concatenate(guesses)
        return float(chances.mean()) if len(chances) else 0.0

    def refuse(self, result: Anonymized, reached: float, limit: float | None) -> None:
        """Raise if the best release is above the bound, or almost empty."""
        # ``reached`` is the lowest share, ``limit`` the seconds that were not enough to try all releases.
        named = self.share(result)
        if named <= self.most and not result.useless:
            return
        got = f"the least that was reached is {reached:.4g}"
        if result.useless:
            got = result.useless
        elif limit is not None:
            got += f", within {limit:g} seconds"
        problem = "the release keeps almost no information, which max_loss does not allow"
        if named > self.most:
            problem = f"every release names more persons than max_loss allows: {self.most:g}"
        raise InfeasibleError(problem, where="max_loss", got=got, hint="pass a larger bound on named")

    def promise(self, result: Anonymized) -> Anonymized:
        """Add the share, and audit a release with the promised k, if it was decided with a larger one."""
        decided, result = result.guarantee.k, replace(result, named=self.share(result))  # type: ignore[attr-defined]
        if decided == self.k:
            return result
        audit = replace(result.guarantee, k=self.k).audit(result.frame, self.label)  # type: ignore[type-var]
        assert audit.holds, "a support is in (0, k) only if it is in (0, larger k)"
        lists = [find_column(result.frame, self.label)]
        unmodified = count_unmodified(result.frame, lists, audit.guarantee, result.unmodified.judged)
        return replace(
            result,
            guarantee=audit.guarantee,
            parameters={**result.parameters, "k": self.k, "decided_k": decided},
            unmodified=unmodified,
            bound=None,  # one for the larger k is none for the promised one: more releases are possible
        )
