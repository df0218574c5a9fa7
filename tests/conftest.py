"""Settings of the whole test run: one thread per worker, and the hypothesis profiles."""

import gc
import os

# Before anything numerical is imported: two workers with two threads each would fight over two cores,
# and a fixed number of threads keeps floating-point sums in one order.
for _variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
    os.environ.setdefault(_variable, "1")

# An exception in a check is an answer for users, and a failure of our own tests: no bug hides behind `inconclusive`.
os.environ["SGVERIFY_RAISE"] = "1"

# Further processes would load everything again in each test that calls a command with several.
os.environ["SGVERIFY_WORKERS"] = "1"

# Kernels of an earlier run would hide what is compiled, and tests leave nothing in the user's folders.
os.environ["SGVERIFY_CACHE"] = "off"

# Answers of an earlier run would hide what the code computes now; what a developer keeps on purpose goes by `tests.kept`.
_KEPT = os.environ.get("SGVERIFY_STORE", "off")
os.environ["SGVERIFY_STORE"] = "off"

import pytest  # noqa: E402
from hypothesis import Phase, settings  # noqa: E402

from sgverify.testing.profiles import VARIABLE, register_profiles  # noqa: E402
from tests import kept  # noqa: E402
from tests.remembered import remember_schemes  # noqa: E402

if _KEPT != "off":
    kept.PLACE.append(os.path.abspath(_KEPT))

register_profiles()
if not os.environ.get(VARIABLE):
    # Half of hypothesis's hundred where a property does not say how many, and no search for what else could be varied in
    # an example that is found, which takes most of the time of `find`; a profile that is asked for has both.
    phases = [phase for phase in Phase if phase is not Phase.explain]
    settings.register_profile("half", settings.get_profile("ci"), max_examples=50, phases=phases)
    settings.load_profile("half")


def pytest_collection_finish() -> None:
    """The modules that are imported by now live to the end: no search for garbage need look at them again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _proofs_are_made_once() -> None:
    """For whatever the tests before have imported by now."""
    remember_schemes()
