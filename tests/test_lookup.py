"""Items are found by value: whatever equal Python, NumPy, pandas or Arrow value a parameter names them by."""

import datetime as dt
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import pdanon

UNITS = ["s", "ms", "us", "ns"]
ZONES = ["UTC", "Asia/Tokyo", "America/New_York"]


def numbers(value):
    yield Decimal(value)
    if value == float(value):
        yield from (np.float64(value), pa.scalar(float(value)))
    if value == int(value):
        yield int(value)
        bits = [8, 16, 32, 64]
        for kind in (getattr(np, f"{sign}int{n}") for sign in ("", "u") for n in bits):
            if np.iinfo(kind).min <= value <= np.iinfo(kind).max:
                yield from (kind(value), pa.scalar(int(value), pa.from_numpy_dtype(kind)))
    if isinstance(value, Decimal):
        yield from (value.quantize(Decimal("1.0000")), pa.scalar(value, pa.decimal256(60, 9)))


def moments(value):
    moment = pd.Timestamp(value)
    for unit in UNITS:
        same = moment.as_unit(unit)
        if same == moment:
            yield from (same, pa.scalar(same, pa.timestamp(unit, moment.tz and "UTC")))
            yield from (same.tz_convert(zone) for zone in ZONES if moment.tz)
            if moment.tz is None:
                yield same.to_numpy()
    yield moment.to_pydatetime()


def spans(value):
    yield value
    for unit in UNITS:
        same = pd.Timedelta(value).as_unit(unit)
        yield from (same, same.to_numpy(), pa.scalar(value, pa.duration(unit)))


def days(value):
    midnight = dt.datetime.combine(value, dt.time())
    yield from (np.datetime64(value), pd.Timestamp(value), midnight)
    yield from (pa.scalar(value), pa.scalar(value, pa.date64()))


def truths(value):
    yield from (np.bool_(value), pa.scalar(value))


def texts(value):
    yield np.str_(value)
    yield from (pa.scalar(value, kind) for kind in (pa.string(), pa.large_string(), pa.string_view()))


DECIMALS = [Decimal("1.50"), Decimal("5.00"), Decimal("0.25")]
NOON = dt.datetime(2024, 7, 1, 12, 0, 5)
TIMES = [NOON, dt.datetime(2024, 1, 1), dt.datetime(2023, 1, 1)]
INSTANTS = [pd.Timestamp(time, tz="UTC") for time in TIMES]
SPANS = [dt.timedelta(days=1, seconds=5), dt.timedelta(seconds=3), dt.timedelta(0)]
DATES = [dt.date(2024, 1, day) for day in (1, 2, 3)]
WORDS = ["flu", "(a,b)", "tea"]

# What the items are, three of them, and what is equal to the first.
CASES = [
    *(
        (getattr(pa, f"{sign}int{bits}")(), [5, 6, 7], numbers)
        for sign in ("", "u")
        for bits in (8, 16, 32, 64)
    ),
    (pa.int64(), [2**53 + 1, 2**53, 7], numbers),
    (pa.uint64(), [2**64 - 1, 6, 7], numbers),
    (pa.float32(), [float(np.float32(0.1)), 5.0, 2.5], numbers),
    (pa.float64(), [0.1, 1e15, 5.0], numbers),
    (pa.float64(), [5.0, 1e-7, 1e22], numbers),
    (pa.decimal128(8, 2), DECIMALS, numbers),
    (pa.decimal256(50, 4), DECIMALS[1:] + DECIMALS[:1], numbers),
    *((pa.timestamp(unit), TIMES, moments) for unit in UNITS),
    *((pa.timestamp(unit, zone), INSTANTS, moments) for unit in UNITS for zone in ("UTC", "Europe/Berlin")),
    (pa.timestamp("us"), [NOON.replace(microsecond=500000), *TIMES[1:]], moments),
    *((pa.duration(unit), SPANS, spans) for unit in UNITS),
    *((kind, DATES, days) for kind in (pa.date32(), pa.date64())),
    (pa.bool_(), [True, False], truths),
    *((kind, WORDS, texts) for kind in (pa.string(), pa.large_string(), pa.string_view())),
    *((pa.dictionary(pa.int32(), kind), WORDS, texts) for kind in (pa.string(), pa.large_string())),
]


