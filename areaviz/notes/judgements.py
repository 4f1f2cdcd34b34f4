"""The judgements in a store: one per rater and output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from areaviz.notes.error_spans import Judgement, span_values, spans_of
from areaviz.notes.record_types import digest
from areaviz.notes.records import Records
from areaviz.notes.store_schema import JUDGEMENTS, now

_COLUMNS = [one.name for one in fields(Judgement)]


class Judgements(Records[Judgement]):
    """The judgements in a store. Every method raises BackendError if the store fails."""

    table = JUDGEMENTS
    one, several = "judgement", "judgements"
    order = ("example", "model", "rater", "id")

    def _imported(self, record: Judgement) -> Judgement:
        """Give a judgement its id, by which a second one of the same rater and output is found."""
        stamp, version = record.changed or now(), max(record.version, 1)
        return replace(record, id=id_of(record), changed=stamp, version=version)

    def _read(self, row: Mapping[str, Any]) -> Judgement:
        values: dict[str, Any] = {**row}
        return Judgement(**values | {"spans": spans_of(json.loads(values["spans"]))})

    def _row(self, record: Judgement) -> dict[str, Any]:
        spans = json.dumps(span_values(record.spans), ensure_ascii=False)
        # Faster than `asdict`, which copies every value, for imports of many judgements.
        return {name: getattr(record, name) for name in _COLUMNS} | {"spans": spans}

    def _id(self, record: Judgement) -> str:
        return id_of(record)


def id_of(judgement: Judgement) -> str:
    """Return the id of a judgement, which depends only on the example, the model and the rater."""
    return digest(judgement.dataset, judgement.example, judgement.model, judgement.rater)
