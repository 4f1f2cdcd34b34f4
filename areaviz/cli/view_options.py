"""What the commands that show a trace share: where it opens, and what a page carries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Annotated, Any

import typer

from areaviz.drawing.sites import sites
from areaviz.publish.options import LEAST_AREAS, MOST_AREAS, PageOptions
from areaviz.trace.errors import InputError
from areaviz.trace.intervention_text import unpacked
from areaviz.trace.record import Trace
from areaviz.trace.request import Focus


@dataclass(frozen=True, slots=True)
class Looking:
    """Where a trace opens and what a page of it carries, as it is typed."""

    site: Annotated[
        str | None, typer.Option(help='Which attention is looked at, such as "encoder-decoder".')
    ] = None
    layer: Annotated[int | None, typer.Option(min=1, help="Which layer, counted from 1.")] = None
    head: Annotated[
        int | None, typer.Option(min=1, help="Which head, counted from 1; all heads if left out.")
    ] = None
    layers: Annotated[
        str, typer.Option(help="The layers a page carries, such as 1-4,12; all if left out.")
    ] = ""
    sites: Annotated[
        str,
        typer.Option(help="The attention a page carries, with commas between; all if left out."),
    ] = ""
    areas: Annotated[
        int,
        typer.Option(
            min=LEAST_AREAS, max=MOST_AREAS, help="Most areas of a query that a page carries."
        ),
    ] = MOST_AREAS
    title: Annotated[str, typer.Option(help="The title of a page; else the model's name.")] = ""
    note: Annotated[str, typer.Option(help="What you have to say, below the title of a page.")] = ""
    limit: Annotated[
        float, typer.Option(min=0.125, max=256, help="Most megabytes (MiB) of a page.")
    ] = 16

    def focus(self, trace: Trace) -> Focus | None:
        """Where to look, None where nothing of it is said; raises InputError for what the trace
        does not have.
        """
        if self.site is None and self.layer is None and self.head is None:
            return None
        sizes = {name: (one.layers, one.heads) for name, one in trace.maps.items()} | dict.fromkeys(
            trace.gazes, (1, 1)
        )
        site = self.site or next(iter(sites(trace)), "")
        layers, heads = sizes.get(site, (0, 0))
        if (self.layer or 1) > layers or (self.head or 1) > heads:
            told = ", ".join(
                f"{name} ({layers} layers, {heads} heads)"
                for name, (layers, heads) in sizes.items()
            )
            raise InputError(
                f"This trace has no such site, layer or head; it has: {told or 'none'}."
            )
        return Focus(site, (self.layer or 1) - 1, None if self.head is None else self.head - 1)

    def page(self) -> PageOptions:
        """The options of a page; raises InputError for layers that are no positions."""
        carried = tuple(filter(None, map(str.strip, self.sites.split(","))))
        return PageOptions(
            self.title,
            self.note,
            layers_in(self.layers),
            carried,
            self.areas,
            round(self.limit * 2**20),
        )


def looking(command: Callable[..., None]) -> Callable[..., None]:
    """A command that takes a `Looking` as `looking`, as one that has an option for each of its
    fields instead.
    """
    options = signature(Looking, eval_str=True).parameters
    own = [
        one
        for name, one in signature(command, eval_str=True).parameters.items()
        if name != "looking"
    ]
    every = [one.replace(kind=Parameter.KEYWORD_ONLY) for one in (*own, *options.values())]

    @wraps(command)
    def given(**values: Any) -> None:
        chosen = Looking(**{name: values.pop(name) for name in options})
        command(**values, looking=chosen)

    given.__signature__ = Signature(every)  # type: ignore[attr-defined]  # what typer makes options of, and so the next
    given.__annotations__ = {one.name: one.annotation for one in every}
    return given


def layers_in(typed: str) -> tuple[int, ...]:
    """The layers (0-based) of a list such as "1-4,12", which counts from 1, in order."""
    return tuple(sorted(set(unpacked(typed, "layers"))))
