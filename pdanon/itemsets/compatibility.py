"""Differences between pandas 2 and 3: copies, text, and conversion to Arrow.

In pandas 2 a shallow copy shares its values with the frame; in pandas 3 only until one of them changes.
pandas 3 has a dtype for text, ``str``. In pandas 2 text is objects: ``dtype="str"`` would turn missing values
into "None", and comparisons stop at a NUL, so Arrow compares. For Arrow, a Series is one buffer in pandas 3,
and a sequence of Python objects in pandas 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

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
