"""Whether torch code accepts and rejects: a step that moves for some draws and stays where it is, bit for bit, for others."""

from __future__ import annotations

import torch

from sgverify.checks.injected import states_of, taker
from sgverify.checks.remembered import cached_per_subject
from sgverify.checks.torch_subject import TorchSubject
from sgverify.errors import SgverifyError

TRIES = 24
"""Draws at each step size."""

TINY = 2.0**-8
"""Of the configured step: there all proposals are accepted, and what stays all the same is lazy and has no ratio."""

LARGER = (1, 4, 16, 64)
"""Multiples of the configured step: a proposal that is hardly ever rejected there is, further on."""


@cached_per_subject
def accepts_and_rejects(subject: TorchSubject) -> bool:
    """Whether theta stays as it is for some draws and moves for others.

    What adds continuous noise never stays; what is lazy on purpose stays at the smallest steps too, and is not meant.
    """
    random = torch.Generator().manual_seed(0)
    try:
        take, census = taker(subject)
        (state,) = states_of(subject, 1)
        place = subject.scheme.dynamics.state.index("theta")
        stays = moves = 0
        for larger in (TINY, *LARGER):
            h = larger * subject.step
            for _ in range(TRIES):
                numbers = torch.randn(census(state), generator=random, dtype=torch.float64)
                before = tuple(part.clone() for part in state)
                draws = numbers[None] if subject.scheme.chains else numbers
                after = take(before, draws, h)[place]
                if not torch.isfinite(after).all():
                    continue
                same = torch.equal(after.to(torch.float64), state[place])
                if same and larger == TINY:
                    return False
                stays, moves = stays + same, moves + (not same)
    except (SgverifyError, ValueError, RuntimeError):
        return False
    return stays > 0 and moves > 0


def message(subject: TorchSubject) -> str:
    """What is and what is not judged of such a step."""
    return (
        "the step accepts and rejects: for some draws it stays where it is. It has no local order of its own, for what it does at "
        "a rejection is no power series in h; what can be judged of it is that its law is invariant, on the configured target "
        "alone, whose energy its ratio has to be; leave `order` out, or sample by the scheme that proposes and judge that"
    )


__all__ = ["accepts_and_rejects", "message"]
