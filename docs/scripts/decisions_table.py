"""Measure what stronger readings of guarantees would cost, and write a part of tables/guarantees.md.

Run from the root of the checkout: ``python docs/scripts/decisions_table.py``. It takes a minute.
"""

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from datetime import date
from itertools import combinations
from pathlib import Path
from random import Random

import pandas as pd

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

import pdanon  # noqa: E402
from tests.benchmarks.measure import machine  # noqa: E402
from tests.benchmarks.pages import write_section  # noqa: E402

K, M, L = 5, 2, 2
SENSITIVE = ["E11", "F32", "J45"]
EXAMPLES = ROOT / "examples"


def changed(result: pdanon.Anonymized) -> str:
    return f"{100 * result.loss['occurrences']:.1f} % changed"


def diverse() -> Iterator[tuple[str, str, str]]:
    """KLm of the patients, where an attacker knows a sensitive code, too, or asks for any of them."""
    patients = pdanon.read_parquet(EXAMPLES / "patients.parquet").drop(columns=["age", "district"])
    codes = pdanon.Transaction("pcta", sensitive=SENSITIVE, l=L)
    asked = {"k": K, "m": M, "quasi": ["sex"], "random_state": 0}
    result = patients.txanon.rfirst(transaction=codes, **asked)
    audit = result.frame.txanon.audit(pdanon.KKm(k=K, m=M, quasi=["sex"]))
    stronger = patients.txanon.rfirst(transaction="pcta", **asked)
    found = f"{audit.rows_at_risk:,} of {len(patients):,} persons at risk; {changed(result)}"
    yield "`KLm`, a sensitive code known", found, f"`KKm` of all codes: {changed(stronger)}"

    persons = likely(result.frame, both=True)
    found = f"another is likelier than 1/{L} for {persons:,} persons"
    yield "the same, another sensitive code asked", found, "a larger `l`"

    persons = likely(result.frame, both=False)
    merged = patients.assign(diagnoses=[as_one(row) for row in patients["diagnoses"]])
    one = pdanon.Transaction("pcta", sensitive=["sensitive"], l=L)
    cost = changed(merged.txanon.rfirst(transaction=one, **asked))
    found = f"one of {len(SENSITIVE)} is likelier than 1/{L} for {persons:,} persons"
    yield "`KLm`, one of several sensitive codes", found, f"all as one code: {cost}"


def as_one(row: list[str]) -> list[str]:
    return sorted({"sensitive" if code in SENSITIVE else code for code in row})


def likely(frame: pd.DataFrame, *, both: bool) -> int:
    """Count the persons whose known codes make some sensitive code likelier than 1/l.

    With ``both``, an attacker knows a sensitive code as well, and asks for another one; otherwise for any.
    """
    rows = [(sex, frozenset(row)) for sex, row in zip(frame["sex"], frame["diagnoses"], strict=True)]
    total: Counter[tuple] = Counter()
    held: Counter[tuple] = Counter()
    secrets = frozenset(SENSITIVE)
    for sex, row in rows:
        for known in known_sets(row, both):
            total[sex, known] += 1
            held.update((sex, known, code) for code in (row & secrets - known if both else {""}))
            if not both and not row & secrets:
                held[sex, known, ""] -= 1
    exposed = {(sex, known) for (sex, known, _), n in held.items() if n * L > total[sex, known]}
    return sum(any((sex, known) in exposed for known in known_sets(row, both)) for sex, row in rows)


def known_sets(row: frozenset[str], both: bool) -> list[frozenset[str]]:
    """Return what is known of a row: up to m codes that are not sensitive, or m with one that is."""
    secrets = frozenset(SENSITIVE)
    if not both:
        return parts(row - secrets, M)
    return [known | {code} for code in row & secrets for known in parts(row - secrets, M - 1)]


def parts(labels: frozenset[str], most: int) -> list[frozenset[str]]:
    return [frozenset(each) for size in range(most + 1) for each in combinations(sorted(labels), size)]


