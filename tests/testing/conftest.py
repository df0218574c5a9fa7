"""Wrong readings are found at once; making their examples small is not what these tests are about."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import Phase, settings

settings.register_profile("found", settings.get_profile("ci"), phases=[Phase.generate])


@pytest.fixture
def no_shrinking() -> Iterator[None]:
    before = settings.get_current_profile_name()
    settings.load_profile("found")
    yield
    settings.load_profile(before)
