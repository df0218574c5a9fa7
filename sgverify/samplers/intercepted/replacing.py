"""Which function of standard normal numbers replaces each of torch's random operations?

Every draw is made of one normal number z: z itself, u = Phi(z), -log(1 - Phi(z)), or another quantile function of Phi(z). One
vector of normal numbers therefore determines all draws of a step. Each law is a smooth function of z on the whole axis, with
its singularities at infinity.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import torch
from scipy import special
from torch import Tensor

from sgverify.errors import Unreached


@dataclass(frozen=True)
class DrawLaw:
    """The law of one random number: `kind` is normal, uniform, exponential, gamma, or outcomes.

    Outcome k = 0, 1, ... has the probability `chances[k]`.
    """

    kind: str
    chances: tuple[float, ...] = ()

    @property
    def named(self) -> str:
        """The law as text."""
        return f"one of {len(self.chances)} outcomes" if self.chances else self.kind


NORMAL, UNIFORM, EXPONENTIAL, GAMMA = (
    DrawLaw(kind) for kind in ("normal", "uniform", "exponential", "gamma")
)


def uniform_of(z: Tensor, dtype: torch.dtype) -> Tensor:
    """Phi(z), between torch's least positive and largest uniform numbers; torch's 0, of probability 2^-53, is left out."""
    least = torch.finfo(dtype).eps / 2
    return torch.special.ndtr(z).to(dtype).clamp(least, 1 - least)


def exponential_of(z: Tensor) -> Tensor:
    """-log(1 - Phi(z)), accurate in both tails."""
    return -torch.special.log_ndtr(-z)


def gamma_of(z: Tensor, shape: Tensor) -> Tensor:
    """The quantile at Phi(z) of the gamma law with this shape and rate 1, computed from the nearer tail."""
    number, alpha = z.numpy(), shape.to(torch.float64).detach().numpy()
    lower = special.gammaincinv(alpha, special.ndtr(np.minimum(number, 0.0)))
    upper = special.gammainccinv(alpha, special.ndtr(-np.maximum(number, 0.0)))
    # The value 0 would make a following logarithm infinite; torch never draws it.
    return torch.as_tensor(np.maximum(np.where(number < 0, lower, upper), np.finfo(float).tiny))


def outcome_of(z: Tensor, chances: Tensor) -> Tensor:
    """The outcome k at which the cumulated `chances`, shape (*shape, n), reach Phi(z), z of shape (*shape)."""
    reached = chances.to(torch.float64).cumsum(-1)
    u = torch.special.ndtr(z)[..., None] * reached[..., -1:]
    # An outcome of probability 0 never occurs, not at the ends either.
    return (u > reached[..., :-1]).sum(-1).to(torch.int64)


def numbers_of(law: DrawLaw) -> tuple[np.ndarray, np.ndarray]:
    """For each outcome a normal number that gives it, and the outcomes' probabilities."""
    chances = np.array(law.chances) / sum(law.chances)
    reached = np.concatenate([[0.0], np.cumsum(chances)])
    kept = chances > 0
    middle = np.clip((reached[:-1] + reached[1:]) / 2, 1e-300, 1 - 2.0**-53)
    return special.ndtri(middle)[kept], chances[kept]


def own_units(law: DrawLaw, z: np.ndarray) -> np.ndarray:
    """The draws of a continuous law at the normal numbers z; for a gamma law, whose shape is not recorded, z itself."""
    if law.kind == "uniform":
        return np.asarray(special.ndtr(z))
    if law.kind == "exponential":
        return np.asarray(-special.log_ndtr(-z))
    return z


Draw = Callable[..., Tensor]
"""A source of independent standard normal numbers: `draw(shape, law)`, or `draw(shape, chances=...)` for outcomes."""

MOST_OUTCOMES = 5_040
"""The most outcomes of one draw, 7!, since each is enumerated."""

UNTAGGED = ("random_", "random", "binomial", "_sample_dirichlet")
"""Random operations that torch does not tag as such."""

WHY = {"cauchy_": ", a law without moments: no expectation of a step exists that adds it"}

REPLACED = (
    "normal (randn, normal_, torch.distributions.Normal, ...), uniform (rand, uniform_), exponential, log-normal, gamma and "
    "Dirichlet ones, and choices among few outcomes (bernoulli, randint, multinomial, randperm)"
)


class UnreadableDrawError(Unreached):
    """Raised if the code draws from a law for which there is no quadrature rule here."""

    def __init__(self, operation: str, why: str = "") -> None:
        why = why or WHY.get(operation, "")
        super().__init__(f"it draws by torch's {operation}{why}; replaced are {REPLACED}")
        self.operation = operation


