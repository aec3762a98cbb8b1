"""The lesson: what the page says of its exercise, which is tried out there in no more than three ways."""

import contextlib
import doctest
import io
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "recipes" / "teaching.md"


def groupings(items):
    """All ways to part items into groups."""
    if not items:
        yield []
        return
    for rest in groupings(items[1:]):
        yield [[items[0]], *rest]
        for place, group in enumerate(rest):
            yield [*rest[:place], [items[0], *group], *rest[place + 1 :]]


@pytest.mark.slow
def test_no_grouping_by_hand_loses_less_than_the_release():
    pytest.importorskip("matplotlib").use("agg")
    lesson = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for example in doctest.DocTestParser().get_examples(PAGE.read_text(encoding="utf-8")):
            exec(compile(example.source, PAGE.name, "single"), lesson)
    ways = [
        [group for group in way if len(group) > 1]
        for way in groupings(["Alien", "Brazil", "Heat", "Jaws", "Up"])
    ]
    scores = [lesson["score"](way) for way in ways]
    assert len(scores) == 52  # the fifth Bell number
    assert None in scores
    assert min(score for score in scores if score is not None) == round(lesson["result"].loss["NCP"], 3)
