"""Conjugate words: W = u v and W' = v u, proved by multiplying out; and the order of a word up to conjugacy.

Neighbouring equal letters join, X(s) X(t) = X(s + t); no other relation is used. Words are thus elements of the free product
of one-parameter groups, one for each letter. There two elements are conjugate if and only if their cyclically reduced forms
are rotations of one another (Magnus, Karrass, Solitar 1966, Combinatorial Group Theory, theorem 4.2): the word is closed to
a circle and cut open elsewhere. The search is therefore complete, and each conjugacy is proved by multiplying out.

The consequence for chains, with operators read from left to right as in `bch`: from mu W = mu follows
(mu u) W' = mu u v u = mu u, so that the invariant law of W' is that of W moved by u, at every h. Hence

    averages of f in the chain of W' are those of u f in the chain of W,
    averages of f in the chain of W are those of v f in the chain of W': it is read after v.

A word W has order 2 up to conjugacy (effective order, Butcher 1969) where P = exp(hY) W exp(-hY) has order 2 for some
Y = sum_X y_X X: its error at h^2 is e + [Y, S], S the sum of the letters, and vanishes where e_XY = y_Y - y_X for
e = sum_(X<Y) e_XY [X,Y]. Averages of W are those of exp(hY) f in the chain of P, so that

    E f = rho(f) + h rho(Y f) + O(h^2):

first order wherever rho(Y f) is not 0: conjugacy raises the order of the chain, not that of its averages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sgverify.exact.splittings.bch import BCHResult, bch
from sgverify.exact.splittings.order_conditions import defect_of
from sgverify.exact.splittings.splitting import Splitting

Factor = tuple[str, Any]
Product = tuple[Factor, ...]


@dataclass(frozen=True)
class Conjugacy:
    """W = u v and W' = v u, as products of letters with their shares of the step; `whole` as in `conjugacy`."""

    word: Product
    other: Product
    u: Product
    v: Product
    whole: str = ""

    @property
    def proved(self) -> bool:
        """Whether u v and v u, multiplied out, are the two words letter by letter and share by share."""
        return _joined((*self.u, *self.v), self.whole) == _joined(self.word, self.whole) and _joined(
            (*self.v, *self.u), self.whole
        ) == _joined(self.other, self.whole)

    def __str__(self) -> str:
        return (
            f"{product_text(self.word)} = u v and {product_text(self.other)} = v u with u = {product_text(self.u)}, "
            f"v = {product_text(self.v)}"
        )


@dataclass(frozen=True)
class EffectiveOrder:
    """The order of a word up to conjugacy.

    own: the order of the word itself. best: the order of the conjugate words `other` of `cuts`, where it is higher; the first
    of these has the fewest letters in u.
    shifts: y_X by letter, such that E f = rho(f) + h rho(sum_X y_X X f) + O(h^2); None where no such generator takes the
    error at h^2 away, and then no conjugation by flows of these letters raises the order above 1.
    """

    own: BCHResult
    best: BCHResult | None
    cuts: tuple[Conjugacy, ...]
    shifts: dict[str, Any] | None

    @property
    def conjugacy(self) -> Conjugacy | None:
        """The first of the cuts."""
        return self.cuts[0] if self.cuts else None

    @property
    def order(self) -> int | None:
        """The highest order that was found; None where the word is exact."""
        own = self.own.order
        if self.best is not None:
            return self.best.order
        return max(own, 2) if own == 1 and self.shifts is not None else own

    @property
    def raised(self) -> bool:
        """Whether conjugacy raises the order."""
        return self.order != self.own.order


def conjugacy(word: Splitting, other: Splitting, *, whole: str = "") -> Conjugacy | None:
    """Return u and v with word = u v and other = v u, or None: then the two are not conjugate as words.

    whole: letters that are neither cut nor joined, because each occurrence draws a gradient of its own.

    >>> from sgverify.exact.splittings.splitting import read_splitting
    >>> print(conjugacy(read_splitting("BAOA"), read_splitting("BAOAB")))
    B A/2 O A/2 = u v and B/2 A/2 O A/2 B/2 = v u with u = B/2, v = B/2 A/2 O A/2
    """
    mine, theirs = _Circle.of(_factors(word), whole), _Circle.of(_factors(other), whole)
    size = len(mine.factors)
    if size != len(theirs.factors):
        return None
    found = []
    for turn in range(size or 1):
        if theirs.factors != mine.factors[turn:] + mine.factors[:turn]:
            continue
        to = ((theirs.place + turn) % size, theirs.time) if size else (0, theirs.time)
        u = (*mine.stem, *mine.arc((mine.place, mine.time), to), *_inverse(theirs.stem))
        v = (*theirs.stem, *mine.arc(to, (mine.place, mine.time)), *_inverse(mine.stem))
        if (mine.place, mine.time) == to:
            # The arc from a point to itself is empty; the way back is then the whole round.
            v = (*theirs.stem, *mine.opened(), *_inverse(mine.stem))
        found.append(
            Conjugacy(
                _joined(_factors(word), whole),
                _joined(_factors(other), whole),
                _joined(u, whole),
                _joined(v, whole),
                whole,
            )
        )
    shortest = min(found, key=lambda item: min(len(item.u), len(item.v)), default=None)
    assert shortest is None or shortest.proved, "u v and v u do not multiply out to the words"
    return shortest


