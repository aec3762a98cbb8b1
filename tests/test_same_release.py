"""The same call gives the same release and figures: in every process, whatever its threads and hashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from digests import of_algorithms, of_draws, parts_of, small

from examples import ALL

HERE = Path(__file__).parent
EXAMPLES = HERE.parent / "examples"
SETTINGS = [("1", "0"), ("2", "1"), ("2", "2")]  # threads, seed of hashes


def start(directory, n_threads, hashes, *files):
    directory.mkdir()
    paths = os.pathsep.join(map(str, (HERE.parent, HERE)))
    command = [sys.executable, str(HERE / "digests.py"), n_threads, *map(str, files)]
    env = os.environ | {"PYTHONPATH": paths, "PYTHONHASHSEED": hashes}
    return subprocess.Popen(command, cwd=directory, env=env, stdout=subprocess.PIPE, text=True)


@pytest.mark.filterwarnings("ignore")
def test_what_draws_is_the_same_again():
    """Calls without ``random_state=``, twice in this process. Few of them draw the same by chance."""
    frame = small()
    quasi = [name for name in frame.columns if name != "items"]
    calls = of_algorithms(frame, quasi, 3) | of_draws(frame, quasi, 3)
    for name in (
        "cluster",
        "k_member",
        "rfirst",
        "rum_bound",
        "tum_bound",
        "attack",
        "rt",
        "random",
        "private",
    ):
        assert [*parts_of(calls[name]())] == [*parts_of(calls[name]())], name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("files", "settings"),
    [
        pytest.param((), SETTINGS[:2], id="small"),
        pytest.param(["baskets.parquet"], SETTINGS if ALL else SETTINGS[::2], id="baskets"),
        *([pytest.param(["patients.parquet"], SETTINGS[::2], id="patients")] if ALL else []),  # a minute
    ],
)
def test_every_byte_is_the_same_in_every_process(files, settings, tmp_path):
    """No call of these passes ``random_state=``."""
    paths = [EXAMPLES / name for name in files]
    started = [start(tmp_path / str(n), *each, *paths) for n, each in enumerate(settings)]
    first, *others = [json.loads(process.communicate()[0]) for process in started]
    assert len(first) > 50
    for other in others:
        assert other == first
