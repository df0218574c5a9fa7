"""The figures and experiments of papers, drawn anew: biases along schedules, visits of modes, the time until a minimum is reached.

Each is a `Study`, curves and tables without a verdict. `python -m reports chen2015-experiments` (`vr-resgld-experiments`,
`awsgld-experiments`) draws them for the page of the paper, where they stand beside its claims. In the folders `chen2015`,
`vr_resgld` and `awsgld`: settings that are printed, and ours where none are.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from sgverify.errors import find_named
from sgverify.evidence import Study

EXPERIMENTS: Mapping[str, str] = {
    "chen2015/figure-1": "chen2015.invariant_bias:figure_1",
    "chen2015/figure-5": "chen2015.traces:figure_5",
    "chen2015/figure-7": "chen2015.traces:figure_7",
    "chen2015/figure-3": "chen2015.comparison:figure_3",
    "chen2015/figure-6": "chen2015.comparison:figure_6",
    "chen2015/figure-8": "chen2015.comparison:figure_8",
    "vr-resgld/figure-2": "vr_resgld.figures:figure_2",
    "vr-resgld/figure-6": "vr_resgld.figures:figure_6",
    "awsgld/exploration": "awsgld.exploration:exploration",
    "awsgld/hitting-times": "awsgld.hitting:hitting_times",
}
"""Functions of an effort, "quick", "default" or "full", by the name of the experiment."""


def experiments_of(suite: str) -> tuple[str, ...]:
    """The names of a paper's experiments, in the order in which its page shows them."""
    return tuple(name for name in EXPERIMENTS if name.partition("/")[0] == suite)


def build_experiment(name: str, effort: str) -> Study:
    """Draw one experiment; raises `UnknownNameError` with the nearest name."""
    module, _, function = find_named("experiment", name, EXPERIMENTS).partition(":")
    study: Study = getattr(import_module(f"reports.experiments.{module}"), function)(effort)
    return study
