"""Loading of external models from a folder or a hub, without running their code.

A pickle (`pytorch_model.bin`) can run any code when it is opened, and so can Python files next to a
model. Neither is ever opened here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from areaviz.adapters.failures import describe_reason
from areaviz.adapters.folder_limits import check_limits, ignore_attention_choice
from areaviz.adapters.library import import_transformers
from areaviz.adapters.peft_models import find_base, is_adapter, load_adapter, refuse_adapter
from areaviz.adapters.weights import check_room, count_weights, weight_files
from areaviz.trace.errors import InputError
from areaviz.trace.record import expand_path

# Files to download from the hub, without pickles and weights of other frameworks.
_FETCHED = ["*.json", "*.safetensors", "*.model", "*.spm", "*.txt"]
# File names of tokenizers.
_TOKENIZER = re.compile(r"^(tokenizer|vocab|spiece|sentencepiece)|\.(model|spm)$")
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*(/[\w.-]+)?")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model as it was stored, with its tokenizer and processor."""

    model: Any
    # Its tokenizer and processor, or None.
    tokenizer: Any
    processor: Any
    name: str


def load_model(place: str | Path, must_read: bool = False) -> Loaded:
    """Load a `transformers` model from a local folder or, without such a folder, from the hub.

    Everything that can be checked without its weights is checked before they are loaded.

    Args:
        place: A folder, or a name on the hub.
        must_read: Whether to refuse a model without a tokenizer.

    Raises:
        InputError: There is no such model, its weights are a pickle or do not fit in memory, it
            needs its own code, or its tokenizer is missing or belongs to another model.
    """
    folder = expand_path(place)
    local = folder.is_dir()
    if local and is_adapter(folder):
        return _load_adapter(folder, must_read)
    if local:
        check_folder(folder)
        check_room(folder.resolve().name, count_weights(folder), torch.device("cpu"))
    elif not _HUB_NAME.fullmatch(str(place)):
        raise InputError(
            f"{place} is neither a folder nor a valid hub name of a model. Check the path."
        )
    source, name = (str(folder), folder.resolve().name) if local else (str(place), str(place))
    options = {"trust_remote_code": False, "local_files_only": local}
    tokenizer = processor = None
    # Without tokenizer files, the library would make an empty tokenizer.
    if not local or _has_tokenizer(folder):
        tokenizer = _load_part("AutoTokenizer", source, options)
    try:
        config = import_transformers().AutoConfig.from_pretrained(source, **options)
        ignore_attention_choice(config)
        _check_tokenizer(name, tokenizer, config, must_read)
        model = _get_class(config).from_pretrained(
            source, config=config, use_safetensors=True, weights_only=True, **options
        )
    except InputError:
        raise
    except Exception as error:
        # The files are untrusted. Any exception of the parsers means that they cannot be used.
        if not local and isinstance(error, OSError):
            raise InputError(
                f"{place} is not a folder, and the hub did not return such a model"
                f" ({describe_reason(error)}). Check the name."
            ) from error
        raise InputError(
            f"The model {folder.name if local else place} cannot be opened"
            f" ({describe_reason(error)}). Only models of the transformers library with safetensors"
            " weights can be opened."
        ) from error
    if hasattr(model.config, "vision_config"):
        processor = _load_part("AutoProcessor", source, options)
    elif model.main_input_name == "pixel_values":
        processor = _load_part("AutoImageProcessor", source, options)
    reads = processor is not None or model.main_input_name == "input_ids" or model.can_generate()
    return Loaded(model, tokenizer if reads else None, processor, name)


def _load_adapter(folder: Path, must_read: bool) -> Loaded:
    """Load the base model of an adapter, with the adapter in it.

    Raises:
        InputError: The base model cannot be read, or the adapter does not fit it.
    """
    base = _find_base(folder)
    try:
        found = load_model(base, must_read)
    except InputError as error:
        raise InputError(
            f"The adapter {folder.name} belongs to {base}, which cannot be read. {error}"
        ) from error
    options = {"trust_remote_code": False, "local_files_only": True}
    own = _load_part("AutoTokenizer", str(folder), options) if _has_tokenizer(folder) else None
    return Loaded(
        load_adapter(found.model, folder),
        own or found.tokenizer,
        found.processor,
        folder.resolve().name,
    )


def _find_base(folder: Path) -> str:
    """Return the place of an adapter's base model.

    A relative path may start at the adapter's folder.
    """
    base = find_base(folder)
    beside = folder / base
    return str(beside) if not Path(base).is_dir() and beside.is_dir() else base


