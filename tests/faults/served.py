"""The app as users start it: `python -m areaviz serve` on a free port, for a block."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).parents[2]
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Served:
    """A running app.

    Args:
        url: without a slash at its end.
        process: the server's process.
        log: the file with its output.
    """

    url: str
    process: subprocess.Popen[bytes]
    log: Path

    def memory(self) -> float:
        """Return the memory of the process in megabytes."""
        return self._memory("VmRSS")

    def peak(self) -> float:
        """Return the peak memory of the process in megabytes since `forget_peak`."""
        return self._memory("VmHWM")

    def forget_peak(self) -> None:
        """Reset the peak memory."""
        Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")

    def _memory(self, line: str) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"{line}:\s+(\d+) kB", status)
        assert found is not None
        return int(found[1]) / 1024

    def processor_seconds(self) -> float:
        """Return the processor time that the process has used, in seconds."""
        return processor_seconds(self.process.pid)

    def kill(self) -> None:
        """Kill the process at once, as a full memory or a power cut does."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def threads(self) -> int:
        """Return the number of threads of the process."""
        return len(list(Path(f"/proc/{self.process.pid}/task").iterdir()))


def processor_seconds(process: int) -> float:
    """Return the processor time that a process has used, in seconds."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def free_port() -> int:
    """Return a port that no process listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def served(
    log: Path,
    settings: Mapping[str, str],
    port: int | None = None,
    options: Sequence[str] = (),
    limit: Callable[[], None] | None = None,
    module: Sequence[str] = ("areaviz", "serve"),
) -> Iterator[Served]:
    """Serve the app in a separate process while the block runs.

    Args:
        log: the file for the process's output.
        settings: environment variables to add to those of this process.
        port: the port, or None for a free one.
        options: further command-line options.
        limit: sets limits of the new process before the app starts.
        module: the module that serves, with its command if it has several.
    """
    port = port or free_port()
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", *module, "--port", str(port), *options],
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=limit,
        )
    try:
        wait_until_it_answers(f"http://127.0.0.1:{port}/_stcore/health", process, log)
        yield Served(f"http://127.0.0.1:{port}", process, log)
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(20)
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_it_answers(address: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a new server answers. Raise RuntimeError with its log if it does not."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urlopen(address, timeout=5):
                return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError(f"The app did not answer:\n{log.read_text()[-2000:]}")
