"""The model that reads digits and returns a trace, and the metrics of its looks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from areaviz.cards.card import Card
from areaviz.measures.pointing import (
    Floats,
    IntArray,
    compute_box_overlap,
    compute_covered_share,
    find_hits,
)
from areaviz.models.base import OnStep, build_untrained, load_weights, prepare_for_inference
from areaviz.models.digits import (
    ClassifierPass,
    Dram,
    DramConfig,
    ItemAttentionClassifier,
    ItemsConfig,
    Ram,
    RamConfig,
    RnnStn,
    RnnStnConfig,
    Stn,
    StnConfig,
)
from areaviz.models.pictures import Canvas, fit_picture, make_cell_field
from areaviz.samples.digits import DIGIT_KINDS, DigitScenes, Images
from areaviz.trace.areas import AreaGrid
from areaviz.trace.errors import InputError
from areaviz.trace.record import AttentionMap, Field, Gaze, Output, Trace
from areaviz.trace.request import Picture, Request

# Metrics of digit classifiers: their errors, and the places of their glimpses.
#
# Shapes: B pictures, T looks, K scales, M cells, D digits, C classes.


DIGIT_BATCH, DIGIT_SEED = 500, 0


def to_unit_range(pictures: Images, device: torch.device) -> Tensor:
    """Convert bytes to 0..1."""
    return torch.from_numpy(pictures).to(device).float() / 255


@dataclass(frozen=True, slots=True, eq=False)
class Looks:
    """The places at which a network looked in a batch of pictures."""

    # (x, y) in pixels [B, T, 2]. For soft attention, the middles of the heaviest cells.
    middles: Floats
    # Corners of the finest patches [B, T, 4, 2]. None for attention to cells.
    corners: Floats | None

    def shift(self, shift_BT2: Floats) -> Looks:
        """Return these looks, each moved by (x, y) pixels."""
        corners = None if self.corners is None else self.corners + shift_BT2[:, :, None]
        return Looks(self.middles + shift_BT2, corners)


def measure_reading(
    network: nn.Module, scenes: DigitScenes, device: torch.device
) -> dict[str, float]:
    """Measure a digit reader, greedily and in a single pass.

    Returns:
        "loss" in nats per digit, "error", the share of pictures with at least one wrong digit, and
        the metrics of `measure_looks`.
    """
    return _average_over_batches(scenes, lambda part: _measure_batch(network, scenes, part, device))


def measure_baselines(
    network: nn.Module, scenes: DigitScenes, device: torch.device
) -> dict[str, float]:
    """Compute `measure_looks` for looks that ignore the picture, as baselines.

    Returns:
        NAME_uniform moves the looks to uniformly random places without changing their shapes.
        NAME_position uses the looks at a different picture, which is the result of a network that
        always looks where digits often are.
    """
    return _average_over_batches(
        scenes, lambda part: _measure_batch_baselines(network, scenes, part, device)
    )


def measure_looks(looks: Looks, boxes_BD4: IntArray, side: int) -> dict[str, Floats]:
    """Measure how well looks cover the digits.

    Returns:
        Values [B] or [B, T]. hit: whether the middle of a look is in a digit's box. first_hit: hit
        of the first look. coverage: the share of the digits' boxes that the finest patches cover.
        overlap: if every digit has one look, the IoU of its quadrilateral and the digit's box.
    """
    inside = find_hits(looks.middles, boxes_BD4).astype(np.float32)
    figures: dict[str, Floats] = {"hit": inside, "first_hit": inside[:, 0]}
    if looks.corners is None:
        return figures
    if looks.corners.shape[1] == boxes_BD4.shape[1]:
        overlaps = []
        for digit in range(boxes_BD4.shape[1]):
            overlaps.append(compute_box_overlap(looks.corners[:, digit], boxes_BD4[:, digit], side))
        return figures | {"overlap": np.mean(overlaps, 0)}
    read = np.concatenate([looks.corners[:, :, 0], looks.corners[:, :, 2]], 2).astype(np.int64)
    return figures | {"coverage": compute_covered_share(read, boxes_BD4, side)}


def find_looks(reading: ClassifierPass, side: int) -> Looks | None:
    """Return the places of a reading's looks, or None if the reader has no attention."""
    if reading.corners is not None:
        corners: Floats = reading.corners[:, :, 0].cpu().numpy()
        return Looks(corners.mean(2), corners)
    if reading.weights is None:
        return None
    chosen_BT = reading.weights.argmax(2) if reading.chosen is None else reading.chosen
    grid = isqrt(reading.weights.shape[2])
    row_BT, column_BT = np.divmod(chosen_BT.cpu().numpy(), grid)
    middles_BT2 = np.stack([column_BT + 0.5, row_BT + 0.5], 2) * (side / grid)
    return Looks(middles_BT2, None)


