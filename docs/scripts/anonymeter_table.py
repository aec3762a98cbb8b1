"""Write how attacks on sets agree with those of Anonymeter on the same tables in one column per item.

Anonymeter knows which items a person lacks. So a row here has an item for each column: with it, or without.
Run by hand, with anonymeter installed: ``python docs/scripts/anonymeter_table.py``.
"""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

import pdanon

N_COLUMNS, N_ATTACKS, NEAREST = 30, 60, 10
LINES = ["singling out, 2 labels", "linkability", "inference"]


def generated(seed: int, n: int = 80) -> pd.DataFrame:
    """Return columns of 0 and 1, each the sign of one of three hidden numbers with noise."""
    rng = np.random.default_rng(seed)
    hidden = rng.normal(size=(n, 3))[:, np.arange(N_COLUMNS) % 3] + rng.normal(size=(n, N_COLUMNS))
    least = 3 * np.linspace(0, 1, N_COLUMNS)
    return pd.DataFrame((hidden > least).astype(int), columns=[f"c{i}" for i in range(N_COLUMNS)])


def as_sets(table: pd.DataFrame) -> pd.DataFrame:
    """Return a row of texts such as ``c0=1`` for each row."""
    rows = [[f"{name}={value}" for name, value in row.items()] for row in table.to_dict("records")]
    return pd.DataFrame({"items": pdanon.as_itemsets(rows)})


def by_pdanon(
    original: pd.DataFrame, release: pd.DataFrame, control: pd.DataFrame, secret: str
) -> pd.DataFrame:
    """Return risk and interval by attack."""
    sets, released, others = (as_sets(each) for each in (original, release, control))
    others.index += len(sets)
    given = {"n_attacks": N_ATTACKS, "random_state": 0}
    rest = sets.txanon.assess(released, others, attacks=["singling out", "linkability"], m=2, **given)
    secret_item = f"{secret}=1"
    drop = lambda frame: frame.assign(items=frame["items"].itemset.suppress([f"{secret}=0"]))  # noqa: E731
    known = [drop(each) for each in (sets, released, others)]
    inferred = known[0].txanon.assess(
        *known[1:], secret_item, attacks=["inference"], m=N_COLUMNS - 1, **given
    )
    return pd.concat([rest, inferred.head(1)]).set_index("attack")[["risk", "low", "high"]]


def by_anonymeter(
    original: pd.DataFrame, release: pd.DataFrame, control: pd.DataFrame, secret: str
) -> pd.DataFrame:
    """Return risk and interval by attack, of Anonymeter."""
    from anonymeter.evaluators import InferenceEvaluator, LinkabilityEvaluator, SinglingOutEvaluator

    tables = [each.astype(str) for each in (original, release, control)]
    names = [*original.columns]
    ori, syn, con = tables
    found = [SinglingOutEvaluator(ori=ori, syn=syn, control=con, n_attacks=N_ATTACKS, n_cols=2).evaluate()]
    halves = names[::2], names[1::2]
    found.append(
        LinkabilityEvaluator(
            ori=ori, syn=syn, control=con, aux_cols=halves, n_attacks=N_ATTACKS, n_neighbors=NEAREST
        ).evaluate(n_jobs=1)
    )
    known = [name for name in names if name != secret]
    found.append(
        InferenceEvaluator(
            ori=ori,
            syn=syn,
            control=con,
            aux_cols=known,
            secret=secret,
            regression=False,
            n_attacks=N_ATTACKS,
        ).evaluate(n_jobs=1)
    )
    return pd.DataFrame(map(risk_of, found), index=LINES, columns=["risk", "low", "high"])


def risk_of(attacker: object) -> tuple[float, float, float]:
    """Return the risk of an attacker of Anonymeter, which may not be below 0, and its interval."""
    risk = attacker.risk()  # type: ignore[attr-defined]
    return risk.value, *risk.ci


def compare(
    original: pd.DataFrame, release: pd.DataFrame, control: pd.DataFrame, secret: str
) -> pd.DataFrame:
    """Return both risks by attack, and whether each lies in the interval of the other."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (by(original, release, control, secret) for by in (by_pdanon, by_anonymeter))
    both = ours.join(theirs, rsuffix="_anonymeter")
    bounded = both["risk"].clip(0, 1)
    agree = (both["low"].clip(0, 1) <= both["risk_anonymeter"]) & (both["risk_anonymeter"] <= both["high"])
    agree &= (both["low_anonymeter"] <= bounded) & (bounded <= both["high_anonymeter"])
    return both.assign(agree=agree)


if __name__ == "__main__":
    for seed in range(3):
        whole = generated(seed, 160)
        ori, con = whole[:80], whole[80:].reset_index(drop=True)
        noisy = generated(seed + 10)
        for name, syn in (
            ("copy", ori),
            ("half", pd.concat([ori[:40], noisy[:40]], ignore_index=True)),
            ("other", noisy),
        ):
            print(seed, name)
            print(compare(ori, syn, con, "c0").round(3).to_string())
