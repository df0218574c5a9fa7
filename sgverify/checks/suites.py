"""Suites: the schemes and configurations in which a paper's claims are settled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from sgverify.checks.judging import judge
from sgverify.checks.questions import make_subject
from sgverify.checks.sampled_points import with_sampled_points
from sgverify.configuration import load_configuration
from sgverify.errors import find_named
from sgverify.evidence import Evidence
from sgverify.schemes import find_scheme

EFFORTS = ("quick", "default", "full")

SCHEMES = (
    "sgld-euler",
    "sghmc-euler",
    "sghmc-euler-explicit",
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-obabo",
    "sghmc-oabao",
)
"""The integrators of chen2015 and the molecular words that share the letters' dynamics."""

PROVED = ("local-order", "stationarity")
PROVED_OF_WORDS = (*PROVED, "order-equivalence", "constant-equivalence")
"""Checks whose answer no configuration changes; they are run once per scheme."""

PROVED_OF_MINIBATCHES = ("mean-flow",)
"""Checks of symmetric words that speak of minibatches, whatever their kind."""

OF_THE_LAW = ("stationary-bias", "covariance", "wasserstein-2")
"""Checks of the invariant law: a test function, and all of a Gaussian law."""

OF_WEIGHTS = (
    "fixed-point",
    "weight-stability",
    "piecewise-law",
    "energy-noise",
    "weight-mse",
    "chain-average",
    "weighted-average",
)
"""Checks of adaptively weighted samplers that compute."""

DECREASING = {
    "quick": "sweep.lengths=[100, 1000, 10000]",
    "default": "sweep.lengths=[100, 1000, 10000, 100000]",
    "full": "sweep.lengths=[100, 1000, 10000, 100000, 1000000]",
}
"""Lengths of the decreasing schedules, which are computed step by step."""

THERMOSTATS = ("sgnht-euler", "sgnht-aboba")
RIEMANNIAN = ("sgrld-euler", "sgrhmc-euler")
"""Of the dynamics of section 2 that no exact law is known of: what is proved of them holds for every potential."""

BIASED = "gradient.scale=1.1"
"""A gradient that is off by the same share of the likelihood at every step: delta = 0.1 of Theorem 2's second term."""

SAMPLED = ("sgld-euler", "sghmc-euler-explicit", "sghmc-aboba", "sghmc-baoab")
"""The schemes whose exact curves are overlaid with sampled points."""


OF_EXCHANGE = (
    "energy-variance",
    "best-coefficient",
    "swap-balance",
    "exchange-run",
    "swap-rate",
    "swap-bound",
    "exchange-rate",
    "exchange-bound",
)
"""Checks of the rules that replica exchange puts around a scheme."""

OF_TARGETS = ("lipschitz-gradient", "dissipativity", "noise-growth")
"""What both papers on composites assume of the target; asked where their theorems are."""

LADDERS = ("exchange.ladder=[1, 4]", "exchange.ladder=[1, 20]")


@dataclass(frozen=True)
class SuiteCase:
    """One scheme under one configuration, with the checks that are run and how many chains are sampled."""

    scheme: str
    settings: tuple[str, ...]
    checks: tuple[str, ...] = ()
    chains: int = 0

    @cached_property
    def title(self) -> str:
        """What is being settled, for the progress line."""
        return " ".join((self.scheme, *self.settings))

    def run(self) -> list[Evidence]:
        """Judge the scheme; overlay sampled points where chains are asked for."""
        subject = make_subject(self.scheme, load_configuration(None, self.settings))
        evidence = judge(subject, self.checks)
        return with_sampled_points(subject, evidence, self.chains) if self.chains else evidence


