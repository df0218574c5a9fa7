"""Integrators: dynamics, sub-flows, splittings, steps, and the catalogue.

`dynamics` (with the density left invariant; `recipe` makes them), `scheme` (a step), `splittings` (words over an alphabet)
and their `compositions`, `torch_step` (somebody else's torch code, and what a library does beside a step), `memory` of a step.
`loading` finds them by name or in a file, `adapting` makes steps of other libraries' samplers. `definition` is the interface of
definitions, whose functions are in `mathematics` too, `numbers` their exact constants; `catalogue` and `composites` hold the ones
that ship.
"""

from typing import TYPE_CHECKING

from sgverify.exports import lazily
from sgverify.schemes.catalogue import ALPHABETS, NAMED
from sgverify.schemes.definition.mathematics import LAWS, NoiseLaw, dot, exp, expm1, sqrt
from sgverify.schemes.dynamics import (
    Density,
    Dynamics,
    density,
    dynamics,
    kinetic,
    langevin,
    riemannian_kinetic,
    riemannian_langevin,
    thermostat,
)
from sgverify.schemes.loading import find_scheme
from sgverify.schemes.memory import Memory
from sgverify.schemes.numbers.algebraic import Algebraic, exact
from sgverify.schemes.numbers.constants import constants, linear
from sgverify.schemes.numbers.text import read_number
from sgverify.schemes.scheme import Scheme, scheme
from sgverify.schemes.splittings import Alphabet, Letter, Word
from sgverify.schemes.torch_step import TorchStep, torch_step

if TYPE_CHECKING:
    from sgverify.schemes.recipe import complete_recipe

__all__ = [
    "ALPHABETS",
    "LAWS",
    "NAMED",
    "Algebraic",
    "Alphabet",
    "Density",
    "Dynamics",
    "Letter",
    "Memory",
    "NoiseLaw",
    "Scheme",
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

__getattr__, __dir__ = lazily(__name__)
