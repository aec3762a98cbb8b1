"""Check that the compiled kernels match their sources."""

from __future__ import annotations

from hashlib import sha256
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

__all__ = ["CHECKED", "STAMP", "are_checked", "check", "digest", "kernels"]

STAMP = "compiled.sha256"
CHECKED = " checked"  # after the hash in the stamp, if indices and sums are tested
_PLAIN = {"__init__", "_compiled"}
_HINT = (
    "compile them in the checkout: pip install --editable . (or python build_kernels.py, see CONTRIBUTING.md)"
    "; a Python started elsewhere imports what is installed"
)


def kernels(folder: Path) -> list[str]:
    """Return the names of the kernels with a source in the folder."""
    return sorted({path.stem for path in folder.glob("*.py")} - _PLAIN)


def digest(folder: Path) -> str:
    """Return a hash of all sources of the kernels."""
    content = sha256()
    sources = [folder / f"{name}.py" for name in kernels(folder)]
    for path in [*sources, *sorted(folder.glob("*.pxd"))]:
        content.update(path.name.encode() + b"\0" + sha256(path.read_bytes()).digest())
    return content.hexdigest()


def are_checked(folder: Path) -> bool:
    """Return whether the compiled kernels test indices and sums."""
    return (folder / STAMP).read_text().endswith(CHECKED)


def check(folder: Path) -> None:
    """Check that all kernels are compiled, and match their sources."""
    for name in kernels(folder):
        if not any((folder / (name + end)).exists() for end in EXTENSION_SUFFIXES):
            raise ImportError(f"the kernel {name} is not compiled: {folder}\n  hint: {_HINT}")
    stamp = folder / STAMP
    if not stamp.exists() or stamp.read_text().removesuffix(CHECKED) != digest(folder):
        raise ImportError(
            f"the sources of the kernels have changed since they were compiled: {folder}\n  hint: {_HINT}"
        )
