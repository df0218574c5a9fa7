"""Hypothesis strategies for schemes, splittings, targets, gradients, schedules, test functions and whole configurations.

`configurations` draws all of a run: `schemes` (with `words`, `splittings` of dynamics, and references for them in `spelled`),
`targets` and `landscapes`, `gradients`, `schedules`, `exchanges`, `observables`, of `scalars` that stay exact.

Options are keywords, everything composes, an empty domain raises `ConfigurationError`, and what is drawn is exact:
every float is a short decimal and stands for the fraction that it prints as. What is drawn survives TOML, JSON and the
command line, and every scheme has a reference that `sgverify verify` takes. Bugs hide at T = 1, in one dimension, in
symmetric data and under weak priors: none of the first is drawn, and the others are rare or excluded. Each docstring
shows what a strategy shrinks to.
"""

from sgverify.strategies.configurations import configurations
from sgverify.strategies.exchanges import exchanges
from sgverify.strategies.gradients import gradients
from sgverify.strategies.observables import observables
from sgverify.strategies.scalars import decimals, eigenvalues, frictions, precisions, temperatures
from sgverify.strategies.schedules import exponents, schedules
from sgverify.strategies.schemes import schemes
from sgverify.strategies.targets import datasets, targets
from sgverify.strategies.words import alphabets, words

__all__ = [
    "alphabets",
    "configurations",
    "datasets",
    "decimals",
    "eigenvalues",
    "exchanges",
    "exponents",
    "frictions",
    "gradients",
    "observables",
    "precisions",
    "schedules",
    "schemes",
    "targets",
    "temperatures",
    "words",
]
