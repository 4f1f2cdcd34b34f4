"""Lets `timm` and its torchvision be imported, also where torchvision's compiled operators do not
fit the installed torch.

`make test` installs both apart from all else, so that what is run without them is as readers have
it. A torchvision built for CUDA beside a torch without it cannot load its library; its Python part
then fails to describe operators that do not exist ("operator torchvision::nms does not exist").
Models of pictures need none of them, so it is enough to declare their schemas. Nothing is done
where torchvision can be imported as it is.
"""

from __future__ import annotations

import importlib
import re
import sys
from importlib.metadata import files
from pathlib import Path

import torch

APART = Path(sys.prefix) / "timm"
_DECLARED = torch.library.Library("torchvision", "FRAGMENT")
"""Operators live as long as the library that declares them."""
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def make_importable() -> None:
    """Import torchvision, from where `make test` puts it; where that fails, with its missing
    operators declared.
    """
    if str(APART) not in sys.path:
        sys.path.append(str(APART))
    try:
        importlib.import_module("torchvision")
        return
    except RuntimeError as error:
        if "torchvision::" not in str(error):
            raise
    for name in [name for name in sys.modules if name.split(".")[0] == "torchvision"]:
        del sys.modules[name]
    for operator in _described():
        _DECLARED.define(f"{operator}{_SCHEMA}")
    importlib.import_module("torchvision")


def _described() -> list[str]:
    """The operators that this version of torchvision describes when it is imported, by its own
    source.
    """
    described = next(
        file for file in files("torchvision") or () if file.name == "_meta_registrations.py"
    )
    source = Path(str(described.locate())).read_text(encoding="utf-8")
    return re.findall(r'register_fake\("torchvision::(\w+)"\)', source)
