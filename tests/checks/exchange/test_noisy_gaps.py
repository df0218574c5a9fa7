"""What noise of the energies leaves of the spectral gap: bugs that are planted in the chance of a noisy swap, and right ways."""

from __future__ import annotations

import pytest

from sgverify.checks.exchange import noisy_gaps as module
from sgverify.checks.exchange.rate import ReplicaPair
from sgverify.configuration import load_configuration
from sgverify.rates.verdict import Judgement
from sgverify.subject.binding import make_subject
from sgverify.testing.planting import edited_source

VARIANCE, CHANCE = "(deviation / inverse_gap(cold, warm)) ** 2", "return mean_chance(log_rate, deviation**2)"


def judged(monkeypatch: pytest.MonkeyPatch, *edits: tuple[str, str]) -> Judgement:
    """On a coarse grid: neither balance nor a chance depends on it."""
    monkeypatch.setattr(module, "CELLS", 12)
    settings = {"target": {"name": "double-well"}, "exchange": {"ladder": [1.0, 10.0]}}
    subject = make_subject("vr-resgld", load_configuration(settings))
    if not edits:
        return module.noisy_gaps(subject, ReplicaPair.of(subject)).judged(
            Judgement("conforms", False, "as it is")
        )
    with edited_source("sgverify.checks.exchange.rate:ReplicaPair.replicas", edits):
        return module.noisy_gaps(subject, ReplicaPair.of(subject)).judged(
            Judgement("conforms", False, "as it is")
        )


@pytest.mark.by_default("sign of the correction", "F inverted", "always accepted", "corrected without noise")
@pytest.mark.parametrize(
    "edit",
    [
        pytest.param((VARIANCE, f"-{VARIANCE}"), id="sign of the correction"),
        pytest.param((VARIANCE, "abs(deviation / inverse_gap(cold, warm))"), id="sigma for sigma^2"),
        pytest.param(("F=2.0", "F=0.5"), id="F inverted"),
        pytest.param((CHANCE, "return np.exp(log_rate + deviation**2 / 2)"), id="min(1, .) left out"),
        pytest.param((CHANCE, "return np.ones_like(log_rate)"), id="always accepted"),
        pytest.param((CHANCE, "return np.exp(np.minimum(0.0, log_rate))"), id="corrected without noise"),
    ],
)
def test_swaps_that_do_not_balance_violate(edit: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged(monkeypatch, edit)
    assert found.verdict == "violates" and "balance" in found.reason


def test_the_same_chance_written_otherwise_conforms(monkeypatch: pytest.MonkeyPatch) -> None:
    edits = (
        (VARIANCE, "deviation**2 / inverse_gap(cold, warm) ** 2"),
        (CHANCE, "return 1.0 * mean_chance(log_rate, deviation * deviation)"),
    )
    assert judged(monkeypatch, *edits).verdict == "conforms"
    assert judged(monkeypatch).verdict == "conforms"
