"""sgverify: does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sgverify.schemes import Alphabet, dot, dynamics, exp, expm1, scheme, sqrt

if TYPE_CHECKING:
    from sgverify.checks import rate, verify

__version__ = "0.1.0"

__all__ = [
    "Alphabet",
    "__version__",
    "dot",
    "dynamics",
    "exp",
    "expm1",
    "rate",
    "scheme",
    "sqrt",
    "verify",
]


def __getattr__(name: str) -> Any:
    """`verify` and `rate` bring torch, sympy and flint with them, so they are loaded when they are asked for."""
    if name in ("rate", "verify"):
        import sgverify.checks

        return getattr(sgverify.checks, name)
    raise AttributeError(f"module 'sgverify' has no attribute {name!r}")
