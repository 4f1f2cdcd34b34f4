"""Running somebody else's model so that its attention can be seen, and leaving it as it was."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import torch
from torch import nn

from areaviz.adapters.heads import Heads


@dataclass(frozen=True, slots=True)
class Seen:
    """One call of an attention layer: the layer, where it stands in the model, and what its heads
    did.
    """

    module: nn.Module
    name: str
    heads: Heads


@dataclass(frozen=True, slots=True)
class Record:
    """The calls of a model's attention layers in the order they came."""

    names: dict[int, str]
    calls: list[Seen] = field(default_factory=list)

    @classmethod
    def of(cls, model: nn.Module) -> Record:
        """An empty record that knows where each layer of a model stands."""
        return cls({id(module): name for name, module in model.named_modules()})

    def add(self, module: nn.Module, heads: Heads) -> None:
        """Note a call."""
        self.calls.append(Seen(module, self.names.get(id(module), ""), heads))


@contextmanager
def at_rest(model: nn.Module) -> Iterator[None]:
    """Run a model without dropout and gradients; afterwards every part trains, or not, as it did
    before.
    """
    trained = {module: module.training for module in model.modules()}
    try:
        model.eval()
        with torch.no_grad():
            yield
    finally:
        for module, state in trained.items():
            module.training = state
