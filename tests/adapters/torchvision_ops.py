"""Make `timm` and torchvision importable even if torchvision's operators do not fit torch.

`make test` installs both in a separate folder, so that other tests run in the environment that
users have. If torchvision was built for CUDA and torch was not, torchvision cannot load its
compiled library. Its Python part then fails to describe operators that do not exist ("operator
torchvision::nms does not exist"). Models of pictures use none of these operators, so it is enough
to declare their schemas. If torchvision can be imported, nothing is changed.
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
"""Operators live as long as the library object that declares them."""
_SCHEMA = "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor"


def make_importable() -> None:
    """Import torchvision from the folder where `make test` installs it.

    If the import fails, declare the missing operators and import it again.
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
    """Return the operators that this torchvision describes on import, read from its source."""
    described = next(
        file for file in files("torchvision") or () if file.name == "_meta_registrations.py"
    )
    source = Path(str(described.locate())).read_text(encoding="utf-8")
    return re.findall(r'register_fake\("torchvision::(\w+)"\)', source)
