"""What torch code does with its own draws: a new noise for each step, and one of its own for each chain."""

from __future__ import annotations

import torch
from torch import Tensor

from sgverify.checks.injected import black_box, states_of
from sgverify.checks.sampled_rung import run_seed
from sgverify.checks.subject import Subject
from sgverify.samplers.intercepted import BlackBox, BlackBoxError, UnreadableDrawError
from sgverify.samplers.intercepted.interception import total
from sgverify.samplers.intercepted.real_calls import kept_noise, stale_noise
from sgverify.schemes.torch_step import TorchStep

ALIKE = 1e-9
"""A row of a batch is what it is alone to this share: sums of a batch may be taken in another order."""


def noise_faults(subject: Subject) -> list[str]:
    """What speaks against noise that is new at each step, and of each chain; empty for a definition."""
    if not isinstance(subject.scheme, TorchStep):
        return []
    box = black_box(subject, seed=run_seed(subject, "minibatches"))
    state = states_of(subject, 1)[0]
    box.make_debut(state, subject.step)
    faults = [stale_noise(lambda: box.real(state, subject.step)), kept_noise(subject.scheme.function)]
    if subject.scheme.chains:
        faults.append(_between_chains(subject, box))
    return [fault for fault in faults if fault]


def _between_chains(subject: Subject, box: BlackBox) -> str:
    """What the chains of one batch do to one another: rows of it are compared with each row run alone."""
    # As many chains as dimensions would hide a draw of one vector for all.
    rows = 3 if subject.target.dim not in (3, 4) else 5
    alone = states_of(subject, rows + 1)
    batch = tuple(torch.cat(values) for values in zip(*alone[:rows], strict=True))
    larger = tuple(torch.cat(values) for values in zip(*alone, strict=True))
    try:
        few, many = box.asked(batch, subject.step), box.asked(larger, subject.step)
        shared = [a for a, b in zip(few, many, strict=False) if a == b]
        # Where more is drawn for more chains, each may have a draw of its own.
        if shared and len(few) == len(many):
            return f"all chains share their noise: it draws a tensor of shape {shared[0]} for {rows} chains and for {rows + 1}"
        box.check_rows(few, rows)
        draws = _draws(subject, rows, total(few, True))
        together, _ = box.run(_copies(batch), draws, subject.step)
        again, _ = box.run(_copies(batch), draws, subject.step)
        if any(not torch.equal(a, b) for a, b in zip(together, again, strict=True)):
            return ""
        for row in range(rows):
            single, _ = box.run(_copies(alone[row]), draws[row : row + 1], subject.step)
            for name, one, all_of_them in zip(subject.scheme.state, single, together, strict=True):
                apart = (one[0] - all_of_them[row]).abs().max()
                if apart > ALIKE * (1 + one.abs().max()):
                    return (
                        f"chains disturb one another: {name} of a chain in a batch of {rows} is off by {float(apart):.3g} from "
                        "what the same state and draws give alone"
                    )
    except (BlackBoxError, UnreadableDrawError):
        # Draws that cannot be put in are not handed to a row alone.
        return ""
    return ""


def _draws(subject: Subject, rows: int, numbers: int) -> Tensor:
    random = torch.Generator().manual_seed(run_seed(subject, "draws of a batch"))
    return torch.randn((rows, numbers), generator=random, dtype=torch.float64)


def _copies(state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(value.clone() for value in state)


__all__ = ["noise_faults"]
