"""Links of a release: the person of each row as a keyed hash, in a file beside it that is not published."""

from __future__ import annotations

import hmac
import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from secrets import token_bytes

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from pdanon.errors import ColumnError, FormatError, ParameterError, read_safely
from pdanon.io.long import read_items
from pdanon.io.tables import read_columns, write_plain
from pdanon.itemsets.codes import item_texts
from pdanon.itemsets.columns import list_column
from pdanon.itemsets.multisets import read_visible

_SIZE = 32  # bytes of a secret key, as many as of a hash
_COLUMNS = ["person", "labels", "secret"]


def person_texts(persons: pd.DataFrame) -> list[str]:
    """Return the person of each row as text, from the columns that identify a person together."""
    columns = []
    for name in persons.columns:
        texts = None
        with suppress(pa.ArrowException, TypeError):
            items = read_items(persons[name])
            items = items.dictionary_decode() if pa.types.is_dictionary(items.type) else items
            texts = item_texts(items).to_pylist()
        if texts is None:  # raised outside the handler, whose error may show a value
            hint = "convert the column to numbers or text"
            where, got = f"column {name!r}", str(persons[name].dtype)
            raise ColumnError("links need persons that have a text", where=where, got=got, hint=hint)
        columns.append(texts)
    return [*map(json.dumps, zip(*columns, strict=True))]


def link_files(
    persons: list[str], frame: pd.DataFrame, column: str | None, links: Path, secret: Path
) -> dict[Path | str, Callable[[Path], object]]:
    """Return the functions that write the links of a release, and its secret key if that is a new one.

    Links have three columns: ``person``, an HMAC-SHA-256 of the text of `person_texts`; ``labels``, the
    number of labels of the row, which tells releases apart; and ``secret``, a hash that tells secret keys
    apart.
    """
    is_known = secret.exists()
    key = read_secret(secret) if is_known else token_bytes(_SIZE)
    values = {
        "person": [_hash(text, key) for text in persons],
        "labels": _count_labels(frame, column),
        "secret": _hash("", key),  # the text of a person is never empty
    }
    files: dict[Path | str, Callable[[Path], object]] = {links: partial(write_plain, pd.DataFrame(values))}
    if not is_known:
        files[secret] = lambda path: path.write_text(f"{key.hex()}\n", encoding="ascii")
    return files


def read_secret(path: Path) -> bytes:
    """Read the secret key of a series of releases."""
    text = read_safely(path.read_bytes, path, "a secret key").strip()
    key = b""
    with suppress(ValueError):
        key = bytes.fromhex(text.decode("ascii"))
    if len(key) != _SIZE:
        hint = "pass the file that the first release of the series wrote, or a new path"
        raise FormatError("the file holds no secret key", where=str(path), hint=hint)
    return key


def read_links(path: Path, frame: pd.DataFrame, column: str | None) -> pd.DataFrame:
    """Read the links of a release, and check that they are of its rows."""
    links = read_columns(path, _COLUMNS)
    if not np.array_equal(links["labels"].to_numpy(), _count_labels(frame, column)):
        hint = "pass the links of each release in the order of the releases; do not reorder rows of a release"
        raise ParameterError("these are the links of other rows", where=str(path), hint=hint)
    return links


def persons_of(links: list[pd.DataFrame]) -> list[pd.Series[str]]:
    """Return the persons of each release, if all links have the same secret key."""
    if len({text for each in links for text in map(str, each["secret"])}) > 1:
        hint = "release them again with one secret key: --secret FILE"
        raise ParameterError("links with several secret keys link nobody", where="--links", hint=hint)
    return [each["person"] for each in links]


def _hash(text: str, secret: bytes) -> str:
    return hmac.digest(secret, text.encode(), "sha256").hex()


def _count_labels(frame: pd.DataFrame, column: str | None) -> NDArray[np.int64]:
    return np.diff(read_visible(list_column(frame, column)).offsets)
