"""The parts of the committed reports, in the order in which they are made: none reads what a later one writes."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from reports.making import (
    advised,
    applications,
    beyond_gaussians,
    browser,
    bug_reports,
    campaigns,
    certificates,
    coefficients,
    commands,
    diagnoses,
    failed_writes,
    false_alarms,
    forced_runs,
    fuzz,
    kept_answers,
    kernels,
    killed_runs,
    picture,
    pools,
    posteriors,
    references,
    slow_tests,
    suites,
    transcripts,
    versions,
)
from reports.making.gallery import making as gallery
from reports.making.identification import making as identification
from reports.making.in_the_wild import making as in_the_wild
from sgverify.keeping.files import write_atomically

ROOT = Path(__file__).resolve().parents[2]
HERE = Path("reports")
"""The folder of the reports, from the root of the checkout: what is recorded holds no path of a machine."""


@dataclass(frozen=True)
class Choice:
    """How the parts are made.

    `again` starts anew what could go on where it ended; `data` is the folder of the posteriors' data, which the repository
    does not hold. An `effort` of None is each part's own.
    """

    workers: int | None = None
    effort: str | None = None
    again: bool = False
    data: Path | None = None


@dataclass(frozen=True)
class Part:
    """One part: the files, and folders full of them, that it `makes` from a `source`, and its cost in `minutes` of processor time.

    `make` computes and writes; `render` writes pages and pictures from the stored JSON of a folder of reports and computes
    nothing.
    """

    name: str
    makes: tuple[str, ...]
    source: str
    minutes: float
    make: Callable[[Choice], None]
    render: Callable[[Path], None]


def _nothing(folder: Path) -> None:
    """The part is its JSON alone."""


def _command(*arguments: str) -> Callable[[Choice], None]:
    """One of `commands`. Exit codes 1 and 3, a bar missed or left open, are results; others end the run."""

    def make(choice: Choice) -> None:
        workers = [] if choice.workers is None else ["--workers", str(choice.workers)]
        code = commands.run([*arguments, *workers])
        if code not in (0, 1, 3):
            raise SystemExit(code)

    return make


def _render_calibration(folder: Path) -> None:
    from reports.making.calibration.document import decode_calibration
    from reports.making.calibration.page import write_calibration_report

    stored = json.loads((folder / "calibration" / "calibration.json").read_text(encoding="utf-8"))
    write_calibration_report(decode_calibration(stored), folder / "calibration")


def _render_kill_matrix(folder: Path) -> None:
    from reports.making.power.kill_matrix import decode_kill_matrix
    from reports.making.power.page import render_kill_matrix

    stored = json.loads((folder / "power" / "kill_matrix.json").read_text(encoding="utf-8"))
    write_atomically(folder / "power" / "kill_matrix.md", render_kill_matrix(decode_kill_matrix(stored)))


def _make_experiments(suite: str, choice: Choice) -> None:
    suites.write_experiments(suite, HERE, choice.effort or EFFORTS[suite])


def _make_page(suite: str, choice: Choice) -> None:
    suites.write_page(suite, HERE, choice.effort or "default", choice.workers)


def _make_picture(choice: Choice) -> None:
    picture.make(HERE)


def _make_campaigns(choice: Choice) -> None:
    campaigns.make()


def _make_browser(choice: Choice) -> None:
    browser.make(HERE)


def _make_versions(choice: Choice) -> None:
    versions.make(HERE)


def _make_fuzz(choice: Choice) -> None:
    fuzz.make(HERE)


def _make_identification(choice: Choice) -> None:
    identification.make(HERE)


def _make_false_alarms(choice: Choice) -> None:
    for kind, first, count in false_alarms.PIECES:
        false_alarms.write_piece(kind, first, count, HERE / "power", again=choice.again)


def _make_pools(choice: Choice) -> None:
    pools.main(["--again"] if choice.again else [])


def _make_slow_tests(choice: Choice) -> None:
    slow_tests.main([] if choice.workers is None else ["-n", str(choice.workers)])


def _make_posteriors(choice: Choice) -> None:
    posteriors.main([_data("posteriors", choice)])


def _make_advised(choice: Choice) -> None:
    advised.main([_data("advised", choice)], choice.effort or "default")


def _data(part: str, choice: Choice) -> str:
    if choice.data is None:
        raise SystemExit(
            f"{part}: the data are not in the repository; expected --data FOLDER with the files that "
            "reports/making/posterior_models.py names"
        )
    return str(choice.data)


def _make_transcripts(choice: Choice) -> None:
    transcripts.make(HERE)


def _make_references(choice: Choice) -> None:
    references.main([_data("references", choice)])


def _make_kernels(choice: Choice) -> None:
    kernels.make(HERE)


def _make_certificates(choice: Choice) -> None:
    certificates.make(HERE)


def _make_coefficients(choice: Choice) -> None:
    coefficients.make(HERE)


def _make_gallery(choice: Choice) -> None:
    gallery.make(HERE)


def _make_in_the_wild(choice: Choice) -> None:
    in_the_wild.make(HERE)


def _make_bug_reports(choice: Choice) -> None:
    bug_reports.make(HERE)


def _make_diagnoses(choice: Choice) -> None:
    diagnoses.make(HERE)


def _make_application(name: str, choice: Choice) -> None:
    applications.make(name, HERE, again=choice.again)


EFFORTS = {"chen2015": "default", "vr-resgld": "full", "awsgld": "full"}
"""The effort at which the committed experiments of each suite were made."""


def _experiments(suite: str, minutes: float) -> Part:
    source = f"the experiments of {suite}, at {EFFORTS[suite]} effort"
    return Part(
        f"{suite}-experiments",
        (f"{suite}/studies.json",),
        source,
        minutes,
        partial(_make_experiments, suite),
        _nothing,
    )


def _page(suite: str, minutes: float) -> Part:
    files = (
        "report.json",
        "errata.json",
        "index.html",
        "evidence.html",
        "report.md",
        "figures/",
        "junit.xml",
    )
    return Part(
        suite,
        tuple(f"{suite}/{name}" for name in files),
        f"the suite and the errata of {suite}, and {suite}/studies.json",
        minutes,
        partial(_make_page, suite),
        partial(suites.render, suite),
    )


def _application(name: str, batch: applications.Batch) -> Part:
    return Part(
        f"app-{name}",
        tuple(f"models/{name}/{file}" for file in applications.FILES),
        f"`python -m reports.applications {name}` with {batch.seeds} chains of each setting, on the grid of a batch",
        batch.minutes,
        partial(_make_application, name),
        partial(applications.render, name),
    )


_PARTS = (
    _experiments("chen2015", 2),
    _experiments("vr-resgld", 30),
    _experiments("awsgld", 3),
    _page("chen2015", 1),
    _page("vr-resgld", 0.3),
    _page("awsgld", 0.3),
    Part(
        "picture",
        ("picture.json", "picture.svg"),
        "settings of chen2015/report.json, one range of steps",
        0.1,
        _make_picture,
        picture.render,
    ),
    Part(
        "campaigns",
        ("campaigns/campaigns.json", "campaigns/campaigns.md", "campaigns/campaigns.svg"),
        "tasks on processes and on a Dask cluster, kills, questions of campaigns",
        15,
        _make_campaigns,
        campaigns.render,
    ),
    Part(
        "browser",
        ("browser/browser.json", "browser/browser.md", "browser/site.json", "browser/site.md"),
        "pages of the papers, of a right and a wrong scheme and of the site, in headless Chromium with axe-core",
        10,
        _make_browser,
        browser.render,
    ),
    Part(
        "versions",
        ("versions/versions.json", "versions/versions.md"),
        "a selection of the tests with the lowest and the newest versions, and the distributions as installed (by pip and tox)",
        20,
        _make_versions,
        versions.render,
    ),
    Part(
        "fuzz",
        ("fuzz/fuzz.json", "fuzz/numbers.json"),
        "`python -m tests.fuzz`: broken, extreme and hostile inputs of every command, key and file format",
        8,
        _make_fuzz,
        _nothing,
    ),
    Part(
        "gallery",
        tuple(f"gallery/{name}" for name in gallery.FILES),
        "`sgverify.compare` of the catalogue on Gaussian and logistic posteriors and a double well; and the ideas of the theory",
        2,
        _make_gallery,
        gallery.render,
    ),
    Part(
        "coefficients",
        ("coefficients/coefficients.json", "coefficients/coefficients.md"),
        "how large the bias is told to be on 19 targets, beside matrices, grids and runs of the report's own",
        2,
        _make_coefficients,
        coefficients.render,
    ),
    Part(
        "certificates",
        tuple(f"certificates/certificates.{kind}" for kind in ("json", "md", "svg")),
        "certified contraction of 20 schemes for classes of potentials, beside published rates and the slowest members found",
        1,
        _make_certificates,
        certificates.render,
    ),
    Part(
        "calibration",
        tuple(f"calibration/calibration.{kind}" for kind in ("json", "md", "svg")),
        "simulated samples of known rates",
        43,
        _command("calibration", "--out", str(HERE / "calibration")),
        _render_calibration,
    ),
    Part(
        "power",
        ("power/kill_matrix.json", "power/kill_matrix.md"),
        "every planted bug of tests/mutants under every check",
        42,
        _command("power", "--out", str(HERE / "power")),
        _render_kill_matrix,
    ),
    Part(
        "pools",
        ("power/pools.json", "power/pools.md"),
        "right and wrong steps of tests.pools",
        67,
        _make_pools,
        pools.render,
    ),
    Part(
        "diagnoses",
        ("diagnoses/diagnoses.json", "diagnoses/diagnoses.md", "diagnoses/first_sight.json"),
        "planted bugs in definitions and torch code, and wrong definitions of tests.pools",
        5,
        _make_diagnoses,
        diagnoses.render,
    ),
    Part(
        "identification",
        ("identification/recovery.json", "identification/recovery.md"),
        "`sgverify identify` of catalogue schemes in random conventions, and with one factor off by 1 %",
        15,
        _make_identification,
        identification.render,
    ),
    Part(
        "kernels",
        ("kernels/kernels.json", "kernels/kernels.md"),
        "kernels in C and their definitions: schemes, targets and gradient estimators of the catalogues",
        15,
        _make_kernels,
        kernels.render,
    ),
    Part(
        "beyond-gaussians",
        ("beyond-gaussians/beyond.json", "beyond-gaussians/beyond.md"),
        "the papers' claims on a double well, a logistic regression, a product of wells, a banana, by a thermostat; coefficients",
        5,
        lambda choice: beyond_gaussians.make(HERE),
        beyond_gaussians.render,
    ),
    Part(
        "kept-answers",
        ("store/kills.json", "store/kills.md"),
        "processes that keep answers in a store, and reports, killed at random moments",
        2,
        lambda choice: kept_answers.make(HERE),
        kept_answers.render,
    ),
    Part(
        "transcripts",
        ("transcripts/transcripts.md", "transcripts/answers.md"),
        "`sgverify verify` of a right and of a wrong scheme, and ten answers in full",
        2,
        _make_transcripts,
        _nothing,
    ),
    Part(
        "false-alarms",
        (
            *(f"power/false_alarms_{kind}_{first}.json" for kind, first, _ in false_alarms.PIECES),
            "power/false_alarms.md",
        ),
        "correct schemes under generated configurations",
        73,
        _make_false_alarms,
        false_alarms.render,
    ),
    Part(
        "killed-runs",
        ("power/killed_runs.json", "power/killed_runs.md"),
        "runs of `sgverify sample`, killed and resumed",
        8,
        lambda choice: killed_runs.main([]),
        killed_runs.render,
    ),
    Part(
        "forced-runs",
        ("power/forced_runs.json", "power/forced_runs.md"),
        "runs of `sgverify sample --force`, two at a time, killed and resumed",
        12,
        lambda choice: forced_runs.main([]),
        forced_runs.render,
    ),
    Part(
        "failed-writes",
        ("power/failed_writes.json", "power/failed_writes.md"),
        "every write of every command fails in turn",
        60,
        lambda choice: failed_writes.main([]),
        failed_writes.render,
    ),
    Part(
        "slow-tests",
        ("power/slow_tests.json", "power/slow_tests.md"),
        "`pytest -m power`: the tests that the default run leaves out",
        60,
        _make_slow_tests,
        slow_tests.render,
    ),
    Part(
        "in-the-wild",
        tuple(f"in-the-wild/{name}" for name in in_the_wild.FILES),
        "samplers of the libraries of the extra `wild`, where these are installed; left out without",
        12,
        _make_in_the_wild,
        in_the_wild.render,
    ),
    Part(
        "bug-reports",
        tuple(f"in-the-wild/{name}" for name in bug_reports.FILES),
        "faults of samplers that were reported in public, in tests/in_the_wild",
        8,
        _make_bug_reports,
        bug_reports.render,
    ),
    Part(
        "posteriors",
        ("posteriors/posteriors.json", "posteriors/posteriors.md", "posteriors/truth.json"),
        "data and reference answers of posteriordb, in --data FOLDER; left out without",
        5,
        _make_posteriors,
        posteriors.render,
    ),
    Part(
        "references",
        ("posteriors/references.json", "posteriors/references.md"),
        "data and reference answers of posteriordb, in --data FOLDER; left out without",
        1,
        _make_references,
        references.render,
    ),
    Part(
        "advised",
        ("posteriors/advised.json", "posteriors/advised.md"),
        "what `sgverify advise` predicts on the same data, in --data FOLDER; left out without",
        15,
        _make_advised,
        advised.render,
    ),
    *(_application(name, batch) for name, batch in applications.BATCHES.items()),
)
PARTS = {part.name: part for part in _PARTS}

OF_DATA = ("posteriors", "references", "advised")
"""The parts that read data which the repository does not hold."""

OF_LIBRARIES = ("in-the-wild", "versions")
"""The parts that judge what is installed, or install it; made when they are named."""

RENDERED = (
    "*/evidence.html",
    "*/junit.xml",
    "*.pdf",
    "models/*/figures/*",
    "models/*/figures/",
    "calibration/calibration.svg",
)
"""Files, as patterns, that `python -m reports --stored` makes of the stored JSON and that the repository does not hold."""

KEPT = ("transcripts/before.txt",)
"""The files that no part makes: what an earlier version printed."""


def make(names: list[str], choice: Choice) -> None:
    """Make the parts of these names, or all that can be made, in the order of `PARTS`."""
    os.chdir(ROOT)
    for name, part in PARTS.items():
        able = name not in OF_LIBRARIES and (name not in OF_DATA or choice.data is not None)
        if name in names or (not names and able):
            print(f"{name}: about {part.minutes:g} minutes of processor time", flush=True)
            part.make(choice)


def render(names: list[str], folder: Path = ROOT / HERE) -> None:
    """Write pages and pictures anew from the JSON that is stored in a folder of reports; all without names."""
    for name, part in PARTS.items():
        if name in names or not names:
            part.render(folder)


def is_rendered(name: str) -> bool:
    """Whether a file of the reports, named from their folder, is one that the repository does not hold."""
    return any(fnmatch(name, pattern) for pattern in RENDERED)
