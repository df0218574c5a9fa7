"""The keywords of `verify`, `rate` and `sample` that are configuration keys, with their types, for type checkers.

`Configuration` is what validates them; a test holds the names and types here to it. A key of a table is a keyword with two
underscores for the dot. What a target or an estimator of one's own declares beyond these goes into its table,
`target={"name": "mine.py:banana", "freedom": 7}`, or into `config`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

Whole = int | float
"""1e10 is a whole number too."""

Vector = float | Sequence[float]
Rows = Sequence[float] | Sequence[Sequence[float]]
Matrix = float | Rows
"""A number times the identity, a diagonal, or rows."""


class SamplingOverrides(TypedDict, total=False):
    """All keys but the table `target`, which `sample` takes as an object too."""

    temperature: float
    friction: float
    steps: Whole
    chains: Whole
    seed: Whole
    start: Vector
    start_momentum: Literal["zero", "stationary"]
    dtype: Literal["float64", "float32"]
    device: str
    burn_in: Whole
    thinning: Whole
    resample_momentum: Whole | None
    level: float | None
    how_large: Literal["run"] | None
    test_function: str
    metric: str | tuple[tuple[str, ...], ...] | None
    proof_dim: Whole | None

    target__name: str
    target__dim: Whole | None
    target__size: Whole | None
    target__data_seed: Whole | None
    target__data: Any
    target__file: str | None
    target__columns: Sequence[str | int] | None
    target__key: str | None
    target__sha256: str | None
    target__loader: str | None
    target__mode: bool | None
    target__whiten: bool | Literal["diagonal", "dense"] | None
    target__standardise: bool | None
    target__intercept: bool | None
    target__names: Sequence[str] | None
    target__prior_precision: Matrix | None
    target__prior_mean: Vector | None
    target__noise_precision: Matrix | None
    target__precision: Matrix | None
    target__mean: Vector | None
    target__height: float | None
    target__width: float | None
    target__tilt: Vector | None
    target__strength: float | None
    target__weights: Sequence[float] | None
    target__means: Rows | None
    target__scales: Vector | None
    target__shape: Vector | None
    target__rate: Vector | None
    target__alpha: Vector | None
    target__beta: Vector | None
    target__concentration: Vector | None
    target__phi: float | None
    target__sigma: float | None
    target__confinement: float | None
    target__averages: Mapping[str, float] | None

    gradient: Mapping[str, Any]
    gradient__kind: str
    gradient__batch: Whole
    gradient__covariance: Matrix
    gradient__scale: float
    gradient__clip: float | None
    gradient__refresh: Whole | None

    schedule: Mapping[str, Any]
    schedule__kind: Literal["fixed", "horizon", "power", "cyclical", "annealed"]
    schedule__step: float | None
    schedule__scale: float | None
    schedule__alpha: float | None
    schedule__cycles: Whole | None
    schedule__low: float | None
    schedule__threshold: float | None
    schedule__shape: Literal["cosine", "linear"] | None
    schedule__decay: float | None
    schedule__after: Whole | None

    sweep: Mapping[str, Any]
    sweep__steps: Sequence[float] | None
    sweep__lengths: Sequence[Whole] | None

    exchange: Mapping[str, Any] | None
    exchange__ladder: Sequence[float]
    exchange__step_factors: Sequence[float] | None
    exchange__correction: float
    exchange__every: Whole
    exchange__intensity: float | None
    exchange__energies: Literal["minibatch", "exact"] | None
    exchange__variance: Literal["minibatch", "repeated"] | None
    exchange__repeats: Whole
    exchange__smoothing: float
    exchange__refresh: Whole | None
    exchange__momentum: Literal["rescaled", "kept"]

    partition: Mapping[str, Any] | None
    partition__preset: str | None
    partition__low: float | None
    partition__high: float | None
    partition__bins: Whole | None
    partition__edges: Sequence[float] | None
    partition__zeta: float | None
    partition__scale: float | None
    partition__alpha: float | None
    partition__offset: float | None
    partition__weights: Literal["region", "smooth"] | None
    partition__temperature: float | None

    annealing: Mapping[str, Any] | None
    annealing__epoch: Whole | None
    annealing__cooling: float
    annealing__correction: float
    annealing__until: Whole | None

    adapter: Mapping[str, Any] | None
    adapter__dynamics: Literal["langevin", "kinetic", "thermostat"] | None
    adapter__map: Mapping[str, bool | int | float | str]
    adapter__state: Mapping[str, str]
    adapter__gradient: Literal["sum", "mean"] | None
    adapter__density: str | None
    adapter__order: Whole | Mapping[str, int] | None


class Overrides(SamplingOverrides, total=False):
    """All keys."""

    target: Mapping[str, Any]
