"""Compile the kernels: a hook of hatchling, and a command for those who edit them.

``python build_kernels.py`` compiles what has changed since the last time, into ``pdanon/_kernels``;
``python build_kernels.py --checked`` compiles all of it with indices and sums tested, for tests. Both need
what ``pip install '.[kernels]'`` installs.
"""

from __future__ import annotations

import argparse
import os
import runpy
import shlex
import shutil
import subprocess
import sys
import sysconfig
from contextlib import chdir
from hashlib import sha256
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

ROOT = Path(__file__).resolve().parent
PACKAGE = "pdanon._kernels"
FOLDER = Path(*PACKAGE.split("."))
SHARED = "_shared"  # code of memoryviews, which each module would carry otherwise
LIBRARIES = ("*.so", "*.pyd")
FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
LIMITED_API = "0x030B0000"  # one binary for Python 3.11 and all later ones, but for those without a lock
DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "initializedcheck": False,
    "cdivision": True,
    "infer_types": True,
    "embedsignature": True,
    # Less code: nothing inspects a kernel, or pickles its objects.
    "binding": False,
    "auto_pickle": False,
    # Kernels share no state: each call works on the arrays that it gets.
    "freethreading_compatible": True,
}
CHECKED = {"boundscheck": True, "initializedcheck": True, "overflowcheck": True}
# For any processor, and with products and sums of floats not fused, so that all of them find the same.
# In the C of 2023, the default of newer compilers, CYTHON_UNUSED may not follow static.
FLAGS = ["/O2"] if sys.platform == "win32" else ["-std=gnu17", "-O2", "-g0", "-ffp-contract=off"]
# Cython asks that its helpers are inlined. The compiler chooses well, and takes 0.7 of the time.
MACROS = [("CYTHON_INLINE", "CYTHON_UNUSED")]
if not FREE_THREADED:
    MACROS.append(("Py_LIMITED_API", LIMITED_API))
# Two thirds of the time to compile. These kernels run as fast, as far as can be measured.
LESS_EFFORT = [] if sys.platform == "win32" else ["-O1"]
AS_FAST = {
    SHARED,
    "chunks",
    "cut_search",
    "cuts",
    "row_groups",
    "row_partitions",
}
ZIG = f"{shlex.quote(sys.executable)} -m ziglang cc -mcpu=baseline"


