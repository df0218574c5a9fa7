"""What is each parameter of a plain function? Its name tells: the position, a gradient, the step size, a number of steps.

How is plain code called? The parameters of a function, or of a class with a method, and the call as code and in words.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sgverify.errors import DefinitionError
from sgverify.schemes.adapting import pasted_into

ROLE_NAMES: dict[str, str] = {
    "theta": "theta x w z q position state sample samples current weight weights params parameters param xt x_t start",
    "p": "p v r momentum velocity mom vel momenta buf buffer",
    "xi": "xi zeta thermostat",
    "grad": "grad grads gradient gradients g grad_u gradu gradient_u grad_potential potential_grad grad_energy grad_loss loss_grad "
    "grad_f du nabla_u nabla grad_v grad_nll grad_neg_log_prob dudx du_dx energy_grad",
    "score": "score score_net score_model grad_log_prob grad_log_p grad_logp grad_log_density grad_log_pdf grad_log_target "
    "grad_log_posterior grad_log_post grad_logpost grad_log_pi dlogp grad_logprob logdensity_grad nabla_log_p",
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
    "steps": ("n",),
}
"""Further names of a role that nothing has the first names of, in this order: gamma is a friction beside a momentum."""

_ROLE = {word: role for role, words in ROLE_NAMES.items() for word in words.split()}
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


METHODS = (
    "step",
    "train_step",
    "training_step",
    "update",
    "sample_step",
    "one_step",
    "sample",
    "forward",
    "__call__",
)
"""The methods that take a step, the likeliest first."""

HANDED = ("grad", "score", "log_density", "potential")
"""The roles of what the target is handed over by."""

ROLES = ("grad", "score", "log_density", "potential", "h", "T", "D", "beta", "steps", "index")


EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class PlainCode:
    """A function, or a class with a method: its parameters, by part, and the roles of those that have one."""

    name: str
    found: Any
    method: str
    outer: Mapping[str, inspect.Parameter]
    inner: Mapping[str, inspect.Parameter]
    roles: Mapping[str, str]

    @classmethod
    def of(cls, found: Any, given: Mapping[str, Any]) -> PlainCode | None:
        """The code of an object; None where it is no function, class or object with a method that takes a step."""
        if isinstance(found, functools.partial) or inspect.isroutine(found):
            # What a user has fixed is no parameter any more.
            fixed = getattr(found, "keywords", {})
            inner = {name: item for name, item in parameters_of(found).items() if name not in fixed}
            name = getattr(found, "__name__", getattr(getattr(found, "func", None), "__name__", "step"))
            return cls(str(name), found, "", {}, inner, roles_of(_defaults(inner), given))
        kind = found if isinstance(found, type) else type(found)
        outer = parameters_of(kind) if isinstance(found, type) else {}
        for method in METHODS:
            function = inspect.getattr_static(kind, method, None)
            if not inspect.isfunction(function) or of_torch(function):
                continue
            inner = dict(list(parameters_of(function).items())[1:])
            return cls(
                kind.__name__, found, method, outer, inner, roles_of(_defaults({**outer, **inner}), given)
            )
        return None

    @property
    def written(self) -> Any:
        """The function that holds the code of a step."""
        if self.method:
            return getattr(self.found, self.method)
        inner = self.found.func if isinstance(self.found, functools.partial) else self.found
        return inspect.unwrap(inner)

    @property
    def parameters(self) -> dict[str, inspect.Parameter]:
        """All parameters by name."""
        return {**self.outer, **self.inner}

    @property
    def handed(self) -> list[str]:
        """The parameters by which the target is handed over."""
        return [name for name, role in self.roles.items() if role in HANDED]

    @property
    def state(self) -> dict[str, str]:
        """{variable: parameter} of the state among the parameters of one step; the first one without a role is the position."""
        by_role = {role: name for name, role in self.roles.items() if name in self.inner}
        first = next((name for name in self.inner if name not in self.roles), None)
        if "theta" not in by_role and first is not None and self.inner[first].default is EMPTY:
            by_role["theta"] = first
        return {name: by_role[name] for name in ("theta", "p", "xi") if name in by_role}


def _defaults(parameters: Mapping[str, inspect.Parameter]) -> dict[str, Any]:
    return {name: item.default for name, item in parameters.items()}


def of_torch(function: Any) -> bool:
    """Is a function torch's own?"""
    return str(getattr(function, "__module__", "")).partition(".")[0] == "torch"


def signature_of(names: Iterable[str], options: Mapping[str, Any] | None = None) -> inspect.Signature:
    """The signature (names, *, options) with the defaults of the options."""
    first = [inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD) for name in names]
    others = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value)
        for name, value in (options or {}).items()
    ]
    return inspect.Signature([*first, *others])


