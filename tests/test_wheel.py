"""The wheel: its content, the app that runs from it, and how the remaining models are fetched."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from areaviz.app.home import PAGES
from areaviz.cards.card import read_card
from areaviz.cards.tasks import TASKS
from areaviz.samples import paths
from areaviz.samples.paths import check_model_name, get_models, read_digests
from areaviz.trace.errors import BackendError, InputError

ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
MODELS: list[str] = SETTINGS["tool"]["areaviz"]["wheel-models"]
MEBIBYTE = 2**20


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.Path:
    """Return the wheel of this checkout, built from a copy to leave no build files behind."""
    folder = tmp_path_factory.mktemp("wheel")
    names = subprocess.run(
        ["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True, check=True, text=True
    ).stdout.split("\0")
    wanted = ("areaviz/", "pages/", "assets/", "checkpoints/", ".streamlit/")
    for name in filter(None, names):
        if (name.startswith(wanted) or "/" not in name) and (ROOT / name).exists():
            target = folder / "clone" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, target)
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(folder / "clone")], check=True)
    return zipfile.Path(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def installed(wheel: zipfile.Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the wheel's content, like site-packages."""
    folder = tmp_path_factory.mktemp("installed")
    with zipfile.ZipFile(str(wheel.root.filename)) as archive:
        archive.extractall(folder)
    return folder


def from_wheel(installed: Path, folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run Python in an empty folder, with the wheel's package before this checkout's."""
    settings = {"PYTHONPATH": str(installed), "XDG_DATA_HOME": str(folder / "own")}
    return subprocess.run(
        [sys.executable, *command],
        cwd=folder,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=300,
    )


def find_shared_digests() -> set[str]:
    """Return the digests of the tokenizers that models of the wheel have in the shared folder."""
    folders = [ROOT / "checkpoints" / name for name in MODELS]
    without = [folder for folder in folders if not (folder / "tokenizer.model").exists()]
    cards = [json.loads((folder / "card.json").read_text("utf-8")) for folder in without]
    return {
        card["files"]["tokenizer.model"] for card in cards if "tokenizer.model" in card["files"]
    }


def test_wheel_contains_app_pages_and_small_models(wheel: zipfile.Path) -> None:
    bundle = wheel / "areaviz" / "bundle"
    for name in ("app.py", ".streamlit/config.toml", "assets/favicon.png"):
        assert (bundle / name).exists(), name
    pages = {path.name for path in (ROOT / "pages").glob("*.py")}
    assert {path.name for path in (bundle / "pages").iterdir()} == pages
    models = {path.name for path in (bundle / "checkpoints").iterdir() if path.is_dir()}
    assert models == {*MODELS, "tables", "shared"}
    # The wheel has the shared tokenizers of its models, and no shared encoder.
    shared = {path.name for path in (bundle / "checkpoints" / "shared").iterdir()}
    assert shared == {f"tokenizer-{digest[:12]}.model" for digest in find_shared_digests()}


def test_its_models_are_about_twenty_megabytes_and_there() -> None:
    sizes = [
        path.stat().st_size for name in MODELS for path in (ROOT / "checkpoints" / name).iterdir()
    ]
    assert len(MODELS) * 2 <= len(sizes) and sum(sizes) < 26 * MEBIBYTE


def test_every_page_with_models_has_its_opening_model() -> None:
    tasks = {}
    for path in (ROOT / "pages").glob("*.py"):
        found = re.search(r'\btask="([a-z ]+)"', path.read_text("utf-8"))
        if found:
            tasks[path.stem] = found[1]
    assert {*tasks} == {*PAGES}
    has = {read_card(ROOT / "checkpoints" / model / "card.json").task for model in MODELS}
    assert set(tasks.values()) <= has
    opens = {TASKS[task].opens for task in tasks.values()} - {""}
    assert len(opens) >= 6 and opens <= {*MODELS}


def test_wheel_requires_few_packages_by_ranges(wheel: zipfile.Path) -> None:
    folder = next(path for path in wheel.iterdir() if path.name.endswith(".dist-info"))
    lines = re.findall(r"^Requires-Dist: (.*)$", (folder / "METADATA").read_text("utf-8"), re.M)
    always = {re.split(r"[<>=!\[; ]", line)[0] for line in lines if "extra ==" not in line}
    assert always == {"numpy", "pillow", "matplotlib", "plotly", "typer"}
    exact = {re.split(r"[<>=!\[; ]", line)[0] for line in lines if "==" in line.split(";")[0]}
    assert exact == {"streamlit"}


def test_pins_are_within_the_ranges() -> None:
    from packaging.requirements import Requirement

    pins = {}
    groups: list[str] = sum(SETTINGS["dependency-groups"].values(), [])
    for line in [*(ROOT / "requirements.txt").read_text("utf-8").splitlines(), *groups]:
        if not line.startswith("#"):
            pin = Requirement(line)
            pins[pin.name] = next(iter(pin.specifier)).version
    project = SETTINGS["project"]
    ranges = [*project["dependencies"], *sum(project["optional-dependencies"].values(), [])]
    asked = [one for one in map(Requirement, ranges) if one.name != "areaviz"]
    wrong = [str(one) for one in asked if not one.specifier.contains(pins[one.name])]
    assert len(asked) > 20 and wrong == []


@pytest.mark.long
def test_written_files_go_to_the_users_own_folder(installed: Path, tmp_path: Path) -> None:
    script = (
        "from areaviz.sets.run import find_analyses_folder\n"
        "from areaviz.samples.paths import CHECKPOINTS, find_checkpoints_folder\n"
        "from areaviz.samples.paths import find_fetched_models_folder\n"
        "print(find_analyses_folder()); print(find_checkpoints_folder() == CHECKPOINTS)\n"
        "find_fetched_models_folder().mkdir(parents=True); print(find_checkpoints_folder())"
    )
    lines = from_wheel(installed, tmp_path, "-c", script).stdout.splitlines()
    own = tmp_path / "own" / "areaviz"
    assert lines == [str(own / "analyses"), "True", str(own / "checkpoints")]


@pytest.mark.long
def test_installed_command_runs_in_an_empty_folder(installed: Path, tmp_path: Path) -> None:
    command = ["-m", "areaviz", "trace", "char-boundary", "A dog.", "dog.npz"]
    found = from_wheel(installed, tmp_path, *command)
    assert (found.returncode, found.stderr) == (0, "")
    assert found.stdout.strip() and (tmp_path / "dog.npz").exists()


CORE_ALONE = """
import runpy, sys
from importlib.metadata import packages_distributions
for module, names in packages_distributions().items():
    if {name.lower() for name in names} & set(sys.argv[2].split(",")):
        sys.modules[module] = None
runpy.run_path(sys.argv[1])
from areaviz.cli import main
exports = [["export", "arrays.npz", name] for name in ("page.html", "figure.svg", "numbers.csv")]
for command in (["validate", "arrays.npz"], *exports):
    try:
        main(command)
    except SystemExit as ended:
        assert not ended.code, command
main(["serve"])
"""


@pytest.mark.long
def test_wheel_without_extras_shows_traces_and_names_requirements(
    installed: Path, tmp_path: Path
) -> None:
    extras: list[str] = sum(SETTINGS["project"]["optional-dependencies"].values(), [])
    names = {re.split(r"[<>=!\[; ]", line)[0] for line in extras} - {"areaviz"}
    script = str(ROOT / "tests" / "fresh" / "core.py")
    ran = from_wheel(installed, tmp_path, "-c", CORE_ALONE, script, ",".join(names))
    said = (
        r"areaviz: this command needs \w+, which is not installed. Install the app and its models"
    )
    assert re.fullmatch(said + r" with: pip install 'areaviz\[app\]'\n", ran.stderr)
    assert all((tmp_path / one).exists() for one in ("page.html", "figure.svg", "numbers.csv"))


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Keep the test output clean."""


@pytest.fixture
def bundle(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a bundle with one of a release's two models, and make `release_models` use it."""
    origin, bundle = tmp_path / "origin", tmp_path / "bundle"
    lines = []
    for name in ("large", "small"):
        (origin / name).mkdir(parents=True)
        (origin / name / "card.json").write_text(f"the card of {name}")
        digest = hashlib.sha256((origin / name / "card.json").read_bytes()).hexdigest()
        lines.append(f"{digest}  {name}/card.json\n")
    # An encoder shared by models is not a model.
    (origin / "shared").mkdir()
    (origin / "shared" / "encoder.safetensors").write_text("weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    lines.append(f"{digest}  shared/encoder.safetensors\n")
    shutil.copytree(origin / "small", bundle / "checkpoints" / "small")
    (bundle / "checkpoints" / "models.sha256").write_text("".join(lines))
    monkeypatch.setattr(paths, "IS_CLONE", False)
    monkeypatch.setattr(paths, "BUNDLE", bundle)
    monkeypatch.setattr(paths, "MODEL_DIGESTS", bundle / "checkpoints" / "models.sha256")
    return bundle


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    folder = str(tmp_path / "origin")
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=folder)) as http:
        Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}"
        http.shutdown()


