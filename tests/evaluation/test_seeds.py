"""The seed of a release is in nothing that a result writes or shows, whatever the algorithm."""

from __future__ import annotations

import pandas as pd
import pytest
from contract import ARGUMENTS

import pdanon
from pdanon.algorithms.registry import ALGORITHMS, algorithm, parameters_of

SEED = 918273645
SEEDED = sorted(name for name in ALGORITHMS if "random_state" in parameters_of(algorithm(name)))
FRAME = pd.DataFrame(
    {
        "items": [["a", "b"], ["b", "c"], ["a", "b", "c"], ["d"], ["d", "a"], ["a", "b"]] * 4,
        "age": [20, 21, 30, 31, 40, 41] * 4,
    }
)


def seeded(name):
    """A release by a seed."""
    accepted = parameters_of(algorithm(name))
    given = {"k": 2, "random_state": SEED} | ({"delta": 1.0} if "delta" in accepted else {})
    if "quasi" in accepted:
        return algorithm(name)(FRAME, quasi=["age"], **given)
    return algorithm(name)(FRAME[["items"]], **given, **ARGUMENTS[name](["a", "b", "c", "d"]))


RELEASES = {name: (lambda name=name: seeded(name)) for name in SEEDED}
RELEASES |= {
    "items": lambda: pdanon.anonymize(FRAME[["items"]], k=2, m=2, random_state=SEED),
    "both": lambda: pdanon.anonymize(FRAME, pdanon.KKm(k=2, m=1, quasi=["age"]), random_state=SEED),
    "refined": lambda: pdanon.refine(
        FRAME[["items"]], pdanon.pcta(FRAME[["items"]], k=2, m=2), random_state=SEED
    ),
}


@pytest.mark.one_in(6)
@pytest.mark.parametrize("name", RELEASES)
def test_the_seed_is_in_nothing_that_a_result_shows(name, tmp_path):
    result = RELEASES[name]()
    original = FRAME[[*result.frame.columns]]
    result.report(tmp_path / "report.html", original=original)
    result.evidence(tmp_path / "evidence.json", original=original)
    result.save(tmp_path / "release")
    texts = [repr(result), result._repr_html_(), repr(result.guarantee), str(result.frame.attrs)]
    texts += [path.read_bytes().decode("latin-1") for path in tmp_path.rglob("*") if path.is_file()]
    assert not any(str(SEED) in text for text in texts)


def test_the_algorithms_with_a_seed_are_known():
    assert {"pcta", "coat", "ps_rules", "rfirst", "rum_bound", "tum_bound", "cluster", "k_member"} <= {
        *SEEDED
    }
