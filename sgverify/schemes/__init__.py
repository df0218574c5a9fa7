"""Integrators: dynamics, sub-flows, splittings, steps, and the catalogue.

`dynamics` (with the density left invariant), `scheme` (a step), `splittings` (words over an alphabet) and their `compositions`,
`torch_step` (somebody else's torch code, and what a library does beside a step), `memory` of a step, and `tempering` of one that
takes no temperature. `loading` finds them by name or in a file, which `user_files` runs; `adapting` makes steps of other libraries'
samplers. `definition` is the interface of definitions, whose functions are in `mathematics` too, `numbers` their exact constants;
`catalogue` and `composites` hold the ones that ship.

The type of this room is `Scheme`: one step X_(l-1) -> X_l of an integrator of a dynamics. It answers one question, "what is a
step?", once and for everybody. Its heart is an ordinary function whose signature is its declaration: positional parameters are
state, keyword-only ones are ingredients (the step h or t, the minibatch's gradient `grad`, draws `noise()`, the parameters T
and D). The same function is run on tensors to draw, on truncated power series to prove an order, on affine forms for the exact
law on a Gaussian, on expression trees to be printed. Nobody writes the formula down a second time, so the code that is proved
is the code that runs.

Values carry the mathematics: `exp`, `sqrt`, `dot` ask the value, and a reading (a carrier) registers its types with them. A
call is a draw: `noise()` once is one draw, and `grad` is this step's minibatch wherever it is asked, `grad.fresh()` another
one.

A definition is proved well-formed when it is made, by an abstract run in which every value knows its shape alone: shapes,
writes in place, foreign functions, branches on the state and missing noise are refused there, by file and line. The run also
counts draws, gradients and minibatches; the `Census` that it leaves is trusted by every reading. A splitting is a `Word` over
an `Alphabet` of such functions, and a `Scheme` like any other; its letters are proved to be exact flows before its word is read
by commutators. Somebody else's code, which cannot be read on other values, is a `TorchStep`: it is run as it is, with its draws
intercepted.

A question enters here as a reference (a name of the catalogue, `module:attribute`, `file.py:attribute`) and leaves as a finished
object. No name of a claim and no verdict is known on this floor, and no torch: `order` is a claim that others settle.
"""

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
