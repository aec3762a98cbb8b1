"""Generalization hierarchies as arrays by node, and drawings of their upper part."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from numbers import Integral
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
import pandas as pd
import pyarrow as pa

from pdanon.errors import HierarchyError, ParameterError, escape_controls
from pdanon.hierarchy import sources
from pdanon.hierarchy.sources import TEXT, Form, Nodes, refuse_torn
from pdanon.itemsets.arguments import constructed_by_name
from pdanon.itemsets.cards import escape_html
from pdanon.itemsets.codes import Itemsets, find_items, item_array, item_texts
from pdanon.itemsets.dtype import is_text_type, text_column
from pdanon.itemsets.lists import Mask, Offsets, offsets_of
from pdanon.itemsets.support import SupportIndex
from pdanon.itemsets.validation import FilePath, check_kind, check_known, describe, is_integer, read_list

_SHOWN_LINES, _SHOWN_CHILDREN, _SHOWN_CHARACTERS = 30, 8, 60


def _outline(tree: Hierarchy) -> list[tuple[int, str, bool]]:
    """Choose the lines of a small drawing: depth, text, and whether the node's children follow."""

    def caption(node: int) -> str:
        text = escape_controls(" ".join(tree.names[node].split()))
        if len(text) > _SHOWN_CHARACTERS:
            text = text[: _SHOWN_CHARACTERS - 1] + "…"
        if not tree.is_leaf[node]:
            text += f" ({tree.leaves[node]} {'leaf' if tree.leaves[node] == 1 else 'leaves'})"
        return text

    lines = {0: (0, caption(0), True)}  # by node; a line "… 5 more" by its first node
    queue = deque([0])
    while queue:
        node = queue.popleft()
        below = tree.children(node).tolist()
        n_shown = len(below) if len(below) <= _SHOWN_CHILDREN else _SHOWN_CHILDREN - 1
        depth, text, _ = lines[node]
        if len(lines) + min(len(below), _SHOWN_CHILDREN) > _SHOWN_LINES:
            lines[node] = (depth, f"{text} …", False)
            continue
        lines[node] = (depth, text, True)
        for child in below[:n_shown]:
            lines[child] = (depth + 1, caption(child), False)
        if n_shown < len(below):
            lines[below[n_shown]] = (depth + 1, f"… {len(below) - n_shown} more", False)
        queue.extend(child for child in below[:n_shown] if not tree.is_leaf[child])
    return [lines[node] for node in sorted(lines)]


# --- Hierarchies


HierarchyLike: TypeAlias = "Hierarchy | str | os.PathLike[str] | pd.DataFrame | Mapping[Any, Any] | int"
Missing: TypeAlias = Literal["error", "root"]


