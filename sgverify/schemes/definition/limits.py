"""The limits of definitions: for each an example that is refused, the message, and an alternative.

`sgverify list face` prints it. Black boxes under `torch_step` may do all of it; they are judged by their draws, not proved.

The cost of a step: the gradient evaluations that no implementation can save.
"""

from __future__ import annotations

from dataclasses import dataclass

from sgverify.schemes.definition.abstract import run_noted
from sgverify.schemes.definition.abstract_value import Abstract
from sgverify.schemes.scheme import Scheme

_BLACK_BOX = "write it in torch under @torch_step"


@dataclass(frozen=True)
class Limit:
    """One reason for which definitions are refused.

    `example` is the body of a step of `langevin` with the ingredients `given`, or a whole definition where it begins
    with a decorator; `told` stands in the error, or, where it is `judged`, in the answer about its order, which is left open.
    """

    name: str
    what: str
    way_on: str
    example: str
    told: str
    judged: bool = False
    given: str = "h, grad, noise, T"

    @property
    def source(self) -> str:
        """The definition as a file would have it."""
        if self.example.startswith("@"):
            return self.example
        lines = "\n".join(f"    {line}" for line in self.example.splitlines())
        return f"@scheme(langevin)\ndef step(theta, *, {self.given}):\n{lines}\n"


_EULER = "theta - h*grad(theta) + sqrt(2*T*h)*noise()"

