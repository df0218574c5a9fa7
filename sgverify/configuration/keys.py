"""What is each configuration key? One clause for each, which `sgverify list config` and the documentation show."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from sgverify.configuration.model import SCHEDULE_KINDS, Configuration
from sgverify.gradients import READERS

MEANINGS: Mapping[str, str] = {
    "temperature": "T, of the density exp(-U/T)",
    "friction": "D, of dynamics with a momentum",
    "steps": "L, the number of steps that an average is taken over",
    "chains": "independent chains of a sampled run",
    "seed": "seed of every random number",
    "start": "first theta, in standard deviations of exp(-U/T) from its mean; a list has one number for each replica",
    "start_momentum": "first momentum, 0 or drawn from N(0, T I)",
    "dtype": "floating-point numbers that the samplers compute with",
    "device": "torch device that the samplers run on",
    "burn_in": "first steps that are left out of averages and draws",
    "thinning": "every so many steps one is averaged over, or drawn",
    "resample_momentum": "steps after which the momentum is drawn anew from N(0, T I); left open, never",
    "level": "chance of any false violation among the sampled verdicts of one call; left open, 0.01",
    "how_large": "`run` finds how large the bias is by coupled chains at h, h/2 and h/4; left open, the law of the chain tells",
    "test_function": "polynomial in theta and p whose averages are judged",
    "metric": "matrix G(theta) of a Riemannian dynamics, as formulas in theta",
    "proof_dim": "dimension in which local orders are proved; left open, the checks choose",
    "target.name": "target of the catalogue, or FILE.py:NAME",
    "target.dim": "coordinates of theta",
    "target.size": "N, the number of data that are generated",
    "target.data_seed": "seed of the generated data",
    "target.data": "the data themselves",
    "target.file": "file of the data, as CSV, npy, npz or parquet",
    "target.columns": "columns of the file, by name or counted from 0, the response last",
    "target.key": "array of an npz file",
    "target.sha256": "hash of the file's content, which refuses a changed file",
    "target.loader": "FILE.py:NAME of a training script's data loader; target.name is then its loss",
    "target.mode": "start chains of a torch module about a mode, found by Adam and L-BFGS from the module's parameters",
    "target.whiten": "run chains in theta = m + A z, A from the Hessian at the mode, diagonal or dense",
    "target.standardise": "run chains in the coefficients of covariates of mean 0 and standard deviation 1",
    "target.intercept": "a column of ones before the covariates of the file",
    "target.names": "names of the coordinates of theta, for tables, draws and pictures",
    "target.prior_precision": "precision of the normal prior of theta",
    "target.prior_mean": "mean of the normal prior of theta",
    "target.noise_precision": "precision of the noise of a datum",
    "target.precision": "precision of the Gaussian; of a double well, that of the coordinates beside the wells",
    "target.mean": "mean of the Gaussian",
    "target.height": "height of the barrier between the wells",
    "target.width": "distance of the wells from 0",
    "target.tilt": "slope that makes the modes differ",
    "target.strength": "factor of theta^4/4",
    "target.weights": "shares of the mixture's components",
    "target.means": "means of the mixture's components",
    "target.scales": "standard deviations of the mixture's components",
    "target.degrees_of_freedom": "of Student's t, the law of a residual",
    "target.shape": "shape of the gamma prior",
    "target.rate": "rate of the gamma prior",
    "target.alpha": "first parameter of the beta prior",
    "target.beta": "second parameter of the beta prior",
    "target.concentration": "parameters of the Dirichlet prior",
    "target.phi": "sum of the two means",
    "target.sigma": "standard deviation of the components",
    "target.confinement": "strength of the wall around the box",
    "target.averages": "averages under exp(-U/T) that are known, by test function",
    "gradient.kind": "estimator of the gradient",
    "gradient.batch": "n, the data of a minibatch",
    "gradient.covariance": "covariance of the noise that is added",
    "gradient.scale": "factor of the likelihood's part of the gradient; other than 1, a biased gradient",
    "gradient.clip": "largest Euclidean norm of one datum's gradient; left open, none",
    "gradient.refresh": "steps between two snapshots; left open, N/n rounded up",
    "schedule.kind": "how the step size depends on the number of the step",
    "schedule.step": "h; left open, half of the scheme's stability limit on the target",
    "schedule.scale": "C of h = C L^-alpha and h_l = C l^-alpha, or the first step of other schedules; left open, as schedule.step",
    "schedule.alpha": "exponent with which steps decrease; left open, the claim's best one",
    "schedule.cycles": "number of cycles; left open, 4",
    "schedule.low": "step at a cycle's end; left open, 0",
    "schedule.threshold": "first share of a cycle that is not averaged over; left open, 0",
    "schedule.shape": "way down within a cycle; left open, a cosine",
    "schedule.decay": "factor of the step in each further epoch; left open, 0.984",
    "schedule.after": "epochs with the first step; left open, 0",
    "sweep.steps": "step sizes that a rate in h is shown at; left open, halvings of schedule.step",
    "sweep.lengths": "lengths L that a rate in L is shown at; left open, powers of 10",
    "exchange.ladder": "temperatures of the replicas, in units of `temperature`",
    "exchange.step_factors": "step size of each replica, in units of the schedule's; left open, 1",
    "exchange.correction": "F, by which the variance of the energies is divided in the correction of a swap",
    "exchange.every": "steps between two tries to swap",
    "exchange.intensity": "r; a swap is tried with the chance r h; left open, always",
    "exchange.energies": "energies of a swap, of a minibatch or of all data; left open, as the gradient",
    "exchange.variance": "how the variance of the energies is estimated, within one minibatch or over several",
    "exchange.repeats": "minibatches that the variance is estimated from",
    "exchange.smoothing": "weight of the newest estimate of the variance",
    "exchange.refresh": "steps between two estimates of the variance; left open, every step, or N/n with control variates",
    "exchange.momentum": "momentum of a swapped state, scaled to its new temperature or kept",
    "partition.preset": "settings that a paper prints",
    "partition.low": "lower end of the regions of energies; left open, the least energy found",
    "partition.high": "upper end of the regions of energies; left open, from T and the dimension",
    "partition.bins": "number of regions of one width",
    "partition.edges": "ends of the regions, in the place of low, high and bins",
    "partition.zeta": "power of the weights that flattens the energies",
    "partition.scale": "numerator of the step size of the weights, scale/(k^alpha + offset)",
    "partition.alpha": "exponent of the weights' step size",
    "partition.offset": "offset of the weights' step size",
    "partition.weights": "weights of draws, constant in a region or linear in between",
    "partition.temperature": "temperature that averages are reweighted to; left open, that of the run",
    "annealing.epoch": "steps of an epoch; left open, N/n rounded up",
    "annealing.cooling": "factor by which T falls from epoch to epoch",
    "annealing.correction": "factor of F from epoch to epoch",
    "annealing.until": "epochs after which T and F stay; left open, never",
    "adapter.dynamics": "equation that the sampler discretises; left open, as its adapter says",
    "adapter.map": "the sampler's own parameters, as expressions in h, T, D, N, n and dim",
    "adapter.state": "variables of the dynamics, as expressions in what the sampler keeps",
    "adapter.gradient": "loss whose gradient the sampler takes, of all data or their mean; left open, as its options say",
    "adapter.density": "log density that code with a loss of its own is held against",
    "adapter.order": "order that is claimed of the sampler",
}
"""By dotted name; a constant that only a target of somebody else declares has none."""


# The keys of a configuration as rows: the type of each, its default, and the kinds that read it.


KINDS_OF_TABLES: Mapping[str, Mapping[str, tuple[str, ...]]] = {
    "gradient": READERS,
    "schedule": SCHEDULE_KINDS,
}

_WORDS = {float: "number", int: "whole number", str: "text", bool: "true or false"}
_BOUNDS = {
    "gt": "above {:g}",
    "ge": "{:g} or more",
    "lt": "below {:g}",
    "le": "at most {:g}",
    "min_length": "{} or more",
    "max_length": "at most {}",
}


@dataclass(frozen=True)
class Key:
    """A dotted key, its type in words, its default as TOML has it, or "left open", and the kinds that read it, () for all."""

    name: str
    type: str
    default: str
    kinds: tuple[str, ...] = ()

    @property
    def meaning(self) -> str:
        """A clause that says what the key is; "" of a constant that only somebody else's target declares."""
        return MEANINGS.get(self.name, "")

    @property
    def table(self) -> str:
        """The table that it is in, "" at the top."""
        return self.name.rpartition(".")[0]


