"""The true cause of each planted bug in a definition or in torch code, by its name in `sgverify.advice.diagnosis.model`.

They are stated from the reason of each bug, and are what diagnoses are held to.
"""

from __future__ import annotations

_BY_CAUSE: dict[str, str] = {
    "diffusion-scaled": """aboba-noise-without-2 aboba-noise-by-friction sgld-noise-without-2 sghmc-noise-without-friction
        sghmc-explicit-noise-without-2 sgld-noise-thrice-below-zero momentum-noise-without-2 baoab-noise-of-half-time
        oabao-noise-of-whole-step ubu-momentum-noise-of-whole-step torch-sgld-signs-of-wrong-width
        torch-sgld-box-muller-without-2 torch-sghmc-noise-without-2 torch-baoab-noise-of-half-time""",
    "diffusion-power-of-h": """aboba-noise-by-h sgld-noise-by-h sghmc-noise-by-h momentum-noise-by-rate ubu-own-noise-too-large
        torch-sgld-noise-by-h""",
    "temperature-missing": """aboba-temperature-missing sgld-temperature-missing sgld-temperature-at-least-one
        sgnht-temperature-one-kept sgnht-temperature-missing baoab-temperature-missing nogin-temperature-missing
        sgrld-divergence-without-temperature torch-sgld-temperature-missing torch-sgnht-temperature-one-kept""",
    "temperature-misplaced": "aboba-temperature-outside-root sgld-temperature-outside-root",
    "drift-scaled": "sgld-half-gradient tamed-without-step",
    "drift-sign": "sgld-gradient-of-wrong-sign taylor-curvature-of-wrong-sign sgld-length-of-gradient-for-gradient",
    "prior-scaled": "prior-stepped-twice prior-halved",
    "substep-wrong": """aboba-second-drift-missing aboba-drifts-of-whole-step aboba-theta-never-moves sghmc-drift-without-step
        sghmc-drift-by-half-step baoab-last-kick-half baoab-theta-never-moves nogin-noise-once
        sgnht-aboba-second-half-missing""",
    "friction-wrong": """aboba-second-friction-missing aboba-friction-of-whole-step aboba-friction-without-step
        aboba-friction-of-wrong-sign sghmc-friction-without-step sghmc-explicit-friction-without-step
        sghmc-explicit-friction-of-wrong-sign sghmc-friction-twice-below-zero sgnht-constant-friction
        sgnht-friction-without-step baoab-friction-twice obabo-second-friction-of-whole-step
        nogin-damps-noise-that-is-not-there torch-sghmc-friction-without-step""",
    "thermostat-dimension": """sgnht-without-dim sgnht-dim-wrong-from-four sgnht-aboba-without-dim torch-sgnht-without-dim""",
    "thermostat-wrong": """sgnht-norm-for-square sgnht-feedback-of-wrong-sign sgnht-feedback-without-step
        torch-sgnht-norm-for-square""",
    "noise-shared": "obabo-one-draw-for-both-halves",
    "noise-correlated": "ubu-noises-uncorrelated",
    "gradient-at-old-point": """baoab-stale-last-kick baoab-last-kick-with-kept-gradient baoab-gradient-never-renewed
        aboba-gradient-one-step-stale oabao-kick-at-old-position ubu-kick-at-old-position torch-baoab-stale-last-kick""",
    "gradient-of-wrong-argument": "heun-corrector-without-noise taylor-curvature-times-position",
    "old-value": "baoab-second-drift-with-old-momentum sgnht-aboba-friction-of-old-thermostat",
    "letter-not-exact": """baoab-noise-of-euler baoab-decay-of-euler nogin-variance-of-euler
        nogin-damping-without-denominator""",
    "word-not-symmetric": """aboba-drift-by-a-third aba-friction-unsplit lie-splitting-claimed-symmetric
        obabo-friction-unsplit""",
    "claimed-order": "euler-claimed-of-order-2",
    "metric-wrong": """sgrld-without-divergence sgrld-divergence-twice sgrld-noise-without-metric sgrld-noise-by-inverse-metric
        sgrhmc-correction-of-wrong-sign sgrhmc-without-correction sgrhmc-friction-without-metric
        sgrhmc-drift-without-metric""",
    "noise-law": """torch-sgld-noise-clamped-at-3 torch-sgld-noise-beyond-5-thrown-away torch-sgld-signs-off-the-middle
        torch-sgld-box-muller-half-turn""",
    "noise-reused": "torch-sgld-noise-drawn-once",
    "state-kept": "torch-sgld-overwrites-state torch-sghmc-decays-with-calls",
    "precision": "torch-baoab-constant-in-float32",
}

TRUE_CAUSES = {name: cause for cause, names in _BY_CAUSE.items() for name in names.split()}
"""The cause by the name of the bug."""

__all__ = ["TRUE_CAUSES"]
