"""Types of columns: the dtype of lists, and differences between pandas 2 and 3."""

# ``DataFrame.to_parquet`` notes ``str(dtype)`` in the file. For Arrow lists that is ``list<item:
# string>[pyarrow]``, which ``pandas.read_parquet`` refuses: pandas has no dtype of that name. The dtype of
# lists is Arrow's, but its ``str(dtype)`` is ``object``, the name of pandas' own lists. So anyone can read
# the file, without pdanon and without an option.

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray


def is_list_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is one of the list types."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def is_text_type(kind: pa.DataType) -> bool:
    """Return whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def bare_field(field: pa.Field) -> pa.Field:
    """Drop the metadata of a field, and of the fields within its type."""
    kind = field.type
    if pa.types.is_struct(kind):
        kind = pa.struct([bare_field(kind.field(position)) for position in range(kind.num_fields)])
    elif pa.types.is_map(kind):
        kind = pa.map_(bare_field(kind.key_field), bare_field(kind.item_field), kind.keys_sorted)
    elif pa.types.is_fixed_size_list(kind):
        kind = pa.list_(bare_field(kind.value_field), kind.list_size)
    elif is_list_type(kind):
        makers = {"list": pa.list_, "large_list": pa.large_list, "list_view": pa.list_view}
        kind = makers.get(type_name(kind), pa.large_list_view)(bare_field(kind.value_field))
    return field.with_type(kind).remove_metadata()


def type_name(dtype: Any) -> str:
    """Return the name of a dtype or Arrow type for messages, without its parameters, which may be data."""
    kind = getattr(dtype, "pyarrow_dtype", dtype)
    if isinstance(kind, pa.BaseExtensionType):
        return str(kind.extension_name)
    return str(dtype).split("<")[0].split("[")[0]


class ListDtype(pd.ArrowDtype):
    """An ``ArrowDtype`` of lists whose ``str(dtype)`` is ``object``; equal to that ``ArrowDtype``.

    >>> import pandas as pd, pyarrow as pa
    >>> from pdanon.itemsets.dtype import ListDtype
    >>> texts = ListDtype(pa.list_(pa.string()))
    >>> texts, str(texts), texts == pd.ArrowDtype(pa.list_(pa.string()))
    (list<item: string>[pyarrow], 'object', True)
    """

    def __str__(self) -> str:
        return "object"

    def __eq__(self, other: object) -> bool:
        return bool(self._plain == (other._plain if isinstance(other, ListDtype) else other))

    def __hash__(self) -> int:
        return hash(self._plain)

    @property
    def _plain(self) -> pd.ArrowDtype:
        return pd.ArrowDtype(self.pyarrow_dtype)

    @classmethod
    def construct_array_type(cls) -> type[ListArray]:
        """Return the class of the columns."""
        return ListArray


class ListArray(pd.arrays.ArrowExtensionArray):
    """A column of lists. pandas also builds arrays of other types with this class, with pandas' own dtype."""

    def __init__(self, values: pa.Array | pa.ChunkedArray) -> None:
        super().__init__(values)
        if is_list_type(values.type):
            self._dtype: Any = ListDtype(values.type)


# --- Differences between pandas 2 and 3: copies, text, and conversion to Arrow
#
# In pandas 2 a shallow copy shares its values with the frame; in pandas 3 only until one of them changes.
# pandas 3 has a dtype for text, "str". In pandas 2 text is objects: dtype="str" would turn missing values
# into "None", and comparisons stop at a NUL, so Arrow compares. For Arrow, a Series is one buffer in pandas
# 3, and a sequence of Python objects in pandas 2.


_COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3


def copy_frame(frame: pd.DataFrame) -> pd.DataFrame:
    """Copy a frame, independent of its later changes: a release must stay as it was audited."""
    return frame.copy(deep=not _COPIES_ON_WRITE)


def arrow_values(column: pd.Series[Any]) -> pa.ChunkedArray:
    """Convert a column of any dtype to Arrow."""
    if isinstance(column.dtype, pd.SparseDtype):
        column = column.astype(column.dtype.subtype)
    values = pa.array(column)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def number_texts(texts: pa.Array) -> NDArray[np.int64]:
    """Number texts in order of first appearance; -1 where they are missing."""
    return np.array(texts.dictionary_encode().indices.fill_null(-1), np.int64)


def text_column(values: Any) -> pd.api.extensions.ExtensionArray:
    """Convert texts, with None or NA for missing ones, to the dtype that pandas gives to text."""
    dtype = pd.Series([""]).dtype
    column: pd.api.extensions.ExtensionArray = pd.array(values, dtype=dtype)
    return column


def as_pandas_writes(values: pa.Array) -> pa.Array:
    """Write values as large Arrow text, each as pandas writes it. Missing values and NaN are missing."""
    objects = pd.Series(values, dtype=pd.ArrowDtype(values.type)).astype("object").to_numpy()
    texts = np.array([str(each) for each in objects], object)
    return pa.array(texts, pa.large_string(), mask=pd.isna(objects))
