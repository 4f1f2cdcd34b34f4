"""The recorder of the calls of attention layers."""

from __future__ import annotations

import torch
from torch import nn

from areaviz.adapters.heads import Call, Recorder, Wanted


def recorder_of(model: nn.Module) -> Recorder:
    return Recorder(model, lambda name, module, heads, site: site, Wanted(), {})


def call_with(query: torch.Tensor | None) -> Call:
    return Call(torch.full((1, 2, 3, 3), 1 / 3), query)


def test_repeated_call_of_a_layer_is_filed_once() -> None:
    """Check a layer that computes its weights again for the same queries and other values."""
    model = nn.Sequential(nn.Identity(), nn.Identity())
    recorder = recorder_of(model)
    query = torch.zeros(1, 2, 3, 4)
    note = recorder.begin("hooks")
    for module in model:
        note(module, call_with(query), "encoder self")
        note(module, call_with(query), "encoder self")
    recorder.keep()
    assert recorder.names() == {"encoder self": ["0", "1"]}
    assert len(recorder.found["encoder self"]) == 2


def test_calls_with_different_or_unknown_queries_are_filed() -> None:
    model = nn.Identity()
    recorder = recorder_of(model)
    for query in (torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), None, None):
        recorder.begin("hooks")(model, call_with(query), "encoder self")
    recorder.keep()
    assert len(recorder.found["encoder self"]) == 4
