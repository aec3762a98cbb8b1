"""What pandas 2 and 3 do in different ways, said once: copies, text, and columns on their way to Arrow.

A shallow copy shares its values with the frame in pandas 2, and in pandas 3 only until one of them changes.
pandas 3 has a type for text, ``str``; for pandas 2 text is objects, and ``dtype="str"`` would make "None" of
what is missing. pandas 2 compares such objects up to a NUL, so that Arrow has to. A Series that is given to
Arrow is one buffer in pandas 3, and in pandas 2 a sequence of Python objects.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

__all__ = ["arrow_values", "as_pandas_writes", "number_texts", "own_copy", "text_column"]

_COPIES_ON_WRITE = int(pd.__version__.partition(".")[0]) >= 3


def own_copy(frame: pd.DataFrame) -> pd.DataFrame:
    """A copy of a frame that no later change of the frame reaches: a release stays what was audited."""
    return frame.copy(deep=not _COPIES_ON_WRITE)


def arrow_values(column: pd.Series[Any]) -> pa.ChunkedArray:
    """The values of a column as Arrow has them, of whatever dtype."""
    values = pa.array(column)
    return values if isinstance(values, pa.ChunkedArray) else pa.chunked_array([values])


def number_texts(texts: pa.Array) -> NDArray[np.int64]:
    """Number texts in the order in which they come, -1 where they are missing."""
    return np.array(texts.dictionary_encode().indices.fill_null(-1), np.int64)


def text_column(values: Any) -> pd.api.extensions.ExtensionArray:
    """Texts, with None or NA where they are missing, as a column of the dtype that pandas gives to text."""
    dtype = pd.Series([""]).dtype
    if pd.api.types.is_object_dtype(dtype) and isinstance(values, (pa.Array, pa.ChunkedArray)):
        values = values.to_numpy(zero_copy_only=False)
    column: pd.api.extensions.ExtensionArray = pd.array(values, dtype=dtype)
    return column


def as_pandas_writes(values: pa.Array) -> pa.Array:
    """Values as large Arrow text, each as pandas writes it; what is missing or no number is missing."""
    objects = pd.Series(values, dtype=pd.ArrowDtype(values.type)).astype("object").to_numpy()
    texts = np.array([str(each) for each in objects], object)
    return pa.array(texts, pa.large_string(), mask=pd.isna(objects))