def blocks() -> Iterator[tuple[str, str, str]]:
    """A refined release by parts, where an attacker knows the part of a row."""
    baskets = pdanon.read_parquet(EXAMPLES / "baskets.parquet")[["items"]]
    tree = pdanon.Hierarchy.of(EXAMPLES / "baskets_hierarchy.csv")
    result = baskets.txanon.lra(k=K, m=1, parts=20, hierarchy=tree)
    refined = baskets.txanon.refine(result)
    released = refined.frame.assign(part=refined.groups)
    known = released.txanon.audit(pdanon.KKm(k=K, m=1, quasi=["part"]))
    found = f"{known.rows_at_risk:,} of {len(baskets):,} rows at risk; {changed(refined)}"
    yield "refined `lra` with 20 parts and m=1, the part known", found, f"not refined: {changed(result)}"


def numbers() -> Iterator[tuple[str, str, str]]:
    """Lines of few persons at random, where an attacker knows how often exactly somebody has a label."""
    from tests.tiny_tables import draw_lines

    exposed = released = 0
    for seed in range(2000):
        drawn = draw_lines(Random(seed), lists=False, kept=False)
        lines = pd.DataFrame(
            [(one, *(items or [None])) for one, items, _ in drawn], columns=["person", "item"]
        )
        try:
            result = lines.txanon.by("person", item="item", counts=True).pcta(k=2, m=1)
        except pdanon.PdanonError:
            continue
        bags = result.frame.dropna().groupby("person")["item"].agg(Counter)
        persons = Counter(fact for bag in bags for fact in bag.items())
        released += 1
        exposed += 1 in persons.values()
    found = f"somebody is alone in {exposed:,} of {released:,} releases of up to 8 persons"
    yield (
        "`counts=True` with k=2 and m=1, an exact number known",
        found,
        "most numbers could not be published",
    )


def lost() -> Iterator[tuple[str, str, str]]:
    """Two releases of baskets, where an attacker knows what a person had in one of them."""
    baskets = pdanon.read_parquet(EXAMPLES / "baskets.parquet")[["items"]]
    january, february = baskets[:2500], baskets[500:].copy()
    moved = february.sample(frac=0.2, random_state=1).index  # who has the items of another person
    february.loc[moved, "items"] = february.loc[[*moved[1:], moved[0]], "items"].array
    for k in (K, 3 * K):
        first = january.txanon.pcta(k=k, m=M)
        second = february.txanon.start_from(first).pcta(k=k, m=M)
        persons = january.index.intersection(february.index)
        series = second.frame.txanon.after(first, mapping=second.mapping, key=[january.index, february.index])
        spans = series.audit(pdanon.KmAnonymity(K, M)).spans
        counted = int(spans.loc[(spans["first"] == 0) & (spans["last"] == 1), "rows_at_risk"].iloc[0])
        frames = {"january": first.frame, "february": second.frame}
        pairs = first.mapping.merge(second.mapping, on="item")[["generalized_x", "generalized_y"]]
        both = [*pairs.drop_duplicates().itertuples(index=False, name=None)]
        rows = []
        for person in persons:
            labels = [{*frame.loc[person, "items"]} for frame in frames.values()]
            facts = [
                f"{label} in {month}" for month, own in zip(frames, labels, strict=True) for label in own
            ]
            rows.append(facts + [f"{x} and {y}" for x, y in both if x in labels[0] and y in labels[1]])
        either = pd.DataFrame({"items": pdanon.as_itemsets(rows)}).txanon.audit(k=K, m=M)
        found = f"{either.rows_at_risk:,} of {len(persons):,} persons at risk, {counted:,} by the audit"
        yield f"two releases with k={k}, an item of one known", found, changed(second)


def main() -> None:
    warnings.simplefilter("ignore")
    text = [f"Measured {date.today()} by `docs/scripts/decisions_table.py` on {machine()}.", ""]
    text += ["| release, and what is known beside | then | the price |", "|---|---|---|"]
    for measure in (diverse, blocks, numbers, lost):
        for line in measure():
            text.append(f"| {' | '.join(line)} |")
            print(text[-1], flush=True)
    write_section("guarantees.md", "decisions", text)


if __name__ == "__main__":
    main()
