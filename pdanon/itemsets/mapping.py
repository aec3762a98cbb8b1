"""Mapping tables: their labels, and their application to rows."""

from __future__ import annotations

import re
from collections.abc import Hashable, Mapping
from contextlib import suppress

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from pdanon.errors import ItemsetDtypeError, ParameterError
from pdanon.itemsets.arguments import called_by_name
from pdanon.itemsets.codes import Codes, Itemsets, Numbers, find_items, item_texts
from pdanon.itemsets.columns import find_column, with_column
from pdanon.itemsets.dtype import arrow_values, is_text_type, number_texts
from pdanon.itemsets.lists import find_numbers, item_type, offsets_of, to_numpy
from pdanon.itemsets.validation import check_known

_COLUMNS = ("group", "item", "generalized")


def check_mapping(mapping: pd.DataFrame) -> pd.DataFrame:
    """Check that a mapping table is a frame with the columns of one, and return it."""
    hint = "pass the second part of a result: frame, mapping = df.txanon.pcta(...)"
    if not isinstance(mapping, pd.DataFrame):
        if isinstance(mapping, Mapping):
            hint = "for a dict of labels, call frame['items'].itemset.generalize(mapping)"
        got = type(mapping).__name__
        raise ParameterError("the mapping must be a pandas DataFrame", where="mapping", got=got, hint=hint)
    missing = set(_COLUMNS) - set(mapping.columns)
    if missing:
        if missing == {"group"}:
            hint = "for a mapping of all rows, pass mapping.assign(group=0)"
        raise ParameterError("the mapping lacks columns", where="mapping", got=sorted(missing), hint=hint)
    repeated = [name for name in _COLUMNS if list(mapping.columns).count(name) > 1]
    if repeated:
        raise ParameterError("the mapping has columns twice", where="mapping", got=repeated, hint=hint)
    return mapping


def global_mapping(mapping: pd.DataFrame) -> tuple[pa.Array, pa.DictionaryArray]:
    """Read a mapping table of a global recoding: the item of each line, and its label by `mapping_labels`."""
    check_mapping(mapping)
    if not (mapping["group"] == 0).fillna(False).all():
        hint = "a local recoding maps an item differently by group and cannot be applied to other rows"
        raise ParameterError("the mapping is not global", where="mapping", hint=hint)
    items = mapping_values(mapping, "item")
    lists = pa.LargeListArray.from_arrays(np.arange(len(items) + 1), items)
    itemsets = Itemsets.from_arrow(lists)
    if itemsets.n_items != len(items):
        doubles = len(items) - itemsets.n_items
        got = f"{doubles} repeated items"
        raise ParameterError("an item is mapped more than once", where="mapping", got=got)
    items = itemsets.vocabulary.take(pa.array(itemsets.codes))
    return items, mapping_labels(mapping, items.type)


def mapping_labels(mapping: pd.DataFrame, kind: pa.DataType) -> pa.DictionaryArray:
    """Read the labels of a mapping table, as codes into the distinct labels; null where suppressed."""
    # Labels have the type of the items if these are only suppressed, and are text otherwise. Each distinct
    # label is stored once: labels can be long.
    encoded = values = mapping_values(mapping, "generalized")
    if not pa.types.is_dictionary(values.type):
        with suppress(pa.ArrowException):  # lists cannot be encoded, and are refused below
            encoded = values.dictionary_encode()
    if not pa.types.is_dictionary(encoded.type):
        raise _wrong_type("generalized", f"type {str(values.type).split('<')[0]}")
    labels, kind = encoded.dictionary, item_type(kind)
    # pandas reads the integers of a CSV file as floats if some are missing.
    whole = pa.types.is_integer(kind) and pa.types.is_floating(labels.type)
    own = labels.type == kind or pa.types.is_null(labels.type) or whole
    cast = None
    with suppress(pa.ArrowException):
        cast = labels.cast(kind) if own and not is_text_type(kind) else item_texts(labels).cast(pa.string())
    if cast is None:
        raise _wrong_type("generalized", f"type {str(labels.type).split('<')[0]}")
    return pa.DictionaryArray.from_arrays(encoded.indices, cast)


