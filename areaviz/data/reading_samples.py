"""The app's own sentences to read: inputs for language models that only read and write no output.

Some sentences differ in one word, which shows the effect of that word. Some contain a noun twice,
or a noun to which a later word refers.
"""

from __future__ import annotations

from areaviz.data.examples import Dataset, Example

_SENTENCES = (
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
    for number, sentence in enumerate(_SENTENCES, 1):
        examples.append(Example(str(number), sentence))
    return Dataset("Sentences to read", tuple(examples), {})
