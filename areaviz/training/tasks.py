"""How each task is trained and measured.

Only the chosen task is imported, by its import path ("module:name"), because a machine for training
does not have the packages of every task.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

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

EVALUATIONS: Mapping[str, str] = {
    "translation": "areaviz.evaluation.translation:evaluate_translation",
    "caption": "areaviz.evaluation.captions:evaluate_captions",
    "picture translation": "areaviz.evaluation.picture_translation:evaluate_picture_translation",
    "digits": "areaviz.evaluation.digits:evaluate_digits",
    "speech": "areaviz.evaluation.speech:evaluate_speech",
    "video": "areaviz.evaluation.video:evaluate_video",
    "points": "areaviz.evaluation.points:evaluate_points",
    "parsing": "areaviz.evaluation.parsing:evaluate_parsing",
    "questions": "areaviz.evaluation.questions:evaluate_questions",
    "reading": "areaviz.evaluation.reading:evaluate_reading",
}
"""The function that measures a task's models, (model, data, split, options) -> `Measured`, by
`Task.key`. Picture encoders are not measured.
"""


def import_object(path: str) -> Any:
    """Return the object that an import path "module:name" names."""
    module, _, name = path.partition(":")
    return getattr(import_module(module), name)
