"""The checks of adaptively weighted samplers: wrong rules are refuted, right ones raise no alarm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sgverify.checks.applicable_claims import judge_pair, pairs_of
from sgverify.checks.weights import line_terms
from sgverify.claims import claims, find_claim
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.exact.weights import line_chain, line_weights
from sgverify.papers.awsgld.suite import OF_WEIGHTS
from sgverify.papers.suites import find_suite
from sgverify.schemes import find_scheme
from sgverify.schemes.composites import adaptation
from sgverify.schemes.composites import composite as weighting
from sgverify.schemes.composites.composite import AdaptivelyWeighted
from sgverify.schemes.definition.mathematics import log
from sgverify.subject.composite import CompositeSubject


def subject(*given: str, contour: bool = False) -> CompositeSubject:
    name = "csgld" if contour else "awsgld"
    composite = AdaptivelyWeighted(name, find_scheme("sgld-euler"), contour=contour)
    return CompositeSubject(composite.scheme, load_configuration(None, given), name, composite=composite)


def judged(about: CompositeSubject, quantities: tuple[str, ...] = OF_WEIGHTS) -> Iterator[Evidence]:
    for claim, quantity in pairs_of(about):
        if quantity in quantities:
            yield from judge_pair(about, claim, quantity)


def against(about: CompositeSubject, quantities: tuple[str, ...] = OF_WEIGHTS) -> set[str]:
    """The checks that find fault with the sampler, not with the paper."""
    return {e.check for e in judged(about, quantities) if e.verdict == "violates" and not e.refuted}


def the(claim: str, about: CompositeSubject) -> list[Evidence]:
    card = find_claim(claim)
    return judge_pair(about, card, card.quantities[0])


WELL = ("target.name=double-well", "partition.bins=6", "partition.zeta=2", "temperature=2")


@cache
def well() -> CompositeSubject:
    """The subject of tests that plant nothing: what it has found it keeps."""
    return subject(*WELL)


def test_printed_lemmas_fall_for_every_sampler_and_their_cards_hold() -> None:
    found = {e.claim: e for e in judged(well())}
    assert found["awsgld/lemma-3"].verdict == "conforms"
    for lemma in ("lemma-4", "lemma-6"):
        assert found[f"awsgld/{lemma}"].refuted
        assert found[f"corrected/awsgld-{lemma}"].verdict == "conforms"
    assert found["awsgld/theorem-1"].verdict == found["awsgld/theorem-2"].verdict == "conforms"
    assert all(e.method == "exact" for e in found.values())


@pytest.mark.power  # 0.7 s
def test_at_zeta_1_the_printed_point_and_its_stability_stand() -> None:
    found = {
        e.claim: e for e in judged(subject("partition.bins=5", "partition.zeta=1", "target.name=gaussian"))
    }
    assert found["awsgld/lemma-5"].verdict == found["awsgld/lemma-1"].verdict == "conforms"
    assert "corrected/awsgld-lemma-5" not in found


def test_one_partition_refutes_no_limit_and_the_recursion_judges() -> None:
    printed, mended = the(
        "awsgld/lemma-5",
        subject("target.name=gaussian", "target.dim=2", "partition.bins=30", "partition.zeta=5"),
    )
    assert (printed.verdict, printed.refuted) == ("not-applicable", False)
    assert "speaks of a limit, not of a setting" in printed.reason
    assert mended.claim == "corrected/awsgld-lemma-5" and mended.verdict == "conforms"


def test_a_rule_that_is_wrong_is_not_excused_by_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (weighting, adaptation):
        monkeypatch.setattr(module, "reached", lambda i, region: 1 * (i <= region))
    (found,) = the("awsgld/lemma-5", subject("partition.bins=5", "partition.zeta=5", "target.name=gaussian"))
    assert (found.verdict, found.refuted) == ("violates", False)


def test_a_stable_point_need_not_be_so_in_the_euclidean_norm() -> None:
    edges = "partition.edges=[0, 0.01, 0.02, 0.03, 2, 4]"
    about = subject("target.name=gaussian", "target.dim=2", edges, "partition.zeta=20")
    printed, mended = the("awsgld/lemma-1", about)
    assert printed.verdict == "not-applicable" and "stable all the same" in printed.reason
    assert mended.verdict == "conforms"


@pytest.mark.power  # 0.8 s
def test_what_is_not_settled_says_so() -> None:
    (empty,) = the("awsgld/lemma-5", subject("target.name=gaussian", "partition.edges=[-3, -2, -1, 1]"))
    assert empty.verdict == "inconclusive" and "region 1" in empty.reason
    limit, _ = the("awsgld/lemma-5", well())
    assert limit.verdict == "not-applicable" and "limit" in limit.reason
    (steep,) = the("awsgld/theorem-2", subject("partition.zeta=20"))
    assert steep.verdict == "inconclusive" and "that in omega is not answered" in steep.reason
    scheme = AdaptivelyWeighted("awsghmc", find_scheme("sghmc-euler"))
    about = CompositeSubject(scheme.scheme, load_configuration(None, WELL), "awsghmc", composite=scheme)
    for claim in ("awsgld/theorem-1", "awsgld/theorem-2"):
        (momentum,) = the(claim, about)
        assert momentum.verdict == "inconclusive" and "no point of the line" in momentum.reason


def test_masses_of_the_plane_are_said_to_be_by_quadrature() -> None:
    (found,) = the("awsgld/theorem-1", subject("target.name=double-well", "target.dim=2", "partition.bins=3"))
    assert found.method == "quadrature" and found.verdict == "conforms"


def test_the_other_terms_are_named_with_their_sizes() -> None:
    (found,) = the("awsgld/theorem-2", well())
    assert found.verdict == "conforms"
    assert set(found.certificate["on the line"]) >= {
        "|average(eps) - average(0)|/eps", "|average_k - limit|/(1/(k eps) + sqrt(sum omega/k))",
    }  # fmt: skip


def moved(name: str) -> Callable[..., Any]:
    """A method of an engine whose answers are off by what does not fall with eps, 1/k or Var."""
    module, owner, method = {
        "average(0)": (line_chain, "LineChain", "law_of_flow"),
        "average_k": (line_weights, "RunningWeights", "after"),
        "theta(0)": (line_chain, "LineChain", "law_of_flow"),
    }[name]
    right = getattr(getattr(module, owner), method)

    def wrong(self: Any, *given: Any) -> Any:
        found = right(self, *given)
        if method == "after":
            return replace(found, counted=found.counted + 0.3 * found.counts)
        tilted = found * np.exp(-(self.nodes**2) / 4)
        return tilted / tilted.sum()

    return lambda patch: patch.setattr(getattr(module, owner), method, wrong)


@pytest.mark.by_default("average_k-awsgld/theorem-2", "theta(0)-awsgld/theorem-1")
@pytest.mark.parametrize(
    ("what", "claim"),
    [("average(0)", "awsgld/theorem-2"), ("average_k", "awsgld/theorem-2"), ("theta(0)", "awsgld/theorem-1")],
)
def test_an_error_that_stays_is_not_of_the_order_of_a_term(
    what: str, claim: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    moved(what)(monkeypatch)
    (found,) = the(claim, subject("partition.bins=3"))
    assert found.verdict == "inconclusive" and "is not answered" in found.reason


def test_noise_of_the_size_of_its_root_is_not_of_the_order_of_its_variance(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The weights as they would rest were the limit to move by c in place of c^2."""
    right = line_terms.rest

    def wrong(chain: Any, start: Any, **how: Any) -> Any:
        found = right(chain, start, **how)
        return replace(found, theta=found.theta + 0.2 * chain.tilt)

    monkeypatch.setattr(line_terms, "rest", wrong)
    (found,) = the("awsgld/theorem-1", subject("partition.bins=3"))
    assert found.verdict == "inconclusive" and "that in Var" in found.reason


