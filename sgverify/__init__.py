"""sgverify: does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?

Parts that need neither torch nor sympy: `schemes` (what an integrator is), `targets` (posteriors), `gradients` (estimators),
`configuration`, `evidence` (what a check returns), `claims` (what is claimed), `errors`, `values`. Readings of a scheme:
`exact`, `samplers`; `rates` turns points into exponents and verdicts. `checks` joins them; `strategies` draws
configurations for them, `report` writes evidence down. Above them: `papers` (one folder a paper), `selftest` (how far to
trust the tool), `testing` (what third parties test with). What people touch: `cli`, `draws`, `pytest_plugin`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgverify.schemes import Alphabet, dot, dynamics, exp, expm1, scheme, sqrt, torch_step

if TYPE_CHECKING:
    from sgverify.checks import rate, verify
    from sgverify.draws import sample
    from sgverify.samplers.own.module_target import module_target
    from sgverify.schemes.composites import AdaptivelyWeighted, ReplicaExchange
    from sgverify.targets.own.log_density import log_density

__version__ = "0.1.0"

__all__ = [
    "AdaptivelyWeighted",
    "Alphabet",
    "ReplicaExchange",
    "__version__",
    "dot",
    "dynamics",
    "exp",
    "expm1",
    "log_density",
    "module_target",
    "rate",
    "sample",
    "scheme",
    "sqrt",
    "torch_step",
    "verify",
]


def __dir__() -> list[str]:
    """Everything that is exported, also what is loaded only when it is asked for."""
    return sorted({*globals(), *__all__})


def __getattr__(name: str) -> Any:
    """What brings torch, sympy, flint or numpy with it is loaded when it is asked for."""
    if name in ("rate", "verify"):
        import sgverify.checks

        return getattr(sgverify.checks, name)
    if name in ("AdaptivelyWeighted", "ReplicaExchange"):
        from sgverify.schemes import composites

        return getattr(composites, name)
    if name == "log_density":
        from sgverify.targets.own.log_density import log_density

        return log_density
    if name == "sample":
        from sgverify.draws import sample

        return sample
    if name == "module_target":
        from sgverify.samplers.own.module_target import module_target

        return module_target
    raise AttributeError(f"module 'sgverify' has no attribute {name!r}")
