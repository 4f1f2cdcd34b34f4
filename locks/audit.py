"""Audit the locked packages for known vulnerabilities, by pip-audit and PyPI's database.

The audit fails if a vulnerability is known. If the database cannot be reached, nothing is compared,
and a message says so.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

FOLDER = Path(__file__).parent
LOCKS = ("pip", "run", "dev", "timm", "wrappers", "minilm", "torch-cuda")
"""Locks to audit: those of one environment. The servers for notebooks have an environment of their
own and are reached from this machine alone. PyPI does not know the version of PyTorch for the CPU;
its code equals CUDA's.
"""
KNOWN = "https://pypi.org/pypi/pip/26.3/json"
"""One entry of the database, which shows whether the database can be reached."""


def main() -> None:
    """Audit the locks, or print why they were not audited."""
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
