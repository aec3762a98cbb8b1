"""The faults: each replaces one text of one file, and breaks a promise."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Fault:
    """A replacement in a file.

    Parameters
    ----------
    name : str
        The name, unique among all faults.
    file : str
        The file, from the root of the checkout.
    old, new : str
        The text, which stands once in the file, and what replaces it.
    breaks : str
        The promise that no longer holds.
    step : str
        The step of ``.ci/run`` without which nothing finds it: ``checked``, ``lowest``, or none.
    """

    name: str
    file: str
    old: str
    new: str
    breaks: str
    step: str = ""

    @property
    def is_kernel(self) -> bool:
        """Whether the file must be compiled."""
        return self.file.startswith("pdanon/_kernels/") and not Path(self.file).name.startswith("_")

    def apply(self, root: Path) -> None:
        """Replace the text in a copy of the checkout."""
        path = root / self.file
        text = path.read_text()
        if text.count(self.old) != 1:
            raise ValueError(f"{self.name}: the text stands {text.count(self.old)} times in {self.file}")
        path.write_text(text.replace(self.old, self.new))


def read_faults(folder: Path = FOLDER) -> list[Fault]:
    """Read all faults, by file of the folder."""
    tables = (tomllib.loads(path.read_text()) for path in sorted(folder.glob("*.toml")))
    return [Fault(**each) for table in tables for each in table["fault"]]
