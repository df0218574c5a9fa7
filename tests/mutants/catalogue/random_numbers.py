"""Bugs in the noise: who draws it, how often, for whom, and from what law."""

from __future__ import annotations

from typing import Any

from tests.mutants.mutant import Mutant

DRAWS = "sgverify.samplers.randomness.noise:Streamed.stacked"
TAKEN = "flat = self._variates.take(first * wide, count * wide)"
ONE = "torch.cat([self._variates.take({} * wide, wide) for k in range(first, first + count)])"


def bug(name: str, place: str, was: str, now: str, *, scheme: str = "sghmc-aboba", **rest: Any) -> Mutant:
    """A bug of the running code's random numbers."""
    return Mutant(name=name, family="random numbers", scheme=scheme, place=place, was=was, now=now, **rest)


MUTANTS = (
    bug(
        "noise-shared-by-chains",
        DRAWS,
        "flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        "flat[..., :1].expand_as(flat).unflatten(0, (-1, self._dim)).movedim(1, -1)",
        reason="one draw is broadcast to every chain: no bias, and standard errors many times too small",
        source="TuringLang/AdvancedHMC.jl pull request 166 (one uniform number for all chains)",
        cause="chains-coupled",
    ),
    bug(
        "noise-of-two-steps",
        DRAWS,
        TAKEN,
        "flat = " + ONE.format("(k - k % 2)"),
        reason="a draw serves two steps: the local order is unchanged, the noise is not white",
        source="rlouf/blog-benchmark-rwmetropolis pull request 1 (a key used again)",
        cause="noise-reused",
    ),
    bug(
        "noise-of-every-third-step",
        DRAWS,
        TAKEN,
        "flat = " + ONE.format("(k % 3)"),
        reason="the stream begins anew every third step",
        cause="noise-reused",
    ),
    bug(
        "box-muller-half-circle",
        "sgverify.samplers.randomness.variates:box_muller",
        "math.pi * 2.0 ** -(_ANGLE_BITS + 1)",
        "math.pi * 2.0 ** -(_ANGLE_BITS + 2)",
        reason="the angle goes over half of the circle: the draws have a mean",
        cause="noise-law",
    ),
    bug(
        "box-muller-log-without-2",
        "sgverify.samplers.randomness.variates:_minus_two_log",
        "-2 * math.log(2.0)",
        "-math.log(2.0)",
        reason="the radius has -log u where -2 log u is due, for the exponent's part",
        cause="noise-law",
    ),
    bug(
        "three-point-table-without-last",
        "sgverify.samplers.randomness.variates:drawn_from",
        "count, len(table))",
        "count, len(table) - 1)",
        scheme="tests.mutants.correct:sgld_three_point",
        reason="the last of six equally likely places is never drawn: the noise of three points has a mean",
        cause="noise-law",
    ),
    bug(
        name="noise-of-both-halves",
        scheme="sghmc-obabo",
        place=DRAWS,
        was="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)[torch.arange(count * self._draws) // 2 * 2]",
        reason="the two half steps of a symmetric splitting take one draw: it is drawn once and used twice",
        source="pyro-ppl/numpyro issue 1949 (a key used twice)",
        cause="noise-shared",
    ),
    bug(
        name="noise-of-all-coordinates",
        place=DRAWS,
        was="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)[..., :1].repeat(1, 1, 1, self._dim)",
        reason="one number is drawn for a step and broadcast over the coordinates: none is biased by itself",
        cause="noise-shared",
    ),
    bug(
        name="noise-with-memory",
        place=DRAWS,
        was="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="return (lambda z: math.sqrt(0.9) * z + math.sqrt(0.1) * z.roll(1, 0))("
        "flat.unflatten(0, (-1, self._dim)).movedim(1, -1))",
        reason="draws of neighbouring steps are correlated by 0.3: coloured noise, whose variance is still 1",
        cause="noise-correlated",
    ),
    bug(
        name="noise-antithetic-in-time",
        place=DRAWS,
        was="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="return (lambda z: z[torch.arange(len(z)) // 2 * 2] * (1 - 2 * (torch.arange(len(z)) % 2))[:, None, None, None])("
        "flat.unflatten(0, (-1, self._dim)).movedim(1, -1))",
        reason="every second draw is the one before with its sign turned, as antithetic chains have it: here in time",
        cause="noise-correlated",
    ),
    bug(
        name="noise-uniform",
        place=DRAWS,
        was="return flat.unflatten(0, (-1, self._dim)).movedim(1, -1)",
        now="return math.sqrt(3) * torch.erf(flat.unflatten(0, (-1, self._dim)).movedim(1, -1) / math.sqrt(2))",
        reason="uniform draws of variance 1, rand for randn: first and second moments are right",
        cause="noise-law",
    ),
    bug(
        name="noise-of-every-block-the-first",
        place=DRAWS,
        was="self._variates.take(first * wide, count * wide)",
        now="self._variates.take(0, count * wide)",
        reason="every block of steps draws from the start of its stream: the generator is seeded again and again",
        cause="noise-reused",
    ),
    bug(
        name="streams-of-batches-the-same",
        place="sgverify.samplers.randomness.philox:Stream._raw",
        was="[groups.start * _BLOCKS, 0, cell, 0]",
        now="[0, 0, cell, 0]",
        reason="the counter leaves out the first chain: a second batch of chains draws what the first one drew",
        cause="chains-coupled",
    ),
    bug(
        name="streams-of-rows-the-same",
        place="sgverify.samplers.randomness.philox:_key",
        was=".encode() + run",
        now=".encode()",
        reason="the key leaves out the schedule: all step sizes of a sweep that is not coupled share their noise",
        cause="chains-coupled",
    ),
    bug(
        name="streams-of-kinds-the-same",
        place="sgverify.samplers.randomness.philox:_key",
        was="{kind}/{seed}",
        now="{seed}",
        reason="the key leaves out what is drawn: the momentum starts from the numbers that move the first step",
        cause="noise-reused",
    ),
    bug(
        name="minibatches-shared-by-chains",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.minibatches:Iid.block",
        was="drawn.unflatten",
        now="drawn[..., :1].repeat(1, 1, drawn.shape[-1]).unflatten",
        settings={"gradient": {"kind": "iid", "batch": 2}},
        reason="one minibatch is drawn for all chains: their gradient noise does not average out",
        cause="chains-coupled",
    ),
    bug(
        name="minibatches-of-two-steps",
        scheme="sgld-euler",
        place="sgverify.samplers.gradients.minibatches:Iid.block",
        was="return drawn.unflatten(0, (count, self._batch))",
        now="return drawn.unflatten(0, (count, self._batch))[torch.arange(count) // 2 * 2]",
        settings={"gradient": {"kind": "iid", "batch": 2}},
        reason="a minibatch is used for two steps: gradient noise is no longer fresh in each",
        cause="minibatch-law",
    ),
    Mutant(
        name="path-divided-by-the-number-of-steps",
        family="random numbers",
        scheme="sghmc-aboba",
        place="sgverify.samplers.randomness.noise:Brownian._row",
        was="div_(math.sqrt(span))",
        now="div_(span)",
        reason="the increments that a long step spans are averaged, where the sum is divided by the root of their number",
        cause="noise-correlated",
    ),
    Mutant(
        name="path-begun-anew-in-every-block",
        family="random numbers",
        scheme="sghmc-aboba",
        place="sgverify.samplers.randomness.noise:Brownian._row",
        was="(first + done) * span",
        now="first + done * span",
        reason="the place on the path forgets the span: rows that should be coupled drift apart after the first block",
        cause="noise-correlated",
    ),
)
