"""Settings of the whole test run: one thread per worker, kernels built once, the hypothesis profiles, and Ctrl-C."""

import atexit
import gc
import logging
import os
import shutil
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

# What is imported and collected lives to the end: no search for garbage before that is done.
gc.disable()

# Before anything numerical is imported: two workers with two threads each would fight over two cores,
# and a fixed number of threads keeps floating-point sums in one order.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# An exception in a check is an answer for users, and a failure of our own tests: no bug hides behind `inconclusive`.
os.environ["SGVERIFY_RAISE"] = "1"

# Further processes would load everything again in each test that calls a command with several.
os.environ["SGVERIFY_WORKERS"] = "1"

# Kernels of an earlier run would hide what is compiled, and tests leave nothing in the user's folders: a folder of this run,
# in which each kernel is built once for all workers.
if "PYTEST_XDIST_WORKER" not in os.environ:
    os.environ["SGVERIFY_CACHE"] = tempfile.mkdtemp(prefix="sgverify-tests-")
    atexit.register(shutil.rmtree, os.environ["SGVERIFY_CACHE"], ignore_errors=True)

# Answers of an earlier run would hide what the code computes now; what a developer keeps on purpose goes by `tests.kept`.
_KEPT = os.environ.get("SGVERIFY_STORE", "off")
os.environ["SGVERIFY_STORE"] = "off"

import pytest  # noqa: E402


def pytest_configure(config: pytest.Config) -> None:
    """Where tests are run; the process that divides them among workers loads nothing of the package."""
    if getattr(config.option, "dist", "no") != "no":
        gc.enable()
        return
    from hypothesis import Phase, settings

    from sgverify.testing.profiles import VARIABLE, register_profiles
    from tests import kept

    if _KEPT != "off":
        kept.PLACE.append(os.path.abspath(_KEPT))
    register_profiles()
    if not os.environ.get(VARIABLE):
        # A quarter of hypothesis's hundred where a property does not say how many, and no search for what else could be varied in
        # an example that is found, which takes most of the time of `find`; a profile that is asked for has both.
        phases = [phase for phase in Phase if phase is not Phase.explain]
        settings.register_profile("quarter", settings.get_profile("ci"), max_examples=25, phases=phases)
        settings.load_profile("quarter")


HOME = Path(__file__).parent
BESIDE = (
    "applications",
    "benchmarks",
    "documentation",
    "experiments",
    "extending",
    "making",
    "notebooks",
    "third_party",
    "test_gallery.py",
    "test_readme.py",
    "test_reports.py",
)
"""What judges applications, reports, documents and benchmarks rather than the package: a step of its own, `pytest --beside`."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--beside", action="store_true", help="judge applications, reports and documents alone")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """What a call names is collected in any case."""
    if collection_path.parent != HOME:
        return None
    named = [config.invocation_params.dir / argument.partition("::")[0] for argument in config.args]
    if any(path.is_relative_to(collection_path) for path in named):
        return None
    return True if (collection_path.name in BESIDE) != config.getoption("beside") else None


LOST = pytest.StashKey[list[str]]()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The cases that `by_default` does not name are behind `power`."""
    cases: dict[tuple[Path, str], tuple[set[str], set[str]]] = {}
    for item in items:
        marker = item.get_closest_marker("by_default")
        if isinstance(item, pytest.Function) and marker is not None:
            named, there = cases.setdefault(
                (item.path, item.originalname), ({str(name) for name in marker.args}, set())
            )
            there.add(item.callspec.id)
            if item.callspec.id not in named:
                item.add_marker(pytest.mark.power)
    # A call that names a test may leave out its cases.
    whole = not any("::" in argument for argument in config.args)
    config.stash[LOST] = [
        f"{path}::{test}[{case}]"
        for (path, test), (named, there) in cases.items()
        for case in named - there
        if whole
    ]


@pytest.fixture
def lost_cases(request: pytest.FixtureRequest) -> list[str]:
    """What `by_default` names and is not there, of the tests of this run."""
    return request.config.stash[LOST]


def pytest_collection_finish() -> None:
    """The modules that are imported by now live to the end: no search for garbage need look at them again."""
    gc.collect()
    gc.freeze()
    gc.enable()


def pytest_runtest_teardown(nextitem: pytest.Item | None, item: pytest.Item) -> None:
    """What a file's tests have left, such as what is remembered, lives to the end too."""
    if nextitem is None or nextitem.path != item.path:
        gc.collect(1)
        gc.freeze()


@pytest.fixture(autouse=True)
def _proofs_are_made_once() -> None:
    """For whatever the tests before have imported by now."""
    from tests.remembered import remember_schemes

    remember_schemes()


class LogCapture(logging.Handler):
    """What the package logs in a test, warnings unless the test asks for more: `records`, their `messages`, all as one `text`."""

    def __init__(self) -> None:
        super().__init__()
        self.records: list[logging.LogRecord] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.records.append(record)

    @property
    def messages(self) -> list[str]:
        return [record.getMessage() for record in self.records]

    @property
    def text(self) -> str:
        return "\n".join(self.messages)


@pytest.fixture
def caplog() -> Iterator[LogCapture]:
    """For the tests that ask: pytest's own plugin adds itself to each of torch's forty loggers, three times in every test."""
    log, capture = logging.getLogger("sgverify"), LogCapture()
    before = log.level
    log.addHandler(capture)
    log.setLevel(logging.WARNING)
    yield capture
    log.removeHandler(capture)
    log.setLevel(before)


@pytest.fixture
def short_runs(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of somebody's code of a third of their steps, with a quarter of the copies: what the tests plant is seen in these too.

    The tests behind `power` take all of them.
    """
    if request.node.get_closest_marker("power"):
        return
    from sgverify.checks.code import real_run
    from sgverify.checks.long_run import long_run

    monkeypatch.setattr(long_run, "STEPS", 1_500)
    monkeypatch.setattr(long_run, "ENTRIES", 1_024)
    monkeypatch.setattr(real_run, "STEPS", 500)
    monkeypatch.setattr(real_run, "CALLS", 2_000)


# Commands and samplers answer Ctrl-C themselves, and a test that was run then fails. The system tells of each signal here,
# whoever handles it, and the run ends after the test.
_PRESSED, _TOLD = os.pipe()
os.set_blocking(_PRESSED, False)
os.set_blocking(_TOLD, False)
signal.set_wakeup_fd(_TOLD, warn_on_full_buffer=False)


def pressed() -> bool:
    """Was Ctrl-C pressed since this was last asked?"""
    try:
        return signal.SIGINT in os.read(_PRESSED, 4096)
    except BlockingIOError:
        return False


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    try:
        return (yield)
    finally:
        if pressed() and "own_ctrl_c" not in item.fixturenames:  # type: ignore[attr-defined]
            raise KeyboardInterrupt


@pytest.fixture
def own_ctrl_c() -> Iterator[None]:
    """Ctrl-C as in the foreground, also where it is ignored, as in a background job; the test presses it itself."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
