"""The dtype of lists: Arrow's, under a name that pandas can read again.

pandas calls a column of Arrow lists ``list<item: string>[pyarrow]``, ``DataFrame.to_parquet`` notes that in
the file, and ``pandas.read_parquet`` refuses it: pandas has no dtype of that name. What is noted is
``str(dtype)``. Here that is ``object``, as pandas calls lists that it made itself, so that whoever receives a
file can read it, without pdanon and without an option.
"""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

__all__ = ["ListArray", "ListDtype", "is_list_type", "is_text_type"]


def is_list_type(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is one of the list types."""
    return bool(
        pa.types.is_list(kind)
        or pa.types.is_large_list(kind)
        or pa.types.is_fixed_size_list(kind)
        or pa.types.is_list_view(kind)
        or pa.types.is_large_list_view(kind)
    )


def is_text_type(kind: pa.DataType) -> bool:
    """Tell whether an Arrow type is text."""
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


class ListDtype(pd.ArrowDtype):
    """An ``ArrowDtype`` of lists, and equal to it, but for ``str(dtype)``, which is ``object``.

    Parameters
    ----------
    pyarrow_dtype : pyarrow.DataType
        One of the list types.

    Examples
    --------
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
        """The class of the columns."""
        return ListArray


class ListArray(pd.arrays.ArrowExtensionArray):
    """A column of lists.

    Parameters
    ----------
    values : pyarrow.Array or pyarrow.ChunkedArray
        The lists. What pandas makes of them with this class, such as the items alone, has pandas' own dtype.
    """

    def __init__(self, values: pa.Array | pa.ChunkedArray) -> None:
        super().__init__(values)
        if is_list_type(values.type):
            self._dtype: Any = ListDtype(values.type)
