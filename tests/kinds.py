"""One test case per kind of input, each with a tiny model in the layout of shipped checkpoints.

The networks are untrained. Requests give the output where possible, because an untrained network
may write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from areaviz.cards.card import Card, write_card
from areaviz.measures.references import make_flat_tree
from areaviz.models.base import TOKENIZER, save_weights
from areaviz.models.captions import CaptionerConfig
from areaviz.models.clips import WatcherConfig
from areaviz.models.digit_reader import DIGIT_NETWORKS
from areaviz.models.digits import RamConfig
from areaviz.models.generation import GENERATION_NETWORKS
from areaviz.models.language import TextDecoderConfig
from areaviz.models.picture_translation import TwoMemoriesConfig
from areaviz.models.points import PointerConfig, PointerNetwork
from areaviz.models.speech import ListenerConfig
from areaviz.models.stories import MemoryConfig, MemoryNetwork, split_sentence
from areaviz.models.tokenizer import Tokenizer
from areaviz.models.translation import LstmConfig
from areaviz.samples.own_media import get_clip_sample
from areaviz.trace.changes import Change, Hide, Weigh
from areaviz.trace.request import Request
from tests import fakes, tiny
from tests.pages import folder

TEXT = {"layers": 2, "width": 16, "filter": 16, "heads": 2, "dropout": 0.0}
ENCODER = {"side": 32, "channels": 2}
STORY = "Ann went to the den. Bob went to the barn. Ann left. Where is Bob?"
POINTS = "100,100 900,120 820,800 150,850 480,460"
BRACKETS = ("(S", "(NP", "(VP", ")S", ")NP", ")VP", "XX")
LINES = ["a small red circle", "ein roter Kreis", "Ida paints old boats .", *BRACKETS]


@dataclass(frozen=True)
class Case:
    """A kind of input: a request to its model, and the fields that the trace contains.

    Args:
        request: The request. Its model has the name of the case.
        site: The attention type that is shown first.
        fields: The kinds of the fields that the model reads.
        ban: A change that hides part of the input, or None if nothing can be changed.
        sample: The name of the app's own dataset of such examples, or "" if there is none.
    """

    request: Request
    site: str
    fields: tuple[str, ...]
    ban: Change | None
    sample: str

    @property
    def name(self) -> str:
        return self.request.model


CROSS = "encoder-decoder"
_CASES = (
    Case(
        Request("text", "A small dog runs.", target="Ein kleiner Hund."),
        CROSS,
        ("text",),
        Hide("source", (2, 3)),
        "Sentences",
    ),
    Case(
        Request("picture", "", picture=fakes.picture(), target="a red circle"),
        CROSS,
        ("picture",),
        Hide("picture", (5,)),
        "Scenes to describe",
    ),
    Case(
        Request("both", "a small circle", picture=fakes.picture(), target="ein Kreis"),
        "encoder-decoder picture",
        ("text", "picture"),
        Hide("picture", (5,)),
        "Scenes with a sentence",
    ),
    Case(
        Request("digit", "", picture=fakes.picture("digit", 60, 60)),
        "glimpses",
        ("picture",),
        None,
        "Digits among clutter",
    ),
    Case(
        Request("sound", "", sound=fakes.sound(), target="3141"),
        CROSS,
        ("sound",),
        Hide("sound", (3, 4)),
        "Spoken digits",
    ),
    Case(
        Request("clip", "", clip=get_clip_sample("three-left-grows"), target="a red circle"),
        CROSS,
        ("clip",),
        Hide("clip", (1,)),
        "Moving digits",
    ),
    Case(Request("facts", STORY), "hops", ("facts", "text"), Hide("facts", (1,)), "Stories"),
    Case(
        Request("points", POINTS, target="1 2 3 4 1"),
        "pointer",
        ("points",),
        Weigh("pointer", (4,)),
        "Points",
    ),
    Case(
        Request("tree", "Ida paints old boats .", target=make_flat_tree(5)),
        CROSS,
        ("text",),
        Hide("source", (0,)),
        "Sentences with trees",
    ),
    # A language model reads only its own history, so its trace has no field for an input.
    Case(
        Request("history", "a small red circle", target=""),
        "decoder self",
        (),
        Hide("history", (1,)),
        "Sentences to read",
    ),
)
CASES: Mapping[str, Case] = {case.name: case for case in _CASES}


def write_checkpoints(place: Path) -> None:
    """Write a folder with one checkpoint per case."""
    tiny.checkpoint(place, "text")
    words = Tokenizer.train(LINES * 3, "token", 120, BRACKETS)
    digits = Tokenizer.train(["0123456789"] * 4, "character", 32)
    count, spoken = len(words), ListenerConfig(len(digits), width=8)
    small: dict[str, Any] = {**TEXT, "area_size": 2}
    _write(
        place,
        _card("picture", "caption", "captioner"),
        words,
        CaptionerConfig(count, encoder=ENCODER, grid=4, **small),
    )
    _write(
        place,
        _card("both", "picture translation", "doubly"),
        words,
        TwoMemoriesConfig(count, TEXT, ENCODER, grid=4),
    )
    _write(place, _card("sound", "speech", "listener"), digits, spoken)
    _write(
        place,
        _card("clip", "video", "watcher"),
        words,
        WatcherConfig(count, frames=8, side=16, width=16, area_size=2),
    )
    _write(
        place,
        _card("tree", "parsing", "lstm"),
        words,
        LstmConfig(count, depth=1, width=8, area_size=3, key_mode="boundary"),
    )
    _write(
        place,
        _card("history", "reading", "text decoder"),
        words,
        TextDecoderConfig(count, area_layers=1, key_mode="boundary", **small),
    )
    _write(place, _card("digit", "digits", "ram"), None, RamConfig("cluttered", 3, 12, 3, 16))
    known = sorted(set(split_sentence(STORY)))
    _write(
        place,
        _card("facts", "questions", "memory"),
        None,
        MemoryConfig(known, ("den", "barn"), width=8, most_facts=20),
    )
    _write(place, _card("points", "points", "pointer"), None, PointerConfig("hull", 8))


def _card(name: str, task: str, family: str) -> Card:
    made = folder.card(name, "item-wise soft", pair=name)
    level = {"points": "point", "speech": "character"}.get(task, "token")
    return replace(made, task=task, family=family, level=level, title=f"A tiny model of {name}")


_NETWORKS: Mapping[str, Callable[[Any], torch.nn.Module]] = {
    **{family: made for family, (_, made) in GENERATION_NETWORKS.items()},
    **{family: made for family, (_, made) in DIGIT_NETWORKS.items()},
    "memory": MemoryNetwork,
    "pointer": PointerNetwork,
}


def _write(place: Path, card: Card, tokenizer: Tokenizer | None, config: Any) -> None:
    path = place / card.name
    path.mkdir(parents=True)
    torch.manual_seed(1)
    save_weights(_NETWORKS[card.family](config), path)
    if tokenizer is not None:
        tokenizer.save(path / TOKENIZER)
    write_card(replace(card, config=asdict(config)), path / "card.json")
