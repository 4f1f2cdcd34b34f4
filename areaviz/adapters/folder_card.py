"""A folder of `transformers` as a model of the app, with its identity and card before it is loaded.

Reading the card counts the weights without reading their values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from areaviz.adapters.folder_vision import QUESTION
from areaviz.adapters.library import import_transformers
from areaviz.adapters.loading import check_folder, fetch_folder, find_model_class
from areaviz.adapters.weights import count_weights, format_bytes
from areaviz.cards.card import Card
from areaviz.trace.errors import InputError

FAMILY = "transformers"
READING, CAPTION, UNKNOWN = "reading", "caption", "unknown"
# Requests cannot set the maximum area of these models, because their areas are derived.
_NEVER = ("areas",)
# Changes that are possible if layers look up their attention function.
_CHANGES = ("weigh", "gate", "hide")
_LIMITS = (
    "An external model: its training and its quality are not known here. See its own"
    " documentation. A run needs {sizes}. Its weights, {stored} of {kind}, are used as"
    " stored. The memory for them is checked at the first run."
)
_KINDS = (
    "encoders, decoders and encoder-decoders of texts, and models that name or describe pictures"
)


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder with a model."""

    path: Path
    card: Card


def read_folder(place: str, taken: Collection[str] = ()) -> Folder:
    """Return the model of a folder or, if the network allows, of the hub, with a card.

    Args:
        place: Path of a folder, or a name on the hub.
        taken: Names of the models that exist already.

    Raises:
        InputError: The folder has no model of a supported kind, or its weights are missing, damaged
            or a pickle.
    """
    path = fetch_folder(place)
    check_folder(path)
    kind = find_model_class(path)
    config = import_transformers().AutoConfig.from_pretrained(path, local_files_only=True)
    # The folder of a model from the hub is named after a checksum.
    called = path.resolve().name if Path(place).is_dir() else place
    task = _find_task(kind, config, called)
    name = _find_free_name(called, taken)
    return Folder(path, _make_card(path, name, called, task, kind, config))


def _find_task(kind: Any, config: Any, called: str) -> str:
    """Return the task of a model class, as in `Card.task`."""
    reads, pair = kind.main_input_name, getattr(config, "is_encoder_decoder", False)
    if sees_and_reads(config) and kind.can_generate():
        return CAPTION
    if reads == "input_ids" and not sees_and_reads(config):
        return "translation" if pair else READING
    # A class is treated as a caption of one word.
    describes = kind.can_generate() or kind.__name__.endswith("ForImageClassification")
    if reads == "pixel_values" and describes:
        return CAPTION
    raise InputError(
        f"{called} is a {kind.__name__}, which no page shows: pages have {_KINDS}. Use"
        " areaviz.attend for it (docs/your_models.md)."
    )


def sees_and_reads(config: Any) -> bool:
    """Return whether a configuration is that of a vision-language model."""
    return hasattr(config, "vision_config")


def _make_card(path: Path, name: str, called: str, task: str, kind: Any, config: Any) -> Card:
    weights = count_weights(path)
    lacks = list(_NEVER)
    # In these models, words and cells are items of one stack of layers, without separate sites.
    if sees_and_reads(config) or not kind._can_set_attn_implementation():
        lacks += _CHANGES
    if not kind.can_generate():
        lacks.append("target")
    written = datetime.fromtimestamp(weights.written, UTC).isoformat(timespec="seconds")
    stored, recipe = format_bytes(weights.nbytes), {"source": _find_language(path)}
    if sees_and_reads(config):
        recipe["question"] = QUESTION
    return Card(
        name=name,
        family=FAMILY,
        title=f"{called} ({kind.__name__})",
        task=task,
        level="token",
        mechanism="regular",
        size="",
        pair=name,
        parameters=weights.parameters,
        trained_length=0,
        config={**_keep_plain_entries(config.to_dict()), "weights": f"{stored}, of {written}"},
        recipe=recipe,
        data={},
        figures={},
        attention={},
        history=(),
        code_version="",
        trained_on="",
        limits=_LIMITS.format(stored=stored, kind=weights.kind, sizes=weights.sizes),
        licence="see what came with the folder",
        lacks=tuple(lacks),
    )


def _find_language(path: Path) -> str:
    """Return the source language of a translator's tokenizer, such as "en"."""
    try:
        entries = json.loads((path / "tokenizer_config.json").read_bytes())
    except (OSError, ValueError):
        return UNKNOWN
    said = entries.get("source_lang") if isinstance(entries, dict) else None
    return {"eng": "en", "en_XX": "en"}.get(str(said), str(said)) if said else UNKNOWN


def _keep_plain_entries(entries: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries of a configuration that are numbers, strings or booleans."""
    kept = {}
    for name, value in entries.items():
        if isinstance(value, str | int | float) and not name.startswith("_"):
            kept[name] = value
    return kept


def _find_free_name(called: str, taken: Collection[str]) -> str:
    """Return a name that is valid in a request and differs from the names of all other models."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", called).strip("-._")[:90] or "model"
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    return found
