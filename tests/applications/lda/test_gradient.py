"""The stochastic gradient of the topics against an enumerated one: autograd, differences, minibatches, the Gibbs expectation."""

from __future__ import annotations

import math
from itertools import combinations, pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from reports.applications.lda import gibbs
from reports.applications.lda.corpus import Corpus, generator
from reports.applications.lda.enumeration import exact_counts, expected_counts, log_likelihood
from reports.applications.lda.gibbs import Documents, Sweeps, sample_counts
from reports.applications.lda.model import TopicModel
from reports.applications.lda.parametrisations import ExpandedMean, ExpandedNatural, Parametrisation

ALPHA, BETA, TOPICS = 0.4, 0.3, 2
CORPUS = Corpus(
    np.array([0, 1, 1, 2, 2, 0, 1, 3, 3, 0], dtype=np.int32), np.array([0, 3, 5, 8, 10]), 4, "tiny"
)
PARAMETRISATIONS = (ExpandedNatural(BETA), ExpandedMean(BETA))
BY_NAME = pytest.mark.parametrize("parametrisation", PARAMETRISATIONS, ids=lambda item: item.name)
STARS = 5.0
"""Standard errors beyond which a mean is wrong: at 5, one comparison in 1.7 million fails by chance."""


def model(parametrisation: Parametrisation, batch: int, **given) -> TopicModel:
    return TopicModel(
        CORPUS,
        parametrisation,
        topics=TOPICS,
        alpha=ALPHA,
        batch=batch,
        sweeps=given.pop("sweeps", Sweeps()),
        seed=1,
        chains=range(1),
        **given,
    )


def exact(pi: np.ndarray, documents: Documents, number: int) -> np.ndarray:
    """The expectation by enumeration, in the place of Gibbs sampling."""
    return exact_counts(pi, documents, ALPHA)


def energy(parametrisation: Parametrisation, theta: Tensor) -> Tensor:
    """U of all documents, with every assignment of topics summed."""
    pi = parametrisation.topics(theta)
    documents = CORPUS.padded(np.arange(CORPUS.documents)[None])
    return parametrisation.prior_energy(theta) - log_likelihood(pi, documents, ALPHA)


def somewhere() -> Tensor:
    return torch.from_numpy(generator("test", 3).gamma(2.0, size=(CORPUS.size, TOPICS)) + 0.1)


@BY_NAME
def test_the_enumerated_energy_has_the_derivative_of_its_differences(
    parametrisation: Parametrisation,
) -> None:
    theta, step = somewhere().requires_grad_(), 1e-5
    (slope,) = torch.autograd.grad(energy(parametrisation, theta), theta)
    for place in np.ndindex(*theta.shape):
        moved = torch.zeros_like(theta)
        moved[place] = step
        with torch.no_grad():
            across = energy(parametrisation, theta + moved) - energy(parametrisation, theta - moved)
        # Rounding of U (about 20) over the step, and the third derivative times the step's square: both about 1e-9.
        assert slope[place].item() == pytest.approx((across / (2 * step)).item(), abs=1e-7)


@BY_NAME
def test_the_gradient_on_all_documents_is_that_of_the_enumerated_energy(
    parametrisation: Parametrisation,
) -> None:
    assert whole(model(parametrisation, CORPUS.documents, expectation=exact)) <= 1e-12


def whole(made: TopicModel) -> float:
    """How far the gradient on all documents is from the enumerated one."""
    theta = somewhere().requires_grad_()
    (slope,) = torch.autograd.grad(energy(made.parametrisation, theta), theta)
    found = made.gradient(theta.detach().reshape(1, 1, -1), 0, 0)
    return float((found.reshape(slope.shape) - slope).abs().max())