def mapping_values(mapping: pd.DataFrame, name: str) -> pa.Array:
    """Return a column of a mapping table as one Arrow array."""
    with suppress(pa.ArrowException, ArithmeticError, TypeError, ValueError):
        values = arrow_values(mapping[name])
        return values.chunk(0) if values.num_chunks == 1 else values.combine_chunks()  # which copies one, too
    # Raised outside the handler: the chained error of Arrow shows a value.
    raise _wrong_type(name, "several types")


def _wrong_type(name: str, got: str) -> ItemsetDtypeError:
    what = "items must have one type" if name == "item" else "labels must be text, or have the items' type"
    return ItemsetDtypeError(what, where=f"mapping, column {name}", got=got)


@called_by_name
def apply_mapping(
    frame: pd.DataFrame, mapping: pd.DataFrame, column: Hashable | None = None, *, unseen: str = "error"
) -> pd.DataFrame:
    """Recode new rows with the mapping table of an earlier release.

    Parameters
    ----------
    frame : pandas.DataFrame
        New rows, with original items.
    mapping : pandas.DataFrame
        The mapping table of a global recoding.
    column : hashable, optional
        The list column. By default the only one.
    unseen : {"error", "suppress"}
        Refuse items that the mapping lacks, or suppress them.

    Returns
    -------
    pandas.DataFrame
        The frame with recoded lists. All other columns stay.

    Raises
    ------
    ParameterError
        If the mapping is not global, or lacks an item and ``unseen`` is ``"error"``.

    Notes
    -----
    The result alone has no guarantee. Audit the table that will be published, such as the union of this
    frame and the earlier release. With ``unseen="suppress"``, also audit the rows with an unseen item alone:
    knowledge of that item excludes all earlier rows.

    Missing rows become empty if the mapping suppresses an item, or unseen items are suppressed.

    Examples
    --------
    >>> import pandas as pd, pdanon
    >>> df = pd.DataFrame({"items": [["rice", "tea"], ["salt", "tea"], ["rice"], ["salt"]]})
    >>> frame, mapping = df.txanon.pcta(k=2, m=2)
    >>> new = pd.DataFrame({"items": [["salt"], ["tea"]]})
    >>> union = pd.concat([frame, pdanon.apply_mapping(new, mapping)], ignore_index=True)
    >>> union.txanon.audit(pdanon.KmAnonymity(k=2, m=2)).holds
    True
    """
    check_known(unseen, ("error", "suppress"), "treatment of unseen items", where="unseen")
    position = find_column(frame, column)
    itemsets = Itemsets.from_series(frame.iloc[:, position])
    items, labels = global_mapping(mapping)
    unknown = find_items(itemsets.vocabulary, items) < 0
    if unseen == "error" and unknown.any():
        rows = len(np.unique(itemsets.rows[unknown[itemsets.codes]]))
        raise ParameterError(
            "the frame holds items that the mapping lacks",
            got=f"{int(unknown.sum())} items in {rows} rows",
            hint="pass unseen='suppress' to remove them, or the mapping of this column",
        )
    suppresses = unseen == "suppress" or labels.null_count > 0
    released = relabel(itemsets, items, labels, missing_as_empty=suppresses)
    return with_column(frame, position, released.to_pandas())


def relabel(
    itemsets: Itemsets, items: pa.Array, labels: pa.DictionaryArray, *, missing_as_empty: bool
) -> Itemsets:
    """Recode a column with the result of `global_mapping`. Suppress items that the mapping lacks."""
    # The caller decides whether missing rows become empty, as items of other rows may be suppressed.
    if missing_as_empty:
        itemsets = itemsets.missing_as_empty()
    line = find_items(itemsets.vocabulary, items)
    became = labels.indices.take(pa.array(line, mask=line < 0))
    targets = to_numpy(became.fill_null(-1)).astype(np.int32)
    return itemsets.recode(targets, labels.dictionary)


