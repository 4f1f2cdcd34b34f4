"""The app's memory over many cycles of visitors who come, ask and leave."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlencode

from tests.faults.client import Session
from tests.faults.load import LABEL
from tests.faults.served import Served

EARLY = 4
"""Every so many-th visitor leaves before the answer is there."""


@dataclass(frozen=True, slots=True)
class Drift:
    """Memory after many visitors.

    Args:
        cycles: visitors, one after the other.
        before: the app's megabytes after the visitors that warm it up.
        after: its megabytes at the end.
        threads: how many more there are at the end.
        errors: shown to visitors.
    """

    cycles: int
    before: float
    after: float
    threads: int
    errors: tuple[str, ...]

    @property
    def grown(self) -> float:
        """Megabytes."""
        return self.after - self.before

    def __str__(self) -> str:
        return (
            f"{self.cycles} visitors: {self.before:.0f} to {self.after:.0f} MB ({self.grown:+.0f}),"
            f" {self.threads:+d} threads, {len(self.errors)} errors"
        )


def drift(app: Served, model: str, warm_up: int, cycles: int) -> Drift:
    """Visitors that come, ask twice and leave, some of them too early."""
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
