"""The comparison as a whole: perplexity by completion, matched topics, the command, and statements beside what was found."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from reports.applications import keeping
from reports.applications.__main__ import main
from reports.applications.application import Job
from reports.applications.chains import ChainSetting
from reports.applications.lda import exactness, experiment
from reports.applications.lda.corpus import generated
from reports.applications.lda.findings import findings
from reports.applications.lda.gibbs import Sweeps
from reports.applications.lda.model import TopicModel
from reports.applications.lda.outcomes import SamplerOutcome, rows_of
from reports.applications.lda.parametrisations import ExpandedMean, ExpandedNatural
from reports.applications.lda.perplexity import matched_variation, perplexity, predictive
from reports.applications.lda.samplers import EULER, EXPLICIT, LANGEVIN, SPLITTING, samplers
from reports.applications.printed import printed_settings
from reports.applications.result import DivergedChain, PaperFinding
from reports.applications.running import run_application

SMALL = {
    "documents": 60,
    "words": 20,
    "topics": 2,
    "length": 12,
    "held_out": 10,
    "batch": 10,
    "steps": 6,
    "evaluations": 3,
    "refinements": 1,
}
PRINTED = printed_settings("chen2015", "lda")


def test_the_true_topics_complete_documents_better_than_single_words() -> None:
    corpus = generated(documents=400, size=50, topics=4, length=40, alpha=0.1, beta=0.1, seed=2)
    model = TopicModel(
        corpus,
        ExpandedNatural(0.1),
        topics=4,
        alpha=0.1,
        batch=10,
        sweeps=Sweeps(),
        seed=0,
        chains=range(1),
    )
    halves = corpus.halves(seed=0)
    assert corpus.topics is not None
    true = np.ascontiguousarray(corpus.topics.T)[None]
    alike = np.full(true.shape, 1 / 50)
    found = [float(perplexity(predictive(model, pi, *halves, 0))[0]) for pi in (true, alike)]
    words = corpus.topics.mean(0)
    single = float(perplexity(words[halves[1].tokens]))
    assert found[1] == pytest.approx(50) and found[0] < 0.8 * single < 0.8 * found[1]
    # Topics of other words predict worse: the topics' order within the vocabulary is what completes.
    assert float(perplexity(predictive(model, true[:, ::-1].copy(), *halves, 0))[0]) > found[0]


def test_topics_are_matched_whatever_their_order() -> None:
    random = np.random.Generator(np.random.Philox(1))
    truth = random.dirichlet(np.full(9, 0.3), 4)
    assert matched_variation(truth[[2, 0, 3, 1]], truth) == pytest.approx(0, abs=1e-15)
    moved = 0.5 * truth[[2, 0, 3, 1]] + 0.5 / 9
    assert matched_variation(moved, truth) == pytest.approx(np.abs(truth - 1 / 9).sum(1).mean() / 4)


def test_both_parametrisations_start_from_the_same_topics() -> None:
    corpus = generated(documents=20, size=6, topics=2, length=8, alpha=0.5, beta=0.5, seed=0)
    found = []
    for parametrisation in (ExpandedNatural(0.5), ExpandedMean(0.5)):
        model = TopicModel(
            corpus,
            parametrisation,
            topics=2,
            alpha=0.5,
            batch=5,
            sweeps=Sweeps(),
            seed=4,
            chains=range(2),
        )
        found.append(parametrisation.topics(model.matrix(model.start(range(2)))).numpy())
    assert np.allclose(*found, rtol=1e-12)


def test_the_printed_grid_is_scaled_by_what_it_was_printed_for() -> None:
    found = {
        item.label: item for item in samplers(PRINTED, documents=100_000, beta=0.1, frictions=(20.0, 40.0))
    }
    first = found[SPLITTING].rows[0]
    assert (first.printed, first.setting.step, first.setting.friction) == pytest.approx((2e-5, 2e-4, 2.0))
    for row in found[SPLITTING].rows:
        if row.printed is not None:
            assert row.setting.step * row.setting.friction == pytest.approx(
                row.printed * (20 if row.setting.friction < 3 else 40)
            )
    langevin = [row for row in found[LANGEVIN].rows if row.printed is not None]
    assert langevin[0].setting.step == pytest.approx(2e-3) and len(langevin) == 6
    assert found[SPLITTING].settings == found[EULER].settings == found[EXPLICIT].settings


def made(values: dict[str, list[list[float]]]) -> list[SamplerOutcome]:
    """Outcomes with these perplexities of each seed at the printed steps, a little more beside the middle friction."""
    found = []
    for sampler in samplers(PRINTED, documents=100_000, beta=0.1, frictions=(20.0, 40.0, 80.0)):
        seeds = len(next(iter(values.values()))[0])
        given = values.get(sampler.label, [[9.0] * seeds] * 6)
        table = np.full((len(sampler.rows), seeds, 1, 2), np.nan)
        for number, row in enumerate(sampler.rows):
            if row.printed is not None:
                place = PRINTED["steps"].index(row.printed)
                more = 0.0 if row.setting.friction in (1.0, 4.0) else 0.01
                table[number, :, 0, :] = np.array(given[place])[:, None] + more
        found.append(
            SamplerOutcome(sampler, (250,), table, table, np.full((len(sampler.rows), seeds), np.nan))
        )
    return found


def verdicts(values: dict[str, list[list[float]]]) -> dict[str, str]:
    return {item.statement: item.verdict for item in findings(made(values), PRINTED)}


def inside(*seeds: float, coarse: bool = False) -> list[list[float]]:
    """Perplexities that are smallest at the third printed step, and hardly larger beside it, unless the grid is `coarse`."""
    beside = 0.5 if coarse else 0.01
    return [[value + more for value in seeds] for more in (0.6, beside, 0.0, beside, 0.6, 0.6)]


GOOD, BAD = (5.0, 5.1, 4.9, 5.0, 5.05), (6.0, 6.05, 5.9, 6.1, 6.0)
LOST = [float("nan")] * 5
BREAKS = [*inside(*BAD)[:5], LOST]


def test_statements_follow_from_the_numbers() -> None:
    splitting = inside(*GOOD)
    given = {SPLITTING: splitting, EULER: BREAKS, EXPLICIT: splitting}
    found = verdicts({**given, LANGEVIN: [LOST] * 6})
    breaks = [verdict for text, verdict in found.items() if text.startswith("At large")]
    assert breaks == ["reproduced", "undecided"]
    best = [verdict for text, verdict in found.items() if text.startswith("The best")]
    assert best == ["reproduced", "not tried", "not tried"]
    assert found[
        "On the grid of the paper, which is that of SGHMC, the splitting's best test perplexity is below SGLD's"
    ] == ("undecided")
    turned = verdicts({SPLITTING: BREAKS, EULER: splitting})
    assert next(iter(turned.values())) == "not reproduced" and [*turned.values()][2] == "not reproduced"
    close = verdicts({SPLITTING: inside(5.0, 5.2, 4.8), EULER: inside(5.1, 5.0, 5.0)})
    assert [*close.values()][2] == "undecided"


def test_a_breakdown_is_claimed_of_the_steps_of_the_run_alone() -> None:
    first, *_ = findings(made({SPLITTING: inside(*GOOD), EULER: BREAKS}), PRINTED)
    assert "within 250 steps" in first.statement and "in 250 steps" in first.reason
    assert first.found.startswith("in 250 steps, and nothing is claimed of longer runs: ")


def test_a_best_setting_that_is_not_located_decides_nothing() -> None:
    """SGLD has steps of its own between and beside the printed ones, at which every chain is lost here."""
    langevin = inside(14.0, 14.05, 13.97, 14.1, 14.0)

    def best(splitting: list[list[float]]) -> list[PaperFinding]:
        outcomes = made({SPLITTING: splitting, EULER: inside(*BAD), LANGEVIN: langevin})
        return [item for item in findings(outcomes, PRINTED) if item.statement.startswith("The best")]

    fine, coarse = best(inside(*GOOD)), best(inside(*GOOD, coarse=True))
    assert [item.verdict for item in fine] == ["reproduced", "undecided", "undecided"]
    assert [item.verdict for item in coarse] == ["undecided"] * 3
    assert "SGHMC-S is not located: the next smaller step differs from it" in coarse[0].reason
    assert (
        "SGLD-E is not located" in fine[2].reason
        and "a chain diverged at the next larger step" in fine[2].reason
    )
    assert all(item.p is not None and item.p < 1e-3 for item in (*fine, *coarse))


def test_a_refined_grid_is_run_around_its_best_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    """The setting that is best of all lies between two of the grid: the run finds it, and says that it was added."""
    asked: list[tuple[str, tuple[float, ...]]] = []

    def rows(job, sampler, train, halves, truth, group, tell):  # type: ignore[no-untyped-def]
        table = np.zeros((len(sampler.rows), 3, 1, 2))
        for number, row in enumerate(sampler.rows):
            away = np.log2(row.step / 0.0055) ** 2
            table[number] = (np.nan if row.step > 0.015 else 100 + away) + 0.1 * np.arange(3)[:, None, None]
            if row.refined:
                asked.append((group, (row.step,)))
        return SamplerOutcome(sampler, (6,), table, table, np.full((len(sampler.rows), 3), np.nan))

    monkeypatch.setattr(experiment, "_of_rows", rows)
    chosen = {item.label: item for item in samplers(PRINTED, documents=4800, beta=0.1, frictions=(40.0,))}
    settings = {"topics": 2, "alpha": 0.1, "batch": 2, "burn": 1, "sweeps": 1, "refinements": 9}
    corpus = generated(documents=20, size=6, topics=2, length=8, alpha=0.5, beta=0.5, seed=0)
    job = Job(settings, seeds=3)
    halves = corpus.halves(seed=0)
    before = samplers(PRINTED, documents=4800, beta=0.1, frictions=(40.0,))[3].rows
    found = experiment.outcome_of(job, chosen[LANGEVIN], corpus, halves, None, 0, 1)
    best = found.optimum()
    assert best is not None and best.located and abs(np.log2(best.point[0] / 0.0055)) < 0.3
    assert [row for row in found.sampler.rows if not row.refined] == [*before]
    assert {group for group, _ in asked} == {
        f"refined-{number}" for number in range(len({g for g, _ in asked}))
    }
    told = rows_of(found)[len(before)]
    assert told["refined"] and told["printed_step"] is None
    # Of the other samplers the paper names no best setting.
    assert len(experiment.outcome_of(job, chosen[EXPLICIT], corpus, halves, None, 0, 1).sampler.rows) == 9


@pytest.mark.parametrize(
    ("seeds", "lost", "verdict"),
    [
        (6, 6, "reproduced"),
        (5, 5, "reproduced"),
        (5, 2, "undecided"),
        (4, 4, "undecided"),
        (3, 3, "undecided"),
        (1, 1, "undecided"),
    ],
)
def test_a_breakdown_is_told_from_chance(seeds: int, lost: int, verdict: str) -> None:
    """The smallest p of n chains each is 2/C(2n, n): 0.029 for 4, which two statements of one family double. Of 5 and 5 chains, 2
    that diverge are in one group by chance with p = 2 C(5, 2)/C(10, 2) = 0.44. Without a difference nothing is told.
    """
    nan = float("nan")
    stays = [[5.0] * seeds] * 6
    breaks = [*stays[:5], [nan] * lost + [5.0] * (seeds - lost)]
    told = verdicts({SPLITTING: stays, EULER: breaks, EXPLICIT: stays})
    both = [text for name, text in told.items() if name.startswith("At large")]
    assert both == [verdict, "undecided"]
    turned = verdicts({SPLITTING: breaks, EULER: stays, EXPLICIT: breaks})
    both = [text for name, text in turned.items() if name.startswith("At large")]
    assert both == [verdict.replace("reproduced", "not reproduced"), "undecided"]


def test_a_chain_that_diverged_leaves_its_setting_out() -> None:
    flat = [5.0, 5.1, 4.9, 5.0]
    values = [[4.0, float("nan"), 4.0, 4.0], *[flat] * 5]
    outcome = made({SPLITTING: values})[0]
    best = outcome.best()
    assert best is not None and outcome.sampler.rows[best].printed == PRINTED["steps"][1]
    rows = rows_of(outcome)
    assert rows[0]["test_perplexity"] is None and rows[best]["test_perplexity"] == pytest.approx(5.0)


def test_a_run_that_goes_on_is_the_undisturbed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "OFTEN", 0.0)
    monkeypatch.setattr(keeping, "SHARE", 0)
    undisturbed = run_application("lda", **SMALL)
    # Rows in groups of two have the bits of all rows at once.
    monkeypatch.setattr(experiment, "AT_ONCE", 2 * 2 * 2 * 20)
    told: list[str] = []

    def stop(text: str, done: float, total: int) -> None:
        told.append(text)
        if text == EULER and done > 1.45:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_application("lda", out=tmp_path, progress=stop, **SMALL)
    assert (tmp_path / "unfinished" / "SGHMC-S-0.state").exists() and told[0] == SPLITTING
    run_application("lda", out=tmp_path, **SMALL)
    found = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))["found"]
    assert found["rows"] == [*undisturbed.found.rows]
    assert found["findings"] and len(found["advice"]) == 5
    assert all(isinstance(DivergedChain(**item), DivergedChain) for item in found["diverged"])
    assert (tmp_path / "figures" / "lda-step-sizes-1.svg").exists()
    checked = {item["scheme"]: item["outcome"] for item in found["samplers"]}
    schemes = ("sghmc-aboba", "sghmc-euler", "sghmc-euler-explicit", "sgld-euler", "sgrld-expanded-mean")
    assert checked == dict.fromkeys(schemes, "pass")
    (mirrored,) = [item for item in found["samplers"] if item["scheme"] == "sgrld-expanded-mean"]
    assert mirrored["claims"]["sgverify/stationarity (stationarity)"] == "pass"


def test_a_corpus_of_a_user_is_read_and_a_batch_too_large_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "words").write_text(
        "".join(f"2 {number % 5}:3 {(number + 1) % 5}:2\n" for number in range(30))
    )
    call = [
        "lda",
        "--corpus",
        str(tmp_path / "words"),
        "--out",
        str(tmp_path / "out"),
        "--held-out",
        "6",
    ]
    assert main([*call, "--batch", "25"]) == 2
    assert "--batch 25: expected at most 24" in capsys.readouterr().err
    assert ChainSetting(0.1, 2.0).friction == 2.0


def test_the_bias_of_few_sweeps_falls_to_nothing() -> None:
    corpus = generated(documents=30, size=12, topics=3, length=10, alpha=0.3, beta=0.3, seed=1)
    assert corpus.topics is not None
    found = exactness.measure(corpus, corpus.topics, alpha=0.3, kept=2)
    assert found is not None and found.length == 6 and found.documents == 4
    biases = dict(found.biases)
    assert 0.5 > biases[0] > biases[2] > biases[8] and biases[8] < 0.2 * biases[0]
    # An exact sampler has none: many sweeps come near.
    assert exactness.study(found).tables[0].rows[0][1] == pytest.approx(biases[0], rel=0.01)
    assert exactness.measure(corpus, np.full((300, 12), 1 / 12), alpha=0.3, kept=2) is None
