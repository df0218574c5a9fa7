"""The configuration of a run: every key, its default and what it may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, create_model, field_validator, model_validator

from sgverify.gradients import ESTIMATORS, GradientEstimator
from sgverify.schemes.composites.adaptation import presets
from sgverify.targets.registry import DEFAULT_TARGET, constant_types, declares_constants, full_name
from sgverify.values import (
    MOST_CHAINS,
    MOST_STEPS,
    Chance,
    Count,
    Exponent,
    Finite,
    Growth,
    Length,
    Positive,
    Rows,
    Share,
    Whole,
)

FALLING = ("horizon", "power")

SCHEDULES: Mapping[str, str] = {
    "fixed": "h = step",
    "horizon": "h = scale L^-alpha, for a run of L steps",
    "power": "h_l = scale l^-alpha",
    "cyclical": "h falls from scale to low in each of so many cycles; Zhang et al. 2020",
    "annealed": "h = scale for the first `after` epochs, then times decay in each; vr-resgld section 5.2",
}
"""The formula of the step sizes, by schedule.kind."""

SCHEDULE_KINDS: Mapping[str, tuple[str, ...]] = {
    "scale": (*FALLING, "cyclical", "annealed"),
    "alpha": FALLING,
    "cycles": ("cyclical",),
    "low": ("cyclical",),
    "threshold": ("cyclical",),
    "shape": ("cyclical",),
    "decay": ("annealed",),
    "after": ("annealed",),
}
"""The kinds of schedules that read a key; `step` is what the scale of every other kind is by default."""

MOST_PROOF_DIMENSION = 4

MOST_REGIONS = 10_000
"""Regions of energies; every chain keeps a weight for each."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Target(_Table):
    """The posterior; which keys apply depends on the name, and its builder checks them. The constants are what targets declare.

    Data are numbers in `data`, or come from `file`: CSV (with or without a header), npy or npz. A relative path counts from
    the configuration file that holds it, else from the working directory. `columns` picks columns by name or number, the
    response last; `key` an array of an npz. `sha256`, of the content, is filled in, so that a replay notices a changed file.
    With `loader`, data of a training script, `name` is the script's loss. `intercept` puts a column of ones before those of a file.
    `whiten` and `standardise` run chains in other coordinates, in which a badly scaled posterior is ordinary; draws are in these.
    `names` are those of the coordinates of theta, by default those of the covariates of a file.
    With `mode` the chains of a torch module start about a mode, which is sought from the module's own parameters.
    """

    model_config = ConfigDict(extra="allow", frozen=True)

    name: str = DEFAULT_TARGET
    dim: Count | None = None
    size: Count | None = None
    data_seed: Annotated[Whole, Field(ge=0)] | None = None
    data: Rows = None
    file: str | None = None
    columns: list[str | int] | None = None
    key: str | None = None
    sha256: str | None = None
    loader: str | None = None
    mode: bool | None = None
    whiten: bool | Literal["diagonal", "dense"] | None = None
    standardise: bool | None = None
    intercept: bool | None = None
    names: list[str] | None = None

    @field_validator("name")
    @classmethod
    def _in_full(cls, name: str) -> str:
        return full_name(name)

    @model_validator(mode="after")
    def _refuse_extra(self) -> Self:
        """Constants that no shipped target declares are those of a user's own or an installed one, which alone knows them."""
        if self.model_extra and not declares_constants(self.name):
            raise ValueError(f"no {', '.join(self.model_extra)} beside name={self.name!r}")
        return self


class _Gradient(_Table):
    """How a step estimates the gradient of U = prior + sum_i likelihood(x_i).

    The estimate is grad prior + scale N/n sum_{i in B} c(grad likelihood(x_i)), all data where the kind is `full` or
    `additive`; c(g) = g min(1, clip/|g|) clips the gradient of one datum to the Euclidean norm `clip`, before any
    scaling (Abadi et al. 2016, Algorithm 1), and is the identity where `clip` is left open. The noise of `additive`
    is added afterwards. `reshuffle` consumes a random permutation of the data in blocks, and then takes another one;
    `symmetric` goes over the blocks forward and backward first (arXiv 2410.19780). `svrg` takes a snapshot s of theta at
    the start of every `refresh`-th step (by default N/n, rounded up), and estimates by the full gradient at s plus
    N/n sum_{i in B} (grad likelihood(x_i) at theta less that at s), B as in `iid` (arXiv 2511.04413). `saga` keeps a table
    of every datum's gradient where it was last drawn in the place of that at s, and `control-variate` the gradients at one
    centre, the target's location (Defazio et al. 2014; Baker et al. 2019).
    """

    kind: Literal[tuple(ESTIMATORS)] = "full"  # type: ignore[valid-type]
    batch: Count = 10

    @property
    def estimator(self) -> GradientEstimator:
        """The gradient estimator of this kind."""
        return ESTIMATORS[self.kind]


