"""Memory of the app over many visits: visitors come, ask and leave."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from tests.faults.client import Session
from tests.faults.load import LABEL
from tests.faults.served import Served

EARLY = 4
"""One visitor in this many leaves before the answer arrives."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Memory of the app before and after many visitors.

    Args:
        cycles: number of visitors, one after the other.
        before: memory in megabytes after the visitors that warm the app up.
        after: memory in megabytes at the end.
        threads: number of additional threads at the end.
        errors: texts of errors that visitors saw.
    """

    cycles: int
    before: float
    after: float
    threads: int
    errors: tuple[str, ...]

    @property
    def grown(self) -> float:
        """Growth of the memory in megabytes."""
        return self.after - self.before

    def __str__(self) -> str:
        return (
            f"{self.cycles} visitors: {self.before:.0f} to {self.after:.0f} MB ({self.grown:+.0f}),"
            f" {self.threads:+d} threads, {len(self.errors)} errors"
        )


def drift(app: Served, model: str, warm_up: int, cycles: int) -> Drift:
    """Let visitors come, ask twice and leave, some of them too early, and measure the memory."""
    errors = [sentence for number in range(warm_up) for sentence in _visit(app.url, model, number)]
    before, threads = app.memory(), app.threads()
    errors += [
        sentence
        for number in range(cycles)
        for sentence in _visit(app.url, model, warm_up + number)
    ]
    return Drift(cycles, before, app.memory(), app.threads() - threads, tuple(errors))


def _visit(url: str, model: str, number: int) -> list[str]:
    with Session.open(url) as session:
        first = session.visit(
            "translate", urlencode({"model": model, "text": f"Visitor {number} sees a dog."})
        )
        if number % EARLY == EARLY - 1:
            session.write_and_leave(LABEL, f"Visitor {number} leaves a dog.")
            return first.errors
        return first.errors + session.write(LABEL, f"Visitor {number} sees two dogs.").errors
