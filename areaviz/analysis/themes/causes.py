"""Search for the cause of a theme in a model that can be run: its signature, and repairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from areaviz.analysis.measures import MEASURES
from areaviz.analysis.output_scores import score_output
from areaviz.analysis.themes.find import SEED
from areaviz.analysis.themes.halves import IntArray, split_halves
from areaviz.analysis.themes.material import BoolArray, FloatArray, Material, Score
from areaviz.analysis.themes.measurements import measure_examples
from areaviz.analysis.themes.repair import NAMES, Repair, Trial, compute_repair_rate, plan_trials
from areaviz.analysis.themes.signature import (
    HeadArray,
    Signature,
    find_signature,
    measure_heads,
    read_attention,
)
from areaviz.analysis.themes.theme import Theme, Themes
from areaviz.media.formats import SOUND
from areaviz.samples.dataset import Dataset
from areaviz.trace.changes import Change
from areaviz.trace.errors import InputError
from areaviz.trace.record import Run, Trace
from areaviz.trace.request import Counted, Request

# Maximum number of examples to run inside and outside a theme in each half, and maximum number of
# failing examples to change.
MAX_SIDE, MAX_FAILING = 50, 50
NOT_REPAIRED = "No change repaired it."


@dataclass(frozen=True, slots=True)
class Cause:
    """The findings about a theme in a model.

    Attributes:
        signature: the head whose attention differs, None if there are too few examples.
        repairs: how often each change repairs an output.
        note: why a part is missing, "" if nothing is.
    """

    signature: Signature | None
    repairs: tuple[Repair, ...]
    note: str = ""

    @property
    def sentences(self) -> tuple[str, ...]:
        """Return the findings in words."""
        found = [self.signature.sentence] if self.signature else []
        found += [one.sentence for one in self.repairs]
        if self.repairs and not any(one.is_repaired for one in self.repairs):
            found.append(NOT_REPAIRED)
        return tuple([*found, self.note] if self.note else found)


@dataclass(frozen=True)
class Runner:
    """A system that can be run.

    Attributes:
        dataset: the dataset.
        request: the model and its options.
        run: runs a request.
        progress: called with the number of finished runs and of all runs.
    """

    dataset: Dataset
    request: Request
    run: Run
    progress: Counted

    def trace(self, place: int, changes: tuple[Change, ...] = ()) -> Trace:
        """Return the trace of an example with changes."""
        request = self.dataset.asked(self.request, self.dataset.examples[place])
        return self.run(replace(request, changes=changes))


def find_cause(
    theme: Theme, themes: Themes, material: Material, runner: Runner, seed: int = SEED
) -> Cause:
    """Search for a head that attends differently in a theme, and for a change that repairs it.

    Args:
        theme: a theme about a slice. Words and trends have no symptom that a change could repair.
        themes: the list that contains the theme.
        material: the examples in which the theme was found.
        runner: runs the worse system.
        seed: the seed of the halves and random draws. Use the seed with which the themes were
            found.

    Raises:
        InputError: the theme is not a slice, or the model has no attention to measure.
        BackendError: the model cannot be run.
    """
    if not theme.conditions:
        raise InputError(
            "Causes can be searched only for themes of the form “Where …”. Choose another."
        )
    return _Search(theme, themes, material, runner, seed).find_cause()


class _Search:
    """One search for a cause.

    Attributes:
        holds_E: whether each example belongs to the theme.
        values_E: the theme's symptom for each example.
    """

    def __init__(
        self, theme: Theme, themes: Themes, material: Material, runner: Runner, seed: int
    ) -> None:
        self.theme, self.themes, self.material, self.runner = theme, themes, material, runner
        self.rng = np.random.default_rng(seed)
        self.halves = split_halves(material, seed)
        self.holds_E: BoolArray = np.isin(material.places, theme.places)
        self.values_E = self.compute_symptom(material)
        self.site = ""
        self.done, self.planned = 0, 4 * MAX_SIDE + (1 + 2 * len(NAMES)) * MAX_FAILING

    def find_cause(self) -> Cause:
        """Return the signature and the repairs."""
        chosen_in, stated_in = (self.measure_sides(half) for half in self.halves)
        signature = None
        if self.site:
            signature = find_signature(self.site, chosen_in, stated_in, self.rng)
        if signature is None:
            return Cause(None, (), "Too few examples of this theme can be run to look for a cause.")
        if not self.can_be_scored():
            note = "The score is from a file, so changed outputs cannot be scored."
            return Cause(signature, (), note)
        return Cause(signature, self.find_repairs(signature))

    def run(self, row: int, *changes: Change) -> Trace:
        """Return the trace of a row and report one more finished run."""
        trace = self.runner.trace(self.material.places[row], changes)
        self.done += 1
        self.runner.progress(min(self.done, self.planned), self.planned)
        return trace

    def sample_rows(self, half: IntArray, inside: bool) -> list[int]:
        """Return at most `MAX_SIDE` random rows of a half, inside or outside the theme."""
        rows = half[(self.holds_E[half] == inside) & np.isfinite(self.values_E[half])]
        return sorted(self.rng.permutation(rows)[:MAX_SIDE].tolist())

    def measure_sides(self, half: IntArray) -> tuple[list[HeadArray], list[HeadArray]]:
        """Return the metrics of heads inside and outside the theme in a half."""
        inside = [self.measure_heads(row) for row in self.sample_rows(half, True)]
        return inside, [self.measure_heads(row) for row in self.sample_rows(half, False)]

    def measure_heads(self, row: int) -> HeadArray:
        """Return the metrics of heads in the run of a row, and record their site."""
        trace = self.run(row)
        self.site = read_attention(trace).site
        return measure_heads(trace)

    def compute_symptom(self, material: Material) -> FloatArray:
        """Return the theme's symptom for all examples [E]."""
        measured = measure_examples(material, *self.systems)
        return next(one.values_E for one in measured.symptoms if one.title == self.theme.symptom)

    @property
    def systems(self) -> tuple[int, int | None]:
        """The worse system, and the system with which it is compared."""
        if len(self.material.written) < 2:
            return 0, None
        return self.themes.worse, self.themes.better

    def can_be_scored(self) -> bool:
        """Return whether areaviz can compute the symptom for another output."""
        titles = [score.title for score in self.material.written[self.systems[0]].scores]
        known = [measure.title for measure in MEASURES.values()]
        return self.theme.symptom not in titles or self.theme.symptom in known

    def find_repairs(self, signature: Signature) -> tuple[Repair, ...]:
        """Change failing examples of the other half one at a time, and count the repairs."""
        half = self.halves[1]
        unaffected = self.values_E[half[~self.holds_E[half]]]
        enough = float(np.nanmedian(unaffected))
        failing = half[self.holds_E[half] & (self.values_E[half] < enough)]
        rows = sorted(self.rng.permutation(failing)[:MAX_FAILING].tolist())
        words = tuple(word for one in self.theme.conditions for word in one.words)
        plans: dict[str, dict[int, Trial]] = defaultdict(dict)
        for row in rows:
            for trial in plan_trials(self.run(row), signature, words, self.rng):
                plans[trial.kind][row] = trial
        found = []
        for kind, trials in plans.items():
            hits = []
            for is_control in (False, True):
                outputs = {}
                for row, trial in trials.items():
                    trace = self.run(row, trial.control if is_control else trial.change)
                    outputs[row] = trace.answer
                values_E = self.compute_symptom(self.replace_outputs(outputs))
                hits.append([bool(values_E[row] >= enough) for row in trials])
            found.append(compute_repair_rate(kind, hits[0], hits[1], self.rng))
        return tuple(found)

    def replace_outputs(self, outputs: Mapping[int, str]) -> Material:
        """Return the material with new outputs for some rows, and with scores of these outputs."""
        system = self.systems[0]
        written = self.material.written[system]
        texts = list(written.outputs)
        for row, output in outputs.items():
            texts[row] = output
        scores = tuple(self.score_again(score, outputs) for score in written.scores)
        changed = replace(written, outputs=tuple(texts), scores=scores)
        all_written = list(self.material.written)
        all_written[system] = changed
        return replace(self.material, written=tuple(all_written))

    def score_again(self, score: Score, outputs: Mapping[int, str]) -> Score:
        """Return a score with new values for changed outputs.

        A score from a file is not changed.
        """
        titles = {measure.title: name for name, measure in MEASURES.items()}
        name = titles.get(score.title, "")
        values_E = score.values.copy()
        dataset = self.runner.dataset
        for row, output in outputs.items():
            example = dataset.examples[self.material.places[row]]
            found = score_output(output, example, dataset.medium == SOUND)
            values_E[row] = found.get(name, values_E[row])
        return replace(score, values=values_E)
