"""The rates that chen2015 states, judged on its own Gaussian model: the cards' own evidence, as errata.

The cards hold the printed and the corrected statements; the checks decide which of them hold.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from sgverify.checks.applicable_claims import judge_pair
from sgverify.claims import Claim, claims
from sgverify.configuration import load_configuration
from sgverify.evidence import Evidence
from sgverify.evidence.erratum import RefutingFamily, powers
from sgverify.exact.series.noise_terms import noise_defect
from sgverify.papers.formula import Examination, Formula, formula, row_of
from sgverify.report.wording import ORDER, variable
from sgverify.schemes import kinetic
from sgverify.subject.binding import make_subject

SCHEME = "sghmc-aboba"
MINIBATCHES = {"gradient": {"kind": "iid"}}
SHORT = {"sweep": {"lengths": [100, 1000]}}
"""Rates on decreasing steps are read off from series; the points only illustrate."""


def judged(id: str, quantity: str, settings: Mapping[str, Any]) -> Examination:
    """The printed card on the paper's scheme, and the corrected card in its place."""
    subject = make_subject(SCHEME, load_configuration({**settings, "schedule": _schedule(claims()[id])}))
    found = judge_pair(subject, claims()[id], quantity)
    printed, corrected = found[0], found[-1]
    certificate: dict[str, Any] = {"check": quantity, "replay": printed.replay, **_read(printed)}
    if corrected is not printed:
        certificate["in its place"] = {"claim": corrected.claim, **_read(corrected)}
    return Examination(
        printed=printed.reason.removesuffix(f" ({claims()[id].weighs})") if printed.refuted else "",
        holds=""
        if corrected.verdict == "conforms" or not printed.refuted or corrected is printed
        else corrected.reason,
        certificate=certificate,
        method="proof" if printed.method == "proof" else "exact",
        family=_along(printed) if printed.refuted else None,
    )


def _along(evidence: Evidence) -> RefutingFamily:
    """The rate that was found over the one printed: of the local order one step's error, one power of h higher."""
    name = variable(evidence)
    further = int(name == ORDER)
    found, predicted = (float(side.exponent or 0) + further for side in (evidence.found, evidence.predicted))
    logs = evidence.certificate.get("logarithm", {"found": 0, "predicted": 0})
    return powers(
        "h" if further else name,
        found,
        predicted,
        "for every smooth U"
        if evidence.method == "proof"
        else f"{evidence.scheme} on the paper's Gaussian model",
        logarithm=logs["found"] - logs["predicted"],
    )


def telescoping() -> Examination:
    """(22): sum_l E[L_l^2 psi] = O(1/h + L h), by putting L_l psi, which depends on the minibatch, for psi."""
    left = noise_defect(kinetic, 1)
    return Examination(
        printed=left.text if left else "",
        holds="",
        certificate={
            "(h^2/2) (E L_l^2 - L^2) for every smooth U in one dimension, W the noise of U": left.text
            if left
            else "0"
        },
        family=powers("h", -3, -2, "K = 2 and L = h^-3, for every smooth U") if left else None,
    )


def _schedule(claim: Claim) -> dict[str, str]:
    return {"kind": claim.schedule} if claim.schedule else {}


def _read(evidence: Evidence) -> dict[str, Any]:
    return {
        "exponent found": evidence.found.exponent,
        "exponent predicted": evidence.predicted.exponent,
        **{
            key: evidence.certificate[key]
            for key in ("logarithm", "stationary_bias")
            if key in evidence.certificate
        },
    }


def _of_card(id: str, quantity: str, settings: Mapping[str, Any]) -> Formula:
    """The statement that was judged and the one in its place are the cards'; the quotation and the weight are the row's."""
    card = claims()[id]
    mended = claims()[card.corrected] if card.corrected else card
    row = row_of(f"{id}-{quantity}")
    return Formula(
        f"{id}-{quantity}",
        partial(judged, id, quantity, settings),
        replace(
            row,
            where=f"{card.source.section}; {row.where}",
            read_as=" ".join(card.statement.split()),
            holds=" ".join(mended.statement.split()),
        ),
    )


def _formulas() -> tuple[Formula, ...]:
    """The theorems and remarks about rates; with minibatches, and remark 7's logarithm with full gradients."""
    noisy = {**MINIBATCHES, **SHORT}
    asked: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
        ("chen2015/theorem-2", "bias", noisy),
        ("chen2015/theorem-3", "mse", noisy),
        ("chen2015/theorem-4", "stationary-bias", MINIBATCHES),
        ("chen2015/theorem-5", "bias", noisy),
        ("chen2015/theorem-5", "mse", noisy),
        ("chen2015/remark-9", "bias", noisy),
        ("chen2015/remark-9", "mse", noisy),
        ("chen2015/remark-10", "bias", noisy),
        ("chen2015/remark-10", "mse", noisy),
        ("chen2015/remark-7", "bias", SHORT),
        ("chen2015/corollary-6", "consistency", noisy),
        ("chen2015/symmetric-words", "constant-equivalence", {}),
    )
    return (formula("chen2015/appendix-d-telescoping", telescoping), *(_of_card(*row) for row in asked))


FORMULAS = _formulas()
