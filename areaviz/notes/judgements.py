"""The judgements in a store: one of each rater for each output; a stale change is refused."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from typing import Any

import sqlalchemy as sql

from areaviz.notes.error_spans import Judgement, span_values, spans_of
from areaviz.notes.records import Merged, Records, digest
from areaviz.notes.store_schema import JUDGEMENTS, now


class Judgements(Records[Judgement]):
    """The judgements in a store; every method raises BackendError where the store fails."""

    table = JUDGEMENTS
    one, several = "judgement", "judgements"
    order = ("example", "model", "rater", "id")

    def merge(self, records: Sequence[Judgement]) -> Merged:
        """Bring in judgements, as `Records.merge`.

        One whose rater has judged the output here already, and otherwise, is added beside it.
        """
        named = []
        for record in records:
            about = record.checked()
            stamp, version = about.changed or now(), max(about.version, 1)
            named.append(replace(about, id=id_of(about), changed=stamp, version=version))
        return super().merge(named)

    def _read(self, row: sql.RowMapping) -> Judgement:
        values: dict[str, Any] = {**row}
        return Judgement(**values | {"spans": spans_of(json.loads(values["spans"]))})

    def _row(self, record: Judgement) -> dict[str, Any]:
        spans = json.dumps(span_values(record.spans), ensure_ascii=False)
        return asdict(record) | {"spans": spans}

    def _id(self, record: Judgement) -> str:
        return id_of(record)


def id_of(judgement: Judgement) -> str:
    """The id of a rater's judgement of an output: the same wherever it is made."""
    one = judgement
    return digest(one.dataset, one.example, one.model, one.rater)
