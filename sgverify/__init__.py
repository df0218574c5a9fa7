"""sgverify: does a stochastic-gradient MCMC integrator do what the theory promises, and how sure are we?"""

from sgverify.schemes import Alphabet, dot, dynamics, exp, expm1, scheme, sqrt

__version__ = "0.1.0"

__all__ = ["Alphabet", "__version__", "dot", "dynamics", "exp", "expm1", "scheme", "sqrt"]
