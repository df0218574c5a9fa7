"""Cards, `papers/ROOM/cards/PREFIX/ID.toml`, read into the claims PREFIX/ID; a malformed card is refused by file and place.

A distribution that adds a paper or a check has its cards in `cards/PREFIX/ID.toml` beside the module of the entry point.
"""

from __future__ import annotations

import difflib
import tomllib
import warnings
from collections.abc import Mapping
from functools import cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, get_args

from sgverify.claims.claim import Claim, ExponentExpression, Kind, Predicate, PredictionRule, Schedule, Source
from sgverify.errors import DefinitionError, PluginError, PluginWarning, find_named
from sgverify.plugins import Plugin, plugins

CARRYING = ("papers", "checks")
"""The kinds of plugins that come with cards."""

# `place` orders the cards of a paper as the paper does; a corrected card has the place of the one that it corrects.
_REQUIRED = {"title": str, "statement": str, "source": dict, "place": int}
_OPTIONAL = {
    "prediction": list,
    "vacuous": bool,
    "left_out": str,
    "on_request": bool,
    "hypotheses": list,
    "assumes": list,
    "schedule": str,
    "rate_of": list,
    "form": str,
    "corrected": str,
    "corrects": str,
    "weighs": str,
    "in_the_limit": str,
    "see": list,
    "densities": dict,
    "values": dict,
}
_RULE_REQUIRED = {"quantity": str, "exponent": str}
_RULE_OPTIONAL = {
    "kind": str,
    "alpha": str,
    "log_alpha": str,
    "strict": bool,
    "when": list,
    "sharp_when": list,
}


def claims() -> Mapping[str, Claim]:
    """Every card by its id, in the paper's order, corrected cards after printed ones: first those that ship, then those of others.

    Cards of an installed distribution that are malformed, or whose prefix is taken, are left out with a `PluginWarning`.
    """
    return _claims(carrying())


def carrying() -> tuple[Plugin, ...]:
    """The entry points that come with cards."""
    return tuple(entry for kind in CARRYING for entries in plugins(kind).values() for entry in entries)


def unmarked(text: str) -> str:
    """The text of a card without the marks of its formulas, `$h^2$`, which pages alone go by."""
    return text.replace("$", "")


@cache
def shipped_claims() -> Mapping[str, Claim]:
    """The cards that ship with the package."""
    cards: list[tuple[int, Claim]] = []
    rooms = resources.files("sgverify").joinpath("papers")
    for room in sorted(rooms.iterdir(), key=lambda entry: entry.name):
        cards += _cards(room.joinpath("cards"))
    return _ordered(cards)


@cache
def _claims(others: tuple[Plugin, ...]) -> Mapping[str, Claim]:
    known = dict(shipped_claims())
    whose = dict.fromkeys((id.partition("/")[0] for id in known), "sgverify")
    seen: set[Path] = set()
    for plugin in others:
        folder = plugin.folder()
        if folder is None or folder in seen:
            continue
        seen.add(folder)
        try:
            found = _ordered(_cards(folder / "cards"))
            for id in found:
                prefix = id.partition("/")[0]
                if whose.setdefault(prefix, plugin.distribution) != plugin.distribution:
                    raise plugin.refused(f"its card {id} begins as those of {whose[prefix]} do")
            _check_rates({**known, **found})
        except DefinitionError as error:
            warnings.warn(PluginWarning(str(plugin.refused(str(error)))), stacklevel=3)
        except PluginError as error:
            warnings.warn(PluginWarning(str(error)), stacklevel=3)
        else:
            known |= found
    return known


def _cards(folder: Traversable) -> list[tuple[int, Claim]]:
    """The cards PREFIX/ID.toml of a folder, each with its place."""
    return [
        _read(prefix.name, file)
        for prefix in (folder.iterdir() if folder.is_dir() else ())
        for file in (prefix.iterdir() if prefix.is_dir() else ())
        if file.name.endswith(".toml")
    ]


