"""What comes back: the release with everything known about it."""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from pdanon.errors import GuaranteeError, ReleaseWarning, did_you_mean, escape_controls, warn
from pdanon.guarantees.disassociated import DisassociatedKm
from pdanon.guarantees.sensitive_groups import SensitiveGroups
from pdanon.guarantees.verdict import Guarantee, facts
from pdanon.io.files import new_directory
from pdanon.io.parquet import to_parquet
from pdanon.itemsets.arguments import CallError, MethodError
from pdanon.itemsets.columns import is_list_column
from pdanon.recoding.counts import class_sizes, is_kept, what_was_lost
from pdanon.recoding.unmodified_columns import Passing
from pdanon.recoding.warnings import shortfall

__all__ = [
    "Anonymized",
    "Labelled",
    "add_views",
    "called",
    "counted",
    "headline",
    "in_chunks",
    "made_by",
    "recoded_lists",
]

# What shows a result is above it: `pdanon.evaluation` says here who draws, reports and explains.
_VIEWS: dict[str, Callable[..., Any]] = {}


class Labelled:
    """What has a mapping, and can say without it what the labels of a release stand for."""

    __slots__ = ()
    mapping: pd.DataFrame

    @property
    def legend(self) -> pd.DataFrame:
        """What the labels stand for: ``label, item``, and ``column`` first if there are several list columns.

        A line for each item that became a label other than itself, by label, then by item; no supports and
        no groups, and no item that was suppressed everywhere. The release can be published with it or
        without: its guarantee holds for those who know the legend. Where labels are nodes of a hierarchy, it
        lists the items that occur, which the hierarchy does not tell.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> result = df.txanon.pcta(k=2, m=2, labels="short")
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


@dataclass(frozen=True, eq=False, slots=True)
class Anonymized(Labelled):
    """A release and what is known about it; `published` holds the tables of the release itself.

    ``frame, mapping = result`` unpacks the first two fields.

    Parameters
    ----------
    frame : pandas.DataFrame
        Published. The released frame: index, column order, dtypes of other columns and attrs as in the
        input. Releases in chunks have rows of their own, which are parts of rows. Releases of `cahd` have one
        more column, ``group``.
    mapping : pandas.DataFrame
        Confidential. What each item became: ``group, item, generalized, support``. ``generalized`` has the
        type of what is released: text for labels, the items' own type where items are only suppressed. Labels
        that would take more than 256 MiB line after line are a ``pandas.Categorical``.
    classes : pandas.DataFrame or None
        Results of `cahd`: published beside the frame. The count of each sensitive item in each group:
        ``group, size, item, count``. Releases in chunks: published; one row a cluster, ``cluster, size,
        joint``, which the frame repeats. Relational results: confidential; one row a group, ``group, size``,
        then the generalized quasi-identifiers. Groups that are recoded separately may be equal in these.
    groups : pandas.Series or None
        Confidential. Local recodings, releases in chunks and relational results: the group of each row.
    guarantee : Guarantee
        The privacy model, audited on ``frame``. May be published.
    loss : pandas.Series
        Information loss by measure. Counts facts about the original: publish it if they may be known.
    parameters : dict
        The parameters of the call. Confidential as far as they name items.
    passing : Passing
        The columns that are released as they were, and how many rows they tell apart. Confidential.
    useless : str
        Of what next to nothing is left, as the `UselessWarning` said; empty if something is left.
    holds : bool
        Whether the audit found the guarantee to hold. False only in the `partial` of an `InfeasibleError`,
        which is not to be released.
    trace : pandas.DataFrame or None
        Refined releases: the loss over time, ``seconds, loss``.
    tried : pandas.DataFrame or None
        Releases of `pdanon.anonymize`: what was tried, ``algorithm, loss``, of items what can be read without
        a formula, ``seconds, reason``. The reason says why there is no loss, that next to nothing is left, or
        that refinement was ended.
    cut_short : str
        What a time limit ended of the search for a release that loses less; empty if it was completed.
    """

    frame: pd.DataFrame
    mapping: pd.DataFrame
    classes: pd.DataFrame | None
    groups: pd.Series[int] | None
    guarantee: Guarantee
    loss: pd.Series[float]
    parameters: dict[str, Any]
    passing: Passing = field(default_factory=Passing)
    useless: str = ""
    holds: bool = True
    trace: pd.DataFrame | None = None
    tried: pd.DataFrame | None = None
    cut_short: str = ""

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
        hint: str | None
        if hasattr(pd.DataFrame, name) and not name.startswith("_"):
            hint = f"result.frame.{name}; result.save(directory) writes all published tables"
        else:
            hint = did_you_mean(name, [each for each in dir(type(self)) if not each.startswith("_")])
        raise MethodError("a result has no such attribute", where="result", got=repr(name), hint=hint)

    @property
    def published(self) -> dict[str, pd.DataFrame]:
        """The tables that are published, by name: ``frame``, and ``classes`` where it is part of the release.

        Everything else that a result holds is confidential. Only the legend may be published as well.

        Raises
        ------
        GuaranteeError
            If the guarantee does not hold: nothing is to be published then.

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
            hint = "it is the best attempt of an algorithm, to be looked at only"
            raise GuaranteeError("the guarantee does not hold, so nothing is published", hint=hint)
        tables = {"frame": self.frame}
        if self.classes is not None and self._publishes_classes:
            tables["classes"] = self.classes
        return tables

    @property
    def _publishes_classes(self) -> bool:
        return isinstance(self.guarantee, (SensitiveGroups, DisassociatedKm))

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the published tables to a new directory, whole or not at all.

        Parameters
        ----------
        directory : path
            The directory. Nothing may have this name yet. Each table of `published` becomes a Parquet file
            there: ``frame.parquet``, ``classes.parquet``.

        Raises
        ------
        ParameterError
            If the directory exists, or the path is a URI.
        FormatError
            If it cannot be written.
        GuaranteeError
            If the guarantee does not hold.

        See Also
        --------
        to_parquet, to_csv : Write a single table.

        Notes
        -----
        The directory holds the release and nothing else, so that it can be handed over. Write the mapping
        elsewhere, where only those may read who may read the original:
        ``pdanon.to_parquet(result.mapping, path)``.

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
    def passed_through(self) -> tuple[Hashable, ...]:
        """Labels of the columns that are released as they were."""
        return self.passing.columns

    @property
    def plot(self) -> Any:
        """The pictures: ``plot.loss()``, ``plot.risk(original)``, ``plot.sizes()``, ``plot.mapping()``."""
        return _VIEWS["plot"](self)

    def report(
        self,
        path: str | os.PathLike[str],
        original: pd.DataFrame | None = None,
        *,
        tradeoff: pd.DataFrame | None = None,
    ) -> None:
        """Write a page that shows the release to others.

        One HTML file that needs no network: what was asked, the guarantee and how it was checked, the risk,
        what was lost, what became of the items, the columns that passed through, and which tables the page is
        about: the time, versions and fingerprints. Its pictures need matplotlib; without it the page has
        tables only.

        Parameters
        ----------
        path : path
            The file. If it exists it is replaced when the new one is complete.
        original : pandas.DataFrame, optional
            What the release was made from, to show the risk before as well.
        tradeoff : pandas.DataFrame, optional
            What `pdanon.tradeoff` returned of it, to show what other k and m would have cost.

        Raises
        ------
        FormatError
            If the file cannot be written.
        ParameterError
            If the original does not have the rows of the release, ``tradeoff`` is no such table, or
            ``SOURCE_DATE_EPOCH`` is no time.

        Notes
        -----
        The page holds counts, the names of the columns and up to 100 labels that are published; no row of the
        data, and no item that was removed, unless the label of a set names it. The counts, such as how many
        items were suppressed and the risk before, and the fingerprint of the original are facts about it:
        publish the page if they may be known.

        The risk is counted for m + 1 known items as well, which takes as long as an audit of that. The same
        release gives the same bytes if the environment variable ``SOURCE_DATE_EPOCH`` fixes the time.

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
        _VIEWS["report"](self, path, original, tradeoff)

    def explain(self, item: Any, original: pd.DataFrame) -> Any:
        """Explain why an item was generalized or suppressed.

        Parameters
        ----------
        item : object
            An item of the original.
        original : pandas.DataFrame
            What the release was made from. A result does not keep it.

        Returns
        -------
        Explanation
            The threats that the item was part of, what would be exposed if it were not changed, and up to
            which k it would be left alone. It is about the original, and is not to be published.

        Raises
        ------
        ParameterError
            If the result is not of this frame, the item does not occur in it, the recoding is a local one,
            or the guarantee is neither `KmAnonymity` nor `PrivacyConstraints`.

        Notes
        -----
        An item that no threat holds was changed for the sake of others: they needed its rows.

        Cost: of listing the rare itemsets of the rows that hold the item, of one audit, and of running the
        algorithm once more, with the k that leaves the item alone.

        Examples
        --------
        >>> import pandas as pd, pdanon
        >>> df = pd.DataFrame({"items": [["rice", "tea"], ["rice", "salt"], ["rice", "tea"], ["tea"]]})
        >>> why = df.txanon.pcta(k=2, m=2).explain("salt", df)
        >>> why
        Explanation
          item       generalized
          threats    1 that hold it, the rarest in 1 row; k=2
          exposed    1 if it were not, the rarest in 1 row
          alone      at no k of 2 and more
        >>> why.threats
            itemset  support
        0  ['salt']        1
        >>> why.became
        '(rice,salt)'
        """
        return _VIEWS["explain"](self, item, original)

    def __repr__(self) -> str:
        lines = [self._title(), *(f"  {name:<10} {text}" for name, text in headline(self))]
        return escape_controls("\n".join(lines))

    def _repr_html_(self) -> str:
        return facts(self._title(), headline(self))

    def _title(self) -> str:
        return f"Anonymized: {counted(self)}, {made_by(self)}"


def headline(result: Anonymized) -> Iterator[tuple[str, str]]:
    """The lines of a result that say the most: names and texts."""
    yield "guarantee", f"{result.guarantee!r}, {'audited' if result.holds else 'which does NOT hold'}"
    if result.classes is not None:
        sizes, (name, members) = class_sizes(result.classes), called(result)
        yield name, f"{len(sizes)}" + (f", the smallest of {sizes.min()} {members}" if len(sizes) else "")
    yield from what_was_lost(result.mapping, result.loss)
    if short := shortfall(result.parameters, result.guarantee):
        yield "proven", short
    if result.useless:
        yield "useless", result.useless
    if result.cut_short:
        yield "search", result.cut_short


def made_by(result: Anonymized, unknown: str = "release") -> str:
    """Name the algorithm that made a release, and whether the release was refined."""
    algorithm = str(result.parameters.get("algorithm", unknown))
    return algorithm if result.trace is None else f"{algorithm}, refined"


def called(result: Anonymized) -> tuple[str, str]:
    """What the classes of a release are called, and what they consist of."""
    if in_chunks(result):
        return "clusters", "records"
    return "groups" if isinstance(result.guarantee, SensitiveGroups) else "classes", "rows"


def counted(result: Anonymized, spelling: str = "d") -> str:
    """How many rows a release has, or records, where its rows are parts of these."""
    rows = format(len(result.frame), spelling)
    if not in_chunks(result):
        return f"{rows} rows"
    return f"{int(class_sizes(result.classes).sum()):{spelling}} records in {rows} parts"


def in_chunks(result: Anonymized) -> bool:
    """Tell whether the rows of a release are parts of records, so that none is that of a person."""
    return isinstance(result.guarantee, DisassociatedKm)


def recoded_lists(result: Anonymized) -> list[Hashable]:
    """Labels of the list columns that were recoded."""
    frame = result.frame
    lists = [label for i, label in enumerate(frame) if is_list_column(frame.iloc[:, i])]
    return [label for label in lists if label not in result.passed_through]


def add_views(**views: Callable[..., Any]) -> None:
    """Say what a result is shown by: its ``plot``, ``report`` and ``explain``."""
    _VIEWS.update(views)
