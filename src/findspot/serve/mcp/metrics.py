"""Figures of a running server, in the text format that Prometheus reads."""

from __future__ import annotations

import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from findspot import __version__
from findspot.core.errors import FindspotError
from findspot.core.utc_time import age

if TYPE_CHECKING:
    from findspot.engine import Engine

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_BOUNDS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""From a search in a small index to research with a language model."""


class Outcome:
    """Whether a call counts as failed."""

    failed = False


@dataclass(slots=True)
class _Latency:
    buckets: list[int] = field(default_factory=lambda: [0] * (len(_BOUNDS_S) + 1))
    total_s: float = 0.0


class Meter:
    """Counts calls and refusals; written by one event loop."""

    def __init__(self) -> None:
        self.calls: Counter[tuple[str, str]] = Counter()
        self.refusals: Counter[str] = Counter()
        self.latencies: dict[str, _Latency] = {}

    @contextmanager
    def call(self, tool: str) -> Iterator[Outcome]:
        """Count a call of a tool and its duration; it failed if it raises, or sets `failed`."""
        outcome, started = Outcome(), time.perf_counter()
        try:
            yield outcome
        except BaseException:
            outcome.failed = True
            raise
        finally:
            self.note(tool, "error" if outcome.failed else "ok", time.perf_counter() - started)

    def refused(self, reason: str) -> None:
        """Count a request that was turned away before it reached a tool."""
        self.refusals[reason] += 1

    def page(
        self,
        sessions: int,
        indexes: Iterable[tuple[str, int, float]],
        calls: Mapping[str, int],
        key_fetches: Mapping[str, int],
    ) -> str:
        """Return all figures: of each index its project, generation and age in seconds, of calls how many are
        in which state.
        """
        lines = [
            *_head("build_info", "gauge", "Which version runs"),
            _line("build_info", 1, version=__version__),
            *_head("requests_total", "counter", "Tool calls, by outcome"),
            *(_line("requests_total", n, tool=t, outcome=o) for (t, o), n in sorted(self.calls.items())),
            *_head("request_seconds", "histogram", "Duration of calls"),
            *(line for tool in sorted(self.latencies) for line in self._histogram(tool)),
            *_head("refused_total", "counter", "Requests turned away, by reason"),
            *(_line("refused_total", n, reason=reason) for reason, n in sorted(self.refusals.items())),
            *_head("sessions", "gauge", "Open sessions"),
            _line("sessions", sessions),
            *_head("calls", "gauge", "Calls that run, and those that wait for their turn"),
            *(_line("calls", n, state=state) for state, n in calls.items()),
            *_head("oidc_key_fetches_total", "counter", "Fetches of the issuer's keys, by outcome"),
            *(_line("oidc_key_fetches_total", n, outcome=o) for o, n in sorted(key_fetches.items())),
        ]
        known = sorted(indexes)
        lines += _head("index_generation", "gauge", "Generation of each open index")
        lines += [_line("index_generation", number, project=project) for project, number, _ in known]
        lines += _head("index_age_seconds", "gauge", "Seconds since the last change of each open index")
        lines += [_line("index_age_seconds", age, project=project) for project, _, age in known]
        return "\n".join(lines) + "\n"

    def note(self, tool: str, outcome: str, seconds: float) -> None:
        """Count a finished call of a tool."""
        self.calls[tool, outcome] += 1
        latency = self.latencies.setdefault(tool, _Latency())
        latency.buckets[bisect_left(_BOUNDS_S, seconds)] += 1
        latency.total_s += seconds

    def _histogram(self, tool: str) -> Iterator[str]:
        latency, count = self.latencies[tool], 0
        for bound, number in zip((*map(str, _BOUNDS_S), "+Inf"), latency.buckets, strict=True):
            count += number
            yield _line("request_seconds_bucket", count, tool=tool, le=bound)
        yield _line("request_seconds_sum", latency.total_s, tool=tool)
        yield _line("request_seconds_count", count, tool=tool)


def index_figures(engine: Engine) -> list[tuple[str, int, float]]:
    """Return the project, generation and age of every open index; one that cannot be read is left out."""
    figures = []
    for project in engine.opened():
        try:
            with project.store.snapshot() as snapshot:
                updated, generation = snapshot.meta().get("updated_at", ""), snapshot.generation
            age_s = age(updated).total_seconds()
        except (FindspotError, ValueError):
            continue
        figures.append((str(project.root), generation, max(0.0, age_s)))
    return figures


def _head(name: str, kind: str, meaning: str) -> list[str]:
    return [f"# HELP findspot_{name} {meaning}", f"# TYPE findspot_{name} {kind}"]


def _line(name: str, value: float, **labels: str) -> str:
    shown = ",".join(f'{label}="{_escaped(text)}"' for label, text in labels.items())
    return f"findspot_{name}{{{shown}}} {value:g}" if shown else f"findspot_{name} {value:g}"


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
