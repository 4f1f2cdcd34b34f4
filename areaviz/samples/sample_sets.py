"""The app's own sets of examples, by kind of input, and its sentences to read.

`SAMPLE_SETS` lists the sets.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from PIL import Image

from areaviz.media.clips import encode_gif
from areaviz.media.formats import CLIP, SOUND
from areaviz.media.sounds import encode_flac
from areaviz.samples.dataset import SHOW_SCENES, Box, Dataset, Example, GroundedSentence
from areaviz.samples.digits import DigitBank, compose_scenes, draw_digits, make_moving_digits
from areaviz.samples.own_media import SOUND_SAMPLES, get_sound_sample, make_clip
from areaviz.samples.paths import ASSETS
from areaviz.samples.reasoning import make_point_sets, make_sentences_with_trees, make_stories
from areaviz.samples.scenes import Scene, make_scene
from areaviz.trace.request import RATE, Sound

# The app's own sentences to read: inputs for language models that only read and write no output.
#
# Some sentences differ in one word, which shows the effect of that word. Some contain a noun twice,
# or a noun to which a later word refers.


_SENTENCES_TO_READ = (
    "A man in a blue shirt is riding a bicycle down the street.",
    "A woman in a blue shirt is riding a bicycle down the street.",
    "Two boys are playing football on a field of green grass.",
    "Two boys are playing the piano on a field of green grass.",
    "A brown dog is running along the beach with a stick in its mouth.",
    "A brown dog is running along the beach with a stick in his hand.",
    "A young girl is sitting on a swing and laughing at her brother.",
    "Three people are standing in front of a large old building.",
    "A group of people are standing around a man who is playing the guitar.",
    "A man is standing on a ladder and painting the wall of a house.",
    "A man is standing on a ladder and cleaning the windows of the house.",
    "An old woman is selling fruit and vegetables at a small market.",
    "A little boy in a red jacket is throwing a snowball at another boy.",
    "A white dog and a black dog are fighting over a white ball.",
    "A chef in a white hat is cutting onions in the kitchen.",
    "A band is playing on a stage while the crowd is dancing.",
    "A mother is holding her baby and looking out of the window of a train.",
    "A skier is jumping off a hill covered in deep snow.",
    "Four friends are sitting at a table and eating pizza.",
    "A man with a beard is talking on his phone while he is walking his dog.",
    "The children are waiting for the bus, and the bus is late.",
    "A cat is sleeping on top of a car.",
    "A car is sleeping on top of a cat.",
    "A worker in an orange vest is digging a hole in the road.",
)


def make_sentences_to_read() -> Dataset:
    """Return sentences without references."""
    examples = []
    for number, sentence in enumerate(_SENTENCES_TO_READ, 1):
        examples.append(Example(str(number), sentence))
    return Dataset("Sentences to read", tuple(examples), {})


# The app's own datasets: sentences, drawn scenes, sounds, clips, trees, stories and points.
#
# No copyright restricts their use.


SCENES, JOINED, MOVING, DRAWN = 60, 36, 40, 60
"""Number of scenes, of joined recordings of digits, of clips, and of pictures of digits."""
CLUTTERED = "cluttered"
"""The kind of pictures in `digit_scenes` that most digit readers of the app were trained on."""
PAUSE = 0.15
"""Maximum pause between two joined digits in seconds."""
_SENTENCES = (
    ("A small dog runs through the snow.", "Ein kleiner Hund rennt durch den Schnee."),
    ("Two children play in the sand.", "Zwei Kinder spielen im Sand."),
    (
        "A woman in a red coat waits for the bus.",
        "Eine Frau in einem roten Mantel wartet auf den Bus.",
    ),
    (
        "An old man reads a newspaper on a bench.",
        "Ein alter Mann liest auf einer Bank eine Zeitung.",
    ),
    ("A boy jumps into the water.", "Ein Junge springt ins Wasser."),
    ("Three men stand in front of a house.", "Drei Männer stehen vor einem Haus."),
    (
        "A girl with a blue hat rides a horse.",
        "Ein Mädchen mit einem blauen Hut reitet auf einem Pferd.",
    ),
    ("The black dog catches a ball.", "Der schwarze Hund fängt einen Ball."),
    ("People sit around a table and eat.", "Menschen sitzen um einen Tisch und essen."),
    ("A man plays the guitar on the street.", "Ein Mann spielt auf der Straße Gitarre."),
    (
        "A woman and a child walk along the beach.",
        "Eine Frau und ein Kind gehen am Strand entlang.",
    ),
    ("Two dogs fight over a stick in the grass.", "Zwei Hunde kämpfen im Gras um einen Stock."),
    ("A young man climbs up a rock.", "Ein junger Mann klettert einen Felsen hinauf."),
    ("A group of women dances on a stage.", "Eine Gruppe von Frauen tanzt auf einer Bühne."),
    ("A child in a green shirt holds a flower.", "Ein Kind in einem grünen Hemd hält eine Blume."),
    ("A man in a white shirt cooks dinner.", "Ein Mann in einem weißen Hemd kocht das Abendessen."),
    ("The girl paints a picture of her cat.", "Das Mädchen malt ein Bild von seiner Katze."),
    ("A cyclist rides down a steep hill.", "Ein Radfahrer fährt einen steilen Hügel hinunter."),
    ("Four people wait at a crossing.", "Vier Personen warten an einer Kreuzung."),
    ("A woman takes a photo of the mountains.", "Eine Frau macht ein Foto von den Bergen."),
    ("A baby sleeps on a yellow blanket.", "Ein Baby schläft auf einer gelben Decke."),
    ("Workers repair the roof of a building.", "Arbeiter reparieren das Dach eines Gebäudes."),
    ("A boy throws a stone into the river.", "Ein Junge wirft einen Stein in den Fluss."),
    ("A brown horse stands behind a fence.", "Ein braunes Pferd steht hinter einem Zaun."),
)
"""Pairs of a sentence and one of several correct translations."""


def _make_sentences() -> Dataset:
    examples = []
    for number, (source, target) in enumerate(_SENTENCES, 1):
        examples.append(Example(str(number), source, (target,)))
    return Dataset("Sentences", tuple(examples), {})


def _make_described_pictures() -> Dataset:
    examples = []
    for scene in _make_scenes():
        true = scene.list_true_sentences()
        name = f"scene {scene.number}"
        examples.append(
            Example(
                name,
                "",
                tuple(true),
                _name_scene_file(scene),
                boxes=_list_word_boxes(true.values()),
            )
        )
    return Dataset("Scenes to describe", tuple(examples), _encode_pictures(), SHOW_SCENES)


def _make_translated_pictures() -> Dataset:
    examples = []
    for scene in _make_scenes():
        boxes = _list_word_boxes([scene.grounded, scene.german_grounded])
        texts = (scene.english.text, (scene.german.text,))
        examples.append(
            Example(f"scene {scene.number}", *texts, _name_scene_file(scene), boxes=boxes)
        )
    return Dataset("Scenes with a sentence", tuple(examples), _encode_pictures(), SHOW_SCENES)


@lru_cache(maxsize=1)
def _make_spoken_digits() -> Dataset:
    """Return the app's recordings of digits, and new strings joined from the digits in them.

    Every third new string has runs of one digit, such as "777222".
    """
    examples, files = [], {}
    for name, recording in SOUND_SAMPLES.items():
        file = f"{name}.flac"
        files[file] = (ASSETS / "sounds" / file).read_bytes()
        examples.append(Example(name, "", (recording.text,), file))
    rng = np.random.default_rng(JOINED)
    for number in range(JOINED):
        # All digits of a string come from one recording, so it has one voice as in real speech.
        name = list(SOUND_SAMPLES)[number % len(SOUND_SAMPLES)]
        string, samples_S = _join_digits(name, rng, runs=number % 3 == 2)
        file = f"joined-{number + 1}.flac"
        files[file] = encode_flac(Sound.of(file, samples_S))
        examples.append(Example(f"joined {number + 1}", "", (string,), file))
    return Dataset("Spoken digits", tuple(examples), files, medium=SOUND)


def _join_digits(
    name: str, rng: np.random.Generator, runs: bool
) -> tuple[str, npt.NDArray[np.int16]]:
    """Return a random string of digits from a recording, and its samples, int16 [S]."""
    recording, samples_S = SOUND_SAMPLES[name], get_sound_sample(name).samples
    count, each = int(rng.integers(6, 11)), 1
    if runs:
        count, each = 4, 3
    places = rng.integers(len(recording.text), size=count).repeat(each)
    parts = []
    for place in places:
        start, end = round(recording.starts[place] * RATE), round(recording.ends[place] * RATE)
        pause = np.zeros(rng.integers(int(PAUSE * RATE)), np.int16)
        parts += [samples_S[start:end], pause]
    return "".join(recording.text[place] for place in places), np.concatenate(parts)


@lru_cache(maxsize=1)
def _make_moving_digits() -> Dataset:
    """Return clips in which a drawn digit does two actions."""
    examples, files = [], {}
    clips = make_moving_digits(DigitBank(4, MOVING), np.random.default_rng(MOVING), MOVING)
    for number, moving in enumerate(clips, 1):
        file = f"clip-{number}.gif"
        files[file] = encode_gif(make_clip(file, moving))
        examples.append(Example(f"clip {number}", "", (moving.text,), file))
    return Dataset("Moving digits", tuple(examples), files, medium=CLIP)


@lru_cache(maxsize=1)
def _make_drawn_digits() -> Dataset:
    """Return drawn digits at random positions among pieces of other digits, each with its box."""
    rng = np.random.default_rng(DRAWN)
    labels_B = rng.permutation(np.arange(DRAWN) % 10)
    made = compose_scenes(CLUTTERED, draw_digits(labels_B, rng), labels_B, rng)
    examples, files = [], {}
    for number, (grey_SS, label) in enumerate(zip(made.pictures, labels_B, strict=True), 1):
        file = f"digit-{number}.png"
        files[file] = _encode_png(np.repeat(grey_SS[:, :, None], 3, axis=2))
        left, top, right, bottom = (made.boxes[number - 1, 0] / len(grey_SS)).tolist()
        box = (str(label), (left, top, right, bottom))
        examples.append(Example(f"digit {number}", "", (str(label),), file, boxes=(box,)))
    return Dataset("Digits among clutter", tuple(examples), files, CLUTTERED)


SAMPLE_SETS: Mapping[str, Callable[[], Dataset]] = {
    "Sentences": _make_sentences,
    "Scenes to describe": _make_described_pictures,
    "Scenes with a sentence": _make_translated_pictures,
    "Digits among clutter": _make_drawn_digits,
    "Spoken digits": _make_spoken_digits,
    "Moving digits": _make_moving_digits,
    "Sentences with trees": make_sentences_with_trees,
    "Stories": make_stories,
    "Points": make_point_sets,
    "Sentences to read": make_sentences_to_read,
}
"""The function that creates each dataset, by its name."""


def _make_scenes() -> list[Scene]:
    return [make_scene("samples", number) for number in range(SCENES)]


def _name_scene_file(scene: Scene) -> str:
    return f"scene-{scene.number}.png"


def _list_word_boxes(sentences: Iterable[GroundedSentence]) -> tuple[tuple[str, Box], ...]:
    """Return each word of the sentences with each of its boxes, without duplicates."""
    found = []
    for sentence in sentences:
        words = sentence.text.lower().split(" ")
        for word, boxes in sentence.boxes:
            found += [(words[word], box) for box in boxes]
    return tuple(dict.fromkeys(found))


@lru_cache(maxsize=1)
def _encode_pictures() -> Mapping[str, bytes]:
    found = {}
    for scene in _make_scenes():
        found[_name_scene_file(scene)] = _encode_png(scene.pixels())
    return found


def _encode_png(pixels_HWC: npt.NDArray[np.uint8]) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(pixels_HWC).save(buffer, "PNG")
    return buffer.getvalue()
