"""The kill matrix as text: a table for a terminal, and a Markdown page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from reports.making.power.kill_matrix import JudgedMutant, JudgedScheme, KillMatrix, Trial
from sgverify.evidence import METHODS

LETTERS = {"proof": "P", "exact": "X", "quadrature": "Q", "monte-carlo": "M"}
"""The letter of a kill, by its method."""

MARKS = {
    "conforms": "·",
    "violates": "·",
    "inconclusive": "?",
    "not-applicable": " ",
    "refused": "R",
    "crashed": "!",
}
"""The signs of outcomes that are no kill; a violation that the correct scheme shares is evidence against the claim alone."""

LEGEND = (
    "P proof, X exact, Q quadrature, M monte-carlo: killed by that method; R: refused, as a step that does not contract; · not "
    "seen; ? inconclusive; ! crashed; blank: does not apply"
)


def cell(item: JudgedMutant, check: str) -> Trial | None:
    """The trial that represents a check: its kill by the strongest method, else its most informative trial; None without any."""
    trials = [trial for trial in item.trials if trial.check == check]
    kills = [trial for trial in item.kills if trial.check == check]
    order = ("crashed", "inconclusive", "refused", "violates", "conforms", "not-applicable")
    return kills[0] if kills else min(trials, key=lambda t: order.index(t.outcome), default=None)


def mark(trial: Trial | None) -> str:
    """One letter for a cell."""
    if trial is None:
        return " "
    if trial.kill and trial.outcome != "refused":
        return LETTERS[trial.method]
    return MARKS[trial.outcome]


def killer(item: JudgedMutant) -> str:
    """A sentence about the cheapest kill."""
    found = item.cheapest
    if found is None:
        return "SURVIVES"
    return f"{found.check} ({'refused' if found.outcome == 'refused' else found.method})"


def verdict(matrix: KillMatrix) -> str:
    """The outcome in one line."""
    killed = len(matrix.mutants) - len(matrix.survivors)
    by = {
        method: sum(item.cheapest is not None and item.cheapest.method == method for item in matrix.mutants)
        for method in METHODS
    }
    methods = ", ".join(f"{number} by {method}" for method, number in by.items() if number)
    alarms = len(matrix.alarms)
    return (
        f"{killed} of {len(matrix.mutants)} planted bugs killed{f' ({methods})' if methods else ''}; {alarms or 'no'} "
        f"{'alarm' if alarms == 1 else 'alarms'} on {len(matrix.correct)} correct schemes and settings"
    )


def slowest(matrix: KillMatrix) -> tuple[float, float]:
    """Milliseconds of the methods `proof` and `exact`: of the slowest check, and of all checks of the slowest mutant."""
    spent = [item.exact_milliseconds() for item in matrix.mutants]
    return max((one for one, _ in spent), default=0.0), max((all_ for _, all_ in spent), default=0.0)


def killing(matrix: KillMatrix) -> float:
    """Milliseconds of the slowest cheapest kill among the methods `proof` and `exact`."""
    found = [item.cheapest for item in matrix.mutants]
    return max(
        (t.milliseconds for t in found if t is not None and t.method in ("proof", "exact")), default=0.0
    )


@dataclass(frozen=True)
class FamilySummary:
    """The planted bugs of one family: how many, the cheapest kills by their method, who kills, and who survives.

    `killers` are the checks that name a cheapest kill, with the number of bugs that each is named for, the most frequent first.
    """

    family: str
    bugs: int
    methods: dict[str, int]
    killers: dict[str, int]
    survivors: tuple[str, ...]


def by_family(matrix: KillMatrix) -> list[FamilySummary]:
    """A summary of each family, in the order of the matrix."""
    families: dict[str, list[JudgedMutant]] = {}
    for item in matrix.mutants:
        families.setdefault(item.family, []).append(item)
    return [_summary(family, items) for family, items in families.items()]


def _summary(family: str, items: Sequence[JudgedMutant]) -> FamilySummary:
    kills = [item.cheapest for item in items if item.cheapest is not None]
    return FamilySummary(
        family,
        len(items),
        {method: sum(kill.method == method for kill in kills) for method in METHODS},
        dict(Counter(kill.check for kill in kills).most_common()),
        tuple(item.name for item in items if item.cheapest is None),
    )


def render_kill_matrix(matrix: KillMatrix) -> str:
    """The whole matrix as Markdown; but for the milliseconds, the same matrix gives the same bytes."""
    return "\n".join(_lines(matrix)) + "\n"


def _lines(matrix: KillMatrix) -> Iterator[str]:
    one, all_ = slowest(matrix)
    yield "# Planted bugs and what kills them"
    yield ""
    yield f"Written by `python -m reports power`. {verdict(matrix)}."
    yield ""
    yield "## By family"
    yield ""
    yield (
        "How many bugs of each family are killed by which method at the cheapest, and by which checks: a number behind a check is "
        "that of the bugs for which it is named."
    )
    yield ""
    summaries = by_family(matrix)
    methods = [method for method in METHODS if any(summary.methods[method] for summary in summaries)]
    yield from _table(
        ["family", "bugs", *methods, "killed by", "survivors"],
        [_summarised(summary, methods) for summary in [*summaries, _summary("all", matrix.mutants)]],
    )
    yield ""
    yield "## Every bug by every check"
    yield ""
    yield (
        "Every check that applies is asked about every bug and about the correct scheme under the same settings; a bug is "
        "killed by a check that speaks against it and not against the correct scheme. The killer named is that with the "
        "strongest method, proof before exact before quadrature before monte-carlo, and the quickest of these. A cell holds the "
        "method and the milliseconds of processor time, which are those of the machine that wrote this page, and so is the "
        "quickest of several; the rest comes out the same anywhere. Bugs in sgverify's own sampler are killed by its own tests "
        "(`tests/self_checks`), which are columns here and no part of `sgverify verify`."
    )
    yield ""
    yield LEGEND + "."
    yield ""
    yield (
        f"By the methods proof and exact the check that kills took at most {killing(matrix):.0f} ms, any check at most "
        f"{one:.0f} ms, and all checks of one mutant together at most {all_:.0f} ms."
    )
    yield ""
    yield from _table(
        ["planted bug", "killed by", "ms", *matrix.checks],
        [
            [item.name, killer(item), _ms(item.cheapest), *(_shown(cell(item, c)) for c in matrix.checks)]
            for item in matrix.mutants
        ],
    )
    yield ""
    yield "## The bugs"
    yield ""
    yield f"All are judged under `{_plain(matrix.configuration)}`, with the settings of each over it."
    yield ""
    yield from _table(
        ["planted bug", "family", "scheme", "place", "was", "is", "settings", "reason", "source"],
        [_described(item) for item in matrix.mutants],
    )
    yield ""
    yield "## The correct schemes"
    yield ""
    yield from _table(
        ["scheme", "settings", "alarms", "inconclusive"],
        [_correct(item) for item in matrix.correct],
    )


def _summarised(summary: FamilySummary, methods: Sequence[str]) -> list[str]:
    killers = [f"{check} {number}" if number > 1 else check for check, number in summary.killers.items()]
    return [
        summary.family,
        str(summary.bugs),
        *(str(summary.methods[method] or "") for method in methods),
        ", ".join(killers),
        ", ".join(summary.survivors) or "none",
    ]


def _described(item: JudgedMutant) -> list[str]:
    was, now = ("; ".join(_code(edit[k]) for edit in item.edits) for k in (0, 1))
    settings = _code(_plain(item.settings)) if item.settings else ""
    return [
        item.name, item.family, _code(item.scheme), _code(item.place), was, now, settings, item.reason, item.source
    ]  # fmt: skip


def _correct(item: JudgedScheme) -> list[str]:
    undecided = dict.fromkeys(trial.check for trial in item.trials if trial.outcome == "inconclusive")
    alarms = "; ".join(f"{trial.check} ({trial.claim}): {trial.reason}" for trial in item.alarms)
    settings = _code(_plain(item.settings)) if item.settings else ""
    return [_code(item.scheme), settings, alarms or "none", ", ".join(undecided)]


def _shown(trial: Trial | None) -> str:
    text = mark(trial).strip()
    return f"{text} {_ms(trial)}" if trial is not None and trial.kill else text


def _ms(trial: Trial | None) -> str:
    return "" if trial is None else f"{trial.milliseconds:.0f}"


def _plain(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _code(text: str) -> str:
    return f"`{text.strip()}`" if text.strip() else "(nothing)"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for row in rows:
        yield "| " + " | ".join(text.replace("|", "\\|").replace("\n", " ") for text in row) + " |"
