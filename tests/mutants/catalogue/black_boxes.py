"""Bugs of published samplers in plain torch code, which no definition and no symbol describes."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

HERE = "tests.mutants.torch_code"


def bug(name: str, step: str, was: str, now: str, **rest: Any) -> Mutant:
    """A bug in the text of a torch step."""
    place = f"{HERE}:{step}"
    return Mutant(name=name, family="torch code", scheme=place, place=place, was=was, now=now, **rest)


MUTANTS = (
    bug(
        "torch-sgld-noise-by-h",
        "sgld",
        "(2 * T * h) ** 0.5 * noise",
        "h * (2 * T) ** 0.5 * noise",
        reason="the step size is given as the scale of a normal law",
        source="blei-lab/edward issue 722",
        cause="diffusion-power-of-h",
    ),
    bug(
        "torch-sgld-temperature-missing",
        "sgld",
        "(2 * T * h) ** 0.5",
        "(2 * h) ** 0.5",
        reason="the temperature never reaches the noise",
        cause="temperature-missing",
    ),
    bug(
        "torch-sgld-noise-drawn-once",
        "sgld",
        "noise = torch.randn_like(theta)",
        "noise = KEPT.setdefault('noise', torch.randn_like(theta))",
        reason="the noise of the first call serves all calls",
        source="rlouf/blog-benchmark-rwmetropolis pull request 1 (a key used again)",
        cause="noise-reused",
    ),
    bug(
        "torch-sgld-quiet-every-third",
        "sgld",
        "noise = torch.randn_like(theta)",
        "noise = torch.randn_like(theta) * (KEPT.setdefault('calls', torch.zeros(())).add_(1) % 3 != 0)",
        reason="a count of the calls switches the noise off at every third of them",
        cause="state-kept",
    ),
    bug(
        "torch-sgld-overwrites-state",
        "sgld",
        "return theta - h * gradient + (2 * T * h) ** 0.5 * noise",
        "return theta.sub_(h * gradient).add_((2 * T * h) ** 0.5 * noise)",
        reason="the step overwrites the state that it was given, which may be another chain's",
        source="posteriors, inplace",
        cause="state-kept",
    ),
    bug(
        "torch-sgld-noise-clamped-at-3",
        "sgld",
        "noise = torch.randn_like(theta)",
        "noise = torch.randn_like(theta).clamp(-3, 3)",
        reason="outliers are cut off: the variance lacks half a percent, whatever the step size",
        cause="noise-law",
    ),
    bug(
        "torch-sgld-noise-beyond-5-thrown-away",
        "sgld",
        "return theta - h * gradient + (2 * T * h) ** 0.5 * noise",
        "return theta - h * gradient + (2 * T * h) ** 0.5 * noise * (noise.abs() < 5)",
        reason="outliers are thrown away: the variance lacks 1.5e-5",
        cause="noise-law",
    ),
    bug(
        "torch-sgld-signs-off-the-middle",
        "sgld_of_signs",
        "drawn > 0",
        "drawn > 0.3",
        reason="a threshold off the median: the noise has a mean",
        cause="noise-law",
    ),
    bug(
        "torch-sgld-signs-of-wrong-width",
        "sgld_of_signs",
        "torch.ones_like(drawn), -torch.ones_like(drawn)",
        "torch.ones_like(drawn) / 2, -torch.ones_like(drawn) / 2",
        reason="a half step to either side for a whole one",
        cause="diffusion-scaled",
    ),
    bug(
        "torch-sgld-box-muller-without-2",
        "sgld_box_muller",
        "-2 * torch.log1p",
        "-torch.log1p",
        reason="the 2 of Box and Muller's radius is lost: the noise has half its variance",
        cause="diffusion-scaled",
    ),
    bug(
        "torch-sgld-box-muller-half-turn",
        "sgld_box_muller",
        "2 * torch.pi",
        "torch.pi / 2",
        reason="a quarter of a turn for a whole one: the noise is never negative",
        cause="noise-law",
    ),
    bug(
        "torch-sghmc-friction-without-step",
        "sghmc",
        "h * D * p",
        "D * p",
        reason="the friction forgets the step size",
        source="automl/pybnn issue 4",
        cause="friction-wrong",
    ),
    bug(
        "torch-sghmc-noise-without-2",
        "sghmc",
        "(2 * D * T * h) ** 0.5",
        "(D * T * h) ** 0.5",
        reason="a diffusion sigma sigma^T/2 taken for sigma sigma^T",
        cause="diffusion-scaled",
    ),
    bug(
        "torch-sghmc-decays-with-calls",
        "sghmc",
        "p = p - h * gradient",
        "KEPT['h'] = 0.9 * KEPT.get('h', torch.ones_like(p[:1]))\n    p = p - h * KEPT['h'] * gradient",
        reason="a schedule kept outside of the state moves on with every chain that is run",
        source="posteriors, a state shared through a class default",
        cause="state-kept",
    ),
    bug(
        "torch-baoab-constant-in-float32",
        "baoab",
        "torch.tensor(-D * h, dtype=theta.dtype)",
        "torch.tensor(-D * h)",
        reason="a constant of torch's default dtype in a float64 run: an error that grows as h falls",
        source="posteriors, baoa",
        cause="precision",
    ),
    bug(
        "torch-baoab-noise-of-half-time",
        "baoab",
        "1 - decay**2",
        "1 - decay",
        reason="1 - c for 1 - c^2 under the root",
        cause="diffusion-scaled",
    ),
    bug(
        "torch-baoab-stale-last-kick",
        "baoab",
        "p = p - h / 2 * grad(theta)  # type: ignore[operator]\n",
        "gradient = grad(theta)\n    p = p - h / 2 * gradient\n",
        also=(("p - h / 2 * grad(theta)", "p - h / 2 * gradient"),),
        reason="the last kick takes the gradient of the first, which a cache handed out",
        cause="gradient-at-old-point",
    ),
    bug(
        "torch-sgnht-norm-for-square",
        "sgnht",
        "(p**2).sum(-1, keepdim=True)",
        "p.norm(dim=-1, keepdim=True)",
        reason="the norm of the momentum for its square",
        source="SGMCMCJax, badodab",
        cause="thermostat-wrong",
    ),
    bug(
        "torch-sgnht-without-dim",
        "sgnht",
        "/ p.shape[-1]",
        "/ 1",
        reason="the kinetic energy is summed over coordinates and not averaged",
        cause="thermostat-dimension",
    ),
    bug(
        "torch-sgnht-temperature-one-kept",
        "sgnht",
        "energy - T",
        "energy - 1",
        reason="the thermostat aims at the temperature 1 whatever T is",
        cause="temperature-missing",
    ),
)
