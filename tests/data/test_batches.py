"""Batches are padded and shifted, and contain every pair once."""

from __future__ import annotations

import torch

from areaviz.models.tokenizer import (
    END,
    PAD,
    START,
    collate_pairs,
    group_by_length,
    pad_rows,
    shift_targets,
)

PAIRS = [([5, 6, END], [7, END]), ([8, END], [9, 10, 11, END]), ([5, END], [6, END])]


def test_decoder_input_is_its_shifted_output() -> None:
    batch = collate_pairs(PAIRS)
    assert batch.source.tolist() == [[5, 6, END], [8, END, PAD], [5, END, PAD]]
    assert batch.target_out.tolist() == [[7, END, PAD, PAD], [9, 10, 11, END], [6, END, PAD, PAD]]
    torch.testing.assert_close(batch.target_in, shift_targets(batch.target_out))
    for fed, row in zip(batch.target_in.tolist(), (target for _, target in PAIRS), strict=True):
        assert fed[: len(row)] == [START, *row[:-1]]


def test_rows_are_padded_on_the_right() -> None:
    assert pad_rows([[5], [6, 7]]).tolist() == [[5, PAD], [6, 7]]


def test_every_pair_is_in_one_bucket_within_limit() -> None:
    for seed in (None, 1):
        groups = group_by_length(PAIRS, 4, seed)
        assert sorted(index for group in groups for index in group) == [0, 1, 2]
        assert all(max(len(PAIRS[i][1]) for i in group) * len(group) <= 4 for group in groups)