def _check_tokenizer(name: str, tokenizer: Any, config: Any, must_read: bool) -> None:
    """Check that a model that reads texts has its own tokenizer, before the weights are loaded.

    Raises:
        InputError: A required tokenizer is missing, or it has more tokens than the model.
    """
    if tokenizer is None:
        if must_read:
            raise InputError(
                f"The folder {name} has no tokenizer that can be read. Save it next to the"
                " model with tokenizer.save_pretrained(FOLDER)."
            )
        return
    # The tokenizer of a speech model may have characters that the model never writes.
    reads = getattr(_get_class(config), "main_input_name", "") == "input_ids"
    known = getattr(config, "vocab_size", None)
    if reads and isinstance(known, int) and len(tokenizer) > known:
        raise InputError(
            f"The tokenizer of {name} has {len(tokenizer):,} tokens but the model has"
            f" {known:,}. It belongs to another model. Use the tokenizer of this model."
        )


def _has_tokenizer(folder: Path) -> bool:
    return any(_TOKENIZER.search(path.name) for path in folder.iterdir())


def check_folder(folder: Path) -> None:
    """Check the files of a folder before the library loads any of them.

    Raises:
        InputError: It has no configuration or no safetensors, lacks some of them, or exceeds the
            limits of `check_limits`.
    """
    # The path "." has no name until it is resolved.
    folder = folder.absolute()
    if is_adapter(folder):
        refuse_adapter(folder)
    if not (folder / "config.json").is_file():
        raise InputError(
            f"The folder {folder.name} has no config.json. Choose the folder of a"
            " transformers model."
        )
    if not any(folder.glob("*.safetensors")):
        found = "in no file"
        for path in folder.iterdir():
            if path.suffix in {".bin", ".pt", ".pth"}:
                found = f"only as a pickle ({path.name}), which can run any code when it is opened"
        raise InputError(
            f"The folder {folder.name} has no safetensors weights ({found}). If you trust the"
            " model, load it elsewhere and save it with safe_serialization=True."
        )
    weight_files(folder)
    check_limits(folder)


def fetch_folder(place: str) -> Path:
    """Return the folder of a model: the given folder, or a download from the hub.

    Raises:
        InputError: There is no such folder, and the hub has no such model.
    """
    folder = expand_path(place)
    if folder.is_dir():
        return folder
    if not _HUB_NAME.fullmatch(place):
        raise InputError(
            f"{place} is neither a folder nor a valid hub name of a model. Check the path."
        )
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(place, allow_patterns=_FETCHED))
    except Exception as error:
        # The network, the hub and its library fail in different ways.
        reason = " ".join(str(error).split()).rstrip(".")[:120]
        raise InputError(
            f"{place} is not a folder, and the hub did not return such a model ({reason})."
            " Check the name, or download the model on a machine with a network."
        ) from error


def find_model_class(folder: Path) -> Any:
    """Return the class that a folder's configuration names.

    Raises:
        InputError: The library cannot read the configuration, or has no such class.
    """
    options = {"trust_remote_code": False, "local_files_only": True}
    try:
        family = _get_class(
            import_transformers().AutoConfig.from_pretrained(str(folder), **options)
        )
    except Exception as error:
        # The files are untrusted. Any exception of the parsers means that they cannot be used.
        reason = " ".join(str(error).split()).rstrip(".")[:200]
        raise InputError(
            f"The config.json of {folder.name} cannot be read ({reason}). Choose the folder"
            " of a transformers model."
        ) from error
    if family is import_transformers().AutoModel:
        raise InputError(
            f"The config.json of {folder.name} names no class of the transformers library."
            " Save the model with save_pretrained."
        )
    return family


def _get_class(config: Any) -> Any:
    """Return the class that a configuration names if the library has it, otherwise `AutoModel`."""
    transformers = import_transformers()
    [named, *_] = getattr(config, "architectures", None) or [""]
    family: Any = getattr(transformers, named, None)
    is_model = isinstance(family, type) and issubclass(family, transformers.PreTrainedModel)
    return family if is_model else transformers.AutoModel


def _load_part(kind: str, source: str, options: dict[str, Any]) -> Any:
    """Return a tokenizer or a processor, or None if there is none."""
    try:
        return getattr(import_transformers(), kind).from_pretrained(source, **options)
    except Exception:  # Each kind of tokenizer fails in its own way if its files are missing.
        return None
    except BaseException as error:
        # The library's Rust code raises this error for some patterns. It is not an `Exception`.
        if type(error).__name__ != "PanicException":
            raise
        return None
