"""Location-aware attention (Chorowski et al. 2015; multimedia paper Eq. 21).

The weights of the previous query help to decide where the next query attends:

    f = F * w'                                        w': the weights of the previous query
    score(q, m) = v . tanh(W q + U m + V f_m)         without V f: content; without U m: location

The weights are a softmax of the scores, which can be sharpened, smoothed or limited to a window.
Shapes: B examples, N rows (queries at one time step), M items, W query width, C item width, D width
of the scores' hidden layer, K filters.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from areaviz.trace.changes import Share

SCORINGS = ("content", "location", "hybrid")


class LocationAttention(nn.Module):
    """Location-aware attention with the parameters of the score.

    Args:
        query_width: W.
        item_width: C.
        hidden: D.
        scoring: one of `SCORINGS`.
        filters: K.
        reach: number of items on each side of an item whose weights a filter covers.
    """

    def __init__(
        self,
        query_width: int,
        item_width: int,
        hidden: int,
        scoring: str = "hybrid",
        filters: int = 10,
        reach: int = 15,
    ) -> None:
        super().__init__()
        self.query = nn.Linear(query_width, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)
        self.key: nn.Linear | None = None
        if scoring != "location":
            self.key = nn.Linear(item_width, hidden, bias=False)
        self.filters: nn.Conv1d | None = None
        if scoring != "content":
            self.filters = nn.Conv1d(1, filters, 2 * reach + 1, padding=reach, bias=False)
            self.place = nn.Linear(filters, hidden, bias=False)

    def compute_keys(self, items_BMC: Tensor) -> Tensor | None:
        """Compute the items' part of the scores, [B, M, D], which does not depend on the query.

        Returns:
            None if the scores depend on the location only.
        """
        return None if self.key is None else self.key(items_BMC)

    def compute_scores(
        self, query_NW: Tensor, keys_NMD: Tensor | None, before_NM: Tensor
    ) -> Tensor:
        """Compute the scores [N, M] of the items for the queries.

        Args:
            query_NW: the queries.
            keys_NMD: the result of `compute_keys`, for each row.
            before_NM: the weights of the previous query.
        """
        hidden_NMD = self.query(query_NW)[:, None]
        if keys_NMD is not None:
            hidden_NMD = hidden_NMD + keys_NMD
        if self.filters is not None:
            found_NKM = self.filters(before_NM[:, None])
            hidden_NMD = hidden_NMD + self.place(found_NKM.transpose(1, 2))
        scores_NM: Tensor = self.score(torch.tanh(hidden_NMD)).squeeze(2)
        return scores_NM


def make_first_weights(readable_NM: Tensor) -> Tensor:
    """Return the weights "before" the first query, all on the first readable item: [N, M]."""
    is_first_NM = readable_NM & (readable_NM.cumsum(1) == 1)
    return is_first_NM.float()


def compute_weights(
    scores_NM: Tensor, readable_NM: Tensor, before_NM: Tensor, share: Share
) -> Tensor:
    """Turn scores into weights [N, M].

    Items that are not readable get zero. If no item is readable, all weights are zero.

    Args:
        scores_NM: finite scores.
        readable_NM: bool, whether an item may be attended to.
        before_NM: the weights of the previous query. A window is centred on their median.
        share: how scores become weights.
    """
    if share.window:
        in_window_NM = _find_window(before_NM, share.window) & readable_NM
        # A window without a readable item would leave no item to attend to, so it is ignored there.
        has_any_N1 = in_window_NM.any(1, keepdim=True)
        readable_NM = torch.where(has_any_N1, in_window_NM, readable_NM)
    sharpened_NM = scores_NM * share.factor
    if share.smooth:
        raised_NM = torch.sigmoid(sharpened_NM).masked_fill(~readable_NM, 0.0)
        return raised_NM / raised_NM.sum(1, keepdim=True).clamp_min(1e-20)
    lowest = torch.finfo(scores_NM.dtype).min
    weights_NM = sharpened_NM.masked_fill(~readable_NM, lowest).softmax(1)
    return weights_NM.masked_fill(~readable_NM, 0.0)


def _find_window(before_NM: Tensor, window: int) -> Tensor:
    """Return which items are within `window` items of the middle of the weights, bool [N, M].

    The middle is the weighted median because a few distant weights do not move it.
    """
    middle_N1 = (before_NM.cumsum(1) < 0.5).sum(1, keepdim=True)
    places_M = torch.arange(before_NM.shape[1], device=before_NM.device)
    return (places_M - middle_N1).abs() <= window
