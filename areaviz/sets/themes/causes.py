"""The cause of a theme in a model: its attention signature, and changes that repair it.

`find_cause` uses the first two sections. The last one searches for the causes of every list.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pandas as pd

from areaviz.measures.spans import find_word_runs
from areaviz.media.formats import SOUND
from areaviz.samples.dataset import Dataset
from areaviz.sets.measures import CROSS, MEASURES, SELF_ATTENTION, score_output
from areaviz.sets.themes.conditions import BoolArray, FloatArray, Material, Score, lower_words
from areaviz.sets.themes.search import (
    RESAMPLES,
    IntArray,
    mean_interval,
    measure_examples,
    split_halves,
)
from areaviz.sets.themes.themes import SEED, Theme, Themes, collect_material
from areaviz.trace.areas import Area
from areaviz.trace.changes import Change, Gate, Hide, Weigh
from areaviz.trace.errors import InputError
from areaviz.trace.query import compute_head_shares, head_summary, query_dependence
from areaviz.trace.record import AttentionMap, Run, Trace
from areaviz.trace.request import Counted, Request

# The attention signature of a theme, which is the head that attends differently in its examples.
#
# One half chooses the metric and the head with the largest standardised difference. The difference
# and its interval are then measured in the other half, which played no part in the choice.
#
# Shapes: L layers, H heads, K metrics of heads, X examples.


# Displayed names of the metrics of a head.
HEAD_MEASURES = ("entropy", "mean area size", "weight of the heaviest area", "query dependence")
# Minimum number of examples on each side of a comparison.
MIN_EXAMPLES = 8
HeadArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Signature:
    """The head and metric in which attention differs, and by how much.

    Attributes:
        site: the site of the attention.
        layer: the layer, from 0.
        head: the head, from 0.
        measure: the metric, one of `HEAD_MEASURES`.
        difference: the mean inside minus outside in the other half, in standard deviations.
        low: the lower end of its 95 % interval.
        high: the upper end of this interval.
        inside: the number of examples of the theme in the other half that were run.
        outside: the number of other examples of that half that were run.
    """

    site: str
    layer: int
    head: int
    measure: str
    difference: float
    low: float
    high: float
    inside: int
    outside: int

    @property
    def is_certain(self) -> bool:
        """True if the interval excludes 0."""
        return self.low > 0 or self.high < 0

    @property
    def sentence(self) -> str:
        """The signature in words."""
        place = f"head {self.head + 1} of layer {self.layer + 1} ({self.site})"
        interval = f"95 % from {self.low:+.2f} to {self.high:+.2f}".replace("-", "−")
        about = f"{interval}; {self.inside} and {self.outside} examples of the other half"
        if not self.is_certain:
            return (
                f"No head is known to attend differently: the {self.measure} of {place} differed"
                f" most in one half, but its difference in the other half holds 0 ({about})."
            )
        more = "higher" if self.difference > 0 else "lower"
        return (
            f"The {self.measure} of {place} is {abs(self.difference):.2f} standard deviations"
            f" {more} in these examples ({about})."
        )


def read_attention(trace: Trace) -> AttentionMap:
    """Return the attention from the output to the input.

    Raises:
        InputError: the trace has no such map, or its map is not the model's own attention.
    """
    attention = trace.maps.get(CROSS) or trace.maps.get(SELF_ATTENTION)
    if attention is None or attention.derived:
        raise InputError(
            "This model has no attention over its input that can be measured and changed."
            " Choose another model."
        )
    return attention


def measure_heads(trace: Trace) -> HeadArray:
    """Return all metrics of all heads: float [K, L, H], in the order of `HEAD_MEASURES`."""
    attention = read_attention(trace)
    summary = head_summary(attention)
    dependence_LH = np.zeros((attention.layers, attention.heads))
    for layer in range(attention.layers):
        for head, shares_QN in enumerate(compute_head_shares(attention, layer)):
            dependence_LH[layer, head], _ = query_dependence(shares_QN)
    return np.stack([summary.entropy, summary.area_size, summary.peak, dependence_LH]).astype(float)


def find_signature(
    site: str,
    chosen_in: tuple[Sequence[HeadArray], Sequence[HeadArray]],
    stated_in: tuple[Sequence[HeadArray], Sequence[HeadArray]],
    rng: np.random.Generator,
) -> Signature | None:
    """Return the signature, or None if a half has too few examples.

    Args:
        site: the site of the attention.
        chosen_in: metrics of the examples inside and outside the theme, in the half that chooses.
        stated_in: these metrics in the other half.
        rng: draws the bootstrap samples of the interval.
    """
    if min(map(len, (*chosen_in, *stated_in))) < MIN_EXAMPLES:
        return None
    difference_KLH = _standardise_difference(*(np.stack(list(side)) for side in chosen_in))
    place = np.unravel_index(int(np.abs(difference_KLH).argmax()), difference_KLH.shape)
    measure, layer, head = (int(number) for number in place)
    inside_X, outside_X = (
        np.array([one[measure, layer, head] for one in side]) for side in stated_in
    )
    drawn = []
    for side_X in (inside_X, outside_X):
        drawn.append(side_X[rng.integers(0, len(side_X), (len(side_X), RESAMPLES))])
    low, high = np.percentile(_standardise_difference(*drawn), [2.5, 97.5])
    difference = float(_standardise_difference(inside_X, outside_X))
    sizes = len(inside_X), len(outside_X)
    return Signature(
        site, layer, head, HEAD_MEASURES[measure], difference, float(low), float(high), *sizes
    )


def _standardise_difference(inside: HeadArray, outside: HeadArray) -> HeadArray:
    """Return the difference of the means in pooled standard deviations, along the first axis."""
    variance = (inside.var(0, ddof=1) + outside.var(0, ddof=1)) / 2
    difference = inside.mean(0) - outside.mean(0)
    return np.where(variance > 1e-12, difference / np.sqrt(np.maximum(variance, 1e-12)), 0.0)


# Changes of a run that might repair a theme, each with a random change as control.
#
# The head is gated, its top area is banned, or the words of the condition are hidden. If a change
# repairs more often than its control, the place of the change matters.


GATE, BAN, HIDE = "gate", "ban", "hide"
# The wording of each change and of its control.
NAMES = {
    GATE: ("the head is gated", "a random head"),
    BAN: ("the head's heaviest area is banned", "a random area of the head"),
    HIDE: ("the words of the condition are hidden", "random words"),
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A change of one example's run and its random control."""

    kind: str
    change: Change
    control: Change


