"""What torch code does with its own draws: a new noise for each step."""

from __future__ import annotations

from functools import partial

from sgverify.checks.injected import black_box, states_of
from sgverify.checks.sampled_rung import run_seed
from sgverify.checks.subject import Subject
from sgverify.samplers.intercepted.real_calls import copies, kept_noise, stale_noise
from sgverify.schemes.torch_step import TorchStep


def noise_faults(subject: Subject) -> list[str]:
    """What speaks against noise that is new at each step; empty for a definition."""
    if not isinstance(subject.scheme, TorchStep):
        return []
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    state = states_of(subject, 1)[0]
    box.make_debut(state, subject.step)
    again = partial(box.real, h=subject.step)
    faults = [stale_noise(lambda: again(copies(state))), kept_noise(subject.scheme.function)]
    return [fault for fault in faults if fault]


__all__ = ["noise_faults"]