def relabel_by_groups(
    itemsets: Itemsets, groups: Codes, items: pa.Array, mapping: pd.DataFrame, *, keeps_type: bool
) -> Itemsets | None:
    """Recode rows of groups with a mapping table."""
    # ``items`` are all mapped items, and ``keeps_type`` tells whether labels have their type. The caller
    # decides whether missing rows become empty. Return None if an item is not mapped in its group.
    labels, n_items = mapping_labels(mapping, items.type), len(items)
    cells = mapping["group"].to_numpy() * n_items + find_items(mapping_values(mapping, "item"), items)
    known = find_items(itemsets.vocabulary, items)
    wanted = groups[itemsets.rows].astype(np.int64) * n_items + known[itemsets.codes]
    if (known < 0).any():
        return None
    entries = find_numbers(cells, wanted)
    if (entries < 0).any():
        return None
    targets = to_numpy(labels.indices.fill_null(-1)).astype(np.int32)
    # Labels that are items are of any text type.
    vocabulary = labels.dictionary.cast(items.type) if keeps_type else labels.dictionary
    return itemsets.relabel(targets[entries], vocabulary)


def is_kept(mapping: pd.DataFrame) -> pd.Series[bool]:
    """Mark the entries of a mapping whose items are published as they are."""
    # In a local recoding an item has a line in each group: each distinct one is looked up once.
    items = mapping_values(mapping, "item").dictionary_encode()
    labels = mapping_labels(mapping, items.type.value_type)
    numbers = number_texts(labels)
    own = find_items(items.dictionary, labels.dictionary)[items.indices]
    return pd.Series((own == numbers) & (numbers >= 0), index=mapping.index)


def only_deletes(mapping: pd.DataFrame) -> bool:
    """Return whether items are published as they are, or not at all."""
    return bool((is_kept(mapping) | mapping["generalized"].isna()).all())


def has_one_label(mapping: pd.DataFrame) -> bool:
    """Return whether each item has the same label in all groups that do not suppress it."""
    published = mapping.loc[mapping["generalized"].notna(), ["item", "generalized"]]
    return not published.drop_duplicates()["item"].duplicated().any()


def without_deletions(mapping: pd.DataFrame) -> tuple[pd.DataFrame, pa.Array]:
    """Return the mapping as if no row of a local recoding lost items, and the items that some rows lost."""
    check_mapping(mapping)
    if (mapping["group"] == 0).all() or not has_one_label(mapping):
        return mapping, mapping_values(mapping.iloc[:0], "item")
    lost = mapping["generalized"].isna()
    items = mapping_values(mapping[lost], "item")
    whole = mapping.iloc[np.argsort(lost, kind="stable")].drop_duplicates("item")
    own = whole["item"].astype(whole["generalized"].dtype)  # that no row keeps
    return whole.assign(group=0, generalized=whole["generalized"].fillna(own)), items


def changes(mapping: pd.DataFrame) -> pd.DataFrame:
    """Count the items and occurrences of a mapping that were kept, generalized and suppressed."""
    # Columns are ``items, occurrences``; rows ``kept, generalized, suppressed``. An item counts once in each
    # group of a local recoding.
    suppressed = mapping["generalized"].isna().to_numpy(bool)
    kinds = np.select([suppressed, is_kept(mapping)], ["suppressed", "kept"], "generalized")
    supports = mapping["support"].groupby(kinds)
    table = pd.DataFrame({"items": supports.size(), "occurrences": supports.sum()})
    return table.reindex(["kept", "generalized", "suppressed"], fill_value=0).astype("int64")


