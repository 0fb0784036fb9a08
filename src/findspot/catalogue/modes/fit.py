"""Whether any tool fits a query at all: where none does, an empty answer is the right one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from findspot.catalogue.modes.request import Request
from findspot.catalogue.orchestrator import Scores
from findspot.catalogue.toolset import ToolSet

FIT_LIKENESS = {"local:static": 0.46}
"""Where a query's fit stays below this, no tool fits. Measured by `python -m benchmarks.tools --off-topic`;
models that were not measured have no such limit."""

CATALOGUE_SHARE = 1.0
"""A query that speaks of what the catalogue is about is less likely to be beside the point than one
that is like a single tool by chance."""

WORDS_SHARE = 0.2
"""Words that no tool holds lower a query's likeness to every tool, which is no fault of theirs; words
that tools do hold, but not the best one, speak against it. At the same loss of recall, this took
queries about other things that find nothing from 61 % to 72 % (70 % in `hybrid`, which lets tools
through that hold every word)."""


def any_fits(
    request: Request, cosines: Scores, merit: Scores, allowed: NDArray[np.bool_], tools: ToolSet
) -> bool:
    """Return whether the tool of most merit is like enough to the request, and the request to the
    catalogue.
    """
    limit = FIT_LIKENESS.get(tools.about.provider or "")
    if limit is None:
        return True
    if not allowed.any():
        return False
    shares, known = tools.keywords.shares(request.terms)
    best = int(np.where(allowed, merit, -np.inf).argmax())
    fit = float(cosines[allowed].max()) + WORDS_SHARE * (float(shares[best]) - known)
    if tools.centre_length > 0:  # the mean of the cosines is the query's product with the mean vector
        fit += CATALOGUE_SHARE * float(cosines.mean()) / tools.centre_length
    return fit >= limit
