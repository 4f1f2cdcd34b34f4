"""The systems that an analysis compares, models and outputs from files, with their rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from areaviz.notes.store_schema import LONGEST_NAME
from areaviz.samples.dataset import Dataset
from areaviz.ui.analyse.stored_data import Analysis, StoredRows


@dataclass(frozen=True, slots=True)
class Systems:
    """The analyses of one dataset, and the rows of each."""

    dataset: Dataset
    analyses: tuple[Analysis, ...]
    runs: tuple[StoredRows, ...]

    @classmethod
    def read(cls, dataset: Dataset, analyses: Sequence[Analysis]) -> Self:
        """Read the present rows of analyses; raises as `read_stored_rows`."""
        return cls(dataset, tuple(analyses), tuple(one.read_rows(dataset) for one in analyses))

    def __len__(self) -> int:
        return len(self.analyses)

    @property
    def are_run(self) -> bool:
        """Whether every system has rows."""
        return all(run.rows for run in self.runs)

    @property
    def has_models(self) -> bool:
        """Whether some system is a model, whose attention the page shows."""
        return any(one.request for one in self.analyses)

    @property
    def titles(self) -> list[str]:
        """The titles, each with its number if there are several systems.

        An alias in blind rating already contains the number.
        """
        if len(self) == 1:
            return [self.analyses[0].title]
        found = []
        for number, one in enumerate(self.analyses, 1):
            found.append(one.title if one.name else f"({number}) {one.title}")
        return found

    @property
    def names(self) -> list[str]:
        """The names by which notes and marks refer to the systems."""
        names = []
        for one in self.analyses:
            name = one.request.model if one.request else one.name or one.title
            names.append(name[:LONGEST_NAME])
        return names

    @property
    def titles_by_name(self) -> dict[str, str]:
        """The plain titles by the names."""
        return dict(zip(self.names, [one.title for one in self.analyses], strict=True))

    @property
    def outputs(self) -> dict[str, dict[int, str]]:
        """The output of each system, by its name and the example's index, without failed runs."""
        found: dict[str, dict[int, str]] = {}
        for name, run in zip(self.names, self.runs, strict=True):
            found[name] = {place: row.output for place, row in run.rows.items() if not row.error}
        return found
