"""How large the bias is by a run: the scheme itself at h, h/2 and h/4, coupled by one Brownian path.

With X_0 the limit of a moment, X(h) = X_0 + a h^K + b h^(K+1) + ..., K the power that is proved. Three step sizes determine X_0,
and X(h) - X_0 is the bias. Chains on one path stay close to each other, so that differences are known far better than the moments
themselves. Errors are from the spread between chains, plus the difference to what the two finest step sizes say of X_0 with one
power alone, which is of the size of what is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sgverify.advice.size.model import below
from sgverify.errors import ConfigurationError, InstabilityError, Unreached
from sgverify.subject.subject import Subject

HALVINGS = 3
"""Step sizes h, h/2, h/4."""

SETTLING = 4
"""The first of so many parts of a run is left out of its averages."""

INDEPENDENT = 20
"""The fewest independent draws that the averages of one chain hold: else chains still remember their common start."""


@dataclass(frozen=True)
class Moment:
    """(x_i - centre)^power of one variable, for each state of a run."""

    variable: str
    place: int
    power: int
    centre: float = 0.0

    @property
    def variables(self) -> tuple[str, ...]:
        """See `ObservedFunctions`."""
        return (self.variable,)

    def __call__(self, values: Any) -> Any:
        """The value at states, shape (*batch, d) -> (*batch)."""
        return (values[..., self.place] - self.centre) ** self.power


@dataclass(frozen=True, eq=False)
class CoupledBias:
    """Biases of mean and standard deviation at h, in standard deviations of exp(-U/T), and their errors. Shapes (d,).

    A constant c is that of the leading term, c h^K.
    `momentum` are the second moments of each momentum at h, None without one; `autocorrelation` the steps that an independent draw
    costs, of the coordinate that forgets most slowly.
    """

    mean: np.ndarray
    mean_error: np.ndarray
    mean_constant: np.ndarray
    sd: np.ndarray
    sd_error: np.ndarray
    sd_constant: np.ndarray
    momentum: np.ndarray | None
    autocorrelation: float


def coupled_bias(subject: Subject, order: int) -> CoupledBias:
    """The biases by the configured chains and steps. Raises `InstabilityError` where a chain diverges, or remembers its start."""
    # Torch takes a while to load, and most answers need no run.
    from sgverify.samplers.run.averages import sample
    from sgverify.samplers.run.schedules import Fixed, Row
    from sgverify.samplers.run.settings import Settings

    configuration, dim = subject.configuration, subject.target.dim
    T, length = float(configuration.temperature), configuration.steps
    if length < SETTLING * SETTLING:
        raise ConfigurationError(
            f"steps={length}: a run that tells how large the bias is takes {SETTLING**2} steps or more"
        )
    centre = subject.target.location_float64(T)
    rows = [
        Row(Fixed(subject.step / 2**k), (length * 2**k,), length * 2**k // SETTLING) for k in range(HALVINGS)
    ]
    observables = [Moment("theta", i, power, float(centre[i])) for power in (1, 2) for i in range(dim)]
    if "p" in subject.scheme.dynamics.state:
        observables += [Moment("p", i, 2) for i in range(dim)]
    normal = all(law.normal for law in subject.scheme.laws)
    settings = Settings.of(
        configuration,
        coupled="brownian" if normal else False,
        start=0.0,
        start_momentum="stationary",
        thinning=1,
    )
    found = sample(subject.scheme, subject.target, rows, observables=observables, settings=settings)
    if not found.complete:
        raise KeyboardInterrupt
    if any(found.diverged):
        raise InstabilityError(f"h={subject.step:g}: a chain of the run diverges")
    values = found.values[:, :, 0]
    read = _read(values[:dim], values[dim : 2 * dim], values[2 * dim :, 0], order, length, subject.step)
    if length < INDEPENDENT * read.autocorrelation:
        raise InstabilityError(
            f"chains of {length} steps are too short, an independent draw costs {read.autocorrelation:.2g}; take --set "
            f"steps={below(2 * INDEPENDENT * read.autocorrelation):.2g}"
        )
    return read


def _read(
    first: np.ndarray, second: np.ndarray, momentum: np.ndarray, order: int, length: int, step: float
) -> CoupledBias:
    """From each chain's averages of theta_i - c and its square, shape (d, rows, chains), and of p_i^2 at h, (d, chains)."""
    chains = first.shape[-1]
    mean = first.mean(-1)
    sd = np.sqrt(second.mean(-1) - mean**2)
    # What each chain adds to the standard deviation of its row, to first order.
    parts = (second - 2 * mean[..., None] * first) / (2 * sd[..., None])
    steps = 0.5 ** np.arange(HALVINGS)
    three, power, _ = np.linalg.inv(np.stack([steps**0, steps**order, steps ** (order + 1)], axis=1))
    two = np.array([0.0, -1.0, 2.0**order]) / (2**order - 1)
    at_zero = sd @ three

    def bias(values: np.ndarray, rest: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Of the first row, in units of the target's; `rest` is what each chain adds, shape (d, chains)."""
        apart = np.abs(values @ (three - two))
        noise = rest.std(-1, ddof=1) / np.sqrt(chains)
        found = (values[:, 0] - values @ three, 2 * noise + apart, values @ power / step**order)
        return (found[0] / at_zero, found[1] / at_zero, found[2] / at_zero)

    here = np.array([1.0, 0.0, 0.0])
    means = bias(mean, np.einsum("irc,r->ic", first, here - three))
    ratio = sd[:, 0] / at_zero
    spread = np.einsum("irc,ir->ic", parts, here - ratio[:, None] * three)
    widths = bias(sd, spread)
    kept = length - length // SETTLING
    forgets = float((first[:, 0].var(-1, ddof=1) * kept / sd[:, 0] ** 2).max())
    return CoupledBias(*means, *widths, momentum.mean(-1) if len(momentum) else None, forgets)


def proved_power(subject: Subject) -> int:
    """The power of h below which the bias has no terms for any smooth potential; 1 with noisy gradients and for thermostats."""
    from sgverify.checks.rates.leading_bias import proved_order

    # A thermostat's proof takes longer than its run, and a power that is too small only takes more chains.
    if subject.configuration.gradient.estimator.noisy or not subject.scheme.dynamics.usual:
        return 1
    try:
        return max(1, proved_order(subject))
    except Unreached:
        return 1
