"""Every command in numbers of sixteen digits, as `random.uniform` gives them: the verdicts of round numbers that are near."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.cli.conftest import Answer, Call

SCHEMES = (
    "sgld-euler",
    "sghmc-euler",
    "sghmc-euler-explicit",
    "sghmc-momentum",
    "sghmc-aboba",
    "sghmc-baoab",
    "sghmc-obabo",
    "sghmc-oabao",
    "sghmc-ubu",
    "sghmc-nogin",
    "sgnht-aboba",
    "sgrld-euler",
)
COMMANDS = (
    "stationary-bias",
    "covariance",
    "wasserstein-2",
    "bias",
    "mse",
    "local-order",
    "identify",
    "sample",
    "advise",
    "verify",
)
"""The quantities of `rate`, and other commands; `bch` takes numbers alone."""

Draw = Callable[[float, float], float]


def _gaussian(u: Draw) -> dict[str, Any]:
    return {"dim": 2, "precision": [u(0.5, 3), u(0.5, 3)], "mean": [u(-1, 1), u(-1, 1)]}


def _gaussian_mean(u: Draw) -> dict[str, Any]:
    return {
        "size": 20,
        "prior_precision": u(0.3, 2),
        "prior_mean": u(-1, 1),
        "noise_precision": u(0.02, 0.1),
        "data": [u(-2, 2) for _ in range(20)],
    }


def _linear_regression(u: Draw) -> dict[str, Any]:
    return {"size": 12, "prior_precision": u(0.3, 2), "noise_precision": u(0.03, 0.2)}


def _double_well(u: Draw) -> dict[str, Any]:
    return {"height": u(0.5, 2), "width": u(0.7, 1.4), "tilt": u(-0.3, 0.3)}


def _quartic(u: Draw) -> dict[str, Any]:
    return {"strength": u(0.5, 2), "tilt": u(-0.3, 0.3)}


def _mixture(u: Draw) -> dict[str, Any]:
    share = u(0.2, 0.8)
    return {"means": [u(-2, -1), u(1, 2)], "scales": u(0.6, 1.2), "weights": [share, 1 - share]}


TARGETS: dict[str, Callable[[Draw], dict[str, Any]]] = {
    "gaussian": _gaussian,
    "gaussian-mean": _gaussian_mean,
    "linear-regression": _linear_regression,
    "double-well": _double_well,
    "quartic": _quartic,
    "mixture": _mixture,
}


def settings(command: str, scheme: str, target: str, digits: int | None = None) -> list[str]:
    """The --set of a call, all numbers drawn by a seed of this call's own; with `digits` they are rounded."""
    rng = random.Random(f"{command} {scheme} {target}")

    def u(low: float, high: float) -> float:
        drawn = rng.uniform(low, high)
        return drawn if digits is None else round(drawn, digits)

    given: dict[str, Any] = {"temperature": u(0.5, 2), "friction": u(0.5, 3)}
    given |= {"schedule.step": u(0.02, 0.12), "start": u(0.5, 2.5)}
    given |= {f"target.{key}": value for key, value in TARGETS[target](u).items()}
    noise = rng.choice(
        ["full", "additive", "iid" if target in ("gaussian-mean", "linear-regression") else "full"]
    )
    covariance = u(0.2, 2)
    if noise == "additive":
        given["gradient.covariance"] = covariance
    if noise == "iid":
        given["gradient.batch"] = 4
    if scheme in ("sgld-euler", "sgrld-euler"):
        del given["friction"]
    if command == "advise":
        del given["schedule.step"], given["start"]
    texts = [f"{key}={value!r}" for key, value in given.items()]
    if noise != "full":
        texts.append(f"gradient.kind={noise}")
    if command != "advise":
        texts.append(f"target.name={target}")
    return [word for text in texts for word in ("--set", text)]


def asked(call: Call, command: str, scheme: str, target: str, digits: int | None = None) -> Answer:
    """The answer of one command, in numbers of sixteen digits or of fewer."""
    given = settings(command, scheme, target, digits)
    if command == "sample":
        run = ("--set", "chains=2", "--set", "steps=20", "--out", "draws.nc", "--force")
        return call("sample", scheme, *given, *run)
    if command == "advise":
        return call("advise", target, scheme, *given, "--json", "-")
    if command in ("verify", "identify"):
        return call(command, scheme, *given, "--json", "-")
    return call("rate", scheme, "--quantity", command, *given, "--json", "-")


def verdicts(command: str, answer: Answer) -> Any:
    """Exit code and, of judged claims, verdict and rung of the ladder."""
    if answer.code == 2 or command in ("sample", "advise", "identify"):
        return answer.code
    return answer.code, [(item["claim"], item["verdict"], item["method"]) for item in answer.evidence]


def as_of_round_numbers(call: Call, command: str, scheme: str, target: str) -> None:
    """Hold the answer against the one of numbers that are rounded to five decimals."""
    full = asked(call, command, scheme, target)
    assert full.code in (0, 1, 3) or "too large for this scheme on this target" in full.err, full.err
    assert verdicts(command, full) == verdicts(command, asked(call, command, scheme, target, 5))


SLICE = [(COMMANDS[k % 6], scheme, list(TARGETS)[k % 3]) for k, scheme in enumerate(SCHEMES)]
"""Each scheme once, with the commands and targets in turn that take a fraction of a second."""


@pytest.mark.by_default(
    "stationary-bias-sgld-euler-gaussian",
    "covariance-sghmc-euler-gaussian-mean",
    "wasserstein-2-sghmc-euler-explicit-linear-regression",
    "mse-sghmc-aboba-gaussian-mean",
    "local-order-sghmc-baoab-linear-regression",
    "bias-sghmc-nogin-gaussian",
)
@pytest.mark.parametrize(("command", "scheme", "target"), SLICE)
def test_numbers_of_sixteen_digits(call: Call, command: str, scheme: str, target: str) -> None:
    as_of_round_numbers(call, command, scheme, target)


@pytest.mark.power
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_command_takes_numbers_of_sixteen_digits(
    call: Call, command: str, scheme: str, target: str
) -> None:
    as_of_round_numbers(call, command, scheme, target)


def test_a_splitting_takes_shares_of_sixteen_digits(call: Call) -> None:
    rng = random.Random("bch")
    for _ in range(3):
        share, radicand = rng.uniform(0.1, 0.4), rng.uniform(1, 3)
        for a in (repr(share), f"sqrt({radicand!r})/6", f"{radicand!r}^(1/3)/6"):
            answer = call("bch", "ABABA", "--coefficients", f"{a},1/2,1-2*({a}),1/2,{a}", "--json", "-")
            assert answer.code == 0, answer.err
            assert answer.document["order"] == 2
