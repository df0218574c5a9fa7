"""sgverify: does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?

Parts that need neither torch nor sympy: `schemes` (what an integrator is), `targets` (posteriors), `gradients` (estimators),
`configuration`, `evidence` (what a check returns), `claims` (what is claimed), `keeping` (what outlives a process), `errors`,
`values`, `exports`, `user_code` (guards around it), `watching` (whether it comes back), `code_files` (where it is),
`code_text` (what it imports and reads), `named_code` (when it runs), `plugins` (what other distributions add). Readings of a
scheme: `exact`, `samplers`; `rates` turns points into exponents and verdicts. `subject` binds a scheme, a target and settings
once, `law` is that of one step of any code. `checks` joins them; `strategies` draws configurations for them, `report` writes
evidence down. Above them: `papers` (one folder a paper), `testing` (what third parties test with), `adapters` (samplers of
other libraries as steps), `advice` (why a scheme fails, what to do next), `verdict` (the whole answer about a scheme),
`campaigns` (many questions on many processes), `skeletons` (distributions to start from), `extending` (the names that
extensions are written with). What people touch: `cli`, `draws`, `pytest_plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sgverify.exports import lazily

if TYPE_CHECKING:
    from sgverify.advice.certified.asking import bound
    from sgverify.advice.comparison import compare
    from sgverify.advice.design.designing import design
    from sgverify.advice.identification.identifying import identify
    from sgverify.advice.plans import advise
    from sgverify.advice.step_bias import width
    from sgverify.draws import sample
    from sgverify.exact.splittings.bch import bch
    from sgverify.exact.splittings.order_conditions import order_conditions
    from sgverify.named_code import run_code
    from sgverify.report.forms.result import Exhibit
    from sgverify.samplers.own.model_target import model_target
    from sgverify.samplers.own.module_target import module_target
    from sgverify.schemes import Alphabet, dynamics, find_scheme, scheme, torch_step
    from sgverify.schemes.adapting import adapt
    from sgverify.schemes.composites import AdaptivelyWeighted, ReplicaExchange
    from sgverify.schemes.mathematics import (
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
    from sgverify.targets.own.log_density import log_density
    from sgverify.verdict import Results, rate, verify

__version__ = "0.2.0"

__all__ = [
    "AdaptivelyWeighted",
    "Alphabet",
    "Exhibit",
    "ReplicaExchange",
    "Results",
    "__version__",
    "adapt",
    "advise",
    "bch",
    "bound",
    "compare",
    "cos",
    "design",
    "dot",
    "dynamics",
    "erf",
    "exp",
    "expm1",
    "find_scheme",
    "identify",
    "log",
    "log_density",
    "logistic",
    "model_target",
    "module_target",
    "order_conditions",
    "rate",
    "run_code",
    "sample",
    "scheme",
    "sin",
    "softplus",
    "sqrt",
    "tanh",
    "torch_step",
    "verify",
    "width",
]

__getattr__, __dir__ = lazily(__name__)
