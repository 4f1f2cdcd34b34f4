"""The tasks that models are trained for, one file each, with training and evaluation.

`TRAININGS` lists the classes that train a task, and `EVALUATIONS` lists the functions that
measure its models. Both are import paths ("module:name"). Only the chosen task is imported, because
a machine for training does not have the packages of every task.
"""

from __future__ import annotations

from collections.abc import Mapping

TRAININGS: Mapping[str, str] = {
    "translation": "areaviz.lab.tasks.translation:Translation",
    "captions": "areaviz.lab.tasks.captions:Captions",
    "picture translation": "areaviz.lab.tasks.picture_translation:PictureTranslation",
    "digits": "areaviz.lab.tasks.digits:Digits",
    "speech": "areaviz.lab.tasks.speech:Speech",
    "video": "areaviz.lab.tasks.clips:Video",
    "points": "areaviz.lab.tasks.points:Pointers",
    "parsing": "areaviz.lab.tasks.trees:Parsing",
    "questions": "areaviz.lab.tasks.stories:Questions",
    "reading": "areaviz.lab.tasks.language_model:LanguageModelTask",
    "encoder": "areaviz.lab.tasks.picture_encoder:EncoderTask",
}
"""The class that trains a task, by the name of the task in recipes."""

EVALUATIONS: Mapping[str, str] = {
    "translation": "areaviz.lab.tasks.translation:evaluate_translation",
    "caption": "areaviz.lab.tasks.captions:evaluate_captions",
    "picture translation": "areaviz.lab.tasks.picture_translation:evaluate_picture_translation",
    "digits": "areaviz.lab.tasks.digits:evaluate_digits",
    "speech": "areaviz.lab.tasks.speech:evaluate_speech",
    "video": "areaviz.lab.tasks.clips:evaluate_video",
    "points": "areaviz.lab.tasks.points:evaluate_points",
    "parsing": "areaviz.lab.tasks.trees:evaluate_parsing",
    "questions": "areaviz.lab.tasks.stories:evaluate_questions",
    "reading": "areaviz.lab.tasks.language_model:evaluate_reading",
}
"""The function that measures a task's models, (model, data, split, options) -> `Measured`, by
`Task.key`. Picture encoders are not measured.
"""
