"""The app respects its layers, and the checker finds the violations that it should find."""

from __future__ import annotations

import pytest

from tests.architecture import LAYERS, ROOT, Module, breaches, modules


@pytest.mark.parametrize("module", modules(), ids=lambda module: module.name)
def test_module_keeps_the_rules(module: Module) -> None:
    assert breaches(module) == []


def test_walk_sees_the_app() -> None:
    names = {module.name for module in modules()}
    assert {
        "areaviz",
        "areaviz.trace.areas",
        "areaviz.draw.view",
        "areaviz.models.translation",
    } <= names


def test_documents_name_the_layers_of_the_code() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = [
        line.split("|") for line in text.splitlines() if line.startswith("| ") and line[2].isdigit()
    ]
    documented = {cell.strip(" `"): int(row[1]) for row in rows for cell in row[2].split(",")}
    existing = {
        name: layer for name, layer in LAYERS.items() if (ROOT / name.replace(".", "/")).is_dir()
    }
    rooms = {
        name.replace("/", ".").removesuffix(".py"): layer for name, layer in documented.items()
    }
    assert rooms == {
        name: layer for name, layer in (existing | {"app": 6}).items() if name != "areaviz"
    }


BROKEN = [
    ("areaviz.trace.areas", "import areaviz.draw.view", "layer 1 from layer 0"),
    ("areaviz.trace.areas", "from areaviz import attention", "layer 1 from layer 0"),
    ("areaviz.trace.areas", "from ..drawing import base", "layer 1 from layer 0"),
    ("areaviz", "import areaviz.trace.record\nimport areaviz.ui.x", "layer 4 from layer 0"),
    ("areaviz.trace.areas", "import scipy.stats", "NumPy and the standard library only"),
    ("areaviz.trace.areas", "def f():\n    import torch", "torch"),
    ("areaviz.trace.areas", "import pandas", "NumPy and the standard library only"),
    ("areaviz.attention.area", "from areaviz.data import batches", "layer 1 from layer 1"),
    (
        "areaviz.draw.view",
        "from areaviz.models.translation import Model",
        "layer 2 from layer 1",
    ),
    ("areaviz.backend.local", "from areaviz.training import loop", "layer 3 from layer 3"),
    (
        "areaviz.models.x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import areaviz.ui.x",
        "layer 4",
    ),
    ("areaviz.ui.widgets", "from areaviz.cli import main", "layer 7 from layer 4"),
    ("areaviz.ui.widgets", "import app", "layer 6 from layer 4"),
    ("pages.home", "from areaviz.cli import main", "layer 7 from layer 6"),
    ("areaviz.ui.widgets", "from tests import fakes", "not part of the package"),
    ("areaviz.utils", "x = 1", "package without a layer"),
    ("areaviz.draw.view", "import areaviz.helpers.x", "a package without a layer"),
    ("areaviz.draw.view", "import torch", "belongs in areaviz.attention"),
    ("areaviz.backend.backend", "import torch.nn.functional as F", "belongs in"),
    ("areaviz.backend.localhost", "import torch", "belongs in"),
    ("areaviz.backend.backend", "from safetensors.torch import load_file", "belongs in"),
    ("areaviz.ui.plots", "import plotly.graph_objects as go", "belongs in areaviz.drawing"),
    ("areaviz.lab.loop", "from matplotlib.figure import Figure", "belongs in areaviz.drawing"),
    ("areaviz.draw.view", "import streamlit as st", "belongs in areaviz.ui"),
    ("areaviz.backend.local", "import ray", "belongs in areaviz.server"),
    ("areaviz.draw.view", "import matplotlib.pyplot as plt", "imports matplotlib.pyplot"),
    ("areaviz.draw.view", "from matplotlib import pyplot", "imports matplotlib.pyplot"),
    (
        "areaviz.draw.view",
        "import matplotlib\nmatplotlib.pyplot.figure()",
        "calls matplotlib.pyplot.figure",
    ),
    (
        "areaviz.data.x",
        "import importlib\nimportlib.import_module('streamlit.web')",
        "belongs in areaviz.ui",
    ),
    (
        "areaviz.data.x",
        "from importlib import import_module\nimport_module('areaviz.ui.x')",
        "layer 4 from layer 1",
    ),
    ("areaviz.data.x", "import pickle", "imports pickle"),
    ("areaviz.data.x", "from pickle import loads", "imports pickle.loads"),
    ("areaviz.data.x", "eval('1')", "calls eval"),
    ("areaviz.data.x", "import builtins as b\nb.exec('1')", "calls builtins.exec"),
    ("pages.home", "exec('1')", "calls exec"),
    ("areaviz.data.x", "__import__('os')", "calls __import__"),
    ("areaviz.models.x", "import torch\ntorch.load('x')", "without weights_only"),
    (
        "areaviz.models.x",
        "import torch as t\nt.load('x', weights_only=False)",
        "without weights_only",
    ),
    (
        "areaviz.models.x",
        "from torch import load as read\nread('x', weights_only=flag)",
        "without weights_only",
    ),
    ("areaviz.models.x", "import torch\ntorch.jit.load('x')", "calls torch.jit.load"),
    ("areaviz.data.x", "import numpy as np\nnp.load('x', allow_pickle=True)", "allow_pickle"),
    ("areaviz.data.x", "import subprocess\nsubprocess.run('ls', shell=True)", "shell"),
    ("areaviz.data.x", "cache = {}", "keeps the mutable cache"),
    (
        "areaviz.data.x",
        "from collections import defaultdict\nseen: object = defaultdict(int)",
        "keeps the mutable seen",
    ),
    ("areaviz.data.x", "SEEN = {}\ndef f(x):\n    SEEN[x] = 1", "changes SEEN"),
    ("areaviz.data.x", "SEEN = []\ndef f(x):\n    SEEN.append(x)", "changes SEEN"),
    ("areaviz.data.x", "SEEN = {1: 2}\ndef f(x):\n    del SEEN[x]", "changes SEEN"),
    (
        "areaviz.data.x",
        "COUNT = 0\ndef f():\n    global COUNT\n    COUNT += 1",
        "declares COUNT global",
    ),
    (
        "areaviz.data.x",
        "from functools import cache\n@cache\ndef f(x): ...",
        "caches f without a limit",
    ),
    (
        "areaviz.data.x",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef f(x): ...",
        "caches f",
    ),
    (
        "areaviz.data.x",
        "from functools import lru_cache\n@lru_cache(None)\ndef f(x): ...",
        "caches f",
    ),
]


