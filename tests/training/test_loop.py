"""The training loop learns, resumes exactly, and keeps the best weights."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from areaviz.lab.loop import (
    BEST,
    RESUME,
    TrainConfig,
    Trainer,
    TrainingPaused,
    compute_learning_rate,
    group_parameters,
)
from areaviz.lab.tasks.translation import Translation, TranslationConfig
from areaviz.trace.errors import InputError
from tests.tiny import network, tokenizer

CPU = torch.device("cpu")
PAIRS = [
    ([5, 6, 7, 3], [7, 6, 5, 3]),
    ([8, 9, 3], [9, 8, 3]),
    ([4, 4, 5, 6, 3], [6, 5, 4, 4, 3]),
    ([9, 3], [9, 3]),
]


def config(**options: object) -> TranslationConfig:
    values = {
        "steps": 12,
        "batch_tokens": 10,
        "peak_rate": 1e-2,
        "warmup": 2,
        "validate_every": 4,
        **options,
    }
    return TranslationConfig(name="test", level="character", vocabulary=20, **values)  # type: ignore[arg-type]


def task(**options: object) -> Translation:
    return Translation(config(**options), tokenizer(), network(12).train(), PAIRS, PAIRS, CPU)


def trainer(folder: Path, **options: object) -> Trainer:
    return Trainer(task(**options), folder, CPU)


def test_loop_learns_to_reverse_four_rows(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=150, validate_every=150, label_smoothing=0.0)
    before = run.task.validate(0)["score"]
    run.train()
    assert before > 2
    assert run.best < 0.3


def test_gradient_is_no_longer_than_the_limit(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=1, clip=0.01)
    run.train()
    grads = [one.grad for one in run.network.parameters() if one.grad is not None]
    assert torch.cat([grad.flatten() for grad in grads]).norm().item() == pytest.approx(0.01, 1e-3)


def test_killed_run_resumes_exactly(tmp_path: Path) -> None:
    whole = trainer(tmp_path / "whole")
    whole.train()
    first = trainer(tmp_path / "killed")
    original = first._update

    def killed(batch: object) -> float:
        if first.step == 10:
            raise KeyboardInterrupt
        return original(batch)

    first._update = killed  # type: ignore[method-assign]
    with pytest.raises(KeyboardInterrupt):
        first.train()
    second = trainer(tmp_path / "killed")
    assert second.step == 8
    second.train()
    for one, other in zip(whole.network.parameters(), second.network.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert [entry["valid_loss"] for entry in whole.history] == pytest.approx(
        [entry["valid_loss"] for entry in second.history]
    )


def test_paused_run_resumes_at_the_next_update(tmp_path: Path) -> None:
    whole = trainer(tmp_path / "whole")
    whole.train()
    first = trainer(tmp_path / "paused")
    first.should_pause = lambda: first.step == 10
    with pytest.raises(TrainingPaused, match="test paused after 10 updates"):
        first.train()
    second = trainer(tmp_path / "paused")
    assert second.step == 10 and [entry["step"] for entry in second.history] == [4, 8]
    second.train()
    for one, other in zip(whole.network.parameters(), second.network.parameters(), strict=True):
        torch.testing.assert_close(one, other)


def test_best_checkpoint_is_kept_not_the_last(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=4)
    run.train()
    run.best = -1.0
    kept = (tmp_path / BEST).read_bytes()
    run._validate(0.0)
    assert (tmp_path / BEST).read_bytes() == kept


def test_every_validation_is_a_line_of_the_log(tmp_path: Path) -> None:
    trainer(tmp_path).train()
    lines = [json.loads(line) for line in (tmp_path / "log.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [4, 8, 12]
    assert set(lines[0]) == {"step", "train_loss", "valid_loss", "seconds"}
    assert list((tmp_path / "tensorboard").iterdir())


def test_learning_rate_rises_and_falls_linearly() -> None:
    rates = [compute_learning_rate(step, config(warmup=4, steps=12)) for step in range(13)]
    assert rates[3] == pytest.approx(1e-2)
    assert rates[12] == 0
    assert rates[:4] == sorted(rates[:4])
    assert rates[4:] == sorted(rates[4:], reverse=True)


def test_cosine_schedule_falls_slowly_fast_slowly() -> None:
    options = config(steps=102, warmup=2, peak_rate=1.0, schedule="cosine")
    rates = [compute_learning_rate(step, options) for step in (1, 2, 27, 52, 77, 102)]
    assert rates == pytest.approx([1.0, 1.0, 0.8536, 0.5, 0.1464, 0.0], abs=1e-4)


def test_averaged_weights_are_kept_if_better(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=12, average=2)
    run.train()
    files = sorted(tmp_path.glob("recent-*.pt"))
    assert [file.stem for file in files] == ["recent-00000008", "recent-00000012"]
    states = [torch.load(file, weights_only=True) for file in files]
    mean = {name: (states[0][name] + states[1][name]) / 2 for name in states[0]}
    last = {name: value.clone() for name, value in run.network.state_dict().items()}
    torch.testing.assert_close(last, states[1])
    run.network.load_state_dict(mean)
    run.network.eval()
    assert run.averaged["valid_loss"] == pytest.approx(run.task.validate(12)["score"])
    best = torch.load(tmp_path / BEST, weights_only=True)
    lowest = min(entry["valid_loss"] for entry in run.history)
    assert bool(run.averaged["kept"]) == (run.averaged["valid_loss"] < lowest)
    assert run.best == pytest.approx(min(lowest, run.averaged["valid_loss"]))
    if run.averaged["kept"]:
        torch.testing.assert_close(best, mean)


def test_average_is_kept_though_it_validates_worse_if_asked(tmp_path: Path) -> None:
    run = trainer(tmp_path, steps=12, average=2, keep_average=True)
    run.best = -1.0
    run.train()
    states = [torch.load(file, weights_only=True) for file in sorted(tmp_path.glob("recent-*.pt"))]
    mean = {name: (states[0][name] + states[1][name]) / 2 for name in states[0]}
    torch.testing.assert_close(torch.load(tmp_path / BEST, weights_only=True), mean)
    assert run.averaged["kept"] == 1 and run.best == run.averaged["valid_loss"]


def test_unknown_schedule_is_named(tmp_path: Path) -> None:
    values = {"name": "x", "steps": 1, "peak_rate": 1.0, "warmup": 0, "schedule": "steps"}
    with pytest.raises(InputError, match="linear, cosine"):
        TrainConfig.of(values, tmp_path / "x.toml")


def test_schedule_without_warmup_starts_at_the_peak() -> None:
    rates = [compute_learning_rate(step, config(warmup=0, steps=4)) for step in range(5)]
    assert rates == pytest.approx([1e-2, 0.75e-2, 0.5e-2, 0.25e-2, 0])


def test_random_state_is_restored(tmp_path: Path) -> None:
    trainer(tmp_path, steps=4).train()
    state = torch.load(tmp_path / RESUME, weights_only=True)
    assert list(state["random"]) == ["cpu"], "on CUDA also that of the GPU"
    for kept in (state["random"], state["random"]["cpu"]):  # older files have the CPU's only
        torch.save({**state, "random": kept}, tmp_path / RESUME)
        torch.manual_seed(7)
        trainer(tmp_path, steps=4)
        torch.testing.assert_close(torch.get_rng_state(), state["random"]["cpu"])


def test_batches_depend_only_on_seed_and_step() -> None:
    def take(first: int, seed: int = 1) -> list[list[int]]:
        stream = task(seed=seed).batches(first)
        return [next(stream).source.flatten().tolist() for _ in range(6)]

    assert take(0)[3:] == take(3)[:3]
    assert take(0) == take(0)
    assert any(take(0, seed=1) != take(0, seed=other) for other in (2, 3, 4))


def test_parameter_groups_may_have_their_own_rate() -> None:
    whole = network(12)
    groups = group_parameters(whole, config(rates={"encoder": 0.1}))
    assert {group["factor"]: len(group["params"]) for group in groups} == {
        0.1: sum(name.startswith("encoder") for name, _ in whole.named_parameters()),
        1.0: sum(not name.startswith("encoder") for name, _ in whole.named_parameters()),
    }
