"""Times and memory of calls on a GPU, within one time limit for all of them."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch

Run = Callable[[], None]
FULL = "no memory"
"""Text for a call that needs more memory than the device has."""


@dataclass
class Clock:
    """A clock for calls that run alternately, until the time for all of them is over."""

    device: torch.device
    # Number of rounds of a measurement, and number of calls per round. The clock waits for the
    # device after these calls.
    rounds: int
    calls: int
    # No measurement starts after this time, in seconds of `time.monotonic`.
    until: float

    @property
    def late(self) -> bool:
        """Whether it is too late to start a measurement."""
        return time.monotonic() > self.until

    def times(self, runs: Mapping[str, Run]) -> dict[str, list[float] | str]:
        """Return the seconds per call in every round, or a text such as "no memory" without them.

        Measurements that would start too late are left out. The first call of each is not counted,
        because it may compile.
        """
        able: dict[str, Run] = {}
        found: dict[str, list[float] | str] = {}
        for name, run in runs.items():
            if self.late:
                break
            problem = self._tried(run)
            found[name] = problem or []
            if problem is None:
                able[name] = run
        for _ in range(self.rounds):
            for name, run in able.items():
                times = found[name]
                if isinstance(times, list):
                    times.append(self._round(run))
        return found

    def megabytes(self, run: Run) -> str:
        """Return the growth of the device's memory peak in a call, in MiB, or a dash on a CPU."""
        if self.device.type != "cuda" or self.late:
            return "–"
        if problem := self._tried(run):
            return problem
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        run()
        self.wait()
        return f"{(torch.cuda.max_memory_allocated() - before) / 2**20:.0f}"

    def wait(self) -> None:
        """Wait until the device has finished all its work."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()

    def _tried(self, run: Run) -> str | None:
        """Make one call, and return a short text if it fails, otherwise None."""
        try:
            run()
            self.wait()
        except torch.OutOfMemoryError:
            torch.cuda.empty_cache()
            return FULL
        except ValueError:
            # `area_attention` raises it if no kernel supports this call here.
            return "–"
        return None

    def _round(self, run: Run) -> float:
        self.wait()
        began = time.perf_counter()
        for _ in range(self.calls):
            run()
        self.wait()
        return (time.perf_counter() - began) / self.calls


def milliseconds(times: list[float] | str | None) -> str:
    """Return the median as text."""
    if not isinstance(times, list):
        return times or "–"
    return f"{statistics.median(times) * 1e3:.3g} ms"


def ratio(times: list[float] | str | None, base: list[float] | str | None) -> str:
    """Return the median ratio to another call's time in the same round, as text."""
    if not isinstance(times, list) or not isinstance(base, list):
        return times if isinstance(times, str) else "–"
    ratios = [one / other for one, other in zip(times, base, strict=True)]
    return f"{statistics.median(ratios):.2f}x"
