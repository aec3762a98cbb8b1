"""Write the example files beside this script: made-up baskets and a hierarchy of their items."""

from pathlib import Path

import pandas as pd

from pdanon.hierarchy import Hierarchy
from pdanon.io.datasets import make_baskets
from pdanon.io.parquet import to_parquet

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


if __name__ == "__main__":
    here = Path(__file__).parent
    to_parquet(baskets(), here / "baskets.parquet")
    hierarchy().to_csv(here / "baskets_hierarchy.csv")
