"""Location-aware attention (Chorowski et al. 2015; multimedia paper Eq. 21): where a query looked
before tells where it looks next.

    f = F * w'                                        of the weights w' of the query before
    score(q, m) = v . tanh(W q + U m + V f_m)         without V f: content; without U m: location

and the weights are a softmax of the scores, which may be sharpened, smoothed or kept in a window.
Shapes: B examples, N rows (queries at one time), M items, W query width, C item width, D width of
the scores' hidden layer, K filters.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from areaviz.trace.interventions import Share

SCORINGS = ("content", "location", "hybrid")


class LocationAttention(nn.Module):
    """The parameters of the score.

    Args:
        query_width: W.
        item_width: C.
        hidden: D.
        scoring: one of `SCORINGS`.
        filters: K.
        reach: items before and behind an item whose weights a filter sees.
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

    def keys(self, items_BMC: Tensor) -> Tensor | None:
        """The items' part of the scores, [B, M, D], which no query changes; None where only the
        location counts.
        """
        return None if self.key is None else self.key(items_BMC)

    def scores(self, query_NW: Tensor, keys_NMD: Tensor | None, before_NM: Tensor) -> Tensor:
        """Scores [N, M] of the items for queries.

        Args:
            query_NW: the queries.
            keys_NMD: of `keys`, for each row.
            before_NM: the weights of the query before.
        """
        hidden_NMD = self.query(query_NW)[:, None]
        if keys_NMD is not None:
            hidden_NMD = hidden_NMD + keys_NMD
        if self.filters is not None:
            found_NKM = self.filters(before_NM[:, None])
            hidden_NMD = hidden_NMD + self.place(found_NKM.transpose(1, 2))
        scores_NM: Tensor = self.score(torch.tanh(hidden_NMD)).squeeze(2)
        return scores_NM


def first_weights(readable_NM: Tensor) -> Tensor:
    """The weights "before" the first query: all on the first item that may be read, [N, M]."""
    is_first_NM = readable_NM & (readable_NM.cumsum(1) == 1)
    return is_first_NM.float()


def weights_of(scores_NM: Tensor, readable_NM: Tensor, before_NM: Tensor, share: Share) -> Tensor:
    """The weights [N, M] of scores; zeros for items that may not be read, and where none may.

    Args:
        scores_NM: finite.
        readable_NM: bool, whether an item may be read.
        before_NM: the weights of the query before; a window lies around their middle.
        share: how scores become weights.
    """
    if share.window:
        in_window_NM = _window(before_NM, share.window) & readable_NM
        # A window without any item that may be read would end the reading: it is left out there.
        has_any_N1 = in_window_NM.any(1, keepdim=True)
        readable_NM = torch.where(has_any_N1, in_window_NM, readable_NM)
    sharpened_NM = scores_NM * share.factor
    if share.smooth:
        raised_NM = torch.sigmoid(sharpened_NM).masked_fill(~readable_NM, 0.0)
        return raised_NM / raised_NM.sum(1, keepdim=True).clamp_min(1e-20)
    lowest = torch.finfo(scores_NM.dtype).min
    weights_NM = sharpened_NM.masked_fill(~readable_NM, lowest).softmax(1)
    return weights_NM.masked_fill(~readable_NM, 0.0)


def _window(before_NM: Tensor, window: int) -> Tensor:
    """Whether an item lies within `window` items of the middle of the weights, bool [N, M].

    The middle is the weighted median, which a few far weights do not move.
    """
    middle_N1 = (before_NM.cumsum(1) < 0.5).sum(1, keepdim=True)
    places_M = torch.arange(before_NM.shape[1], device=before_NM.device)
    return (places_M - middle_N1).abs() <= window
