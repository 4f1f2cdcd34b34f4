"""Compares the locked packages with the known vulnerabilities, by pip-audit and PyPI's database.

Fails where one is known. Where the database cannot be reached nothing is compared, and that is
said.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

FOLDER = Path(__file__).parent
LOCKS = ("pip", "run", "dev", "timm", "wrappers", "minilm", "torch-cuda")
"""PyTorch for the CPU has a version that PyPI does not know; it is the same code as that for CUDA.
"""
KNOWN = "https://pypi.org/pypi/pip/26.3/json"
"""One entry of the database: where it cannot be had, none can."""


def main() -> None:
    """Audit, or say why not."""
    try:
        urlopen(KNOWN, timeout=20).close()
    except (URLError, TimeoutError) as error:
        print(
            f"The packages were not audited: the database at pypi.org cannot be reached ({error})."
        )
        return
    named = [word for name in LOCKS for word in ("--requirement", str(FOLDER / f"{name}.txt"))]
    command = [
        sys.executable,
        "-m",
        "pip_audit",
        "--disable-pip",
        "--require-hashes",
        "--progress-spinner=off",
    ]
    raise SystemExit(subprocess.run([*command, *named], check=False).returncode)


if __name__ == "__main__":
    main()
