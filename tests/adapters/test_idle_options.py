"""Are options that move nothing named, and those alone?"""

import math

import pytest
import torch

from sgverify import verify
from sgverify.adapters.optimizers.adapter import adapt
from sgverify.adapters.optimizers.idle_options import idle_options, told_of, untried
from sgverify.adapters.plain import functions
from sgverify.schemes.adapting import AdapterSettings

OPTIONS = {
    "lr": 0.1,
    "weight_decay": 0.0,
    "momentum": 0.0,
    "dampening": 0.0,
    "foreach": None,
    "kind": "a",
    "noise": 1.0,
}


def steps(values):
    """Reads dampening beside a momentum alone, and neither noise nor foreach."""
    o = {**OPTIONS, **values}
    if o["momentum"] > 1:
        raise ValueError
    decayed = 1 - o["lr"] * o["weight_decay"]
    return [decayed, o["momentum"] * (1 - o["dampening"])]


def test_options_that_move_nothing_alone_and_beside_others_are_idle():
    assert set(idle := idle_options(steps, OPTIONS)) == {"noise", "foreach"}
    assert idle["noise"] == (1.0, 2.0, 0.3, 0.0, 30.0)
    assert dict(untried(idle, OPTIONS)) == {
        "other options than lr=0.1, weight_decay=0.0, momentum=0.0, dampening=0.0, kind='a'": "--set adapter.map.lr=...",
        "foreach=True, which moves nothing at the settings tried": "",
    }
    assert idle_options(lambda values: [math.sin(id(object())), next(_clock)], OPTIONS) == {}


_clock = iter(range(1000))


def test_one_that_a_user_gives_as_a_number_lets_nothing_pass():
    idle = idle_options(steps, OPTIONS)
    told = told_of(idle, ())
    assert told == ("noise moves nothing: steps are the same at noise=1, 2 or 0.3", False)
    assert told_of(idle, ("noise",))[1]
    assert not told_of({"n": (3, 1)}, ("n",))[1], "a number of data may be given as 1"
    assert told_of({"foreach": (None, True)}, ()) == ("", False)


class SGLD(torch.optim.Optimizer):
    """Reads `shrink` late, `penalty` at a closure and `decay` when it is made; never `weight_decay`."""

    def __init__(self, params, lr=1e-3, weight_decay=0.0137, shrink=0.0, burn_in=700, penalty=0.0, decay=0.0):
        super().__init__(
            params,
            {
                "lr": lr,
                "weight_decay": weight_decay,
                "shrink": shrink,
                "burn_in": burn_in,
                "penalty": penalty,
            },
        )
        self.decay = decay

    @torch.no_grad()
    def step(self, closure=None):
        if closure is not None:
            closure()
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                state["step"] = state.get("step", 0) + 1
                p.mul_(1 - group["lr"] * self.decay).add_(p.grad, alpha=-group["lr"])
                if state["step"] > group["burn_in"]:
                    p.mul_(1 - group["lr"] * group["shrink"])
                if closure is not None:
                    p.mul_(1 - group["lr"] * group["penalty"])
                p.add_(torch.randn_like(p), alpha=(2 * group["lr"]) ** 0.5)


def test_options_that_stand_in_the_groups_alone_are_tried_too():
    class Inherited(torch.optim.SGD):
        def __init__(self, params, lr=1e-3):
            super().__init__(params, lr=lr, momentum=0.0, weight_decay=0.1)

        @torch.no_grad()
        def step(self, closure=None):
            for group in self.param_groups:
                for p in group["params"]:
                    p.mul_(1 - group["lr"] * group["weight_decay"]).add_(p.grad, alpha=-group["lr"])
                    p.add_(torch.randn_like(p), alpha=(2 * group["lr"]) ** 0.5)

    assert adapt(Inherited, AdapterSettings(), "").idle[0].startswith("momentum and dampening move nothing")


def test_an_option_read_late_at_a_closure_or_when_it_is_made_is_no_idle_one():
    step = adapt(SGLD, AdapterSettings(), "")
    assert step.idle[0].startswith("weight_decay moves nothing")


def sgld(theta, grad, h, T=1.0, weight_decay=0.01, decay=0.0):
    return (1 - h * decay) * theta - h * grad(theta) + math.sqrt(2 * h * T) * torch.randn_like(theta)


@pytest.mark.parametrize(("given", "outcome"), [({}, "pass"), ({"weight_decay": 0.5}, "undecided")])
def test_the_answer_names_it_and_passes_no_value_that_was_given(given, outcome):
    assert functions.adapt(sgld, AdapterSettings(map=given), "").idle[0].startswith("weight_decay")
    answer = verify(sgld, checks=["local-order"], adapter={"map": given})
    assert answer.outcome == outcome and "\n  no effect   weight_decay" in answer.verdict.text()
