"""Which random numbers does a run of a subject have? Its configuration and the stage decide."""

from __future__ import annotations

import hashlib
import json
from typing import Any

from sgverify.evidence.model import canonical_numbers
from sgverify.subject.subject import Subject


def run_seed(subject: Subject, *stage: Any) -> int:
    """The seed of a run: a hash of the configuration in canonical form and of the names in `stage`.

    Different stages have different random numbers, and one configuration has the same numbers on every machine.
    """
    content = json.dumps(
        canonical_numbers([subject.configuration.as_dict(), [str(part) for part in stage]]), sort_keys=True
    )
    return int.from_bytes(hashlib.sha256(content.encode()).digest()[:8], "big") >> 1
