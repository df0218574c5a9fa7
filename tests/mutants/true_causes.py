"""The true cause of each planted bug, by its name in `sgverify.advice.diagnosis.model`.

They are stated from the reason of each bug, and are what diagnoses are held to.
"""

from __future__ import annotations

from tests.mutants.registry import mutants

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
"""The cause of bugs in definitions and in torch code, by the name of the bug."""

_IN_RUNNING_CODE: dict[str, str] = {
    "metric-wrong": """sgrld-root-transposed sgrhmc-root-not-transposed sgrhmc-divergence-of-rows
        sgrld-divergence-of-transposed""",
    "minibatch-law": """iid-indices-without-last without-replacement-collision-at-first reshuffle-once-for-all
        reshuffle-wrong-shuffle symmetric-not-mirrored without-replacement-with-it floyd-without-the-end
        shuffle-without-the-end minibatches-of-two-steps""",
    "data-scaling": """minibatch-scale-missing minibatch-mean-for-sum n-over-n-minus-one minibatch-likelihood-sign
        full-likelihood-sign likelihood-once likelihood-half-detached""",
    "prior-scaled": """prior-scaled-with-data prior-once-per-datum prior-missing prior-curvature-of-wrong-sign
        prior-of-wrong-sign""",
    "drift-scaled": "double-well-half-gradient",
    "temperature-misplaced": """gradient-over-temperature replica-temperatures-reversed replica-temperatures-all-cold
        replica-temperatures-square-rooted replica-temperatures-without-base""",
    "gradient-noise": """minibatch-noise-too-small svrg-snapshot-never-renewed additive-covariance-squared
        hoisted-mean-of-n-minus-one snapshot-of-a-minibatch additive-noise-once-per-step""",
    "gradient-biased": """svrg-snapshot-not-copied svrg-change-of-wrong-sign svrg-change-not-scaled additive-noise-of-other-size
        logistic-of-the-size sine-of-the-other-half-turn clipped-by-the-square
        saga-table-updated-before-use saga-table-updated-for-half-the-minibatch saga-sum-left-behind
        saga-change-not-scaled saga-duplicates-counted-twice control-variate-of-wrong-sign control-variate-change-not-scaled
        control-variate-prior-at-the-centre hessian-off-diagonal-lost sum-over-data-misses-last""",
    "state-kept": "saga-table-emptied-by-a-pause svrg-snapshot-by-steps-of-the-block",
    "chains-coupled": """noise-shared-by-chains streams-of-batches-the-same streams-of-rows-the-same
        minibatches-shared-by-chains""",
    "noise-reused": """noise-of-two-steps noise-of-every-third-step noise-of-every-block-the-first
        streams-of-kinds-the-same""",
    "noise-correlated": """noise-with-memory noise-antithetic-in-time path-begun-anew-in-every-block
        path-divided-by-the-number-of-steps""",
    "noise-shared": "noise-of-both-halves noise-of-all-coordinates",
    "noise-law": """box-muller-half-circle box-muller-log-without-2 three-point-table-without-last noise-uniform""",
    "average-wrong": """uniform-weights-with-decreasing-steps weights-summed-as-counts burn-in-one-short
        thinning-counts-from-the-first-state burn-in-of-a-row-ignored average-over-one-too-many burn-in-forgotten
        thinning-forgotten cyclical-explores-into-the-average""",
    "precision": "float32-sums constants-in-float32 gradient-in-float32 functions-in-float32",
    "letter-not-exact": "exponential-without-its-square",
    "start-wrong": "momentum-drawn-at-temperature-one start-in-other-units",
    "thermostat-dimension": "thermostat-told-dimension-one",
    "schedule-wrong": """power-of-other-exponent power-counted-from-zero power-never-falls cyclical-off-by-one
        cyclical-restarted-every-step cyclical-period-rounded-down fixed-step-halved replica-step-factors-ignored
        replica-step-factors-reversed""",
}
"""The cause of bugs in the running code; those of swaps and of adapted weights follow from their family."""

_OF_FAMILY = {
    "replica exchange": "swap-rule",
    "runs of replicas": "swap-rule",
    "replica exchange rules": "swap-rule",
    "adaptive weights": "weights-wrong",
}


def true_causes() -> dict[str, str]:
    """The cause by the name of the bug, of all planted bugs."""
    stated = {name: cause for cause, names in _IN_RUNNING_CODE.items() for name in names.split()}
    by_family = {
        mutant.name: _OF_FAMILY[mutant.family] for mutant in mutants().values() if mutant.family in _OF_FAMILY
    }
    return {**TRUE_CAUSES, **by_family, **stated}


__all__ = ["TRUE_CAUSES", "true_causes"]
