"""How much a translator takes from its picture and, where gold boxes are known, whether it looks at
the right place.

Shapes: L layers, H heads, T target items, A areas.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from areaviz.cards.card import Card
from areaviz.data.grounding import Box
from areaviz.data.scenes import Scene
from areaviz.evaluation.picture_pairs import PicturePairs
from areaviz.evaluation.pointing_head import noted, pointing_head
from areaviz.metrics.pointing import FloatArray, pointing_figures
from areaviz.models.doubly_attentive import SITES
from areaviz.models.picture_translation import BATCH, PictureTranslator
from areaviz.trace.areas import AreaGrid


@dataclass(frozen=True, slots=True, eq=False)
class Looked:
    """One example, its reference being given: picture weights [L, H, T, A] and the picture's share
    of the sum [T].
    """

    weights: FloatArray
    share: FloatArray


def with_attention(card: Card, model: PictureTranslator, held: PicturePairs, split: str) -> Card:
    """The card with the picture's share of what is read and, on scenes, how well the best head of
    "val" points.
    """
    looked = list(passes(model, held))
    figures = {"picture_share": float(np.mean(np.concatenate([one.share for one in looked])))}
    recipe = dict(card.recipe)
    if held.scenes:
        sizes, grid = model.network.config.transformer, _grid(model)
        places = [(layer, head) for layer in range(sizes.layers) for head in range(sizes.heads)]
        measured = {
            place: pointing_figures(_rows(looked, held.scenes, grid, *place)) for place in places
        }
        layer, head = pointing_head(card, split, measured)
        recipe = noted(recipe, (layer, head))
        untrained = pointing_figures(
            _rows(passes(model.untrained(), held), held.scenes, grid, layer, head)
        )
        figures |= measured[layer, head]
        figures |= {f"{name}_untrained": untrained[name] for name in ("pointing", "mass")}
    return replace(
        card, recipe=recipe, attention={**card.attention, f"{SITES['picture']}, {split}": figures}
    )


def passes(model: PictureTranslator, held: PicturePairs) -> Iterator[Looked]:
    """Every example with its true picture."""
    for first in range(0, len(held.sources), BATCH):
        part = slice(first, first + BATCH)
        run = model.read(held.sources[part], model.look(held.pictures[part]), held.targets[part])
        weights = np.stack(
            [layer.float().cpu().numpy() for layer in run.weights[SITES["picture"]]], 1
        )
        text, picture = (
            np.stack([x.cpu().numpy() for x in run.strength[SITES[name]]])
            for name in ("text", "picture")
        )
        share_BT = (picture / (picture + text)).mean((0, 2))
        for row, target in enumerate(held.targets[part]):
            length = len(model.tokenizer.ids(target))
            yield Looked(weights[row, :, :, :length], share_BT[row, :length])


def _rows(
    looked: Iterator[Looked] | Sequence[Looked],
    scenes: Sequence[Scene],
    grid: AreaGrid,
    layer: int,
    head: int,
) -> Iterator[tuple[FloatArray, AreaGrid, Sequence[Box]]]:
    """Each German word that speaks of an object: its weights as one head has them, and the object's
    box.
    """
    for one, scene in zip(looked, scenes, strict=True):
        for place, boxes in scene.german_grounded.boxes:
            yield one.weights[layer, head, place], grid, boxes


def _grid(model: PictureTranslator) -> AreaGrid:
    return model.network.config.areas(0).grid(model.network.config.grid**2)
