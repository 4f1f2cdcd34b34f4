"""Build the wheel: copy the app into the package, as `areaviz/bundle`.

The app, its pages, samples and settings are next to the package in the repository, where an
editable installation finds them. A wheel gets a copy. It contains the small models that
pyproject.toml names, and the SHA-256 of every file of all models. `areaviz data get models`
compares what it fetches with these digests.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tomllib
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
PLACES = ("app.py", "pages", "assets", ".streamlit", "checkpoints/tables")
TOKENIZER = "tokenizer.model"


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
    for name in (*PLACES, *models, *find_shared_tokenizers(models)):
        source, target = ROOT / name, bundle / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, target)
    lines = []
    checkpoints = ROOT / "checkpoints"
    folders = [card.parent for card in sorted(checkpoints.glob("*/card.json"))]
    # Shared files have no card. `areaviz data get models` fetches those that the wheel lacks.
    folders.append(checkpoints / "shared")
    for folder in folders:
        for path in sorted(folder.glob("*")):
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            lines.append(f"{digest}  {folder.name}/{path.name}\n")
    (bundle / "checkpoints" / "models.sha256").write_text("".join(lines), "utf-8")


def find_shared_tokenizers(models: list[str]) -> list[str]:
    """Return the shared tokenizers of these models, which have none in their own folder."""
    found = set()
    for name in models:
        digest = json.loads((ROOT / name / "card.json").read_text("utf-8"))["files"].get(TOKENIZER)
        if digest and not (ROOT / name / TOKENIZER).exists():
            found.add(f"checkpoints/shared/tokenizer-{digest[:12]}.model")
    return sorted(found)


setup(cmdclass={"build_py": BuildWithApp})
