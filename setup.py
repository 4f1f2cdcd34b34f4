"""What pyproject.toml cannot say: a wheel holds the app within the package, as `areaviz/bundle`.

The app, its pages, samples and settings lie beside the package in the repository, where an
editable installation finds them. A wheel gets a copy, with the small models that pyproject.toml
names and the SHA-256 of every file of all models, by which `areaviz data get models` checks what
it fetches.
"""

from __future__ import annotations

import hashlib
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PLACES = ("app.py", "pages", "assets", ".streamlit", "checkpoints/tables")


class BuildWithApp(build_py):  # type: ignore[misc]  # setuptools carries no types
    """Copies the app into the package that is built."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            bundle = Path(self.build_lib) / "areaviz" / "bundle"
            # What an earlier build left must not stay.
            shutil.rmtree(bundle, ignore_errors=True)
            copy_app(bundle)


def copy_app(bundle: Path) -> None:
    """Write the bundle: the app's files, the chosen models, the digests of all models."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["areaviz"]
    models = [f"checkpoints/{name}" for name in settings["wheel-models"]]
    for name in (*PLACES, *models):
        source, target = ROOT / name, bundle / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    lines = []
    checkpoints = ROOT / "checkpoints"
    folders = [card.parent for card in sorted(checkpoints.glob("*/card.json"))]
    # What several models share is fetched with them; models of the wheel need none of it.
    folders.append(checkpoints / "shared")
    for folder in folders:
        for path in sorted(folder.glob("*")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lines.append(f"{digest}  {folder.name}/{path.name}\n")
    (bundle / "checkpoints" / "models.sha256").write_text("".join(lines), "utf-8")


setup(cmdclass={"build_py": BuildWithApp})
