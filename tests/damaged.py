"""Damaged Parquet files by number, and what readers make of them, each in a process that may be killed by it.

``python damaged.py first last`` tells which file it begins with, and what is wrong with what came of it.
"""

from __future__ import annotations

import io
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import pdanon
import pdanon.stream
from pdanon.errors import FormatError, InfeasibleError, ItemsetDtypeError, PdanonError
from pdanon.io.trees import ParquetTree

KINDS = {
    "text": pa.list_(pa.string()),
    "large": pa.large_list(pa.large_string()),
    "codes": pa.list_(pa.dictionary(pa.int32(), pa.string())),
    "short codes": pa.list_(pa.dictionary(pa.int16(), pa.large_string())),
    "numbers": pa.list_(pa.int64()),
}
DAMAGES = ["flip", "flip", "flip", "footer", "cut", "gap", "length"]


def lists_of(rows, kind):
    """Lists of a type, of which older versions of Arrow cannot build all from Python objects."""
    return pa.array(rows).cast(kind)


def whole(rng):
    """A small table, and the bytes of a file of it, of any layout that Parquet has for it."""
    size, items = (rng.integers(1, 150), 30) if rng.random() < 0.9 else (1000, 300)
    drawn = [rng.integers(items, size=rng.integers(5)).tolist() for _ in range(size)]
    kind = list(KINDS)[rng.integers(len(KINDS))]
    if kind != "numbers":
        drawn = [[f"ä {item:03d}" for item in row] for row in drawn]
    rows = [None if rng.random() < 0.05 else row for row in drawn]
    note = [f"é{number % 7}" for number in range(size)]
    table = pa.table({"note": note, "items": lists_of(rows, KINDS[kind]), "n": np.arange(size)})
    file = io.BytesIO()
    has_checksums = bool(rng.integers(2))
    pq.write_table(
        table,
        file,
        compression=rng.choice(["none", "snappy"]),
        use_dictionary=bool(rng.integers(3)),
        row_group_size=int(rng.choice([1, 7, 50, 2000])),
        data_page_size=int(rng.choice([1, 64, 1024, 2**20])),
        write_batch_size=int(rng.choice([1, 8, 1024])),
        data_page_version=rng.choice(["1.0", "2.0"]),
        dictionary_pagesize_limit=int(rng.choice([16, 1024, 2**20])),
        write_page_checksum=has_checksums,
    )
    return table, file.getvalue(), has_checksums


def damaged(rng, data):
    """The bytes of a file with something wrong, and whether that is in its pages."""
    kind = DAMAGES[rng.integers(len(DAMAGES))]
    content, size = bytearray(data), len(data)
    footer = int.from_bytes(data[-8:-4], "little")
    if kind == "flip":
        for place in rng.integers(4, size - footer - 8, rng.integers(1, 4)):
            content[place] ^= 1 << rng.integers(8)
    elif kind == "footer":
        for place in rng.integers(size - footer - 8, size, rng.integers(1, 4)):
            content[place] = rng.integers(256)
    elif kind == "length":
        content[-8:-4] = int(max(0, footer + rng.integers(-20, 21))).to_bytes(4, "little")
    else:
        start = int(rng.integers(size))
        del content[start : size if kind == "cut" else start + int(rng.integers(1, 20))]
    return bytes(content), kind == "flip"


def plain_rows(path):
    """What Arrow reads by itself, if it holds together."""
    with pq.ParquetFile(path) as file:
        tables = [file.read_row_group(number, columns=["items"]) for number in range(file.num_row_groups)]
        for table in tables:
            table.validate(full=True)
        rows = [row for table in tables for row in table["items"].to_pylist()]
        return rows if len(rows) == file.metadata.num_rows else None


def as_sets(rows):
    return [None if row is None else sorted(set(row)) for row in rows]


def frame_rows(path, _):
    return as_sets(pa.array(pdanon.read_parquet(path)["items"]).to_pylist()), as_sets


def counted_rows(path, _):
    tree = ParquetTree.find(path)
    tree.find_columns("items")
    return [row for (items,) in tree.columns(["items"]) for row in items.to_arrow().to_pylist()], as_sets


def released_rows(path, target):
    target.unlink(missing_ok=True)
    result = pdanon.stream.pcta(path, target, k=2, m=1, column="items")
    became = dict(zip(result.mapping["item"], result.mapping["generalized"], strict=True))
    rows = as_sets(plain_rows(target))
    return rows, lambda rows: [
        None if row is None else sorted({became[each] for each in row}) for row in rows
    ]


READERS = [frame_rows, counted_rows, released_rows]


def problem(read, path, right, in_pages):
    """What is wrong with how a reader meets a file; nothing if it gives the right rows or a good error."""
    try:
        rows, expected_of = read(path, path.with_name("out.parquet"))
    except FormatError as error:
        return None if str(path) in str(error) else f"no path in: {error}"
    except InfeasibleError:  # in which everything is suppressed, or a single row is left
        return None
    except PdanonError as error:  # names and types are in the footer; an item of no checksum may be missing
        missing = isinstance(error, ItemsetDtypeError) and "missing" in str(error)
        return None if not in_pages or (missing and right is None) else str(error)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    try:
        expected = plain_rows(path) if right is None else right
    except (OSError, ValueError, pa.ArrowException):
        return "rows of a file that Arrow refuses"
    return None if expected is not None and rows == expected_of(expected) else "other rows"


def main(first, last):
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "damaged.parquet"
        for number in range(first, last):
            rng = np.random.default_rng(number)
            table, data, has_checksums = whole(rng)
            content, in_pages = damaged(rng, data)
            path.write_bytes(content)
            right = table["items"].to_pylist() if in_pages and has_checksums else None
            print(number, flush=True)
            for read in READERS:
                if found := problem(read, path, right, in_pages):
                    print(number, read.__name__, " ".join(found.split()), flush=True)


def failures(first, last):
    """What is wrong with files by number; a process that was killed goes on with the next file."""
    found = []
    while first < last:
        command = [sys.executable, __file__, str(first), str(last)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = done.stdout.splitlines()
        found += [line for line in lines if " " in line]
        if not done.returncode:
            break
        assert lines, done.stderr
        at = int(lines[-1].split()[0])
        found.append(f"{at} ended with {done.returncode}")
        first = at + 1
    return found


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
