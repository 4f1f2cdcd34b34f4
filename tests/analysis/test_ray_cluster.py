"""A missing or silent cluster gives one clear sentence; the tests need no Ray."""

from __future__ import annotations

import sys

import pytest

from areaviz.backend.ray import connect_to_ray
from areaviz.trace.errors import BackendError


def test_missing_ray_is_reported_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(BackendError, match=r"pip install 'areaviz\[serve\]'"), connect_to_ray(None):
        pass
