"""The best alignment of a translator, and its error on test captions next to baselines.

Validation captions whose words were linked by hand choose the heads. There are four baselines: the
diagonal, a statistical aligner (`areaviz.evaluation.links`), the untrained network with heads that
are chosen in the same way, and the position alone. Position alone uses the links that the chosen
heads make in another caption.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from areaviz.evaluation.links import compute_diagonal_error_rate, iterate_given_traces
from areaviz.measures.alignment import (
    Chosen,
    LinkCounts,
    LinkedMaps,
    bootstrap_interval,
    choose_heads,
    compute_alignment_error,
    count_links_by_position,
)
from areaviz.models.generation import GenerationModel
from areaviz.samples.dataset import Dataset
from areaviz.trace.derived import BestAlignment

VALIDATION = "validation captions"


def collect_linked_maps(model: GenerationModel, linked: Dataset) -> list[LinkedMaps]:
    """Return the maps of every caption while the model reads the given translation."""
    found = []
    for trace, example in zip(iterate_given_traces(model, linked), linked.examples, strict=True):
        found.append(LinkedMaps.of(trace, example.sure, example.possible))
    return found


def choose_best(maps: Sequence[LinkedMaps], has_areas: bool) -> BestAlignment:
    """Choose the heads with the smallest alignment error on validation captions.

    Args:
        maps: The maps of the captions.
        has_areas: Whether the model shows areas. Its pages then show a head with areas first.
    """
    found = _choose_heads(maps)
    error, single = round(found.error, 4), round(found.error_single, 4)
    opens = not has_areas and error < single
    return BestAlignment(found.heads, len(maps), VALIDATION, error, single, opens)


def measure_best_alignment(
    model: GenerationModel, best: BestAlignment, chosen_on: Dataset, reported_on: Dataset
) -> dict[str, float]:
    """Return the alignment error of the chosen heads on test captions, 0 to 1.

    best is the error with its 95 % bootstrap interval best_low to best_high over the captions.
    best_val is the error on the captions that chose the heads. best_untrained is the error of the
    untrained network, whose heads are chosen in the same way. best_position is that of the links
    that the heads make in another caption. best_diagonal is that of the diagonal.
    """
    maps = collect_linked_maps(model, reported_on)
    counts = [one.counts(best.heads) for one in maps]
    low, high = bootstrap_interval(counts)
    blind = model.make_untrained()
    untrained = _choose_heads(collect_linked_maps(blind, chosen_on))
    return {
        "best": _add_counts(counts).error_rate,
        "best_low": float(low),
        "best_high": float(high),
        "best_val": best.error,
        "best_heads": len(best.heads),
        "best_untrained": compute_alignment_error(
            collect_linked_maps(blind, reported_on), untrained.heads
        ),
        "best_position": _add_counts(count_links_by_position(maps, best.heads)).error_rate,
        "best_diagonal": compute_diagonal_error_rate(reported_on),
    }


def _choose_heads(maps: Sequence[LinkedMaps]) -> Chosen:
    layers, heads = maps[0].coverage.shape[:2]
    return choose_heads(layers, heads, partial(compute_alignment_error, maps))


def _add_counts(counts: Sequence[LinkCounts]) -> LinkCounts:
    total = LinkCounts()
    for one in counts:
        total += one
    return total