def test_remaining_models_are_fetched_and_checked(
    bundle: Path, tmp_path: Path, address: str
) -> None:
    # Models in the package are not fetched.
    (tmp_path / "origin" / "small" / "card.json").unlink()
    folder = tmp_path / "own"
    assert get_models(folder, address) == ["large", "small"]
    assert (folder / "shared" / "encoder.safetensors").read_text() == "weights"
    assert (folder / "large" / "card.json").read_text() == "the card of large"
    assert (folder / "small" / "card.json").read_text() == "the card of small"


def test_file_of_a_different_release_is_refused(bundle: Path, tmp_path: Path, address: str) -> None:
    (tmp_path / "origin" / "large" / "card.json").write_text("another")
    with pytest.raises(BackendError, match="large/card.json .* is not the expected file"):
        get_models(tmp_path / "own", address)
    assert not (tmp_path / "own" / "large" / "card.json").exists()


def test_missing_url_or_list_is_reported(bundle: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="Set AREAVIZ_MODELS_ADDRESS to the address"):
        get_models(tmp_path / "own", "")
    (bundle / "checkpoints" / "models.sha256").unlink()
    with pytest.raises(BackendError, match="Install areaviz again"):
        get_models(tmp_path / "own", "http://127.0.0.1:9")


def test_missing_model_is_known_from_the_release(bundle: Path) -> None:
    assert check_model_name("small", ["small"]) == "small"
    to_get = (
        "is not here. To get it, fetch the models of this release: set AREAVIZ_MODELS_ADDRESS, then"
    )
    with pytest.raises(InputError, match=f'The model "large" {to_get}'):
        check_model_name("large", ["small"])
    with pytest.raises(InputError, match=f'The model "larger" {to_get}'):
        check_model_name("larger", [])
    with pytest.raises(InputError, match='Model "larger" does not exist. Choose one of: small.'):
        check_model_name("larger", ["small"])


def test_clone_has_all_models(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="This clone of the repository already has all models"):
        get_models(tmp_path / "own", "http://127.0.0.1:9")


def test_digests_are_read_as_sha256sum_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "models.sha256"
    path.write_text(f"{'0' * 64}  a/card.json\n")
    assert read_digests(path) == {"a/card.json": "0" * 64}
