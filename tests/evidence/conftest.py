"""One piece of evidence to change, and the document around it."""

from __future__ import annotations

from fractions import Fraction

import pytest

from sgverify.evidence import Document, Evidence, Found, Point, Predicted, Provenance


@pytest.fixture
def evidence() -> Evidence:
    return Evidence(
        scheme="sghmc-aboba",
        claim="chen2015/theorem-4",
        check="stationary-bias",
        configuration={"friction": 2.0, "gradient": {"kind": "iid", "batch": 10}},
        method="exact",
        predicted=Predicted(Fraction(2)),
        found=Found(Fraction(1), 1, 1),
        verdict="violates",
        reason="A sentence.",
        points=(Point(step=0.01, value=-1e-6, error_bound=1e-15),),
        certificate={"coefficient": Fraction(1, 24)},
        replay="sgverify rate sghmc-aboba --quantity stationary-bias",
        seconds=0.01,
    )


@pytest.fixture
def provenance() -> Provenance:
    return Provenance("0", "3.11", "2.13", "here", "sgverify verify", 1.0)


@pytest.fixture
def document(evidence: Evidence, provenance: Provenance) -> Document:
    return Document((evidence,), provenance)
