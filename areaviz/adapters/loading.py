"""Loading of external models, with checks of their files before anything is opened.

Failures, weights, limits and low-rank adapters come first. `load_model` in the last section
uses them all.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from math import prod
from pathlib import Path
from typing import Any, TypeVar

import torch

from areaviz.adapters import tokenizer_trial
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import expand_path

# Failures in external code, which become one sentence with its reason.


_Result = TypeVar("_Result")
_LONGEST = 200


def describe_reason(error: BaseException) -> str:
    """Return the message of an exception as one line of at most 200 characters."""
    said = " ".join(str(error).split()).rstrip(".")
    return (said or type(error).__name__)[:_LONGEST]


class Failed(InputError):
    """A model's code failed on its input."""

    def __init__(self, model: object, error: BaseException, advice: str = "") -> None:
        self.what = f"{type(model).__name__} fails on this input ({describe_reason(error)})"
        super().__init__(f"{self.what}. {advice or 'Give it an input that it accepts'}.")


def run_or_refuse(model: object, run: Callable[[], _Result], advice: str = "") -> _Result:
    """Run a model's code, and raise any exception as an InputError with one sentence.

    Args:
        model: Model whose class the message names.
        run: Calls the model.
        advice: What users can do, as a sentence.

    Raises:
        InputError: The model raised an exception of any kind.
    """
    try:
        return run()
    except (InputError, BackendError):
        raise
    except Exception as error:
        # Libraries raise many kinds of exceptions. Each means that the model cannot read this
        # input.
        raise Failed(model, error, advice) from error


# Import of the `transformers` library when it is needed.


def import_transformers() -> Any:
    """Return the module `transformers`.

    A torchvision that does not match the build of torch is installed but cannot be imported. The
    library would then fail, even for texts. This function hides such a torchvision, because the
    library can read pictures without it.
    """
    if "transformers" not in sys.modules:
        try:
            import_module("torchvision")
        except ImportError:
            pass
        except RuntimeError:
            for name in list(sys.modules):
                if name.partition(".")[0] == "torchvision":
                    del sys.modules[name]
            sys.modules["torchvision"] = None  # type: ignore[assignment]
    return import_module("transformers")


# The weights of a folder before loading: their files, their number and their size in bytes.
#
# Only the headers of the files are read, with the safetensors library.


INDEX = "model.safetensors.index.json"
SINGLE_FILE = "model.safetensors"
# Types of stored weights by their name in safetensors, and bytes per number of the types for which
# sizes are reported.
_STORED = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}
_BYTES = {"float32": 4, "bfloat16": 2}
# Additional memory of a run, as a share of the weights.
_BESIDE = 0.2


class NoRoom(InputError):
    """The free memory cannot hold a model."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The size of a folder's weights."""

    parameters: int
    nbytes: int
    # Time of the last write, in seconds since 1970.
    written: float
    # Type of most of the numbers, such as "float32".
    kind: str

    @property
    def needed(self) -> int:
        """Bytes of memory for the model and a pass."""
        return round(self.nbytes * (1 + _BESIDE))

    def count_needed_bytes(self, kind: str) -> int:
        """Return the bytes needed if the model were stored as "float32" or "bfloat16"."""
        return round(self.parameters * _BYTES[kind] * (1 + _BESIDE))

    @property
    def sizes(self) -> str:
        """The needed memory in words, such as "1.2 GB of memory in float32, 0.6 GB in bfloat16"."""
        whole, half = (format_bytes(self.count_needed_bytes(kind)) for kind in _BYTES)
        return f"{whole} of memory in float32, {half} in bfloat16"


