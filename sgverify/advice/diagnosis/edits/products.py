"""Edits of products: factors put in, left out, moved into roots; exponentials for linear functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations, takewhile

from sgverify.advice.diagnosis.edits.expressions import Factor, Term, called, is_product, is_sum
from sgverify.advice.diagnosis.edits.rules import (
    FAR,
    RARE,
    SIMPLE,
    USUAL,
    Candidate,
    Rules,
    bracketed,
    within,
)


class Products(Rules):
    """Edits of one term, a product that is no part of a larger one."""

    def all(self) -> Iterator[Candidate]:
        """All of them."""
        for term in self.read.terms:
            yield from self.scaled(term)
            yield from self.shortened(term)
            yield from self.inverted(term)
            yield from self.numbered(term)
            yield from self.roots(term)
            yield from self.exponentials(term)
        for term in self.read.brackets:
            yield from self.scaled_sum(term)
        yield from self.replaced_parts()

    def scaled(self, term: Term) -> Iterator[Candidate]:
        """A term times or over a number or an ingredient."""
        first = term.factors[0]
        place = first.start
        number = isinstance(first.node, ast.Constant)
        # A name goes behind a leading number: 2*T*h, not T*2*h.
        behind = first.end if number and not first.over else None
        halved = any(self.is_clock(factor) for factor in term.factors)
        for value, cost in (("2", SIMPLE), ("4", RARE), ("3", RARE), ("3/2", FAR), ("3/4", FAR)):
            yield self.insert(place, f"{value}*", cost, ("times", value))
        for factor in term.factors:
            if self.is_clock(factor):
                yield self.put(factor, f"{self.clock}/2", SIMPLE, ("half", self.clock))
                yield self.put(factor, f"2*{self.clock}", SIMPLE, ("twice", self.clock))
        for value in ("2", "4", "3"):
            cost = SIMPLE if value == "2" and not halved else RARE
            yield self.insert(term.end, f"/{value}", cost, ("over", value))
        one = number and self.word(first) == "1" and len(term.factors) == 1
        timed = any(self.is_clock(factor) for factor in term.factors)
        for name in () if one else self.numbers:
            # A higher power of h hides a wrong term, and mends nothing.
            cost = RARE if timed and name == self.clock else SIMPLE
            at, new = (behind, f"*{name}") if behind is not None else (place, f"{name}*")
            yield self.insert(at, new, cost, ("times", name))
            cost = USUAL if name == self.clock else SIMPLE
            yield self.insert(term.end, f"/{name}", cost, ("over", name))
        if not timed:
            yield self.insert(place, f"{self.clock}/2*", USUAL, ("times", f"{self.clock}/2"))
        for name in [*self.numbers, "2"]:
            if self.spelled("sqrt"):
                root = f"{self.spelled('sqrt')}({name})"
                yield self.insert(place, f"{root}*", RARE, ("times", root))
                yield self.insert(term.end, f"/{root}", RARE, ("over", root))
        for other in self._factors_elsewhere(term):
            yield self.insert(place, f"{other}*", RARE, ("times", other))

    def inverted(self, term: Term) -> Iterator[Candidate]:
        """A factor that divides and not multiplies, or the other way round: dim*x for x/dim, T/h for T*h."""
        for factor in term.factors:
            if len(term.factors) < 2 or isinstance(factor.node, ast.Constant) or is_product(factor.node):
                continue
            word = self.word(factor)
            if isinstance(factor.node, ast.Name) and word in self.numbers:
                new = self._sided(term, factor)
                if new is not None:
                    yield self.change(term.start, term.end, new, USUAL, ("inverted", word))

    def _sided(self, term: Term, moved: Factor) -> str | None:
        """The term with a factor on the other side of the division bar; None for a term with products in brackets."""
        if any(is_product(factor.node) for factor in term.factors):
            return None
        above = [self.word(f) for f in term.factors if f.over == (f is moved)]
        below = [self.word(f) for f in term.factors if f.over != (f is moved)]
        numbers = [word for word in above if word.isdigit()]
        top = "*".join([*numbers, *(word for word in above if not word.isdigit())]) or "1"
        return top + "".join(f"/{word}" for word in below)

    def numbered(self, term: Term) -> Iterator[Candidate]:
        """A term with another number: without its numbers, with the step size or half of it alone, over a number of the text."""
        if any(is_product(factor.node) for factor in term.factors):
            return
        numbers = [f for f in term.factors if isinstance(f.node, ast.Constant)]
        others = [f for f in term.factors if f not in numbers]
        if numbers and others and not others[0].over:
            plain = self._joined(others, {})
            yield self.change(term.start, term.end, plain, USUAL, ("without numbers",))
            for f in others:
                if self.is_clock(f) and not f.over:
                    halved = self._joined(others, {f: f"{self.clock}/2"})
                    yield self.change(term.start, term.end, halved, USUAL, ("share", f"{self.clock}/2"))
        for value in self._literals:
            yield self.insert(term.end, f"/{value}", RARE, ("over", value))
            yield self.insert(term.start, f"{value}*", RARE, ("times", value))

    def _joined(self, factors: Sequence[Factor], new: Mapping[Factor, str]) -> str:
        text = "".join(("/" if f.over else "*") + new.get(f, self.word(f)) for f in factors)
        return text[1:]

    @cached_property
    def _literals(self) -> list[str]:
        """The whole numbers of the text beyond those that are tried everywhere."""
        values = (node.value for node in self.read.nodes if isinstance(node, ast.Constant))
        return [str(value) for value in sorted({v for v in values if type(v) is int and v > 4})]

    def scaled_sum(self, term: Term) -> Iterator[Candidate]:
        """A sum times an ingredient, or times a composite factor of another term."""
        word = self.word(term.factors[0])
        bracketed_word = word if word.startswith("(") else f"({word})"
        for name in self.numbers:
            yield self.change(term.start, term.end, f"{name}*{bracketed_word}", SIMPLE, ("times", name))
        for other in [f"{self.clock}/2", "2", *self._factors_elsewhere(term)]:
            yield self.change(term.start, term.end, f"{other}*{bracketed_word}", USUAL, ("times", other))

    def shortened(self, term: Term) -> Iterator[Candidate]:
        """A term without one of its factors."""
        for k, factor in enumerate(term.factors):
            rest = [
                other for other in term.factors if not within(other, factor) and not within(factor, other)
            ]
            word = self.word(factor)
            if factor.over:
                sign = self.read.text.rfind("/", 0, factor.start)
                sign = len(self.read.text[:sign].rstrip())
                yield self.change(sign, factor.end, "", SIMPLE, ("without", f"/{word}"))
            elif not rest:
                continue
            elif k + 1 < len(term.factors) and factor is term.factors[0]:
                following = self.behind(factor)
                if self.read.text[following] == "*":
                    end = following + 1
                    while self.read.text[end].isspace():
                        end += 1
                    yield self.change(factor.start, end, "", SIMPLE, ("without", word))
                else:
                    yield self.put(factor, "1", SIMPLE, ("without", word))
            else:
                before = self.read.text[: factor.start].rstrip()
                if before.endswith("*"):
                    end = len(before[:-1].rstrip())
                    yield self.change(end, factor.end, "", SIMPLE, ("without", word))
                else:
                    following = self.behind(factor)
                    if self.read.text[following : following + 1] == "*":
                        yield self.change(factor.start, following + 1, "", SIMPLE, ("without", word))
                    else:
                        yield self.put(factor, "1", SIMPLE, ("without", word))

    def roots(self, term: Term) -> Iterator[Candidate]:
        """Factors moved into a root, roots taken and left out, powers changed."""
        sqrt = self.spelled("sqrt")
        yield from self._root_of_product(term)
        for factor in term.factors:
            node = factor.node
            if called(node) == "sqrt" and isinstance(node, ast.Call) and len(node.args) == 1:
                inside = self.read.of(node.args[0])
                yield self.put(
                    factor, bracketed(node.args[0], inside), USUAL, ("without root", self.word(factor))
                )
                power = node.args[0]
                if isinstance(power, ast.BinOp) and isinstance(power.op, ast.Pow):
                    yield self.put(
                        factor, self.read.of(power.left), USUAL, ("without root", self.word(factor))
                    )
                yield from self._moved(term, factor, node)
            elif sqrt is not None and not isinstance(node, ast.Constant):
                yield self.put(factor, f"{sqrt}({self.inner(factor)})", USUAL, ("root of", self.word(factor)))
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                yield self.put(factor, self.read.of(node.left), USUAL, ("without power", self.word(factor)))
            elif isinstance(node, ast.Name | ast.BinOp) or called(node) in ("sqrt", "exp"):
                word = f"({self.inner(factor)})" if isinstance(node, ast.BinOp) else self.word(factor)
                yield self.put(factor, f"{word}**2", USUAL, ("square of", word))

    def _root_of_product(self, term: Term) -> Iterator[Candidate]:
        """sqrt(2*T*h)*noise() for 2*T*h*noise(): the numbers and parameters of a term under a root."""
        sqrt = self.spelled("sqrt")
        leading = list(takewhile(self._is_number, term.factors))
        if sqrt is None or len(leading) < 2 or len(leading) == len(term.factors):
            return
        start, end = leading[0].start, leading[-1].end
        yield self.change(start, end, f"{sqrt}({self.read.text[start:end]})", USUAL, ("root of", "numbers"))

    def _is_number(self, factor: Factor) -> bool:
        name = isinstance(factor.node, ast.Name) and factor.node.id in self.numbers
        return name or isinstance(factor.node, ast.Constant)

    def _moved(self, term: Term, root: Factor, node: ast.Call) -> Iterator[Candidate]:
        """The other factors of a term, one or several, moved into its root."""
        others = [
            f
            for f in term.factors
            if f is not root
            and not f.over
            and not is_product(f.node)
            and called(f.node) not in ("noise", "grad")
        ]
        radicand = node.args[0]
        inside = self.read.of(radicand)
        inside = f"({inside})" if is_sum(radicand) else inside
        for count in (1, 2, 3):
            for moved in combinations(others[:4], count):
                words = [self.word(f) for f in moved]
                numbers = [w for w in words if w.isdigit()]
                names = [w for w in words if not w.isdigit()]
                lead, rest = _leading_number(inside)
                product = "*".join([*numbers, *([lead] if lead else []), *names, rest])
                text = f"{self.read.of(node.func)}({product})"
                yield self._rewritten(
                    term, {root: text, **dict.fromkeys(moved)}, USUAL, ("into root", *words)
                )
                if numbers:
                    yield self._rewritten(
                        term,
                        {
                            root: f"{self.read.of(node.func)}({'*'.join(['2', *names, inside])})",
                            **dict.fromkeys(moved),
                        },
                        RARE,
                        ("into root", *names),
                    )

    def _rewritten(
        self, term: Term, new: dict[Factor, str | None], cost: int, rule: tuple[str, ...]
    ) -> Candidate:
        """The term with factors put anew, or left out where None is given; the others as they stand."""
        parts = []
        for factor in term.factors:
            if any(within(factor, other) and factor is not other for other in term.factors):
                continue
            if factor in new and new[factor] is None:
                continue
            word = new.get(factor) or self.word(factor)
            parts.append(("/" if factor.over else "*", word))
        text = "".join(f"{sign}{word}" for sign, word in parts)
        text = text[1:] if text.startswith("*") else f"1{text}"
        return self.change(term.start, term.end, text, cost, rule)

    def exponentials(self, term: Term) -> Iterator[Candidate]:
        """exp(x) for 1 + x, and the other way round; -expm1(-x) for x under a root."""
        exp, expm1 = self.spelled("exp"), self.spelled("expm1")
        for factor in term.factors:
            node = factor.node
            if isinstance(node, ast.Call) and called(node) in ("exp", "expm1") and len(node.args) == 1:
                inside = self.read.of(node.args[0])
                short = (
                    f" - {inside[1:]}"
                    if inside.startswith("-") and not is_sum(node.args[0])
                    else f" + {inside}"
                )
                linear = f"(1{short})" if called(node) == "exp" else f"({inside})"
                yield self.put(factor, linear, USUAL, ("linear", called(node)))
            if is_sum(node) and isinstance(node, ast.BinOp) and self.read.of(node.left) == "1" and exp:
                inside = self.read.of(node.right)
                sign = "-" if isinstance(node.op, ast.Sub) else ""
                yield self.put(factor, f"{exp}({sign}{inside})", USUAL, ("exp", ""))
        if expm1 is None or called(self.read.parents.get(term.node)) != "sqrt":
            return
        plain = [f for f in term.factors if not is_product(f.node)]
        inner = [f for f in plain if isinstance(f.node, ast.Constant) or self.word(f) not in ("T",)]
        outer = [f for f in plain if f not in inner]
        if any(self.is_clock(f) for f in inner) and not any(f.over for f in outer):
            exponent = "".join(("/" if f.over else "*") + self.word(f) for f in inner)[1:]
            front = "".join(f"{self.word(f)}*" for f in outer)
            yield self.change(
                term.start, term.end, f"-{front}{expm1}(-{exponent})", RARE, ("expm1", exponent)
            )

    def replaced_parts(self) -> Iterator[Candidate]:
        """A factor, or a whole call, put anew as a number or a parameter."""
        numbers = [name for name in self.numbers if name not in ("h", "t")]
        new = ["1", "2", *numbers, *(f"2*{name}" for name in numbers)]
        for term in self.read.terms:
            for factor in term.factors:
                if isinstance(factor.node, ast.Name | ast.Constant) or len(term.factors) == 1:
                    continue
                for word in new:
                    yield self.put(factor, word if not factor.over else f"({word})", FAR, ("part", word))

    def _factors_elsewhere(self, term: Term) -> list[str]:
        """The composite factors, such as exp(-D*h), of other terms."""
        found: dict[str, None] = {}
        own = {self.word(factor) for factor in term.factors}
        for other in self.read.terms:
            for factor in other.factors:
                word = self.word(factor)
                composite = called(factor.node) in ("exp",) or is_sum(factor.node)
                if composite and word not in own:
                    found[word] = None
        return list(found)


def _leading_number(text: str) -> tuple[str, str]:
    """A leading whole number of a product and the rest."""
    number, star, rest = text.partition("*")
    return (number, rest) if star and number.isdigit() and not rest.startswith("*") else ("", text)