@constructed_by_name
@dataclass(frozen=True, eq=False, repr=False)
class Hierarchy:
    """A rooted tree whose leaves are items, with nodes numbered in pre-order.

    Build one with `of`, `from_csv`, `from_frame`, `from_dict`, `balanced`, `intervals`, `prefixes`, `ranges`,
    `icd10`, `icd9`, `atc` or `paths`. These check that it is a tree; the class itself does not.

    Parameters
    ----------
    names : tuple of str
        Name of each node as given: the text of a leaf, the name of an inner node.
    parent : ndarray of int32, shape (nodes,)
        Parent of each node, -1 for the root, which is node 0. Children keep the order of the source.
    missing : {"error", "root"}
        Whether `cover` refuses items that are not leaves, or attaches them below the root.

    Notes
    -----
    The subtree of node ``v`` is the range ``v .. v + size[v] - 1``. The root is never a leaf. Arrays are
    read-only. Memory: up to 29 bytes per node, and the names. ``repr`` shows only counts; ``str`` and the
    notebook view draw the upper part of the tree, with names.

    Examples
    --------
    >>> tree = Hierarchy.from_dict({"*": {"drink": ["tea", "milk"], "food": ["rice"]}})
    >>> tree
    Hierarchy(nodes=6, leaves=3, height=2, missing='error')
    >>> print(tree)
    * (3 leaves)
      drink (2 leaves)
        tea
        milk
      food (1 leaf)
        rice
    """

    names: tuple[str, ...]
    parent: Nodes
    missing: Missing = "error"

    def __post_init__(self) -> None:
        check_known(self.missing, get_args(Missing), "treatment of missing items", where="missing")
        object.__setattr__(self, "parent", sources.freeze(self.parent, np.int32))

    def __reduce__(self) -> tuple[Any, ...]:  # copies call the constructor, which makes arrays read-only
        return Hierarchy, (self.names, self.parent, self.missing)

    @classmethod
    def of(
        cls, source: HierarchyLike, items: Iterable[Any] | None = None, *, missing: Missing = "error"
    ) -> Hierarchy:
        """Build a hierarchy from a source of any type.

        Parameters
        ----------
        source : Hierarchy, path, DataFrame, dict or int
            A Hierarchy is returned unchanged. A path is read by `from_csv`, a frame by `from_frame`, a nested
            dict by `from_dict`. An int is the fan-out of a `balanced` tree over ``items``.
        items : iterable, optional
            The items, in the order to group them; required for a fan-out, and ignored otherwise.
        missing : {"error", "root"}
            As in the class. A Hierarchy keeps its own.

        Returns
        -------
        Hierarchy

        Raises
        ------
        HierarchyError, ParameterError
            If the source is not a tree, see `from_csv`; has another type; or is a fan-out without items.

        Examples
        --------
        >>> Hierarchy.of(2, ["mon", "tue", "wed"]).names
        ('*', 'mon..tue', 'mon', 'tue', 'wed')
        """
        if isinstance(source, Hierarchy):
            return source
        if isinstance(source, (str, os.PathLike)):
            return cls.from_csv(source, missing=missing)
        if isinstance(source, pd.DataFrame):
            return cls.from_frame(source, missing=missing)
        if isinstance(source, Mapping):
            return cls.from_dict(source, missing=missing)
        if not isinstance(source, Integral):
            hint = "pass a Hierarchy, a path, a DataFrame, a dict {'food': ['rice']}, or an int fan-out"
            raise ParameterError("this does not describe a hierarchy", got=type(source).__name__, hint=hint)
        if items is None:
            raise ParameterError("a fan-out needs the items to group", where="items", hint="pass items=[...]")
        return replace(cls.balanced(items, int(source)), missing=missing)

    @classmethod
    def from_csv(cls, path: FilePath, *, delimiter: str = ";", missing: Missing = "error") -> Hierarchy:
        """Read the layout of ARX: one row per leaf, ``leaf;parent;...;*``.

        Parameters
        ----------
        path : str or path-like
            A UTF-8 file without a header. Fields may be quoted, rows may differ in length, blank lines
            are ignored, and every field is text.
        delimiter : str
            The delimiter of fields.
        missing : {"error", "root"}
            As in the class.

        Returns
        -------
        Hierarchy

        Raises
        ------
        HierarchyError, FormatError, ParameterError
            If there are no rows, a name is empty, a node has two different parents, or nodes form a cycle:
            the message shows the count and the line of the first. If the file is missing, cannot be read or
            is not UTF-8, a quote is not closed, or ``delimiter`` is not one character.

        Notes
        -----
        The first field of a row is a leaf, the others are inner nodes. The name of an inner node identifies
        it, and may also be that of a leaf. Equal consecutive inner nodes are padding: one node. Several
        topmost nodes get a root ``*``, which is the inner node of that name if there is one. Cost: time
        linear in the number of fields.
        """
        return cls(*sources.csv_tree(path, delimiter), missing)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame, *, missing: Missing = "error") -> Hierarchy:
        """Read a frame of edges, or of ARX rows.

        Parameters
        ----------
        frame : pandas.DataFrame
            Edges if its columns are ``child`` and ``parent``; a column ``label`` is ignored. Then a name is
            one node, and nodes without children are leaves. Otherwise ARX rows as in `from_csv`, leaf first,
            padded by missing values at the end.
        missing : {"error", "root"}
            As in the class.

        Returns
        -------
        Hierarchy

        Raises
        ------
        HierarchyError
            As `from_csv`, with the number of the row from 0 on.

        Examples
        --------
        >>> edges = pd.DataFrame({"child": ["tea", "drink"], "parent": ["drink", "*"]})
        >>> Hierarchy.from_frame(edges).names
        ('*', 'drink', 'tea')
        """
        return cls(*sources.frame_tree(frame), missing)

    @classmethod
    def from_dict(cls, tree: Mapping[Any, Any], *, missing: Missing = "error") -> Hierarchy:
        """Read a nested dict, ``{root: {node: [leaf, leaf], node: {...}}}``.

        Parameters
        ----------
        tree : dict
            Keys are inner nodes; a value is a dict of inner nodes, or a list or tuple of leaves. Several
            topmost keys get a root ``*``.
        missing : {"error", "root"}
            As in the class.

        Returns
        -------
        Hierarchy

        Raises
        ------
        HierarchyError
            As `from_csv`. Also if an inner node occurs twice, is empty or holds another type. The message
            shows the number of that node in reading order, from 0 on.
        """
        return cls(*sources.dict_tree(tree), missing)

    @classmethod
    def balanced(cls, items: Iterable[Any], fanout: int) -> Hierarchy:
        """Group ``fanout`` consecutive items, then the groups, until one root remains.

        Parameters
        ----------
        items : iterable
            The items, in the order to group them. Duplicates are ignored.
        fanout : int
            Children of a node, at least 2. A remaining group of one node becomes no inner node.

        Returns
        -------
        Hierarchy
            The root is ``*``. Other inner nodes have the names of their leaves, ``first..last``.

        Examples
        --------
        >>> Hierarchy.balanced("abcde", 2).names
        ('*', 'a..d', 'a..b', 'a', 'b', 'c..d', 'c', 'd', 'e')
        """
        return cls(*sources.balanced_tree(items, fanout))

    @classmethod
    def intervals(cls, values: Iterable[Any], width: float | Decimal, fanout: int = 2) -> Hierarchy:
        """Put numbers into half-open bins, and merge ``fanout`` consecutive bins until one root remains.

        Parameters
        ----------
        values : iterable of numbers
            The numbers that occur. Their type determines the text of a leaf, as in the data.
        width : number
            Width of the narrowest bins. Bins begin at multiples of their width.
        fanout : int
            Number of bins to merge, at least 2.

        Returns
        -------
        Hierarchy
            The root is ``*``, bins have names such as ``[0, 5)``. There are no empty bins, and all leaves
            have the same depth.

        Notes
        -----
        Bins are exact: a number is read as the decimal that it is printed as, so 0.3 is in ``[0.3, 0.4)``.

        Examples
        --------
        >>> Hierarchy.intervals([12, 3, 7], width=5).names
        ('*', '[0, 10)', '[0, 5)', '3', '[5, 10)', '7', '[10, 20)', '[10, 15)', '12')
        """
        return cls(*sources.interval_tree(values, width, fanout))

    @classmethod
    def prefixes(cls, codes: Iterable[Any], lengths: Iterable[int]) -> Hierarchy:
        """Put codes, such as those of ICD-9, below their prefixes.

        Parameters
        ----------
        codes : iterable
            The codes, in order.
        lengths : iterable of int
            Prefix lengths in characters, at least 1 each. A code belongs to its prefixes that are
            shorter than itself.

        Returns
        -------
        Hierarchy
            The root is ``*``, inner nodes have names such as ``250*``.

        Examples
        --------
        >>> print(Hierarchy.prefixes(["250.83", "276", "E1"], lengths=(1, 3)))
        * (3 leaves)
          2* (2 leaves)
            250* (1 leaf)
              250.83
            276
          E* (1 leaf)
            E1
        """
        return cls(*sources.prefix_tree(codes, lengths))

    @classmethod
    def ranges(cls, codes: Iterable[Any], ranges: Iterable[str]) -> Hierarchy:
        """Put codes below their categories, and these below ranges, such as blocks and chapters.

        Parameters
        ----------
        codes : iterable
            The codes, in order, in lower or upper case.
        ranges : iterable of str
            Two bounds of equal length, such as ``I10-I15``, or one code, such as ``E11``, in any order.
            Nested ranges become levels.

        Returns
        -------
        Hierarchy
            The root is ``*``. A category is a shorter prefix, as long as the bounds, such as ``I10*``.

        Raises
        ------
        ParameterError, HierarchyError
            If a range is not in this form, or if two ranges overlap, but are not nested.

        Notes
        -----
        A code is in a range if its first characters, as many as a bound has, lie between the bounds, compared
        as text in upper case. Dots count as characters, and must be where the bound has them: ``8.45`` and
        ``10`` are not in ``001-139``. Codes in no range are directly below the root. Cost: a binary search
        for each code.

        Examples
        --------
        >>> print(Hierarchy.ranges(["I10", "I11.0", "x"], ["I00-I99", "I10-I15"]))
        * (3 leaves)
          I00-I99 (2 leaves)
            I10-I15 (2 leaves)
              I10
              I11* (1 leaf)
                I11.0
          x
        """
        return cls(*sources.range_tree(codes, ranges))

    @classmethod
    def icd10(cls, codes: Iterable[Any]) -> Hierarchy:
        """Put diagnoses of ICD-10 below their categories, blocks and chapters.

        Parameters
        ----------
        codes : iterable of str
            The codes, with or without dot, in lower or upper case.

        Returns
        -------
        Hierarchy
            As that of `ranges`.

        Notes
        -----
        The 22 chapters and 274 blocks are those of the WHO, version 2019. Codes that national versions add
        outside the ranges, such as ``K95``, are directly below the root.

        References
        ----------
        World Health Organization, "International Statistical Classification of Diseases and Related Health
        Problems, 10th Revision", version 2019, https://icd.who.int/browse10/2019/en.

        Examples
        --------
        >>> print(Hierarchy.icd10(["E11.9", "e110"]))
        * (2 leaves)
          E00-E90 (2 leaves)
            E10-E14 (2 leaves)
              E11* (2 leaves)
                E11.9
                e110
        """
        return cls.ranges(codes, sources.ICD10.split())

    @classmethod
    def icd9(cls, codes: Iterable[Any]) -> Hierarchy:
        """Put diagnoses of ICD-9-CM below their categories, sections and chapters.

        Parameters
        ----------
        codes : iterable of str
            The codes, with or without dot, in lower or upper case, and with leading zeros.

        Returns
        -------
        Hierarchy
            As that of `ranges`.

        Notes
        -----
        The 19 chapters and 154 sections are ranges; two chapters have no sections. Restore lost leading zeros
        first: ``10`` and ``8.45`` are directly below the root, and ``845`` for ``8.45`` is another code.

        References
        ----------
        Centers for Medicare & Medicaid Services, "ICD-9-CM Diagnosis and Procedure Codes", version 32, 2014.

        Examples
        --------
        >>> print(Hierarchy.icd9(["E849.0"]))
        * (1 leaf)
          E000-E999 (1 leaf)
            E846-E849 (1 leaf)
              E849* (1 leaf)
                E849.0
        """
        return cls.ranges(codes, sources.ICD9.split())

    @classmethod
    def atc(cls, codes: Iterable[Any]) -> Hierarchy:
        """Put drugs of the ATC of the WHO below their groups: prefixes of 5, 4, 3 and 1 characters.

        Parameters
        ----------
        codes : iterable of str
            The codes, in lower or upper case.

        Returns
        -------
        Hierarchy
            As that of `prefixes`.

        Examples
        --------
        >>> Hierarchy.atc(["A10BA02", "a10bb"]).names
        ('*', 'A*', 'A10*', 'A10B*', 'A10BA*', 'A10BA02', 'a10bb')
        """
        return cls(*sources.prefix_tree(codes, (1, 3, 4, 5), upper=True))

    @classmethod
    def paths(cls, items: Iterable[Any], separator: str) -> Hierarchy:
        """Put items that are paths of categories below the beginnings of their paths.

        Parameters
        ----------
        items : iterable of str
            The paths, such as ``food > fruit > apples``.
        separator : str
            The text between two names, with its blanks.

        Returns
        -------
        Hierarchy
            The root is ``*``; inner nodes have names such as ``food > fruit``.

        Raises
        ------
        ParameterError, HierarchyError
            If the separator is empty or no text, or if a path begins with it.

        Examples
        --------
        >>> Hierarchy.paths(["food/fruit/apples", "food/rice"], "/").names
        ('*', 'food', 'food/fruit', 'food/fruit/apples', 'food/rice')
        """
        return cls(*sources.path_tree(items, separator))

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int(self.leaves[0])

    @property
    def height(self) -> int:
        """Number of edges from the root to the deepest leaf."""
        return int(self.depth.max())

    @cached_property
    def is_leaf(self) -> Mask:
        """Whether each node is a leaf."""
        return sources.freeze(self.size == 1, np.bool_)

    @cached_property
    def size(self) -> Nodes:
        """Number of nodes of each subtree, including its root."""
        return self._sum_subtrees([1] * self.n_nodes)

    @cached_property
    def leaves(self) -> Nodes:
        """Number of leaves under each node; 1 for a leaf."""
        return self._sum_subtrees(self.is_leaf.astype(int).tolist())

    @cached_property
    def depth(self) -> Nodes:
        """Number of edges from the root to each node."""
        depth = [0] * self.n_nodes
        for node, above in enumerate(self.parent[1:].tolist(), start=1):
            depth[node] = depth[above] + 1
        return sources.freeze(depth, np.int32)

    @cached_property
    def node_paths(self) -> Nodes:
        """The node above each node on each level, and the node itself on its own; -1 below it."""
        paths = np.full((self.n_nodes, self.height + 1), -1, np.int32)
        for level in range(self.height + 1):
            nodes = np.flatnonzero(self.depth == level)
            paths[nodes] = paths[self.parent[nodes]]
            paths[nodes, level] = nodes
        return sources.freeze(paths, np.int32)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Published text of each node; all are distinct.

        It is the text of a leaf, and the name of an inner node. If a leaf has the same text, ``(category)``
        is appended to the name.
        """
        taken = set(self.names)
        nodes = [*zip(self.names, self.is_leaf.tolist(), strict=True)]
        leaves = {name for name, leaf in nodes if leaf}
        return tuple(
            sources.free_name(name, taken) if name in leaves and not leaf else name for name, leaf in nodes
        )

    def children(self, node: int) -> Nodes:
        """Return the children of a node, in order."""
        self._check_node(node)
        starts, nodes = self._children
        return nodes[starts[node] : starts[node + 1]]

    def ancestors_of(self, node: int) -> Nodes:
        """Return the nodes from a node up to the root, both included."""
        self._check_node(node)
        path = [node]
        while path[-1]:
            path.append(int(self.parent[path[-1]]))
        return np.array(path, np.int32)

    def cover(self, texts: Sequence[str], form: Form = TEXT) -> tuple[Hierarchy, Nodes]:
        """Find the leaf of each item, and refuse or add items without a leaf, depending on `missing`.

        Parameters
        ----------
        texts : sequence of str
            Texts of the items. Names of inner nodes are no items.
        form : Form
            Compare items and leaves by their texts, or by the values that the texts denote.

        Returns
        -------
        hierarchy : Hierarchy
            This hierarchy. With ``missing="root"``, items without a leaf are added as the last leaves below
            the root. Nodes keep their numbers.
        nodes : ndarray of int32, shape (items,)
            The leaf of each item, in the returned hierarchy.

        Raises
        ------
        HierarchyError
            If items have no leaf and ``missing`` is ``"error"``, or an item has leaves with different
            parents.
        """
        texts = read_list(texts, "texts")
        if not all(isinstance(text, str) for text in texts):
            raise ParameterError("texts must be a list of texts", where="texts")
        check_kind(form, Form, "form", "a Form of pdanon.hierarchy")
        leaf_of = form.leaves(self.names, self.parent, self.is_leaf)
        nodes = np.array([leaf_of.get(form.key(text), -1) for text in texts], np.int32)
        if (nodes >= 0).all():
            return self, nodes
        return self._add_missing(nodes < 0, texts, form.looks).cover(texts, form)

    @classmethod
    def over(cls, source: HierarchyLike, items: pa.Array) -> tuple[Hierarchy, Nodes]:
        """Build a hierarchy as `of`, and find the leaf of each item of a column."""
        check_kind(items, pa.Array, "items", "an Arrow array of items")
        return cls.of(source, item_texts(items).to_pylist()).cover_items(items)

    def cover_items(self, items: pa.Array) -> tuple[Hierarchy, Nodes]:
        """Find the leaf of each item of a column, as `cover` for texts.

        Parameters
        ----------
        items : pyarrow.Array
            Distinct items of any type. The text of a leaf is that of an item in a release, or as written by
            Arrow or pandas.

        Returns
        -------
        hierarchy, nodes : Hierarchy, ndarray of int32, shape (items,)
            As by `cover`. Added leaves have the texts of items in a release.

        Raises
        ------
        HierarchyError
            As by `cover`.
        """
        check_kind(items, pa.Array, "items", "an Arrow array of items")
        looks = TEXT.looks if is_text_type(items.type) else "the texts of items in a release"
        leaves = np.flatnonzero(self.is_leaf).astype(np.int32)
        item = find_items(pa.array([self.names[leaf] for leaf in leaves], pa.large_string()), items)
        leaves, item = leaves[item >= 0], item[item >= 0]
        nodes = np.full(len(items), -1, np.int32)
        nodes[item[::-1]] = leaves[::-1]  # the last assignment stays: the first leaf of an item
        refuse_torn(self.parent[nodes[item]] != self.parent[leaves], looks)
        if (nodes >= 0).all():
            return self, nodes
        return self._add_missing(nodes < 0, item_texts(items).to_pylist(), looks).cover_items(items)

    def _add_missing(self, is_missing: Mask, texts: Sequence[str], looks: str) -> Hierarchy:
        """Add items without a leaf below the root, or refuse them."""
        if self.missing == "error":
            hint = 'add them, or put them below the root: pdanon.Hierarchy.of(tree, missing="root")'
            got = f"{is_missing.sum()} of {len(texts)} items are not leaves, compared as {looks}"
            raise HierarchyError("the hierarchy does not cover the items", got=got, hint=hint)
        new = tuple(dict.fromkeys(texts[i] for i in np.flatnonzero(is_missing).tolist()))
        below_root = np.zeros(len(new), np.int32)
        return replace(self, names=self.names + new, parent=np.append(self.parent, below_root))

    def weights(self, items: Iterable[Any]) -> pd.Series[float]:
        """Weight items by their distance from each other, for ``weights=`` of `pcta`, `coat` and `upcta`.

        Parameters
        ----------
        items : iterable
            The items of a column. Duplicates are ignored.

        Returns
        -------
        pandas.Series
            The weight of each item, in [0, 1]: its mean distance from the other leaves. The distance of two
            leaves is the number of further leaves below their lowest common ancestor, as a share of all other
            leaves. Items that are similar to many others have a low weight. So they are merged first.

        Raises
        ------
        HierarchyError, ItemsetDtypeError, ParameterError
            If items have no leaf, as in `cover`; if it is no list of items, or they have several types.

        Examples
        --------
        >>> tree = Hierarchy.from_dict({"*": {"drink": ["tea", "milk", "ale"], "food": ["rice"]}})
        >>> tree.weights(["tea", "milk", "rice"]).round(3).to_dict()
        {'tea': 0.778, 'milk': 0.778, 'rice': 1.0}
        """
        found = item_array(items, "items").unique()
        tree, nodes = self.cover_items(found)
        below, others = tree.leaves.astype(np.int64), max(tree.n_leaves - 1, 1)
        total = [0] * tree.n_nodes  # the distances of a leaf below the node from all leaves that are not
        for node, above in enumerate(tree.parent[1:].tolist(), start=1):
            total[node] = total[above] + int((below[above] - below[node]) * (below[above] - 1))
        weights = np.array(total, np.float64)[nodes] / others**2
        return pd.Series(weights, pd.Index(found.to_pylist()), name="weight")

    def to_frame(self) -> pd.DataFrame:
        """Tabulate the ARX rows.

        Returns
        -------
        pandas.DataFrame
            One row per leaf. Column ``level0`` is the leaf, the others are its ancestors up to the root, as
            text, missing above the root.
        """
        names = np.array([*self.names, None], object)  # node -1, above the root, selects the last entry
        nodes, above, columns = np.flatnonzero(self.is_leaf), np.append(self.parent, -1), {}
        for level in range(self.height + 1):
            columns[f"level{level}"] = text_column(names[nodes])
            nodes = above[nodes]  # -1 selects the last entry, and stays -1
        return pd.DataFrame(columns)

    def to_csv(self, path: FilePath, *, delimiter: str = ";") -> None:
        """Write the ARX layout, which `from_csv` reads back.

        Parameters
        ----------
        path : str or path-like
            The file, written whole or not at all. An existing file is replaced.
        delimiter : str
            The delimiter of fields.
        """
        paths = (self.ancestors_of(leaf) for leaf in np.flatnonzero(self.is_leaf).tolist())
        sources.write_csv(([self.names[node] for node in each] for each in paths), path, delimiter)

    def __repr__(self) -> str:
        counts = f"nodes={self.n_nodes}, leaves={self.n_leaves}, height={self.height}"
        return f"Hierarchy({counts}, missing={self.missing!r})"

    def __str__(self) -> str:
        return "\n".join("  " * depth + text for depth, text, _ in _outline(self))

    def _repr_html_(self) -> str:
        parts, unclosed = [], 0
        for depth, text, is_open in _outline(self):
            parts.append("</details>" * (unclosed - depth))
            tag = "<details open><summary>{}</summary>" if is_open else "<div>{}</div>"
            parts.append(tag.format(escape_html(text)))
            unclosed = depth + is_open
        return "".join(parts) + "</details>" * unclosed

    @cached_property
    def _children(self) -> tuple[Offsets, Nodes]:
        starts = offsets_of(np.bincount(self.parent[1:], minlength=self.n_nodes))
        return starts, sources.freeze(np.argsort(self.parent, kind="stable")[1:], np.int32)

    def _sum_subtrees(self, own: list[int]) -> Nodes:
        """Sum a number of each node over each subtree. Modifies the list ``own``."""
        above = self.parent.tolist()
        for node in range(self.n_nodes - 1, 0, -1):
            own[above[node]] += own[node]
        return sources.freeze(own, np.int32)

    def _check_node(self, node: Any) -> None:
        if not is_integer(node) or not 0 <= node < self.n_nodes:
            got = f"{describe(node)}, {self.n_nodes} nodes"
            raise ParameterError("there is no such node", where="node", got=got)


# --- Domain exclusiveness: of a node and a node above it, at most one is published


def nested_labels(itemsets: Itemsets, tree: Hierarchy) -> pd.DataFrame:
    """List the labels of some rows that are below another label of some rows, as pairs, in pre-order."""
    # Labels that the hierarchy lacks, such as sensitive items, are ignored.
    supports = np.zeros(tree.n_nodes + 1, np.int64)
    texts = item_texts(itemsets.vocabulary)
    node = find_items(texts, pa.array(tree.labels, texts.type))
    supports[node] = SupportIndex.of(itemsets).singles
    supports[-1] = 0  # those of other labels
    published = np.flatnonzero(supports)
    paths = tree.node_paths[published]
    rows, levels = np.nonzero((supports[paths] > 0) & (paths != published[:, np.newaxis]))
    above, below = paths[rows, levels], published[rows]
    order = np.lexsort((below, above))
    above, below = above[order], below[order]
    names = np.array([*tree.labels], object)
    return pd.DataFrame(
        {
            "label": pd.Series(names[above], dtype="str"),
            "support": supports[above],
            "below": pd.Series(names[below], dtype="str"),
            "support_below": supports[below],
        }
    )
