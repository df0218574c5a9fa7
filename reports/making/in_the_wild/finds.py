"""The finds of the suite in released libraries: the line, its mend, what is expected by which formula, and what follows from it.

Nothing here is a verdict. Whether a sampler is refuted, and whether it is with the line mended, is computed by
`reports.making.in_the_wild.making`; a find that is not refuted, or is still refuted with its lines mended, is not shown as one.
No text here says what a default is: `{lr}` stands for "the default of 0.01", which is read from the library's signature.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Edit = tuple[str, str, str]
"""The place "module:Qualified.name" of a function, a text of it, and the text in its place."""

State = Literal["open", "known", "fixed on master"]
"""Where a find stands in the library's repository: neither reported nor mended, reported, mended there and in no release."""


@dataclass(frozen=True, kw_only=True)
class Upstream:
    """The state of a find where the library is developed, and the day on which it was looked up."""

    state: State
    seen: str
    checked: str = "2026-11-28"


def _unreported(seen: str) -> Upstream:
    return Upstream(state="open", seen=f"{seen}; no report of it was found")


_POSTERIORS = _unreported("in 0.1.3, the newest release, and on main at 7692042 (2025-10-09)")
_DEVINTERP = _unreported(
    "in 2.0.1, the newest release, and in 1.3.2, the newest public source that was found (main at a646b9d, 2025-01-24)"
)
_BLACKJAX = _unreported("in 1.7.1, the newest release; the branch main was not read")
_SGMCMCJAX = _unreported("in 0.2.13, the newest release, and on master at cb90097 (2023-10-23)")
_JAX_SGMC = _unreported("in 0.1.5, the newest release, and on main at 5f5fd46 (2024-07-20)")


@dataclass(frozen=True, kw_only=True)
class Find:
    """One defect: counted once, whichever samplers share it.

    `judged` are the samplers, as (reference, settings, checks), in which the tool is to find it by the checks `by`. `predicted` is
    what the reproduction of this name must find by the library's own line, by a calculation of its own. `weight` says where
    it matters, `time_scale` after how many steps it shows; a `slight` one moves no average that anybody would see. `patch`
    mends what is no function's text. Finds of one `root` are one mistake in several places. Samplers that have the same mistake
    and others too, so that they are refuted with this one mended, are in `shared_by`.
    """

    name: str
    library: str
    title: str
    judged: tuple[tuple[str, tuple[str, ...]], ...]
    by: tuple[str, ...]
    edits: tuple[Edit, ...]
    expected: str
    weight: str
    time_scale: str
    upstream: Upstream
    predicted: Callable[[], float]
    tolerance: float = 1e-9
    slight: bool = False
    root: str = ""
    shared_by: tuple[str, ...] = ()
    patch: Callable[[], AbstractContextManager[None]] | None = None


DTYPE = "a number in another precision than the state's"
"""The root of the finds of the check `dtype`."""

_DECAY = float(np.float32(math.exp(-0.01 * 1e-5)))
"""exp(-alpha lr) as baoa rounds it to float32."""


def _baoa_float32(start: float = math.inf, steps: float = math.inf) -> float:
    """The variance of baoa's momentum in the limit, zeta^2/(1 - c^2) in float32; with a start, after a number of steps."""
    limit = (1 - float(np.float32(math.exp(-2 * 0.01 * 1e-5)))) / (1 - _DECAY**2)
    return limit if math.isinf(steps) else limit + (start - limit) * _DECAY ** (2 * steps)


_FLOOR = 1e-8
"""The least variance of the noise of TorchUncertainty's SGHMC."""


def _formula(V: float) -> float:
    """The variance of the noise by the formula at the mean squared gradient V, with the options as the signature has them."""
    lr, friction, noise_factor = 1e-2, 0.05, 1e-2
    return (2 * lr**2 * friction / math.sqrt(V) - lr**4) * noise_factor**2


_BINDS = (2 * 1e-2**2 * 0.05 / (_FLOOR / 1e-2**2 + 1e-2**4)) ** 2
"""The V at which the formula gives the floor."""


def _thermostat() -> float:
    """The rise of alpha in both halves with |v| over that with v.v; v after the first half is drawn as the library draws it."""
    import jax

    key = jax.random.split(jax.random.PRNGKey(0), 1)[0]
    alpha = 0.05 * (2.0 - 1)
    c1 = math.exp(-alpha * 0.1)
    v = c1 * 2.0 + math.sqrt((1 - c1**2) / (2 * alpha)) * float(jax.random.normal(key, (1,), "float32")[0])
    return (2.0 - 1 + abs(v) - 1) / (2.0**2 - 1 + v**2 - 1)


