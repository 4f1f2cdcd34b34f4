"""The classes that train the tasks.

Only the chosen task is imported, by its import path ("module:name"), because a machine for training
does not have the packages of every task.
"""

from __future__ import annotations

from collections.abc import Mapping

TRAININGS: Mapping[str, str] = {
    "translation": "areaviz.training.translation:Translation",
    "captions": "areaviz.training.captions:Captions",
    "picture translation": "areaviz.training.picture_translation:PictureTranslation",
    "digits": "areaviz.training.digits:Digits",
    "speech": "areaviz.training.speech:Speech",
    "video": "areaviz.training.video:Video",
    "points": "areaviz.training.pointers:Pointers",
    "parsing": "areaviz.training.parsing:Parsing",
    "questions": "areaviz.training.questions:Questions",
    "reading": "areaviz.training.reading:LanguageModelTask",
    "encoder": "areaviz.training.encoder:EncoderTask",
}
"""The class that trains a task, by the name of the task in recipes."""