def test_the_claims_speak_of_no_plain_scheme() -> None:
    from sgverify.subject.binding import make_subject

    plain = make_subject("sgld-euler", load_configuration(None, ()))
    assert not {quantity for _, quantity in pairs_of(plain)} & set(OF_WEIGHTS)
    flat = {claim.id for claim, quantity in pairs_of(subject(*WELL, contour=True)) if quantity in OF_WEIGHTS}
    assert flat == {"csgld/fixed-point"}


def test_the_suite_asks_every_claim_that_is_judged() -> None:
    asked = {check for case in find_suite("awsgld")("default") for check in case.checks}
    judgeable = {
        q for id, card in claims().items() if id.split("/")[0] in ("awsgld", "csgld") for q in card.quantities
    }
    assert asked == judgeable == {*OF_WEIGHTS, "lipschitz-gradient", "noise-growth"}
    assert len(find_suite("awsgld")("quick")) < len(find_suite("awsgld")("full"))


BUGS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "the indicator the other way round": ("reached", lambda i, region: 1 * (i <= region), "fixed-point"),
    "theta(m) that does not tend to 1": ("reached", lambda i, region: 1 * (i > region), "fixed-point"),
    "a field of the wrong sign": (
        "random_field", lambda pull, indicator, weight: pull * (weight - indicator), "weight-stability",
    ),
    "a field that theta(J) does not pull": ("random_field", lambda pull, indicator, weight: indicator - weight, "fixed-point"),
    "a pull by theta^zeta for theta": (
        "random_field", lambda pull, indicator, weight: pull * pull * (indicator - weight), "fixed-point",
    ),
    "a multiplier of the wrong sign": (
        "multiplier",
        lambda here, below, *, zeta, tau, width: 1 - zeta * tau / width * (log(here) - log(below)),
        "fixed-point",
    ),
    "a multiplier without the temperature": (
        "multiplier",
        lambda here, below, *, zeta, tau, width: 1 + zeta / width * (log(here) - log(below)),
        "fixed-point",
    ),
    "a multiplier with zeta - 1 for zeta": (
        "multiplier",
        lambda here, below, *, zeta, tau, width: 1 + (zeta - 1) * tau / width * (log(here) - log(below)),
        "fixed-point",
    ),
}  # fmt: skip


