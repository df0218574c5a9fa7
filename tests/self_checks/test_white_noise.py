"""The noise of the running code: white in correct code, and every planted flaw of it refuted."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import pytest
import torch
from scipy import stats

from sgverify.configuration import load_configuration
from sgverify.exact.affine.model import fixed_step
from sgverify.exact.chain.lyapunov import floats
from sgverify.exact.numbers.ball import number
from sgverify.samplers import Settings, fixed
from sgverify.samplers.randomness import noise as noise_of_rows
from sgverify.samplers.randomness.philox import LANES, Stream
from sgverify.samplers.reading.motion import Motion
from sgverify.schemes import find_scheme, scheme
from sgverify.schemes.definition.mathematics import LAWS, NORMAL, THREE_POINT, TWO_POINT, sqrt
from sgverify.schemes.dynamics import dynamics, langevin
from sgverify.subject.subject import Subject
from tests.mutants.planting import planted
from tests.mutants.registry import mutants
from tests.self_checks.finding import Finding
from tests.self_checks.independent_chains import minibatch_bits
from tests.self_checks.registry import SELF_CHECKS
from tests.self_checks.run_transcript import first_mismatch, transcribe
from tests.self_checks.transcripts import bounded_by_normal, numbered
from tests.self_checks.whiteness import lagged, law_distance, repeated, sub_gaussian_bound
from tests.tables import each_row
from tests.zoo.schemes import bounded

Plant = Callable[[pytest.MonkeyPatch], None]
PLANE = {"name": "gaussian", "precision": [[2.0, 0.5], [0.5, 1.0]]}
DATA = {"data": [0.0, 1.0, 1.5, 7.0], "prior_precision": 5.0, "prior_mean": 1.0}


@scheme(langevin, order=1)
def both(theta, *, h, grad, noise, T):
    return theta - h * grad(theta) + sqrt(T * h) * noise() + sqrt(T * h) * noise.two_point()


def ask(quantity: str, found: Any = "sghmc-obabo", **settings: Any) -> Finding:
    found = find_scheme(found) if isinstance(found, str) else found
    tree = {"temperature": 0.5, "friction": 3.0, "seed": 1, "target": PLANE, **settings}
    subject = Subject(found, load_configuration(tree), found.name)
    return SELF_CHECKS[quantity].function(subject)


CORRECT: list[tuple[Any, dict[str, Any]]] = [
    ("sghmc-obabo", {}),
    ("sghmc-ubu", {"dtype": "float32"}),
    ("sgnht-aboba", {"gradient": {"kind": "additive", "covariance": [[2.0, 1.0], [1.0, 3.0]]}}),
    ("sgld-euler", {"target": DATA, "gradient": {"kind": "iid", "batch": 2}}),
    ("sghmc-baoab", {"target": DATA, "gradient": {"kind": "symmetric", "batch": 2}}),
    ("sgld-euler", {"target": DATA, "gradient": {"kind": "without-replacement", "batch": 1}}),
    ("sgld-euler", {"target": {"name": "double-well"}}),
    (bounded, {}),
    (both, {"dtype": "float32"}),
]  # fmt: skip


@pytest.mark.by_default("sgld-euler-settings3", "sghmc-baoab-settings4", "found7-settings7")
@pytest.mark.parametrize(("found", "settings"), CORRECT)
def test_correct_code_conforms(found: Any, settings: dict[str, Any]) -> None:
    for quantity in ("white-draws", "chains-apart"):
        evidence = ask(quantity, found, **settings)
        assert evidence.verdict == "conforms" and evidence.method == "monte-carlo"


def test_a_scheme_without_noise_is_not_asked() -> None:
    @dynamics(theta="vector", density=None)
    def descending(theta, *, grad):
        return -grad(theta), 0

    @scheme(descending)
    def descent(theta, *, h, grad):
        return theta - h * grad(theta)

    assert ask("white-draws", descent).verdict == "not-applicable"
    assert ask("chains-apart", descent).verdict == "not-applicable"
    data = {"target": DATA, "gradient": {"kind": "iid", "batch": 2}}
    assert ask("chains-apart", descent, **data).verdict == "conforms"


def draws(change: Callable[[list[torch.Tensor]], Sequence[torch.Tensor]]) -> Plant:
    """A flaw in the draws of a block, in the order in which steps ask for them."""

    def plant(patch: pytest.MonkeyPatch) -> None:
        take = noise_of_rows.Streamed.take
        patch.setattr(
            noise_of_rows.Streamed, "take", lambda self, *given: iter(change(list(take(self, *given))))
        )

    return plant


def in_amplitude(made: list[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Uncorrelated, of the right law each, but large draws come together."""
    return [made[k - 1].abs() * draw.sign() if k % 2 else draw for k, draw in enumerate(made)]


