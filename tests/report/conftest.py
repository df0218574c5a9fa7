"""A made-up document with every kind of evidence; names of schemes are invented, the numbers follow set powers."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest

from sgverify.evidence import Document, Evidence, Found, Point, Predicted, Provenance
from sgverify.report.writing import write_report

SCHEMES = ("first-a", "first-b", "second-a", "second-b", "second-c", "second-d")
STEPS = (0.32, 0.16, 0.08, 0.04, 0.02)
LENGTHS = tuple(10**power for power in range(2, 11))
PROVENANCE = Provenance("0.0.0", "3.11", "2.13", "a machine", "sgverify report", 1.5)


def configuration(gradient: str, **changes: object) -> dict[str, object]:
    return {
        "temperature": 1.0,
        "friction": 2.0,
        "test_function": "theta**2",
        "target": {"name": "gaussian-mean", "size": 1000},
        "gradient": {"kind": gradient, "batch": 10},
        "schedule": {"kind": "fixed"},
        **changes,
    }


def item(scheme: str, claim: str, check: str, found: object, predicted: object, **fields: object) -> Evidence:
    given: dict[str, object] = {
        "configuration": configuration("full"),
        "method": "exact",
        "verdict": "conforms",
        "reason": f"The exponent of the expansion is {found}.",
        "certificate": {"leading": Fraction(1, 24), "formula": "theta += h p"},
        "replay": f"sgverify rate {scheme} --quantity {check}",
        "seconds": 0.25,
        **fields,
    }
    exponents = Found(found, found, found) if found is not None else Found()
    return Evidence(
        scheme=scheme, claim=claim, check=check, predicted=Predicted(predicted), found=exponents, **given
    )


def stationary(order: int, noisy: bool, size: float, sampled: bool) -> Iterator[Point]:
    for step in STEPS:
        value = size * (step**order + (0.4 * step if noisy else 0.0))
        yield Point(step=step, value=value, error_bound=1e-14)
        if sampled:
            yield Point(step=step, value=value * 1.02, standard_error=value * 0.05, kind="sampled")


def lengthwise(alpha: float, order: int, noisy: bool, mse: bool) -> tuple[Point, ...]:
    points = []
    for length in LENGTHS:
        h = 0.3 * length**-alpha
        bias = 1 / (length * h) - 0.8 * (h**order + (0.2 * h if noisy else 0.0))
        value = bias**2 + 0.5 / (length * h) if mse else bias
        points.append(Point(length=length, step=h, value=value, error_bound=abs(value) * 1e-9))
    return tuple(points)


def sample_evidence() -> list[Evidence]:
    evidence = []
    for place, scheme in enumerate(SCHEMES):
        order = 1 if scheme.startswith("first") else 2
        size = 0.5 + 0.4 * place
        evidence.append(
            item(scheme, "chen2015/lemma-8", "local-order", order, order, method="proof", certificate={
                "given_minibatch": order, "averaged": 1, "leading": ["h^3/24 [A,[A,B]]", "h^3/12 [[A,B],B]"]})
        )  # fmt: skip
        for kind in ("full", "iid"):
            noisy = kind == "iid"
            fast = order if not noisy else 1
            settings = configuration(kind)
            points = list(stationary(order, noisy, size, sampled=place % 2 == 0))
            if scheme == "first-a":
                points.append(Point(step=0.64, value=float("inf"), diverged=True))
            refuted = noisy and order == 2
            evidence.append(
                item(scheme, "chen2015/theorem-4", "stationary-bias", fast, order, points=tuple(points),
                     configuration=settings, refuted=refuted, verdict="violates" if refuted else "conforms")
            )  # fmt: skip
            evidence.append(
                item(scheme, "corrected/theorem-4", "stationary-bias", fast, fast, points=tuple(points),
                     configuration=settings, sharp=True)
            )  # fmt: skip
            alpha = Fraction(1, order + 1)
            for claim, mse in (("theorem-2", False), ("theorem-3", True), ("remark-7", False)):
                kind_of = "power" if claim == "remark-7" else "horizon"
                exponent = -min(1 - alpha, (2 if mse else 1) * fast * alpha)
                evidence.append(
                    item(scheme, f"chen2015/{claim}", "mse" if mse else "bias", exponent, exponent,
                         points=lengthwise(float(alpha), order, noisy, mse),
                         configuration=configuration(kind, schedule={"kind": kind_of, "alpha": float(alpha)}))
                )  # fmt: skip
    evidence += [
        item("second-a", "chen2015/theorem-4", "stationary-bias", None, 2, reason="The bias is identically zero.",
             points=tuple(Point(step=step, value=0.0) for step in STEPS),
             configuration=configuration("full", test_function="theta")),
        item("second-b", "chen2015/theorem-4", "stationary-bias", 1, 2, verdict="violates",
             reason="The coefficient of h is 3/4, not 0.", configuration=configuration("full", test_function="p**2"),
             points=tuple(Point(step=step, value=-0.75 * step) for step in STEPS)),
        item("second-c", "chen2015/theorem-4", "stationary-bias", None, 2, verdict="inconclusive",
             method="monte-carlo", reason="The bias never rises from the noise.",
             configuration=configuration("full", test_function="p**2"),
             points=tuple(Point(step=step, value=0.01 * (-1) ** n, standard_error=0.02, kind="sampled")
                          for n, step in enumerate(STEPS))),
        item("first-a", "chen2015/lemma-12", "local-order", None, None, verdict="not-applicable", method="proof",
             reason="chen2015/lemma-12 does not speak of this case <script>alert(1)</script> & \"quotes\"."),
    ]  # fmt: skip
    return evidence


@pytest.fixture(scope="session")
def evidence() -> list[Evidence]:
    return sample_evidence()


@pytest.fixture(scope="session")
def written(document: Document, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the report of the document; a test that writes to it copies it first."""
    folder = tmp_path_factory.mktemp("reports") / "deep" / "report"
    assert write_report(document, folder) == folder / "index.html"
    return folder


@pytest.fixture(scope="session")
def document(evidence: list[Evidence]) -> Document:
    return Document(tuple(evidence), PROVENANCE)