@dataclass(frozen=True, slots=True)
class Repair:
    """How often a change repairs a theme.

    Attributes:
        kind: GATE, BAN or HIDE.
        examples: the number of failing examples that were changed.
        rate: the share of them whose symptom then reaches the median of unaffected examples.
        control: this share for the random controls.
        low: the lower end of the 95 % interval of the difference.
        high: the upper end.
    """

    kind: str
    examples: int
    rate: float
    control: float
    low: float
    high: float

    @property
    def is_repaired(self) -> bool:
        """True if the change repairs significantly more often than its random control."""
        return self.low > 0

    @property
    def sentence(self) -> str:
        """The rate in words."""
        done, control = NAMES[self.kind]
        interval = f"{100 * self.low:+.0f} to {100 * self.high:+.0f}".replace("-", "−")
        return (
            f"{100 * self.rate:.0f} % of {self.examples} failing examples are repaired if {done};"
            f" {control}: {100 * self.control:.0f} % (difference {interval} points)."
        )


def plan_trials(
    trace: Trace, signature: Signature, words: Sequence[str], rng: np.random.Generator
) -> list[Trial]:
    """Return the possible changes of one example, each with its random control.

    Args:
        trace: the trace of the example's unchanged run.
        signature: identifies the head.
        words: the words of the condition in lower case, () if it names none.
        rng: chooses the controls.
    """
    attention = read_attention(trace)
    site, layer, head = signature.site, signature.layer, signature.head
    found = []
    others = [
        (one, two)
        for one in range(attention.layers)
        for two in range(attention.heads)
        if (one, two) != (layer, head)
    ]
    if others:
        control = Gate(site, *others[int(rng.integers(len(others)))])
        found.append(Trial(GATE, Gate(site, layer, head), control))
    areas = _choose_heaviest_and_random_area(attention, layer, head, rng)
    if areas:
        bans = (Weigh(site, areas=(area,), layer=layer, head=head) for area in areas)
        found.append(Trial(BAN, *bans))
    hidden = _choose_hidden_and_random_items(trace, words, rng)
    if hidden:
        found.append(Trial(HIDE, *(Hide("source", items) for items in hidden)))
    return found


