"""Write the example files beside this script: a made-up shop, a made-up hospital, a made-up survey.

The baskets are there twice: as lines, one for each product on an invoice, and as lists.
"""

from pathlib import Path

import numpy as np
import pandas as pd

from pdanon.hierarchy import Hierarchy
from pdanon.io.datasets import make_baskets
from pdanon.io.parquet import to_parquet
from pdanon.itemsets.codes import as_itemsets

DEPARTMENTS = {
    "fresh food": {
        "fruit": ["apples", "bananas", "grapes", "lemons", "oranges", "strawberries"],
        "vegetables": ["carrots", "lettuce", "mushrooms", "onions", "potatoes", "tomatoes"],
        "meat and fish": ["beef", "chicken", "ham", "salmon", "sausages"],
    },
    "dairy and bakery": {
        "milk products": ["butter", "cheddar", "cream", "eggs", "feta", "milk", "yogurt"],
        "baked goods": ["bagels", "croissants", "rye bread", "white bread"],
    },
    "store cupboard": {
        "staples": ["beans", "flour", "lentils", "pasta", "rice", "sugar"],
        "sauces and oils": ["ketchup", "mustard", "olive oil", "vinegar"],
        "sweets and snacks": ["biscuits", "chocolate", "crisps", "honey", "nuts"],
    },
    "drinks": {
        "hot drinks": ["cocoa", "coffee", "tea"],
        "cold drinks": ["apple juice", "beer", "lemonade", "mineral water", "red wine"],
    },
    "household": {
        "cleaning": ["bin bags", "dish soap", "kitchen paper", "laundry powder"],
        "personal care": ["nappies", "plasters", "shampoo", "soap", "toothpaste"],
    },
}


def hierarchy() -> Hierarchy:
    """Products below categories below departments."""
    return Hierarchy.from_dict({"*": DEPARTMENTS})


def baskets() -> pd.DataFrame:
    """Two thousand baskets of those products."""
    products = [
        name for categories in DEPARTMENTS.values() for names in categories.values() for name in names
    ]
    return make_baskets(2000, products, mean_length=4.5, patterns=40, random_state=1994)


def invoices() -> pd.DataFrame:
    """The same baskets as lines: each is bought on up to three days, and some products on two of them."""
    rng = np.random.default_rng(2025)
    lists = baskets().astype({"items": object})
    numbers = 10_000 + rng.permutation(50_000)[: len(lists)]
    lines = lists.assign(customer=numbers, days=rng.integers(1, 4, len(lists))).explode("items")
    again = lines[(lines["days"] > 1) & (rng.random(len(lines)) < 0.1)]
    lines = pd.concat([lines, again], ignore_index=True)
    visit = (lines["customer"] * 37 + 11 * (rng.random(len(lines)) * lines["days"]).astype(int)) % 181
    lines["date"] = (pd.Timestamp("2025-01-01") + pd.to_timedelta(visit, unit="D")).dt.strftime("%Y-%m-%d")
    lines["quantity"] = rng.geometric(0.7, len(lines))
    lines = lines.rename(columns={"items": "product"}).sort_values(["date", "customer"], kind="stable")
    return lines[["date", "customer", "store", "product", "quantity"]].reset_index(drop=True)


