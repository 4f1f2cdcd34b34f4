"""A local PostgreSQL server of a Debian package, for the duration of a test."""

from __future__ import annotations

import os
import pwd
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

USER = "postgres"
NEWEST = Path("/usr/lib/postgresql")


def server_folder() -> Path | None:
    """Return the folder of the server's programs, or None if this machine has no server."""
    versions = (
        sorted(NEWEST.glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
        if NEWEST.is_dir()
        else []
    )
    return versions[-1].parent if versions else None


@contextmanager
def server() -> Iterator[str]:
    """Run a new server with its own data, and yield the address of its database."""
    programs = server_folder()
    assert programs is not None
    with tempfile.TemporaryDirectory() as folder:
        _give(folder)
        data, port, control = f"{folder}/data", _free_port(), str(programs / "pg_ctl")
        _run(
            [
                str(programs / "initdb"),
                "-D",
                data,
                "-U",
                USER,
                "-A",
                "trust",
                "--no-sync",
                "-E",
                "UTF8",
            ]
        )
        options = (
            f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off -c"
            " shared_buffers=8MB"
        )
        _run([control, "-D", data, "-l", f"{folder}/log", "-o", options, "-w", "start"])
        try:
            yield f"postgresql+psycopg://{USER}@127.0.0.1:{port}/postgres"
        finally:
            _run([control, "-D", data, "-m", "immediate", "-w", "stop"])


def _run(command: Sequence[str]) -> None:
    """Run a command.

    If this user is root, which PostgreSQL refuses, run it as the server's user.
    """
    user = USER if os.getuid() == 0 else None
    subprocess.run(command, check=True, user=user, cwd="/", stdout=subprocess.DEVNULL, timeout=120)


def _give(folder: str) -> None:
    """If this user is root, give a folder to the server's user."""
    if os.getuid() == 0:
        account = pwd.getpwnam(USER)
        os.chown(folder, account.pw_uid, account.pw_gid)


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