def chen2015(effort: str) -> list[SuiteCase]:
    """The Gaussian model of chen2015 section 5 (N = 1000, minibatch 10, theta^2), every claim that it can settle."""
    chains = {"quick": 0, "default": 128, "full": 1024}[effort]
    sampled = ("agreement",) if chains else ()
    cases = []
    for kind in ("full", "iid"):
        gradient = f"gradient.kind={kind}"
        for scheme in SCHEMES:
            proved = _proved(kind, find_scheme(scheme).word is not None)
            shown = chains if scheme in SAMPLED else 0
            cases += [
                SuiteCase(scheme, (gradient,), (*proved, *OF_THE_LAW, *sampled), shown),
                SuiteCase(scheme, (gradient, "schedule.kind=horizon"), ("bias", "mse"), shown),
                SuiteCase(
                    scheme,
                    (gradient, "schedule.kind=power", DECREASING[effort]),
                    ("bias", "mse", "consistency"),
                ),
            ]
    kinetic = [scheme for scheme in SCHEMES if scheme != "sgld-euler"]
    cases += [
        SuiteCase(scheme, ("gradient.kind=full", "test_function=p**2"), ("stationary-bias",))
        for scheme in kinetic
    ]
    cases += [
        SuiteCase(scheme, ("gradient.kind=full",), PROVED_OF_WORDS if find_scheme(scheme).word else PROVED)
        for scheme in (*THERMOSTATS, *RIEMANNIAN)
    ]
    if effort == "full":
        # No exact rung reaches the law of a thermostat, and theorem 4 is asked of samples: half a minute each.
        cases += [SuiteCase(scheme, ("gradient.kind=full",), ("stationary-bias",)) for scheme in THERMOSTATS]
    cases += [
        SuiteCase(scheme, (f"gradient.kind={kind}", BIASED), ("gradient-bias", "bias"))
        for kind in ("full", "iid")
        for scheme in ("sgld-euler", "sghmc-aboba", "sghmc-baoab")
    ]
    for kind in ("without-replacement", "reshuffle"):
        cases += [
            SuiteCase(scheme, (f"gradient.kind={kind}",), ("stationary-bias",))
            for scheme in ("sgld-euler", "sghmc-aboba", "sghmc-baoab")
        ]
    return cases


def awsgld(effort: str) -> list[SuiteCase]:
    """AWSGLD and CSGLD at several zeta, with few and many regions: the claims of awsgld that computation can settle.

    The targets are ours: the paper's energies stand in parts of it that are not at hand. Nothing is sampled for it.
    """
    zetas = ("1", "2", "5") if effort != "quick" else ("1", "5")
    targets = (
        ("target.name=double-well", "temperature=2", "partition.bins=10"),
        ("target.name=gaussian", "target.dim=2", "partition.bins=30"),
    )
    assumed = SuiteCase("awsgld", targets[1], ("lipschitz-gradient", "noise-growth"))
    return [
        assumed,
        *(
            SuiteCase(scheme, (*target, f"partition.zeta={zeta}"), checks)
            for scheme, checks in (("awsgld", OF_WEIGHTS), ("csgld", ("fixed-point",)))
            for target in targets
            for zeta in zetas
        ),
    ]


def vr_resgld(effort: str) -> list[SuiteCase]:
    """The claims of Deng et al. 2021: energies on the Gaussian model, where their noise is linear, swaps on a double well."""
    composites = ("resgld", "vr-resgld", "avr-resgld", "vr-resghmc")
    cases = [SuiteCase(name, ("gradient.kind=iid",), OF_EXCHANGE) for name in composites]
    cases.append(SuiteCase("vr-resgld", ("gradient.kind=iid",), OF_TARGETS))
    cases += [
        SuiteCase(
            "vr-resgld", ("target.name=double-well", f"temperature={temperature}", ladder), ("exchange-rate",)
        )
        for temperature in (1, 0.2)
        for ladder in (LADDERS[:1] if effort == "quick" else LADDERS)
    ]
    cases += [
        SuiteCase(
            "vr-resgld",
            ("gradient.kind=iid", f"exchange.refresh={period}", "start=1000"),
            ("energy-variance",),
        )
        for period in (2, 40)
    ]
    return cases


def _proved(kind: str, word: bool) -> tuple[str, ...]:
    if kind == "full":
        return PROVED_OF_WORDS if word else PROVED
    return PROVED_OF_MINIBATCHES if word else ()


SUITES: dict[str, Callable[[str], list[SuiteCase]]] = {
    "awsgld": awsgld,
    "chen2015": chen2015,
    "vr-resgld": vr_resgld,
}


def find_suite(name: str) -> Callable[[str], list[SuiteCase]]:
    """The suite of a paper; raises `find_named` with the nearest one."""
    return find_named("suite", name, SUITES)


__all__ = ["EFFORTS", "SUITES", "SuiteCase", "awsgld", "chen2015", "find_suite"]
