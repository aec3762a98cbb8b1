"""What comes back can be sent to other processes and copied, and takes nothing along but what it shows."""

from __future__ import annotations

import copy
import pickle

import pandas as pd
import pytest
from conftest import SECRET, frame_of

import pdanon
from pdanon import stream

ROWS = [{"a", "b", SECRET}, {"a", "c", SECRET}, {"a", "b"}, {"b", SECRET}] * 3 + [{"a", "d"}]
FRAME = frame_of(ROWS).assign(age=[19, 20, 30, 31] * 3 + [40])
TREE = {"*": {"x": ["a", "b"], "y": ["c", "d", SECRET]}}
GUARANTEES = [
    pdanon.KmAnonymity(4, 2),
    pdanon.KmAnonymity(4, None),
    pdanon.PrivacyConstraints(constraints=[["d"], ["a", "c"]], k=4),
    pdanon.TransactionalK(k=4),
    pdanon.PublicK(k=2, public=["a", "b", "c", "d", SECRET]),
    pdanon.Coherence(h=0.5, k=2, p=1, private=["c"]),
    pdanon.LmDiversity(l=2, m=1, sensitive=["c"], k=2),
    pdanon.PSRules(rules=[(["d"], ["c"]), (["a", "b"], ["c"])], k=4, c=0.3),
    pdanon.PSRules(rules=pdanon.constraints.AllRules(2, ["c"]), k=4, c=0.3),
    pdanon.RhoUncertainty(rho=0.1, sensitive=["c"]),
    pdanon.KAnonymity(4, quasi=["age"]),
    pdanon.KKm(k=2, m=1, quasi=["age"]),
    pdanon.KLm(k=2, l=2, m=1, quasi=["age"], sensitive=["c"]),
]


def copies(value):
    return pickle.loads(pickle.dumps(value)), copy.deepcopy(value), copy.copy(value)


@pytest.mark.parametrize("guarantee", GUARANTEES, ids=[type(each).__name__ for each in GUARANTEES])
def test_audits(guarantee):
    audit = guarantee.audit(FRAME)
    assert not audit.holds
    for again in copies(audit):
        assert repr(again) == repr(audit)
        assert not again.holds
        pd.testing.assert_frame_equal(again.threats, audit.threats)


def test_an_audit_holds_its_threats_and_no_rows():
    audit = pdanon.KmAnonymity(3, 1).audit(FRAME)
    assert audit.threats["itemset"].tolist() == [["d"]]
    assert SECRET.encode() not in pickle.dumps(audit)
    assert SECRET.encode() in pickle.dumps(pdanon.KmAnonymity(10, 1).audit(FRAME))


def test_results(tmp_path):
    made = FRAME.txanon.pcta(k=3, m=2)
    pdanon.to_parquet(FRAME, tmp_path / "in.parquet")
    workload = pdanon.Workload.itemsets(FRAME, 5, 1, random_state=1)
    results = {
        "release": made,
        "chosen": pdanon.anonymize(FRAME, pdanon.KmAnonymity(3, 2), hierarchy=TREE),
        "classes": pdanon.rum_bound(FRAME, k=2, m=1, quasi=["age"], delta=1),
        "stream": stream.pcta(tmp_path / "in.parquet", tmp_path / "out", k=2),
        "explanation": made.explain("d", FRAME),
        "workload": workload,
        "answers": workload.are(FRAME, made),
        "attack": pdanon.attack(FRAME, made, n=5, random_state=1),
        "comparison": pdanon.compare(FRAME, {"pcta": {"k": 2}}),
        "hierarchy": pdanon.Hierarchy.of(TREE, ["a"]),
    }
    for name, result in results.items():
        for again in copies(result):
            assert repr(again) == repr(result), name
    assert copies(made)[0].guarantee.audit(copies(made)[0].frame).holds
