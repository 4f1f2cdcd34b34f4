"""Others' models from a folder or a hub: safetensors only, and no code of theirs is run.

A pickle (`pytorch_model.bin`) can run any code when it is opened, and so can Python files beside a
model; neither is ever opened here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from areaviz.trace.errors import InputError

_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model as it was stored."""

    model: Any
    # What turns its inputs into numbers, None where it has none.
    tokenizer: Any
    processor: Any
    name: str


def load(place: str | Path) -> Loaded:
    """A `transformers` model from a local folder or, where there is none, from the hub.

    Raises:
        InputError: it is neither, it holds its weights only as a pickle, or it needs code of its
            own.
    """
    folder = Path(place)
    local = bool(str(place)) and folder.is_dir()
    if local:
        check_folder(folder)
    elif not _HUB_NAME.fullmatch(str(place)):
        raise InputError(
            f"There is no folder {place}, and no model of a hub can be called so; check the path."
        )
    source = str(folder) if local else str(place)
    options = {"trust_remote_code": False, "local_files_only": local}
    try:
        model = _model(source, options)
    except Exception as error:
        # A stranger's files: whatever the parsers raise means that they cannot be used.
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise InputError(
            f"The model {folder.name if local else place} cannot be opened ({reason}); "
            "only models of the transformers library with weights as safetensors can."
        ) from error
    tokenizer = processor = None
    if model.main_input_name == "pixel_values":
        processor = _part("AutoImageProcessor", source, options)
    if processor is not None or model.main_input_name == "input_ids":
        tokenizer = _part("AutoTokenizer", source, options)
    return Loaded(model, tokenizer, processor, folder.resolve().name if local else str(place))


def check_folder(folder: Path) -> None:
    """Check what a folder's weights are stored in, by the names of its files alone.

    Raises:
        InputError: it has no configuration, or no safetensors.
    """
    if not (folder / "config.json").is_file():
        raise InputError(
            f"The folder {folder.name} has no config.json; choose the folder of a transformers"
            " model."
        )
    if not any(folder.glob("*.safetensors")):
        found = "in no file"
        for path in folder.iterdir():
            if path.suffix in {".bin", ".pt", ".pth"}:
                found = f"only as a pickle ({path.name}), which can run any code when it is opened"
        raise InputError(
            f"The folder {folder.name} has its weights {found}; save the model with"
            " safe_serialization=True where you trust it, so that there is a model.safetensors."
        )
    index = folder / "model.safetensors.index.json"
    if index.is_file():
        parts = set(json.loads(index.read_text(encoding="utf-8")).get("weight_map", {}).values())
        if not all(str(part).endswith(".safetensors") for part in parts):
            raise InputError(
                f"The index of {folder.name} names weights that are no safetensors; save the model"
                " anew."
            )


def _model(source: str, options: dict[str, Any]) -> Any:
    """The class that its configuration names, if the library has it; else the bare model."""
    import transformers

    config = transformers.AutoConfig.from_pretrained(source, **options)
    [named, *_] = getattr(config, "architectures", None) or [""]
    family: Any = getattr(transformers, named, None)
    if not (isinstance(family, type) and issubclass(family, transformers.PreTrainedModel)):
        family = transformers.AutoModel
    return family.from_pretrained(
        source, config=config, use_safetensors=True, weights_only=True, **options
    )


def _part(kind: str, source: str, options: dict[str, Any]) -> Any:
    """A tokenizer or a processor, or None where there is none."""
    import transformers

    try:
        return getattr(transformers, kind).from_pretrained(source, **options)
    except Exception:  # each kind of tokenizer fails in its own way where its files are missing
        return None
