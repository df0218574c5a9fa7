"""A violation in a form that people can use: a minimal configuration, its evidence and plot as files, a row to keep.

A violated claim as a test failure that can be read without knowing the toolkit.

What is the simplest configuration under which a violation remains: the fewest keys off their defaults, in simple values?

Hypothesis shrinks the draws of a strategy, so that every key that the strategy draws stays in its example. This pass works on the
configuration itself: it removes keys, which then take their defaults.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sgverify.checks.applicable_claims import judge_pair
from sgverify.checks.registry import CHECKS
from sgverify.claims import Claim, find_claim
from sgverify.configuration import Configuration, load_configuration, toml_of, tree_of
from sgverify.errors import SgverifyError, UserError
from sgverify.evidence import Evidence, Point, Provenance, RecordedFailure, write_evidence
from sgverify.keeping.files import write_atomically
from sgverify.report.rate_plot import draw_rate, has_rate
from sgverify.report.text import explain
from sgverify.schemes import Scheme, TorchStep
from sgverify.subject.binding import make_subject
from sgverify.subject.subject import Subject
from sgverify.testing.references import loadable
from sgverify.testing.regressions import Regressions
from sgverify.testing.shrinking.simpler import (
    Tree,
    halves,
    jumps,
    lower,
    paths,
    simpler,
    value_at,
    with_value,
    without,
)
from sgverify.user_code import own_code

SHOWN = 5
"""Points that a failure shows at most: the first ones, at the largest steps or shortest lengths."""


class Violation(AssertionError):
    """Evidence with the verdict `violates`; its text is `told` (FAIL, cause and mend), the claim, the points and the replay.

    A property adds its minimal configuration, the files that it left and the row of the regression file.
    """

    def __init__(
        self, evidence: Evidence, counterexample: Counterexample | None = None, told: str = ""
    ) -> None:
        kept = [] if counterexample is None else counterexample.lines
        super().__init__(
            "\n".join([f"{evidence.claim}: {evidence.reason}", f"replay: {evidence.replay}", *kept])
        )
        self.evidence, self.counterexample, self.told = evidence, counterexample, told

    @property
    def text(self) -> str:
        """What a test report shows in the place of a traceback."""
        lines = [self.told] * bool(self.told) + [explain(replace(self.evidence, certificate={}))]
        lines += [f"  {'point':<12}{_point(point)}" for point in self.evidence.points[:SHOWN]]
        more = len(self.evidence.points) - SHOWN
        kept = [] if self.counterexample is None else self.counterexample.lines
        return "\n".join([*lines, *([f"  {'':<12}... and {more} more"] if more > 0 else []), *kept])


def _point(point: Point) -> str:
    place = ", ".join(
        f"{name} = {value:.6g}"
        for name, value in (("h", point.step), ("L", point.length))
        if value is not None
    )
    if point.value is None:
        return f"{place}: {point.note}"
    error = f" (standard error {point.standard_error:.2g})" if point.standard_error else ""
    return f"{place}: {point.value:.6g}{error}"


DEFAULT_FOLDER = "sgverify-counterexamples"


@dataclass(frozen=True)
class Counterexample:
    """The results of a failing property: the paths of evidence and plot (None without), and the row of the regression file.

    `judged` is the number of judged configurations, `kept` a sentence about the row, and `files` the names of the files in the
    failure's message.
    """

    configuration: Configuration
    judged: str
    files: tuple[str, ...]
    stored: Path | None = None
    plot: Path | None = None
    row: RecordedFailure | None = None
    kept: str = ""

    @property
    def lines(self) -> list[str]:
        """Fields as a failure shows them: name, text."""
        settings = toml_of(self.configuration).splitlines()
        first = "the defaults" if not settings else "what differs from the defaults, as a TOML file:"
        lines = [f"  minimal     {first}", *(f"    {setting}" for setting in settings)]
        lines += [f"  judged      {self.judged}", *self.files]
        lines += [f"  regression  {self.kept}"] if self.kept else []
        lines += [f"    {self.row.text}"] if self.row else []
        return lines


def keep_counterexample(
    evidence: Evidence,
    configuration: Configuration,
    *,
    judged: str,
    folder: Path,
    regressions: Regressions | None = None,
) -> Counterexample:
    """Write the evidence of a violation and the plot of its rate into `folder`, and its row into the regression file.

    The folder is created if it is missing, with a `.gitignore` of its own. If a file cannot be written, the reason replaces its
    path: this error must not hide the violation.
    """
    stored, plot = folder / f"{evidence.id}.json", folder / f"{evidence.id}.svg"
    drawn = has_rate(evidence)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not (folder / ".gitignore").exists():
            write_atomically(folder / ".gitignore", "*\n")
        provenance = Provenance.gather(command=evidence.replay, seconds=evidence.seconds)
        write_evidence(stored, [evidence], provenance)
        if drawn:
            draw_rate(evidence).save(plot)
        files = [f"  plot        {plot}"] if drawn else []
        files.append(f"  evidence    {stored}#{evidence.id}")
    except (OSError, UserError) as error:
        files = [f"  files       none: {error}"]
    row = None if regressions is None else regressions.row_of(evidence, configuration)
    return Counterexample(
        configuration=configuration,
        judged=judged,
        files=tuple(files),
        stored=stored if stored.exists() else None,
        plot=plot if drawn and plot.exists() else None,
        row=row,
        kept="" if row is None or regressions is None else _kept(regressions, row, evidence.scheme),
    )


def _kept(regressions: Regressions, row: RecordedFailure, scheme: str) -> str:
    """A sentence about the row: written to the regression file, known already, or only shown."""
    if not loadable(scheme):
        return f"no row: {scheme!r} stands at the top of no module, so no command line loads it; give it a name there"
    if not regressions.writes:
        return f"not written where CI is set; add this line to {regressions.path}:"
    try:
        added = regressions.add(row)
    except UserError as error:
        return f"not written: {error}"
    return f"row added to {regressions.path}" if added else f"{regressions.path} has this row"


MOST_JUDGEMENTS = 200
"""The most configurations that a minimisation judges; it then ends with the simplest violation so far."""

MOST_SAMPLED = 24
"""The most configurations that a minimisation judges by sampled verdicts, which take seconds each and may err."""

Judge = Callable[[Configuration], Evidence | None]
"""The evidence that violates under a configuration, None where nothing does."""


@dataclass(frozen=True)
class Minimal:
    """The result of a minimisation; `judgements` counts the judged configurations."""

    configuration: Configuration
    evidence: Evidence
    judgements: int


def minimise(
    scheme: Scheme | TorchStep | str,
    configuration: Configuration,
    claim: str,
    *,
    quantity: str | None = None,
    most: int | None = None,
) -> Minimal:
    """The simplest configuration under which `scheme` violates `claim`, by greedy steps from `configuration`.

    The defaults are tried first, alone and with a single key or table of `configuration`. Then keys are removed one by one, and
    the remaining values are simplified. A change is kept if the same claim is still violated by the same method and, for a
    sampled verdict, another seed confirms the violation.
    `quantity` selects the check if the claim has several. The result depends on the arguments alone.
    Raises `UserError` if nothing is violated under `configuration`.

    >>> from sgverify.exact.readings.formula import plant
    >>> from sgverify.schemes import find_scheme
    >>> cold = plant(find_scheme("sgld-euler"), "sqrt(2*T*h)", "sqrt(2*h)")
    >>> given = load_configuration(temperature=2.5, start=1.7, gradient={"kind": "iid", "batch": 7})
    >>> found = minimise(cold, given, "chen2015/theorem-4", quantity="stationary-bias")
    >>> found.configuration.model_dump(exclude_unset=True)
    {'temperature': 2.0}
    """
    asked = find_claim(claim)
    names = [name for name in asked.quantities if name in CHECKS and quantity in (None, name)]
    if not names:
        raise UserError(
            f"quantity={quantity!r}: {claim} does not speak of it; expected one of {', '.join(asked.quantities)}"
        )
    subject = make_subject(scheme, configuration)

    def judge(configuration: Configuration) -> Evidence | None:
        return next(
            filter(None, (violation(ask(subject, configuration, asked, name)) for name in names)), None
        )

    evidence = judge(configuration)
    if evidence is None:
        raise UserError(
            f"claim={claim!r}: nothing violates under this configuration of {scheme!r}; expected one that violates the "
            "claim; see `sgverify verify`"
        )
    return descend(configuration, evidence, judge, most=most)


def minimise_violation(subject: Subject, evidence: Evidence, *, most: int | None = None) -> Minimal:
    """The minimal violation from violating evidence about a subject."""
    claim = find_claim(evidence.claim)

    def judge(configuration: Configuration) -> Evidence | None:
        return violation(ask(subject, configuration, claim, evidence.check))

    return descend(subject.configuration, evidence, judge, most=most)


def descend(
    configuration: Configuration, evidence: Evidence, judge: Judge, *, most: int | None = None
) -> Minimal:
    """Greedy steps from a configuration whose violation is known; `judge` says what still violates.

    A configuration that it refuses (`UserError`) is no step. `most` judgements are made, by default 200, and 24 where
    the verdict is sampled.
    """
    sampled = evidence.method == "monte-carlo"
    limit = MOST_SAMPLED if sampled else MOST_JUDGEMENTS
    search = _Search(judge, Minimal(configuration, evidence, 0), limit if most is None else most)
    # Most bugs show under one key; where a judgement is dear, halving goes down faster.
    search.first([{}] if sampled else jumps(search.tree))
    while search.first(halves(search.tree)):
        pass
    while True:
        before = search.tree
        for path in paths(before):
            if value_at(search.tree, path) is not None:
                search.first([without(search.tree, path)])
        search.first(lower(search.tree))
        for path in paths(search.tree):
            search.first(
                with_value(search.tree, path, value) for value in simpler(value_at(search.tree, path))
            )
        if search.tree == before:
            return search.found


@own_code()
def ask(subject: Subject, configuration: Configuration, claim: Claim, quantity: str) -> list[Evidence]:
    """The claim judged for the subject's scheme under another configuration.

    A sampled violation counts where another seed confirms it; else it is inconclusive, as the reason says.
    """
    other = subject_under(subject, configuration)
    other.validate()
    found = judge_pair(other, claim, quantity)
    first = violation(found)
    if first is None or first.method != "monte-carlo":
        return found
    seed = (configuration.seed + 1) % 2**63
    again = judge_pair(subject_under(subject, load_configuration(configuration, seed=seed)), claim, quantity)
    if violation(again) is not None:
        return found
    reason = f"seed={seed} does not confirm it: {first.reason}"
    return [replace(first, verdict="inconclusive", reason=reason)]


def violation(found: Sequence[Evidence]) -> Evidence | None:
    """The evidence that violates, without printed claims that fail by an error of their own."""
    return next((item for item in found if item.verdict == "violates" and not item.refuted), None)


def subject_under(subject: Subject, configuration: Configuration) -> Subject:
    """The scheme under another configuration; its local order and its alphabet's proof are taken over."""
    other = replace(subject, configuration=configuration)
    if other.proof_dimension == subject.proof_dimension:
        # They depend on the scheme and the dimension alone; a proof may take longer than all the rest.
        vars(other).update(order=subject.order, alphabet=subject.alphabet)
        if "proved_order" in vars(subject):
            vars(other).update(proved_order=subject.proved_order)
    return other


class _Search:
    """The state of a minimisation: the configuration that violates, and the configurations judged before."""

    def __init__(self, judge: Judge, start: Minimal, most: int) -> None:
        self.found, self._judge, self._most = start, judge, most
        self._seen = {_key(self.tree)}

    @property
    def tree(self) -> Tree:
        return tree_of(self.found.configuration)

    def first(self, trees: Iterable[Tree]) -> bool:
        """Continue with the first of the trees that has the same violation; False if none has."""
        return any(self._goes(tree) for tree in trees)

    def _goes(self, tree: Tree) -> bool:
        count = self.found.judgements
        if count >= self._most or _key(tree) in self._seen:
            return False
        self._seen.add(_key(tree))
        try:
            configuration = load_configuration(tree)
        except UserError:
            return False
        try:
            evidence = self._judge(configuration)
        except SgverifyError:
            evidence = None
        here = self.found.evidence
        same = evidence is not None and (evidence.check, evidence.method) == (here.check, here.method)
        if evidence is not None and same:
            self.found = Minimal(configuration, evidence, count + 1)
        else:
            self.found = Minimal(self.found.configuration, here, count + 1)
        return same


def _key(tree: Tree) -> str:
    return json.dumps(tree, sort_keys=True)