@cache
def against_the_right_one(check: str) -> set[str]:
    return against(well(), (check,))


@pytest.mark.parametrize("what", BUGS)
def test_a_wrong_rule_is_refuted(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, rule, check = BUGS[what]
    assert check not in against_the_right_one(check)
    monkeypatch.setattr(weighting, name, rule)
    monkeypatch.setattr(adaptation, name, rule)
    assert check in against(subject(*WELL), (check,))


def test_weights_by_another_power_leave_a_bias_that_does_not_fall(monkeypatch: pytest.MonkeyPatch) -> None:
    right = weighting.importance
    calls = {"weighted": False}

    def wrong(here: Any, *, zeta: Any) -> Any:
        return right(here, zeta=zeta + 1 if calls["weighted"] else zeta)

    from sgverify.checks.weights import laws

    parts = laws.PlaneEnergies.smooth_parts

    def then(self: Any, *given: Any) -> Any:
        calls["weighted"] = False
        found = parts(self, *given)
        calls["weighted"] = True
        return found

    monkeypatch.setattr(weighting, "importance", wrong)
    monkeypatch.setattr(laws.PlaneEnergies, "smooth_parts", then)
    assert "weighted-average" in against(subject(*WELL), ("weighted-average",))


def test_masses_at_another_temperature_are_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    """A sampler told tau = 1 while its chain runs at 2 bends the gradient for another law."""
    from sgverify.checks.weights import weighted_sampler

    right = weighted_sampler.make_adaptation
    monkeypatch.setattr(
        weighted_sampler,
        "make_adaptation",
        lambda choice, target, tau, **more: right(choice, target, tau / 2, **more),
    )
    assert "fixed-point" in against(subject(*WELL, "partition.low=0", "partition.high=4"), ("fixed-point",))


@pytest.mark.power  # 0.8 s
@given(
    target=st.sampled_from(["gaussian", "double-well", "mixture", "quartic"]),
    zeta=st.sampled_from([0.3, 1.0, 1.5, 2.0, 5.0]),
    bins=st.integers(2, 9),
    temperature=st.sampled_from([0.5, 1.0, 3.0]),
    contour=st.booleans(),
)
@settings(max_examples=3)
def test_right_samplers_raise_no_alarm(
    target: str, zeta: float, bins: int, temperature: float, contour: bool
) -> None:
    given = (
        f"target.name={target}",
        f"partition.zeta={zeta}",
        f"partition.bins={bins}",
        f"temperature={temperature}",
    )
    assert against(subject(*given, contour=contour)) == set()