_OWN = "dataclasses.field(default_factory=lambda: torch.tensor(0))"


@contextmanager
def _own_counters() -> Iterator[None]:
    """A context in which each new state of posteriors has a log posterior and a counter of its own."""
    from posteriors.sgmcmc import sghmc, sgld

    kinds = {sgld.SGLDState: ("params",), sghmc.SGHMCState: ("params", "momenta")}
    held = {kind: kind.__init__ for kind in kinds}

    def fresh(own: Any, names: tuple[str, ...]) -> Any:
        fields = (*names, "log_posterior", "step")

        def init(self: Any, *given: Any, **more: Any) -> None:
            import torch

            starts = {"log_posterior": torch.tensor(torch.nan), "step": torch.tensor(0)}
            missing = set(fields[len(given) :]) - more.keys()
            own(self, *given, **more, **{name: starts[name] for name in starts if name in missing})

        return init

    for kind, names in kinds.items():
        kind.__init__ = fresh(held[kind], names)
    try:
        yield
    finally:
        for kind, own in held.items():
            kind.__init__ = own


FINDS = (
    Find(
        name="posteriors_baoa_float32",
        library="posteriors",
        title="baoa computes its friction and its noise in float32",
        judged=(
            ("posteriors:baoa", ("target.name=gaussian", "friction=0.01", "schedule.step=1e-5")),
            ("posteriors:baoa", ()),
        ),
        by=("dtype", "stationary-bias"),
        edits=(
            (
                "posteriors.sgmcmc.baoa:update",
                "gamma = torch.tensor(alpha * prec)",
                "gamma = torch.tensor(alpha * prec, dtype=torch.float64)",
            ),
        ),
        expected=(
            "m' = exp(-eps gamma) m + N(0, zeta^2 sigma^2), zeta^2 = T (1 - exp(-2 gamma eps)): the momentum's "
            "stationary variance is zeta^2/(1 - exp(-2 gamma eps)) = T (docstring of "
            "posteriors.sgmcmc.baoa.build)"
        ),
        weight=(
            "Where alpha * lr is near the rounding of float32, 6e-8. With alpha at {alpha} and lr = 1e-5 "
            "the momentum, and with it theta, has the variance 0.75 T; at lr = 1e-6 both exponentials round to 1 "
            "and no noise is left. At lr = 1e-3 the error is below 1 %. It occurs with float64 parameters as "
            "well, since torch.tensor makes float32."
        ),
        time_scale=(
            f"1/(alpha lr) = {1 / (0.01 * 1e-5):.0e} steps, in which the momentum forgets its start ({1 / (1 - _DECAY):.2g} by the "
            f"rounded line). From the variance 1, in units of T, it is {_baoa_float32(1, 1e5):.3f} after 1e5 steps, "
            f"{_baoa_float32(1, 1e6):.3f} after 1e6, {_baoa_float32(1, 1e7):.3f} after 1e7, and 0.75 in the limit"
        ),
        upstream=_POSTERIORS,
        root=DTYPE,
        predicted=_baoa_float32,
        tolerance=1e-6,
    ),
    Find(
        name="posteriors_xi_zero",
        library="posteriors",
        title="sgnht.build(xi=0.0) starts the thermostat at alpha",
        judged=(("posteriors:sgnht", ()),),
        by=("pure-step",),
        edits=(("posteriors.sgmcmc.sgnht:build", "xi=xi or alpha", "xi=alpha if xi is None else xi"),),
        expected=(
            'a chain that is built with xi = 0.0 starts at xi = 0.0 (docstring of init: "Initial value for scalar '
            'thermostat")'
        ),
        weight=(
            "The start only: the invariant law is right, and the difference of at most alpha is forgotten. "
            "blackjax's `sgnht(...).init(..., init_xi=0.0)` has the same expression (blackjax/sgmcmc/sgnht.py, "
            "`init_xi or alpha`), which was read."
        ),
        time_scale=(
            "the first steps: a step moves xi by lr (mean of p^2 - T), which at lr = 0.1 and T = 1 is more than the 0.01 that it "
            "was off"
        ),
        upstream=_POSTERIORS,
        predicted=lambda: float(np.float32(0.01)),
    ),
    Find(
        name="posteriors_shared_tensors",
        library="posteriors",
        title="steps in place write to the counter and the log posterior of every other chain",
        judged=(("posteriors:sgld_in_place", ()), ("posteriors:sghmc_in_place", ())),
        by=("pure-step",),
        edits=(
            ("posteriors.sgmcmc.sgld:SGLDState", "step: Tensor = torch.tensor(0)", f"step: Tensor = {_OWN}"),
            (
                "posteriors.sgmcmc.sghmc:SGHMCState",
                "step: torch.Tensor = torch.tensor(0)",
                f"step: torch.Tensor = {_OWN}",
            ),
        ),
        patch=_own_counters,
        expected="a new chain has taken no step: state.step = 0, whatever other chains do",
        weight=(
            "With update(..., inplace=True) and several chains in one process. Position and momentum are right; "
            "what a schedule of lr or temperature reads, state.step, is the sum over all chains. TensorDict warns"
            " of such shared first values, and will copy them from 0.17 on."
        ),
        time_scale="the first step in place of another chain",
        upstream=_POSTERIORS,
        predicted=lambda: 5.0,
    ),
    Find(
        name="devinterp_sgnht",
        library="devinterp",
        title=(
            "SGMCMC.sgnht is SGLD with noise of variance 2 A: momentum and thermostat do not enter the step"
        ),
        judged=(("devinterp:sgnht", ()),),
        by=("stationary-bias", "settings"),
        edits=(
            (
                "devinterp.optim.preconditioner:NHTPreconditioning.get_coefficients",
                "noise_coef=torch.sqrt(torch.tensor(2.0 * self.diffusion_factor))",
                "noise_coef=1.0",
            ),
        ),
        expected=(
            "Delta theta = -(lr/2) nbeta grad L + sqrt(lr) N(0, s^2) samples exp(-nbeta L/s^2): s = 1 (docstring "
            "of SGMCMC). With a thermostat the momentum and xi would carry the noise (Ding et al. 2014, Algorithm"
            " 2, which the class SGNHT has)"
        ),
        weight=(
            "At all settings: `grad_correction`, which holds the friction, is computed by NHTPreconditioning and "
            "read nowhere in SGMCMC.step, and the momentum never changes. The law that is sampled has 2 * "
            "diffusion_factor times the intended variance: 0.02 with {diffusion_factor}. The deprecated class SGNHT is "
            "right. The mend shown makes the step SGLD, which tells that the noise is all that is off; a "
            "thermostat needs the momentum in the step."
        ),
        time_scale="each step",
        upstream=_DEVINTERP,
        predicted=lambda: 2 * 0.01,
        tolerance=0.02,
    ),
    Find(
        name="devinterp_float32_noise",
        slight=True,
        library="devinterp",
        title="noise is drawn in float32 for float64 parameters",
        judged=(("devinterp:sgld", ()),),
        by=("dtype",),
        edits=(
            (
                "devinterp.optim.sgmcmc:SGMCMC.step",
                "size=d_p.size(),",
                "size=d_p.size(), dtype=d_p.dtype,",
            ),
        ),
        expected="N(0, sigma^2) in the precision of the parameters",
        weight=(
            "Slight: each draw is rounded by 3e-8 of itself, and no average is moved by more. SGLD and SGNHT, "
            "deprecated, draw alike. For parameters in bfloat16 float32 draws are finer than needed."
        ),
        time_scale="each step; it does not add up",
        upstream=_DEVINTERP,
        root=DTYPE,
        predicted=lambda: 1.0,
    ),
    Find(
        name="torch_uncertainty_noise_floor",
        library="torch-uncertainty",
        title="SGHMC: a floor takes the place of the formula of its noise where gradients are large",
        judged=(
            (
                "torch_uncertainty:sghmc",
                ("target.name=gaussian", "temperature=1e-4", "friction=5.0", "schedule.step=0.01"),
            ),
            ("torch_uncertainty:sghmc", ()),
        ),
        by=("stationary-bias", "settings", "local-order"),
        edits=(("torch_uncertainty.optim.sghmc:SGHMC.step", "min=1e-8 / noise_factor**2", "min=0.0"),),
        expected=(
            "N(0, 2 eps^2 V^(-1/2) friction - eps^4) (Springenberg et al. 2016, equation (10)), times "
            "noise_factor"
        ),
        weight=(
            f"Where the mean squared gradient V of a parameter is above {_BINDS:.2g}, with {{lr}} of lr, {{friction}} of friction "
            "and {noise_factor} of noise_factor: the variance of the noise, and with it that of theta, is then about "
            f"10 sqrt(V) times that of the formula, {_FLOOR / _formula(0.1):.3g} at V = 0.1 and {_FLOOR / _formula(1.0):.3g} at "
            "V = 1. Where V is smaller, as that of the mean of a loss may be, the floor does nothing, and the noise is that of "
            "the formula. The V at which it begins falls like lr^4, so that the limit lr -> 0, by which the sampler is judged, "
            "is not that of the formula."
        ),
        time_scale=(
            "each step; V follows the squared gradients for {burn_in_steps} of burn_in_steps and stays as it is from then on"
        ),
        upstream=Upstream(
            state="open",
            seen=(
                "in 0.13.0, the newest release, and on main at 0d0df2b (2026-01-28); no report of it was found. The step has "
                'the comment "TODO: Check this implementation"'
            ),
        ),
        predicted=lambda: _FLOOR / _formula(1.0),
        tolerance=0.02,
    ),
    Find(
        name="blackjax_refreshed_momentum",
        library="blackjax",
        title="sghmc draws new momenta at the temperature 1, whatever `temperature` is",
        judged=(("blackjax:sghmc", ()),),
        by=("invariant-order", "settings"),
        edits=(
            (
                "blackjax.sgmcmc.sghmc:build_kernel",
                "momentum = generate_gaussian_noise(rng_key, position)",
                "momentum = generate_gaussian_noise(rng_key, position, sigma=temperature**0.5)",
            ),
        ),
        expected=(
            "p ~ N(0, T I) under exp(-(U + p.p/2)/T) (Chen, Fox and Guestrin 2014, Algorithm 2, tempered)"
        ),
        weight=(
            "Where temperature is not {temperature}. With alpha at {alpha} and num_integration_steps at "
            "{num_integration_steps} the momentum keeps what was drawn, so that positions have about the variance of T = 1: at "
            "T = 4 a fourth of the due."
        ),
        time_scale=(
            "each call of step, which begins with a new momentum: friction would bring its variance to T in "
            "1/(2 alpha step_size) steps, which is more than a call takes"
        ),
        upstream=_BLACKJAX,
        predicted=lambda: 1.0,
        tolerance=0.02,
    ),
    Find(
        name="blackjax_promotes_float32",
        slight=True,
        library="blackjax",
        title="with jax_enable_x64, float32 positions become float64 after one step",
        judged=(("blackjax:sgld", ()),),
        by=("dtype",),
        edits=(
            (
                "blackjax.util:generate_gaussian_noise",
                "mu + linear_map(sigma, sample)",
                "mu + sigma * sample",
            ),
        ),
        expected=(
            "the noise has the dtype of the position, as the docstring of linear_map promises of its second "
            "argument"
        ),
        weight=(
            "Slight: only where jax_enable_x64 is set and positions are float32 on purpose; more precise, not "
            "less. A lax.scan over such a state is refused by JAX, for its types change."
        ),
        time_scale="the first step",
        upstream=_BLACKJAX,
        root=DTYPE,
        predicted=lambda: 64.0,
    ),
    Find(
        name="sgmcmcjax_baoab_kernel",
        library="SGMCMCJax",
        title=(
            "the kernels of splittings never move the position: the second half takes the place of the first"
        ),
        judged=(("sgmcmcjax:baoab", ()),),
        by=("local-order",),
        edits=(
            (
                "sgmcmcjax.kernels:build_baoab_kernel",
                "init_diff, (update_diff1, update_diff1), get_p_diff",
                "init_diff, (update_diff1, update_diff2), get_p_diff",
            ),
            (
                "sgmcmcjax.kernels:build_baoab_kernel",
                "init_diff,\n        (update_diff1, update_diff1),",
                "init_diff,\n        (update_diff1, update_diff2),",
            ),
        ),
        expected=(
            "BAOAB: v += h/2 g; x += h/2 v; v = e^(-gamma h) v + ...; x += h/2 v; v += h/2 g (Leimkuhler and "
            "Matthews 2013)"
        ),
        weight=(
            "At all settings of build_baoab_kernel, build_badodab_kernel and build_badodabCV_kernel, and of the "
            "samplers made of them: `(update_diff1, update_diff1) = ...` keeps the last of the two halves, a "
            "kick; x stays at its start. The diffusions themselves have both halves."
        ),
        time_scale="the first step",
        upstream=Upstream(
            state="fixed on master",
            seen=(
                "reported as issue 69 (2023-09-07) and mended by pull request 70, on master at cb90097 (2023-10-23), in "
                "build_baoab_kernel and build_badodab_kernel; 0.2.13, the newest release, is older. Still open: "
                "build_badodabCV_kernel is as it was on master, and pull request 71, which mends it, is not merged"
            ),
        ),
        shared_by=("sgmcmcjax:badodab",),
        predicted=lambda: 1.0,
    ),
    Find(
        name="sgmcmcjax_baoab_tau",
        library="SGMCMCJax",
        title="baoab multiplies its noise by tau, not by its root",
        judged=(("sgmcmcjax:baoab_diffusion", ()),),
        by=("local-order", "settings"),
        edits=(("sgmcmcjax.diffusions:baoab", "tau * c2 *", "jnp.sqrt(tau) * c2 *"),),
        expected="v = c1 v + sqrt(tau (1 - c1^2)) N(0, 1) (Leimkuhler and Matthews 2013): v ~ N(0, tau)",
        weight="Where tau is not {tau}: the law that is sampled has the temperature tau^2.",
        time_scale="each step; the law of v has the temperature tau^2 after 1/(2 gamma dt) steps",
        upstream=_SGMCMCJAX,
        predicted=lambda: 16.0,
        tolerance=0.02,
    ),
    Find(
        name="sgmcmcjax_badodab_thermostat",
        library="SGMCMCJax",
        title="badodab drives its thermostat by |v| where v.v is due",
        judged=(("sgmcmcjax:badodab_diffusion", ()),),
        by=("local-order",),
        edits=(
            (
                "sgmcmcjax.diffusions:badodab",
                "x = x + dt2 * v\n        alpha = alpha + (dt2 / mu) * (jnp.linalg.norm(v) - v.size)",
                "x = x + dt2 * v\n        alpha = alpha + (dt2 / mu) * (jnp.linalg.norm(v) ** 2 - v.size)",
            ),
            (
                "sgmcmcjax.diffusions:badodab",
                "shape=jnp.shape(v))\n\n        alpha = alpha + (dt2 / mu) * (jnp.linalg.norm(v) - v.size)",
                "shape=jnp.shape(v))\n\n        alpha = alpha + (dt2 / mu) * (jnp.linalg.norm(v) ** 2 - v.size)",
            ),
        ),
        expected="d alpha = (v.v - n kT)/mu dt (Leimkuhler and Shang 2016)",
        weight=(
            "At all settings: the thermostat holds E|v| = n instead of E v.v = n. In one dimension E|v| = 1 is a "
            "variance near pi/2; in n dimensions E|v| = n asks for a variance near n."
        ),
        time_scale="each step, in which alpha moves by dt (|v| - n) where dt (v.v - n) is due",
        upstream=_SGMCMCJAX,
        shared_by=("sgmcmcjax:badodab",),
        predicted=_thermostat,
        tolerance=1e-5,
    ),
    Find(
        name="jax_sgmc_friction_noise",
        library="jax-sgmc",
        title="friction_leapfrog multiplies its noise by the friction, not by its root",
        judged=(("jax_sgmc:sghmc", ()),),
        by=("local-order", "settings"),
        edits=(
            (
                "jax_sgmc.integrator:friction_leapfrog",
                "scaled_noise = tree_multiply(friction, scaled_noise)",
                "scaled_noise = tree_multiply(tree_util.tree_map(jnp.sqrt, friction), scaled_noise)",
            ),
        ),
        expected="p' = (1 - h C) p - h grad U + N(0, 2 C h) (Chen, Fox and Guestrin 2014)",
        weight=(
            "Where friction is not 1 and no noise model is given: the momentum's temperature is the friction. With "
            "{friction}, between refreshments, the momentum is heated a fourth of what friction cools it."
        ),
        time_scale=(
            "each step between two refreshments; the momentum's temperature comes to the friction C in 1/(2 h C) steps, of "
            "which a trajectory has {steps}"
        ),
        upstream=_JAX_SGMC,
        predicted=lambda: (1 - 0.04) ** 2 + 4.0**2 * 2 * 0.01,
        tolerance=0.02,
    ),
    Find(
        name="jax_sgmc_swaps_inverted",
        library="jax-sgmc",
        title="parallel_tempering exchanges its chains where the swap is rejected",
        judged=(("jax_sgmc:tempering", ()),),
        by=("swap-balance",),
        edits=(("jax_sgmc.solver:parallel_tempering", "log_u < log_s,", "log_u >= log_s,"),),
        expected=(
            "two chains at T1 < T2 are exchanged with the probability min(1, exp((1/T1 - 1/T2)(U1 - U2))), for energies "
            "without noise (Deng et al. 2020, arXiv 2008.05367, which the docstring cites)"
        ),
        weight=(
            "Wherever it is used: lax.cond takes its first branch, which leaves the chains as they are, where log_u < log_s. "
            "Chains are exchanged with the probability 1 - min(1, exp(...)), and never where the cold chain has the "
            "higher energy, so that the samples are not those of the cold posterior."
        ),
        time_scale="each swap that is tried",
        upstream=_JAX_SGMC,
        predicted=lambda: 1 - min(1.0, math.exp((1 / 1.0 - 1 / 2.0) * (9.0 - 1.0))),
    ),
)
