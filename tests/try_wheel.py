"""Build the wheel and try it in fresh environments outside the repository: `make wheel`.

python -m tests.try_wheel --python python3.11 --python python3.12 --into FOLDER

For each Python version, the wheel alone must show, export and validate a trace without torch. With
the extra `app`, `areaviz serve` must answer in an empty folder, every page must open with its own
models, and a dataset must be analysed. pip's own settings decide where packages such as PyTorch
come from. Existing environments in FOLDER are used again, with the new wheel.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

ROOT = Path(__file__).parents[1]
SCRIPTS = Path(__file__).parent / "fresh"
STARTS = 180
"""Seconds that the app may take to answer. A busy machine imports slowly."""


@dataclass(frozen=True, slots=True)
class Fresh:
    """An environment with the wheel, and an empty folder in which its commands run.

    Args:
        folder: The folder of the environment.
        empty: The folder in which its commands run.
    """

    folder: Path
    empty: Path

    def run(self, *command: str, fails: bool = False) -> str:
        """Run a command of the environment and return its output.

        Raises:
            SystemExit: The command fails although `fails` is false, or the other way round.
        """
        words = [str(self.folder / "bin" / command[0]), *command[1:]]
        done = subprocess.run(
            words, cwd=self.empty, env=settings(self.empty), capture_output=True, text=True
        )
        if (done.returncode != 0) != fails:
            raise SystemExit(f"{' '.join(words)}\n{done.stdout}{done.stderr}")
        return done.stderr if fails else done.stdout


def main() -> None:
    """Build and install the wheel, then try it. Stop at the first problem."""
    parser = argparse.ArgumentParser(description="Try the wheel in fresh environments.")
    parser.add_argument("--python", action="append", help="An interpreter; can be given again.")
    parser.add_argument("--into", type=Path, help="Keeps the environments in this folder.")
    parser.add_argument("--port", type=int, default=8619, help="Of the app that is tried.")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        into = options.into or Path(temporary)
        wheel = built(Path(temporary))
        print(f"{wheel.name}: {wheel.stat().st_size / 1e6:.1f} MB", flush=True)
        for python in options.python or [sys.executable]:
            version = said(python, "-c", "import platform; print(platform.python_version())")
            core = installed(python, into / f"core-{version}", wheel, "")
            try_core(core)
            print(f"{version}: the wheel alone works without PyTorch", flush=True)
            app = installed(python, into / f"app-{version}", wheel, "[app]")
            try_app(app, options.port)
            print(f"{version}: the app serves every page from an empty folder", flush=True)


def built(folder: Path) -> Path:
    """Build the wheel from the files that git tracks, including uncommitted changes."""
    source = folder / "source"
    names = said("git", "-C", str(ROOT), "ls-files", "-z").split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (source / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, source / name)
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "--wheel-dir", str(folder), str(source)], check=True)
    return next(folder.glob("*.whl"))


def installed(python: str, folder: Path, wheel: Path, extra: str) -> Fresh:
    """Create an environment with the wheel, or update an existing one."""
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    if folder.exists():
        subprocess.run([*pip, "--force-reinstall", "--no-deps", str(wheel)], check=True)
    else:
        subprocess.run([python, "-m", "venv", str(folder)], check=True)
    subprocess.run([*pip, f"{wheel}{extra}"], check=True)
    subprocess.run([str(folder / "bin" / "python"), "-m", "pip", "check"], check=True)
    empty = folder / "empty"
    shutil.rmtree(empty, ignore_errors=True)
    empty.mkdir()
    return Fresh(folder, empty)


def try_core(fresh: Fresh) -> None:
    """Check that arrays become a trace that is shown, exported and validated without extras.

    Commands that need an extra must say so.
    """
    fresh.run("python", str(SCRIPTS / "core.py"))
    fresh.run("areaviz", "validate", "arrays.npz")
    for name in ("page.html", "figure.svg", "figure.pdf", "numbers.csv"):
        fresh.run("areaviz", "export", "arrays.npz", name)
        if not (fresh.empty / name).stat().st_size:
            raise SystemExit(f"{name} is empty.")
    refused = fresh.run("areaviz", "serve", fails=True)
    if "pip install 'areaviz[app]'" not in refused or "Traceback" in refused:
        raise SystemExit(f"serve does not say what it needs: {refused}")


def try_app(fresh: Fresh, port: int) -> None:
    """Check that the app answers, every page opens, a model runs and a dataset is analysed."""
    serving = subprocess.Popen(
        [str(fresh.folder / "bin" / "areaviz"), "serve", "--port", str(port)],
        cwd=fresh.empty,
        env=settings(fresh.empty),
    )
    try:
        wait_for(f"http://127.0.0.1:{port}", serving)
    finally:
        serving.terminate()
        serving.wait()
    fresh.run("python", str(SCRIPTS / "pages.py"))
    fresh.run("areaviz", "trace", "token-boundary", "A small dog runs.", "dog.npz")
    (fresh.empty / "set.txt").write_text("A small dog runs.\nTwo women are drinking coffee.\n")
    fresh.run("areaviz", "analyse", "set.txt", "--model", "token-boundary")


def wait_for(address: str, serving: subprocess.Popen[bytes]) -> None:
    """Wait until the app answers.

    Raises:
        SystemExit: The app ends, or does not answer in time.
    """
    for _ in range(STARTS):
        if serving.poll() is not None:
            break
        try:
            with urlopen(f"{address}/_stcore/health", timeout=5), urlopen(address, timeout=5):
                return
        except (URLError, TimeoutError):
            time.sleep(1)
    raise SystemExit(f"areaviz serve does not answer at {address}.")


def settings(empty: Path) -> Mapping[str, str]:
    """Return this process's environment without paths to this checkout or to user data."""
    clean = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("AREAVIZ_", "PYTHON", "VIRTUAL_ENV"))
    }
    return {**clean, "XDG_DATA_HOME": str(empty / "own")}


def said(*command: str) -> str:
    """Return the output of a command."""
    done: Sequence[str] = command
    return subprocess.run(done, capture_output=True, check=True, text=True).stdout.strip()


if __name__ == "__main__":
    main()
