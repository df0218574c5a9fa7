"""What an integrator is: dynamics, letters, words, steps, and the catalogue."""

from sgverify.schemes.catalogue import ALPHABETS, NAMED, find_scheme
from sgverify.schemes.constants import constants, linear
from sgverify.schemes.density import Density, density
from sgverify.schemes.dynamics import (
    Dynamics,
    dynamics,
    kinetic,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
    thermostat,
)
from sgverify.schemes.mathematics import dot, exp, expm1, sqrt
from sgverify.schemes.noise import LAWS, NoiseLaw
from sgverify.schemes.number_text import read_number
from sgverify.schemes.recipe import complete_recipe
from sgverify.schemes.scheme import Scheme, scheme
from sgverify.schemes.surd import Surd, exact
from sgverify.schemes.torch_step import TorchStep, torch_step
from sgverify.schemes.words import Alphabet, Letter, Word

__all__ = [
    "ALPHABETS",
    "LAWS",
    "NAMED",
    "Alphabet",
    "Density",
    "Dynamics",
    "Letter",
    "NoiseLaw",
    "Scheme",
    "Surd",
    "TorchStep",
    "Word",
    "complete_recipe",
    "constants",
    "density",
    "dot",
    "dynamics",
    "exact",
    "exp",
    "expm1",
    "find_scheme",
    "kinetic",
    "langevin",
    "linear",
    "read_number",
    "riemannian_kinetic",
    "riemannian_langevin",
    "scheme",
    "sqrt",
    "thermostat",
    "torch_step",
]
