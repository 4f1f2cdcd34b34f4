"""Entropy of attention, and how much an attended item says about its query.

Shapes: R rows, Q queries, N items; rows are distributions, or zeros where nothing is attended to.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


def entropy_bits(shares_RN: npt.NDArray[np.floating]) -> Array:
    """Entropy of every row in bits, float64 [R]; a share of 0 adds nothing."""
    shares = shares_RN.astype(np.float64)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    bits: Array = -np.einsum("...n,...n->...", shares, logs)
    return bits


def query_dependence(shares_QN: npt.NDArray[np.floating]) -> tuple[float, float]:
    """The mutual information of query and attended item, and its ceiling, both in bits.

        I = H(mean map) - mean H(map), the queries that attend to anything equally likely

    The ceiling is H(mean map): a head that looks at another single item for each query reaches it.
    A head that looks at the same place whatever is asked has 0; both are 0 where nothing is
    attended to.
    """
    seen_QN = shares_QN[shares_QN.any(-1)].astype(np.float64)
    if not len(seen_QN):
        return 0.0, 0.0
    most = float(entropy_bits(seen_QN.mean(0)))
    return max(0.0, most - float(entropy_bits(seen_QN).mean())), most
