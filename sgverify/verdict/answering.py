"""Does a scheme do what the theory promises (`verify`), and at which rate does its error fall (`rate`)?

Both show their progress in a notebook.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import ParamSpec, Unpack

from sgverify.checks.applicable_claims import Progress
from sgverify.checks.verify_and_rate import Source
from sgverify.checks.verify_and_rate import rate as one_rate
from sgverify.configuration import load_configuration
from sgverify.configuration.overrides import Overrides
from sgverify.evidence import Evidence
from sgverify.schemes import Scheme, TorchStep
from sgverify.schemes.composites import Composite
from sgverify.verdict.asking import enquire
from sgverify.verdict.notebooks import with_progress
from sgverify.verdict.rate_result import RateResult
from sgverify.verdict.results import Results

Given = ParamSpec("Given")


def _with_forms(question: Callable[Given, Evidence]) -> Callable[Given, RateResult]:
    @wraps(question)
    def asked(*arguments: Given.args, **named: Given.kwargs) -> RateResult:
        return RateResult.of(question(*arguments, **named))

    return asked


rate = with_progress(_with_forms(one_rate))


@with_progress
def verify(
    scheme: Scheme | TorchStep | Composite | str,
    config: Source = None,
    *,
    checks: Sequence[str] = (),
    progress: Progress | None = None,
    **overrides: Unpack[Overrides],
) -> Results:
    """Judge a scheme: one piece of evidence for each applicable pair of check and claim.

    `scheme` is a scheme, torch code under `torch_step`, a composite, or a reference (`"sghmc-aboba"`, `"mine.py:heun"`,
    `"resgld"`). Of a composite its scheme is judged as well, under the scheme's own name. `config` is
    a file, mapping or `Configuration`; `overrides` are configuration keys (`friction=3.0`, `gradient={"kind": "iid"}`).
    Where no gradient is configured and no checks are named, full gradients and random minibatches are both judged.
    Raises `UserError` where scheme, configuration or names are wrong.
    """
    enquiry = enquire(scheme, load_configuration(config, **overrides), checks)
    return Results(enquiry.ask(progress), enquiry)
