"""gallery.json: the comparisons, the regions of stability, and the numbers of the pictures of the theory."""

from __future__ import annotations

from typing import Any

import sgverify
from reports.making.gallery import ideas, stability
from reports.making.gallery.settings import CHAPTERS, Chapter


def measured() -> dict[str, Any]:
    """Compute everything."""
    return {
        "comparisons": {name: compared(chapter) for name, chapter in CHAPTERS.items()},
        "stability": {
            "frictions": list(stability.FRICTIONS),
            "steps": list(stability.STEPS),
            "schemes": [stability.measured(scheme) for scheme in stability.DRAWN],
        },
        "ideas": ideas.measured(),
    }


def compared(chapter: Chapter, schemes: tuple[str, ...] = ()) -> dict[str, Any]:
    """The JSON document of the comparison of a chapter, or of some of its schemes."""
    found = sgverify.compare(*(schemes or chapter.schemes), config=chapter.settings)
    return found.document()