def _ordered(cards: list[tuple[int, Claim]]) -> dict[str, Claim]:
    known = {claim.id: claim for _, claim in sorted(cards, key=_place)}
    _check_links(known)
    _check_rates(known)
    return known


def find_claim(id: str) -> Claim:
    """The claim named `paper/id`; raises `UnknownNameError` with the nearest known id."""
    return find_named("claim", id, claims())


def claims_for(quantity: str) -> tuple[Claim, ...]:
    """The claims that a rate of the quantity is held against, in the papers' order."""
    return tuple(claim for claim in claims().values() if quantity in claim.rate_of)


def claim_for(quantity: str, schedule: Schedule) -> Claim:
    """The one claim that a rate of the quantity is held against on this schedule; raises `DefinitionError` where no card is it."""
    for claim in claims_for(quantity):
        if claim.schedule == schedule:
            return claim
    raise DefinitionError(f"no card has {quantity!r} in `rate_of` with schedule = {schedule!r}.")


def read_card(id: str, text: str, where: str) -> Claim:
    """The claim in the text of one card; raises DefinitionError with `where` it stands and the mistake."""
    try:
        table = tomllib.loads(unmarked(text))
    except tomllib.TOMLDecodeError as error:
        raise DefinitionError(f"{where} is not TOML: {error}") from None
    _check_keys(table, _REQUIRED, _OPTIONAL, where)
    source = table["source"]
    _check_keys(source, {"paper": str, "section": str, "equation": str}, {}, f"{where}, source")
    rules = tuple(
        _rule(entry, f"{where}, prediction {number}")
        for number, entry in enumerate(table.get("prediction", []), start=1)
    )
    if not rules and "left_out" not in table:
        raise DefinitionError(
            f"{where}: no prediction; add a [[prediction]] table, or say why it is left_out."
        )
    if rules and "left_out" in table:
        raise DefinitionError(
            f"{where}: a claim that is left_out predicts nothing; take one of the two away."
        )
    schedule = table.get("schedule")
    rate_of = tuple(table.get("rate_of", []))
    unspoken = [quantity for quantity in rate_of if quantity not in {rule.quantity for rule in rules}]
    if unspoken:
        raise DefinitionError(f"{where}: rate_of has {unspoken[0]!r}, of which the card predicts nothing.")
    return Claim(
        id=id,
        title=table["title"],
        statement=" ".join(table["statement"].split()),
        source=Source(**source),
        predictions=rules,
        hypotheses=_predicates(table.get("hypotheses", []), f"{where}, hypotheses"),
        assumes=tuple(table.get("assumes", [])),
        schedule=None if schedule is None else _one_of(schedule, get_args(Schedule), f"{where}, schedule"),
        rate_of=rate_of,
        form=table.get("form", ""),
        corrected=table.get("corrected"),
        corrects=table.get("corrects"),
        weighs=table.get("weighs", ""),
        in_the_limit=table.get("in_the_limit", ""),
        see=tuple(table.get("see", [])),
        densities=_entries(table, "densities", str, where),
        values=_entries(table, "values", int, where),
        vacuous=table.get("vacuous", False),
        left_out=table.get("left_out", ""),
        on_request=table.get("on_request", False),
    )


def _read(paper: str, file: Traversable) -> tuple[int, Claim]:
    where = f"card {paper}/{file.name}"
    text = file.read_text(encoding="utf-8")
    claim = read_card(f"{paper}/{file.name.removesuffix('.toml')}", text, where)
    return tomllib.loads(text)["place"], claim


def _place(card: tuple[int, Claim]) -> tuple[str, int, bool, str]:
    place, claim = card
    paper, _, _ = (claim.corrects or claim.id).partition("/")
    return paper, place, claim.corrects is not None, claim.id


