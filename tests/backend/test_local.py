"""The backend in this process, on very small checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from areaviz.backend.backend import CachedBackend, StoredBackend
from areaviz.backend.local import LocalBackend
from areaviz.cards.card import read_card, write_card
from areaviz.models.base import OnStep, choose_device, compute_digests
from areaviz.models.generation import GenerationModel
from areaviz.trace.document import validate
from areaviz.trace.errors import BackendError, InputError
from areaviz.trace.record import Trace
from areaviz.trace.request import Request
from tests.tiny import checkpoint


@pytest.fixture
def backend(tmp_path: Path) -> LocalBackend:
    checkpoint(tmp_path, "tiny-area")
    checkpoint(tmp_path, "tiny-regular", area_size=1)
    return LocalBackend(tmp_path, "cpu")


def test_local_backend_answers_with_valid_traces(backend: LocalBackend) -> None:
    assert set(backend.models()) == {"tiny-area", "tiny-regular"}
    for name, areas in (("tiny-area", 3), ("tiny-regular", 1)):
        trace = backend.trace(Request(name, "A small dog"))
        validate(trace)
        assert trace.maps["encoder self"].grid.max_width == areas


def test_area_size_can_be_chosen(backend: LocalBackend) -> None:
    for size in (1, 2, 5):
        trace = backend.trace(Request("tiny-area", "A small dog", area_size=size))
        assert trace.maps["encoder-decoder"].grid.max_width == size


def test_progress_ends_with_written_items(backend: LocalBackend) -> None:
    told: list[tuple[float, str]] = []
    backend.trace(
        Request("tiny-area", "A small dog " * 24), lambda share, what: told.append((share, what))
    )
    assert told[-1][1].startswith("Writing item ")
    assert {what for _, what in told if not what.startswith("Writing")} <= {
        "Waiting for the model",
        "Loading the model",
    }
    assert all(0 <= share <= 1 for share, _ in told)


def test_unknown_model_is_named(backend: LocalBackend) -> None:
    with pytest.raises(
        InputError, match='Model "none" does not exist. Choose one of: tiny-area, tiny-regular'
    ):
        backend.trace(Request("none", "A dog"))


def test_model_in_misnamed_folder_is_reported(tmp_path: Path) -> None:
    checkpoint(tmp_path, "good").rename(tmp_path / "copied")
    backend = LocalBackend(tmp_path, "cpu")
    assert not backend.models()
    assert "The folder copied has the model good. Rename the folder to good." in backend.problems()


def test_unreadable_checkpoint_leaves_other_models_working(tmp_path: Path) -> None:
    checkpoint(tmp_path, "good")
    (checkpoint(tmp_path, "broken-card") / "card.json").write_text("{")
    (checkpoint(tmp_path, "broken-weights") / "model.safetensors").write_bytes(b"no")
    backend = LocalBackend(tmp_path, "cpu")
    assert set(backend.models()) == {"good", "broken-weights"}
    assert len(backend.problems()) == 1
    with pytest.raises(BackendError, match="broken-weights.*damaged"):
        backend.trace(Request("broken-weights", "A dog"))
    validate(backend.trace(Request("good", "A dog")))


def test_empty_folder_is_reported(tmp_path: Path) -> None:
    assert "no model" in LocalBackend(tmp_path, "cpu").problems()[0]


def test_request_after_out_of_memory_works(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(GenerationModel, "generate", _no_memory)
        with pytest.raises(BackendError, match="ran out of memory. Shorten"):
            backend.trace(Request("tiny-area", "A dog"))
    validate(backend.trace(Request("tiny-area", "A dog")))


def _no_memory(*_: object) -> None:
    raise torch.OutOfMemoryError("CUDA out of memory")


def test_missing_device_is_named() -> None:
    with pytest.raises(InputError, match='Device "abacus" does not exist'):
        choose_device("abacus")
    if not torch.cuda.is_available():
        with pytest.raises(InputError, match='This machine has no device "cuda"'):
            choose_device("cuda")


@pytest.mark.parametrize(("told", "threads"), [("", 1), ("2", 2), ("many", 1), ("0", 1)])
def test_models_use_the_chosen_number_of_processors(
    backend: LocalBackend, monkeypatch: pytest.MonkeyPatch, told: str, threads: int
) -> None:
    seen = []
    traced = GenerationModel.trace

    def watched(
        self: GenerationModel, requests: Sequence[Request], on_step: OnStep | None = None
    ) -> list[Trace]:
        seen.append(torch.get_num_threads())
        return traced(self, requests, on_step)

    monkeypatch.setattr(GenerationModel, "trace", watched)
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    backend.trace(Request("tiny-area", "A small dog"))
    assert seen == [threads]
    assert backend.device() == f"CPU ({threads} thread{'s' * (threads > 1)})"


def test_card_without_digests_is_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    folder = checkpoint(tmp_path, "older")
    assert "older" in LocalBackend(tmp_path, "cpu").models()
    assert "The card of older has no digests" in caplog.text
    caplog.clear()
    write_card(
        replace(read_card(folder / "card.json"), files=compute_digests(folder)),
        folder / "card.json",
    )
    validate(LocalBackend(tmp_path, "cpu").trace(Request("older", "A dog")))
    assert not caplog.text


def test_local_backend_explains_weights(backend: LocalBackend) -> None:
    cached = CachedBackend(StoredBackend(backend, Path("nowhere")))
    assert cached.explains
    asked = Request("tiny-area", "A small dog")
    found = cached.logits(asked, "encoder self", 1)
    assert found is cached.logits(asked, "encoder self", 1), "the second time from memory"
    assert found is not cached.logits(asked, "encoder self", 0)
    trace = cached.trace(asked)
    heads, queries = trace.maps["encoder self"].weights.shape[1:3]
    assert found.item.shape == (heads, queries, queries)
    cached.forget()
    assert found is not cached.logits(asked, "encoder self", 1)


def test_request_after_failed_explanation_works(backend: LocalBackend) -> None:
    with pytest.raises(InputError, match="Choose another place"):
        backend.logits(Request("tiny-area", "A dog"), "nowhere", 0)
    with pytest.raises(InputError, match="does not exist"):
        backend.logits(Request("none", "A dog"), "encoder self", 0)
    validate(backend.trace(Request("tiny-area", "A dog")))
