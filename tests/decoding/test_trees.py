"""Decoding constrained to the grammar of trees.

Outputs are complete trees with the right number of words, regardless of the model.
"""

from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from areaviz.models.decoding import MaskedStepper, TreeState, TreeTokens, beam_search, greedy_search
from areaviz.trace.kinds import read_tree
from tests.decoding.fake import END, START, FakeStepper, TableStepper

LABELS = ["<s>", "</s>", "XX", "(S", ")S", "(NP", ")NP", "(X", "dog", "(", ")"]
"""A vocabulary with an opening bracket that has no closing one, a word and two parentheses."""
TOKENS = TreeTokens.from_labels(LABELS, END)
WORDS = st.lists(st.integers(1, 6), min_size=1, max_size=3)


def shown(ids: tuple[int, ...]) -> list[str]:
    return [LABELS[one] for one in ids if one != END]


@given(WORDS, st.integers(0, 20), st.integers(1, 3), st.integers(0, 99))
def test_every_output_is_a_complete_tree_within_limit(
    words: list[int], spare: int, width: int, seed: int
) -> None:
    limits = [count + 3 + spare for count in words]
    states = [TOKENS.make_first_state(*one) for one in zip(words, limits, strict=True)]
    numbers = [seed + place for place in range(len(words))]
    fake = FakeStepper(numbers, len(LABELS), width)
    # The fake forbids some tokens at random, but the grammar needs all of them.
    always = MaskedStepper(Open(fake), states)
    found = beam_search(always, START, END, limits, width)
    for count, limit, hypotheses in zip(words, limits, found, strict=True):
        best = hypotheses[0]
        tree = read_tree(shown(best.ids))
        assert best.finished and len(best.ids) <= limit
        assert tree.is_of(count) and sum(node.depth == 0 for node in tree.nodes) == 1
        assert all(node.first < node.behind for node in tree.nodes)


class Open:
    """A stepper that gives every token some probability."""

    def __init__(self, inner: FakeStepper) -> None:
        self.inner = inner

    def step(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.inner.step(tokens).clamp_min(-20)

    def select(self, rows: torch.Tensor) -> None:
        self.inner.select(rows)


def test_grammar_keeps_probability_of_valid_tree() -> None:
    """The table writes (S XX XX )S, which is valid and keeps its probability."""
    table = torch.full((len(LABELS), len(LABELS)), 1e-6)
    for last, following in ((START, 3), (3, 2), (4, END)):
        table[last, following] = 1.0
    table[2, 2], table[2, 4] = 0.6, 0.4
    free = greedy_search(TableStepper(table.tolist()), START, END, [9])[0]
    held = greedy_search(
        MaskedStepper(TableStepper(table.tolist()), [TOKENS.make_first_state(2, 9)]),
        START,
        END,
        [9],
    )
    assert shown(held[0].ids) == ["(S", "XX", "XX", ")S"]
    assert held[0].log_probability == pytest.approx(2 * torch.tensor([0.6, 0.4]).log().sum() / 2)
    # Without the grammar, the model never stops writing words.
    assert shown(free.ids) == ["(S", *["XX"] * 8]


def test_first_token_opens_and_last_closes_root() -> None:
    begin = TOKENS.make_first_state(1, 20)
    assert allowed(begin) == {"(S", "(NP"}
    inside = begin.advance(3)
    assert allowed(inside) == {"XX", "(S", "(NP"}
    said = inside.advance(2)
    assert allowed(said) == {")S"}
    assert allowed(said.advance(4)) == {"</s>"}


def test_root_stays_open_for_remaining_words() -> None:
    state = TOKENS.make_first_state(2, 20).advance(3).advance(2)
    assert ")S" not in allowed(state)
    nested = TOKENS.make_first_state(2, 20).advance(3).advance(5).advance(2)
    assert allowed(nested) == {")NP", "XX", "(S", "(NP"}


def test_short_limit_leaves_room_for_smallest_tree() -> None:
    assert TOKENS.raise_limit(4, 2) == 7 and TOKENS.raise_limit(4, 30) == 30
    assert allowed(TOKENS.make_first_state(1, 1).advance(3)) == {"XX"}


def test_vocabulary_without_words_is_refused() -> None:
    with pytest.raises(ValueError, match="needs the token XX"):
        TreeTokens.from_labels(["(S", ")S"], 0)


def allowed(state: TreeState) -> set[str]:
    return {
        label
        for label, may in zip(LABELS, state.find_allowed_tokens().tolist(), strict=True)
        if may
    }
