"""A float64 run of a definition is float64 throughout."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

from sgverify.rates.verdict import Judgement
from sgverify.samplers import Settings, fixed, sample
from sgverify.samplers.intercepted.dtypes import DtypeAudit
from sgverify.samplers.intercepted.interception import OperationMode
from sgverify.subject.subject import Subject
from tests.self_checks.finding import Finding, finding

STEPS, CHAINS = 4, 2
"""The length and the chains of the watched run: its steps run the definition, record it, and play the recording."""


class Audited(OperationMode):
    """A context in which `audit` is shown every torch operation."""

    def __init__(self, audit: DtypeAudit) -> None:
        super().__init__()
        self._audit = audit

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        self._audit(func, (args, kwargs), result)
        return result


def check_dtype(subject: Subject) -> Finding:
    """In float64 no narrower floating tensor flows through a step, nor through the averages of a run.

    Every operation of torch is watched below the Python interface; Python numbers are constants in float64 already.

    Cannot see: cancellation within float64, and branches of the code that the tried steps do not take.
    """
    written = inspect.unwrap(subject.scheme.function).__code__.co_filename
    audit = DtypeAudit((str(Path("sgverify") / "samplers"), written))
    settings = Settings.of(
        subject.configuration, dtype="float64", device="cpu", chains=CHAINS, burn_in=0, thinning=1
    )
    rows = fixed([subject.step], [STEPS])
    with Audited(audit):
        averages = sample(
            subject.scheme, subject.target, rows, observables=[subject.observable], settings=settings
        )
    faults = [f"{seen} meets float64" for seen in audit.met.values()]
    if averages.values.dtype != float:
        faults.append(f"the averages are {averages.values.dtype}")
    certificate = {"faults": faults}
    if faults:
        judgement = Judgement("violates", False, f"not float64 throughout: {'; '.join(faults)}")
    else:
        judgement = Judgement("conforms", False, f"a run of {STEPS} steps is float64 throughout")
    return finding(judgement, certificate=certificate)
