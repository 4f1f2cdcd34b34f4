"""The attention weights that the `transformers` library itself returns, for comparison."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from areaviz.trace.record import Trace


def eager(model: Any, **inputs: Any) -> Any:
    """Return the model's output with attentions, computed by its eager attention function."""
    model.set_attn_implementation("eager")
    for part in model.modules():
        if hasattr(part, "config"):
            part.config._attn_implementation_internal = "eager"
    with torch.no_grad():
        return model.eval()(**inputs, output_attentions=True)


# The tolerance for a weight of a map "as areas", which is made of logarithms in half precision.
# tests/adapters/test_heads.py compares the underlying logits in single precision.
AS_AREAS_OFF = 2e-4


def same(trace: Trace, site: str, attentions: Any) -> None:
    """Check that a site's weights equal the library's in every layer."""
    expected = torch.stack(list(attentions))[:, 0].numpy()
    np.testing.assert_allclose(trace.maps[site].weights, expected, atol=1e-5)
