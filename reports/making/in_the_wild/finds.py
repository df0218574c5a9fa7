"""What the suite found in released libraries: the line, its mend, what is expected by which formula, and what follows from it.

Nothing here is a verdict. Whether a sampler is refuted, and whether it is with the line mended, is computed by
`reports.making.in_the_wild.making`; a find that is not refuted, or is still refuted with its lines mended, is not shown as one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

Edit = tuple[str, str, str]
"""The place "module:Qualified.name" of a function, a text of it, and the text in its place."""


@dataclass(frozen=True, kw_only=True)
class Find:
    """One defect: counted once, whichever samplers share it.

    `judged` are the samplers, as (reference, settings, checks), in which the tool is to find it by the checks `by`. `predicted` is
    what the reproduction of this name must find by the library's own line, by a calculation of its own. `weight` says where
    it matters; a `slight` one moves no average that anybody would see. `patch` mends what is no function's text.
    """

    name: str
    library: str
    title: str
    judged: tuple[tuple[str, tuple[str, ...]], ...]
    by: tuple[str, ...]
    edits: tuple[Edit, ...]
    expected: str
    weight: str
    predicted: Callable[[], float]
    tolerance: float = 1e-9
    slight: bool = False
    patch: Callable[[], AbstractContextManager[None]] | None = None


def _baoa_float32() -> float:
    """zeta^2/(1 - c^2), the exponentials rounded to float32 as the line rounds them."""
    noise = 1 - float(np.float32(math.exp(-2 * 0.01 * 1e-5)))
    decay = float(np.float32(math.exp(-0.01 * 1e-5)))
    return noise / (1 - decay**2)


def _floor() -> float:
    """The square of the floor 1e-4 of the noise over its formula, 2 lr^2 friction - lr^4 times noise_factor^2."""
    lr, friction, factor = 1e-2, 0.05, 1e-2
    return (
        max(2 * lr**2 * friction - lr**4, 1e-8 / factor**2)
        * factor**2
        / ((2 * lr**2 * friction - lr**4) * factor**2)
    )


def _thermostat() -> float:
    """alpha after both halves with |v| where v.v is due; v after the first half is drawn as the library draws it."""
    import jax

    key = jax.random.split(jax.random.PRNGKey(0), 1)[0]
    alpha = 0.05 * (2.0 - 1)
    c1 = math.exp(-alpha * 0.1)
    v = c1 * 2.0 + math.sqrt((1 - c1**2) / (2 * alpha)) * float(jax.random.normal(key, (1,))[0])
    return alpha + 0.05 * (abs(v) - 1)


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
            "Where alpha * lr is near the rounding of float32, 6e-8. At alpha = 0.01 (the default) and lr = 1e-5 "
            "the momentum, and with it theta, has the variance 0.75 T; at lr = 1e-6 both exponentials round to 1 "
            "and no noise is left. At lr = 1e-3 the error is below 1 %. It occurs with float64 parameters as "
            "well, since torch.tensor makes float32."
        ),
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
            'a chain that is built with xi = 0.0 starts at xi = 0.0 (docstring: "xi: Initial value for scalar '
            'thermostat. Defaults to `alpha`")'
        ),
        weight=(
            "The start only: the invariant law is right, and the difference of at most alpha is forgotten. "
            "blackjax's `sgnht(...).init(..., init_xi=0.0)` has the same expression (blackjax/sgmcmc/sgnht.py, "
            "`init_xi or alpha`), which was read."
        ),
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
            " of such shared defaults, and will copy them from 0.17 on."
        ),
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
            "diffusion_factor = 0.02 times the intended variance at the default. The deprecated class SGNHT is "
            "right. The mend shown makes the step SGLD, which tells that the noise is all that is off; a "
            "thermostat needs the momentum in the step."
        ),
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
        predicted=lambda: 1.0,
    ),
    Find(
        name="torch_uncertainty_noise_floor",
        library="torch-uncertainty",
        title="SGHMC: the floor of its noise is above the noise of its formula, at its defaults too",
        judged=(
            (
                "torch_uncertainty:sghmc",
                ("target.name=gaussian", "temperature=1e-4", "friction=5.0", "schedule.step=0.01"),
            ),
            ("torch_uncertainty:sghmc", ()),
        ),
        by=("stationary-bias", "settings", "local-order"),
        edits=(("sgverify_torch_uncertainty_sghmc:SGHMC.step", "min=1e-8 / noise_factor**2", "min=0.0"),),
        expected=(
            "N(0, 2 eps^2 V^(-1/2) friction - eps^4) (Springenberg et al. 2016, equation (10)), times "
            "noise_factor"
        ),
        weight=(
            "Where 2 lr^2 friction noise_factor^2 is below 1e-8. At the defaults (lr = 1e-2, friction = 0.05, "
            "noise_factor = 1e-2, V = 1) the variance of the noise is 10 times that of the formula, and the same "
            "factor goes into the variance of theta; as lr -> 0 it grows without bound."
        ),
        predicted=_floor,
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
            "Where temperature is not 1 (its default). With the default alpha = 0.01 and 10 steps the momentum "
            "keeps what was drawn, so that positions have about the variance of T = 1: at T = 4 a fourth of the "
            "due."
        ),
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
        weight="Where tau is not 1 (its default): the law that is sampled has the temperature tau^2.",
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
            "Where friction is not 1 (the default is 0.25) and no noise model is given: the momentum's "
            "temperature is the friction. At the default, between refreshments, the momentum is heated a fourth "
            "of what friction cools it."
        ),
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
        predicted=lambda: 1 - min(1.0, math.exp((1 / 1.0 - 1 / 2.0) * (9.0 - 1.0))),
    ),
)
