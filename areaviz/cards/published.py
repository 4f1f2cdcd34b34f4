"""What the papers report, to stand beside our figures: BLEU of Transformers on WMT 2014
English-German.

Li, Kaiser, Bengio and Si, "Area Attention", ICML 2019: Table 1 (token level) and Table 3 (character
level), mean of three runs. Their data is news, 4.5 million pairs; ours is 29,000 image captions: a
column can only be read downwards, never across.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """BLEU of one model size. regular: without areas. area: Eq. 3 and 4. features: Eq. 9 and 4,
    where reported.
    """

    regular: float
    area: float
    features: float | None = None

    def of(self, mechanism: str) -> float | None:
        """The figure of mechanism "regular" or "area"; None of others, which the paper has not."""
        return {"regular": self.regular, "area": self.area}.get(mechanism)


HEADLINE = "test_2016_flickr"
"""The entry of `Card.figures` that stands beside the paper's."""

PUBLISHED: Mapping[tuple[str, str], Published] = {
    ("token", "Tiny"): Published(18.58, 19.13, 19.27),
    ("token", "Small"): Published(22.55, 22.84, 23.2),
    ("token", "Base"): Published(28.16, 28.47, 28.52),
    ("token", "Big"): Published(29.26, 29.49, 29.77),
    ("character", "Tiny"): Published(6.9, 8.2),
    ("character", "Small"): Published(12.16, 13.46),
    ("character", "Base"): Published(24.88, 24.96),
    ("character", "Big"): Published(25.96, 26.57),
}
"""By level and size, as `Card` names them."""
