"""Generated wrong, missing and extra inputs for every architecture and public function.

A case is an architecture, a modification of its model, an input and an option. It is one of all
combinations of these four lists, from which a seeded sample is drawn. The answer must be a result,
an `InputError`, or a `BackendError` whose message is a sentence.

`python -m tests.adapters.wrong_inputs [COUNT]` prints every case with another answer.
"""

from __future__ import annotations

import inspect
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import areaviz
from areaviz.trace.inseq import load_inseq, save_inseq
from tests.adapters import small
from tests.adapters.architectures import ARCHITECTURES, Architecture, inputs
from tests.adapters.vision_language import VISION_LANGUAGE

EVERY: tuple[Architecture, ...] = (*ARCHITECTURES, *VISION_LANGUAGE)
_SENTENCE = re.compile(r"[A-Z“\"/].*[.!?]$", re.DOTALL)
# Text that shows that a message was not formatted correctly.
_BROKEN = re.compile(r"\{\w*\}|<[\w.]+ object at|Traceback")


@dataclass(frozen=True)
class Case:
    """A combination, by the names of its parts."""

    architecture: str
    model: str
    given: str
    option: str


def cases(seed: int = 0) -> Iterator[Case]:
    """Draw endless combinations, which depend only on the seed."""
    drawn = random.Random(seed)
    names = [one.name for one in EVERY]
    while True:
        yield Case(
            drawn.choice(names),
            drawn.choice([*["as it is"] * 3, *MODELS]),
            drawn.choice([*GIVEN]),
            drawn.choice([*["none"] * 2, *OPTIONS]),
        )


def pairs(seed: int = 0) -> Iterator[Case]:
    """Yield every architecture with every input, and every input with every option and model.

    All combinations of the four parts would be more than two million. The seed chooses the parts
    outside each pair.
    """
    drawn = random.Random(seed)
    names = [one.name for one in EVERY]
    for name in names:
        for given in GIVEN:
            yield Case(name, drawn.choice([*MODELS]), given, drawn.choice([*OPTIONS]))
    for given in GIVEN:
        for option in OPTIONS:
            yield Case(drawn.choice(names), "as it is", given, option)
        for model in MODELS:
            yield Case(drawn.choice(names), model, given, "none")


def _as_it_is(model: Any) -> Any:
    return model


def _with_nan(model: Any) -> Any:
    """Return the model with NaN in its last weights."""
    last = list(model.parameters())[-1]
    with torch.no_grad():
        last.fill_(float("nan"))
    return model


def _with_nan_first(model: Any) -> Any:
    """Return the model with NaN in its first weights."""
    with torch.no_grad():
        next(model.parameters()).fill_(float("nan"))
    return model


def _on_meta(model: Any) -> Any:
    return model.to("meta")


def _in_half(model: Any) -> Any:
    return model.to(torch.bfloat16)


def _training(model: Any) -> Any:
    return model.train()


def _asking_for_beams(model: Any) -> Any:
    if getattr(model, "generation_config", None) is not None:
        model.generation_config.num_beams = 3
    return model


MODELS: Mapping[str, Callable[[Any], Any]] = {
    "as it is": _as_it_is,
    "NaN at the end": _with_nan,
    "NaN at the beginning": _with_nan_first,
    "meta device": _on_meta,
    "bfloat16": _in_half,
    "training": _training,
    "beams": _asking_for_beams,
}


def _own(architecture: Architecture) -> Any:
    return inputs(architecture)[0]


def _mapping(architecture: Architecture) -> dict[str, Any]:
    """Return the input of a model by name."""
    given = _own(architecture)
    if isinstance(given, Mapping):
        return dict(given)
    if isinstance(given, list):
        return {"input_ids": torch.tensor([given])}
    name = "pixel_values" if architecture.reads in ("picture", "caption") else "input_values"
    return {"input_features" if architecture.reads == "speech" else name: given}


def _without(name: str) -> Callable[[Architecture], Any]:
    def make(architecture: Architecture) -> Any:
        return {key: one for key, one in _mapping(architecture).items() if name not in key}

    return make


def _with(**more: Any) -> Callable[[Architecture], Any]:
    def make(architecture: Architecture) -> Any:
        return {**_mapping(architecture), **more}

    return make


def _as_given(value: Any) -> Callable[[Architecture], Any]:
    return lambda architecture: value


def _doubled(architecture: Architecture) -> Any:
    """Return the input as a batch of two."""
    found = {}
    for name, value in _mapping(architecture).items():
        found[name] = torch.cat([value, value]) if isinstance(value, torch.Tensor) else value
    return found


def _padded(architecture: Architecture) -> Any:
    """Return the input with a mask that hides the first token."""
    given = _mapping(architecture)
    if "input_ids" not in given:
        return given
    mask = torch.ones_like(given["input_ids"])
    mask[:, 0] = 0
    return {**given, "attention_mask": mask}


