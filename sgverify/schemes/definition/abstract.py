"""The abstract run: a definition is executed on values that know only their shape.

It needs neither torch nor sympy. It refuses what no exact reading could follow (in-place writes, foreign
functions, branches on the state, indexing), checks the shapes that come back, and counts draws, gradient
evaluations and minibatches. The run is repeated, and a definition whose formula changes between runs is refused.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, NoReturn

from sgverify.errors import DefinitionError, SgverifyError
from sgverify.schemes.definition.abstract_value import (
    MATRIX,
    NUMBER,
    OURS,
    RANK,
    SCALAR,
    VECTOR,
    Abstract,
    Refused,
    is_exact,
)
from sgverify.schemes.definition.mathematics import Noise, NoiseLaw
from sgverify.schemes.numbers.constants import Constant, met

MOST_CALLS = 200
"""The most draws of one step, and the most gradients: each is a variable of exact readings, and a loop without an end has more."""

RUNS = 8
"""How often a definition is run: one that tosses a fair coin is caught in all but 1 of 128 cases."""


@dataclass(frozen=True)
class Census:
    """The ingredients that one run of a definition used: the laws of its draws in order, numbers of gradients and minibatches.

    `constants`: the numbers and matrices by which it tells coordinates apart, each once.
    `hessians` counts Hessian-vector products; `parts`: the gradient of the prior, or of the likelihood, is asked for apart.
    """

    laws: tuple[NoiseLaw, ...]
    gradients: int
    minibatches: int
    constants: tuple[Constant, ...] = ()
    hessians: int = 0
    parts: bool = False

    @property
    def draws(self) -> int:
        """Number of noise draws."""
        return len(self.laws)

    def __add__(self, other: Census) -> Census:
        return Census(
            self.laws + other.laws,
            self.gradients + other.gradients,
            self.minibatches + other.minibatches,
            tuple(dict.fromkeys(self.constants + other.constants)),
            self.hessians + other.hessians,
            self.parts or other.parts,
        )


class _Gradient:
    """The gradient ingredient of an abstract run; counts evaluations and minibatches."""

    def __init__(self, run: _Run, minibatch: int) -> None:
        self._run = run
        self._minibatch = minibatch

    def __call__(self, theta: Any) -> Abstract:
        return self._evaluated("grad", theta)

    def likelihood(self, theta: Any) -> Abstract:
        self._run.parts = True
        return self._evaluated("grad.likelihood", theta)

    def prior(self, theta: Any) -> Abstract:
        _check_position("grad.prior", theta)
        self._run.parts = True
        return Abstract(VECTOR, theta.noisy, ("grad.prior", theta.mark))

    def hessian(self, theta: Any, vector: Any) -> Abstract:
        _check_position("grad.hessian", theta)
        if not isinstance(vector, Abstract) or vector.kind != VECTOR:
            raise Refused(
                "grad.hessian() of something that is not a vector; pass (theta, v), H(theta) v is returned"
            )
        self._run.hessians += 1
        _check_count("Hessian-vector products", self._run.hessians)
        self._run.asked.add((self._minibatch, theta.mark, vector.mark))
        noisy = theta.noisy or vector.noisy
        return Abstract(VECTOR, noisy, ("grad.hessian", self._minibatch, theta.mark, vector.mark))

    def _evaluated(self, name: str, theta: Any) -> Abstract:
        _check_position(name, theta)
        self._run.gradients += 1
        _check_count("gradients", self._run.gradients)
        self._run.asked.add((self._minibatch, theta.mark))
        return Abstract(VECTOR, theta.noisy, (name, self._minibatch, theta.mark))

    def fresh(self) -> _Gradient:
        if not self._run.minibatches:
            return self
        self._run.fresh += 1
        return _Gradient(self._run, self._run.fresh)

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise Refused(
            f"grad.{name}; known are grad(theta), the gradient of the whole potential on this step's minibatch, its parts "
            "grad.prior(theta) and grad.likelihood(theta), grad.hessian(theta, v), the Hessian there times v, and grad.fresh(), "
            "the same of another minibatch; what else there is no definition for, `sgverify list face` tells with the way on"
        )


def _check_count(what: str, count: int) -> None:
    if count > MOST_CALLS:
        raise Refused(
            f"more than {MOST_CALLS} {what} in one step; expected a formula; end its loop, or sum up what it adds"
        )


def _check_position(name: str, theta: Any) -> None:
    if not isinstance(theta, Abstract) or theta.kind != VECTOR:
        raise Refused(f"{name}() of something that is not a vector; pass the position, e.g. {name}(theta)")


class _Potential:
    """The potential ingredient of a density."""

    def __call__(self, theta: Any) -> Abstract:
        if not isinstance(theta, Abstract) or theta.kind != VECTOR:
            raise Refused("U() of something that is not a vector; pass the position, U(theta)")
        return Abstract(SCALAR, theta.noisy, ("U", theta.mark))


class AbstractMetric:
    """The metric ingredient, G^-1 = B B^T with a matrix B(theta), as an abstract run offers it to a definition."""

    def root(self, theta: Any, vector: Any) -> Abstract:
        """B v."""
        return self._applied("root", theta, vector)

    def transposed(self, theta: Any, vector: Any) -> Abstract:
        """B^T v."""
        return self._applied("transposed", theta, vector)

    def inverse(self, theta: Any, vector: Any) -> Abstract:
        """G^-1 v."""
        return self._applied("inverse", theta, vector)

    def divergence(self, theta: Any) -> Abstract:
        """The vector sum_j d_j (G^-1)_ij."""
        return self._field("divergence", theta, VECTOR)

    def root_divergence(self, theta: Any) -> Abstract:
        """The vector sum_j d_j B_ji."""
        return self._field("root_divergence", theta, VECTOR)

    def diffusion(self, theta: Any) -> Abstract:
        """The matrix G^-1 itself, for the diffusion of a dynamics."""
        return self._field("diffusion", theta, MATRIX)

    def __getattr__(self, name: str) -> NoReturn:
        raise Refused(
            f"metric.{name}; known are root, transposed and inverse of (theta, v), and divergence, root_divergence and "
            "diffusion of theta"
        )

    def _applied(self, name: str, theta: Any, vector: Any) -> Abstract:
        place = self._field(name, theta, VECTOR)
        if not isinstance(vector, Abstract) or vector.kind != VECTOR:
            raise Refused(f"metric.{name}() of something that is not a vector; pass (theta, v)")
        return Abstract(VECTOR, place.noisy or vector.noisy, (name, place.mark, vector.mark))

    def _field(self, name: str, theta: Any, kind: str) -> Abstract:
        if not isinstance(theta, Abstract) or theta.kind != VECTOR:
            raise Refused(f"metric.{name}() at something that is not a vector; pass the position, theta")
        return Abstract(kind, theta.noisy, (name, theta.mark))


class _Run:
    """What a run has asked for; without `minibatches` every gradient is that of all data."""

    def __init__(self, minibatches: bool = True) -> None:
        self.minibatches = minibatches
        self.laws: list[NoiseLaw] = []
        self.gradients = self.hessians = 0
        self.parts = False
        self.fresh = 0
        self.asked: set[tuple[int, ...]] = set()
        """The minibatch and the place of each evaluation."""

    def draw(self, law: NoiseLaw) -> Abstract:
        self.laws.append(law)
        _check_count("draws", len(self.laws))
        return Abstract(VECTOR, True, ("noise", len(self.laws), law.name), drawn=True)


def depends(
    function: Callable[..., Any], shapes: Mapping[str, str], ingredients: Sequence[str], name: str
) -> set[str]:
    """The variables that a step moves by the variable of this name, as far as its formula says."""
    before, _ = _run_once(function, shapes, ingredients)
    after, _ = _run_once(function, shapes, ingredients, name)
    moved = zip(shapes, before, after, strict=True)
    return {other for other, one, changed in moved if _marks(one) != _marks(changed)}


def run_abstractly(
    function: Callable[..., Any], shapes: Mapping[str, str], ingredients: Sequence[str]
) -> tuple[Any, Census]:
    """Run `function` on abstract values; return the values that it returned and the `Census` of its ingredients.

    `shapes` maps its positional parameters to "vector" or "scalar"; `ingredients` are its keywords.
    Raises `DefinitionError`, naming file and line, where the definition breaks the rules of its interface, or computes
    another formula from one run to the next.
    """
    value, census = _run_once(function, shapes, ingredients)
    for _ in range(RUNS - 1):
        again, counted = _run_once(function, shapes, ingredients)
        if (_marks(again), counted) != (_marks(value), census):
            raise DefinitionError(
                f"{where(function)}: `{function.__name__}` is not the same formula at every run; expected a pure "
                "function of its arguments; draw random numbers by noise() only, and read nothing that changes."
            )
    return value, census


def run_noted(
    function: Callable[..., Any], shapes: Mapping[str, str], ingredients: Sequence[str], minibatches: bool
) -> tuple[tuple[Any, ...], set[tuple[int, ...]]]:
    """The state that a step returns, and the minibatch and the marks of the places of every gradient, each once."""
    run = _Run(minibatches)
    value, _ = _run_once(function, shapes, ingredients, run=run)
    return value if isinstance(value, tuple) else (value,), run.asked


def _run_once(
    function: Callable[..., Any],
    shapes: Mapping[str, str],
    ingredients: Sequence[str],
    changed: str = "",
    run: _Run | None = None,
) -> tuple[Any, Census]:
    run = run or _Run()
    given: dict[str, Any] = {name: Abstract(NUMBER, formula=(name,)) for name in ingredients}
    if "grad" in given:
        given["grad"] = _Gradient(run, 0)
    if "noise" in given:
        given["noise"] = Noise(run.draw)
    if "U" in given:
        given["U"] = _Potential()
    if "metric" in given:
        given["metric"] = AbstractMetric()
    try:
        with met() as found:
            state = (Abstract(shape, formula=(name, name == changed)) for name, shape in shapes.items())
            value = function(*state, **given)
    except Refused as refusal:
        raise DefinitionError(f"{where(function, refusal)}: `{function.__name__}` uses {refusal}.") from None
    except SgverifyError as error:
        raise DefinitionError(f"{where(function, error)}: `{function.__name__}`: {error}") from None
    except Exception as error:
        raise DefinitionError(
            f"{where(function, error)}: `{function.__name__}` raised {type(error).__name__}: {error}; "
            f"a definition uses {OURS}, and its ingredients only."
        ) from None
    constants = tuple(dict.fromkeys(found))
    minibatches = len({minibatch for minibatch, *_ in run.asked})
    return value, Census(tuple(run.laws), run.gradients, minibatches, constants, run.hessians, run.parts)


def _marks(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_marks(item) for item in value)
    if isinstance(value, Abstract):
        return value.mark
    return repr(value) if is_exact(value) else type(value)


def check_returned(
    function: Callable[..., Any],
    value: Any,
    shapes: Mapping[str, str],
    zero: bool = False,
    matrices: bool = False,
) -> tuple:
    """The returned state as a tuple, after its length and shapes were checked against `shapes`.

    `zero=True` lets plain numbers stand for constant vectors (drifts and diffusions may be 0), `matrices=True` lets a
    matrix stand where a vector would be the diagonal of one.
    """
    place = where(function)
    names = list(shapes)
    values = value if isinstance(value, tuple) else (value,)
    if len(values) != len(names):
        raise DefinitionError(
            f"{place}: `{function.__name__}` returned {len(values)} value{'s' * (len(values) != 1)}; expected "
            f"{len(names)}: ({', '.join(names)}); return the whole state, changed or not, in this order."
        )
    for name, item in zip(names, values, strict=True):
        if zero and (
            is_exact(item) or (isinstance(item, Abstract) and RANK[item.kind] <= RANK[shapes[name]])
        ):
            continue
        if matrices and isinstance(item, Abstract) and (item.kind, shapes[name]) == (MATRIX, VECTOR):
            continue
        if not isinstance(item, Abstract) or item.kind != shapes[name]:
            got = item.kind if isinstance(item, Abstract) else type(item).__name__
            raise DefinitionError(
                f"{place}: `{function.__name__}` returned a {got} for `{name}`; expected a {shapes[name]}; "
                "check the shape of the expression (dot() gives a scalar, grad() and noise() give vectors)."
            )
    return values


def check_scalar(function: Callable[..., Any], value: Any, what: str) -> None:
    """Refuse a value that is not one number for each state."""
    if isinstance(value, Abstract) and RANK[value.kind] <= RANK[SCALAR]:
        return
    got = f"a {value.kind}" if isinstance(value, Abstract) else type(value).__name__
    raise DefinitionError(
        f"{where(function)}: `{function.__name__}` returned {got} for {what}; expected a scalar (dot() gives one)."
    )


def where(function: Callable[..., Any], error: BaseException | None = None) -> str:
    """'file:line' of the definition, or of the line in it that raised `error`."""
    # A method's function; of an object that is called, its class's.
    function = getattr(function, "__func__", function)
    if not isinstance(function, FunctionType):
        function = vars(type(function)).get("__call__", function)
    if not isinstance(function, FunctionType):
        return "<unknown>"
    code = function.__code__
    line = code.co_firstlineno
    if error is not None:
        for frame in traceback.extract_tb(error.__traceback__):
            if frame.filename == code.co_filename and frame.lineno is not None:
                line = frame.lineno
    return f"{code.co_filename.rsplit('/', 1)[-1]}:{line}"
