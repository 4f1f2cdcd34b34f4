"""Shape scenes: sentences are true of the boxes, boxes contain the ink, nothing is ambiguous."""

from __future__ import annotations

import json
import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest

from areaviz.samples import scenes
from areaviz.samples.scenes import (
    AMBIGUOUS,
    INKS,
    NOUNS,
    RELATIONS,
    SPLITS,
    TIE,
    Object,
    Scene,
    draw_scene,
    make_scene,
)

SCENES = [make_scene(split, number) for split in SPLITS for number in range(300)]
DRAWN = [make_scene("val", number) for number in range(40)]
Box = tuple[float, float, float, float]


def middle(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


def holds(relation: str, one: Box, other: Box) -> bool:
    """Return whether a relation is true of two centres, and no other relation could be meant."""
    (x, y), (to_x, to_y) = middle(one), middle(other)
    across, down = to_x - x, to_y - y
    forward = {"above": down, "below": -down, "left of": across, "right of": -across}[relation]
    aside = abs(across) if relation in ("above", "below") else abs(down)
    return forward > 0 and aside < forward * np.tan(np.pi / 6) + 1e-9


def test_relations_are_true() -> None:
    related = [scene for scene in SCENES if scene.relation]
    assert {scene.relation for scene in related} == set(RELATIONS)
    assert all(
        holds(scene.relation or "", scene.objects[0].box, scene.objects[1].box) for scene in related
    )


def test_relation_is_stated_for_two_objects() -> None:
    for scene in SCENES:
        assert 1 <= len(scene.objects) <= 3
        assert (scene.relation is None) == (len(scene.objects) == 1)
        assert scene.spoken == scene.objects[: 1 if scene.relation is None else 2]
    assert {len(scene.objects) for scene in SCENES} == {1, 2, 3}


def test_picture_determines_every_masked_word() -> None:
    """Within a scene, objects differ in their English nouns and colours, even if not mentioned."""
    for scene in SCENES:
        for one, other in combinations(scene.objects, 2):
            assert NOUNS[one.shape].english != NOUNS[other.shape].english
            assert one.colour != other.colour


def test_every_true_sentence_has_boxes_of_named_objects() -> None:
    for scene in SCENES[:200]:
        true = scene.list_true_sentences()
        assert (
            len(true) == {1: 1, 2: 4, 3: 9}[len(scene.objects)]
            and true[scene.english.text] == scene.grounded
        )
        for text, sentence in true.items():
            boxes, words = dict(sentence.boxes), text.split()
            coloured = [
                (place, thing)
                for thing in scene.objects
                for place, w in enumerate(words)
                if w == thing.colour
            ]
            assert coloured and all(boxes[place] == (thing.box,) for place, thing in coloured)
            assert (
                sum(word in ("small", "large") for word in words) == len(coloured) == len(boxes) / 3
            )


def test_boxes_are_inside_apart_and_of_stated_size() -> None:
    for scene in SCENES:
        for thing in scene.objects:
            left, top, right, bottom = thing.box
            assert 0 <= left < right <= 1 and 0 <= top < bottom <= 1
            assert right - left == pytest.approx(bottom - top)
            low, high = {"small": (0.16, 0.22), "large": (0.32, 0.4)}[thing.size]
            assert low - 1e-9 <= right - left <= high + 1e-9
        for one, other in combinations(scene.objects, 2):
            across = max(one.box[0], other.box[0]) - min(one.box[2], other.box[2])
            down = max(one.box[1], other.box[1]) - min(one.box[3], other.box[3])
            assert max(across, down) > 0, "a gap in at least one direction"


@pytest.mark.parametrize("shape", NOUNS)
@pytest.mark.parametrize("side", [64, 512])
def test_boxes_contain_the_ink(shape: str, side: int) -> None:
    """The ink may exceed the box by a small margin, and it must fill most of the box."""
    box = (0.3, 0.4, 0.6, 0.7)
    mask = np.asarray(scenes._make_shape_mask(Object(shape, "red", "large", box), side)) > 0
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    ends = [columns[0] / side, rows[0] / side, (columns[-1] + 1) / side, (rows[-1] + 1) / side]
    margin = 0.3 / 20 + 1.5 / side
    assert ends[0] >= box[0] - margin and ends[1] >= box[1] - margin
    assert ends[2] <= box[2] + margin and ends[3] <= box[3] + margin
    assert max(ends[2] - ends[0], ends[3] - ends[1]) > 0.8 * 0.3
    assert min(ends[2] - ends[0], ends[3] - ends[1]) > 0.4 * 0.3


@pytest.mark.parametrize("scene", DRAWN[:15], ids=lambda scene: str(scene.number))
def test_picture_shows_each_colour_in_its_box(scene: Scene) -> None:
    pixels = scene.pixels(160).astype(int)
    for thing in scene.objects:
        left, top, right, bottom = (round(value * 160) for value in thing.box)
        near = np.abs(pixels - INKS[thing.colour]).max(-1) <= 14
        inside = int(near[top:bottom, left:right].sum())
        assert inside > 0.08 * (right - left) * (bottom - top)


def test_pixels_outside_boxes_are_background_and_shadow() -> None:
    """A scene drawn without its objects has equal pixels far from their boxes."""
    scene = next(scene for scene in DRAWN if len(scene.objects) == 2)
    seed = (SPLITS[scene.split], scene.number, 1)
    bare = draw_scene((), 128, np.random.default_rng(seed)).astype(int)
    changed = np.abs(scene.pixels(128).astype(int) - bare).max(-1) > 12
    for thing in scene.objects:
        left, top, right, bottom = (round(value * 128) for value in thing.box)
        changed[max(0, top - 7) : bottom + 7, max(0, left - 7) : right + 7] = False
    assert not changed.any()


def test_gold_boxes_belong_to_describing_words() -> None:
    for scene in SCENES[:200]:
        sentence, grounded = scene.english, scene.grounded
        assert grounded.text == sentence.text
        expected = [
            (index, (scene.objects[thing].box,))
            for index, (word, thing, kind) in enumerate(
                zip(sentence.words, sentence.objects, sentence.kinds, strict=True)
            )
            if kind not in ("article", "relation") and word
        ]
        assert list(grounded.boxes) == expected
        words = {sentence.words[index] for index, _ in grounded.boxes}
        for thing in scene.spoken:
            assert {thing.size, thing.colour, NOUNS[thing.shape].english} <= words


def test_both_languages_name_objects_in_equal_order() -> None:
    for scene in SCENES[:200]:
        told = [
            [
                thing
                for thing, kind in zip(sentence.objects, sentence.kinds, strict=True)
                if kind == "noun"
            ]
            for sentence in (scene.english, scene.german)
        ]
        assert told[0] == told[1] == list(range(len(scene.spoken)))


def test_splits_are_disjoint() -> None:
    layouts = [scene.objects for scene in SCENES]
    assert len(set(layouts)) == len(layouts)
    assert len(set(SPLITS.values())) == len(SPLITS)


def test_scene_follows_from_its_split_and_number() -> None:
    for scene in DRAWN[:5]:
        again = make_scene(scene.split, scene.number)
        assert again == scene
        assert np.array_equal(again.pixels(64), scene.pixels(64))
    assert not np.array_equal(DRAWN[0].pixels(64), DRAWN[1].pixels(64))


def test_second_process_makes_equal_scenes() -> None:
    """Nothing depends on the order of sets or on hashes."""
    code = (
        "import json; from areaviz.samples.scenes import make_scene;"
        "print(json.dumps([[s.english.text,"
        " s.german.text] for s in (make_scene('train', n) for n in range(20))]))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = [make_scene("train", number) for number in range(20)]
    assert json.loads(run.stdout) == [[scene.english.text, scene.german.text] for scene in here]


def test_all_shapes_colours_and_sizes_occur() -> None:
    things = [thing for scene in SCENES for thing in scene.objects]
    assert {thing.shape for thing in things} == set(NOUNS)
    assert {thing.colour for thing in things} == set(INKS)
    assert 0.35 < np.mean([scene.objects[0].shape in AMBIGUOUS for scene in SCENES]) < 0.55
    assert 0.4 < np.mean([thing.size == "small" for thing in things]) < 0.9


@pytest.mark.parametrize("side", [32, 128, 256])
def test_pictures_have_the_requested_side(side: int) -> None:
    pixels = DRAWN[0].pixels(side)
    assert pixels.shape == (side, side, 3) and pixels.dtype == np.uint8


def test_unknown_split_is_refused() -> None:
    with pytest.raises(KeyError):
        make_scene("dev", 0)


def test_both_relations_of_diagonal_objects_are_accepted() -> None:
    more = 0
    for scene in SCENES:
        strict, wide = scene.list_true_sentences(), scene.list_true_sentences(TIE)
        assert strict.keys() <= wide.keys()
        things = {sentence: boxes for sentence, boxes in wide.items() if sentence not in strict}
        for text, grounded in things.items():
            (one,), (other,) = grounded.boxes[0][1], grounded.boxes[-1][1]
            across = middle(other)[0] - middle(one)[0]
            down = middle(other)[1] - middle(one)[1]
            assert abs(abs(across) - abs(down)) < TIE
            said = {"left of": across, "right of": -across, "above": down, "below": -down}
            (far,) = [length for relation, length in said.items() if f" {relation} " in text]
            assert far > 0
            more += 1
    assert more > 20


def test_clear_sentences_are_true_without_ties() -> None:
    for scene in SCENES:
        clear = scene.clear_sentences()
        texts = [sentence.text for sentence in clear]
        assert scene.grounded in clear and len({*texts}) == len(texts)
        assert {*texts} <= scene.list_true_sentences().keys()
        count = 2 if scene.relation else 1
        for sentence in clear:
            assert len({boxes for _, boxes in sentence.boxes}) == count