@pytest.mark.parametrize(
    ("name", "source", "what"), BROKEN, ids=[f"{name}: {what}" for name, _, what in BROKEN]
)
def test_upward_import_is_found(name: str, source: str, what: str) -> None:
    assert what in "\n".join(breaches(Module(name, source)))


SOUND = [
    (
        "areaviz.trace.record",
        "import json\nimport numpy as np\nfrom areaviz.trace.areas import Area",
    ),
    (
        "areaviz.attention.area",
        "import torch\nfrom areaviz.trace.areas import AreaGrid\nfrom . import pooling",
    ),
    ("areaviz.backend.local", "import torch\nfrom areaviz.models import transformer"),
    (
        "areaviz.draw.view",
        "import plotly.graph_objects as go\nfrom matplotlib.figure import Figure",
    ),
    (
        "areaviz.ui.page",
        (
            "import streamlit as st\nfrom areaviz.backend import local\nfrom areaviz import"
            " __version__"
        ),
    ),
    (
        "pages.home",
        "import streamlit as st\nfrom areaviz.ui import widgets\nshown = []\nshown.append(1)",
    ),
    ("areaviz.__main__", "from areaviz.cli import main"),
    ("areaviz.models.x", "import torch\nmodel.eval()\ntorch.load('x', weights_only=True)"),
    ("areaviz.data.x", "import re\nP = re.compile('x')\nVIEWS = {'a': 1}\n__all__ = ['P']"),
    ("areaviz.data.x", "def f():\n    seen = {}\n    seen[1] = 2\n    return seen"),
    (
        "areaviz.data.x",
        (
            "import functools\n@functools.lru_cache(maxsize=8)\ndef f(x):"
            " ...\n@functools.cache\ndef g(): ..."
        ),
    ),
]


@pytest.mark.parametrize(("name", "source"), SOUND)
def test_allowed_imports_pass(name: str, source: str) -> None:
    assert breaches(Module(name, source)) == []
