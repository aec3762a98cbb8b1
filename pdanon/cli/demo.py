"""The command ``pdanon demo``: other commands on a synthetic shop, in a temporary directory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, chdir
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import pandas as pd

from pdanon.errors import FormatError, cause_of
from pdanon.io.datasets import make_baskets
from pdanon.io.files import Draft

# From the most to the least popular.
_PRODUCTS = """\
milk,bread,eggs,butter,bananas,cheese,apples,coffee,pasta,tomatoes,yogurt,onions,chicken,potatoes,rice,\
tea,carrots,chocolate,biscuits,beer,sugar,lettuce,oranges,ham,juice,flour,wine,salt,mushrooms,sausages,\
soap,oil,cream,nuts,honey,jam,shampoo,beans,ketchup,salmon,toothpaste,lentils,crisps,tissues,mustard,\
olives,lemons,vinegar,nappies,cocoa,candles,plasters"""

_COMMANDS = {
    "1. How many customers do a few known products single out? A row is a customer:": (
        "profile invoices.csv --by customer --item product"
    ),
    "2. Merge products into sets, until at least 5 customers match any 2 products that an attacker knows:": (
        """anonymize invoices.csv released.parquet --by customer --item product -k 5 -m 2 \\
    --mapping mapping.parquet --report report.html"""
    ),
    "3. Publish released.parquet. Keep mapping.parquet with the original. Anyone can audit the release:": (
        "audit released.parquet -k 5 -m 2"
    ),
}
_ATTACK = """
4. An attacker has the release and the mapping, and knows that a customer bought chocolate and nappies.
   How many customers match, before and after? Then 1,000 attacks on customers drawn at random:
$ python"""
_CODE = """\
import pandas as pd, pdanon
original = pdanon.from_long(pd.read_csv("invoices.csv"), by="customer", item="product")
released, mapping = map(pdanon.read_parquet, ["released.parquet", "mapping.parquet"])
known = ["chocolate", "nappies"]
sum({*known} <= {*products} for products in original["product"])
labels = mapping.set_index("item").loc[known, "generalized"].tolist(); labels
sum({*labels} <= {*products} for products in released["product"])
pdanon.attack(original, released, mapping=mapping, m=2)"""
_END = """
The demo has removed its files. For a file of your own, with a line for each product of a customer:
  pdanon profile FILE --by CUSTOMER --item PRODUCT
  pdanon anonymize FILE released.parquet --by CUSTOMER --item PRODUCT -k 5 -m 2 \\
      --mapping mapping.parquet --report report.html"""


def draw_lines() -> pd.DataFrame:
    """Draw the invoice lines of a synthetic shop: a customer and a product."""
    names = _PRODUCTS.split(",")
    products = make_baskets(2000, len(names), mean_length=4, patterns=40)["items"].explode()
    named = {drawn: name for (drawn, _), name in zip(Counter(products).most_common(), names, strict=True)}
    return pd.DataFrame({"customer": 10_001 + products.index, "product": products.map(named)})


def play(run: Callable[[list[str]], int]) -> int:
    """Run the commands and an attack, up to the first that fails, and return its exit code."""
    with ExitStack() as stack:
        lines = draw_lines()
        try:
            directory = Draft(Path(gettempdir(), "pdanon-demo"), directory=True)  # which signals remove, too
            stack.callback(directory.remove)
            lines.to_csv(directory.path / "invoices.csv", index=False)
        except OSError as error:
            hint = "set TMPDIR to a directory with space that you can write to"
            what, where = "the demo cannot write its files", error.filename or "TMPDIR"
            raise FormatError(what, where=where, got=cause_of(error), hint=hint) from None
        stack.enter_context(chdir(directory.path))
        customers, products = lines.nunique()
        print(f"A synthetic shop: {customers:,} customers bought {products} products. invoices.csv begins:")
        print(lines.head(3).to_csv(index=False, lineterminator="\n"), end="")
        for aim, command in _COMMANDS.items():
            print(f"\n{aim}\n$ pdanon {command}")
            if code := run(command.replace("\\", "").split()):
                return code
        print(_ATTACK)
        names = dict[str, Any]()
        for line in _CODE.splitlines():
            print(">>>", line)
            exec(compile(line, "<demo>", "single"), names)  # prints values, too
    print(_END)
    return 0