def _choose_heaviest_and_random_area(
    attention: AttentionMap, layer: int, head: int, rng: np.random.Generator
) -> tuple[Area, Area] | None:
    """Return the area with the largest mean weight, and a random area with equally many items."""
    mean_A = attention.weights[layer, head].mean(0)
    heaviest = int(mean_A.argmax())
    sizes_A = attention.grid.sizes()
    alike = np.flatnonzero((sizes_A == sizes_A[heaviest]) & (mean_A > 0))
    alike = alike[alike != heaviest]
    if not len(alike):
        return None
    other = int(alike[int(rng.integers(len(alike)))])
    return attention.grid.area(heaviest), attention.grid.area(other)


def _choose_hidden_and_random_items(
    trace: Trace, words: Sequence[str], rng: np.random.Generator
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """Return the items of the condition's words, and those of equally many random words."""
    field = trace.fields.get("source")
    if field is None or not words:
        return None
    own: list[tuple[int, int]] = []
    others: list[tuple[int, int]] = []
    for start, end in find_word_runs(field):
        text = field.raw[field.anchors[start, 0] : field.anchors[end - 1, 1]]
        (own if set(lower_words(text)).intersection(words) else others).append((start, end))
    if not own or len(others) < len(own):
        return None
    drawn = rng.choice(len(others), len(own), replace=False)
    return _list_items(own), _list_items([others[place] for place in drawn.tolist()])


def _list_items(runs: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    return tuple(item for start, end in runs for item in range(start, end))


def compute_repair_rate(
    kind: str, repaired: Sequence[bool], controls: Sequence[bool], rng: np.random.Generator
) -> Repair:
    """Return how often a change and its random control repair, with the interval of the difference.

    Args:
        kind: the kind of the change.
        repaired: whether the change repairs each failing example.
        controls: whether the random control repairs it.
        rng: draws the bootstrap samples of the interval.
    """
    first, second = np.array(repaired, float), np.array(controls, float)
    low, high = mean_interval(first - second, rng)
    return Repair(kind, len(first), float(first.mean()), float(second.mean()), low, high)


# Search for the cause of a theme in a model that can be run: its signature, and repairs.


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


# Search for causes of the first themes of every list, for the command line.


# Maximum number of searched themes per list. Each search takes hundreds of runs.
MAX_THEMES = 3
# Sentences about the cause of a theme, by `make_cause_key`.
Causes = Mapping[str, Sequence[str]]


@dataclass(frozen=True, slots=True)
class System:
    """A model that can be run again, and its options."""

    request: Request
    run: Run


def make_cause_key(themes: Themes, theme: Theme) -> str:
    """Return a key that identifies a theme within an analysis."""
    return f"{themes.worse} {theme.statement}"


def is_about_input(theme: Theme) -> bool:
    """Return whether a theme is about the input, not about attention, and can be searched."""
    return bool(theme.conditions) and not theme.is_about_model


def find_causes(
    dataset: Dataset,
    frame: pd.DataFrame,
    lists: Sequence[Themes],
    systems: Mapping[int, System],
    begin: Callable[[Theme], Counted],
) -> Causes:
    """Search for the causes of the first `MAX_THEMES` themes of each list whose system can be run.

    If the search for a theme fails, its sentence is the reason, so that the other results are kept.

    Args:
        dataset: the dataset.
        frame: the table of the analysis in which the themes were found.
        lists: the themes.
        systems: the models, by their numbers in the table.
        begin: called with each theme. It returns a function that receives the progress of its runs.

    Raises:
        BackendError: a model cannot be run.
    """
    found = {}
    for themes in lists:
        system = systems.get(themes.worse)
        if system is None:
            continue
        pair = (themes.worse,) if themes.better is None else (0, 1)
        material = collect_material(dataset, frame, pair)
        for theme in [one for one in themes.found if is_about_input(one)][:MAX_THEMES]:
            runner = Runner(dataset, system.request, system.run, begin(theme))
            try:
                cause = find_cause(theme, themes, material, runner)
            except InputError as refusal:
                cause = Cause(None, (), str(refusal))
            found[make_cause_key(themes, theme)] = cause.sentences
    return found
