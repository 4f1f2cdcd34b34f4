"""A folder of stored traces for tests of pages, which the replay backend uses without models."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from areaviz.app.examples import SAMPLES
from areaviz.cards.card import Card, write_card
from areaviz.trace import file
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests import fakes

TEXT = "A small dog runs."
GERMAN = {"char-area": "Ein kleiner Hund rennt.", "char-regular": "Ein kleiner Hund läuft."}


HEADS: dict[str, Any] = {
    "dependence": [[2.5, 0.125]],
    "dependence_share": [[0.7, 0.03]],
    "sink": [[0.2, 0.9]],
    "multi_share": [[0.456, 0.0]],
    "dependence_diagonal": 3.5,
    "dependence_untrained": 0.02,
    "examples": 200,
}
"""A card's values of the heads of a site: one layer of two heads."""


def card(name: str, mechanism: str, pair: str = "char") -> Card:
    """Return a complete card of a made-up model."""
    return Card(
        name=name,
        family="transformer",
        title=f"Characters, {mechanism} attention",
        task="translation",
        level="character",
        mechanism=mechanism,
        size="Tiny",
        pair=pair,
        parameters=1_234_567,
        trained_length=200,
        config={"layers": 2, "heads": 4},
        recipe={"steps": 3, "seed": 1},
        data={"name": "made up"},
        figures={
            "test_2016_flickr": {
                "bleu": 23.4 if mechanism == "area" else 22.1,
                "chrf": 50.0,
                "signature": "x|y",
            }
        },
        attention={
            "encoder self": {
                "purity": 0.5,
                "purity_random": 0.25,
                "purity_lift": 2.0,
                "area_size": 2.5,
            }
        },
        history=tuple(
            {"step": 500 * i, "train_loss": 3 / i, "valid_loss": 3.2 / i, "seconds": 9.0 * i}
            for i in (1, 2, 3)
        ),
        code_version="0" * 7,
        trained_on="a CPU",
        limits="It knows nothing.",
        licence="Apache-2.0",
    )


def trace(request: Request) -> Trace:
    """Return a made-up trace of any request."""
    made = fakes.trace(request.text, GERMAN[request.model], area_size=request.area_size or 5)
    return replace(made, request=request)


def requests() -> list[Request]:
    """Return the requests of the stored traces.

    The area model has its defaults, single items, and beam search. The regular model has its
    defaults.
    """
    plain = Request("char-area", TEXT)
    return [
        plain,
        replace(plain, area_size=1),
        replace(plain, method="beam", beam=4),
        Request("char-regular", TEXT),
    ]


def fill(folder: Path) -> None:
    """Write cards and traces."""
    (folder / "cards").mkdir(parents=True)
    for made in (card("char-area", "area"), card("char-regular", "regular")):
        write_card(made, folder / "cards" / f"{made.name}.json")
    opening = Request("char-area", SAMPLES[0])
    for index, request in enumerate([*requests(), opening]):
        file.save(trace(request), folder / f"{index}.npz")
