"""Rooms import only from lower floors, and the checker finds the violations that it should find."""

from __future__ import annotations

import pytest

from tests.architecture import FLOORS, ROOT, Module, breaches, modules


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


def test_every_room_has_a_floor() -> None:
    there = {
        path.stem
        for path in (ROOT / "areaviz").iterdir()
        if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    named = {name.removeprefix("areaviz.") for name in FLOORS if name.startswith("areaviz.")}
    assert named == there - {"__init__", "old_names"}


BROKEN = [
    ("areaviz.trace.areas", "import areaviz.draw.view", "floor 3 from floor 0"),
    ("areaviz.trace.areas", "from areaviz import attention", "floor 3 from floor 0"),
    ("areaviz.trace.areas", "from ..draw import view", "floor 3 from floor 0"),
    ("areaviz", "import areaviz.trace.record\nimport areaviz.app.x", "floor 7 from floor 0"),
    ("areaviz.trace.areas", "import scipy.stats", "NumPy and the standard library only"),
    ("areaviz.trace.areas", "def f():\n    import torch", "torch"),
    ("areaviz.trace.areas", "import pandas", "NumPy and the standard library only"),
    ("areaviz.attention.area", "from areaviz.draw import view", "floor 3 from floor 3"),
    (
        "areaviz.draw.view",
        "from areaviz.models.translation import Model",
        "floor 4 from floor 3",
    ),
    ("areaviz.backend.local", "from areaviz.page import page", "floor 5 from floor 5"),
    (
        "areaviz.models.x",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import areaviz.app.x",
        "floor 7",
    ),
    ("areaviz.app.widgets", "from areaviz.cli import main", "floor 11 from floor 7"),
    ("areaviz.app.widgets", "import app", "floor 10 from floor 7"),
    ("pages.home", "from areaviz.cli import main", "floor 11 from floor 10"),
    ("areaviz.cli.serve", "from areaviz.sets import run", "which may be absent"),
    ("pages.home", "from areaviz.sets.app import page", "which may be absent"),
    ("areaviz.app.widgets", "from tests import fakes", "not part of the package"),
    ("areaviz.utils", "x = 1", "room without a floor"),
    ("areaviz.draw.view", "import areaviz.helpers.x", "a room without a floor"),
    ("areaviz.draw.view", "import torch", "belongs in areaviz.attention"),
    ("areaviz.backend.backend", "import torch.nn.functional as F", "belongs in"),
    ("areaviz.backend.localhost", "import torch", "belongs in"),
    ("areaviz.backend.remote", "from safetensors.torch import load_file", "belongs in"),
    ("areaviz.app.plots", "import plotly.graph_objects as go", "belongs in areaviz.draw"),
    ("areaviz.lab.loop", "from matplotlib.figure import Figure", "belongs in areaviz.draw"),
    ("areaviz.draw.view", "import streamlit as st", "belongs in areaviz.app"),
    ("areaviz.models.base", "import ray", "belongs in areaviz.backend"),
    ("areaviz.draw.view", "import matplotlib.pyplot as plt", "imports matplotlib.pyplot"),
    ("areaviz.draw.view", "from matplotlib import pyplot", "imports matplotlib.pyplot"),
    (
        "areaviz.draw.view",
        "import matplotlib\nmatplotlib.pyplot.figure()",
        "calls matplotlib.pyplot.figure",
    ),
    (
        "areaviz.media.x",
        "import importlib\nimportlib.import_module('streamlit.web')",
        "belongs in areaviz.app",
    ),
    (
        "areaviz.media.x",
        "from importlib import import_module\nimport_module('areaviz.app.x')",
        "floor 7 from floor 1",
    ),
    ("areaviz.media.x", "import pickle", "imports pickle"),
    ("areaviz.media.x", "from pickle import loads", "imports pickle.loads"),
    ("areaviz.media.x", "eval('1')", "calls eval"),
    ("areaviz.media.x", "import builtins as b\nb.exec('1')", "calls builtins.exec"),
    ("pages.home", "exec('1')", "calls exec"),
    ("areaviz.media.x", "__import__('os')", "calls __import__"),
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
    ("areaviz.media.x", "import numpy as np\nnp.load('x', allow_pickle=True)", "allow_pickle"),
    ("areaviz.media.x", "import subprocess\nsubprocess.run('ls', shell=True)", "shell"),
    ("areaviz.media.x", "cache = {}", "keeps the mutable cache"),
    (
        "areaviz.media.x",
        "from collections import defaultdict\nseen: object = defaultdict(int)",
        "keeps the mutable seen",
    ),
    ("areaviz.media.x", "SEEN = {}\ndef f(x):\n    SEEN[x] = 1", "changes SEEN"),
    ("areaviz.media.x", "SEEN = []\ndef f(x):\n    SEEN.append(x)", "changes SEEN"),
    ("areaviz.media.x", "SEEN = {1: 2}\ndef f(x):\n    del SEEN[x]", "changes SEEN"),
    (
        "areaviz.media.x",
        "COUNT = 0\ndef f():\n    global COUNT\n    COUNT += 1",
        "declares COUNT global",
    ),
    (
        "areaviz.media.x",
        "from functools import cache\n@cache\ndef f(x): ...",
        "caches f without a limit",
    ),
    (
        "areaviz.media.x",
        "import functools\n@functools.lru_cache(maxsize=None)\ndef f(x): ...",
        "caches f",
    ),
    (
        "areaviz.media.x",
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
    ("areaviz.backend.local", "import torch\nfrom areaviz.models import translation"),
    (
        "areaviz.draw.view",
        "import plotly.graph_objects as go\nfrom matplotlib.figure import Figure",
    ),
    (
        "areaviz.app.page",
        (
            "import streamlit as st\nfrom areaviz.backend import local\nfrom areaviz import"
            " __version__"
        ),
    ),
    (
        "pages.home",
        "import streamlit as st\nfrom areaviz.app import page\nshown = []\nshown.append(1)",
    ),
    ("areaviz.__main__", "from areaviz.cli import main"),
    ("pages.analyse", "from areaviz.sets.app import page"),
    ("areaviz.models.x", "import torch\nmodel.eval()\ntorch.load('x', weights_only=True)"),
    ("areaviz.media.x", "import re\nP = re.compile('x')\nVIEWS = {'a': 1}\n__all__ = ['P']"),
    ("areaviz.media.x", "def f():\n    seen = {}\n    seen[1] = 2\n    return seen"),
    (
        "areaviz.media.x",
        (
            "import functools\n@functools.lru_cache(maxsize=8)\ndef f(x):"
            " ...\n@functools.cache\ndef g(): ..."
        ),
    ),
]


@pytest.mark.parametrize(("name", "source"), SOUND)
def test_allowed_imports_pass(name: str, source: str) -> None:
    assert breaches(Module(name, source)) == []
