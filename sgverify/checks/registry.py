"""Which checks are there: those that ship with sgverify, and those of other distributions?"""

from __future__ import annotations

from typing import Any

from sgverify.checks.check import Check
from sgverify.errors import find_named
from sgverify.plugins import Catalogue, Plugin, of_type


def find_check(name: str) -> Check:
    """The check of this name; raises `UnknownNameError` with the nearest known one."""
    return find_named("check", name, CHECKS)


def _read(plugin: Plugin, found: Any) -> Check:
    of_type(plugin, found, Check)
    check: Check = found
    if check.name != plugin.name:
        raise plugin.refused(f"the check calls itself {check.name!r}")
    return check


SHIPPED: dict[str, Check] = {
    check.name: check
    for check in (
        Check(
            "long-run",
            "long_run.long_run:check_long_run",
            "what one step cannot see",
            black_box="long_run.long_run:check_long_run",
            stepless=True,
            torch_any_gradient=True,
        ),
        Check(
            "local-order",
            "order.local_order:check_local_order",
            "chen2015 Definition 1, equation (2)",
            black_box="order.black_box:black_box_order",
            stepless=True,
            reads="definition",
            positive=True,
            any_gradient=True,
            every_step=True,
        ),
        Check(
            "invariant-order",
            "order.invariant_order:check_invariant_order",
            "Abdulle, Vilmart, Zygalakis 2014, equation (19)",
            black_box="order.black_box:black_box_invariance",
            torch_any_gradient=True,
            reads="definition",
        ),
        Check(
            "order-equivalence",
            "order.splittings:check_order_equivalence",
            "chen2015 section 4",
            stepless=True,
            reads="definition",
            about="paper",
            any_gradient=True,
            every_step=True,
        ),
        Check(
            "constant-equivalence",
            "order.splittings:check_constant_equivalence",
            "chen2015 section 4",
            stepless=True,
            reads="definition",
            about="paper",
            any_gradient=True,
            every_step=True,
        ),
        Check(
            "stationary-bias",
            "rates.stationary_bias:check_stationary_bias",
            "chen2015 Theorem 4",
            black_box="rates.torch_law:torch_bias",
            sampled="rates.sampled.rates:sampled_stationary_bias",
            reads="definition",
            positive_states=True,
        ),
        Check(
            "covariance",
            "rates.invariant_law:check_covariance",
            "chen2015 Theorem 4",
            black_box="rates.torch_law:torch_covariance",
            reads="definition",
        ),
        Check(
            "wasserstein-2",
            "rates.invariant_law:check_wasserstein",
            "chen2015 Theorem 4",
            black_box="rates.torch_law:torch_wasserstein",
            reads="definition",
        ),
        Check(
            "bias",
            "rates.finite_time:check_bias",
            "chen2015 Theorems 2 and 5",
            black_box="rates.torch_lengths:torch_length_rate",
            sampled="rates.sampled.rates:sampled_error",
            along_schedule=True,
            reads="definition",
            positive_states=True,
        ),
        Check(
            "gradient-bias",
            "rates.gradient_bias:check_gradient_bias",
            "chen2015 Theorem 2",
            reads="definition",
        ),
        Check(
            "mse",
            "rates.finite_time:check_mse",
            "chen2015 Theorems 3 and 5",
            black_box="rates.torch_lengths:torch_length_rate",
            sampled="rates.sampled.rates:sampled_error",
            along_schedule=True,
            reads="definition",
            positive_states=True,
        ),
        Check(
            "consistency",
            "rates.finite_time:check_consistency",
            "chen2015 Corollary 6",
            black_box="rates.torch_lengths:torch_length_rate",
            along_schedule=True,
            reads="definition",
            positive_states=True,
        ),
        Check(
            "mean-flow",
            "order.splittings:check_mean_flow",
            "chen2015 Theorem 14",
            universal=True,
            stepless=True,
            about="paper",
            every_step=True,
        ),
        Check(
            "stationarity",
            "order.stationarity:check_stationarity",
            "chen2015 appendix A; Ma, Chen, Fox 2015",
            universal=True,
            stepless=True,
            reads="dynamics",
            positive=True,
            any_gradient=True,
            every_step=True,
        ),
        Check(
            "own-gradient",
            "code.own_gradient:check_own_gradient",
            "what rates cannot see",
            any_gradient=True,
            positive_states=True,
        ),
        Check(
            "pure-step",
            "code.pure_step:check_pure_step",
            "one definition, several readings",
            black_box="code.pure_step:check_pure_step",
            any_gradient=True,
            positive_states=True,
        ),
        Check(
            "own-loss",
            "order.own_loss:check_own_loss",
            "what a density apart from the code shows",
            black_box="order.own_loss:check_own_loss",
            stepless=True,
            torch_any_gradient=True,
        ),
        Check(
            "settings",
            "settings.other_settings:check_settings",
            "what one setting cannot see",
            black_box="settings.other_settings:check_settings",
            torch_any_gradient=True,
        ),
        Check(
            "switches",
            "settings.switches:check_switches",
            "what one setting cannot see",
            black_box="settings.switches:check_switches",
            any_gradient=True,
        ),
        Check(
            "dtype",
            "code.dtype_audit:check_dtype",
            "one definition, several readings",
            black_box="code.dtype_audit:check_dtype",
            any_gradient=True,
            positive_states=True,
        ),
        Check(
            "swap-balance",
            "exchange.balance:check_swap_balance",
            "deng2021 equation (6)",
            black_box="exchange.torch_swap:torch_swap_balance",
            composite=True,
        ),
        Check(
            "fixed-point",
            "weights.limit:check_fixed_point",
            "awsgld lemma 5",
            universal=True,
            composite=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "weight-stability",
            "weights.limit:check_weight_stability",
            "awsgld lemma 1",
            universal=True,
            composite=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "piecewise-law",
            "weights.laws:check_piecewise_law",
            "awsgld lemma 3",
            universal=True,
            composite=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "energy-noise",
            "weights.laws:check_energy_noise",
            "awsgld lemma 4",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check("weight-mse", "weights.limit:check_weight_mse", "awsgld theorem 1", composite=True),
        Check(
            "chain-average",
            "weights.laws:check_chain_average",
            "awsgld lemma 6",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check("weighted-average", "weights.laws:check_weighted_average", "awsgld theorem 2", composite=True),
        Check(
            "energy-variance",
            "exchange.energy_variance:check_energy_variance",
            "vr-resgld Lemma 1",
            composite=True,
        ),
        Check(
            "best-coefficient",
            "exchange.swap_rate:check_best_coefficient",
            "vr-resgld, below equation (3)",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check(
            "swap-rate",
            "exchange.swap_rate:check_swap_rate",
            "vr-resgld Lemma 2",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check(
            "swap-bound",
            "exchange.swap_rate:check_swap_bound",
            "vr-resgld Lemma D4",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check(
            "exchange-rate",
            "exchange.rate:check_exchange_rate",
            "vr-resgld Theorem 1, equation (2)",
            composite=True,
        ),
        Check(
            "exchange-bound",
            "exchange.rate:check_exchange_bound",
            "vr-resgld Theorems 2 and 3",
            universal=True,
            composite=True,
            about="paper",
        ),
        Check(
            "poisson-bound",
            "assumptions.diffusion:check_poisson_bound",
            "chen2015 Assumption 1, appendix C",
            stepless=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "step-conditions",
            "assumptions.target:check_step_conditions",
            "chen2015 Assumption 2",
            stepless=True,
            about="paper",
            any_gradient=True,
            every_step=True,
        ),
        Check(
            "bounded-derivatives",
            "assumptions.diffusion:check_bounded_derivatives",
            "chen2015 Assumption 3",
            stepless=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "backward-equation",
            "assumptions.diffusion:check_backward_equation",
            "chen2015 Definition 11",
            stepless=True,
            about="paper",
            any_gradient=True,
        ),
        Check(
            "lipschitz-gradient",
            "assumptions.target:check_lipschitz_gradient",
            "deng2021 Assumption 1, deng2022 Assumption A2",
            composite=True,
            stepless=True,
            about="paper",
        ),
        Check(
            "dissipativity",
            "assumptions.target:check_dissipativity",
            "deng2021 Assumption 2",
            composite=True,
            stepless=True,
            about="paper",
        ),
        Check(
            "noise-growth",
            "assumptions.target:check_noise_growth",
            "deng2021 Assumption 3, deng2022 Assumption A4",
            composite=True,
            stepless=True,
            about="paper",
        ),
    )
}

CHECKS: Catalogue[Check] = Catalogue("checks", SHIPPED, _read)
"""Every check by name: those that ship, then those of other distributions."""
