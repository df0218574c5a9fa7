"""The pytest plugin: readable failures, a count of every verdict, and the evidence of a run as one JSON file.

It is loaded in every pytest run of an environment that has sgverify, so it imports nothing but pytest until a
test has used `sgverify.testing`.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import pytest

RECORDING = "sgverify.testing.recording"
ATTRIBUTE, REMARKS, TALLIES = "sgverify_evidence", "sgverify_remarks", "sgverify_tallies"
SCREENED = "sgverify_screened"
PROFILES = ("ci", "nightly")

_RUNNING: list[pytest.Config] = []
"""The runs of this process, the innermost last: `sgverify.testing` asks for their options."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--sgverify-json FILE`, `--sgverify-profile NAME`, `--sgverify-regressions FILE|off`, `--sgverify-counterexamples DIR`."""
    group = parser.getgroup("sgverify", "verification of SG-MCMC integrators")
    group.addoption(
        "--sgverify-profile",
        metavar="NAME",
        help="load sgverify's hypothesis profile: ci (the same examples on every run) or nightly (others each time, many)",
    )
    group.addoption(
        "--sgverify-json",
        metavar="FILE",
        help="write the evidence of all sgverify checks of this run as JSON",
    )
    text = (
        "file of configurations that failed once and are tried first, off for none; by default "
        "sgverify-regressions.jsonl beside the test module"
    )
    group.addoption("--sgverify-regressions", metavar="FILE|off", help=text)
    parser.addini("sgverify_regressions", help=f"{text}; from the root folder")
    group.addoption(
        "--sgverify-counterexamples",
        metavar="DIR",
        help="where evidence and plots of failing properties go (default: sgverify-counterexamples)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker, and meet a file that cannot be written before the tests run."""
    _RUNNING.append(config)
    config.addinivalue_line(
        "markers", "sgverify: a check of a scheme (sgverify.testing.parametrize_with_checks)"
    )
    profile = config.getoption("--sgverify-profile")
    if profile:
        if profile not in PROFILES:
            raise pytest.UsageError(f"--sgverify-profile={profile}: expected one of {', '.join(PROFILES)}")
        # A conftest that registers the profiles later reads it, so that the option has the last word.
        os.environ["HYPOTHESIS_PROFILE"] = profile
        from sgverify.testing.profiles import register_profiles

        register_profiles(load=profile)
    path = config.getoption("--sgverify-json")
    if path:
        folder = Path(path).resolve().parent
        if not folder.is_dir() or not os.access(folder, os.W_OK) or Path(path).is_dir():
            raise pytest.UsageError(
                f"--sgverify-json={path}: cannot be written; expected a file in a folder that exists"
            )
    config.pluginmanager.register(_Run(config), "sgverify-run")


def pytest_unconfigure(config: pytest.Config) -> None:
    """Forget the run's options."""
    if config in _RUNNING:
        _RUNNING.remove(config)


def chosen_places() -> tuple[str | None, str | None]:
    """The regression file and the folder of counterexamples that the options name; None where they name none."""
    if not _RUNNING:
        return None, None
    config = _RUNNING[-1]
    file, ini = config.getoption("--sgverify-regressions"), config.getini("sgverify_regressions")
    if not file and ini:
        file = ini if ini == "off" else str(config.rootpath / ini)
    return file, config.getoption("--sgverify-counterexamples")


def told_known(evidence: Any) -> str | None:
    """Why a violation does not fail the run, where the baseline holds it; None without a baseline, or where it is new."""
    return None


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Tell a user's mistake at the top of a test module as one message with the line that made it."""
    report = yield
    call = getattr(report, "call", None)
    errors = sys.modules.get("sgverify.errors")
    if errors is None or call is None or call.excinfo is None:
        return report
    error = call.excinfo.value
    if report.failed and isinstance(error, errors.UserError):
        own = [entry for entry in call.excinfo.traceback if Path(entry.path) == collector.path]
        where = f"{collector.nodeid}:{own[-1].lineno + 1}: " if own else ""
        report.longrepr = f"{where}{type(error).__name__}: {error}"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Attach the evidence of a test to its report, which workers send on, and put its text in place of a traceback."""
    report = yield
    recording = sys.modules.get(RECORDING)
    if recording is None or call.when != "call":
        return report
    from sgverify.evidence import encode_evidence

    setattr(report, ATTRIBUTE, [encode_evidence(evidence) for evidence in recording.take()])
    setattr(report, REMARKS, recording.take_remarks())
    setattr(report, TALLIES, recording.take_tallies())
    setattr(report, SCREENED, recording.take_screened())
    if report.failed and call.excinfo is not None:
        text = _text(item, call.excinfo.value)
        if text is not None:
            report.longrepr = text
    return report


class _Run:
    """What one process collects: everything in the controller, its own tests in a worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.perf_counter()
        self._found: list[dict[str, Any]] = []
        self._remarks: list[str] = []
        self._tallies: list[dict[str, int]] = []
        self._screened: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a report carries, from this process or from a worker."""
        self._found += getattr(report, ATTRIBUTE, [])
        self._remarks += getattr(report, REMARKS, [])
        self._tallies += getattr(report, TALLIES, [])
        self._screened.update(getattr(report, SCREENED, {}))

    def pytest_sessionfinish(self) -> None:
        """Write the evidence, once: workers hand theirs on."""
        path = self._config.getoption("--sgverify-json")
        if not path or hasattr(self._config, "workerinput"):
            return
        from sgverify.evidence import Provenance, decode_evidence, write_evidence

        command = shlex.join(["pytest", *map(str, self._config.invocation_params.args)])
        seconds = round(time.perf_counter() - self._started, 3)
        # Sorted, since workers finish in any order; two tests may ask the same question.
        items = {item["id"]: item for item in self._found}
        write_evidence(
            path,
            [decode_evidence(items[id]) for id in sorted(items)],
            Provenance.gather(command=command, seconds=seconds),
        )

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line that counts the verdicts: an inconclusive check is no pass, and must be seen."""
        if not (self._found or self._remarks or self._tallies or self._screened):
            return
        terminalreporter.section("sgverify")
        if self._found:
            from sgverify.evidence import decode_evidence
            from sgverify.report import counts

            found = counts(decode_evidence(item) for item in self._found)
            terminalreporter.write_line(f"{len(self._found)} pieces of evidence: {_listed(found)}")
        if self._tallies:
            held = [tally for tally in self._tallies if tally.get("pass")]
            nothing = [tally for tally in self._tallies if not tally.get("pass")]
            for kind, tallies in (("held", held), ("settled nothing", nothing)):
                if tallies:
                    terminalreporter.write_line(f"properties that {kind}: {_under(tallies)}")
        if self._screened:
            many = self._screened.total()
            terminalreporter.write_line(f"{many} examples of sampled properties: {_listed(self._screened)}")
        for text in sorted(set(self._remarks)):
            terminalreporter.write_line(text)
        path = self._config.getoption("--sgverify-json")
        if path:
            terminalreporter.write_line(f"evidence written to {path}")


def _under(tallies: list[dict[str, int]]) -> str:
    total: Counter[str] = Counter()
    for tally in tallies:
        total.update(tally)
    return f"{len(tallies)}, under {total.total()} configurations: {_listed(total)}"


def _listed(found: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in found.items() if number)


def _text(item: pytest.Item, error: BaseException) -> str | None:
    """The text of a violation, or of a user's mistake in a check; None for every other error."""
    from sgverify.errors import UserError

    if item.get_closest_marker("sgverify") is not None and isinstance(error, UserError):
        return f"{type(error).__name__}: {error}"
    text: str | None = (
        getattr(error, "text", None)
        if type(error).__module__ == "sgverify.testing.shrinking.counterexample"
        else None
    )
    return text