def count_weights(folder: Path) -> Weights:
    """Count a folder's weights from the headers of its files.

    Raises:
        InputError: The folder names a file that is missing, or a file is damaged.
    """
    from safetensors import SafetensorError, safe_open

    nbytes, written, kinds = 0, 0.0, Counter[str]()
    for path in weight_files(folder):
        about = path.stat()
        nbytes, written = nbytes + about.st_size, max(written, about.st_mtime)
        try:
            with safe_open(path, framework="np") as file:
                for name in file.keys():  # noqa: SIM118 - it is no mapping
                    part = file.get_slice(name)
                    kinds[part.get_dtype()] += prod(part.get_shape())
        except (SafetensorError, OSError) as error:
            raise InputError(
                f"The weights {path.name} of {folder.name} are damaged ({error}). Fetch the"
                " file again."
            ) from error
    [(kind, _), *_] = kinds.most_common(1) or [("", 0)]
    return Weights(kinds.total(), nbytes, written, _STORED.get(kind, kind))


def weight_files(folder: Path) -> Sequence[Path]:
    """Return the files that a model is loaded from.

    Raises:
        InputError: The index is damaged, or names files that are missing or not safetensors.
    """
    index, whole = folder / INDEX, folder / SINGLE_FILE
    if not index.is_file():
        return [whole] if whole.is_file() else sorted(folder.glob("*.safetensors"))
    try:
        parts = {str(part) for part in json.loads(index.read_bytes())["weight_map"].values()}
    except (ValueError, KeyError, AttributeError, TypeError) as error:
        raise InputError(
            f"The index {INDEX} of {folder.name} is damaged. Fetch the file again."
        ) from error
    if not all(part.endswith(".safetensors") for part in parts):
        raise InputError(
            f"The index of {folder.name} names weights that are not safetensors. Save the"
            " model again."
        )
    # Only the file name is used, so no file outside the folder is opened.
    missing = sorted(part for part in parts if not (folder / Path(part).name).is_file())
    if missing:
        raise InputError(
            f"The folder {folder.name} lacks {len(missing)} of {len(parts)} files of weights,"
            f" such as {missing[0]}. Fetch them."
        )
    return [folder / Path(part).name for part in sorted(parts)]


def check_room(name: str, weights: Weights, device: torch.device) -> None:
    """Check before loading that memory can hold a model.

    Raises:
        NoRoom: It needs more than is free.
    """
    free = count_free_bytes(device)
    if weights.needed <= free:
        return
    help = "use a smaller model, or end other programs on the machine where it runs"
    if weights.count_needed_bytes("bfloat16") <= min(free, 0.75 * weights.needed):
        help = (
            f"In bfloat16 it needs {format_bytes(weights.count_needed_bytes('bfloat16'))}. Save"
            f" it in bfloat16 on a machine with enough memory, or {help}"
        )
    raise NoRoom(
        f"The model {name} needs {format_bytes(weights.needed)} of memory in {weights.kind}, but"
        f" {format_bytes(free)} are free. {help[0].upper()}{help[1:]}."
    )


def count_free_bytes(device: torch.device) -> int:
    """Return the bytes of memory that are available where models run."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        # Other systems do not report reclaimable memory, so the total memory is used.
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    found = dict(line.split(":", 1) for line in lines)
    return int(found["MemAvailable"].split()[0]) * 1024


def format_bytes(nbytes: int) -> str:
    """Return a number of bytes as text, such as "1.3 GB"."""
    return f"{nbytes / 1e9:,.1f} GB" if nbytes >= 1e9 else f"{nbytes / 1e6:,.1f} MB"


# Limits for the folder of a model, checked before the library loads anything from it.
#
# A small file may claim a hundred thousand layers, or contain a tokenizer that doubles every text.
# The numbers in config.json are therefore compared with the weights. An unusual tokenizer is first
# tried in a separate process, which can be stopped.


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
        _check_tokenizer_file(folder, tokenizer)
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


def _check_tokenizer_file(folder: Path, path: Path) -> None:
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


# Models that `peft` wraps, as adapters of low rank or with virtual tokens as prefixes or prompts.
#
# The library is imported only if a folder has an adapter.


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


# Loading of external models from a folder or a hub, without running their code.
#
# A pickle (`pytorch_model.bin`) can run any code when it is opened, and so can Python files next to
# a model. Neither is ever opened here.


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
        _check_loaded_tokenizer(name, tokenizer, config, must_read)
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


def _check_loaded_tokenizer(name: str, tokenizer: Any, config: Any, must_read: bool) -> None:
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
