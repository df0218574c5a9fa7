"""Hypothesis strategies for schemes, targets, gradients, schedules, test functions and whole configurations.

Options are keywords, everything composes, an empty domain raises `ConfigurationError`, and what is drawn is exact:
every float is a short decimal and stands for the fraction that it prints as.
"""

from sgverify.strategies.configurations import configurations
from sgverify.strategies.gradients import gradients
from sgverify.strategies.observables import observables
from sgverify.strategies.precisions import eigenvalues, precisions
from sgverify.strategies.scalars import decimals, frictions, temperatures
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
