"""What the law of one step cannot separate, in words: the gradient's factor, the mass, the step size, friction and temperature."""

from __future__ import annotations

from sgverify.advice.identification.matching import Match


def family_of(match: Match, noiseless: bool) -> tuple[str, ...]:
    """The sentences of the family: all numbers that have the law of this match."""
    numbers, scheme = match.base.numbers, match.base.scheme
    h, T = numbers["h"], numbers["T"]
    heat = "" if noiseless else f", T/g = {T:.9g}"
    if "V" in match.candidate.roles:
        floor = numbers.get("floor")
        told = "" if floor is None else f", floor/g = {floor:.9g}"
        return (
            f"the gradient times g (N/n, say) against the temperature and the floor: h = {h:.9g}{heat}{told} are fixed, and V "
            "grows with g^2",
        )
    if "D" not in scheme.parameters:
        return (
            f"the gradient times g (N/n, say) against step size and temperature: h g = {h:.9g}{heat} are fixed",
        )
    found = [
        f"the gradient times g (N/n, say) against step size and temperature, and the mass m against the unit of time: "
        f"h sqrt(g/m) = {h:.9g}, h D = {h * numbers['D']:.9g}{heat} are fixed",
    ]
    if "p" in match.candidate.roles and not scheme.dynamics.riemannian:
        s = numbers["p"]
        found.append(
            f"if its momentum is p itself, with dtheta = p/m dt, then m g = {s * s:.9g}, which leaves one of the two open; in "
            "another unit of momentum both"
        )
    if match.candidate.scalars:
        found.append(
            "a thermostat of mass m^2 goes with the mass m; an offset of xi changes nothing of theta"
        )
    return tuple(found)


__all__ = ["family_of"]
