"""The pytest plugin: readable failures, a count of every outcome, known violations, and the evidence of a run as a file or a page.

It is loaded in every pytest run of an environment that has sgverify, so it imports nothing but pytest until a
test has used `sgverify.testing`.
"""

from __future__ import annotations

import os
import shlex
import sys
import time
from collections import Counter
from collections.abc import Generator, Iterator, Mapping
from contextlib import ExitStack, chdir, contextmanager
from pathlib import Path
from typing import Any

import pytest

RECORDING = "sgverify.testing.recording"
ATTRIBUTE, REMARKS, TALLIES = "sgverify_evidence", "sgverify_remarks", "sgverify_tallies"
WORST_FIRST = ("fail", "undecided", "refuted", "pass", "not-applicable")
PROFILES = ("ci", "nightly")

KNOWN = pytest.StashKey[Any]()
"""The baseline of a run, a `BaselineFile`."""

_RUNNING: list[pytest.Config] = []
"""The runs of this process, the innermost last: `sgverify.testing` asks for their options."""


OPTIONS = (
    (
        "profile",
        "NAME",
        "load sgverify's hypothesis profile: ci (the same examples on every run) or nightly (others each time, many)",
    ),
    ("json", "FILE", "write the evidence of all sgverify checks of this run as JSON"),
    (
        "report",
        "DIR",
        "write the evidence of all sgverify checks of this run as a page (index.html), report.json, report.md and junit.xml",
    ),
    ("baseline", "FILE", "known violations, which are expected failures (xfail): only new ones fail"),
    (
        "write-baseline",
        "FILE",
        "write the violations of this run to FILE, or bring it up to date; they go on failing this run",
    ),
    (
        "counterexamples",
        "DIR",
        "where evidence and plots of failing properties go (default: sgverify-counterexamples)",
    ),
)
"""The options that take a value, each with what stands for the value and its help."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """The options of this plugin, each under the name `--sgverify-...`."""
    group = parser.getgroup("sgverify", "verification of SG-MCMC integrators")
    for option, metavar, text in OPTIONS:
        group.addoption(f"--sgverify-{option}", metavar=metavar, help=text)
    text = (
        "file of configurations that failed once and are tried first, off for none; by default "
        "sgverify-regressions.jsonl beside the test module"
    )
    group.addoption("--sgverify-regressions", metavar="FILE|off", help=text)
    parser.addini("sgverify_regressions", help=f"{text}; from the root folder")
    group.addoption(
        "--sgverify-run-code",
        action="store_true",
        help="run code that rows of regression files name, such as a target in a Python file that no test has loaded",
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
    # The controller has refused what is wrong before a worker starts.
    if not hasattr(config, "workerinput"):
        _check_places(config)
    baseline = config.getoption("--sgverify-baseline")
    if baseline:
        from sgverify.evidence.recorded import BaselineFile

        with _usage("--sgverify-baseline"):
            config.stash[KNOWN] = BaselineFile.read(baseline)
    config.pluginmanager.register(_Run(config), "sgverify-run")
    if config.getoption("--sgverify-run-code"):
        from sgverify.named_code import run_code

        asked = ExitStack()
        asked.enter_context(run_code())
        config.add_cleanup(asked.close)


def _check_places(config: pytest.Config) -> None:
    """Raise `pytest.UsageError`, before the tests run, for a file or folder that cannot be written."""
    from sgverify.keeping.files import check_new

    for option in ("--sgverify-json", "--sgverify-write-baseline"):
        path = config.getoption(option)
        if path:
            try:
                check_new(path)
            except OSError as error:
                raise pytest.UsageError(
                    f"{option}={path}: cannot be written ({error.strerror}); expected a file in a folder that exists"
                ) from None
    written, report = config.getoption("--sgverify-write-baseline"), config.getoption("--sgverify-report")
    if written and Path(written).exists():
        from sgverify.evidence.recorded import BaselineFile

        with _usage("--sgverify-write-baseline"):
            BaselineFile.read(written)
    if report is not None:
        if not report:
            raise pytest.UsageError("--sgverify-report='': expected a folder to write to; name one")
        from sgverify.report.writing import prepare_folder

        with _usage():
            prepare_folder(report, "--sgverify-report")


@contextmanager
def _usage(option: str = "") -> Iterator[None]:
    """A context in which a user's mistake is pytest's usage error, one message, with the option in front."""
    from sgverify.errors import UserError

    try:
        yield
    except UserError as error:
        raise pytest.UsageError(f"{option}: {error}" if option else str(error)) from None


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
    config = _RUNNING[-1] if _RUNNING else None
    known = None if config is None else config.stash.get(KNOWN, None)
    if config is None or known is None:
        return None
    # Evidence names files from the folder where pytest was started, which a test may have left.
    with chdir(config.invocation_params.dir):
        row = known.known_row(evidence)
    return None if row is None else f"known violation (baseline {known.path}): {evidence.reason}"


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
        report.longrepr = errors.printable(f"{where}{type(error).__name__}: {error}")
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

    setattr(
        report, ATTRIBUTE, [(encode_evidence(evidence), standing) for evidence, standing in recording.take()]
    )
    setattr(report, REMARKS, recording.take_remarks())
    setattr(report, TALLIES, recording.take_tallies())
    if report.failed and call.excinfo is not None:
        text = _text(item, call.excinfo.value)
        if text is not None:
            from sgverify.errors import escaped

            report.longrepr = escaped(text)
    return report


class _Run:
    """What one process collects: everything in the controller, its own tests in a worker."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._started = time.perf_counter()
        self._found: list[tuple[dict[str, Any], str]] = []
        self._written: list[str] = []
        self._remarks: list[str] = []
        self._tallies: list[dict[str, int]] = []

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a report carries, from this process or from a worker."""
        self._found += getattr(report, ATTRIBUTE, [])
        self._remarks += getattr(report, REMARKS, [])
        self._tallies += getattr(report, TALLIES, [])

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the evidence, once: workers hand theirs on. What cannot be written is told, and the run ends as a wrong call."""
        if hasattr(self._config, "workerinput") or self._config.option.collectonly or not self._asked:
            return
        from sgverify.errors import UserError

        try:
            self._write()
        except UserError as error:
            self._written.append(f"ERROR: {error}")
            session.exitstatus = pytest.ExitCode.USAGE_ERROR

    @property
    def _asked(self) -> list[str]:
        options = ("json", "report", "baseline", "write-baseline")
        return [name for name in options if self._config.getoption(f"--sgverify-{name}")]

    def _write(self) -> None:
        from sgverify.evidence import Document, Provenance, decode_evidence, write_evidence
        from sgverify.evidence.recorded import write_baseline
        from sgverify.report.writing import write_report

        option = self._config.getoption
        found = [(decode_evidence(item), standing) for item, standing in self._answers()]
        evidence = tuple(item for item, _ in found)
        command = shlex.join(["pytest", *map(str, self._config.invocation_params.args)])
        seconds = round(time.perf_counter() - self._started, 3)
        document = Document(evidence, Provenance.gather(command=command, seconds=seconds))
        if option("--sgverify-json"):
            write_evidence(option("--sgverify-json"), evidence, document.provenance)
            self._written.append(f"evidence written to {option('--sgverify-json')}")
        if option("--sgverify-report"):
            page = write_report(document, option("--sgverify-report"))
            empty = "" if evidence else ": no check of sgverify left evidence"
            held = f"; not on it: {len(self._tallies)} properties without a violation" * bool(self._tallies)
            self._written.append(f"report written to {page}{empty}{held}")
        rows, unheld = ([item for item, standing in found if standing == one] for one in ("row", "unheld"))
        known = self._config.stash.get(KNOWN, None)
        if known is not None:
            self._written += known.compared(rows, unheld).told(known.path)
        if option("--sgverify-write-baseline"):
            self._written.append(write_baseline(option("--sgverify-write-baseline"), rows))

    def _answers(self) -> list[tuple[dict[str, Any], str]]:
        """The evidence, sorted, since workers finish in any order; of tests that ask one question, the worst answer."""
        from sgverify.testing.recording import STANDINGS

        items: dict[str, tuple[dict[str, Any], str]] = {}
        for item, standing in sorted(
            self._found, key=lambda pair: (WORST_FIRST.index(pair[0]["outcome"]), STANDINGS.index(pair[1]))
        ):
            items.setdefault(item["id"], (item, standing))
        return [items[id] for id in sorted(items)]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """One line that counts the outcomes, since an undecided check is no pass and must be seen; and what was written where."""
        if not (self._found or self._remarks or self._tallies or self._written):
            return
        terminalreporter.section("sgverify")
        if self._found:
            from sgverify.evidence import decode_evidence
            from sgverify.report.text import counts

            answers = [decode_evidence(item) for item, _ in self._answers()]
            terminalreporter.write_line(f"{len(answers)} pieces of evidence: {_listed(counts(answers))}")
        if self._tallies:
            held = [tally for tally in self._tallies if tally.get("pass")]
            nothing = [tally for tally in self._tallies if not tally.get("pass")]
            for kind, tallies in (("held", held), ("settled nothing", nothing)):
                if tallies:
                    terminalreporter.write_line(f"properties that {kind}: {_under(tallies)}")
        for text in [*sorted(set(self._remarks)), *self._written]:
            from sgverify.errors import printable

            terminalreporter.write_line(printable(text))


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
