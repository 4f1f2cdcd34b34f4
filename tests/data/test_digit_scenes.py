"""Pictures with digits compared with a slow reference, and the reader of MNIST's files."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from areaviz.lab.tasks import digits as mnist
from areaviz.lab.tasks.digits import read_digits
from areaviz.samples.digits import CLUTTER, CLUTTER_SIDE, DIGIT_KINDS, compose_scenes, draw_digits
from areaviz.trace.errors import BackendError

LABELS = np.arange(12) % 10
DIGITS = draw_digits(LABELS, np.random.default_rng(0))
INK = 32
Images = npt.NDArray[np.uint8]


def ink_box(patch: Images) -> tuple[int, int, int, int]:
    """Return left, top, right and bottom of the ink by looking at every pixel."""
    places = [(x, y) for y in range(len(patch)) for x in range(len(patch[0])) if patch[y, x] > INK]
    xs, ys = zip(*places, strict=True)
    return min(xs), min(ys), max(xs) + 1, max(ys) + 1


@pytest.mark.parametrize("kind", DIGIT_KINDS)
def test_digit_scene_shapes_and_labels(kind: str) -> None:
    scenes = compose_scenes(kind, DIGITS, LABELS, np.random.default_rng(1))
    each = 2 if kind == "pairs" else 1
    assert (
        scenes.pictures.shape == (12 // each, DIGIT_KINDS[kind], DIGIT_KINDS[kind])
        and scenes.pictures.dtype == np.uint8
    )
    assert scenes.labels.tolist() == LABELS.reshape(-1, each).tolist()
    assert scenes.boxes.shape == (12 // each, each, 4) and scenes.boxes.dtype == np.int64


@pytest.mark.parametrize("kind", DIGIT_KINDS)
@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_boxes_contain_the_ink_of_their_digits(kind: str, seed: int) -> None:
    scenes = compose_scenes(kind, DIGITS, LABELS, np.random.default_rng(seed))
    patches = DIGITS.reshape(len(scenes.pictures), -1, 28, 28)
    for picture, boxes, digits in zip(scenes.pictures, scenes.boxes, patches, strict=True):
        for (left, top, right, bottom), digit in zip(boxes, digits, strict=True):
            x0, y0, x1, y1 = ink_box(digit)
            assert (right - left, bottom - top) == (x1 - x0, y1 - y0)
            assert min(left, top) >= 0 and right <= len(picture) and bottom <= len(picture)
            assert (picture[top:bottom, left:right] >= digit[y0:y1, x0:x1]).all(), (
                "clutter only adds"
            )


@settings(max_examples=20)
@given(seed=st.integers(0, 2**32 - 1))
def test_pairs_are_left_to_right_and_apart(seed: int) -> None:
    scenes = compose_scenes("pairs", DIGITS, LABELS, np.random.default_rng(seed))
    for picture, (one, other), digits in zip(
        scenes.pictures, scenes.boxes, DIGITS.reshape(-1, 2, 28, 28), strict=True
    ):
        corners = [
            box[:2] - ink_box(digit)[:2] for box, digit in zip((one, other), digits, strict=True)
        ]
        assert corners[0][0] <= corners[1][0]
        assert max(abs(corners[0] - corners[1])) >= 28
        assert int(picture.astype(int).sum()) == int(digits.astype(int).sum()), (
            "nothing is covered, nothing is added"
        )


def test_centred_digit_is_unchanged_and_translated_digit_moved() -> None:
    rng = np.random.default_rng(2)
    assert np.array_equal(compose_scenes("centred", DIGITS, LABELS, rng).pictures, DIGITS)
    moved = compose_scenes("translated", DIGITS, LABELS, rng)
    for picture, box, digit in zip(moved.pictures, moved.boxes[:, 0], DIGITS, strict=True):
        x, y = box[:2] - ink_box(digit)[:2]
        assert np.array_equal(picture[y : y + 28, x : x + 28], digit)
        assert int(picture.astype(int).sum()) == int(digit.astype(int).sum())
    assert len(np.unique(moved.boxes[:, 0, :2], axis=0)) > 6


def test_clutter_is_at_most_four_small_pieces() -> None:
    scenes = compose_scenes("cluttered", DIGITS, LABELS, np.random.default_rng(3))
    added = 0
    for picture, box, digit in zip(scenes.pictures, scenes.boxes[:, 0], DIGITS, strict=True):
        x, y = box[:2] - ink_box(digit)[:2]
        rest = picture.copy()
        patch = rest[y : y + 28, x : x + 28]
        patch[patch == digit] = 0
        assert (rest > 0).sum() <= CLUTTER * CLUTTER_SIDE**2
        added += int((rest > 0).sum())
    assert added > len(DIGITS) * CLUTTER_SIDE, "there is some"


@pytest.mark.parametrize("kind", DIGIT_KINDS)
def test_seed_determines_the_picture(kind: str) -> None:
    one, same, other = (
        compose_scenes(kind, DIGITS, LABELS, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert np.array_equal(one.pictures, same.pictures) and np.array_equal(one.boxes, same.boxes)
    assert np.array_equal(one.pictures, other.pictures) == (kind == "centred")


def test_odd_digit_is_omitted_from_pairs() -> None:
    scenes = compose_scenes("pairs", DIGITS[:5], LABELS[:5], np.random.default_rng(0))
    assert scenes.labels.tolist() == [[0, 1], [2, 3]]


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(KeyError):
        compose_scenes("triples", DIGITS, LABELS, np.random.default_rng(0))


def idx(values: npt.NDArray[np.generic]) -> bytes:
    """Return the idx format as MNIST's page describes it: magic number, lengths, bytes."""
    return (
        struct.pack(">HBB", 0, 8, values.ndim)
        + struct.pack(f">{values.ndim}I", *values.shape)
        + values.tobytes()
    )


def write(folder: Path, part: str, images: bytes, labels: bytes) -> None:
    (folder / "mnist").mkdir(exist_ok=True)
    (folder / "mnist" / f"{part}-images-idx3-ubyte.gz").write_bytes(gzip.compress(images))
    (folder / "mnist" / f"{part}-labels-idx1-ubyte.gz").write_bytes(gzip.compress(labels))


def test_mnist_reserves_last_digits_for_validation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mnist, "VALIDATION_DIGITS", 3)
    labels = LABELS.astype(np.uint8)
    write(tmp_path, "train", idx(DIGITS), idx(labels))
    write(tmp_path, "t10k", idx(DIGITS[:4]), idx(labels[:4]))
    for split, part in (("train", slice(0, 9)), ("val", slice(9, 12)), ("test", slice(0, 4))):
        images, read = read_digits(tmp_path, split)
        assert np.array_equal(images, DIGITS[part]) and images.dtype == np.uint8
        assert read.tolist() == LABELS[part].tolist() and read.dtype == np.int64


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(idx(DIGITS)[:-1], id="incomplete"),
        pytest.param(idx(DIGITS) + b"\0", id="too long"),
        pytest.param(b"\0\0\x0d" + idx(DIGITS)[3:], id="floats"),
        pytest.param(b"not an idx file", id="text"),
    ],
)
def test_damaged_file_is_reported(tmp_path: Path, content: bytes) -> None:
    write(tmp_path, "t10k", content, idx(LABELS.astype(np.uint8)))
    with pytest.raises(
        BackendError,
        match=r"^t10k-images-idx3-ubyte\.gz is not an idx file of bytes, or it is incomplete",
    ):
        read_digits(tmp_path, "test")


def test_missing_corpus_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="Put MNIST's four idx files"):
        read_digits(tmp_path, "train")