_PICTURE = np.zeros((40, 48, 3), np.uint8)
_CHAT = [{"role": "user", "content": "a small dog"}]
GIVEN: Mapping[str, Callable[[Architecture], Any]] = {
    "its own": _own,
    "by name": _mapping,
    "a batch": _doubled,
    "padding": _padded,
    "a text": _as_given("a small dog"),
    "an empty text": _as_given(""),
    "blanks": _as_given("  \n"),
    "half a surrogate": _as_given("a \ud800 dog"),
    "two texts": _as_given(["a dog", "the cat runs"]),
    "a pair": _as_given(("a dog", "the cat runs")),
    "a chat": _as_given(_CHAT),
    "a chat with a picture": _as_given([{"role": "user", "content": [{"type": "image"}]}]),
    "nothing": _as_given(None),
    "an empty list": _as_given([]),
    "an empty mapping": _as_given({}),
    "no tokens": _as_given({"input_ids": torch.zeros(1, 0, dtype=torch.long)}),
    "a number": _as_given(7),
    "an object": _as_given(object()),
    "token ids": _as_given([5, 7, 11]),
    "one token": _as_given([5]),
    "token ids below 0": _as_given([5, -1]),
    "token ids that are too large": _as_given([5, 10**6]),
    "token ids beyond any number": _as_given([2**70]),
    "fractions": _as_given([0.5, 1.5]),
    "too many tokens": _as_given([5] * 300),
    "far too many tokens": _as_given([5] * 5000),
    "a picture": _as_given(_PICTURE),
    "a grey picture": _as_given(np.zeros((40, 48), np.uint8)),
    "a picture of no pixels": _as_given(np.zeros((0, 0, 3), np.uint8)),
    "pixel values": _as_given(torch.zeros(1, 3, 32, 32)),
    "pixel values of another size": _as_given(torch.zeros(1, 3, 40, 24)),
    "pixel values that are NaN": _as_given(torch.full((1, 3, 32, 32), float("nan"))),
    "a text and a picture": _as_given(("a small dog", _PICTURE)),
    "tokens and a picture": _as_given(([5, 7], _PICTURE)),
    "two pictures": _as_given((_PICTURE, _PICTURE)),
    "samples": _as_given(np.zeros(4000, np.float32)),
    "stereo": _as_given(np.zeros((2, 4000), np.float32)),
    "no samples": _as_given(np.zeros(0, np.float32)),
    "a path that does not exist": _as_given("/no/such/file.png"),
    "a path in the home folder": _as_given(Path("~/no/such/file.wav")),
    "bytes": _as_given(b"RIFF"),
    "a row of a data set": _as_given({"array": [0.0] * 4000, "sampling_rate": 8000}),
    "a row without a rate": _as_given({"array": [0.0] * 4000, "sampling_rate": 0}),
    "a row of nothing": _as_given({"array": None, "sampling_rate": "fast"}),
    "without its text": _without("input_ids"),
    "without its pixels": _without("pixel"),
    "without its counts": _without("grid"),
    "with a cache": _with(past_key_values=object()),
    "with a flag": _with(use_cache=True, output_attentions=True, return_dict=False),
    "with labels": _with(labels=torch.tensor([[1, 2]])),
    "with an unknown input": _with(unheard_of=torch.zeros(3)),
    "with a mask of another length": _with(attention_mask=torch.ones(1, 2)),
    "with a mask of nothing": _with(attention_mask=torch.zeros(1, 7)),
    "with a text for numbers": _with(attention_mask="all"),
}
OPTIONS: Mapping[str, Mapping[str, Any]] = {
    "none": {},
    "a target": {"target": [9, 11, 12, 2]},
    "a text as target": {"target": "a dog"},
    "an empty target": {"target": []},
    "target ids too large": {"target": [10**6]},
    "an object as target": {"target": object()},
    "no steps": {"steps": 0},
    "many steps": {"steps": 100},
    "labels": {"labels": ["a", "b"]},
    "labels that are no text": {"labels": [1, None, 3]},
    "large areas": {"area_size": 16},
    "areas of 0": {"area_size": 0},
    "areas that are no number": {"area_size": "3"},
    "a name of the hub": {"name": "org/model"},
    "a name of signs": {"name": "☃☃☃"},
    "layers": {"layers": [0]},
    "layers that are not there": {"layers": [9]},
    "no layers": {"layers": []},
    "heads that are not there": {"heads": [-1]},
    "an unknown site": {"sites": ["hops"]},
    "a site": {"sites": ["encoder-decoder"]},
    "another example": {"example": 1},
    "an example below 0": {"example": -1},
    "attribution": {"attribution": True},
    "a probe of nothing": {"probes": {"nowhere": lambda *given: None}},
    "no tokenizer": {"tokenizer": None},
    "a tokenizer that fails": {"tokenizer": object()},
    "a processor that fails": {"processor": lambda *given, **named: 1 / 0},
}


@lru_cache(maxsize=4)
def _architecture(name: str) -> Architecture:
    return next(one for one in EVERY if one.name == name)


