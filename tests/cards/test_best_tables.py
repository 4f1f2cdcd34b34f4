"""Tables of best alignments: errors of translators, and right words of models that look."""

from __future__ import annotations

from dataclasses import replace

from areaviz.cards.card import Opening
from areaviz.lab.tables import format_alignment_table, format_pointing_table
from areaviz.trace.derived import BestAlignment
from tests.pages import folder

BEST = BestAlignment(((0, 1, 1), (3, 0, 0)), 20, "validation captions", 0.2, 0.3)
FIGURES = {"best": 0.25, "best_low": 0.2, "best_high": 0.3, "best_untrained": 0.9}


def opened(best: BestAlignment) -> dict[str, Opening]:
    return {"encoder-decoder": Opening("coverage", 0, None, best)}


def test_translator_errors_are_listed_with_baselines() -> None:
    attention = {
        "word links": {"aer": 0.3, "aer_aligner": 0.19, "aer_diagonal": 0.475},
        "best alignment": {**FIGURES, "best_position": 0.6},
    }
    card = replace(folder.card("a", "area"), opening=opened(BEST), attention=attention)
    rows = list(format_alignment_table([card, folder.card("b", "area")]))[2:]
    heads = "1.2 (at the next step) and 4.1"
    assert rows == [
        f"| `a` | {heads} | 20.0 | 25.0 (20.0 to 30.0) | 30.0 | 90.0 | 60.0 |",
        "| a statistical aligner, trained on the same corpus |  |  | 19.0 |  |  |  |",
        "| the diagonal |  |  | 47.5 |  |  |  |",
    ]


def test_right_words_are_listed_with_baselines() -> None:
    found = {f"best_hit{name.removeprefix('best')}": one for name, one in FIGURES.items()}
    found |= {"hit": 0.2, "best_hit_position": 0.1, "best_hit_diagonal": 0.8}
    attention = {"encoder-decoder, test": found}
    card = replace(folder.card("a", "area"), opening=opened(BEST), attention=attention)
    rows = list(format_pointing_table([card, replace(card, opening={})]))[2:]
    heads = "1.2 (at the next step) and 4.1"
    assert rows == [f"| `a` | {heads} | 80.0 | 25.0 (20.0 to 30.0) | 20.0 | 90.0 | 10.0 | 80.0 |"]
