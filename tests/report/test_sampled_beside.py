"""Sampled exponents stand beside the exact ones, each question once, and none where there is only noise."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from sgverify.checks import rate
from sgverify.checks.rates.sampled.rates import with_sampled_points
from sgverify.configuration import load_configuration
from sgverify.evidence import Document, Evidence, Found, Point, Predicted, Provenance
from sgverify.report.wording import sampled_beside_exact
from sgverify.report.writing import write_report
from sgverify.subject.binding import make_subject

STEPS = (0.08, 0.04, 0.02, 0.01)


def evidence(noise: float, claim: str = "chen2015/theorem-4") -> Evidence:
    exact = [Point(step=h, value=h + h**2) for h in STEPS]
    sampled = [Point(step=h, value=h + h**2, standard_error=noise, kind="sampled") for h in STEPS]
    return Evidence(
        scheme="s",
        claim=claim,
        check="stationary-bias",
        configuration={},
        method="exact",
        predicted=Predicted(1),
        found=Found(1, 1, 1),
        points=(*exact, *sampled),
        verdict="conforms",
        reason="r",
    )


def test_one_row_for_each_question_with_both_exponents() -> None:
    (study,) = sampled_beside_exact([evidence(1e-4), evidence(1e-4, "corrected/theorem-4"), evidence(0.1)])
    (good, noise) = study.tables[0].rows
    assert good[:4] == ("s", "full gradients", "stationary-bias", "h^1")
    assert str(good[4]) == "1.01 to 1.05" and str(good[5]).startswith("h^(1.0") and good[7] == "4 of 4"
    assert str(noise[5]).startswith("none: 0 of 4 points are more than 3 standard errors from 0")
    assert sampled_beside_exact([dataclasses.replace(evidence(1e-4), points=())]) == []


def test_the_report_shows_it_and_lengths_have_enough_points(tmp_path: Path) -> None:
    subject = make_subject("sgld-euler", load_configuration({"target": {"name": "gaussian"}}))
    item = rate("sgld-euler", quantity="mse", target={"name": "gaussian"})
    (with_points,) = with_sampled_points(subject, [item], chains=16)
    (study,) = sampled_beside_exact([with_points])
    assert str(study.tables[0].rows[0][7]).endswith("of 5")
    steps = {p.length: p.step for p in with_points.points if p.kind == "sampled"}
    first, second = steps[100], steps[200]
    assert first is not None and second is not None and first == item.points[0].step and second < first
    page = write_report(Document((with_points,), Provenance.gather(command="c", seconds=1.0)), tmp_path)
    assert "Sampled exponents beside exact ones" in page.read_text(encoding="utf-8")
    assert "Sampled exponents beside exact ones" in (tmp_path / "report.md").read_text(encoding="utf-8")
    assert not (tmp_path / "studies.json").exists()
