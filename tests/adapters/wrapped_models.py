"""Models wrapped by `peft` and `accelerate`, compared with the model's own attention.

`python -m tests.adapters.wrapped_models` prints the results as JSON. It runs in a separate process
because `transformers` behaves differently if it can import these packages.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

APART = Path(sys.prefix) / "wrappers"
NEEDED = ("peft", "accelerate")
if APART.is_dir():
    sys.path.append(str(APART))


def are_there() -> bool:
    """Return whether both packages can be imported."""
    return all(find_spec(name) is not None for name in NEEDED)


def apart(trace: Any, site: str, own: Any) -> float:
    """Return the largest difference of a site from the model's own weights."""
    import numpy as np
    import torch

    expected = torch.stack(list(own))[:, 0].numpy()
    shown = np.asarray(trace.maps[site].weights)
    return float(np.abs(shown - expected).max()) if shown.shape == expected.shape else -1.0


def tuned(config: Any) -> Any:
    """Return a small GPT-2 with an adapter."""
    import peft

    from tests.adapters import small

    return peft.get_peft_model(small.gpt2(), config).eval()


def low_rank() -> Any:
    """Return the configuration of a low-rank adapter with random weights."""
    import peft

    layers = {"target_modules": ["c_attn"], "task_type": "CAUSAL_LM", "fan_in_fan_out": True}
    return peft.LoraConfig(r=2, init_lora_weights=False, **layers)


def lora() -> dict[str, Any]:
    """Read a model with a low-rank adapter."""
    import areaviz
    from tests.adapters import small
    from tests.adapters.library import eager

    model = tuned(low_rank())
    trace = areaviz.attend(model, [5, 6, 7], area_size=1)
    import torch

    own = eager(model.get_base_model(), input_ids=torch.tensor([[5, 6, 7]])).attentions
    plain = areaviz.attend(small.gpt2(), [5, 6, 7], area_size=1)
    return {
        "apart": apart(trace, "decoder self", own),
        "outputs": len(trace.output.probabilities),
        "changed": bool((trace.output.probabilities != plain.output.probabilities).any()),
    }


def folder() -> dict[str, Any]:
    """Read the folder of an adapter with its base, and without the base."""
    import areaviz
    from areaviz.adapters.loading import check_folder
    from tests.adapters import small

    with tempfile.TemporaryDirectory() as place:
        base, adapter = Path(place) / "base", Path(place) / "adapter"
        small.gpt2().save_pretrained(base)
        small.tokenizer().save_pretrained(base)
        model = tuned(low_rank())
        for config in model.peft_config.values():
            config.base_model_name_or_path = str(base)
        model.save_pretrained(adapter)
        trace = areaviz.attend(str(adapter), "a small dog", area_size=1)
        found = {"labels": len(trace.fields["history"]), "model": trace.request.model}
        try:
            check_folder(adapter)
        except areaviz.InputError as error:
            found["page"] = str(error)
        base.rename(Path(place) / "moved")
        try:
            areaviz.attend(str(adapter), "a small dog")
        except areaviz.InputError as error:
            found["without base"] = str(error)
    return found


def prefix() -> dict[str, Any]:
    """Read a model with a tuned prefix of three virtual tokens."""
    import peft
    import torch

    import areaviz

    model = tuned(peft.PrefixTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3))
    trace = areaviz.attend(model, [5, 6, 7], area_size=1)
    model.base_model.set_attn_implementation("eager")
    with torch.no_grad():
        own = model(input_ids=torch.tensor([[5, 6, 7]]), output_attentions=True).attentions
    site = trace.maps["decoder self"]
    labels = trace.fields[site.memory].labels
    return {"apart": apart(trace, "decoder self", own), "labels": labels}


def prompt() -> dict[str, Any]:
    """Read a model with a tuned prompt, whose virtual tokens are queries too."""
    import peft

    import areaviz

    model = tuned(peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2))
    trace = areaviz.attend(model, [5, 6, 7], area_size=1)
    return {"shape": trace.maps["decoder self"].weights.shape}


def offloaded() -> dict[str, Any]:
    """Read a model whose weights are loaded from the disk or the CPU when a layer runs."""
    import accelerate
    import numpy as np

    import areaviz
    from tests.adapters import small

    plain = areaviz.attend(small.gpt2(), [5, 6, 7], area_size=1)
    model = accelerate.cpu_offload(small.gpt2().eval())
    trace = areaviz.attend(model, [5, 6, 7], area_size=1)
    weights = [np.asarray(one.maps["decoder self"].weights) for one in (plain, trace)]
    return {"apart": float(np.abs(weights[0] - weights[1]).max())}


CASES: dict[str, Callable[[], dict[str, Any]]] = {
    case.__name__: case for case in (lora, folder, prefix, prompt, offloaded)
}


def main() -> None:
    """Print the result of each case, or its error."""
    import_module("torch").set_num_threads(1)
    found = {}
    for name, case in CASES.items():
        try:
            found[name] = case()
        except Exception as error:
            found[name] = {"failed": f"{type(error).__name__}: {error}"}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