def frame_of(kind, values):
    first, second, third = [*values, values[-1], values[-1]][:3]
    rows = [[first, second], [second], [second], [second], [second, third], [third], [third], [third]]
    rows += [[second, third]] * 2
    rows = [list(dict.fromkeys(row)) for row in rows]  # there may be fewer than three items
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    items = pa.array([item for row in rows for item in row], plain)
    items = items if plain is kind else items.dictionary_encode()
    lists = pa.LargeListArray.from_arrays(np.cumsum([0, *map(len, rows)]), items)
    return pd.DataFrame({"sex": "f", "items": pd.array(lists, dtype=pd.ArrowDtype(lists.type))})


def guarantees(item, other):
    """One of each guarantee that names items."""
    return [
        lambda: pdanon.LmDiversity(l=2, m=1, sensitive=[item]),
        lambda: pdanon.KLm(k=2, l=2, m=1, quasi=["sex"], sensitive=[item]),
        lambda: pdanon.RhoUncertainty(rho=0.5, sensitive=[item], m=1),
        lambda: pdanon.Coherence(h=0.5, k=2, p=1, private=[item]),
        lambda: pdanon.PublicK(k=2, public=[item]),
        lambda: pdanon.SensitiveGroups(p=2, sensitive=[item]),
        lambda: pdanon.PSRules(rules=[([other], [item])], k=2, c=0.5),
        lambda: pdanon.PSRules(rules=[([item], [other])], k=2, c=0.5),
        lambda: pdanon.PSRules(rules={"m": 1, "sensitive": [item]}, k=2, c=0.5),
        lambda: pdanon.PrivacyConstraints(constraints=[[item]], k=2),
    ]


def releases(frame, alone, item, other):
    """A release by each parameter of an algorithm that names items; ``alone`` has no other item."""
    ask, protected = frame.txanon, pdanon.Transaction("pcta", sensitive=[item], l=2)
    return [
        lambda: ask.apriori(guarantee=pdanon.LmDiversity(l=2, m=1, k=2, sensitive=[item]), hierarchy=2),
        lambda: ask.suppress_control(rho=0.5, sensitive=[item], m=1),
        lambda: ask.pcta(k=2, m=1, weights={item: 0.5}),
        lambda: ask.pcta(guarantee=pdanon.PrivacyConstraints(constraints=[[item]], k=2)),
        lambda: alone.txanon.coat(
            guarantee=pdanon.PrivacyConstraints(constraints=[[item]], k=2), utility=[[item]]
        ),
        lambda: ask.coherence(h=0.5, k=2, p=1, private=[item]),
        lambda: ask.suppress_to_k(k=2, public=[item]),
        lambda: ask.ps_rules(rules=[([other], [item])], k=2, c=0.5),
        lambda: ask.cahd(p=2, sensitive=[item]),
        lambda: ask.rfirst(k=2, m=1, quasi=["sex"], transaction=protected),
    ]


def verdict(frame, guarantee):
    audit = frame.txanon.audit(guarantee)
    return audit.holds, audit.rows_at_risk, repr(audit.threats.to_numpy().tolist())


def published(call):
    """The rows of a release; that there is none, if so."""
    try:
        return call().frame["items"].tolist()
    except pdanon.InfeasibleError as error:
        return type(error)


NUMBERED = pytest.mark.parametrize(
    "case", range(len(CASES)), ids=[f"{kind}-{values[0]}" for kind, values, _ in CASES]
)


@pytest.mark.one_in(7)
@NUMBERED
def test_equal_values_name_one_item(case):
    kind, values, equal = CASES[case]
    frame = frame_of(kind, values)
    items = frame["items"].itemset
    for item in [values[0], *equal(values[0])]:
        assert items.support([item]) == 1
        assert items.contains([item]).sum() == 1
    found_alike(case, [case % 10], [case % 10, (case + 3) % 10])  # over all types all ten


@pytest.mark.slow
@NUMBERED
def test_equal_values_give_one_verdict_and_release(case):
    found_alike(case, range(10), range(10))


def found_alike(case, of_releases, of_guarantees):
    """Ask the same by an item and by an equal value, another one each time."""
    kind, values, equal = CASES[case]
    (first, other), frame, alone = values[:2], frame_of(kind, values), frame_of(kind, values[:1])
    result, same = frame.txanon.pcta(k=2, m=1), [*equal(first)]
    became = result.explain(first, frame).became
    for which in of_guarantees:
        item = same[(case + which) % len(same)]
        assert result.explain(item, frame).became == became
        wanted = verdict(frame, guarantees(first, other)[which]())
        assert verdict(frame, guarantees(item, other)[which]()) == wanted
    for which in of_releases:
        item = same[(case // 10 + which) % len(same)]
        wanted = published(releases(frame, alone, first, other)[which])
        assert published(releases(frame, alone, item, other)[which]) == wanted
