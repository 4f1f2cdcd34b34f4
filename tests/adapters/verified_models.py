"""Run and compare every architecture of `architectures.py`, and write the table of results.

`python -m tests.adapters.verified_models` rewrites docs/verified_models.md in about two minutes.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tests.adapters.architectures import ARCHITECTURES, Architecture
from tests.adapters.vision_language import VISION_LANGUAGE

PAGE = Path(__file__).parents[2] / "docs" / "verified_models.md"
_READS = {
    "text": "a text",
    "pair": "a text, and writes one",
    "picture": "a picture",
    "both": "a text and a picture",
    "sound": "a recording",
    "speech": "a recording, and writes a text",
}
_AT_ONCE = 2
EVERY: tuple[Architecture, ...] = (*ARCHITECTURES, *VISION_LANGUAGE)
"""All architectures, in the order of the page."""


@dataclass(frozen=True)
class Verdict:
    """The result of one architecture."""

    family: str
    reads: str
    # The sites that are shown, as "encoder self 2 x 4" (layers x heads).
    sites: Sequence[str] = ()
    # The sites whose weights the library returns, all of which agree.
    agree: Sequence[str] = ()
    # The trace's notes on the attention, and what is not shown.
    details: Sequence[str] = ()
    # Why the architecture is rejected, or what differs. Empty if nothing is wrong.
    problem: str = ""

    @property
    def works(self) -> bool:
        """Whether the attention is shown and nothing differs."""
        return bool(self.sites) and not self.problem


def verdict(architecture: Architecture) -> Verdict:
    """Run an architecture in this process."""
    from areaviz.trace.errors import InputError
    from tests.adapters.compared import EXACT, disagreements, misplaced, traced

    family, reads = architecture.name, architecture.reads
    model = architecture.model()
    try:
        trace = traced(architecture, model)
    except InputError as refusal:
        return Verdict(family, reads, problem=str(refusal))
    sites = []
    for site, one in trace.maps.items():
        if not one.derived:
            sites.append(f"{site} {one.layers} x {one.heads}")
    apart = disagreements(architecture, model, trace)
    differs = [f"{site} differs by {off:.1e}" for site, off in apart.items() if off > EXACT]
    wrong = misplaced(architecture, model, trace)
    differs += [wrong] if wrong else []
    details = []
    for name, said in trace.details.items():
        if name == "attention" or name == "not all layers" or said.startswith("not shown"):
            details.append(said if name != "not shown" else f"not shown: {said}")
    agree = [site for site in apart if site in trace.maps]
    return Verdict(family, reads, sites, agree, details, "; ".join(differs))


def verdicts(architectures: Iterable[Architecture]) -> Iterator[Verdict]:
    """Yield every verdict, each from its own process."""
    _import_all()
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        yield from pool.map(_forked, architectures)


def _forked(architecture: Architecture) -> Verdict:
    """Return the verdict of a child process, which has already imported the libraries."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            found = verdict(architecture)
        except BaseException as error:
            said = " ".join(f"{type(error).__name__}: {error}".split())[:300]
            found = Verdict(architecture.name, architecture.reads, problem=f"crash: {said}")
        os.write(writer, json.dumps(asdict(found)).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as pipe:
        written = pipe.read()
    os.waitpid(child, 0)
    if not written:
        return Verdict(architecture.name, architecture.reads, problem="crash: the process ended")
    return Verdict(**json.loads(written))


def _import_all() -> None:
    """Import once everything that the child processes need."""
    from tests.adapters.torchvision_ops import make_importable

    make_importable()
    import torch
    import transformers
    import transformers.generation.utils
    import transformers.masking_utils
    import transformers.models.bert.modeling_bert
    import transformers.models.llama.modeling_llama

    import tests.adapters.compared  # noqa: F401

    logging: Any = transformers.logging
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    warnings.filterwarnings("ignore")


def page(found: Sequence[Verdict]) -> str:
    """Return the table as Markdown."""
    import transformers

    works = [one for one in found if one.works]
    lines = [
        "# Verified models",
        "",
        f"{len(works)} of {len(found)} architectures of `transformers` {transformers.__version__}"
        " work with `areaviz.attend`. The others are refused,",
        "and the last table says why. Every model has random weights and two layers. While its"
        " attention is recorded, its outputs stay equal.",
        "Where the library returns attention, areaviz agrees with it to 1e-5, and to 5e-4 in a"
        " stored trace. Models of `timm`, among them",
        "its SigLIP, are compared with their own projections to 1e-5 in"
        " `tests/adapters/test_pictures.py`. The command",
        "`python -m tests.adapters.verified_models` writes this page, and a test fails where the"
        " page is old.",
        "",
    ]
    for reads, words in _READS.items():
        rows = [one for one in works if one.reads == reads]
        lines += [f"## Reads {words}", "", "| class | shown (layers x heads) | agrees | seen |"]
        lines += ["| --- | --- | --- | --- |", *map(_row, rows), ""]
    lines += ["## Refused", "", "| class | why |", "| --- | --- |"]
    lines += [f"| {one.family} | {one.problem} |" for one in found if not one.works]
    return "\n".join(lines) + "\n"


def _row(one: Verdict) -> str:
    compared = "all" if len(one.agree) == len(one.sites) else ", ".join(one.agree)
    seen = "; ".join(one.details).replace("seen as ", "")
    return f"| {one.family} | {', '.join(one.sites)} | {compared or 'none returned'} | {seen} |"


def main(arguments: Sequence[str]) -> None:
    """Write the page or, with --json, print every verdict on one line."""
    chosen: Any = [
        one for one in EVERY if one.name in arguments or one.family in arguments
    ] or EVERY
    found = []
    for one in verdicts(chosen):
        found.append(one)
        if "--json" in arguments:
            print(json.dumps(asdict(one)), flush=True)
    if "--json" not in arguments:
        PAGE.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