def a_stale_draw(patch: pytest.MonkeyPatch) -> None:
    """The step is moved by the draws of the step before."""
    move = Motion.move

    def late(self: Any, state: Any, drawn: Any, *given: Any) -> Any:
        held = getattr(self, "held", drawn)
        self.held = tuple(draw.clone() for draw in drawn)
        return move(self, state, held, *given)

    patch.setattr(Motion, "move", late)


@pytest.mark.parametrize(
    ("plant", "told"),
    [
        (draws(in_amplitude), "the sizes of"),
        (draws(lambda made: [draw * 1.1**0.5 for draw in made]), "variance is 1.1"),
        (draws(lambda made: [draw + 0.1 for draw in made]), "mean of its normal draws"),
        (a_stale_draw, "not what was drawn"),
    ],
    ids=["sizes together", "variance 1.1", "mean 0.1", "a stale draw"],
)
def test_a_planted_flaw_is_refuted(monkeypatch: pytest.MonkeyPatch, plant: Plant, told: str) -> None:
    plant(monkeypatch)
    evidence = ask("white-draws")
    assert evidence.verdict == "violates" and told in evidence.reason, evidence.reason


BUGS = {
    "noise-of-two-steps": ("white-draws", "the draw [0] of step 2 is the draw [0] of step 1 in all 96 chains"),
    "noise-of-both-halves": ("white-draws", "draw 2 [0] of step 1 is draw 1 [0] of step 1 in all 96 chains"),
    "noise-of-all-coordinates": ("white-draws", "the draw [1] of step 1 is the draw [0] of step 1 in all 96 chains"),
    "noise-with-memory": ("white-draws", "1 step later are correlated"),
    "noise-antithetic-in-time": ("white-draws", "bit for bit but for its sign"),
    "noise-uniform": ("white-draws", "its draws are not those of normal"),
    "noise-of-every-block-the-first": ("white-draws", "the draw [0] of step 8 is the draw [0] of step 1"),
    "minibatches-of-two-steps": ("white-draws", "the minibatch of step 2 is that of step 1 in every chain"),
    "streams-of-kinds-the-same": ("white-draws", "the momentum that the chains start with is correlated"),
    "path-divided-by-the-number-of-steps": ("white-draws", "do not share one Brownian path; draw 1 of step 1 of"),
    "path-begun-anew-in-every-block": ("white-draws", "do not share one Brownian path; draw 1 of step 8 of"),
    "noise-shared-by-chains": ("chains-apart", "the draws of chain 1 with step=0.1, from step 1 on, are those of chain 0"),
    "minibatches-shared-by-chains": ("chains-apart", "the minibatches of chain 1 with step=0.1, from step 1 on"),
    "streams-of-batches-the-same": ("chains-apart", "the draws of chain 64 with step=0.1, from step 1 on, are those of"),
    "streams-of-rows-the-same": ("chains-apart", "the draws of chain 0 with step=0.05, from step 1 on, are those of chain 0"),
}  # fmt: skip


@pytest.mark.by_default(
    "minibatches-of-two-steps",
    "noise-antithetic-in-time",
    "noise-shared-by-chains",
    "noise-uniform",
    "noise-with-memory",
    "path-begun-anew-in-every-block",
    "streams-of-batches-the-same",
    "streams-of-kinds-the-same",
)
@pytest.mark.parametrize(("name", "quantity", "told"), [(n, *b) for n, b in BUGS.items()], ids=BUGS)
def test_each_bug_is_refuted_by_its_check(name: str, quantity: str, told: str) -> None:
    with planted(mutants()[name]) as subject:
        evidence = SELF_CHECKS[quantity].function(subject)
    assert evidence.verdict == "violates" and told in evidence.reason, evidence.reason


@pytest.mark.parametrize(
    ("name", "quantity"),
    [
        ("noise-of-two-steps", "chains-apart"),
        ("noise-with-memory", "chains-apart"),
        ("noise-shared-by-chains", "white-draws"),
        ("minibatches-shared-by-chains", "white-draws"),
    ],
)
def test_reused_noise_leaves_chains_independent_and_shared_noise_is_white(name: str, quantity: str) -> None:
    with planted(mutants()[name]) as subject:
        evidence = SELF_CHECKS[quantity].function(subject)
    assert evidence.verdict == "conforms", evidence.reason


