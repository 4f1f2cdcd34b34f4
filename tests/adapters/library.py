"""What the `transformers` library itself says of a model's attention, to compare with."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from areaviz.trace.record import Trace


def eager(model: Any, **inputs: Any) -> Any:
    """Its output when it is asked for attentions, by its plain attention function."""
    model.set_attn_implementation("eager")
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation_internal = "eager"
    with torch.no_grad():
        return model.eval()(**inputs, output_attentions=True)


# How far a weight of a map "as areas" may be off, as it is made of logarithms in half precision;
# tests/adapters/test_heads.py compares what they are taken of, in single precision.
AS_AREAS_OFF = 2e-4


def same(trace: Trace, site: str, attentions: Any) -> None:
    """A site's weights are those that the library returns, layer by layer."""
    expected = torch.stack(list(attentions))[:, 0].numpy()
    np.testing.assert_allclose(trace.maps[site].weights, expected, atol=1e-5)
