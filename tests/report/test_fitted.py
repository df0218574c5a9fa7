"""The regression in words: what it is of, where it lies, and never beside a verdict that it contradicts without a word."""

from __future__ import annotations

from typing import Any

from sgverify.evidence import Evidence, Found, Predicted
from sgverify.report.wording import fitted_text, found_text, vanishes
from tests.tables import each_row

LINE = {
    "exponent": 1.38,
    "low": 1.25,
    "high": 1.53,
    "interval": "95 % confidence",
    "h": [0.03, 0.06, 0.12],
    "residuals": [0.5, -1.2, 0.4],
    "residuals_are": "standard errors",
    "left_out": {},
    "lack_of_fit": 0.5,
}


def evidence(
    line: dict[str, Any],
    verdict: str = "conforms",
    predicted: float = 1,
    method: str = "monte-carlo",
    **given: Any,
) -> Evidence:
    exponent = line.get("exponent") if method == "monte-carlo" else 1
    return Evidence(
        scheme="s",
        claim="chen2015/theorem-4",
        check="stationary-bias",
        configuration={},
        method=method,  # type: ignore[arg-type]
        predicted=Predicted(predicted),
        found=Found(exponent, line.get("low", 1), line.get("high", 1)),
        verdict=verdict,  # type: ignore[arg-type]
        reason="r",
        certificate={"regression": line},
        **given,
    )


def test_a_sampled_slope_is_named_effective_and_says_where() -> None:
    said = fitted_text(evidence(LINE))
    assert said.startswith("fitted over h=0.03 to 0.12 (3 points): h^1.38 [1.25, 1.53] at 95 %")
    assert "an effective exponent there and no limit" in said and "slower" not in said
    assert "residuals 0.5, -1.2, 0.4 standard errors" in said and "no power" not in said
    assert found_text(evidence(LINE)) == "effective h^(1.38) [1.25, 1.53]"
    bent = fitted_text(
        evidence({**LINE, "lack_of_fit": 1e-4, "left_out": {"h=0.01": "1.2 standard errors from 0"}})
    )
    assert "no power describes them (p = 0.0001)" in bent
    assert "3 of 4 points" in bent and "left out: h=0.01 (1.2 standard errors from 0)" in bent


@each_row(
    ("verdict", "predicted", "word"),
    [
        ("conforms", 2, "that is slower than h^2 or faster"),
        ("violates", 1, "that is not slower than h^1 or faster"),
        ("violates", 2, None),
        ("conforms", 1, None),
        ("inconclusive", 2, None),
    ],
)
def test_a_contradiction_has_a_word(verdict: str, predicted: float, word: str | None) -> None:
    said = fitted_text(evidence(LINE, verdict, predicted))
    assert (word in said) if word else "slower" not in said


def test_no_exponent_says_why_and_is_no_zero() -> None:
    none = evidence({"why_none": "0 of 5 points are told", "left_out": {}})
    assert fitted_text(none) == "no exponent is fitted to the points: 0 of 5 points are told"
    assert not vanishes(none) and found_text(none) != "zero"


def test_the_range_of_exact_points_is_no_confidence_interval() -> None:
    line = {**LINE, "interval": "range of local slopes"}
    del line["lack_of_fit"]
    said = fitted_text(evidence(line, method="exact"))
    assert "local slopes go from 1.250 to 1.530, which is no confidence interval" in said
    assert "h^1 is that of h -> 0, where these points are not yet" in said
