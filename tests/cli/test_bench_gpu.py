"""`bench gpu` measures on any device, within its time, and reports what it could not measure.

No GPU is needed: small inputs run on the processor in the same way.
"""

from __future__ import annotations

import math
import re
import time
from pathlib import Path

import pytest
import torch

from benchmarks import gpu, report
from benchmarks.gpu_clock import FULL, Clock, milliseconds, ratio
from benchmarks.training import REGULAR

CPU = torch.device("cpu")


def clock(seconds: float = 60) -> Clock:
    return Clock(CPU, rounds=3, calls=2, until=time.monotonic() + seconds)


def test_bench_gpu_measures_all_calls_on_small_inputs() -> None:
    text = gpu.tables(CPU, quick=True)
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")]
    by_form = [row for row in rows if "forward" in row[1] and "MB" not in row[1]]
    masks = {re.sub(".*, ", "", row[1]) for row in by_form}
    assert masks == {"plain", "causal", "padded"} and len(by_form) == 2 * 2 * (3 + 2)
    assert all("ms" in row[2] for row in by_form)
    assert all("x" in cell for row in by_form for cell in row[3:5])
    training = [row for row in rows if row[0].startswith("| bfloat16, ")]
    assert [row[0][len("| bfloat16, ") :] for row in training] == list(gpu.KEYS)
    assert training[0][2].startswith("1.00x")


def test_missing_gpu_is_reported_and_nothing_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(report, "README", tmp_path / "missing.md")
    monkeypatch.setattr("sys.argv", ["gpu"])
    with pytest.raises(SystemExit) as ended:
        gpu.main()
    assert ended.value.code == 1
    assert "no GPU with CUDA" in capsys.readouterr().err


def test_readme_has_a_place_for_the_table(tmp_path: Path) -> None:
    copy = tmp_path / "README.md"
    copy.write_text(report.README.read_text("utf-8"), "utf-8")
    report.write_section("gpu", "a table", copy)
    assert "a table" in copy.read_text("utf-8")


def test_times_are_of_one_call_each_round(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def takes(seconds: float) -> None:
        now[0] += seconds

    found = clock().times({"slow": lambda: takes(0.004), "slower": lambda: takes(0.012)})
    assert [len(times) for times in found.values()] == [3, 3]
    assert ratio(found["slower"], found["slow"]) == "3.00x"
    assert milliseconds(found["slow"]) == "4 ms"


def test_no_measurement_starts_after_the_time_limit() -> None:
    called: list[int] = []
    assert clock(seconds=-1).times({"late": lambda: called.append(1)}) == {}
    assert not called and milliseconds(None) == ratio(None, [1.0]) == "–"


def test_failing_call_is_marked_and_others_run() -> None:
    def too_large() -> None:
        raise torch.OutOfMemoryError

    def unknown() -> None:
        raise ValueError

    found = clock().times({"large": too_large, "unknown": unknown, "able": lambda: None})
    assert (found["large"], found["unknown"]) == (FULL, "–")
    assert ratio(found["large"], found["able"]) == FULL and isinstance(found["able"], list)


def test_decoder_step_keeps_histories_unchanged() -> None:
    with torch.no_grad():
        decoding = gpu.Decoding(REGULAR, CPU, written=3)
        decoding.step()
        decoding.step()
    assert all(history is not None and history.items == 3 for _, history, _ in decoding.layers)
    assert math.prod(decoding.x.shape[:2]) == 8
