"""`areaviz bench NAME`: run a benchmark of the repository."""

from __future__ import annotations

import ast
import subprocess
import sys
from typing import Annotated

import typer

from areaviz.samples.paths import ROOT
from areaviz.trace.errors import BackendError, InputError


def bench(
    name: Annotated[
        str, typer.Argument(help="The benchmark. Leave it out to list all benchmarks.")
    ] = "",
    options: Annotated[
        list[str] | None, typer.Argument(help="Options of the benchmark, after two hyphens.")
    ] = None,
) -> None:
    """Run a benchmark of the repository, for example: areaviz bench app -- --items 32 128.

    To list a benchmark's own options, run: areaviz bench NAME -- --help.
    """
    found = list_benchmarks()
    if not name:
        width = max(map(len, found))
        for each, line in found.items():
            typer.echo(f"{each:{width}}  {line}")
        return
    if name not in found:
        raise InputError(f'Benchmark "{name}" does not exist. Choose one of {", ".join(found)}.')
    done = subprocess.run(
        [sys.executable, "-m", f"benchmarks.{name}", *(options or [])], cwd=ROOT, check=False
    )
    raise typer.Exit(done.returncode)


def list_benchmarks() -> dict[str, str]:
    """Return the available benchmarks, each with the first line of its docstring.

    Raises:
        BackendError: the package was installed without the repository, which contains them.
    """
    found = {}
    if (ROOT / "pyproject.toml").exists():
        for script in sorted((ROOT / "benchmarks").glob("*.py")):
            text = script.read_text(encoding="utf-8")
            if 'if __name__ == "__main__"' in text:
                found[script.stem] = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
    if not found:
        raise BackendError(
            "The benchmarks come with the repository, not with the package. Run this from a"
            " clone of it."
        )
    return found
