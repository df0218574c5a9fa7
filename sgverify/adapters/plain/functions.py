"""A plain function, module or class that is handed its position and a gradient, as a step.

The roles of its parameters follow from their names (`roles`). In which form it takes them, and where in its result the state is,
is tried: a gradient as a function or as its value, numbers as floats or as tensors, and a result among several. What a step may
depend on beside the state, such as its number or the number of steps of a call, is tried as well, and held where it does.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from sgverify.adapters.jax_code import of_jax
from sgverify.adapters.optimizers import adapter as optimizers
from sgverify.adapters.optimizers.idle_options import plain_values, told_of, untried
from sgverify.adapters.optimizers.options import CONVENTIONS
from sgverify.adapters.plain.calls import EMPTY, PlainCode, as_step, called, constructor, refused, tensors_of
from sgverify.adapters.plain.trying import PlainStep, held_of, idle_of, tried
from sgverify.errors import SgverifyError
from sgverify.schemes.adapting import Adapter, AdapterSettings, adapted_step, is_of
from sgverify.schemes.dynamics import Dynamics, kinetic, langevin, thermostat
from sgverify.schemes.tempering import is_tempered
from sgverify.schemes.torch_step import TorchStep, tempered

_DYNAMICS = {1: langevin, 2: kinetic, 3: thermostat}
"""The dynamics by the number of variables among the parameters: (theta), (theta, p), (theta, p, xi)."""


def takes(found: Any) -> bool:
    """Is it a function, module or class of which a step takes a position, and which is handed a gradient or a density?"""
    if is_of(found, "torch.optim"):
        return False
    code = PlainCode.of(found, {})
    if code is None or "theta" not in code.state or of_jax(code.written):
        return False
    nameless = not code.method and any(item.kind is item.VAR_POSITIONAL for item in code.inner.values())
    return bool(code.handed) or nameless


def adapt(found: Any, settings: AdapterSettings, reference: str) -> Any:
    """The step that the code takes; raises `DefinitionError`, with a wrapper to paste, where it cannot be told how it is called."""
    code = PlainCode.of(found, settings.map)
    assert code is not None
    told = reference or code.name
    if "noise" in code.roles.values() and code.parameters["noise"].kind is inspect.Parameter.KEYWORD_ONLY:
        from sgverify.schemes.scheme import scheme

        return replace(scheme(_DYNAMICS[len(code.state)])(found), reference=reference)
    dynamics = settings.dynamics_or(_DYNAMICS[len(code.state)])
    if tuple(code.state) != dynamics.state:
        raise refused(
            code,
            told,
            f"takes ({', '.join(code.parameters)}), where {dynamics.name} has ({', '.join(dynamics.state)})",
        )
    if "h" not in code.roles.values() and not settings.map:
        raise refused(
            code, told, f"has no parameter that is the step size by its name ({', '.join(code.parameters)})"
        )
    if not code.handed:
        raise refused(code, told, "takes arguments without names")
    read = {name: settings.read(name, text) for name, text in settings.map.items()}
    step, at = tried(code, read, dynamics, told)
    held = dict(held_of(step, at, code))
    if dynamics is kinetic and settings.dynamics is None:
        law = _by_law(code, step, settings, reference)
        if law is not None:
            return replace(law, held={**law.held, **held})
    if step.needed:
        raise refused(code, told, f"needs {', '.join(step.needed)}, of which nothing is told")
    used = _ingredients(code, dynamics, settings)

    def run(*state: Tensor, **given: Any) -> tuple[Tensor, ...]:
        return step(*state, **given)

    run.__name__, run.__wrapped__ = code.name, code.written  # type: ignore[attr-defined]
    run.__signature__ = inspect.signature(PlainStep.__call__)  # type: ignore[attr-defined]
    left = {
        name: item.default
        for name, item in code.parameters.items()
        if item.default is not EMPTY and name not in code.roles
    }
    plain = {**left, **plain_values(read, settings.map)}
    idle = idle_of(step, at, plain)
    made = adapted_step(
        settings,
        found,
        dynamics,
        used,
        name=code.name,
        function=run,
        reference=reference,
        conventions=called(code, step.fixed, settings.map),
        untried=tuple(untried(idle, left)),
        idle=told_of(idle, settings.map),
        held=held,
    )
    return tempered(made) if is_tempered(dynamics, made.declaration) else made


def _by_law(code: PlainCode, step: PlainStep, settings: AdapterSettings, reference: str) -> TorchStep | None:
    """The step as that of an optimizer which keeps p: the law of a step tells what p and the numbers are, and no name has to."""
    options = {
        name: item.default
        for name, item in code.parameters.items()
        if code.roles.get(name) in ("h", "T", "D", "beta", "told", None)
        and name not in {*code.state.values(), *step.fixed} - {*step.needed}
        and item.kind in (item.POSITIONAL_OR_KEYWORD, item.KEYWORD_ONLY)
    }
    # The law tells in which power of h a step size stands that no optimizer calls so, such as eta.
    step_size = next((n for n in options if code.roles.get(n) == "h" and n not in CONVENTIONS), "lr")
    if "lr" in options:
        step_size = "lr"
    options = {"lr" if name == step_size else name: value for name, value in options.items()}
    mapped = {"lr" if name == step_size else name: text for name, text in settings.map.items()}

    def moved(self: Any, closure: Callable[[], Any]) -> None:
        tensors = self.param_groups[0]["params"]

        def cat(parts: Iterable[Tensor]) -> Tensor:
            found = list(parts)
            return found[0] if len(found) == 1 else torch.cat([part.reshape(-1) for part in found])

        def gradient(place: Tensor) -> Tensor:
            before = [tensor.detach().clone() for tensor in tensors]
            write(tensors, place)
            closure()
            write(tensors, cat(before))
            return cat(tensor.grad for tensor in tensors)

        def write(targets: Sequence[Tensor], whole: Tensor) -> None:
            with torch.no_grad():
                parts = [whole] if len(targets) == 1 else whole.split([target.numel() for target in targets])
                for target, part in zip(targets, parts, strict=True):
                    target.copy_(part.reshape(target.shape))

        chosen = {step_size if name == "lr" else name: value for name, value in self.options.items()}
        before, step.fixed = step.fixed, {**step.fixed, **chosen}
        try:
            theta = cat(tensor.detach() for tensor in tensors).clone()
            after = step(
                theta, cat(self.p).clone(), h=0.0, T=1.0, D=1.0, dim=1, grad=gradient, log_density=None
            )
        finally:
            step.fixed = before
        write(tensors, after[0].detach())
        write(self.p, after[1].detach())

    def make(params: Any, **given: Any) -> Any:
        tensors, made = tensors_of(params), as_step(code, moved)
        known = {name: value for name, value in options.items() if value is not EMPTY}
        vars(made).update(param_groups=[{"params": tensors}], state={}, options={**known, **given})
        made.p = [torch.zeros_like(tensor.detach()) for tensor in tensors]
        return made

    own = {
        name: code.roles[name]
        for name in options
        if code.roles.get(name) in ("h", "T") and name not in CONVENTIONS
    }
    try:
        found = optimizers.adapt(
            constructor(code.name, make, options), replace(settings, map={**own, **mapped}), reference
        )
    except SgverifyError:
        return None
    if found.dynamics is not kinetic or found.memory:
        return None
    told, samples = (re.sub(r"\blr\b", step_size, text) for text in (found.conventions, found.samples))
    return replace(found, conventions=told, samples=samples)


def _ingredients(code: PlainCode, dynamics: Dynamics, settings: AdapterSettings) -> tuple[str, ...]:
    from sgverify.adapters.optimizers.options import uses

    roles = {*code.roles.values()}
    wanted = ["h", "dim"]
    wanted += ["grad"] * bool({"grad", "score"} & roles) + ["log_density"] * bool(
        {"log_density", "potential"} & roles
    )
    for name in dynamics.parameters:
        also = name == "T" and "beta" in roles
        if name in roles or also or any(uses(text, name) for text in settings.map.values()):
            wanted.append(name)
    return tuple(wanted)


ADAPTER = Adapter(
    name="plain",
    summary="a torch function, class or module step(theta, grad, h, ...) whose parameters say what they are",
    takes=takes,
    adapt=adapt,
)
