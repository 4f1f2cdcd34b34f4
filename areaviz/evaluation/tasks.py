"""The functions that measure the tasks' models, by their import paths ("module:name")."""

from __future__ import annotations

from collections.abc import Mapping

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
