"""The libraries and samplers that are judged, and which of them are installed."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from sgverify.papers.suites import SuiteCase

SAMPLERS = "reports.making.in_the_wild.samplers"
"""The package in which each library has a module."""

AFFINE = ("local-order", "stationary-bias", "settings", "pure-step", "dtype")
"""The checks of samplers on JAX whose step is affine on a Gaussian target: a minute each, where all would take many."""

REFRESHED = ("invariant-order", "settings", "pure-step", "dtype")
"""The checks of a sampler that draws new momenta, of whose law positions alone are left."""

CODE = ("local-order", "pure-step", "dtype")
"""The checks of steps that are not affine, a thermostat's on JAX and signs of uniform draws: the chain's law takes long to read."""

SWAPS = ("swap-balance",)
"""The check of replica exchange whose chains take the steps of a sampler that is judged itself."""


@dataclass(frozen=True)
class ReleasedSampler:
    """A sampler by its reference, under settings, with the checks that are asked (none: all that apply)."""

    reference: str
    settings: tuple[str, ...] = ()
    checks: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleasedLibrary:
    """A distribution, the packages that its samplers import, and the samplers."""

    distribution: str
    packages: tuple[str, ...]
    samplers: tuple[ReleasedSampler, ...]

    @property
    def release(self) -> str | None:
        """The installed release; None where the library, or JAX for one that needs it, is not installed."""
        if any(find_spec(package) is None for package in self.packages):
            return None
        try:
            return version(self.distribution)
        except PackageNotFoundError:
            return None

    @property
    def cases(self) -> list[SuiteCase]:
        """The samplers, each under its settings."""
        return [SuiteCase(item.reference, item.settings, item.checks) for item in self.samplers]


def _all(module: str, *names: str, checks: tuple[str, ...] = ()) -> tuple[ReleasedSampler, ...]:
    return tuple(ReleasedSampler(f"{SAMPLERS}.{module}:{name}", (), checks) for name in names)


SMALL_STEP = ("target.name=gaussian", "friction=0.01", "schedule.step=1e-5")
"""The default friction of several libraries, at a small learning rate."""

AT_ITS_FLOOR = ("target.name=gaussian", "temperature=1e-4", "friction=5.0", "schedule.step=0.01")
"""lr = h = 0.01, friction = h D = 0.05 and noise_factor = sqrt(T) = 0.01, as TorchUncertainty's SGHMC has them, at V = 1."""

LIBRARIES = (
    ReleasedLibrary(
        "posteriors",
        ("posteriors",),
        (
            *_all("posteriors", "sgld", "sghmc", "sgnht", "baoa"),
            ReleasedSampler(f"{SAMPLERS}.posteriors:baoa", SMALL_STEP, ("stationary-bias", "dtype")),
            *_all("posteriors", "sgld_in_place", "sghmc_in_place", "sglrw", checks=CODE),
        ),
    ),
    ReleasedLibrary("torch-sgld", ("torch_sgld",), _all("torch_sgld", "sgld", "sghmc")),
    ReleasedLibrary(
        "devinterp",
        ("devinterp",),
        (*_all("devinterp", "sgld", "sgnht", "old_sgld"), *_all("devinterp", "old_sgnht", checks=CODE)),
    ),
    ReleasedLibrary(
        "torch-uncertainty",
        ("torch_uncertainty",),
        (
            *_all("torch_uncertainty", "sgld", "sghmc"),
            ReleasedSampler(f"{SAMPLERS}.torch_uncertainty:sghmc", AT_ITS_FLOOR, ("stationary-bias",)),
        ),
    ),
    ReleasedLibrary("sghmc", ("sghmc",), _all("sghmc", "sghmc")),
    ReleasedLibrary(
        "blackjax",
        ("jax", "blackjax"),
        (
            *_all("blackjax", "sgld", "sghmc_step", checks=AFFINE),
            *_all("blackjax", "sghmc", checks=REFRESHED),
            *_all("blackjax", "sgnht", checks=CODE),
        ),
    ),
    ReleasedLibrary(
        "SGMCMCJax",
        ("jax", "sgmcmcjax"),
        (
            *_all("sgmcmcjax", "sgld", "sghmc", "baoab", "baoab_diffusion", checks=AFFINE),
            *_all("sgmcmcjax", "sgnht", "badodab", "badodab_diffusion", checks=CODE),
        ),
    ),
    ReleasedLibrary(
        "jax-sgmc",
        ("jax", "jax_sgmc"),
        (
            *_all("jax_sgmc", "sgld", "sghmc", "obabo", "leapfrog", checks=AFFINE),
            *_all("jax_sgmc", "tempering", checks=SWAPS),
        ),
    ),
)
"""In the order in which a report shows them."""
