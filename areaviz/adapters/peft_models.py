"""Models that `peft` wraps, as adapters of low rank or with virtual tokens as prefixes or prompts.

The library is imported only if a folder has an adapter.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path
from typing import Any

from areaviz.adapters.failures import describe_reason
from areaviz.trace.errors import InputError

ADAPTER_CONFIG, ADAPTER_WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
_MERGE = "Merge both with merge_and_unload() and save the merged model"


def is_adapted(model: object) -> bool:
    """Return whether `peft` wraps a model, without importing that library."""
    names = {kind.__name__ for kind in type(model).__mro__ if kind.__module__.startswith("peft.")}
    return bool(names & {"PeftModel", "PeftMixedModel"})


def is_prefixed(model: object) -> bool:
    """Return whether virtual tokens come before a model's input."""
    tuned = getattr(model, "active_peft_config", None) if is_adapted(model) else None
    return bool(getattr(tuned, "is_prompt_learning", False))


def is_adapter(folder: Path) -> bool:
    """Return whether a folder has an adapter instead of a whole model."""
    return (folder / ADAPTER_CONFIG).is_file() and not (folder / "config.json").is_file()


def find_base(folder: Path) -> str:
    """Return the folder or name of the model that an adapter belongs to.

    Raises:
        InputError: The adapter does not name it, or has its weights only as a pickle.
    """
    try:
        entries = json.loads((folder / ADAPTER_CONFIG).read_bytes())
        base = entries.get("base_model_name_or_path")
    except (ValueError, AttributeError, OSError) as error:
        raise InputError(
            f"The {ADAPTER_CONFIG} of {folder.name} is damaged. Save the adapter again."
        ) from error
    if not (folder / ADAPTER_WEIGHTS).is_file():
        raise InputError(
            f"The adapter {folder.name} has no {ADAPTER_WEIGHTS}. Save it with"
            " save_pretrained(FOLDER, safe_serialization=True)."
        )
    if not isinstance(base, str) or not base:
        raise InputError(
            f"The adapter {folder.name} does not name the model that it belongs to. {_MERGE}."
        )
    return base


def refuse_adapter(folder: Path) -> None:
    """Refuse an adapter where a whole model is required.

    Raises:
        InputError: Always.
    """
    raise InputError(
        f"The folder {folder.name} holds an adapter of {find_base(folder)}, not a whole model."
        f" {_MERGE}, or read it with areaviz.attend."
    )


def load_adapter(model: Any, folder: Path) -> Any:
    """Return a model with the adapter of a folder.

    Raises:
        InputError: `peft` is missing, or the adapter does not fit the model.
    """
    try:
        peft = import_module("peft")
    except ImportError as error:
        raise InputError(
            f"The folder {folder.name} has an adapter, which needs the package peft. Install"
            f" peft, or {_MERGE}."
        ) from error
    try:
        return peft.PeftModel.from_pretrained(model, str(folder))
    except Exception as error:
        # The files are untrusted. Any exception of the library means that they do not fit.
        raise InputError(
            f"The adapter {folder.name} does not fit its model ({describe_reason(error)}). Give the"
            " model that it was trained on."
        ) from error