def _average_over_batches(
    scenes: DigitScenes, figures: Callable[[slice], dict[str, Floats]]
) -> dict[str, float]:
    found: dict[str, list[Floats]] = {}
    for first in range(0, len(scenes.pictures), DIGIT_BATCH):
        for name, values in figures(slice(first, first + DIGIT_BATCH)).items():
            found.setdefault(name, []).append(values)
    return {name: float(np.mean(np.concatenate(parts))) for name, parts in found.items()}


def _measure_batch(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> dict[str, Floats]:
    labels_BD = torch.from_numpy(scenes.labels[part]).to(device)
    reading = _run_network(network, scenes, part, device)
    loss = F.cross_entropy(reading.answers.flatten(0, 1), labels_BD.flatten(), reduction="none")
    wrong = (reading.answers.argmax(2) != labels_BD).any(1)
    side = scenes.pictures.shape[1]
    looks = find_looks(reading, side)
    found = {} if looks is None else measure_looks(looks, scenes.boxes[part], side)
    return {"loss": loss.cpu().numpy(), "error": wrong.cpu().numpy(), **found}


def _measure_batch_baselines(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> dict[str, Floats]:
    boxes, side = scenes.boxes[part], scenes.pictures.shape[1]
    looks = find_looks(_run_network(network, scenes, part, device), side)
    if looks is None:
        return {}
    anywhere = np.random.default_rng((DIGIT_SEED, part.start)).uniform(0, side, looks.middles.shape)
    uniform = measure_looks(looks.shift(anywhere - looks.middles), boxes, side)
    # The looks at one picture are compared with the digits of the next one.
    position = measure_looks(looks, np.roll(boxes, 1, 0), side)
    found = {f"{name}_uniform": values for name, values in uniform.items()}
    return found | {f"{name}_position": values for name, values in position.items()}


@torch.no_grad()
def _run_network(
    network: nn.Module, scenes: DigitScenes, part: slice, device: torch.device
) -> ClassifierPass:
    reading: ClassifierPass = network(to_unit_range(scenes.pictures[part], device), sample=False)
    return reading


# Models that read digits in a picture, with several kinds of attention and one kind of trace.
#
# Shapes: T looks, K scales, S side of a patch, M cells, C classes.


DIGIT_NETWORKS: Mapping[str, tuple[type[Any], type[nn.Module]]] = {
    "ram": (RamConfig, Ram),
    "dram": (DramConfig, Dram),
    "stn": (StnConfig, Stn),
    "rnn-stn": (RnnStnConfig, RnnStn),
    "items": (ItemsConfig, ItemAttentionClassifier),
}
"""Options and class of every network that reads digits."""

DigitOptions = RamConfig | DramConfig | StnConfig | RnnStnConfig | ItemsConfig

ALTERNATIVES = 5


@dataclass(frozen=True, slots=True)
class DigitReader:
    """A model that reads the digits of a picture and records the places of its glimpses."""

    card: Card
    network: nn.Module
    side: int
    multiply_adds: int

    @classmethod
    def load(
        cls,
        folder: Path,
        card: Card,
        device: torch.device | None = None,
        area_size: int | None = None,
    ) -> Self:
        """Load a checkpoint. If no device is given, it is loaded on the CPU.

        Raises:
            InputError: if areas of more than one cell are requested.
            BackendError: if a file is missing or damaged.
        """
        if area_size is not None and area_size > 1:
            raise InputError(
                "This model looks at cells or places, not at areas. Keep the default largest area."
            )
        options, build = DIGIT_NETWORKS[card.family]
        config = options(**card.config)
        device = device or torch.device("cpu")
        network = prepare_for_inference(build(config), device)
        load_weights(network, folder, card.files)
        side = DIGIT_KINDS[config.kind]
        return cls(card, network, side, _count_multiply_adds(network, side, device))

    def make_untrained(self) -> DigitReader:
        """Return this network with initial weights, as a baseline."""
        options, build = DIGIT_NETWORKS[self.card.family]
        return replace(
            self, network=build_untrained(build, options(**self.card.config), self.device)
        )

    @property
    def device(self) -> torch.device:
        """The device of the network."""
        return next(self.network.parameters()).device

    def measure(self, scenes: DigitScenes) -> dict[str, float]:
        """Measure the network on pictures with known digits, see `measure_reading`."""
        return measure_reading(self.network, scenes, self.device)

    def measure_baselines(self, scenes: DigitScenes) -> dict[str, float]:
        """Measure glimpses that ignore the picture, as a baseline, see `measure_baselines`."""
        return measure_baselines(self.network, scenes, self.device)

    def trace(self, requests: Sequence[Request], on_step: OnStep | None = None) -> list[Trace]:
        """Read the pictures one after the other.

        Raises:
            InputError: if a request has no picture.
        """
        return [self._trace(request) for request in requests]

    @torch.inference_mode()
    def _trace(self, request: Request) -> Trace:
        picture = request.picture
        if picture is None:
            raise InputError("This model needs a picture. Choose or upload one.")
        ink_SS, canvas, inverted = fit_picture(picture, self.side)
        ink_1SS = ink_SS[None].to(self.device)
        torch.manual_seed(request.seed)
        reading: ClassifierPass = self.network(ink_1SS, sample=request.sample)
        fields, maps, gazes = _record_looks(reading, picture, canvas)
        gazes |= _make_context_gazes(self.network, ink_1SS, reading, canvas, request)
        if "transformer" in gazes:
            looks = reading.logits.shape[1]
            whole = _convert_to_bytes(ink_SS)[None, None].repeat(looks, 0)
            gazes["canvas"] = _make_canvas_gaze("canvas", canvas, whole)
        output = _make_output(reading, fields["target"])
        details = {
            "device": self.device.type,
            "answer": "".join(str(digit) for digit in reading.answers[0].argmax(1).tolist()),
            **self._describe_costs(reading, request.sample),
        }
        if inverted:
            details["warning"] = "The picture was inverted: this model reads light digits on dark."
        return Trace(request, fields, output, maps, details, gazes=gazes)

    def _describe_costs(self, reading: ClassifierPass, sample: bool) -> dict[str, str]:
        """Return the costs of one reading: input values, multiply-adds and random draws."""
        entering, draws = 0, 0
        if reading.log_probability is not None:
            for part in (reading.seen, reading.coarse):
                if part is not None:
                    entering += part[0].numel()
            draws = reading.logits.shape[1] if sample else 0
        return {
            "pixels read": f"{entering or self.side**2:,}",
            "multiply-adds": f"{self.multiply_adds:,}",
            "draws": f"{draws:,}",
        }


def _count_multiply_adds(network: nn.Module, side: int, device: torch.device) -> int:
    """Count the multiply-adds of one reading in matrix products and convolutions."""
    counter = _OperationCounter()
    with counter, torch.no_grad():
        network(torch.zeros(1, side, side, device=device), sample=False)
    return counter.operations // 2


class _CountingDispatch:
    """A counter of floating-point operations, for all operators for which torch has a formula.

    We do not use torch's `FlopCounterMode`, because it defines `__torch_dispatch__` itself. Torch
    wraps such a method, and the wrapper imports torch's compiler, which takes 2 s of CPU. Torch
    does not wrap an inherited method, so this class defines it and `_OperationCounter` inherits it.
    """

    operations = 0

    def __torch_dispatch__(
        self,
        operator: Any,
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        named = dict(kwargs or {})
        result = operator(*args, **named)
        formula = flop_registry.get(operator.overloadpacket)
        if formula is not None:
            self.operations += int(formula(*args, **named, out_val=result))
        return result


class _OperationCounter(_CountingDispatch, TorchDispatchMode):
    """A mode that counts the operations in its `with` block."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]


def _record_looks(
    reading: ClassifierPass, picture: Picture, canvas: Canvas
) -> tuple[dict[str, Field], dict[str, AttentionMap], dict[str, Gaze]]:
    """Return the fields, attention maps and gazes of the first picture of a reading."""
    labels = [str(label) for label in reading.logits[0].argmax(1).tolist()]
    anchors = np.stack([np.arange(len(labels)), np.arange(len(labels)) + 1], 1)
    target = Field("target", "text", "".join(labels), tuple(labels), anchors)
    side = 1 if reading.weights is None else isqrt(reading.weights.shape[2])
    cells = make_cell_field(picture, side, side, None if side == 1 else canvas)
    return (
        {"picture": cells, "target": target},
        _make_maps(reading, side),
        _make_gazes(reading, canvas),
    )


def _make_maps(reading: ClassifierPass, side: int) -> dict[str, AttentionMap]:
    if reading.weights is None:
        return {}
    weights_LHTM = reading.weights.float().cpu().numpy()[:1, None]
    chosen = None if reading.chosen is None else reading.chosen.cpu().numpy()[:1, None]
    grid = AreaGrid(side, side, 1, 1)
    found = AttentionMap(
        "encoder-decoder", "target", "picture", grid, weights_LHTM, "softmax over cells", chosen
    )
    return {found.site: found}


def _make_gazes(reading: ClassifierPass, canvas: Canvas) -> dict[str, Gaze]:
    if reading.corners is None or reading.seen is None:
        return {}
    site = "glimpses" if reading.log_probability is not None else "transformer"
    corners = canvas.convert_to_picture(reading.corners[0].cpu().numpy())
    return {site: Gaze(site, "target", "picture", corners, _convert_to_bytes(reading.seen[0]))}


def _make_context_gazes(
    network: nn.Module, ink_1SS: Tensor, reading: ClassifierPass, canvas: Canvas, request: Request
) -> dict[str, Gaze]:
    """Return the coarse view, and the glimpses of a second run without this view.

    The second run uses the same random draws as the first.
    """
    if not isinstance(network, Dram) or reading.coarse is None:
        return {}
    torch.manual_seed(request.seed)
    blind = _make_gazes(network(ink_1SS, sample=request.sample, blind=True), canvas)["glimpses"]
    coarse = _convert_to_bytes(reading.coarse[:1, None]).repeat(len(blind.seen), 0)
    return {
        "context": _make_canvas_gaze("context", canvas, coarse),
        "without context": replace(blind, site="without context"),
    }


def _make_canvas_gaze(site: str, canvas: Canvas, seen: npt.NDArray[np.uint8]) -> Gaze:
    """Return a gaze over the whole canvas. `seen` is [T, 1, S, S], one picture per step."""
    side = canvas.side
    corners = canvas.convert_to_picture(
        np.array([[0, 0], [side, 0], [side, side], [0, side]], np.float32)
    )
    return Gaze(
        site, "target", "picture", np.broadcast_to(corners, (len(seen), 1, 4, 2)).copy(), seen
    )


def _convert_to_bytes(values: Tensor) -> npt.NDArray[np.uint8]:
    """Convert values from 0..1 to 0..255."""
    return (values.clamp(0, 1) * 255).round().to(torch.uint8).cpu().numpy()


def _make_output(reading: ClassifierPass, target: Field) -> Output:
    likely_TC: Tensor = reading.logits[0].float().softmax(1).cpu()
    best = likely_TC.topk(ALTERNATIVES, 1)
    alternatives = []
    for labels, shares in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        alternatives.append(tuple(zip(map(str, labels), shares, strict=True)))
    return Output("target", likely_TC.amax(1).numpy().astype(np.float32), tuple(alternatives))