def conjugacy_with_minibatches(word: Splitting, other: Splitting, asking: str) -> Conjugacy | None:
    """Return u and v where the words stay conjugate with a fresh minibatch for each step, else None.

    The letters `asking` evaluate the gradient, all letters of one step on one minibatch. Letter by letter the chain reads
    u_1 v_1 u_2 v_2 .... The chain of v u joins v and u of one minibatch, and is the same chain where u or v evaluates no
    gradient. The stretch from the first letter that evaluates it to the last is therefore not cut.
    """
    found = conjugacy(word, other)
    cores = [_core(_joined(_factors(one)), asking) for one in (word, other)]
    if found is None or cores[0] != cores[1]:
        return None
    core = cores[0][0]
    if not core:
        return found
    (before, after), (before_other, after_other) = (
        _ends(_joined(_factors(one)), asking) for one in (word, other)
    )
    # W = p g q and W' = p' g q' with q p = q' p': either u = p p'^-1 or v = p' p^-1 asks for nothing.
    first = _joined((*before, *_inverse(before_other)))
    last = _joined((*before_other, *_inverse(before)))
    pairs = [
        (first, _joined((*before_other, *core, *after))),
        (_joined((*before, *core, *after_other)), last),
    ]
    # Where one is the inverse of the other, the one that flows forwards.
    u, v = pairs[0] if all(share > 0 for _, share in first) else pairs[1]
    return Conjugacy(_joined(_factors(word)), _joined(_factors(other)), u, v)


def effective_order(word: str, coefficients: Sequence[Any], degree: int | None = None) -> EffectiveOrder:
    """Return the order of a consistent word up to conjugacy: the best of all cuts of its circle.

    A cut that lies later by s in a letter X adds s [S, X] to the error at h^2. Order 2 requires e = s sum_Y [X,Y], which fixes
    s: each letter of the circle has at most one candidate, and the orders of the candidates are computed.

    >>> found = effective_order("BAOA", [Fraction(1), Fraction(1, 2), Fraction(1), Fraction(1, 2)])
    >>> found.own.order, found.order
    (1, 2)
    >>> print(found.conjugacy)
    B A/2 O A/2 = u v and B/2 A/2 O A/2 B/2 = v u with u = B/2, v = B/2 A/2 O A/2
    """
    splitting = Splitting(word, tuple(coefficients))
    own = bch(word, coefficients, degree)
    if splitting.rounded or not own.consistent or own.order is None or len(splitting.letters) == 1:
        return EffectiveOrder(own, None, (), None)
    shifts = _shifts(splitting)
    if shifts is None:
        return EffectiveOrder(own, None, (), None)
    orders = [(bch(cut.word, cut.coefficients, degree), cut) for cut in _cuts(splitting)]
    best = max((found for found, _ in orders), key=lambda found: found.order or 0, default=own)
    if best.order is None or best.order <= own.order:
        return EffectiveOrder(own, None, (), shifts)
    ways = [conjugacy(splitting, cut) for found, cut in orders if found.order == best.order]
    cuts = sorted((way for way in ways if way is not None), key=lambda way: len(way.u))
    return EffectiveOrder(own, best, tuple(cuts), shifts)


def split(factors: Product) -> Splitting:
    """Return a product as a word with its shares."""
    return Splitting("".join(letter for letter, _ in factors), tuple(share for _, share in factors))


def product_text(factors: Product) -> str:
    """Return a product as text: `B/2 A O A B/2`."""
    return " ".join(_factor_text(letter, share) for letter, share in factors) or "1"


