"""Hypothesis strategies for schemes, splittings, targets, gradients, schedules, test functions and whole configurations.

They are public, for tests of one's own; names that are not in `__all__` are not. A property of one's own scheme:

    @given(configuration=sgverify.strategies.configurations(scheme=heun, dims=[1, 2], kinds=["full", "iid"]))
    def test_the_order_holds_everywhere(configuration):
        assert sgverify.verify(heun, configuration, checks=["local-order"]).passed

`configurations` draws all of a run, with test functions and replica exchange: `schemes` (with `words` and their references,
`splittings` of dynamics), `targets`, `gradients`, `schedules`, of `scalars` that stay exact, whose module reads the arguments.

Options are keywords, everything composes, an empty domain raises `ConfigurationError`, and what is drawn is exact:
every float is a short decimal and stands for the fraction that it prints as. What is drawn survives TOML, JSON and the
command line, and every scheme has a reference that `sgverify verify` takes. Bugs hide at T = 1, in one dimension, in
symmetric data and under weak priors: none of the first is drawn, and the others are rare or excluded. Each docstring
says what is drawn, within which bounds and units, and what it shrinks to. The bounds may widen in a later version; the
forms that are drawn are those of configurations, which the changelog speaks of.
"""

from sgverify.strategies.configurations import configurations, exchanges, observables
from sgverify.strategies.gradients import gradients
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
