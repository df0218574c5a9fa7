"""The hypothesis profiles of a suite of properties: `ci`, the same on every run, and `nightly`, another one each time."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

VARIABLE = "HYPOTHESIS_PROFILE"
NIGHTLY_EXAMPLES = 2000


def register_profiles(*, load: str | None = None) -> str:
    """Register both with hypothesis and load one: `load`, else the environment's HYPOTHESIS_PROFILE, else `ci`.

    `ci` draws the same examples on every run, keeps no database and sets no deadline. `nightly` draws others each
    time, 2,000 for each property that does not say how many, keeps a database of what has failed, which it tries
    first, and prints how to reproduce it. Call it in `conftest.py`, or run pytest with `--sgverify-profile`. Returns
    the name of the loaded profile; hypothesis raises `InvalidArgument` for a name that it does not know.
    """
    # A profile inherits from the loaded one unless another parent is given.
    plain, slow = settings.get_profile("default"), [HealthCheck.too_slow]
    settings.register_profile(
        "ci", plain, derandomize=True, database=None, deadline=None, suppress_health_check=slow
    )
    settings.register_profile(
        "nightly",
        plain,
        derandomize=False,
        max_examples=NIGHTLY_EXAMPLES,
        deadline=None,
        print_blob=True,
        suppress_health_check=slow,
    )
    name = load or os.environ.get(VARIABLE) or "ci"
    settings.load_profile(name)
    return name


def examples(count: int) -> int:
    """`count` examples, or as many as the profile has where that is more: what `max_examples` of a property may be.

    >>> examples(10) >= 10
    True
    """
    most = settings().max_examples
    return max(count, most) if most >= NIGHTLY_EXAMPLES else count