@dataclass(frozen=True)
class _Circle:
    """A word closed to a circle: word = stem (the circle cut open at `place`, `time` into its letter) stem^-1."""

    stem: Product
    factors: Product
    place: int
    time: Any
    whole: str

    @staticmethod
    def of(factors: Product, whole: str) -> _Circle:
        rest = list(_joined(factors, whole))
        stem: list[Factor] = []
        while len(rest) > 1 and rest[0][0] == rest[-1][0] and rest[0][0] not in whole:
            letter, first, last = rest[0][0], rest[0][1], rest[-1][1]
            total = first + last
            if (first > 0) == (last > 0):
                # The ends join on the circle, and the word is the circle cut open inside of this letter.
                return _Circle(tuple(stem), (*rest[1:-1], (letter, total)), len(rest) - 2, last, whole)
            # One end undoes part of the other, X(a) m X(-b) = X(b) (X(a - b) m) X(-b): a letter that flows backwards.
            undone = -last if _size(last) <= _size(first) else first
            stem.append((letter, undone))
            rest = [*_part(letter, first - undone), *rest[1:-1], *_part(letter, last + undone)]
        return _Circle(tuple(stem), tuple(rest), 0, Fraction(0), whole)

    def opened(self) -> Product:
        """The circle cut open: once around from the cut."""
        if not self.factors:
            return ()
        letter, total = self.factors[self.place]
        later = self.factors[self.place + 1 :] + self.factors[: self.place]
        return (*_part(letter, total - self.time), *later, *_part(letter, self.time))

    def arc(self, start: tuple[int, Any], end: tuple[int, Any]) -> Product:
        """The factors from one cut forwards to another; none where the cuts are the same."""
        if start == end:
            return ()
        (i, s), (j, t) = start, end
        letter, total = self.factors[i]
        if i == j and _size(s) < _size(t):
            return ((letter, t - s),)
        later = self.factors[i + 1 :] + self.factors[:i]
        between = later[: (j - i - 1) % len(self.factors)]
        return (*_part(letter, total - s), *between, *_part(self.factors[j][0], t))


def _cuts(splitting: Splitting) -> list[Splitting]:
    """The circle cut open where a word of order 2 may begin, one place at most for each of its letters."""
    circle = _Circle.of(_factors(splitting), "")
    found = []
    for i, (letter, total) in enumerate(circle.factors):
        opened = circle.factors[i:] + circle.factors[:i]
        errors = _second_degree(split(opened))
        others = [other for other in splitting.letters if other != letter]
        sides = [_between(errors, letter, other) for other in others]
        rest = [_between(errors, x, y) for x in others for y in others if x < y]
        s = sides[0]
        inside = s == 0 or ((s > 0) == (total > 0) and _size(s) < _size(total))
        if any(rest) or any(side != s for side in sides) or not inside:
            continue
        cut = ((letter, total - s), *opened[1:], *_part(letter, s))
        found.append(split(cut))
    return found


def _shifts(splitting: Splitting) -> dict[str, Any] | None:
    """y_X with e_XY = y_Y - y_X for all letters, the first of them 0; None where there are none."""
    errors = _second_degree(splitting)
    letters = splitting.letters
    shifts = {letter: _between(errors, letters[0], letter) for letter in letters}
    for x in letters:
        for y in letters:
            if x < y and _between(errors, x, y) != shifts[y] - shifts[x]:
                return None
    # S leaves rho invariant, so that a common shift has no effect: the most frequent one is subtracted from all letters.
    values = list(shifts.values())
    common = max(values, key=lambda value: (values.count(value), value == 0))
    return {letter: value - common for letter, value in shifts.items()}


def _second_degree(splitting: Splitting) -> dict[str, Any]:
    return dict(
        defect_of(splitting.word, splitting.coefficients, 2, letters="".join(splitting.letters))  # type: ignore[arg-type]
    )


def _between(errors: dict[str, Any], x: str, y: str) -> Any:
    """e_XY, the coefficient of [X,Y]: of the Lyndon word XY at degree 2, and antisymmetric."""
    if x == y:
        return Fraction(0)
    return errors.get(x + y, Fraction(0)) if x < y else -errors.get(y + x, Fraction(0))


def _core(factors: Product, asking: str) -> tuple[Product, Product]:
    """The stretch from the first letter that evaluates the gradient to the last, and the rest of the circle."""
    before, after = _ends(factors, asking)
    core = factors[len(before) : len(factors) - len(after)] if any(x in asking for x, _ in factors) else ()
    return core, _joined((*after, *before))


def _ends(factors: Product, asking: str) -> tuple[Product, Product]:
    places = [i for i, (letter, _) in enumerate(factors) if letter in asking]
    return (factors[: places[0]], factors[places[-1] + 1 :]) if places else (factors, ())


def _joined(factors: Product, whole: str = "") -> Product:
    """The product with equal neighbours joined and zero shares dropped; letters of `whole` stay as they are."""
    found: list[Factor] = []
    for letter, share in factors:
        if found and found[-1][0] == letter and letter not in whole:
            share = found.pop()[1] + share
        if share != 0:
            found.append((letter, share))
    return tuple(found)


def _inverse(factors: Product) -> Product:
    return tuple((letter, -share) for letter, share in reversed(factors))


def _size(share: Any) -> Any:
    return share if share > 0 else -share


def _part(letter: str, share: Any) -> Product:
    return ((letter, share),) if share != 0 else ()


def _factors(splitting: Splitting) -> Product:
    return tuple(zip(splitting.word, splitting.coefficients, strict=True))


def _factor_text(letter: str, share: Any) -> str:
    if share == 1:
        return letter
    if isinstance(share, Fraction) and share.numerator == 1:
        return f"{letter}/{share.denominator}"
    return f"{letter}({share})"
