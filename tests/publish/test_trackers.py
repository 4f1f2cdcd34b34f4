"""The example that logs attention to trackers, with fakes of trackers that are not installed."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from examples.log_to_trackers import AttentionCallback, main
from tests.adapters import small

TEXT = "a small dog runs"


class FakeMlflow:
    def __init__(self) -> None:
        self.pages: list[tuple[str, str, str]] = []

    def log_artifact(self, path: str, place: str) -> None:
        self.pages.append((Path(path).name, Path(path).read_text(encoding="utf-8"), place))


class FakeWandb:
    def __init__(self) -> None:
        self.logged: list[tuple[dict[str, Any], int]] = []

    def log(self, values: dict[str, Any], step: int) -> None:
        self.logged.append((values, step))

    @staticmethod
    def Html(page: str, inject: bool) -> SimpleNamespace:
        return SimpleNamespace(page=page, inject=inject)


class FakeWriter:
    def __init__(self) -> None:
        self.images: list[tuple[str, Any, int, str]] = []

    def add_image(self, tag: str, image: Any, step: int, dataformats: str) -> None:
        self.images.append((tag, image, step, dataformats))


@pytest.mark.long
def test_each_tracker_gets_the_page_or_its_picture() -> None:
    mlflow, wandb, writer = FakeMlflow(), FakeWandb(), FakeWriter()
    callback = AttentionCallback(
        TEXT, small.tokenizer(), every=10, mlflow=mlflow, wandb=wandb, writer=writer
    )
    model = small.bert()
    for step in (9, 10, 20):
        callback.on_step_end(None, SimpleNamespace(global_step=step), None, model)
    names = [name for name, _, _ in mlflow.pages]
    assert names == ["attention-000010.html", "attention-000020.html"]
    assert all(page.startswith("<!") and place == "attention" for _, page, place in mlflow.pages)
    assert [step for _, step in wandb.logged] == [10, 20]
    assert "BertModel" in wandb.logged[0][0]["attention"].page
    tag, image, step, form = writer.images[0]
    assert (tag, step, form) == ("attention", 10, "HWC")
    assert image.dtype == np.uint8 and image.shape[2] == 3 and len(np.unique(image)) > 10


def test_example_writes_for_tensorboard(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    main(str(tmp_path))
    events = EventAccumulator(str(tmp_path)).Reload()
    assert events.Tags()["images"] == ["attention"]