def _own_keys(*, of_data: bool) -> dict[str, tuple[Any, Any]]:
    """The keys that estimators declare, of those that draw minibatches or of the others: (type, default)."""
    chosen = [estimator for estimator in ESTIMATORS.values() if estimator.draws_data == of_data]
    return {key: declared for estimator in chosen for key, declared in estimator.own_keys.items()}


if TYPE_CHECKING:

    class TargetTable(_Target):
        """`_Target` with the constants that targets declare."""

        def __init__(self, **given: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

    class GradientTable(_Gradient):
        """`_Gradient` with the keys that estimators declare."""

        def __init__(self, **given: Any) -> None: ...
        def __getattr__(self, name: str) -> Any: ...

else:
    TargetTable = create_model(
        "TargetTable",
        __base__=_Target,
        __module__=__name__,
        **{key: (kind | None, None) for key, kind in constant_types().items()},
        averages=(dict[str, Finite] | None, None),
    )
    GradientTable = create_model(
        "GradientTable",
        __base__=_Gradient,
        __module__=__name__,
        **_own_keys(of_data=False),
        scale=(Positive, 1.0),
        clip=(Positive | None, None),
        **_own_keys(of_data=True),
    )


class ScheduleTable(_Table):
    """The step sizes: `fixed` h = step; `horizon` h = scale L^-alpha; `power` h_l = scale l^-alpha; `cyclical`;
    `annealed`.

    A cyclical step falls from `scale` towards `low` in each of `cycles` cycles of ceil(L/cycles) steps, along half a
    cosine or a line (`shape`); the first `threshold` of a cycle explores and is not averaged over (Zhang et al. 2020).
    Left open they are 4 cycles, 0, 0 and cosine. An annealed step is `scale` for the first `after` epochs of `annealing.epoch`
    steps, and is multiplied by `decay` with each further epoch (vr-resgld section 5.2: 0.984 after 200). Left open: 0.984, 0.
    """

    kind: Literal["fixed", "horizon", "power", "cyclical", "annealed"] = "fixed"
    step: Positive | None = None
    scale: Positive | None = None
    alpha: Exponent | None = None
    cycles: Count | None = None
    low: Share | None = None
    threshold: Annotated[Share, Field(lt=1)] | None = None
    shape: Literal["cosine", "linear"] | None = None
    decay: Annotated[Positive, Field(lt=1)] | None = None
    after: Annotated[Whole, Field(ge=0)] | None = None


class AnnealingTable(_Table):
    """What changes from epoch to epoch of a run, k = 0, 1, ...: T_k = temperature/cooling^k, F_k = F correction^k.

    F is `exchange.correction`. An epoch has `epoch` steps, left open N/n rounded up; an `annealed` schedule has the same epochs.
    After `until` epochs T and F stay as they are. With replica exchange the whole ladder is cooled. vr-resgld section 5.2 prints
    temperature 0.01, cooling 1.02 and F_0 = 1.5e5, not how F follows from F_0: with correction = cooling the terms of log S keep
    their ratio.
    """

    epoch: Count | None = None
    cooling: Growth = 1.0
    correction: Positive = 1.0
    until: Annotated[Whole, Field(ge=0)] | None = None


class SweepTable(_Table):
    """The step sizes and lengths over which a rate is measured."""

    steps: Annotated[list[Positive], Field(min_length=1)] | None = None
    lengths: Annotated[list[Length], Field(min_length=1)] | None = None


class ExchangeTable(_Table):
    """Replica exchange: the temperatures T_k = temperature x ladder_k, and how neighbours swap.

    `step_factors` multiply the step size of each replica, 1 by default. A swap is tried after every `every`-th step, where
    `intensity` r is given only with the chance r h. `correction` is F in log S. `energies`: estimated on a minibatch of
    the size that gradients have (the default where these have one), or `exact`. `variance`: of the difference of two energies,
    from the spread within one minibatch, or over `repeats` of them (the default of one datum). It is measured every `refresh`
    steps and smoothed by `smoothing`; a control variate is refreshed then too. Where `refresh` is left open that is at every
    step, or with control variates every N/n steps. `momentum` moves with theta `rescaled`, or is `kept` in its place.
    """

    ladder: Annotated[list[Positive], Field(min_length=2)] = [1.0, 2.0]
    step_factors: Annotated[list[Positive], Field(min_length=2)] | None = None
    correction: Positive = 2.0
    every: Count = 1
    intensity: Positive | None = None
    energies: Literal["minibatch", "exact"] | None = None
    variance: Literal["minibatch", "repeated"] | None = None
    repeats: Annotated[Whole, Field(ge=2)] = 10
    smoothing: Annotated[Finite, Field(gt=0, le=1)] = 0.1
    refresh: Count | None = None
    momentum: Literal["rescaled", "kept"] = "rescaled"


class PartitionTable(_Table):
    """Adaptively weighted samplers: regions of energies, and how their weights theta adapt (awsgld).

    Regions 1, ..., m lie between `edges` u_0 < ... < u_m, or cut [low, high] into `bins` of one width du; the first and the last
    are open, so that every energy is in one. Left open, low is the least energy found, and high = low + T (d/2 + 4 sqrt(d/2) + 4).
    Step k has omega_k = scale/(k^alpha + offset). `weights` of draws are theta(J)^zeta (`region`) or Psi_theta(U)^zeta (`smooth`,
    linear in log theta inside a region), times exp(-U (1/temperature - 1/T)) where `temperature` is given: averages are then
    those of exp(-U/temperature), though the run is at T. A `preset` has the settings that a paper prints, under their name.
    """

    preset: Literal[tuple(presets())] | None = None  # type: ignore[valid-type]
    low: Finite | None = None
    high: Finite | None = None
    bins: Annotated[Whole, Field(ge=2, le=MOST_REGIONS)] | None = None
    edges: Annotated[list[Finite], Field(min_length=3, max_length=MOST_REGIONS + 1)] | None = None
    zeta: Positive | None = None
    scale: Positive | None = None
    alpha: Annotated[Finite, Field(gt=0.5, le=1)] | None = None
    offset: Share | None = None
    weights: Literal["region", "smooth"] | None = None
    temperature: Positive | None = None


class AdapterTable(_Table):
    """How a sampler of another library is read, where its adapter's conventions (`sgverify list adapters`) are not meant.

    `dynamics` is the equation that it discretises. `map` has its own parameters as expressions in h, T, D, N, n and dim, and
    `state` variables of the dynamics by what it keeps: `--set "adapter.map.lr=h**2" --set "adapter.state.p=buffer/h"`.
    `gradient` is "mean" where it takes the gradient of the mean loss.
    `density` refers to the log density that code with its own loss and data is held against; `order` is the claimed order.
    """

    dynamics: Literal["langevin", "kinetic", "thermostat"] | None = None
    map: dict[str, bool | int | float | str] = {}
    state: dict[str, str] = {}
    gradient: Literal["sum", "mean"] | None = None
    density: str | None = None
    order: Annotated[Whole, Field(ge=1)] | dict[str, int] | None = None


class Configuration(_Table):
    """Everything a check needs besides the scheme; frozen, and complete with defaults.

    `start`: every coordinate of theta starts so many standard deviations of exp(-U/T) from its mean, T the `temperature`. With
    replica exchange a list has one number for each replica of the ladder, the coldest first: `--set start=[2.0,-2.0]`.
    `resample_momentum`: after every so many steps the momentum is drawn anew from N(0, T I); left open, never.
    `how_large`: "run" finds how large the bias is by `chains` chains at h, h/2 and h/4; left open, the law of the chain tells.
    `proof_dim` is the dimension in which local orders are proved; where it is left open the checks choose. `level` is
    the chance of any false violation among the sampled verdicts of one call, which they share (and of a false `conforms` of a
    rate, while a point null says what it would have found); left open it is 0.01.
    """

    temperature: Positive = 1.0
    friction: Positive = 2.0
    steps: Length = 10_000
    chains: Annotated[Whole, Field(ge=2, le=MOST_CHAINS)] = 256
    seed: Annotated[Whole, Field(ge=0, lt=2**63)] = 0
    start: Finite | Annotated[list[Finite], Field(min_length=2)] = 2.0
    start_momentum: Literal["zero", "stationary"] = "zero"
    dtype: Literal["float64", "float32"] = "float64"
    device: Annotated[str, Field(min_length=1)] = "cpu"
    burn_in: Annotated[Whole, Field(ge=0, le=MOST_STEPS)] = 0
    thinning: Length = 1
    resample_momentum: Count | None = None
    level: Chance | None = None
    how_large: Literal["run"] | None = None
    test_function: str = "theta**2"
    metric: str | tuple[tuple[str, ...], ...] | None = None
    proof_dim: Annotated[Whole, Field(ge=1, le=MOST_PROOF_DIMENSION)] | None = None
    target: TargetTable = TargetTable()
    gradient: GradientTable = GradientTable()
    schedule: ScheduleTable = ScheduleTable()
    sweep: SweepTable = SweepTable()
    exchange: ExchangeTable | None = None
    partition: PartitionTable | None = None
    annealing: AnnealingTable | None = None
    adapter: AdapterTable | None = None

    def start_of(self, replica: int = 0) -> float:
        """`start` of one replica, the coldest by default; without replicas all chains have one."""
        return self.start[replica] if isinstance(self.start, list) else self.start

    def on_schedule(self, kind: str) -> Configuration:
        """The configuration with this kind of schedule; keys that only other kinds read are reset to their defaults."""
        given = self.schedule.model_dump(exclude_unset=True)
        kept = {key: value for key, value in given.items() if kind in SCHEDULE_KINDS.get(key, (kind,))}
        return self.model_copy(update={"schedule": ScheduleTable(**{**kept, "kind": kind})})

    def as_dict(self) -> dict[str, Any]:
        """Plain JSON-ready form without the keys that were left open."""
        return self.model_dump(exclude_none=True)
