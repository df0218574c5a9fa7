"""The everyday words that readers type where a page, a command or a configuration key says it otherwise: the search finds them."""

from __future__ import annotations

from collections.abc import Mapping

KEYS: Mapping[str, str] = {
    "adapter.gradient": "mean loss, sum of losses, loss reduction",
    "burn_in": "burn-in, warm-up, discarded draws",
    "chains": "parallel chains, walkers",
    "device": "GPU, CUDA",
    "dtype": "single precision, float32, double precision",
    "friction": "damping, momentum decay, gamma",
    "gradient.batch": "batch size, minibatch size",
    "gradient.clip": "gradient clipping",
    "gradient.kind": "stochastic gradient, minibatches, variance reduction",
    "level": "significance, false alarm rate",
    "schedule.decay": "learning rate decay",
    "schedule.kind": "learning rate schedule, cyclical learning rate",
    "schedule.step": "learning rate, step size, step length, epsilon",
    "seed": "random seed, reproducible",
    "start": "initial value, starting point",
    "steps": "iterations, number of samples",
    "target.data": "observations, data set",
    "target.file": "CSV file, own data",
    "target.name": "posterior, log density, model, potential",
    "target.prior_precision": "weight decay, regularisation, prior variance",
    "temperature": "cold posterior, tempering",
    "test_function": "observable, quantity of interest",
    "thinning": "keep every n-th draw",
}
"""Words for configuration keys, in their rows."""

COMMANDS: Mapping[str, str] = {
    "advise": "choose a step size, learning rate, batch size, best sampler, neural network",
    "bch": "splitting order, commutators, leading error",
    "bound": "contraction, Wasserstein bound, mixing time",
    "campaign": "many runs, cluster, sweep, benchmark",
    "compare": "beside BAOAB and ABOBA, LaTeX table, figure for a paper, own splitting, best sampler",
    "design": "optimal splitting coefficients",
    "diff": "regression between versions",
    "doctor": "installation, versions",
    "errata": "mistakes in papers",
    "identify": "name of a sampler, is it BAOAB",
    "new": "plug-in, extension package",
    "rate": "order of convergence, weak order, bias, mean square error",
    "replay": "reproduce a result",
    "report": "reproduce a paper",
    "sample": "draw samples, MCMC, posterior draws, burn-in, trace plot",
    "verify": "test a sampler, is my sampler correct, find the bug, mean loss, exit code",
    "width": "posterior too wide, too narrow, standard deviation",
}
"""Words for commands, under their headings."""

PLACES: Mapping[str, str] = {
    "index.md": "install, installation, pip, quick start",
    "torch-code.md": "PyTorch sampler, SGLD, SGHMC, correct",
    "data.md": "CSV file, own data, table, regression, posterior",
    "network-step.md": "neural network, Bayesian neural network, deep learning, learning rate, SGLD",
    "compare.md": "new integrator, splitting, side by side, LaTeX table, figure, force gradient",
    "definitions.md": "splitting, own scheme, ingredients",
    "schemes.md": "best sampler, which sampler, which scheme, recommendation, comparison",
    "optimizers.md": "optimizer, mean loss, training loop, SGD, Adam, PyTorch",
    "other-libraries.md": "JAX, blackjax, posteriors, NumPy",
    "sampling.md": "burn in, draws, trace plot, ArviZ, convergence, R-hat",
    "test-suite.md": "pytest, unit test",
    "continuous-integration.md": "GitHub Actions, CI, workflow",
    "verdict.md": "exit code, pass, fail, undecided, result",
    "glossary.md": "definition of a word, quasi-stationary, meaning",
    "commands.md": "exit code, help, options, command line, friction",
    "configuration.md": "settings, options, learning rate, friction, batch size, burn in",
}
"""Words for pages; a page of this list comes first where one of its words is searched."""

BEHIND = {
    "CHANGELOG.md": 0.1,
    "claims.md": 0.2,
    "checks.md": 0.5,
    "inside.md": 0.5,
    "python/": 0.2,
    "notebooks/": 0.5,
}
"""Pages and folders that stand behind others with the same words, and by how much."""


def also(words: Mapping[str, str], name: str, before: str = "<br>") -> str:
    """The words for a key or a command, to stand behind what is said of it; "" where there are none."""
    return f"{before}*also called: {words[name]}*" if name in words else ""


def of_page(place: str) -> dict[str, object]:
    """The metadata of a page that its search reads: words, and a place behind others."""
    found: dict[str, object] = {}
    if words := PLACES.get(place):
        found["tags"] = words.split(", ")
    for start, boost in BEHIND.items():
        if place.startswith(start):
            found["search"] = {"boost": boost}
    return found
