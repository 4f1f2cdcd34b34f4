"""The ratings in a store, one per rater and output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from areaviz.notes.error_spans import Judgement, convert_spans_to_json, parse_spans
from areaviz.notes.record_types import compute_digest
from areaviz.notes.records import Records
from areaviz.notes.store_schema import JUDGEMENTS, format_current_time

_COLUMNS = [one.name for one in fields(Judgement)]


class Judgements(Records[Judgement]):
    """The ratings in a store. Every method raises BackendError if the store fails."""

    table = JUDGEMENTS
    one, several = "judgement", "judgements"
    order = ("example", "model", "rater", "id")

    def _imported(self, record: Judgement) -> Judgement:
        """Give a rating its id, which is equal for all ratings by one rater of one output."""
        stamp, version = record.changed or format_current_time(), max(record.version, 1)
        return replace(record, id=compute_judgement_id(record), changed=stamp, version=version)

    def _read(self, row: Mapping[str, Any]) -> Judgement:
        values: dict[str, Any] = {**row}
        return Judgement(**values | {"spans": parse_spans(json.loads(values["spans"]))})

    def _row(self, record: Judgement) -> dict[str, Any]:
        spans = json.dumps(convert_spans_to_json(record.spans), ensure_ascii=False)
        # `asdict` would copy every value, which is slow for imports of many ratings.
        return {name: getattr(record, name) for name in _COLUMNS} | {"spans": spans}

    def _id(self, record: Judgement) -> str:
        return compute_judgement_id(record)


def compute_judgement_id(judgement: Judgement) -> str:
    """Return the id of a rating, which depends only on the dataset, example, model and rater."""
    return compute_digest(judgement.dataset, judgement.example, judgement.model, judgement.rater)
