"""What is each parameter of a plain function? Its name tells: the position, a gradient, the step size, a number of steps."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any

WORDS: dict[str, str] = {
    "theta": "theta x w z q position state sample samples current weight weights params parameters param xt x_t start",
    "p": "p v r momentum velocity mom vel momenta buf buffer",
    "xi": "xi zeta thermostat",
    "grad": "grad grads gradient gradients g grad_u gradu gradient_u grad_potential potential_grad grad_energy grad_loss loss_grad "
    "grad_f du nabla_u nabla grad_v grad_nll grad_neg_log_prob dudx du_dx energy_grad",
    "score": "score score_net score_model grad_log_prob grad_log_p grad_logp grad_log_density grad_log_pdf grad_log_target "
    "grad_log_posterior grad_log_pi dlogp grad_logprob logdensity_grad nabla_log_p",
    "log_density": "log_density log_prob log_p logp logprob log_pdf log_target log_posterior log_pi logdensity log_joint",
    "potential": "u potential energy neg_log_prob nll neg_log_density neg_log_posterior negative_log_posterior potential_energy",
    "h": "h lr learning_rate step_size stepsize step_len eps epsilon dt eta stepsz",
    "T": "temperature temp kt",
    "D": "friction damping",
    "steps": "n_steps num_steps steps nsteps n_iter n_iters num_iter niter iterations num_iterations n_iterations "
    "num_samples n_samples nsamples epochs n_epochs num_epochs",
    "index": "i t k it iteration step iter step_num step_number step_idx step_index epoch global_step timestep",
    "model": "model net network module nn_model",
    "params": "params parameters model_params model_parameters",
    "loss": "loss loss_fn criterion loss_function lossfn loss_func cost objective",
    "loader": "loader dataloader data_loader train_loader trainloader batches train_dataloader data",
    "N": "n_data num_data ndata n_train num_train train_size data_size dataset_size n_total num_datapoints num_training_samples "
    "num_training_data n_examples size_of_data len_data total_size",
    "batch": "y target targets label labels inputs input batch xb yb xs ys images data_x data_y x_batch y_batch",
    "noise": "noise",
    "random": "generator rng gen",
}
"""The names of each role, in lower case."""

SECOND: dict[str, tuple[str, ...]] = {
    "T": ("tau",),
    "D": ("gamma", "alpha", "xi", "diffusion", "a"),
    "h": ("gamma", "alpha", "delta", "tau", "step"),
    "beta": ("beta", "inv_temp", "inverse_temperature"),
}
"""Further names of a role that nothing has the first names of, in this order: gamma is a friction beside a momentum."""

_ROLE = {word: role for role, words in WORDS.items() for word in words.split()}
_AROUND = re.compile(
    r"^(init|initial|current|cur|old|prev)_|(_fn|_func|_function|_t|_0|_init|_old|_prev|_cur|_k|0)$"
)


def role_of(name: str) -> str | None:
    """The role of a name alone.

    >>> role_of("grad_fn"), role_of("x0"), role_of("T"), role_of("base_C")
    ('grad', 'theta', 'T', None)
    """
    if name in ("T", "D", "U"):
        return {"U": "potential"}.get(name, name)
    plain = name.lower()
    return _ROLE.get(plain) or _ROLE.get(_AROUND.sub("", plain))


def parameters_of(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The parameters of a function by name; {} where it has no signature."""
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        return {}


def roles_of(parameters: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> dict[str, str]:
    """{name: role} of parameters together, given with their defaults; the first of two with one role has it.

    `given` are those that a user tells by expressions: their role is "told". One whose default is a number is no tensor:
    momentum=0.9 is an option.
    """
    names = list(parameters)
    found: dict[str, str] = dict.fromkeys((name for name in names if name in (given or {})), "told")
    for name in names:
        role = None if name in found else role_of(name)
        if role == "xi" and "p" not in found.values():
            continue  # A friction of a step that has no momentum before it is no variable.
        if role in ("theta", "p", "xi") and isinstance(parameters[name], (int, float)):
            continue
        if role is not None and (role not in found.values() or role == "batch"):
            found[name] = role
    for role, words in SECOND.items():
        if role == "D" and "p" not in found.values():
            continue
        if role in found.values() or (role == "beta" and {"T", "p"} & {*found.values()}):
            continue
        free = next((name for name in names if name not in found and name.lower() in words), None)
        # A step by its number is called `step` as often as its size: beside a size it is the number.
        if free is not None and (role != "h" or "told" not in found.values()):
            found[free] = role
    return found