class KernelsHook(BuildHookInterface[Any]):
    """Compiles the kernels where they are, and has the wheel take them along."""

    def dependencies(self) -> list[str]:
        """Without a C compiler on the machine, one from the package index."""
        return [] if _has_compiler() else ["ziglang>=0.15"]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the wheel after what it runs on."""
        compile_kernels(checked=bool(os.environ.get("PDANON_CHECKED_KERNELS")))
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        version = "cp{}{}".format(*sys.version_info)
        build_data["pure_python"] = False
        build_data["tag"] = f"{version}-{version}t-{platform}" if FREE_THREADED else f"cp311-abi3-{platform}"
        build_data["artifacts"] += [f"/{FOLDER.as_posix()}/{name}" for name in (*LIBRARIES, "*.sha256")]


def compile_kernels(*, checked: bool) -> None:
    """Compile the kernels that have changed, and note of which sources they are."""
    compiled = runpy.run_path(str(ROOT / FOLDER / "_compiled.py"))
    build = _build_folder(checked)
    _copy_changed(ROOT / FOLDER, build / FOLDER)
    if not _has_compiler():
        _use_zig(build)
    names, digest = compiled["kernels"](build / FOLDER), compiled["digest"](build / FOLDER)
    stamp = build / compiled["STAMP"]
    # Cython would compare dates, and an environment that pip has just made has newer files of Cython.
    if not stamp.exists() or stamp.read_text() != digest:
        stamp.unlink(missing_ok=True)
        with chdir(build):
            if checked:
                _compile(names, DIRECTIVES | CHECKED, {SHARED, *names})
            else:
                _compile(names, DIRECTIVES, AS_FAST)
        stamp.write_text(digest)
    _install({SHARED, *names}, build / "lib" / FOLDER, ROOT / FOLDER)
    (ROOT / FOLDER / compiled["STAMP"]).write_text(digest + compiled["CHECKED"] * checked)


def _has_compiler() -> bool:
    if not sys.platform.startswith(
        "linux"
    ):  # setuptools finds the one of the system, or says what is missing
        return True
    command = os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc"
    return shutil.which(shlex.split(command)[0]) is not None


def _use_zig(build: Path) -> None:
    """Have setuptools compile and link with the ziglang package."""
    os.environ["CC"], os.environ["LDSHARED"] = ZIG, f"{ZIG} -shared"
    os.environ.setdefault("ZIG_GLOBAL_CACHE_DIR", str(build / "zig"))  # there may be no home


def _build_folder(checked: bool) -> Path:
    """A folder for what is compiled in the same way."""
    import Cython

    python = sysconfig.get_config_var("SOABI") if FREE_THREADED else None
    compiler = (Cython.__version__, sysconfig.get_platform(), os.environ.get("CC"))
    way = (Path(__file__).read_bytes(), python, *compiler)
    return (
        ROOT
        / "build"
        / f"kernels-{'checked' if checked else 'fast'}-{sha256(repr(way).encode()).hexdigest()[:8]}"
    )


def _copy_changed(sources: Path, copies: Path) -> None:
    """Copy sources whose content is new: the dates of the copies tell what has to be compiled."""
    copies.mkdir(parents=True, exist_ok=True)
    wanted = {path.name: path.read_bytes() for path in sources.iterdir() if path.suffix in (".py", ".pxd")}
    for path in copies.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, content in wanted.items():
        copy = copies / name
        if not copy.exists() or copy.read_bytes() != content:
            copy.write_bytes(content)
    (copies.parent / "__init__.py").touch()


def _compile(names: list[str], directives: dict[str, Any], less: set[str]) -> None:
    """Compile the kernels below the working directory, several at a time, and some with less effort."""
    from Cython.Build import cythonize
    from setuptools import Distribution
    from setuptools.command.build_ext import build_ext

    workers = os.cpu_count() or 1
    kernels = cythonize(
        [_extension(name, FOLDER / f"{name}.py", name in less) for name in names],
        build_dir="c",
        nthreads=workers,
        compiler_directives=directives,
        shared_utility_qualified_name=f"{PACKAGE}.{SHARED}",
    )
    shared = _extension(SHARED, _shared_code(), SHARED in less)
    command = build_ext(Distribution({"ext_modules": [shared, *kernels]}))
    command.build_lib, command.build_temp = "lib", "o"
    command.parallel = workers
    command.ensure_finalized()
    command.run()


def _shared_code() -> Path:
    code = Path("c", f"{SHARED}.c")
    if not code.exists():
        subprocess.run([sys.executable, "-m", "cython", f"--generate-shared={code}"], check=True)
    return code


def _extension(name: str, source: Path, less: bool) -> Any:
    from setuptools import Extension

    return Extension(
        f"{PACKAGE}.{name}",
        [str(source)],
        define_macros=MACROS,
        py_limited_api=not FREE_THREADED,
        extra_compile_args=[*FLAGS, *LESS_EFFORT] if less else FLAGS,
    )


def _install(names: set[str], built: Path, folder: Path) -> None:
    """Put libraries of these names beside the sources, and nothing else that is compiled."""
    for pattern in LIBRARIES:
        for path in folder.glob(pattern):
            path.unlink()
    for library in built.iterdir():
        if library.name.partition(".")[0] in names:
            shutil.copy2(library, folder / library.name)


def get_build_hook() -> type[KernelsHook]:
    """What hatchling asks for; it would not know which class is meant."""
    return KernelsHook


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Compile the kernels that have changed.")
    parser.add_argument("--checked", action="store_true", help="test indices and sums")
    compile_kernels(checked=parser.parse_args().checked)
