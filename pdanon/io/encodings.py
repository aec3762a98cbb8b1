"""Encodings of text files: which there are, and where a file is in another one."""

from __future__ import annotations

import codecs
from pathlib import Path

import pyarrow as pa

from pdanon.errors import ParameterError
from pdanon.itemsets.values import quoted

__all__ = ["check_encoding", "line_not_in"]

_CHUNK = 2**20  # bytes


def check_encoding(encoding: str) -> str:
    """Check that there is an encoding, of text."""
    try:
        known = codecs.lookup(encoding)
        if known._is_text_encoding:
            return known.name
    except (LookupError, TypeError, ValueError):
        pass
    hint = "such as utf-8, latin-1 or cp1252"
    raise ParameterError("there is no such encoding", where="encoding", got=quoted(encoding), hint=hint)


def line_not_in(path: Path | str, encoding: str) -> int | None:
    """The first line of a file, from 1 on, that is not in an encoding, if there is one."""
    decoder, line = codecs.getincrementaldecoder(encoding)(), 1
    with pa.input_stream(str(path)) as file:  # which unpacks what ends in .gz
        while True:
            chunk = file.read(_CHUNK)
            try:
                line += decoder.decode(chunk, final=not chunk).count("\n")
            except UnicodeDecodeError as error:
                return line + error.object[: error.start].decode(encoding, "replace").count("\n")
            if not chunk:
                return None