# Codes of ICD-10: the age at which a diagnosis becomes common, its share of the old and young, companions.
DIAGNOSES = {
    "B20": (0, 0.012, 0.012, ["B37"]),
    "B37": (0, 0.02, 0.02, []),
    "C18": (60, 0.03, 0.002, ["D50"]),
    "C50": (50, 0.03, 0.003, []),
    "D50": (0, 0.06, 0.05, []),
    "E03": (40, 0.08, 0.03, []),
    "E11": (50, 0.20, 0.02, ["I10", "E78", "N18", "H36"]),
    "E66": (30, 0.15, 0.08, ["E11", "I10"]),
    "E78": (50, 0.25, 0.04, ["I10"]),
    "F10": (20, 0.04, 0.02, ["K70", "F32"]),
    "F20": (0, 0.015, 0.02, []),
    "F32": (20, 0.09, 0.06, ["F41"]),
    "F41": (20, 0.06, 0.06, []),
    "G43": (0, 0.04, 0.07, []),
    "G47": (40, 0.07, 0.02, []),
    "H25": (65, 0.12, 0.002, []),
    "H36": (60, 0.02, 0.001, []),
    "I10": (50, 0.40, 0.05, ["E78"]),
    "I25": (60, 0.15, 0.004, ["I10", "E78"]),
    "I48": (65, 0.12, 0.004, ["I50"]),
    "I50": (65, 0.10, 0.003, ["I10", "N18"]),
    "J06": (0, 0.08, 0.20, []),
    "J44": (55, 0.10, 0.004, ["J06"]),
    "J45": (0, 0.07, 0.09, []),
    "K21": (40, 0.12, 0.05, []),
    "K70": (40, 0.02, 0.004, []),
    "L20": (0, 0.02, 0.06, []),
    "M17": (55, 0.14, 0.004, ["M54"]),
    "M54": (30, 0.20, 0.10, []),
    "N18": (60, 0.09, 0.003, ["I10"]),
    "N39": (0, 0.08, 0.06, []),
    "R51": (0, 0.05, 0.08, []),
}


def patients() -> pd.DataFrame:
    """Three thousand patients of a hospital: age, sex, district and the codes of their diagnoses."""
    rng = np.random.default_rng(1893)
    codes = list(DIAGNOSES)
    age = np.clip(rng.normal(55, 20, 3000), 18, 95).astype(int)
    has = np.zeros((len(age), len(codes)), bool)
    for place, (onset, old, young, companions) in enumerate(DIAGNOSES.values()):
        drawn = rng.random(len(age)) < np.where((age >= onset) & (onset > 0), old, young)
        has[:, place] |= drawn
        for each in companions:
            has[:, codes.index(each)] |= drawn & (rng.random(len(age)) < 0.4)
    has[~has.any(axis=1), codes.index("R51")] = True
    return pd.DataFrame(
        {
            "age": age,
            "sex": np.array(["f", "m"])[rng.integers(2, size=len(age))],
            "district": np.array(["East", "North", "South", "West"])[rng.integers(4, size=len(age))],
            "diagnoses": as_itemsets(pd.Series([list(np.array(codes)[row]) for row in has])),
        }
    )


# Means of transport, and who of a hundred uses them.
TRANSPORT = {
    "walk": 62,
    "bus": 38,
    "car": 48,
    "bicycle": 30,
    "train": 26,
    "tram": 24,
    "scooter": 6,
    "taxi": 5,
}
TRANSPORT |= {"motorcycle": 4, "ferry": 2, "plane": 1.5, "cable car": 1}
MUNICIPALITIES = ["Bern", "Genève", "Neuchâtel", "Zürich"]


def survey() -> pd.DataFrame:
    """Two thousand answers to a question with several answers, joined as a form on the web joins them."""
    rng = np.random.default_rng(1848)
    names, shares = np.array(list(TRANSPORT)), np.array(list(TRANSPORT.values())) / 100
    ticked = rng.random((2000, len(names))) < shares
    ticked[~ticked.any(axis=1), 0] = True
    return pd.DataFrame(
        {
            "respondent": 10_000 + rng.permutation(90_000)[: len(ticked)],
            "age": rng.integers(15, 90, len(ticked)),
            "sex": np.array(["f", "m"])[rng.integers(2, size=len(ticked))],
            "municipality": np.array(MUNICIPALITIES)[rng.integers(len(MUNICIPALITIES), size=len(ticked))],
            "means of transport": [",".join(names[row]) for row in ticked],
            "income": (np.exp(rng.normal(8.6, 0.5, len(ticked))) // 10 * 10).astype(int),
        }
    )


if __name__ == "__main__":
    here = Path(__file__).parent
    to_parquet(baskets(), here / "baskets.parquet")
    invoices().to_csv(here / "invoices.csv", index=False, lineterminator="\n")
    to_parquet(patients(), here / "patients.parquet")
    hierarchy().to_csv(here / "baskets_hierarchy.csv")
    form = {"sep": ";", "encoding": "latin-1", "lineterminator": "\n"}  # as some spreadsheets do
    survey().to_csv(here / "survey.csv", index=False, **form)
