"""The names that extensions are written with: schemes, targets, checks, papers and adapters of other distributions.

Names and signatures of this module are held stable: `tests/extending/surface.txt` lists them, and a change of one is a line in
CHANGELOG.md. `sgverify new` writes a distribution to start from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.checks.check import Check
    from sgverify.checks.question import Question
    from sgverify.claims import Claim, Publication
    from sgverify.configuration import Configuration, load_configuration
    from sgverify.errors import ConfigurationError, DefinitionError, UserError
    from sgverify.evidence import EVERY, Evidence, Scope, held, tried
    from sgverify.evidence.erratum import RefutingFamily
    from sgverify.exact.readings.formula import plant
    from sgverify.papers.formula import Examination, formula
    from sgverify.papers.paper import Paper
    from sgverify.papers.suites import SuiteCase
    from sgverify.rates.verdict import Judgement
    from sgverify.schemes.adapting import Adapter, AdapterSettings, adapt, is_of
    from sgverify.schemes.definition.binding import Carrier, GradientIngredient, bind, parameters_of
    from sgverify.schemes.definition.mathematics import (
        cos,
        dot,
        erf,
        exp,
        expm1,
        log,
        logistic,
        sin,
        softplus,
        sqrt,
        tanh,
    )
    from sgverify.schemes.dynamics import density, dynamics, kinetic, langevin, thermostat
    from sgverify.schemes.loading import find_scheme
    from sgverify.schemes.scheme import Scheme, scheme
    from sgverify.schemes.splittings import Alphabet
    from sgverify.schemes.torch_step import TorchStep, torch_step
    from sgverify.subject.subject import Subject
    from sgverify.targets.kind import (
        MATRIX,
        NUMBER,
        POSITIVE,
        POSITIVE_VECTOR,
        VECTOR,
        DataLayout,
        TargetKind,
    )
    from sgverify.targets.potential import (
        Matrix,
        Vector,
        centred_quadratic,
        constant,
        coordinate,
        linear,
        number,
    )
    from sgverify.targets.registry import build_target
    from sgverify.targets.target import Target
    from sgverify.testing import parametrize_with_checks
    from sgverify.verdict import verify

__all__ = [
    "EVERY",
    "MATRIX",
    "NUMBER",
    "POSITIVE",
    "POSITIVE_VECTOR",
    "VECTOR",
    "Adapter",
    "AdapterSettings",
    "Alphabet",
    "Carrier",
    "Check",
    "Claim",
    "Configuration",
    "ConfigurationError",
    "DataLayout",
    "DefinitionError",
    "Evidence",
    "Examination",
    "GradientIngredient",
    "Judgement",
    "Matrix",
    "Paper",
    "Publication",
    "Question",
    "RefutingFamily",
    "Scheme",
    "Scope",
    "Subject",
    "SuiteCase",
    "Target",
    "TargetKind",
    "TorchStep",
    "UserError",
    "Vector",
    "adapt",
    "bind",
    "build_target",
    "centred_quadratic",
    "constant",
    "coordinate",
    "cos",
    "density",
    "dot",
    "dynamics",
    "erf",
    "exp",
    "expm1",
    "find_scheme",
    "formula",
    "held",
    "is_of",
    "kinetic",
    "langevin",
    "linear",
    "load_configuration",
    "log",
    "logistic",
    "number",
    "parameters_of",
    "parametrize_with_checks",
    "plant",
    "scheme",
    "sin",
    "softplus",
    "sqrt",
    "tanh",
    "thermostat",
    "torch_step",
    "tried",
    "verify",
]

__getattr__, __dir__ = lazily(__name__)