def unbiased(made: TopicModel) -> float:
    """How far the average over all minibatches of two documents is from the gradient on all."""
    theta = somewhere().reshape(1, 1, -1)
    found = []
    for pair in combinations(range(CORPUS.documents), 2):
        made.chosen = lambda step, pair=pair: np.array([pair])  # type: ignore[method-assign]
        found.append(made.gradient(theta, 0, 0))
    slope = somewhere().requires_grad_()
    (slope,) = torch.autograd.grad(energy(made.parametrisation, slope), slope)
    return float((torch.stack(found).mean(0).reshape(slope.shape) - slope).abs().max())


@BY_NAME
def test_minibatches_average_to_the_whole_gradient(parametrisation: Parametrisation) -> None:
    assert unbiased(model(parametrisation, 2, expectation=exact)) <= 1e-12


class Unscaled(TopicModel):
    """A planted bug: the likelihood of a minibatch stands for itself alone."""

    scale = 1.0  # type: ignore[assignment]


class PriorScaled(TopicModel):
    """A planted bug: the prior is multiplied by N/n with the likelihood."""

    def gradient(self, theta: Tensor, step: int, minibatch: int) -> Tensor:
        return super().gradient(theta, step, minibatch) + (self.scale - 1) * self.prior(theta)


@pytest.mark.parametrize("wrong", [Unscaled, PriorScaled])
def test_a_planted_scale_is_found(wrong: type[TopicModel]) -> None:
    made = model(ExpandedNatural(BETA), 2, expectation=exact)
    made.__class__ = wrong
    assert unbiased(made) > 0.1


def test_a_prior_of_another_law_is_found() -> None:
    made = model(ExpandedNatural(BETA), CORPUS.documents, expectation=exact)
    made.parametrisation = ExpandedNatural(BETA)
    object.__setattr__(made.parametrisation, "prior", lambda theta: theta.exp() + BETA)
    assert whole(made) == pytest.approx(2 * BETA)


def test_minibatches_are_subsets_that_differ_from_step_to_step() -> None:
    made = model(ExpandedNatural(BETA), 2)
    drawn = [tuple(sorted(made.chosen(step)[0])) for step in range(300)]
    counts = [drawn.count(pair) for pair in combinations(range(CORPUS.documents), 2)]
    # Each of 6 pairs has the probability 1/6: 50 of 300, with the standard deviation 6.5.
    assert sum(counts) == 300 and all(abs(count - 50) < STARS * 6.5 for count in counts)


def test_each_minibatch_of_a_step_has_its_own_documents_and_draws() -> None:
    made, theta = model(ExpandedNatural(BETA), 2), somewhere().reshape(1, 1, -1)
    of = {
        (step, minibatch): made.gradient(theta, step, minibatch) for step in range(4) for minibatch in (0, 1)
    }
    assert all(torch.equal(made.gradient(theta, *place), found) for place, found in of.items())
    assert all(not torch.equal(of[step, 0], of[step, 1]) for step in range(4))
    # All documents at once: only the draws of their topics differ.
    whole = model(ExpandedNatural(BETA), CORPUS.documents)
    assert not torch.equal(whole.gradient(theta, 0, 0), whole.gradient(theta, 0, 1))


WORDS = np.array([0, 1, 1, 2], dtype=np.int32)
PI = np.array([[0.7, 0.1], [0.2, 0.3], [0.05, 0.55], [0.05, 0.05]])
COPIES = 20_000


def drawn(sweeps: Sweeps, compiled: bool | str = "auto") -> tuple[np.ndarray, np.ndarray]:
    """The mean over many copies of one document of what Gibbs sampling returns, and its standard error."""
    documents = Documents(np.tile(WORDS, (1, COPIES, 1)), np.full((1, COPIES), 4, dtype=np.int32))
    uniform = generator("uniforms", 5).random((1, COPIES, sweeps.all, 4))
    found = sample_counts(PI[None], documents, uniform, alpha=ALPHA, sweeps=sweeps, compiled=compiled)
    # A count of this word and topic lies between 0 and 2 in every copy: its variance is at most 1.
    return found.by_word[0] / COPIES, np.full(PI.shape, 1 / math.sqrt(COPIES))


