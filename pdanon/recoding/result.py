"""Results: a release with everything known about it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import GuaranteeError, ParameterError, ReleaseWarning, did_you_mean, warn
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.promises import promise
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.verdict import Guarantee
from pdanon.io.files import new_directory
from pdanon.io.parquet import to_parquet
from pdanon.itemsets.arguments import CallError, MethodError, called_by_name
from pdanon.itemsets.cards import HEAD, Lines, Share, Verdict, card, listing
from pdanon.itemsets.codes import Itemsets, find_items
from pdanon.itemsets.columns import is_list_column, label_position, may_hold_lists, same_label
from pdanon.itemsets.libraries import holds_tables
from pdanon.itemsets.mapping import global_mapping, is_kept
from pdanon.itemsets.validation import FilePath, list_first
from pdanon.recoding.bounds import Bound, bound_lines
from pdanon.recoding.counts import (
    choice_lines,
    class_sizes,
    describe_dropped,
    level_lines,
    loss_lines,
    percent,
)
from pdanon.recoding.risk import Counted, risk_lines
from pdanon.recoding.unmodified_columns import UnmodifiedColumns
from pdanon.recoding.views import Explanation, ResultPlots, ThresholdCheck
from pdanon.recoding.warnings import shortfall, unanswered

# Functions that take a result or its frame, by name.
_CALLS = {
    "audit": "pdanon.audit(result.frame, result.guarantee)",
    "attack": "pdanon.attack(original, result)",
    "refine": "pdanon.refine(original, result)",
    "to_html": "result.report('release.html') writes a page about the release",
}


# `pdanon.evaluation`, which imports this module, sets the functions behind plot, report and others.
class Views:
    """The functions behind the views of results."""

    plot: Callable[[Anonymized], ResultPlots]
    report: Callable[..., None]
    evidence: Callable[..., None]
    explain: Callable[[Anonymized, Any, pd.DataFrame], Explanation]
    meets: Callable[[Anonymized, Any], ThresholdCheck]
    relabel: Callable[[Anonymized, Any], Anonymized]


class Labelled:
    """A release with a mapping, whose labels can be explained without the mapping."""

    __slots__ = ()
    mapping: pd.DataFrame

    @property
    def legend(self) -> pd.DataFrame:
        """The items of the labels: ``label, item``, and ``column`` first if there are several list columns.

        One line for each item with another label than itself, by label, then by item. Supports, groups and
        items that are suppressed everywhere are left out. The guarantee holds whether the legend is published
        or not. If labels are nodes of a hierarchy, the legend lists the items that occur.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> result = df.txanon.pcta(k=2, m=2).relabel("short")
        >>> result.frame["items"].tolist()
        [['G1', 'tea'], ['G1'], ['G1', 'tea'], ['tea']]
        >>> result.legend
          label  item
        0    G1  rice
        1    G1  salt
        """
        became = self.mapping[self.mapping["generalized"].notna() & ~is_kept(self.mapping)]
        names = [*(["column"] if "column" in became else []), "label", "item"]
        lines = became.rename(columns={"generalized": "label"})[names].drop_duplicates()
        lines = lines.sort_values(["label", "item"], kind="stable")
        if "column" in names:
            lines = lines.iloc[np.argsort(pd.factorize(lines["column"])[0], kind="stable")]
        return lines.reset_index(drop=True)


@dataclass(frozen=True, eq=False, slots=True, repr=False, kw_only=True)
class Distant(Labelled):
    """A release whose rows are in files or partitions. It has no views, which need them in memory."""

    mapping: pd.DataFrame
    guarantee: Guarantee
    loss: pd.Series[float]
    rows: int
    parameters: dict[str, Any]
    tried: pd.DataFrame | None = None
    sample: int | None = None
    levels: pd.DataFrame | None = None
    risk: pd.DataFrame | None = None
    trace: pd.DataFrame | None = None
    rounds: pd.DataFrame | None = None
    unmodified: UnmodifiedColumns = field(default_factory=UnmodifiedColumns)

    def __getattr__(self, name: str) -> Any:
        """Raise an error that says how to get a view of `Anonymized`."""
        if name.startswith("_") or not hasattr(Anonymized, name):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        hint = f"release the rows, or a sample, in memory: df.txanon.pcta(...).{name}; audit, risk and attack"
        hint = f"{hint} measure files and partitions"
        where, got = type(self).__name__, repr(name)
        raise MethodError("the view of a release needs all rows at once", where=where, got=got, hint=hint)


@holds_tables
@dataclass(frozen=True, eq=False, slots=True)
class Anonymized(Labelled):
    """A release and all facts about it; `published` holds the tables to publish.

    ``frame, mapping = result`` unpacks the first two fields.

    Parameters
    ----------
    frame : pandas.DataFrame
        Published. The released frame. Index, column order, attrs and the dtypes of other columns are those of
        the input. Releases in chunks have other rows, which are parts of rows. Releases of `cahd` have one
        more column, ``group``.
    mapping : pandas.DataFrame
        Confidential. The label of each item: ``group, item, generalized, support``. ``generalized`` has the
        type of the released column: text for labels, the type of the items if items are only suppressed.
        Labels of more than 256 MiB in total are a ``pandas.Categorical``.
    classes : pandas.DataFrame or None
        Results of `cahd`: published with the frame. The count of each sensitive item in each group: ``group,
        size, item, count``. Releases in chunks: published; one row per cluster, ``cluster, size, joint``,
        which the frame repeats. Relational results: confidential; one row per group, ``group, size``, and the
        generalized quasi-identifiers. Groups that are recoded separately may have equal ones.
    groups : pandas.Series or None
        Confidential. The group of each row, for local recodings, releases in chunks and relational results.
    guarantee : Guarantee
        The privacy guarantee, audited on ``frame``. May be published.
    loss : pandas.Series
        Information loss by measure. It counts facts about the original: publish it if they may be known.
    parameters : dict
        The parameters of the call. Confidential if they name items, or the seed of a secret order of items.
    unmodified : UnmodifiedColumns
        The unmodified columns, and the number of rows that they identify. Confidential.
    useless : str
        Description of what is almost empty, as in the `UselessWarning`; empty if nothing is.
    holds : bool
        Whether the guarantee holds by its audit. False only in the `partial` of an `InfeasibleError`, which
        must not be released.
    trace : pandas.DataFrame or None
        Refined releases: the loss over time, ``seconds, loss``. Releases of `coherence`: the suppressed
        items in the order of their choice, ``item, MM, IL, score``. Releases of `rum_bound` and `tum_bound`:
        the merges, ``clusters, Rum, Tum``.
    tried : pandas.DataFrame or None
        Releases of `pdanon.anonymize`: the algorithms tried, ``algorithm, loss, seconds, reason``, and for
        items the losses that need no formula; with quasi-identifiers also ``values``. The reason explains a
        missing loss, an almost empty release, an unfinished refinement, or a loss near the lowest.
    cut_short : str
        The part of the search that a time limit ended; empty if the search was completed.
    risk_table : callable, pandas.DataFrame or None
        The table of `risk`, or a function that counts it. It is called at the first access, and when the
        result is pickled or copied.
    bound : Bound or None
        Refined releases of items, with one label for an item in all rows: a lower bound on the occurrences
        that any release by sets changes. Of `local_suppression`: the same by deletions, and by sets beside
        it. `pdanon.bound` proves it for other releases, or a higher one.
    named : float or None
        Releases of `pdanon.anonymize` with a bound on it: the share of the persons at risk whom an attacker
        with a sample names, an estimate.
    levels : pandas.DataFrame or None
        Releases of `pdanon.anonymize` with a hierarchy: the table of `pdanon.metrics.meaning.levels`.
    """

    frame: pd.DataFrame
    mapping: pd.DataFrame
    classes: pd.DataFrame | None
    groups: pd.Series[int] | None
    guarantee: Guarantee
    loss: pd.Series[float]
    parameters: dict[str, Any]
    unmodified: UnmodifiedColumns = field(default_factory=UnmodifiedColumns)
    useless: str = ""
    holds: bool = True
    trace: pd.DataFrame | None = None
    tried: pd.DataFrame | None = None
    cut_short: str = ""
    risk_table: Counted = None
    bound: Bound | None = None
    named: float | None = None
    levels: pd.DataFrame | None = None

    def __iter__(self) -> Iterator[pd.DataFrame]:
        if self._publishes_classes:
            hint = "publish the tables of result.published, or write them by result.save(directory)"
            warn(ReleaseWarning("frame, mapping = result leaves out classes, which is published", hint=hint))
        return iter((self.frame, self.mapping))

    def __getitem__(self, name: Any) -> Any:
        hint = "result.frame[...] selects a column of the release"
        raise CallError("a result is not a frame", where="result[...]", got=type(name).__name__, hint=hint)

    def __getattr__(self, name: str) -> Any:
        """Say where a method of frames is, or which name may be meant."""
        known = [each for each in dir(type(self)) if not each.startswith("_")]
        hint = _CALLS.get(name) or did_you_mean(name, known) or f"known: {', '.join(known)}"
        if name not in _CALLS and hasattr(pd.DataFrame, name) and not name.startswith("_"):
            hint = f"result.frame.{name}; result.save(directory) writes all published tables"
        raise MethodError("a result has no such attribute", where="result", got=repr(name), hint=hint)

    @property
    def published(self) -> dict[str, pd.DataFrame]:
        """The tables to publish, by name: ``frame``, and ``classes`` if it is part of the release.

        Everything else in a result is confidential. Only the legend may be published as well.

        Raises
        ------
        GuaranteeError
            If the guarantee does not hold: nothing may be published.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["tea", "flu"], ["tea"], ["rice"], ["rice", "tea"]]})
        >>> [*df.txanon.pcta(k=2, m=1).published]
        ['frame']
        >>> [*df.txanon.cahd(p=2, sensitive=["flu"]).published]
        ['frame', 'classes']
        """
        if not self.holds:
            hint = "look at this attempt of an algorithm, but do not release it"
            raise GuaranteeError("the guarantee does not hold, so nothing is published", hint=hint)
        tables = {"frame": self.frame}
        if self.classes is not None and self._publishes_classes:
            tables["classes"] = self.classes
        return tables

    @property
    def _publishes_classes(self) -> bool:
        return isinstance(self.guarantee, (SensitiveGroups, DisassociatedKm))

    def save(self, directory: FilePath) -> None:
        """Write the published tables to a new directory, whole or not at all.

        Parameters
        ----------
        directory : path
            The directory or its URI, which must not exist. Each table of `published` becomes a Parquet file
            in it: ``frame.parquet``, ``classes.parquet``.

        Raises
        ------
        ParameterError
            If the directory exists.
        FormatError
            If it cannot be written.
        GuaranteeError
            If the guarantee does not hold.

        Notes
        -----
        The directory contains only what is published, so that it can be handed over. Write the mapping to a
        place with the same access rights as the original: ``pdanon.to_parquet(result.mapping, path)``.

        Examples
        --------
        >>> import pathlib, tempfile, pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["tea", "flu"], ["tea"], ["rice"], ["rice", "tea"]]})
        >>> with tempfile.TemporaryDirectory() as parent:
        ...     directory = pathlib.Path(parent) / "release"
        ...     df.txanon.cahd(p=2, sensitive=["flu"]).save(directory)
        ...     sorted(path.name for path in directory.iterdir())
        ['classes.parquet', 'frame.parquet']
        """
        tables = self.published
        with new_directory(directory) as draft:
            for name, table in tables.items():
                to_parquet(table, draft / f"{name}.parquet")

    @property
    def risk(self) -> pd.DataFrame | None:
        """The share of rows at risk if an attacker knows up to one item more than the guarantee covers.

        The table has the shares before and after: ``known, rows, counted, singled_out, below_k,
        singled_out_before, below_k_before``. If ``counted`` is below ``rows``, they are those of a random
        sample. None if the guarantee covers any number of items, or none.
        """
        table = self.risk_table() if callable(self.risk_table) else self.risk_table
        object.__setattr__(self, "risk_table", table)
        return table

    def __getstate__(self) -> list[Any]:
        return [self.risk if each.name == "risk_table" else getattr(self, each.name) for each in fields(self)]

    @property
    def do_not_publish(self) -> str:
        """The reason not to publish the release, although its guarantee holds; empty if there is none.

        It is almost empty (`useless`), or no count answers a question of its readers: those of items, of
        pairs and of combinations of quasi-identifiers are all off by more than two thirds on average.
        """
        return self.useless or unanswered(self.loss, self.guarantee, len(self.frame))

    @property
    def passed_through(self) -> tuple[Hashable, ...]:
        """Labels of the unmodified columns."""
        return self.unmodified.columns

    @property
    def plot(self) -> ResultPlots:
        """Plots: ``plot.loss()``, ``plot.risk(original)``, ``plot.sizes()``, ``plot.mapping()``."""
        return Views.plot(self)

    @called_by_name
    def report(
        self,
        path: FilePath,
        original: pd.DataFrame | None = None,
        *,
        tradeoff: pd.DataFrame | None = None,
        assessment: pd.DataFrame | None = None,
        title: str | None = None,
        dataset: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        prepared_by: str | None = None,
        approved_by: str | None = None,
        note: str | None = None,
    ) -> None:
        """Write a page that presents the release to others.

        The page is one HTML file that needs no network. It begins with one page for those who accept or
        refuse the release: the promise, what is not promised, thresholds, attacks, and questions. Then it
        lists the parameters, the guarantee, the risk, the loss, the recoded items and the unmodified columns.
        It identifies the tables by time, versions and fingerprints. Pictures require matplotlib; without it,
        the page has tables only.

        Parameters
        ----------
        path : path
            The file. An existing file is replaced when the new one is complete.
        original : pandas.DataFrame, optional
            The original, to show the risk before as well.
        tradeoff : pandas.DataFrame, optional
            The table of `pdanon.tradeoff` for the original, to show the loss of other k and m.
        assessment : pandas.DataFrame, optional
            The table of `pdanon.assess` for this release, to show the attacks.
        title, dataset, purpose, recipient, prepared_by, approved_by, note : str, optional
            Texts for the head of the page.

        Raises
        ------
        FormatError
            If the file cannot be written.
        GuaranteeError
            If the frame was changed after the release, as far as its mapping shows.
        ParameterError
            If the release was not made from the original, ``tradeoff`` or ``assessment`` is no such table, a
            text is none, or ``SOURCE_DATE_EPOCH`` is not a time.

        Notes
        -----
        The page has counts, the names of the columns and up to 100 published labels. It has no row of the
        data. It names a suppressed item only as part of the label of a set. Its counts, such as the number of
        suppressed items and the risk before, and the fingerprint are facts about the original: publish the
        page if they may be known.

        The risk is also counted for m + 1 known items, which takes as long as an audit for them. With the
        original, the page also has the share of persons at risk whom an attacker with a sample names. The
        same release gives the same bytes if the environment variable ``SOURCE_DATE_EPOCH`` fixes the time.

        Examples
        --------
        >>> import pathlib, tempfile, pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = pathlib.Path(directory) / "release.html"
        ...     df.txanon.pcta(k=2, m=2).report(path, original=df)
        ...     "The release has its guarantee" in path.read_text(encoding="utf-8")
        True
        """
        head = {name: text for name, text in locals().items() if name in HEAD}
        refuse_units(self)
        given = {"original": original, "tradeoff": tradeoff, "assessment": assessment}
        Views.report(self, path, **given, head=head)

    @called_by_name
    def evidence(
        self,
        path: FilePath,
        original: pd.DataFrame | None = None,
        *,
        title: str | None = None,
        dataset: str | None = None,
        purpose: str | None = None,
        recipient: str | None = None,
        prepared_by: str | None = None,
        approved_by: str | None = None,
        note: str | None = None,
        population: pd.DataFrame | FilePath | None = None,
        redact: str = "unpublished",
        independent: bool = False,
        assessment: pd.DataFrame | None = None,
    ) -> None:
        """Write what was promised, counted and published, for those who approve a release or check it later.

        Two files are written: JSON, which `pdanon.verify` replays from the release, and a page with the same
        facts. They state the promise in one sentence, the recount of the released rows, the risk, thresholds
        of authorities, what is not protected, the loss, and fingerprints of all tables.

        Parameters
        ----------
        path : path
            The ``.json`` or the ``.html`` file; the other one is written beside it. Existing files are
            replaced when both new ones are complete.
        original : pandas.DataFrame, optional
            The original, to count the risk before as well, and for its fingerprint.
        title, dataset, purpose, recipient, prepared_by, approved_by, note : str, optional
            Texts for the head of the page.
        population : pandas.DataFrame or path, optional
            One row for each person of the population from which the table was drawn, those of the table
            included: a frame, or a ``.parquet`` file. Its columns have the values and labels of the release.
            It gives the journalist risk.
        redact : {"unpublished", "all", "none"}
            The items of the guarantee, such as sensitive ones, that are not named: those that the release
            does not publish, all (for a public page), or none (for the people who approve).
        independent : bool
            Also count the guarantee by the independent audit of `pdanon.audit`, and state that it agreed.
        assessment : pandas.DataFrame, optional
            The table of `pdanon.assess` for this release, to state the attacks. A secret is not named.

        Raises
        ------
        FormatError
            If a file cannot be written.
        GuaranteeError
            If the guarantee does not hold, or labels or quasi-identifiers of the frame are not those of the
            mapping and the classes.
        ParameterError
            If the release was not made from the original, the population is smaller or lacks rows of the
            release, ``assessment`` is no such table, or another argument is invalid.

        Notes
        -----
        Without ``redact="none"``, no item is named that the release does not publish. Counts, losses and the
        fingerprints of the original and the mapping are facts about the original. With ``redact="all"`` and
        without the original, the mapping has no fingerprint, and others may read new files; otherwise only
        their owner can.

        The verdict, the risk and the unmodified columns are counted from the frame as it is now. The loss is
        that of the release.

        Evidence is not legal advice. Anyone can make other evidence: sign the files if that matters. The same
        release gives the same bytes if the environment variable ``SOURCE_DATE_EPOCH`` fixes the time.

        Cost: an audit of the release, a few counts of rows at risk in each table, up to m + 1 known items,
        and the fingerprints.

        Examples
        --------
        >>> import json, pathlib, tempfile, pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> with tempfile.TemporaryDirectory() as directory:
        ...     path = pathlib.Path(directory) / "evidence.json"
        ...     df.txanon.pcta(k=2, m=2).evidence(path, original=df, title="Baskets of May")
        ...     json.loads(path.read_text())["promise"]
        'Attackers who know up to 2 items in items of a person find at least 2 matching rows.'
        """
        head = {name: text for name, text in locals().items() if name in HEAD}
        refuse_units(self)
        given = {"population": population, "redact": redact, "independent": independent}
        Views.evidence(self, path, original, head=head, assessment=assessment, **given)

    @called_by_name
    def relabel(self, labels: str | Callable[[list[Any]], str]) -> Anonymized:
        """Rename the sets of items, and audit the release again; see `legend`.

        Parameters
        ----------
        labels : {"set", "short", "first"} or callable
            ``(a,b)``, ``G017``, ``a +1``, or the text that a function returns for the list of items of a set.

        Returns
        -------
        Anonymized
            The same release. Single items, nodes of a hierarchy and sets of values keep their names.

        Raises
        ------
        ParameterError
            If the sets have other names already, or a text is that of an item or of another set.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> df.txanon.pcta(k=2, m=2).relabel("first").frame["items"].tolist()
        [['rice +1', 'tea'], ['rice +1'], ['rice +1', 'tea'], ['tea']]
        """
        return Views.relabel(self, labels)

    def meets(self, threshold: str) -> ThresholdCheck:
        """Compare the fewest rows that match what an attacker knows with a threshold of an authority.

        Parameters
        ----------
        threshold : str
            Its name in `pdanon.thresholds`, such as ``"CMS"``.

        Returns
        -------
        ThresholdCheck
            True if the threshold is met, and otherwise false. It holds both numbers.

        Raises
        ------
        ParameterError
            If there is no such threshold, or no row is a person: in a release in chunks, of persons with
            several rows, or without rows.

        Notes
        -----
        The attacker knows what the guarantee assumes, as in the evidence. Rows are counted as they are now,
        and the number is exact. Whether a threshold applies to a release is not decided.

        Cost: a few counts of rows at risk.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> df.txanon.pcta(k=2, m=2).meets("CMS")
        Not met: CMS needs 11, and 2 rows match
        """
        refuse_units(self)
        return Views.meets(self, threshold)

    @called_by_name
    def explain(self, item: Any, original: pd.DataFrame) -> Explanation:
        """Explain why an item was generalized or suppressed.

        Parameters
        ----------
        item : object
            An item of the original.
        original : pandas.DataFrame
            The original. A result does not store it.

        Returns
        -------
        Explanation
            The threats that contain the item, and those that would be there if it were restored. For
            `KmAnonymity` and `PrivacyConstraints` also the largest k that leaves the item unchanged. It
            describes the original and must not be published.

        Raises
        ------
        ParameterError
            If the result is not of this frame, the item does not occur in it, or several list columns were
            recoded. If the guarantee is none of `KmAnonymity`, `PrivacyConstraints`, `KKm`, `KLm`,
            `Coherence`, `RhoUncertainty` and `PSRules`.

        Notes
        -----
        An item without threats was changed for other items, which needed its rows.

        Cost: listing the rare itemsets of the rows with the item, and one audit. The algorithm runs once
        more, with the k that leaves the item unchanged. For the other guarantees, two audits that list all
        threats; for `KKm`, those of the original in the classes with the item.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> why = df.txanon.pcta(k=2, m=2).explain("salt", df)
        >>> why
        Explanation
          item       generalized
          threats    1 itemset with the item at risk, lowest support 1; k=2
          exposed    1 itemset would be at risk if it were restored, lowest support 1
          alone      itemsets with the item are at risk at every k
        >>> why.became
        '(rice,salt)'
        """
        return Views.explain(self, item, original)

    def __repr__(self) -> str:
        return listing(self._title(), headline(self))

    def _repr_html_(self) -> str:
        return card(self._title(), headline(self), verdict=verdict(self))

    def _title(self) -> str:
        return f"Anonymized: {counted(self)}, {made_by(self)}"


def headline(result: Anonymized) -> Lines:
    """Return the most important lines of a result: names and texts."""
    if result.do_not_publish:
        yield "verdict", f"do not publish this: {result.do_not_publish}"
    yield "guarantee", f"{result.guarantee!r}, {'audited' if result.holds else 'which does NOT hold'}"
    if result.classes is not None:
        sizes, (name, members) = class_sizes(result.classes), class_names(result)
        yield name, f"{len(sizes)}" + (f", the smallest of {sizes.min()} {members}" if len(sizes) else "")
    yield from risk_lines(result.guarantee, result.risk)
    if result.named is not None:
        decided = result.parameters.get("decided_k")
        larger = "" if decided is None else f"; decided with k={decided}"
        yield (
            "named",
            f"an attacker with a sample names {percent(result.named)} of the persons at risk{larger}",
        )
    yield from unmodified_lines(result.unmodified)
    if "prepared" in result.parameters:
        yield "prepared", result.parameters["prepared"]
    for line in loss_lines(result.mapping, result.loss):
        yield line
        if line[0] == "changed":
            yield from bound_lines(result.bound)
    yield from level_lines(result.levels)
    yield from choice_lines(result.tried, result.loss)
    if short := shortfall(result.parameters, result.guarantee):
        yield "proven", short
    if result.cut_short:
        yield "search", result.cut_short


def unmodified_lines(unmodified: UnmodifiedColumns, rows: int | None = None) -> Lines:
    """Return the line about unmodified columns of a table with some rows, if there is one."""
    for text, shares in unmodified.summary(rows):
        yield "beside", text, *map(Share, shares)


def alerts(result: Anonymized) -> list[str]:
    """Return what limits a release, beside its unmodified columns."""
    dropped = describe_dropped(result.loss)
    dropped = f"Dropped before: {dropped}" if dropped else ""
    found = (shortfall(result.parameters, result.guarantee), dropped, result.do_not_publish)
    return [text for text in found if text]


def verdict(result: Anonymized) -> tuple[Verdict, str]:
    """Return whether a release may be published, as a sentence, and its promise as another."""
    if not result.holds:
        return "broken", "The release does NOT have its guarantee. Do not publish it."
    limit = ""
    if any(result.unmodified.sentences()):
        limit = ". Its unmodified columns identify rows, and are not covered"
    elif result.useless:
        limit = ", but keeps almost no information"
    elif result.do_not_publish:
        limit = ", but no count of it answers a question"
    promised = promise(result.guarantee, next(iter(recoded_lists(result)), None))
    return "warned" if limit else "holds", f"The release has its guarantee{limit}. {promised}"


def made_by(result: Anonymized, unknown: str = "release") -> str:
    """Return the name of the algorithm of a release, and whether it was refined."""
    algorithm = str(result.parameters.get("algorithm", unknown))
    return f"{algorithm}, refined" if is_refined(result) else algorithm


def is_refined(result: Anonymized) -> bool:
    """Return whether a release was refined: then its trace has the loss over time."""
    return result.trace is not None and "seconds" in result.trace


def class_names(result: Anonymized) -> tuple[str, str]:
    """Return the names of the classes of a release and of their members."""
    if in_chunks(result):
        return "clusters", "records"
    return "groups" if isinstance(result.guarantee, SensitiveGroups) else "classes", "rows"


def counted(result: Anonymized, spelling: str = "d") -> str:
    """Describe the number of rows of a release, or of records if its rows are parts of them."""
    rows = format(len(result.frame), spelling)
    if "unit" in result.parameters:
        persons = result.frame[result.parameters["unit"]].nunique()
        return f"{rows} rows of {persons:{spelling}} persons"
    if not in_chunks(result):
        return f"{rows} rows"
    return f"{int(class_sizes(result.classes).sum()):{spelling}} records in {rows} parts"


def in_chunks(result: Anonymized) -> bool:
    """Return whether the rows of a release are parts of records, so that no row is a person."""
    return isinstance(result.guarantee, DisassociatedKm)


def recoded_lists(result: Anonymized) -> list[Hashable]:
    """Return the labels of the recoded list columns."""
    lists = [label for label, column in result.frame.items() if is_list_column(column)]
    return [label for label in lists if label not in result.passed_through]


def mapping_of(result: Anonymized, label: Hashable) -> pd.DataFrame:
    """Return the lines of the mapping for a list column."""
    mapping = result.mapping
    if "column" not in mapping:
        return mapping
    return mapping[[same_label(each, label) for each in mapping["column"]]]


# --- The original of a release: checks that a frame is the original, and the labels of its items


def recoded_column(original: pd.DataFrame, result: Anonymized) -> int:
    """Return the position of the only recoded list column in the original frame."""
    if not isinstance(original, pd.DataFrame):
        raise other_frame(type(original).__name__)
    refuse_units(result)
    frame, lists = result.frame, recoded_lists(result)
    if len(original) == len(frame) and len(lists) == 1 and [*original.columns] == [*frame.columns]:
        position = label_position(frame, lists[0])
        if may_hold_lists(original.iloc[:, position]):
            return position
    got = f"{len(original)} rows, the result has {len(frame)}"
    if len(original) == len(frame):
        differing = {*original.columns} ^ {*frame.columns}
        only = [label for label in [*original.columns, *frame.columns] if label in differing]
        got = "another order of columns, or not one recoded list column"
        got = f"columns that only one of them has: {list_first(only)}" if only else got
    raise other_frame(got)


def refuse_units(result: Anonymized) -> None:
    """Refuse a release in which a person has several rows, where a row must be a person."""
    if "unit" in result.parameters:
        raise ParameterError(
            "a person has several rows in this release",
            where="result",
            got=f"a release by {result.parameters['unit']!r}",
            hint="release one row per person: pdanon.from_long(lines, by='person', item='product').txanon",
        )


def labels_of(result: Anonymized, itemsets: Itemsets) -> pa.DictionaryArray:
    """Return the label of each item of the original, by its code; null for a suppressed item."""
    items, labels = global_mapping(result.mapping)
    supports = np.bincount(itemsets.codes, minlength=itemsets.n_items)
    if len(items) != itemsets.n_items:
        raise other_frame(f"{itemsets.n_items} items, the result has {len(items)}")
    lines = find_items(itemsets.vocabulary, items)
    if (lines < 0).any():
        raise other_frame("other items")
    counted = result.mapping["support"].to_numpy()[lines]
    if (counted != supports).any():
        raise other_frame(f"{int((counted != supports).sum())} items with other supports")
    return labels.take(pa.array(lines))


def other_frame(got: str) -> ParameterError:
    """Return the error for a frame that is not the original of a result."""
    hint = "pass the frame that the result was made from"
    return ParameterError("the result is not of this frame", where="original", got=got, hint=hint)
