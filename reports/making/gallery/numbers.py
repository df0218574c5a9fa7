"""gallery.json: the numbers of all tables and pictures, and the settings under which they were computed."""

from __future__ import annotations

from typing import Any

from reports.making.gallery import gaussian, ideas, logistic, stability, well
from reports.making.gallery.settings import (
    DATA,
    DEPENDENT,
    GRADIENTS,
    LOGISTIC,
    LOGISTIC_ERROR,
    LOGISTIC_GRADIENTS,
    MINIBATCH,
    PHI,
    SCHEMES,
    TOLERANCE,
    WELL,
    damping,
)
from reports.making.gallery.settings import gaussian as gaussian_subject
from reports.making.gallery.settings import well as well_subject


def measured() -> dict[str, Any]:
    """Compute everything."""
    posterior = gaussian_subject("sgld-euler", GRADIENTS["full"])
    deep = well_subject("sgld-euler")
    return {
        "settings": {
            "phi": PHI,
            "tolerance": TOLERANCE,
            "data": len(DATA),
            "data_from": DATA[0],
            "data_to": DATA[-1],
            "precision": float(posterior.target.precision[0][0]),
            "temperature": float(posterior.configuration.temperature),
            "friction": damping(),
            "batch": MINIBATCH["batch"],
            "budgets": list(gaussian.BUDGETS),
            "dependent_batch": next(iter(DEPENDENT.values()))["batch"],
            "logistic": {
                **LOGISTIC,
                "error": LOGISTIC_ERROR,
                "batch": LOGISTIC_GRADIENTS["minibatch"]["batch"],
            },
            "well": {**WELL, "friction": float(deep.configuration.friction)},
        },
        "local_order": {scheme: gaussian.local_order(scheme) for scheme in SCHEMES},
        "gaussian": {
            kind: [gaussian.measured(scheme, gradient) for scheme in SCHEMES]
            for kind, gradient in GRADIENTS.items()
        },
        "dependent": {
            kind: [gaussian.biased(scheme, gradient) for scheme in SCHEMES]
            for kind, gradient in DEPENDENT.items()
        },
        "logistic": {kind: logistic.measured(gradient) for kind, gradient in LOGISTIC_GRADIENTS.items()},
        "well": [well.measured(scheme) for scheme in SCHEMES],
        "stability": {
            "frictions": list(stability.FRICTIONS),
            "steps": list(stability.STEPS),
            "schemes": [stability.measured(scheme) for scheme in stability.DRAWN],
        },
        "ideas": ideas.measured(),
    }