@pytest.mark.parametrize("sweeps", [Sweeps(0, 1), Sweeps(0, 2), Sweeps(2, 3)], ids=str)
def test_gibbs_sampling_has_the_mean_that_its_kernel_says(sweeps: Sweeps) -> None:
    mean, error = drawn(sweeps)
    assert (np.abs(mean - expected_counts(PI, WORDS, ALPHA, sweeps)) < STARS * error).all()


def bias(burn: int) -> float:
    """The largest bias of a count that a burn-in leaves, exactly."""
    documents = Documents(WORDS[None, None], np.array([[4]], dtype=np.int32))
    truth = exact_counts(PI[None], documents, ALPHA)[0]
    return float(np.abs(expected_counts(PI, WORDS, ALPHA, Sweeps(burn, 1)) - truth).max())


def test_the_bias_falls_with_the_burn_in_to_nothing() -> None:
    found = [bias(burn) for burn in (0, 2, 4, 8, 64)]
    assert found[0] > 0.1 and all(later < 0.7 * earlier for earlier, later in pairwise(found))
    assert found[-1] < 1e-12


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("counts[z[i * LANES + l]][l] -= 1.0;", ";"),
        ("(counts[k][l] + alpha)", "(counts[k][l] + 2.0 * alpha)"),
        (
            "if (t >= burn)\n                            found",
            "if (t >= 0)\n                            found",
        ),
        ("uniform[l][t * longest + i] * sum", "uniform[l][0] * sum"),
    ],
    ids=["own token not excluded", "another prior", "burn-in counted", "one draw for all tokens"],
)
def test_a_planted_bug_in_the_sweeps_is_found(
    right: str, wrong: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = gibbs.source()
    assert text.count(right) == 1
    function = gibbs.compile_source(text.replace(right, wrong))
    if function is None:
        pytest.skip("there is no C compiler")
    monkeypatch.setattr(gibbs, "_library", lambda: function)
    sweeps = Sweeps(2, 3)
    mean, error = drawn(sweeps)
    assert (np.abs(mean - expected_counts(PI, WORDS, ALPHA, sweeps)) > STARS * error).any()


def test_c_and_numpy_have_equal_bits() -> None:
    random = generator("bits", 0)
    pi = np.moveaxis(random.dirichlet(np.full(30, 0.2), (6, 5)), 1, 2).copy()
    documents = Documents(
        random.integers(0, 30, (3, 7, 9)).astype(np.int32), random.integers(0, 10, (3, 7)).astype(np.int32)
    )
    sweeps = Sweeps(1, 2)
    uniform = random.random((3, 7, sweeps.all, 9))
    found = [
        sample_counts(pi, documents, uniform, alpha=0.1, sweeps=sweeps, compiled=compiled)
        for compiled in ("auto", False)
    ]
    assert np.array_equal(found[0].by_word, found[1].by_word)
    assert np.array_equal(found[0].by_document, found[1].by_document)
    tokens = documents.lengths[np.arange(6) % 3].sum(1)
    assert np.allclose(found[0].by_word.sum((1, 2)), tokens)


def test_a_chain_draws_the_same_in_any_batch() -> None:
    documents = CORPUS.padded(np.array([[0, 1], [2, 3]]))
    both, last = (
        TopicModel(
            CORPUS,
            ExpandedNatural(BETA),
            topics=TOPICS,
            alpha=ALPHA,
            batch=2,
            sweeps=Sweeps(),
            seed=1,
            chains=chains,
        )
        for chains in (range(2), range(1, 2))
    )
    assert np.array_equal(both.uniforms("gibbs", 3, documents)[1:], last.uniforms("gibbs", 3, documents))
    assert np.array_equal(both.chosen(3)[1:], last.chosen(3))
    assert torch.equal(both.start(range(2))[:, 1:], last.start(range(1, 2)))
    assert not np.isin(both.uniforms("gibbs", 3, documents), both.uniforms("gibbs", 4, documents)).any()