def keys() -> list[Key]:
    """Every key that a configuration may have, in the order of the tables."""
    return list(_keys(Configuration, ""))


def _keys(table: type[BaseModel], name: str) -> Iterator[Key]:
    for key, field in table.model_fields.items():
        inner = next((part for part in _options(field.annotation) if _is_table(part)), None)
        if inner is not None:
            yield from _keys(inner, key)
            continue
        shown = "left open" if field.default is None else json.dumps(field.default)
        kinds = KINDS_OF_TABLES.get(name, {}).get(key, ())
        what = _type(field.annotation, field.metadata)
        yield Key(f"{name}.{key}".lstrip("."), what, shown, tuple(kinds))


def _is_table(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _options(annotation: Any) -> list[Any]:
    """The parts of a union, None left out."""
    if get_origin(annotation) not in (Union, UnionType):
        return [annotation]
    return [part for part in get_args(annotation) if part is not NoneType]


def _type(annotation: Any, metadata: Iterable[Any] = ()) -> str:
    """A type in words, such as "whole number, 1 or more" or "list of (number, above 0)"."""
    options = _options(annotation)
    if len(options) > 1 or options[0] is not annotation:
        return " or ".join(dict.fromkeys(_type(part, metadata) for part in options))
    if get_origin(annotation) is Annotated:
        inside, *own = get_args(annotation)
        return _type(inside, (*own, *metadata))
    arguments = get_args(annotation)
    match get_origin(annotation):
        case origin if origin is Literal:
            return " | ".join(json.dumps(choice) for choice in arguments)
        case origin if origin in (list, tuple):
            what = f"list of ({_type(arguments[0])})"
        case origin if origin is dict:
            what = f"table of ({_type(arguments[1])})"
        case _:
            what = _WORDS[annotation]
    return what if what == "text" else ", ".join([what, *_limits(metadata)])


def _limits(metadata: Iterable[Any]) -> list[str]:
    flat = [item for one in metadata for item in (one.metadata if isinstance(one, FieldInfo) else [one])]
    return [
        text.format(getattr(item, name))
        for item in flat
        for name, text in _BOUNDS.items()
        if getattr(item, name, None) is not None
    ]