def problem(case: Case) -> str:
    """Run a case. Return what is wrong with its answer, or "".

    An InputError or BackendError of one sentence is a correct answer.
    """
    architecture = _architecture(case.architecture)
    model = MODELS[case.model](architecture.model())
    options = {"tokenizer": small.tokenizer(), "steps": 3, "area_size": 1}
    options |= dict(OPTIONS[case.option])

    def call() -> Any:
        return areaviz.attend(model, GIVEN[case.given](architecture), **options)

    return problem_of(call)


def problem_of(call: Callable[[], Any]) -> str:
    """Call a function. Return what is wrong with its answer, or an empty string."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call()
    except (areaviz.InputError, areaviz.BackendError) as error:
        said = str(error)
        if not _SENTENCE.fullmatch(said) or _BROKEN.search(said) or len(said) > 900:
            return f"no sentence: {said[:300]!r}"
    except Exception as error:
        return f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
    return ""


def _traces() -> list[Any]:
    weights = np.full((2, 2, 3, 3), 1 / 3, np.float32)
    return [
        areaviz.from_arrays(weights, list("abc")),
        areaviz.from_arrays(np.full((1, 1, 2, 4), 0.25), shape=(2, 2)),
    ]


WRONG: Sequence[Any] = (
    *(None, (), [], {}, "", "hops", "~/no/such/file.npz", "/no/such/file.npz", ".", 7, -1, 0.5),
    *(float("nan"), object(), np.zeros((0, 3)), np.full((1, 1, 2, 2), np.nan), [None, None], "\0"),
    *([np.ones((1, 2, 3, 3))], {"a": np.ones((2, 2))}, torch.zeros(2, 2), ["a", 1], (0, 0)),
    b"\x00",
)


def function_cases(seed: int = 0) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Draw calls of the public functions with one or two wrong arguments."""
    drawn, traces = random.Random(seed), _traces()
    while True:
        one, other = drawn.choice(WRONG), drawn.choice(WRONG)
        name, call = drawn.choice(list(calls_of(drawn.choice(traces), one, other).items()))
        yield f"{name}: {one!r}, {other!r}", call


def function_pairs() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Yield calls of every public function with every pair of wrong arguments."""
    for trace in _traces():
        for one in WRONG:
            for other in WRONG:
                for name, call in calls_of(trace, one, other).items():
                    yield f"{name}: {one!r}, {other!r}", call


def calls_of(trace: Any, one: Any, other: Any) -> dict[str, Callable[[], Any]]:
    """Return a call of every public function with the given arguments."""
    attention = trace.maps["attention"]
    found: dict[str, Callable[[], Any]] = {
        "from_arrays": lambda: areaviz.from_arrays(one, other),
        "from_cache": lambda: areaviz.from_cache(one, other),
        "from_generate": lambda: areaviz.from_generate(one, target=other),
        "load": lambda: areaviz.load(one),
        "save": lambda: areaviz.save(trace, _elsewhere(one)),
        "export": lambda: areaviz.export(trace, _elsewhere(one), areaviz.Focus(str(other))),
        "attend": lambda: areaviz.attend(_elsewhere(one), other),
        "show": lambda: areaviz.show(one, areaviz.Focus("attention")),
        "best_alignment": lambda: areaviz.best_alignment(one, other),
        "best_alignment of pairs": lambda: areaviz.best_alignment([(one, other)] * 20),
        "best_alignment of links": lambda: areaviz.best_alignment([(trace, one)] * 20, "attention"),
        "load_analysis": lambda: areaviz.load_analysis(one, columns=other),
        "load_inseq": lambda: load_inseq(one, other),
        "save_inseq": lambda: save_inseq(trace, _elsewhere(one), other),
        "to_frame": lambda: trace.to_frame(one, other),
    }
    for name in _ASKS:
        ask = getattr(areaviz, name)
        needed = inspect.signature(ask).parameters.values()
        count = sum(one.default is one.empty for one in needed) - 1
        found[name] = partial(ask, attention, *(one, other, 0)[: max(1, count)])
        found[f"{name} of nothing"] = partial(ask, one, *(0, 0, 0)[:count])
    return found


_ASKS: tuple[str, ...] = (
    "top_areas",
    "densest_areas",
    "top_queries",
    "coverage",
    "item_shares",
    "entropy",
)
_ASKS += ("area_size_shares", "head_summary")


def _elsewhere(path: Any) -> Any:
    """Return a path that is neither in the working folder nor a name on the hub."""
    if isinstance(path, str) and not path.startswith(("/", "~")):
        return str(Path(tempfile.gettempdir()) / "no-such-folder" / "within" / path)
    return path


def main(arguments: Sequence[str]) -> None:
    """Print every case, up to the given count, whose answer is wrong."""
    count = int(arguments[0]) if arguments else 1000
    seed = int(arguments[1]) if len(arguments) > 1 else 0
    torch.set_num_threads(1)
    for _, case in zip(range(count), cases(seed), strict=False):
        if found := problem(case):
            print(f"{case}: {found}", flush=True)
    for _, (name, call) in zip(range(count), function_cases(seed), strict=False):
        if found := problem_of(call):
            print(f"{name[:150]}: {found}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