def tensors_of(params: Any) -> list[Any]:
    """The parameters that an optimizer is given, without their groups."""
    groups = list(params)
    return [item for group in groups for item in group["params"]] if isinstance(groups[0], dict) else groups


def as_step(code: PlainCode, step: Callable[..., None]) -> Any:
    """An object without state whose `step` takes a closure and runs the code."""
    step.__wrapped__ = code.written  # type: ignore[attr-defined]
    step.__signature__ = signature_of(("self", "closure"))  # type: ignore[attr-defined]
    return type(code.name, (), {"step": step})()


def constructor(name: str, make: Callable[..., Any], options: Mapping[str, Any]) -> Callable[..., Any]:
    """The function `make(params, **options)` with a name and these options in its signature."""
    make.__signature__ = signature_of(("params",), options)  # type: ignore[attr-defined]
    make.__name__ = name
    return make


TEXTS = {
    "grad": "grad",
    "score": "lambda x, *_: -grad(x)",
    "log_density": "log_density",
    "potential": "lambda x, *_: -log_density(x)",
    "beta": "1/T",
    "steps": "1",
    "index": "0",
}
"""How an ingredient is handed over, as code."""

WORDS = {
    **TEXTS,
    "grad": "the gradient of U",
    "score": "minus the gradient of U",
    "potential": "U",
    "log_density": "-U",
}
"""The same in words."""


DECAYS = ("momentum", "mom", "beta", "mu")
"""The names of the factor by which a buffer decays in a step of sqrt(lr): v = momentum*v - lr*grad, theta + v."""


def _texts(code: PlainCode, names: Mapping[str, inspect.Parameter]) -> str:
    """The arguments of a call, as code."""
    found = []
    decays = [
        name for name in names if name in DECAYS and name not in code.state.values() and len(code.state) > 1
    ]
    for name, item in names.items():
        role = code.roles.get(name, "")
        if item.kind is item.VAR_POSITIONAL:
            found += [text for text in ("grad", "h") if text not in code.roles.values()]
        elif role in ROLES or name in code.state.values():
            text = next(
                (variable for variable, own in code.state.items() if own == name), TEXTS.get(role, role)
            )
            text = {"h": "h**2", "p": "h*p"}.get(text, text) if decays else text
            found.append(text if item.kind is item.POSITIONAL_ONLY else f"{name}={text}")
        elif item.default is EMPTY and item.kind is not item.VAR_KEYWORD:
            found.append(f"{name}={'1 - h*D' if name in decays else 1}")
    if any(item.kind is item.VAR_POSITIONAL for item in names.values()):
        found = [text.partition("=")[2] if "=" in text and "lambda" not in text else text for text in found]
    return ", ".join(found)


def called(code: PlainCode, fixed: Mapping[str, Any], own: Mapping[str, Any]) -> str:
    """How the code is called, in one line; `fixed` are its arguments that are held, `own` those that a user tells."""

    def listed(names: Mapping[str, inspect.Parameter]) -> str:
        known = {name: WORDS.get(role, role) for name, role in code.roles.items() if role in ROLES}
        known |= {own_name: variable for variable, own_name in code.state.items()} | dict(fixed) | dict(own)
        return ", ".join(
            name if known[name] == name else f"{name}={known[name]}" for name in names if name in known
        )

    if not code.method:
        return f"{code.name}({listed(code.inner)})"
    return f"{code.name}({listed(code.outer)}).{code.method}({listed(code.inner)})"


def refused(code: PlainCode, told: str, why: str) -> DefinitionError:
    """The refusal of code of which is not told how it is called, with the wrapper that tells it."""
    place, _, name = told.rpartition(":")
    dynamics = ("langevin", "kinetic", "thermostat")[max(len(code.state), 1) - 1]
    state = ", ".join(code.state) or "theta"
    asked = ["h", "grad", *["log_density"] * any(code.roles.get(name) in HANDED[2:] for name in code.handed)]
    call = f"{code.name}({_texts(code, code.outer)}).{code.method}" if code.method else code.name
    call += f"({_texts(code, code.inner)})"
    if "h*p" in call:
        call = f"[x/unit for x, unit in zip({call}, (1, h))]"
    asked += [name for name in ("T", "D") if name in code.roles.values() or f"h*{name}" in call]
    error = DefinitionError(
        f"scheme={told!r}: {why}; expected parameters whose names say what they are, or a step around it; "
        + pasted_into(place)
    )
    imports = f"from {place} import {name}; " if place and not place.endswith(".py") else ""
    error.paste = (
        f"{imports}from sgverify.schemes import {dynamics}, torch_step\n@torch_step({dynamics})\n"
        f"def my_step({state}, *, {', '.join(asked)}):\n    return {call}"
    )
    return error
