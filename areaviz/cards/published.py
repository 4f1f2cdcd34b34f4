"""Published results of translation models by level and size, as context for our figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Published:
    """BLEU of one model size, as a paper reports it."""

    regular: float
    # Areas by Eq. 3 and 4.
    area: float
    # Areas by Eq. 9 and 4, if reported.
    features: float | None = None
    # Significance as stated by the paper, or "" if it states none. "*" means p < 0.05 against
    # regular attention. "**" means p < 0.05 against every other kind as well.
    area_sign: str = ""
    features_sign: str = ""

    def of(self, mechanism: str) -> float | None:
        """Return the figure of the mechanism "regular" or "area", or None for another mechanism."""
        return {"regular": self.regular, "area": self.area}.get(mechanism)


BySize = Mapping[tuple[str, str], Published]
"""The results of a paper, by level and size."""


AREA_ATTENTION: BySize = {
    ("token", "Tiny"): Published(18.58, 19.13, 19.27, "*", "*"),
    ("token", "Small"): Published(22.55, 22.84, 23.2, "", "**"),
    ("token", "Base"): Published(28.16, 28.47, 28.52, "", "*"),
    ("token", "Big"): Published(29.26, 29.49, 29.77, "", "*"),
    ("character", "Tiny"): Published(6.9, 8.2),
    ("character", "Small"): Published(12.16, 13.46, None, "*"),
    ("character", "Base"): Published(24.88, 24.96),
    ("character", "Big"): Published(25.96, 26.57),
}
LSTMS: BySize = {
    ("token", "256 cells, 1 head"): Published(16.58, 19.26, 19.46, "*", "*"),
    ("token", "256 cells, 4 heads"): Published(16.73, 20.25, 20.74, "*", "**"),
    ("token", "512 cells, 1 head"): Published(18.65, 21.82, 21.80, "*", "*"),
    ("token", "512 cells, 4 heads"): Published(19.16, 23.09, 23.41, "*", "*"),
    ("token", "1024 cells, 1 head"): Published(19.4, 23.69, 23.48, "*", "*"),
    ("token", "1024 cells, 4 heads"): Published(20.21, 24.55, 24.85, "*", "**"),
    ("character", "256 cells, 1 head"): Published(9.9, 11.23),
    ("character", "256 cells, 4 heads"): Published(11.99, 12.51),
    ("character", "512 cells, 1 head"): Published(16.37, 16.86),
    ("character", "512 cells, 4 heads"): Published(16.43, 17.61),
    ("character", "1024 cells, 1 head"): Published(20.26, 21.05, None, "*"),
    ("character", "1024 cells, 4 heads"): Published(21.28, 21.71),
}
"""BLEU on WMT 2014 English-German, by level and size: Li, Kaiser, Bengio and Si, "Area Attention",
ICML 2019, Tables 1 and 2 (token level) and Tables 3 and 4 (character level). Tables 1 and 2 are
means of three runs. Areas have at most 2 items in LSTMs. Their data are 4.5 million pairs of news,
ours are 29,000 image captions. Compare figures only within one column, never across columns.
"""