def partly(made: list[torch.Tensor]) -> Sequence[torch.Tensor]:
    """Each chain draws by itself, and all have a tenth of their variance in common."""
    return [math.sqrt(0.9) * draw + math.sqrt(0.1) * draw[:, :1].roll(1, 0) for draw in made]


def test_a_part_that_all_chains_have_in_common_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    draws(partly)(monkeypatch)
    evidence = ask("chains-apart", "sghmc-aboba")
    assert evidence.verdict == "violates" and "chains" in evidence.reason


def test_a_discrete_law_with_other_atoms_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    # Mean 0 and variance 1, as it should have; +-1 where 0 and +-sqrt(3) are asked for.
    draws(lambda made: [(draw >= 0).to(draw.dtype) * 2 - 1 for draw in made])(monkeypatch)
    evidence = ask("white-draws", bounded)
    assert evidence.verdict == "violates" and "none of the values of three_point" in evidence.reason


def test_a_discrete_law_with_other_weights_is_refuted(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = torch.Generator().manual_seed(5)

    def thinned(made: list[torch.Tensor]) -> Sequence[torch.Tensor]:
        return [draw * (torch.rand(draw.shape, generator=generator) < 0.7) for draw in made]

    draws(thinned)(monkeypatch)
    evidence = ask("white-draws", bounded)
    assert evidence.verdict == "violates" and "not those of three_point" in evidence.reason


def test_the_states_alone_give_the_draws_back() -> None:
    """The exact affine map of a step, on full gradients, leaves the draws as what it does not explain."""
    tree = {"temperature": 0.5, "friction": 3.0, "target": PLANE}
    subject = Subject(find_scheme("sghmc-obabo"), load_configuration(tree), "sghmc-obabo")
    step = 0.25
    settings = Settings.of(subject.configuration, chains=5)
    written = transcribe(subject.scheme, subject.target, fixed([step], [40]), settings)
    assert first_mismatch(written, subject.scheme, subject.target, settings) is None
    chain = subject.model.chain(fixed_step(step)())
    drawn = subject.model.parts(number(step)).draws
    noise = np.hstack([floats(block) for _, block in drawn])
    states = np.concatenate([written.states[name][:, 0] for name in ("theta", "p")], axis=-1)
    left = states[1:] - states[:-1] @ floats(chain.map).T - floats(chain.shift)[:, 0]
    recovered = left @ np.linalg.inv(noise).T
    handed = np.concatenate([written.draws[:, k, 0] for k in (0, 1)], axis=-1)
    # Rounding of the states, through an inverse of norm below 100.
    assert np.linalg.norm(np.linalg.inv(noise)) < 100
    np.testing.assert_allclose(recovered, handed, atol=1e-11)


def test_one_changed_bit_of_a_state_is_found() -> None:
    subject = Subject(find_scheme("sgnht-aboba"), load_configuration({"target": PLANE}), "sgnht-aboba")
    settings = Settings.of(subject.configuration, chains=5)
    written = transcribe(subject.scheme, subject.target, fixed([0.1], [9]), settings)
    held = written.states["xi"]
    held[4, 0, 3, 0] = np.nextafter(held[4, 0, 3, 0], 9.0)
    found = first_mismatch(written, subject.scheme, subject.target, settings)
    assert found is not None and (found.number, found.chain, found.variable) == (4, 3, "xi")


def test_statistics_have_the_laws_that_their_bounds_ask_for() -> None:
    generator = np.random.default_rng(7)
    found = [lagged(generator.standard_normal((6, 1, 5)), 2, 1e-3) for _ in range(3000)]
    values = [item.value for item in found if item is not None]
    assert stats.kstest(values, "norm").pvalue > 1e-3
    assert sub_gaussian_bound(1, 0.05) > stats.norm.isf(0.025)
    apart = [law_distance(generator.standard_normal(50), NORMAL, 0.1).beyond for _ in range(2000)]
    assert stats.binomtest(sum(apart), len(apart), 0.1, "greater").pvalue > 1e-3 and sum(apart) > 100
    sample = generator.standard_normal(31)
    exact = stats.kstest(sample, "norm").statistic * math.sqrt(31)
    assert law_distance(sample, NORMAL, 0.1).value == pytest.approx(exact)


def test_bounded_laws_are_those_below_the_normal_one() -> None:
    assert all(bounded_by_normal(law) for law in LAWS.values())
    for law in (THREE_POINT, TWO_POINT):
        s = np.linspace(-6, 6, 241)
        mgf = sum(float(w) * np.exp(s * float(x)) for x, w in law.atoms)
        assert np.all(mgf <= np.exp(s**2 / 2) * (1 + 1e-15))
    rare = type(TWO_POINT)("rare", ((-3, Fraction(1, 18)), (0, Fraction(8, 9)), (3, Fraction(1, 18))))
    assert not bounded_by_normal(rare)


def test_a_minibatch_is_numbered_by_its_data_and_their_order() -> None:
    found = np.array([[[0], [0]], [[0], [1]], [[1], [0]], [[1], [1]], [[0], [0]]])
    for minibatches in (found, found[:, :1], found[:, 1:]):
        kinds = {tuple(data.ravel()) for data in minibatches}
        assert len(set(numbered(minibatches)[:, 0])) == len(kinds)


def test_a_stretch_that_occurs_twice_is_found_wherever_it_lies() -> None:
    streams = np.random.default_rng(3).standard_normal((6, 40))
    assert list(repeated(streams, 4)) == []
    streams[4, 20:26] = -streams[1, 3:9]
    assert next(iter(repeated(streams, 4))) == (1, 3, 4, 20)


@pytest.mark.parametrize("seed", [4, 6])
@pytest.mark.parametrize("kind", ["symmetric", "reshuffle"])
def test_two_data_in_sweeps_have_too_few_orders_to_tell_copies_from_chance(kind: str, seed: int) -> None:
    target = {"name": "gaussian-mean", "size": 2}
    found = find_scheme("sgld-euler")
    configuration = load_configuration(
        {"target": target, "gradient": {"kind": kind, "batch": 1}, "seed": seed}
    )
    subject = Subject(found, configuration, found.name)
    assert SELF_CHECKS["chains-apart"].function(subject).verdict == "conforms"


@each_row("kind", ["symmetric", "reshuffle", "without-replacement", "iid"])
@each_row("count", [1, 2, 3, 4, 5])
def test_the_bits_of_minibatches_are_those_of_the_likeliest_of_all_that_can_be(kind: str, count: int) -> None:
    size, batch = 4, 2
    target = {"name": "gaussian-mean", "size": size}
    configuration = load_configuration({"target": target, "gradient": {"kind": kind, "batch": batch}})
    found = find_scheme("sgld-euler")
    if kind in ("symmetric", "reshuffle"):
        pairs = [(frozenset(order[:2]), frozenset(order[2:])) for order in permutations(range(size))]
        one = [(*pair, *pair[::-1]) if kind == "symmetric" else pair for pair in pairs]
    else:
        made = product(range(size), repeat=2) if kind == "iid" else combinations(range(size), 2)
        one = [(tuple(sorted(pair)),) for pair in made]
    # As many epochs as are begun; no order of the data within a minibatch.
    epochs = -(-count // len(one[0]))
    likeliest = 1.0
    for epoch in range(epochs):
        cut = min(len(one[0]), count - epoch * len(one[0]))
        likeliest *= max(Counter(path[:cut] for path in one).values()) / len(one)
    bits = minibatch_bits(Subject(found, configuration, found.name), count)
    assert bits <= -math.log2(likeliest) + 1e-9 if kind != "iid" else bits == 2 * count
    if kind != "iid":
        assert bits == pytest.approx(-math.log2(likeliest))


@pytest.mark.by_default(
    "128-256-sgld-euler-settings3",
    "4096-64-sghmc-ubu-settings1",
)
@pytest.mark.parametrize("name, settings", [
    ("sgld-euler", {}),
    ("sghmc-ubu", {"dtype": "float32"}),
    (bounded, {}),
    ("sgld-euler", {"gradient": {"kind": "additive", "covariance": [[2.0, 1.0], [1.0, 3.0]]}}),
])  # fmt: skip
@pytest.mark.parametrize("period, chains", [(128, 256), (4096, 64)])
def test_chains_far_apart_that_are_copies_are_found(
    monkeypatch: pytest.MonkeyPatch, name: Any, settings: dict[str, Any], period: int, chains: int
) -> None:
    raw = Stream._raw

    def copied(self: Stream, run: int, cell: int, groups: range) -> Any:
        lanes = [group % (period // LANES) for group in groups]
        return np.concatenate([raw(self, run, cell, range(lane, lane + 1)) for lane in lanes])

    assert ask("chains-apart", name, chains=chains, **settings).verdict == "conforms"
    monkeypatch.setattr(Stream, "_raw", copied)
    found = ask("chains-apart", name, chains=chains, **settings)
    assert found.verdict == "violates" and "bit for bit" in found.reason, found.reason