def _rule(table: Any, where: str) -> PredictionRule:
    _check_keys(table, _RULE_REQUIRED, _RULE_OPTIONAL, where)
    optional = {key: ExponentExpression(table[key]) for key in ("alpha", "log_alpha") if key in table}
    exponent = ExponentExpression(table["exponent"])
    alpha = optional.get("alpha")
    if "alpha" in exponent.names and alpha is None:
        raise DefinitionError(
            f'{where}: the exponent uses alpha; add the claim\'s best one, alpha = "1/(K + 1)".'
        )
    if any("alpha" in expression.names for expression in optional.values()):
        raise DefinitionError(f"{where}: alpha and log_alpha are expressions in K alone.")
    return PredictionRule(
        quantity=table["quantity"],
        exponent=exponent,
        kind=_one_of(table.get("kind", "upper"), get_args(Kind), f"{where}, kind"),
        alpha=alpha,
        log_alpha=optional.get("log_alpha"),
        strict=table.get("strict", False),
        when=_predicates(table.get("when", []), f"{where}, when"),
        sharp_when=_predicates(table.get("sharp_when", []), f"{where}, sharp_when"),
    )


def _entries(table: Mapping[str, Any], key: str, kind: type, where: str) -> tuple[tuple[str, Any], ...]:
    entries = table.get(key, {})
    for name, value in entries.items():
        if not isinstance(value, kind) or isinstance(value, bool):
            raise DefinitionError(f"{where}, {key}: {name}={value!r}; expected a {kind.__name__}.")
    return tuple(entries.items())


def _predicates(tables: list[Any], where: str) -> tuple[Predicate, ...]:
    for entry in tables:
        if not isinstance(entry, dict):
            raise DefinitionError(f'{where}: {entry!r} is no predicate; write {{fact = "K", at_least = 1}}.')
    return tuple(Predicate.from_table(entry, where) for entry in tables)


def _check_keys(table: Any, required: Mapping[str, type], optional: Mapping[str, type], where: str) -> None:
    if not isinstance(table, dict):
        raise DefinitionError(f"{where}: expected a table, not {table!r}.")
    known = {**required, **optional}
    for key, value in table.items():
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            mend = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
            raise DefinitionError(f"{where}: unknown key {key!r}; {mend}")
        if not isinstance(value, known[key]) or (known[key] is int and isinstance(value, bool)):
            raise DefinitionError(f"{where}: {key}={value!r}; expected a {known[key].__name__}.")
        if value == "":
            raise DefinitionError(f"{where}: {key} is empty.")
    missing = sorted(set(required) - set(table))
    if missing:
        raise DefinitionError(f"{where}: {', '.join(missing)} is missing.")


def _one_of(given: str, known: tuple[str, ...], where: str) -> Any:
    if given not in known:
        near = difflib.get_close_matches(given, known, n=1)
        mend = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(known)}."
        raise DefinitionError(f"{where}: {given!r}; {mend}")
    return given


def _check_links(known: Mapping[str, Claim]) -> None:
    for claim in known.values():
        if (claim.corrected is None) != (not claim.weighs):
            raise DefinitionError(
                f"card {claim.id}: say in `weighs` what the failing of a claim that has a corrected card is, and of no other."
            )
        for mine, link in (("corrected", "corrects"), ("corrects", "corrected")):
            other = getattr(claim, mine)
            if other is None:
                continue
            if other not in known or getattr(known[other], link) != claim.id:
                raise DefinitionError(
                    f"card {claim.id}: {mine}={other!r}, but no card there has {link}={claim.id!r}."
                )


def _check_rates(known: Mapping[str, Claim]) -> None:
    """A rate is held against one printed claim of each schedule; claims on no schedule share it, and their hypotheses choose."""
    held: dict[tuple[str, str | None], Claim] = {}
    for claim in known.values():
        if claim.rate_of and claim.corrects is not None:
            raise DefinitionError(
                f"card {claim.id}: rate_of is for printed claims; the corrected one judges where its printed one falls."
            )
        for quantity in claim.rate_of:
            other = held.setdefault((quantity, claim.schedule), claim)
            if other is not claim and claim.schedule is not None:
                raise DefinitionError(
                    f"card {claim.id}: {quantity!r} on the schedule {claim.schedule!r} is held against {other.id} already; "
                    "leave it out of the rate_of of one of them."
                )