@lru_cache(maxsize=1024)
def is_random(func: Any) -> bool:
    """Does an operation use a random number generator?"""
    return torch.Tag.nondeterministic_seeded in func.tags or name_of(func) in UNTAGGED


@lru_cache(maxsize=1024)
def name_of(func: Any) -> str:
    """The operation's name, such as randn_like."""
    return str(func._schema.name.partition("::")[2])


def replacement(func: Any) -> Callable[[Draw, Mapping[str, Any]], Any] | None:
    """The function of (draw, arguments by name) that replaces a random operation; None if there is none."""
    return _REPLACEMENTS.get(name_of(func))


def arguments_of(func: Any, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of an operation by their names in its schema, defaults included."""
    given = dict(kwargs)
    for place, argument in enumerate(func._schema.arguments):
        if place < len(args):
            given[argument.name] = args[place]
        elif argument.name not in given:
            given[argument.name] = argument.default_value
    return given


def _new(given: Mapping[str, Any]) -> tuple[tuple[int, ...], dict[str, Any]]:
    """The shape of a new tensor, and its dtype and device."""
    like = given.get("self")
    shape = tuple(given["size"] if like is None else like.shape)
    device = given.get("device") or (None if like is None else like.device)
    return shape, {"dtype": _dtype(given) or (None if like is None else like.dtype), "device": device}


def _dtype(given: Mapping[str, Any]) -> torch.dtype | None:
    """The requested dtype; None if the argument is the schema's own default, a number."""
    dtype = given.get("dtype")
    return dtype if isinstance(dtype, torch.dtype) else None


def _into(given: Mapping[str, Any], value: Tensor) -> Tensor:
    out = given.get("out")
    return value if out is None else out.resize_(value.shape).copy_(value)


def _randn(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    shape, kind = _new(given)
    kind["dtype"] = kind["dtype"] or torch.get_default_dtype()
    return _into(given, draw(shape, NORMAL).to(**kind))


def _rand(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    shape, kind = _new(given)
    dtype = kind["dtype"] or torch.get_default_dtype()
    return _into(given, uniform_of(draw(shape, UNIFORM), dtype).to(device=kind["device"]))


def _normal(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    """torch.normal: mean and standard deviation are numbers or tensors; with two numbers a size is given."""
    mean, std = given["mean"], given["std"]
    tensors = [value for value in (mean, std) if isinstance(value, Tensor)]
    if tensors:
        shape = torch.broadcast_shapes(*(value.shape for value in tensors))
        drawn = draw(tuple(shape), NORMAL).to(tensors[0])
    else:
        shape = torch.Size(given["size"])
        dtype = _dtype(given) or torch.get_default_dtype()
        drawn = draw(tuple(shape), NORMAL).to(dtype=dtype, device=given.get("device"))
    return _into(given, mean + std * drawn)


def _in_place(make: Callable[[Draw, Tensor, Mapping[str, Any]], Tensor]) -> Any:
    def replace(draw: Draw, given: Mapping[str, Any]) -> Tensor:
        tensor: Tensor = given["self"]
        return tensor.copy_(make(draw, tensor, given))

    return replace


def _normal_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    return given["mean"] + given["std"] * draw(tuple(tensor.shape), NORMAL).to(tensor)


def _log_normal_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    return (given["mean"] + given["std"] * draw(tuple(tensor.shape), NORMAL)).exp()


def _uniform_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    low, high = given["from"], given["to"]
    return low + (high - low) * uniform_of(draw(tuple(tensor.shape), UNIFORM), tensor.dtype)


def _exponential_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    return exponential_of(draw(tuple(tensor.shape), EXPONENTIAL)) / given["lambd"]


def _gamma(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    shape: Tensor = given["self"]
    return _into(given, gamma_of(draw(tuple(shape.shape), GAMMA), shape).to(shape))


def _dirichlet(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    shares = _gamma(draw, {"self": given["self"]})
    return shares / shares.sum(-1, keepdim=True)


def _chosen(draw: Draw, chances: Tensor) -> Tensor:
    """Random outcomes, shape (*shape), with the probabilities `chances`, shape (*shape, n)."""
    return outcome_of(draw(tuple(chances.shape[:-1]), chances=chances), chances)


def _equally(draw: Draw, shape: tuple[int, ...], count: int, operation: str) -> Tensor:
    if not 1 <= count <= MOST_OUTCOMES:
        raise UnreadableDrawError(
            operation, f" among {count} outcomes, of which {MOST_OUTCOMES} at most are put in"
        )
    return _chosen(draw, torch.full((*shape, count), 1 / count, dtype=torch.float64))


def _coin(draw: Draw, chance: Tensor) -> Tensor:
    chance = chance.detach().to(torch.float64)
    return _chosen(draw, torch.stack([1 - chance, chance], dim=-1))


def _bernoulli(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    like: Tensor = given["self"]
    chance = like if given.get("p") is None else torch.full(like.shape, float(given["p"]))
    return _into(given, _coin(draw, chance).to(like))


def _bernoulli_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    p = given["p"]
    return _coin(draw, p.expand(tensor.shape) if isinstance(p, Tensor) else torch.full(tensor.shape, p))


def _dropout(draw: Draw, given: Mapping[str, Any]) -> tuple[Tensor, Tensor]:
    x, p = given["input"], given["p"]
    if given["train"] is False or p == 0:
        return x.clone(), torch.ones_like(x, dtype=torch.bool)
    mask = _coin(draw, torch.full(x.shape, 1 - p)).to(torch.bool)
    return (x * mask / (1 - p) if p < 1 else torch.zeros_like(x)), mask


def _randint(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    shape, kind = _new(given)
    low, high = int(given.get("low") or 0), int(given["high"])
    dtype = kind["dtype"] or torch.int64
    return _into(
        given, (low + _equally(draw, shape, high - low, "randint")).to(dtype).to(device=kind["device"])
    )


def _random_in(draw: Draw, tensor: Tensor, given: Mapping[str, Any]) -> Tensor:
    low, high = given.get("from", 0), given.get("to")
    if high is None and _of_data_loader():
        # The seed of a generator, all of whose draws are replaced too.
        return torch.zeros_like(tensor)
    if high is None:
        raise UnreadableDrawError("random_", " without bounds")
    return int(low) + _equally(draw, tuple(tensor.shape), int(high) - int(low), "random_")


def _of_data_loader() -> bool:
    """Is it torch's own loader of data that draws, and no code of a user that it calls?"""
    frame: Any = sys._getframe(1)
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        if name.startswith("torch.utils.data."):
            return True
        if not name.startswith(("torch.", "sgverify.samplers.intercepted")) and name != "torch":
            return False
        frame = frame.f_back
    return False


def _randperm(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    n = int(given["n"])
    if n > 7:
        raise UnreadableDrawError(
            "randperm", f" of {n}: {n}! outcomes, of which {MOST_OUTCOMES} at most are put in"
        )
    orders = list(itertools.permutations(range(n)))
    found = orders[int(_equally(draw, (), len(orders), "randperm"))]
    return _into(given, torch.tensor(found, dtype=_dtype(given) or torch.int64))


def _multinomial(draw: Draw, given: Mapping[str, Any]) -> Tensor:
    weights: Tensor = given["self"].detach().to(torch.float64)
    chances = weights / weights.sum(-1, keepdim=True)
    taken, n = int(given["num_samples"]), weights.shape[-1]
    if given["replacement"] or taken == 1:
        shape = (*weights.shape[:-1], taken)
        return _into(given, _chosen(draw, chances[..., None, :].expand(*shape, n)))
    if math.perm(n, taken) > MOST_OUTCOMES:
        raise UnreadableDrawError("multinomial", f" of {taken} among {n}, without replacement")
    # Each ordered selection without replacement is one outcome.
    orders = torch.tensor(list(itertools.permutations(range(n), taken)))
    each = chances[..., orders]
    left = 1 - each.cumsum(-1) + each
    return _into(given, orders[_chosen(draw, (each / left.clamp(min=1e-300)).prod(-1))])


_REPLACEMENTS: dict[str, Any] = {
    "randn": _randn,
    "randn_like": _randn,
    "rand": _rand,
    "rand_like": _rand,
    "normal": _normal,
    "normal_": _in_place(_normal_in),
    "log_normal_": _in_place(_log_normal_in),
    "uniform_": _in_place(_uniform_in),
    "exponential_": _in_place(_exponential_in),
    "_standard_gamma": _gamma,
    "_sample_dirichlet": _dirichlet,
    "bernoulli": _bernoulli,
    "bernoulli_": _in_place(_bernoulli_in),
    "native_dropout": _dropout,
    "randint": _randint,
    "randint_like": _randint,
    "random_": _in_place(_random_in),
    "randperm": _randperm,
    "multinomial": _multinomial,
}
