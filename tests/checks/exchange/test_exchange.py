"""The claims of vr-resgld: what is found of each, by which rung, and on whom."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sgverify.checks.exchange.rate import acceleration_left
from sgverify.checks.verify_and_rate import verify
from sgverify.claims import claims
from sgverify.evidence import Provenance, decode_errata
from sgverify.evidence.erratum import encode_errata
from sgverify.papers.formula import check_errata
from sgverify.papers.suites import find_suite
from sgverify.testing.planting import edited_source

IID = {"gradient": {"kind": "iid"}}
WELL = {"target": {"name": "double-well"}, "exchange": {"ladder": [1.0, 10.0]}}
SMALL = {"gradient": {"kind": "iid", "batch": 2}}
MINE = ("energy-variance", "best-coefficient", "swap-rate", "swap-bound", "exchange-rate", "exchange-bound")


def found(settings, checks=MINE, scheme="vr-resgld"):
    return {item.claim: item for item in verify(scheme, settings, checks=checks)}


@pytest.fixture(scope="module")
def gaussian():
    return found(IID)


@pytest.fixture(scope="module")
def well():
    return found(WELL, ["exchange-rate"])


@pytest.mark.power  # 0.7 s
def test_every_claim_has_its_evidence_and_what_falls_has_its_correction(gaussian):
    assert {id: (item.verdict, item.refuted) for id, item in gaussian.items()} == {
        "vr-resgld/best-coefficient": ("conforms", False),
        "vr-resgld/lemma-1": ("conforms", False),
        "vr-resgld/lemma-2": ("violates", True),
        "corrected/vr-resgld-lemma-2": ("conforms", False),
        "vr-resgld/theorem-1": ("conforms", False),
        "vr-resgld/theorem-2": ("violates", True),
        "corrected/vr-resgld-theorem-2": ("conforms", False),
        "vr-resgld/theorem-3": ("not-applicable", False),
        "vr-resgld/lemma-d4": ("violates", True),
        "corrected/vr-resgld-lemma-d4": ("conforms", False),
    }
    assert all(item.method in ("proof", "exact") for item in gaussian.values())


def test_all_that_is_not_judged_says_why():
    mine = [claim for claim in claims().values() if claim.id.startswith("vr-resgld/")]
    assert {claim.id.partition("/")[2] for claim in mine if claim.left_out} == {
        "lemma-c1", "lemma-c2", "lemma-d1", "lemma-d2", "lemma-d3",
        "lemma-d5", "lemma-d6",
    }  # fmt: skip
    assert [claim.id for claim in mine if claim.vacuous] == ["vr-resgld/theorem-3"]


def test_the_variance_of_energies_falls_with_step_and_batch(gaussian):
    item = gaussian["vr-resgld/lemma-1"]
    assert item.found.exponent == 1 and item.certificate["exponent in n"] == -1
    slow = item.certificate["and at a thousandth of it, from the start"]
    assert 1 <= min(slow[:-1]) and max(slow) <= 2


def test_far_from_equilibrium_the_variance_grows_as_m_squared():
    item = found({**IID, "start": 1e4}, ["energy-variance"])["vr-resgld/lemma-1"]
    slow = item.certificate["and at a thousandth of it, from the start"]
    assert item.verdict == "conforms" and 1.9 < slow[0] <= 2


def test_underdamped_replicas_fall_faster():
    item = found(IID, ["energy-variance"], "vr-resghmc")["vr-resgld/lemma-1"]
    assert item.verdict == "conforms" and item.found.exponent >= 2


def test_subsets_fall_faster_than_one_over_n():
    settings = {
        "gradient": {"kind": "without-replacement", "batch": 2},
        "target": {"data": [0.0, 1.0, 5.0, 2.0, 3.0]},
    }
    item = found(settings, ["energy-variance"])["vr-resgld/lemma-1"]
    # (1/2)(5 - 4)/(5 - 2) between n = 2 and n = 4.
    assert item.certificate["exponent in n"] == pytest.approx(np.log2(1 / 6), rel=1e-9)


def test_exact_energies_are_not_what_lemma_1_is_settled_on():
    for settings in ({}, WELL):
        assert found(settings, ["vr-resgld/lemma-1"])["vr-resgld/lemma-1"].verdict == "not-applicable"
    assert "vr-resgld/lemma-1" not in found(IID, [*MINE[1:3]], "resgld")


def test_the_loss_of_swaps_is_of_the_order_of_the_deviation_at_log_s_0_alone(gaussian):
    orders = gaussian["vr-resgld/lemma-2"].certificate["order in sigma~^2 by log S"]
    assert orders.pop("0") == 0.5
    assert set(orders.values()) == {"beyond every power"}


@pytest.mark.power  # 0.6 s
def test_swaps_accelerate_a_double_well_and_not_a_quadratic(gaussian, well):
    flat = gaussian["vr-resgld/theorem-1"].certificate["spectral gap by r"]
    assert max(flat.values()) == pytest.approx(min(flat.values()), rel=0.02)
    item = well["vr-resgld/theorem-1"]
    gaps = list(item.certificate["spectral gap by r"].values())
    assert item.verdict == "conforms" and gaps == sorted(gaps) and gaps[-1] > 4 * gaps[0]
    below, above = zip(
        *next(v for k, v in item.certificate.items() if k.startswith("W2")).values(), strict=True
    )
    assert list(below) == sorted(below, reverse=True) and all(
        a < b for a, b in zip(below, above, strict=True)
    )


def test_noisy_energies_cost_the_gain_of_a_double_well_by_m_eta_and_n(well):
    item = well["vr-resgld/theorem-1"]
    table = next(v for k, v in item.certificate.items() if k.startswith("spectral gap at r"))
    gaps, alone = list(table.values()), item.certificate["without swaps"]
    assert gaps[0] == 1 and gaps == sorted(gaps, reverse=True) and gaps[-1] < 1.5 * alone < 0.5
    settings = next(v for k, v in item.certificate.items() if k.startswith("against m, eta and n"))
    deviations = {name: s for name, (s, _) in settings.items()}
    assert deviations["as configured"] == pytest.approx(1) and deviations["n/16"] == pytest.approx(4)
    # E D^2 = 2 tau m eta for short periods, and less where the replicas have begun to forget where they were.
    assert 2 < deviations["16 m"] == deviations["16 eta"] < 4 and 1 / 4 < deviations["eta/16"] < 1 / 3
    assert all(
        (gap_1 - gap_2) * (s_2 - s_1) >= 0
        for s_1, gap_1 in settings.values()
        for s_2, gap_2 in settings.values()
    )


@pytest.mark.power  # 1.1 s
def test_a_ladder_that_no_grid_holds_is_left_open():
    settings = {"target": {"name": "gaussian"}, "exchange": {"ladder": [1.0, 1e5]}}
    item = found(settings, ["exchange-rate"])["vr-resgld/theorem-1"]
    assert item.verdict == "inconclusive" and "too coarse" in item.reason


def test_the_dirichlet_form_is_proved_and_a_wrong_factor_is_not():
    assert acceleration_left() == ""
    with edited_source(
        "sgverify.checks.exchange.rate:acceleration_left", (("- rate * (g", "- 2 * rate * (g"),)
    ):
        assert acceleration_left()


@pytest.mark.parametrize(
    ("was", "now"),
    [("np.minimum(0.0, log_rate)", "log_rate"), ("np.minimum(0.0, log_rate)", "np.minimum(0.0, -log_rate)")],
)
def test_swaps_that_do_not_balance_violate_theorem_1(was, now):
    with edited_source("sgverify.checks.exchange.rate:ReplicaPair.replicas", ((was, now),)):
        item = found(WELL, ["exchange-rate"])["vr-resgld/theorem-1"]
    assert item.verdict == "violates" and "balance" in item.reason


def test_at_a_fixed_number_of_steps_theorem_2_is_a_claim_and_swaps_of_replicas_break_it(gaussian):
    printed, mended = gaussian["vr-resgld/theorem-2"], gaussian["corrected/vr-resgld-theorem-2"]
    assert (printed.predicted.exponent, printed.found.exponent) == (Fraction(9, 8), Fraction(3, 4))
    assert (mended.predicted.exponent, mended.sharp) == (Fraction(3, 4), True)
    assert "eta^(5/4), and the bound holds" in printed.reason and "k eta > 1" in printed.reason


def test_what_lies_between_one_step_and_a_fixed_time_is_told_to_be_open(gaussian):
    reason = gaussian["vr-resgld/theorem-2"].reason
    # k^(1/2) eta^(3/4) = k^(3/2) eta^(9/8) at k = eta^(-3/8).
    assert "nothing was computed" in reason and "a < 3/8" in reason


def test_the_bounds_of_theorems_2_and_3_diverge_at_a_fixed_time(gaussian):
    item = gaussian["vr-resgld/theorem-3"]
    assert item.certificate["vacuous"] and item.found.exponent == -0.5 and "says nothing" in item.reason
    assert (
        min(map(Fraction, item.certificate["powers of eta at a fixed time"].values())) == item.found.exponent
    )


@pytest.mark.by_default("settings1")
@pytest.mark.parametrize(
    "settings",
    [
        {
            "gradient": {"kind": "without-replacement", "batch": 999},
            "temperature": 0.3,
            "exchange": {"ladder": [1.0, 1.5, 8.0], "refresh": 7, "step_factors": [1.0, 0.5, 0.1]},
        },
        {"gradient": {"kind": "reshuffle", "batch": 50}, "target": {"dim": 2}, "test_function": "theta[0]"},
        {"target": {"name": "quartic"}, "exchange": {"ladder": [1.0, 30.0]}},
        {"target": {"name": "mixture"}},
    ],
)
def test_no_false_alarm(settings):
    assert not [
        item.reason for item in found(settings).values() if item.verdict == "violates" and not item.refuted
    ]


def test_the_suite_judges_every_claim_and_its_errata_can_be_stored():
    cases = find_suite("vr-resgld")("quick")
    asked = {check for case in cases for check in case.checks}
    wanted = {q for claim in claims().values() if claim.id.startswith("vr-resgld/") for q in claim.quantities}
    assert wanted <= asked and {case.scheme for case in cases} >= {"resgld", "vr-resgld", "vr-resghmc"}
    wells = [case for case in cases if "target.name=double-well" in case.settings]
    (item,) = wells[-1].run()
    assert item.verdict == "conforms" and "raise" in item.reason
    document = encode_errata(
        check_errata(["vr-resgld/equation-13"]), Provenance.gather(command="sgverify errata", seconds=0.0)
    )
    assert decode_errata(document)[0].id == "vr-resgld/equation-13"
