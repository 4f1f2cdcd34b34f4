"""Limits for the folder of a model, checked before the library loads anything from it.

A small file may claim a hundred thousand layers, or contain a tokenizer that doubles every text.
The numbers in config.json are therefore compared with the weights. An unusual tokenizer is first
tried in a separate process, which can be stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from areaviz.adapters import tokenizer_trial
from areaviz.adapters.weights import count_weights
from areaviz.trace.errors import InputError

MAX_LAYERS, MAX_SIZE = 1000, 10_000_000
MAX_CONFIG_MEGABYTES, MAX_TOKENIZER_MEGABYTES = 4, 64
MAX_ADDED_TOKENS = 20_000
# Largest factor by which a tokenizer's normalisation may lengthen a text.
MAX_GROWTH = 100
# Seconds that a tokenizer may take in its process: processor time and wall-clock time.
TRIAL_SECONDS, TRIAL_WALL_SECONDS = 20, 120
# Maximum count of numbers that tied or missing weights may add to the files: 0.4 GB in float32.
_SPARE_NUMBERS = 100_000_000
_LAYERS = frozenset(
    ("num_hidden_layers", "num_layers", "n_layer", "n_layers", "encoder_layers", "decoder_layers")
    + ("num_encoder_layers", "num_decoder_layers", "num_blocks")
)
_WIDTHS = frozenset(
    ("hidden_size", "d_model", "n_embd", "dim", "embed_dim", "intermediate_size", "d_ff", "d_kv")
    + ("encoder_ffn_dim", "decoder_ffn_dim", "n_inner", "num_attention_heads", "n_head")
    + ("n_heads", "num_heads", "encoder_attention_heads", "decoder_attention_heads")
)
# Names of sizes that form a table of weights together with the width.
_TABLES = frozenset(("vocab_size", "n_positions"))
# Names of the width of a table's rows in different model families.
_HIDDEN = ("hidden_size", "d_model", "n_embd", "dim", "embed_dim")
# A tokenizer with a smaller file whose texts do not grow is not tried.
_SMALL_BYTES = 1 << 18


def check_limits(folder: Path) -> None:
    """Check the numbers of a folder's configuration, and its tokenizer.

    Raises:
        InputError: A number exceeds its limit or does not fit the weights, or the tokenizer is too
            large, fails or takes too long.
    """
    config = _read_json(folder / "config.json", MAX_CONFIG_MEGABYTES)
    _check_numbers(folder, config)
    tokenizer = folder / "tokenizer.json"
    if tokenizer.is_file():
        _check_tokenizer(folder, tokenizer)
    for path in (*folder.glob("*.model"), *folder.glob("*.spm"), *folder.glob("vocab*")):
        _check_size(path, MAX_TOKENIZER_MEGABYTES)


def ignore_attention_choice(config: Any) -> None:
    """Make the library choose how attention is computed.

    A configuration may name a package on the hub, which the library would download and run.

    Args:
        config: Configuration of `transformers`. It is changed, including its parts.
    """
    for name in ("_attn_implementation_internal", "_experts_implementation_internal"):
        if getattr(config, name, None) is not None:
            setattr(config, name, None)
    for name in getattr(config, "sub_configs", None) or ():
        part = getattr(config, name, None)
        if part is not None:
            ignore_attention_choice(part)


def _read_json(path: Path, megabytes: int) -> Any:
    """Return the content of a JSON file.

    Raises:
        InputError: The file is too large or is not JSON.
    """
    _check_size(path, megabytes)
    try:
        return json.loads(path.read_bytes())
    except (ValueError, RecursionError, OSError) as error:
        raise InputError(
            f"The {path.name} of {path.parent.name} is damaged. Fetch the file again."
        ) from error


def _check_size(path: Path, megabytes: int) -> None:
    size = path.stat().st_size / 2**20
    if size > megabytes:
        raise InputError(
            f"The {path.name} of {path.parent.name} has {size:,.0f} MB, but the limit is"
            f" {megabytes} MB. Choose another model."
        )


def _check_numbers(folder: Path, config: Any) -> None:
    """Compare the sizes in a configuration and its parts with their limits and the weights."""
    numbers = count_weights(folder).parameters
    for part in _iterate_parts(config):
        for name, value in part.items():
            most = MAX_LAYERS if name in _LAYERS else MAX_SIZE
            if name not in _LAYERS | _WIDTHS | _TABLES:
                continue
            for one in value if isinstance(value, list) else [value]:
                # Some families use null for a default.
                if one is not None and not (_is_whole(one) and 1 <= one <= most):
                    raise InputError(
                        f"The config.json of {folder.name} has {str(one)[:20]} as {name} but"
                        f" it must be a number from 1 to {most:,}. Fetch the file again."
                    )
        hidden = next((part[name] for name in _HIDDEN if _is_whole(part.get(name))), 1)
        for name in _TABLES:
            if _is_whole(part.get(name)) and part[name] * hidden > 2 * numbers + _SPARE_NUMBERS:
                raise InputError(
                    f"The config.json of {folder.name} does not fit its weights: {name} is"
                    f" {part[name]:,} but the weights have {numbers:,} numbers. Fetch the"
                    " folder again."
                )


def _iterate_parts(config: Any) -> Iterator[Mapping[str, Any]]:
    """Yield a configuration and all configurations that it contains."""
    waiting = [config]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            yield part
            waiting += part.values()


def _is_whole(value: object) -> bool:
    return type(value) is int


def _check_tokenizer(folder: Path, path: Path) -> None:
    content = _read_json(path, MAX_TOKENIZER_MEGABYTES)
    if not isinstance(content, dict):
        raise InputError(f"The tokenizer.json of {folder.name} is damaged. Fetch the file again.")
    added = content.get("added_tokens")
    count = len(added) if isinstance(added, list) else 0
    if count > MAX_ADDED_TOKENS:
        raise InputError(
            f"The tokenizer of {folder.name} has {count:,} added tokens, but the limit is"
            f" {MAX_ADDED_TOKENS:,}. Choose another model."
        )
    growth = _compute_growth(content.get("normalizer"))
    if growth > MAX_GROWTH:
        raise InputError(
            f"The tokenizer of {folder.name} makes texts up to {growth:,.0f} times longer, but"
            f" the limit is {MAX_GROWTH} times. Choose another model."
        )
    is_usual = growth <= 1 and count <= 1000 and "Regex" not in json.dumps(content)
    if not is_usual or path.stat().st_size > _SMALL_BYTES:
        _try_tokenizer(folder, path)


def _compute_growth(normalizer: Any) -> float:
    """Return the maximum factor by which a text can grow, the product over all replacements."""
    growth, waiting = 1.0, [normalizer]
    while waiting:
        part = waiting.pop()
        if not isinstance(part, dict):
            continue
        inside = part.get("normalizers")
        waiting += inside if isinstance(inside, list) else []
        if part.get("type") == "Replace":
            pattern = part.get("pattern")
            known = pattern.get("String") if isinstance(pattern, dict) else None
            # A regular expression may match a single character or an empty text.
            length = len(known) if isinstance(known, str) and known else 1
            growth *= max(1.0, len(str(part.get("content", ""))) / length)
    return growth


def _try_tokenizer(folder: Path, path: Path) -> None:
    """Load a tokenizer in a separate process and apply it to a text."""
    command = [sys.executable, str(Path(tokenizer_trial.__file__)), str(path), str(TRIAL_SECONDS)]
    # The library warns if a process that has used it forks.
    quiet = os.environ | {"TOKENIZERS_PARALLELISM": "false"}
    try:
        done = subprocess.run(
            command, capture_output=True, timeout=TRIAL_WALL_SECONDS, env=quiet, check=False
        )
    except subprocess.TimeoutExpired:
        done = None
    if done is None or done.returncode < 0:
        raise InputError(
            f"The tokenizer of {folder.name} takes more than {TRIAL_SECONDS} seconds or too"
            " much memory for a short text. Choose another model."
        )
    if done.returncode:
        reason = done.stderr.decode("utf-8", "replace").strip().split("\n")[-1][:120]
        raise InputError(
            f"The tokenizer of {folder.name} cannot be used ({reason.rstrip('.')}). Fetch the"
            " file again."
        )
