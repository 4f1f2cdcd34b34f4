"""The judgements in a store: one for each rater and output."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any

from areaviz.notes.error_spans import Judgement, span_values, spans_of
from areaviz.notes.ownership import OPERATOR
from areaviz.notes.record_types import Merged, digest
from areaviz.notes.records import Records
from areaviz.notes.store_schema import JUDGEMENTS, now


class Judgements(Records[Judgement]):
    """The judgements in a store. Every method raises BackendError where the store fails."""

    table = JUDGEMENTS
    one, several = "judgement", "judgements"
    order = ("example", "model", "rater", "id")

    def merge(self, records: Sequence[Judgement], reader: str = OPERATOR) -> Merged:
        """Import judgements, as `Records.merge` does.

        Where the store has another judgement of the same rater and output, both are kept.
        """
        named = []
        for record in records:
            about = record.checked()
            stamp, version = about.changed or now(), max(about.version, 1)
            named.append(replace(about, id=id_of(about), changed=stamp, version=version))
        return super().merge(named, reader)

    def _read(self, row: Mapping[str, Any]) -> Judgement:
        values: dict[str, Any] = {**row}
        return Judgement(**values | {"spans": spans_of(json.loads(values["spans"]))})

    def _row(self, record: Judgement) -> dict[str, Any]:
        spans = json.dumps(span_values(record.spans), ensure_ascii=False)
        return asdict(record) | {"spans": spans}

    def _id(self, record: Judgement) -> str:
        return id_of(record)


def id_of(judgement: Judgement) -> str:
    """Return the id of a judgement, which depends only on the example, the model and the rater."""
    return digest(judgement.dataset, judgement.example, judgement.model, judgement.rater)