LIMITS: dict[str, Limit] = {
    limit.name: limit
    for limit in (
        Limit(
            "branches",
            "an if on the state or on an ingredient, thresholds, clipping, reflection",
            f"leave out what the theorem does not need, or {_BLACK_BOX}",
            f"if theta > 3:\n    return theta\nreturn {_EULER}",
            "a branch on, or a comparison of, the state",
        ),
        Limit(
            "accept-reject",
            "a Metropolis test: the state moves or stays by a comparison with a uniform draw",
            f"{_BLACK_BOX}; its invariance is what can be claimed",
            f"accept = noise.uniform() < T\nreturn theta + accept*({_EULER} - theta)",
            "a branch on, or a comparison of, the state",
        ),
        Limit(
            "random-lengths",
            "a number of stages that is drawn, or that a tolerance decides",
            "take a fixed number of iterations: what they leave out has a power of h",
            f"new = {_EULER}\nwhile dot(new - theta, new - theta) > 1e-20:\n    new = theta - h*grad(new)\nreturn new",
            "a branch on, or a comparison of, the state",
        ),
        Limit(
            "single-coordinates",
            "one coordinate of the state, blocks of them, sweeps",
            f"constants((1, 0), theta) and linear(...) select by fixed numbers; else {_BLACK_BOX}",
            f"return theta[0] + {_EULER}",
            "names no coordinate",
        ),
        Limit(
            "other-functions",
            "functions that are not smooth or have no symbols: sign, clamp, floor, gamma, of torch and numpy too",
            f"write a smooth one with exp, log, sin, cos, tanh, erf or a power, or {_BLACK_BOX}",
            f"import torch\nreturn torch.sign({_EULER})",
            "the foreign function torch.sign",
        ),
        Limit(
            "unknown-powers",
            "powers whose exponent is no number",
            "write exp(a*log(x)), which takes any a",
            f"return ({_EULER})**T",
            "only numbers are exponents",
        ),
        Limit(
            "in-place",
            "writing to the state",
            "write x = x + y in the place of x += y",
            f"theta += h*grad(theta)\nreturn {_EULER}",
            "an in-place write",
        ),
        Limit(
            "third-derivatives",
            "third derivatives of U, as Talay's method and the Gamma of preconditioners take them, and traces of the Hessian",
            f"{_BLACK_BOX}; grad.hessian(theta, v) is the Hessian times v, and its differences at moved points are definitions",
            f"return {_EULER} + h**2*T*grad.laplacian(theta)",
            "grad.laplacian",
        ),
        Limit(
            "single-data",
            "the gradients of single data",
            "grad.prior(theta) and grad.likelihood(theta) are the parts; minibatches are configured by gradient.kind",
            f"return {_EULER} - h*grad.datum(theta, 0)",
            "grad.datum",
        ),
        Limit(
            "values-of-the-potential",
            "U(theta) itself, as energies and acceptance probabilities need it",
            f"{_BLACK_BOX}, or a composite such as ReplicaExchange",
            f"return {_EULER} - h*U(theta)",
            "asks for the ingredient `U`",
            given="h, grad, noise, T, U",
        ),
        Limit(
            "data",
            "the data, their number, minibatches of one's own",
            "gradient.kind and gradient.batch choose the estimator, grad.fresh() is another minibatch",
            f"return {_EULER} - h*x",
            "asks for the ingredient `x`",
            given="h, grad, noise, T, x",
        ),
        Limit(
            "step-number",
            "the number of the step: decay within the step, Adam's bias corrections",
            "step sizes that fall are a schedule (schedule.kind); a memory may count, as a vector",
            f"return {_EULER}/(1 + step)",
            "asks for the ingredient `step`",
            given="h, grad, noise, T, step",
        ),
        Limit(
            "scalar-memory",
            "memory that is no vector",
            "start it as 0*theta + 1, a number in every coordinate",
            "@scheme(langevin, memory={'k': lambda theta: 0})\n"
            f"def step(theta, k, *, h, grad, noise, T):\n    return {_EULER}, k\n",
            "returned a int for `k`; expected a vector",
        ),
        Limit(
            "other-chains",
            "what other chains do: ensembles, Stein forces, swaps",
            "ReplicaExchange is a composite around a scheme",
            f"return {_EULER} - h*others",
            "asks for the ingredient `others`",
            given="h, grad, noise, T, others",
        ),
        Limit(
            "other-laws",
            "draws of other laws: exponential, Laplace, Student, chi-square",
            f"noise(), noise.two_point(), noise.three_point() and noise.uniform() are there; else {_BLACK_BOX}",
            "return theta - h*grad(theta) + sqrt(2*T*h)*noise.laplace()",
            "unknown noise law 'laplace'",
        ),
        Limit(
            "roots-of-draws",
            "roots and exponentials of a draw: a Brownian path at a random time, as the randomised midpoint takes it",
            f"polynomials of draws are read exactly; else {_BLACK_BOX}",
            "time = (1 + noise.scalar.uniform()/sqrt(3))/2\n"
            "middle = theta - h*time*grad(theta) + sqrt(2*T*h*time)*noise()\n"
            "return theta - h*grad(middle) + sqrt(2*T*h)*noise()",
            "the step has no power series in sqrt(h)",
            judged=True,
        ),
        Limit(
            "own-random-numbers",
            "random numbers that are not drawn by noise",
            "draw them by noise(), so that every reading knows their moments",
            f"import random\nreturn {_EULER} + h*random.random()",
            "is not the same formula at every run",
        ),
        Limit(
            "dense-diffusion",
            "a dynamics whose noise is correlated between coordinates, other than by a metric",
            "linear(matrix, ...) about the coordinates in which the noise is diagonal; a metric where the matrix moves with theta",
            "@dynamics(theta='vector')\ndef correlated(theta, *, grad, T):\n    return -grad(theta), ((T, T), (T, T))\n",
            "expected 1: (theta)",
        ),
    )
}
"""The limits by name. A definition that is refused when it is made is refused with file and line."""


def evaluations(scheme: Scheme, *, minibatches: bool) -> int:
    """The number of gradients that one step of a long run has to evaluate.

    An evaluation of the same gradient at the same place is made once. Full gradients are the same at every step,
    so that one at the place where a step ends serves the next step too, where that begins with it: BAOAB needs
    one evaluation a step, not two. With `minibatches` every step has minibatches of its own, and nothing is
    carried over. Heun's scheme needs two of either. A Hessian-vector product counts as one, the prior's gradient as none: it
    visits no data.

    >>> from sgverify.schemes import find_scheme
    >>> [evaluations(find_scheme("sghmc-baoab"), minibatches=m) for m in (False, True)]
    [1, 2]
    """
    state = {name: Abstract(shape, formula=(name, False)) for name, shape in scheme.shapes.items()}
    values, asked = run_noted(scheme.function, scheme.shapes, scheme.declaration.ingredients, minibatches)
    start, end = ({(0, value.mark)} for value in (state["theta"], values[scheme.state.index("theta")]))
    carried = not minibatches and start != end and start | end <= asked
    return len(asked) - carried
