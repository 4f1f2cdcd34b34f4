"""The analysis that the page Analyse shows first, of two models on the app's own sentences.

Its rows are files of the repository, one per model, so the page opens without running a model. The
command `areaviz openings --only-analysis` writes them.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path

from areaviz.analysis.row_lines import Header, format_header, format_row
from areaviz.analysis.rows import RowFile
from areaviz.analysis.run import make_header, run_example
from areaviz.cards.card import Card
from areaviz.samples.paths import ANALYSIS
from areaviz.samples.sample_sets import SAMPLE_SETS
from areaviz.trace.record import Run
from areaviz.trace.request import Request
from areaviz.trace.safe_files import write_whole

SET = "Sentences"
MODELS = ("recurrent-additive", "recurrent-none")
"""The compared models. The second one is the first one without attention."""


def store_analysis(folder: Path, cards: Mapping[str, Card], run: Run) -> list[Path]:
    """Run both models on the sentences, and write one file of rows per model.

    Sentences are run one after another, so that every call writes equal files.

    Args:
        folder: where the files are written to.
        cards: the cards of the models, by name.
        run: runs a request.

    Raises:
        BackendError: a model cannot be run.
    """
    dataset = SAMPLE_SETS[SET]()
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in MODELS:
        request = Request(name, "")
        lines = [format_header(make_header(dataset, request, cards[name]))]
        for index in range(len(dataset.examples)):
            lines.append(format_row(run_example(dataset, index, request, run)))
        path = folder / f"{name}.jsonl"
        write_whole(path, b"".join(lines))
        written.append(path)
    return written


def find_stored_analysis(about: Header) -> Path | None:
    """Return the stored file with the rows of exactly this analysis, None if there is none."""
    path = ANALYSIS / f"{about.model}.jsonl"
    if about.model not in MODELS or not path.is_file():
        return None
    return path if _read_header(path) == about else None


@lru_cache(maxsize=len(MODELS))
def _read_header(path: Path) -> Header:
    """Return the header of a stored file, which does not change while the app runs."""
    return RowFile.read(path).header
