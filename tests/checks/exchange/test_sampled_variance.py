"""Lemma 1 of vr-resgld where no exact law is known: curved energies, learnt coefficients, planted bugs, all minibatches."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from sgverify import verify
from sgverify.checks.exchange import sampled_variance
from sgverify.checks.exchange.sampled_variance import LocalExponent, _exponent, _Run
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.samplers.composites import exchange, swap_energies
from sgverify.samplers.composites.swap_energies import SwapEnergies
from sgverify.schemes.composites import composite as exchange_rules
from sgverify.subject.binding import make_subject

LOGISTIC = {
    "target": {"name": "logistic-regression", "dim": 2, "size": 30},
    "gradient": {"kind": "iid", "batch": 5},
}
LINEAR = {"target": {"size": 40}, "gradient": {"kind": "iid", "batch": 10}}


def lemma(scheme: str, settings: dict[str, Any]) -> Evidence:
    (found,) = verify(scheme, settings, checks=["vr-resgld/lemma-1"])
    return found


@pytest.mark.parametrize(
    ("scheme", "settings", "power"),
    [
        ("vr-resgld", LOGISTIC, 1),
        ("avr-resgld", LOGISTIC, 1),
        ("avr-resgld", LINEAR, 1),
        ("vr-resghmc", LOGISTIC, 3),
    ],
)
def test_the_lemma_holds_of_curved_energies_and_of_learnt_coefficients(
    scheme: str, settings: dict[str, Any], power: int
) -> None:
    """From a momentum of 0, theta moves by h^(3/2)."""
    found = lemma(scheme, settings)
    assert (found.verdict, found.method) == ("conforms", "monte-carlo")
    powers = found.certificate["exponents in eta, by age and replica"]
    assert all(abs(value - power) + error < 0.5 for value, error in powers)
    assert found.reason.startswith(f"E Var L~ falls as eta^{power} as eta -> 0;")
    assert all(point.standard_error > 0 for point in found.points)


def weaker(here: Any, there: Any, total: Any, *, coefficient: Any = -1) -> Any:
    return exchange_rules.reduced_energy(here, there, total, coefficient=0.9 * coefficient)


def with_half_the_control(here: Any, there: Any, total: Any, *, coefficient: Any = -1) -> Any:
    return here + coefficient * (there - total / 2)


def of_another_sign(covariance: Any, variance: Any) -> Any:
    return covariance / variance


def on_other_minibatches(self: SwapEnergies, theta: Any, controls: Any, number: int) -> Any:
    chosen = self.minibatch(number)
    energy = self._potential.energy_over(theta, chosen)[..., None]
    control = self._potential.energy_over(controls.at, (chosen + 1) % self._size)[..., None]
    return exchange_rules.reduced_energy(energy, control, controls.full, coefficient=controls.coefficient)


def never_renewed(self: SwapEnergies, theta: Any, coefficient: Any = None) -> Any:
    made = CONTROL_AT(self, theta, coefficient)
    return made if coefficient is None else replace(made, at=theta + 1e-9)


CONTROL_AT = SwapEnergies.control_at
PLANTED = {
    "a coefficient of -0.9": ("vr-resgld", swap_energies, "reduced_energy", weaker, "eta^0,"),
    "the control of other minibatches": ("vr-resgld", SwapEnergies, "at", on_other_minibatches, "eta^0,"),
    "half of the control's energy": (
        "vr-resgld",
        swap_energies,
        "reduced_energy",
        with_half_the_control,
        "the mean",
    ),
    "a control of another place": ("vr-resgld", SwapEnergies, "control_at", never_renewed, "not renewed"),
    "c* without its minus": ("avr-resgld", swap_energies, "best_coefficient", of_another_sign, "eta^0,"),
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_bug_is_refuted(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    scheme, place, what, wrong, why = PLANTED[name]
    monkeypatch.setattr(place, what, wrong)
    found = lemma(scheme, LOGISTIC)
    assert found.verdict == "violates" and why in found.reason


def test_an_exact_answer_is_asked_for_and_none_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sampled_variance, "MOST", 10)
    found = lemma("vr-resgld", LOGISTIC)
    assert found.verdict == "inconclusive" and "too many data" in found.reason


@pytest.mark.parametrize("kind", ["iid", "without-replacement"])
def test_the_variance_is_that_of_all_minibatches(kind: str) -> None:
    """Five data, minibatches of two: 25 pairs, or 10 subsets, beside the closed form from the five data alone."""
    target = {"name": "logistic-regression", "size": 5}
    subject = make_subject(
        "avr-resgld", load_configuration({"target": target, "gradient": {"kind": kind, "batch": 2}})
    )
    run, seen = _Run(subject, [subject.step], 3, []), {}

    def look(number: int, theta: Any) -> None:
        if number == 5:
            hooks: Any = run.ensemble.hooks
            seen["single"] = run._single(hooks.energies, theta, hooks.controls)
            pairs = [*product(range(5), repeat=2)] if kind == "iid" else [*combinations(range(5), 2)]
            chosen = sampled_variance.torch.tensor(pairs).T[:, :, None].repeat_interleave(len(theta), 1)
            wide = chosen.expand(-1, -1, theta.shape[1])
            seen["all"] = run._estimate(hooks.energies, theta, hooks.controls, wide).reshape(
                len(pairs), *theta.shape[:2]
            )

    run.look = look  # type: ignore[method-assign]
    for _ in run.ensemble.blocks(sampled_variance._Looking(run)):
        pass
    closed = seen["single"].var(0) / 2 * (1 if kind == "iid" else 3 / 4)
    np.testing.assert_allclose(seen["all"].var(0), closed, rtol=1e-9)
    assert closed.min() > 0


def test_local_exponents_are_resolved_where_their_error_leaves_one_multiple_of_a_half() -> None:
    assert LocalExponent(1.02, 0.1).resolved == 1 and LocalExponent(1.48, 0.1).resolved == 1.5
    assert LocalExponent(1.0, 0.6).resolved is None and LocalExponent(0.75, 0.24).resolved is None
    h = np.array([1.0, 0.5, 0.25])[:, None] * 1e-6
    noise = np.random.default_rng(0).chisquare(3, 200)[None]
    found = _exponent(h**1.5 * noise * (1 + 0.3 * np.sqrt(h)), 4.0)
    assert found.resolved == 1.5 and abs(found.value - 1.5) < found.error
    assert _exponent(np.zeros((3, 4)), 4.0).value == np.inf


def test_exchange_hooks_are_those_that_the_run_reads() -> None:
    assert exchange.SwapEnergies is SwapEnergies