def label_sizes(mapping: pd.DataFrame) -> pd.Series[int]:
    """Count the items of each published label: the largest first, then by label."""
    labels = mapping_labels(mapping, mapping_values(mapping, "item").type)
    numbers = number_texts(labels)
    items = mapping["item"].groupby(np.where(numbers < 0, np.nan, numbers)).nunique().astype("int64")
    texts = np.array(item_texts(labels.dictionary).to_pylist(), object)[items.index.astype(int)]
    items.index = pd.Index(texts, dtype=object, name="generalized")
    return items.sort_index().sort_values(ascending=False, kind="stable")


# --- The notation of sets in labels: (a,b)
#
# Matching parentheses within an item stay unescaped, and so does the text between them:
# (Asthma (disorder),Pneumonia (disorder)). Characters that would be ambiguous are escaped by a backslash: a
# parenthesis without a match, a comma outside parentheses, and a backslash.


_MARK = re.compile(r"[\\,()]")
_MISSING = "<NA>"
_TOKEN = re.compile(r"\\(?:[\\,()]|<NA>)|[(),]|[^\\(),]+")


def set_labels(texts: pa.Array, members: Numbers, sizes: Numbers) -> pa.Array:
    """Return the label of each set of items: the text of a single item, or ``(a,b)`` in item order."""
    # A label that equals the text of an item gets another pair of parentheses. So labels are distinct, and
    # the text of an item always means that item. A missing member is ``<NA>``; an item with that text is
    # escaped. ``members`` are the items of the sets, set after set; each set has at least one.
    texts = item_texts(texts)
    opening, comma, closing, nothing = (pa.scalar(mark, pa.large_string()) for mark in ("(", ",", ")", ""))
    offsets = offsets_of(sizes)
    # Only items that hold a mark are visited one by one.
    marked = pc.or_kleene(pc.match_substring_regex(texts, _MARK.pattern), pc.equal(texts, _MISSING))
    marked = marked.fill_null(False)
    others = pa.array([_escape_member(text) for text in texts.filter(marked).to_pylist()], pa.large_string())
    escaped = pc.replace_with_mask(texts, marked, others).fill_null(_MISSING)
    lists = pa.LargeListArray.from_arrays(offsets, escaped.take(pa.array(members)))
    labels = pc.binary_join_element_wise(opening, pc.binary_join(lists, comma), closing, nothing)
    while (taken := pc.is_in(labels, value_set=texts)).true_count:
        enclosed = pc.binary_join_element_wise(opening, labels, closing, nothing)
        labels = pc.if_else(taken, enclosed, labels)
    alone = pa.array(np.where(sizes == 1, members[offsets[:-1]], -1), mask=sizes > 1)
    return pc.coalesce(texts.take(alone), labels).cast(pa.string())


def label_members(label: str) -> list[str]:
    """Parse the label of a set, as `set_labels` writes it; return no members for other texts."""
    # In labels of earlier releases, every mark within a member is escaped. These are read, too.
    tokens = _TOKEN.findall(label)
    if "".join(tokens) != label:
        return []
    while len(tokens) > 1 and tokens[0] == "(" and tokens[-1] == ")":
        tokens = tokens[1:-1]
        members, depth = [""], 0
        for token in tokens:
            depth += (token == "(") - (token == ")")
            if depth < 0:
                return []
            if token == "," and not depth:
                members.append("")
            else:
                members[-1] += token[1:] if token[0] == "\\" else token
        if depth:
            return []
        if len(members) > 1:
            return members
    return []


def _escape_member(text: str) -> str:
    """Escape the marks of an item that would be read as notation."""
    if text == _MISSING:
        return f"\\{text}"
    marks = [(mark.start(), mark[0]) for mark in _MARK.finditer(text)]
    opened, matching = [], set()
    for place, mark in marks:
        if mark == "(":
            opened.append(place)
        elif mark == ")" and opened:
            matching |= {opened.pop(), place}
    parts, depth, done = [], 0, 0
    for place, mark in marks:
        if place in matching:
            depth += 1 if mark == "(" else -1
        elif mark != "," or not depth:
            parts += [text[done:place], "\\"]
            done = place
    return "".join([*parts, text[done:]])
