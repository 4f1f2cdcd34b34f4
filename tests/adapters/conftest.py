"""External libraries that tests can import on every machine."""

from __future__ import annotations

from tests.adapters.torchvision_ops import make_importable

make_importable()
