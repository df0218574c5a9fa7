"""The sources that were read and not run, and the libraries without a sampler. No verdict speaks of any of it."""

from __future__ import annotations

READ = (
    (
        "jax-sgmc 0.1.5",
        "jax_sgmc/solver.py, parallel_tempering",
        (
            "Beside its swaps, which are judged at known energies: the energies in log_s are those of the positions before "
            "the step, and the variance is that of single likelihoods, without the factor N^2/n."
        ),
    ),
    (
        "jax-sgmc 0.1.5",
        "jax_sgmc/adaption.py, mass_matrix(diagonal=False)",
        (
            "With C the covariance, M^-1 = C needs the root C^(-1/2) of M; the line has V^T diag(sqrt(w)) V of "
            "the eigenvectors V, which is neither inverted nor in the order V diag V^T."
        ),
    ),
    (
        "jax-sgmc 0.1.5",
        "jax_sgmc/solver.py, sggmc",
        "On rejection the momentum is kept as it was; where it is refreshed in part, it has to be reversed (Horowitz 1991).",
    ),
    (
        "blackjax 1.7.1",
        "blackjax/sgmcmc/csgld.py, build_kernel",
        (
            "The stochastic approximation multiplies by energy_pdf[idx], where Deng et al. 2020, Algorithm 1, has"
            " its power zeta: the same at zeta = 1, the default. At another zeta, energy_pdf settles at the "
            "1/zeta-th power of the energy histogram. Index 0 is never visited, and the gradient multiplier at "
            "index 1 has its logarithm."
        ),
    ),
    (
        "blackjax 1.7.1",
        "blackjax/sgmcmc/sghmc.py, build_kernel",
        (
            "rng_key draws the momentum and is split for the steps as well; the keys are hashed once more, and no"
            " effect is known."
        ),
    ),
    (
        "torch-uncertainty 0.13.0",
        "torch_uncertainty/optim/sghmc.py, SGHMC.step",
        (
            "burnt_in is increased for each parameter tensor of each step, so that burn_in_steps = 200 ends after"
            " 200/k steps of a model of k tensors; with more than 200 tensors the last of them are never adapted."
        ),
    ),
    (
        "posteriors 0.1.3",
        "posteriors/sgmcmc/sgld.py, build",
        (
            "The docstring has N(0, eps (2 - eps beta) T), the code eps T (2 - T eps beta): the same at beta = 0,"
            " the default, or T = 1."
        ),
    ),
    (
        "torch-sgld 0.1.0",
        "torch_sgld/lr_scheduler.py",
        (
            "ABAnnealingLR computes b with exp(1/gamma) where the power 1/gamma of the ratio of rates is due; "
            "with the torch of this report the schedulers cannot be made, for torch no longer takes `verbose`."
        ),
    ),
    (
        "aws-fortuna 0.2.0",
        "fortuna/prob_model/posterior/sgmcmc/sghmc/sghmc_integrator.py",
        (
            "Where momentum_resample_steps is given, the momentum is set to 0, and not drawn anew; without it the"
            " step is that of Chen, Fox and Guestrin 2014. It needs an older JAX than that of this report."
        ),
    ),
    (
        "tensorflow-probability 0.25.0",
        "tensorflow_probability/python/optimizer/sgld.py",
        (
            "Preconditioned SGLD with the correction of Li et al. 2016; no fault was seen. It refuses "
            "eager execution."
        ),
    ),
    (
        "lightning-uq-box 0.2.0",
        "lightning_uq_box/uq_methods/sgld.py",
        "SGLD with its noise multiplied by noise_factor, as in TorchUncertainty; no fault was seen.",
    ),
)
"""Release, place, and what was read there."""

WITHOUT = (
    "numpyro 0.22.0",
    "pyro-ppl 1.9.2",
    "laplace-torch 0.3",
)
"""Releases in which no SG-MCMC sampler was found."""

UNJUDGED = (
    (
        "posteriors 0.1.3, sglrw",
        (
            "its steps have two values, whose chances the gradient decides: its local order is judged, the law of its "
            "chain is not"
        ),
    ),
    (
        "blackjax 1.7.1, csgld",
        ("its weights adapt from step to step, and no claim here speaks of that for code of other libraries"),
    ),
    (
        "SGMCMCJax 0.2.13, psgld, sgldAdam, and the estimators CV and SVRG",
        "memory and minibatches of JAX code are not tried here",
    ),
    ("devinterp 2.0.1, SGMCMC.rmsprop_sgld", "its law with a preconditioner that remembers is not affine"),
    (
        "jax-sgmc 0.1.5, amagold and sggmc, and the estimated energies of parallel_tempering",
        "their integrators are judged, and swaps at known energies; the tests around them and the estimates are not",
    ),
    (
        "thermostats on JAX, and SGNHT of devinterp",
        (
            "local order, purity and precision alone: their invariant law takes hours to read, or minutes that "
            "were not spent"
        ),
    ),
)
"""The samplers that are installed and were not judged, or not wholly, with the reason."""
