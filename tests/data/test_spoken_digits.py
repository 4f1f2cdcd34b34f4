"""Strings of spoken digits, made from artificial recordings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from areaviz.lab.tasks.speech import LONGEST_SAMPLES, Recordings, join_recordings, read_recordings


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return a corpus in which two speakers say two digits twelve times.

    All samples of digit d are 100 (d + 1).
    """
    rows = [(d, s, t) for d in range(2) for s in range(2) for t in range(12)]
    parts = [np.full(50 + 10 * t, 100 * (d + 1), np.int16) for d, s, t in rows]
    digits, speakers, takes = (np.array(column) for column in zip(*rows, strict=True))
    (tmp_path / "fsdd").mkdir()
    np.savez(
        tmp_path / "fsdd" / "fsdd_8khz_int16.npz",
        audio=np.concatenate(parts),
        offsets=np.cumsum([0, *map(len, parts)]),
        digit=digits.astype(np.int8),
        speaker=speakers.astype(np.int8),
        take=takes.astype(np.int16),
    )
    return tmp_path


def test_splits_partition_the_recordings(corpus: Path) -> None:
    lengths = {}
    for split in ("train", "val", "test"):
        found = read_recordings(corpus, split)
        lengths[split] = {len(samples) for samples in found.samples}
        assert len(found.samples) == len(found.digits) == len(found.speakers)
    # The length identifies the take.
    assert lengths["test"] == {50, 60, 70, 80, 90}
    assert lengths["val"] == {100, 110, 120, 130, 140} and lengths["train"] == {150, 160}


def test_missing_corpus_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Put the spoken digits"):
        read_recordings(tmp_path, "train")


def test_too_long_recording_is_cut(corpus: Path) -> None:
    with np.load(corpus / "fsdd" / "fsdd_8khz_int16.npz") as stored:
        arrays = dict(stored)
    arrays["audio"] = np.full(3 * LONGEST_SAMPLES, 900, np.int16)
    arrays |= {"offsets": np.array([0, 3 * LONGEST_SAMPLES]), "take": np.array([0], np.int16)}
    arrays |= {"digit": np.array([4], np.int8), "speaker": np.array([0], np.int8)}
    np.savez(corpus / "fsdd" / "fsdd_8khz_int16.npz", **arrays)
    (samples,) = read_recordings(corpus, "test").samples
    assert len(samples) == LONGEST_SAMPLES and np.allclose(samples, 0.1)


def marked() -> Recordings:
    """Return recordings whose samples encode digit and speaker as digit + speaker / 10."""
    rows = [(digit, speaker) for digit in range(10) for speaker in range(3)]
    samples = [np.full(80 + digit, digit + speaker / 10, np.float32) for digit, speaker in rows]
    digits, speakers = np.array(rows).T
    return Recordings(samples, digits, speakers)


@pytest.mark.parametrize("seed", range(20))
def test_each_digit_matches_its_bounds_and_one_speaker(seed: int) -> None:
    said = join_recordings(marked(), np.random.default_rng(seed), (2, 5))
    assert 2 <= len(said.text) == len(said.bounds) <= 5
    speakers = set()
    for letter, (first, behind) in zip(said.text, said.bounds, strict=True):
        values = said.samples[first:behind]
        assert behind - first == 80 + int(letter)
        assert np.allclose(values, values.mean(), atol=0.01)
        assert int(np.round(values.mean() - 0.05 + 0.0001, 2)) in (int(letter), int(letter) - 1)
        speakers.add(round(float(values.mean()) - int(letter), 1))
    assert len(speakers) == 1
    assert all(one[1] <= other[0] for one, other in zip(said.bounds, said.bounds[1:], strict=False))


def test_strings_follow_the_seed_and_repeat_rate() -> None:
    one, same = (join_recordings(marked(), np.random.default_rng(4), (6, 10)) for _ in range(2))
    assert one.text == same.text and np.array_equal(one.samples, same.samples)
    rng = np.random.default_rng(1)
    texts = [join_recordings(marked(), rng, (10, 10), repeats=0.5).text for _ in range(200)]
    pairs = [text[place] == text[place + 1] for text in texts for place in range(9)]
    assert np.mean(pairs) == pytest.approx(0.5 + 0.5 / 10, abs=0.05)
