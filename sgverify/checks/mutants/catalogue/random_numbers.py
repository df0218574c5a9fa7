"""Bugs in the noise: who draws it, how often, and for whom."""

from __future__ import annotations

from sgverify.checks.mutants.mutant import Mutant

DRAWS = "sgverify.samplers.noise:Streamed.stacked"

MUTANTS = (
    Mutant(
        name="noise-shared-by-chains",
        family="random numbers",
        scheme="sghmc-aboba",
        place=DRAWS,
        was="flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="flat[..., :1].expand_as(flat).unflatten(0, (-1, self._dim)).movedim(1, -1)",
        reason="one draw is broadcast to every chain: no bias, and standard errors many times too small",
    ),
    Mutant(
        name="noise-of-two-steps",
        family="random numbers",
        scheme="sghmc-aboba",
        place=DRAWS,
        was="flat = self._variates.take(first * wide, count * wide)",
        now="flat = torch.cat([self._variates.take((k - k % 2) * wide, wide) for k in range(first, first + count)])",
        reason="a draw is used for two steps: the local order is unchanged, the noise is not white",
    ),
)
