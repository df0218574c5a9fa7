"""Which edits of a definition are tried? All changes in one place that somebody makes by mistake, the simplest first."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise

from sgverify.advice.diagnosis.expressions import Expressions, Factor, Term, called, is_product, is_sum
from sgverify.advice.diagnosis.source import Replacement, Text, replaced

NUMBERS = ("T", "D", "h", "t", "dim")
"""The ingredients that are numbers."""

SIMPLE, USUAL, RARE, FAR = 1, 2, 3, 4
"""How simple an edit is: a factor, sign or name; a root or function; something taken from elsewhere; a part put anew."""


@dataclass(frozen=True)
class Candidate:
    """One edit. `rule` names its kind and the words exchanged: edits of one rule are one mistake made in several places."""

    changes: tuple[Replacement, ...]
    cost: int
    rule: tuple[str, ...]

    def applied(self, text: str) -> str:
        """The edited text."""
        return replaced(text, self.changes)

    @property
    def length(self) -> int:
        """The characters that it writes, and by how many it changes the length: of two edits of one meaning the shorter one."""
        return sum(
            len(change.new) + abs(len(change.new) - (change.end - change.start)) for change in self.changes
        )


def candidates(text: Text) -> list[Candidate]:
    """All edits in one place of a text, the simplest first, and of equally simple ones the shortest."""
    found = list(_of_word(text) if text.word else _of_function(text))
    unlike: dict[str, Candidate] = {}
    for candidate in sorted(found, key=lambda candidate: (candidate.cost, candidate.length)):
        unlike.setdefault(candidate.applied(text.text), candidate)
    unlike.pop(text.text, None)
    return list(unlike.values())


def _of_word(text: Text) -> Iterator[Candidate]:
    word, letters = text.text, text.names
    for k in range(len(word) + 1):
        for letter in letters:
            yield Candidate((Replacement(k, k, letter),), SIMPLE, ("letter", "", letter))
            if k < len(word):
                yield Candidate((Replacement(k, k + 1, letter),), SIMPLE, ("letter", word[k], letter))
        if k < len(word):
            yield Candidate((Replacement(k, k + 1, ""),), SIMPLE, ("letter", word[k], ""))
        if k + 1 < len(word):
            yield Candidate(
                (Replacement(k, k + 2, word[k + 1] + word[k]),), SIMPLE, ("letter", word[k], word[k + 1])
            )


def _of_function(text: Text) -> Iterator[Candidate]:
    read = Expressions(text.text)
    rules = _Rules(text, read)
    for term in read.terms:
        yield from rules.scaled(term)
        yield from rules.shortened(term)
        yield from rules.roots(term)
        yield from rules.exponentials(term)
    yield from rules.signs()
    yield from rules.names()
    yield from rules.literals()
    yield from rules.functions()
    yield from rules.summands()
    yield from rules.replaced_parts()
    yield from rules.reordered()


class _Rules:
    def __init__(self, text: Text, read: Expressions) -> None:
        self.text, self.read = text, read
        self.numbers = [name for name in text.names if name in NUMBERS]
        self.clock = text.clock
        functions = {name: text.known(name) for name in ("sqrt", "exp", "expm1")}
        self.mathematics = {name: own for name, own in functions.items() if own is not None}

    def _name(self, name: str) -> str | None:
        return self.mathematics.get(name)

    def scaled(self, term: Term) -> Iterator[Candidate]:
        """A term times or over a number or an ingredient."""
        first = term.factors[0]
        place = first.start
        number = isinstance(first.node, ast.Constant)
        # A name goes behind a leading number: 2*T*h, not T*2*h.
        behind = first.end if number and not first.over else None
        halved = any(self._is_clock(factor) for factor in term.factors)
        for value, cost in (("2", SIMPLE), ("4", RARE), ("3", RARE), ("3/2", FAR), ("3/4", FAR)):
            yield self._insert(place, f"{value}*", cost, ("times", value))
        for factor in term.factors:
            if self._is_clock(factor):
                yield self._put(factor, f"{self.clock}/2", SIMPLE, ("half", self.clock))
                yield self._put(factor, f"2*{self.clock}", SIMPLE, ("twice", self.clock))
        for value in ("2", "4", "3"):
            cost = SIMPLE if value == "2" and not halved else RARE
            yield self._insert(term.end, f"/{value}", cost, ("over", value))
        for name in self.numbers:
            at, new = (behind, f"*{name}") if behind is not None else (place, f"{name}*")
            yield self._insert(at, new, SIMPLE, ("times", name))
            yield self._insert(term.end, f"/{name}", SIMPLE, ("over", name))
        for name in [*self.numbers, "2"]:
            if self._name("sqrt"):
                root = f"{self._name('sqrt')}({name})"
                yield self._insert(place, f"{root}*", RARE, ("times", root))
                yield self._insert(term.end, f"/{root}", RARE, ("over", root))
        for other in self._factors_elsewhere(term):
            yield self._insert(place, f"{other}*", RARE, ("times", other))

    def shortened(self, term: Term) -> Iterator[Candidate]:
        """A term without one of its factors."""
        for k, factor in enumerate(term.factors):
            rest = [
                other for other in term.factors if not _within(other, factor) and not _within(factor, other)
            ]
            word = self._of(factor)
            if factor.over:
                sign = self.read.text.rfind("/", 0, factor.start)
                yield self._change(sign, factor.end, "", SIMPLE, ("without", f"/{word}"))
            elif not rest:
                continue
            elif k + 1 < len(term.factors) and factor is term.factors[0]:
                following = self._operator_behind(factor)
                if self.read.text[following] == "*":
                    end = following + 1
                    while self.read.text[end].isspace():
                        end += 1
                    yield self._change(factor.start, end, "", SIMPLE, ("without", word))
                else:
                    yield self._put(factor, "1", SIMPLE, ("without", word))
            else:
                before = self.read.text[: factor.start].rstrip()
                if before.endswith("*"):
                    yield self._change(len(before) - 1, factor.end, "", SIMPLE, ("without", word))
                else:
                    following = self._operator_behind(factor)
                    if self.read.text[following : following + 1] == "*":
                        yield self._change(factor.start, following + 1, "", SIMPLE, ("without", word))
                    else:
                        yield self._put(factor, "1", SIMPLE, ("without", word))

    def roots(self, term: Term) -> Iterator[Candidate]:
        """Factors moved into a root and out of it, roots taken and left out, powers changed."""
        sqrt = self._name("sqrt")
        for factor in term.factors:
            node = factor.node
            if called(node) == "sqrt" and isinstance(node, ast.Call) and len(node.args) == 1:
                inside = self.read.of(node.args[0])
                yield self._put(
                    factor, _bracketed(node.args[0], inside), USUAL, ("without root", self._of(factor))
                )
                yield from self._moved(term, factor, node)
            elif sqrt is not None and not isinstance(node, ast.Constant):
                yield self._put(
                    factor, f"{sqrt}({self._inner(factor)})", USUAL, ("root of", self._of(factor))
                )
            if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow):
                yield self._put(factor, self.read.of(node.left), USUAL, ("without power", self._of(factor)))
            elif isinstance(node, ast.Name | ast.BinOp) or called(node) in ("sqrt", "exp"):
                word = f"({self._inner(factor)})" if isinstance(node, ast.BinOp) else self._of(factor)
                yield self._put(factor, f"{word}**2", USUAL, ("square of", word))

    def _moved(self, term: Term, root: Factor, node: ast.Call) -> Iterator[Candidate]:
        """The other factors of a term, one or several, moved into its root; and a factor of the radicand moved out."""
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
                words = [self._of(f) for f in moved]
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
        if not is_sum(radicand):
            own = next((t for t in self.read.terms if t.node is radicand), None)
            for f in own.factors if own is not None and len(own.factors) > 1 else ():
                word = self._of(f)
                rest = "*".join(
                    self._of(g) for g in own.factors if g is not f and not g.over and not is_product(g.node)
                )  # type: ignore[union-attr]
                if not f.over and rest and not any(g.over for g in own.factors):  # type: ignore[union-attr]
                    text = f"{word}*{self.read.of(node.func)}({rest})"
                    yield self._put(root, text, USUAL, ("out of root", word))

    def _rewritten(
        self, term: Term, new: dict[Factor, str | None], cost: int, rule: tuple[str, ...]
    ) -> Candidate:
        """The term with factors put anew, or left out where None is given; the others as they stand."""
        parts = []
        for factor in term.factors:
            if any(_within(factor, other) and factor is not other for other in term.factors):
                continue
            if factor in new and new[factor] is None:
                continue
            word = new.get(factor) or self._of(factor)
            parts.append(("/" if factor.over else "*", word))
        text = "".join(f"{sign}{word}" for sign, word in parts)
        text = text[1:] if text.startswith("*") else f"1{text}"
        return self._change(term.start, term.end, text, cost, rule)

    def exponentials(self, term: Term) -> Iterator[Candidate]:
        """exp(x) for 1 + x, and the other way round; -expm1(-x) for x under a root."""
        exp, expm1 = self._name("exp"), self._name("expm1")
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
                yield self._put(factor, linear, USUAL, ("linear", called(node)))
                other = self._name("expm1" if called(node) == "exp" else "exp")
                if other:
                    yield self._put(factor, f"{other}({inside})", USUAL, ("other", called(node)))
            if is_sum(node) and isinstance(node, ast.BinOp) and self.read.of(node.left) == "1" and exp:
                inside = self._text_of_right(node)
                sign = "-" if isinstance(node.op, ast.Sub) else ""
                yield self._put(factor, f"{exp}({sign}{inside})", USUAL, ("exp", ""))
        if expm1 is None or called(self.read.parents.get(term.node)) != "sqrt":
            return
        plain = [f for f in term.factors if not is_product(f.node)]
        inner = [f for f in plain if isinstance(f.node, ast.Constant) or self._of(f) not in ("T",)]
        outer = [f for f in plain if f not in inner]
        if any(self._is_clock(f) for f in inner) and not any(f.over for f in outer):
            exponent = "".join(("/" if f.over else "*") + self._of(f) for f in inner)[1:]
            front = "".join(f"{self._of(f)}*" for f in outer)
            yield self._change(
                term.start, term.end, f"-{front}{expm1}(-{exponent})", RARE, ("expm1", exponent)
            )

    def signs(self) -> Iterator[Candidate]:
        """A summand with the other sign."""
        for _, summands in self.read.sums:
            for k, summand in enumerate(summands):
                if summand.sign is None:
                    yield self._insert(summand.start, "-", SIMPLE, ("sign",))
                elif k == 0:
                    yield self._change(summand.sign, summand.sign + 1, "", SIMPLE, ("sign",))
                else:
                    new = "+" if summand.negative else "-"
                    yield self._change(summand.sign, summand.sign + 1, new, SIMPLE, ("sign",))

    def names(self) -> Iterator[Candidate]:
        """Another variable or number in the place of one; a new draw for a reused one, and the other way round."""
        given = [name for name in self.text.names if name not in ("grad", "noise", "metric")]
        draws = {name for name, value, _ in self.read.bindings if called(value) == "noise"}
        for node in self.read.nodes:
            start, end = self.read.span(node)
            if isinstance(node, ast.Name):
                for other in dict.fromkeys([*self.read.in_scope(start), *given]):
                    if other != node.id:
                        yield self._change(start, end, other, SIMPLE, ("name", node.id, other))
                if node.id in draws:
                    yield self._change(start, end, "noise()", USUAL, ("new draw", node.id))
            elif called(node) == "noise":
                for other in self.read.in_scope(start):
                    if other in draws:
                        yield self._change(start, end, other, USUAL, ("old draw", other))

    def literals(self) -> Iterator[Candidate]:
        """Another number, or an ingredient, in the place of a number."""
        for node in self.read.nodes:
            if isinstance(node, ast.Constant) and type(node.value) in (int, float):
                start, end = self.read.span(node)
                for other in self.numbers:
                    yield self._change(start, end, other, USUAL, ("literal", str(node.value), other))
                for number in ("1", "2", "3", "4"):
                    yield self._change(start, end, number, USUAL, ("literal", str(node.value), number))

    def functions(self) -> Iterator[Candidate]:
        """Another function of the same arguments, an argument without its function, and a function of a bare argument."""
        metric = "metric" in self.text.names
        parts = any(called(node) in ("prior", "likelihood") for node in self.read.nodes)
        for node in self.read.nodes:
            start, end = self.read.span(node)
            if isinstance(node, ast.Call):
                head = self.read.of(node.func)
                heads = []
                if parts and head in ("grad", "grad.prior", "grad.likelihood"):
                    heads = ["grad", "grad.prior", "grad.likelihood"]
                if head.startswith("metric.") and len(node.args) == 2:
                    heads = ["metric.root", "metric.transposed", "metric.inverse"]
                if head.startswith("metric.") and len(node.args) == 1:
                    heads = ["metric.divergence", "metric.root_divergence"]
                a, b = self.read.span(node.func)
                for other in heads:
                    yield self._change(a, b, other, USUAL, ("function", head, other))
                if node.args and head not in ("sqrt", "exp", "expm1"):
                    last = node.args[-1]
                    yield self._change(
                        start, end, _bracketed(last, self.read.of(last)), RARE, ("without function", head)
                    )
            elif isinstance(node, ast.Name):
                if "grad" in self.text.names:
                    yield self._change(start, end, f"grad({node.id})", RARE, ("grad of", node.id))
                if metric:
                    for asked in ("root", "transposed", "inverse"):
                        new = f"metric.{asked}(theta, {node.id})"
                        yield self._change(start, end, new, USUAL, ("metric", asked))

    def summands(self) -> Iterator[Candidate]:
        """A sum without one of its summands, or with one that stands in another sum, of this or another variable."""
        known: dict[str, bool] = {}
        for _, summands in self.read.sums:
            for k, summand in enumerate(summands):
                if len(summands) > 1:
                    start = summand.sign if k and summand.sign is not None else summand.start
                    end = summand.end if k else summands[1].start
                    if k or not summands[1].negative:
                        yield self._change(start, end, "", USUAL, ("without summand",))
                    before = self.read.text[:start].rstrip()
                    if k:
                        yield self._change(len(before), end, "", USUAL, ("without summand",))
                word = self.read.text[summand.start : summand.end].lstrip("-")
                known.setdefault(word, summand.negative)
        if "metric" in self.text.names and "T" in self.text.names:
            known.setdefault("T*metric.divergence(theta)", False)
            known.setdefault("T*metric.root_divergence(theta)", False)
        names = [name for name in self.text.names if name not in (*NUMBERS, "grad", "noise", "metric")]
        for node, summands in self.read.sums:
            parent = self.read.parents.get(node)
            if isinstance(parent, ast.Call) and called(parent) in ("sqrt", "exp", "expm1"):
                continue
            place = self.read.span(node)[1]
            scope = dict.fromkeys([*self.read.in_scope(place), *names])
            own = {self.read.text[item.start : item.end].lstrip("-") for item in summands}
            for word, negative in known.items():
                if word in own:
                    continue
                for sign in (" - ", " + ") if negative else (" + ", " - "):
                    cost = RARE if (sign == " - ") == negative else FAR
                    yield self._insert(place, f"{sign}{word}", cost, ("summand", word))
                    if cost == RARE:
                        for other, new in _renamed(word, scope):
                            yield self._insert(place, f"{sign}{new}", FAR, ("summand", other))

    def replaced_parts(self) -> Iterator[Candidate]:
        """A factor, or a whole call, put anew as a number or a parameter."""
        numbers = [name for name in self.numbers if name not in ("h", "t")]
        new = ["1", "2", *numbers, *(f"2*{name}" for name in numbers)]
        for term in self.read.terms:
            for factor in term.factors:
                if isinstance(factor.node, ast.Name | ast.Constant) or len(term.factors) == 1:
                    continue
                for word in new:
                    yield self._put(factor, word if not factor.over else f"({word})", FAR, ("part", word))

    def reordered(self) -> Iterator[Candidate]:
        """Two statements that follow one another, exchanged."""
        body = [node for node in self.read.definition.body if isinstance(node, ast.Assign)]
        for one, other in pairwise(body):
            (a, b), (c, d) = self.read.span(one), self.read.span(other)
            text = self.read.text
            yield self._change(a, d, text[c:d] + text[b:c] + text[a:b], USUAL, ("order",))

    def _factors_elsewhere(self, term: Term) -> list[str]:
        """The composite factors, such as exp(-D*h), of other terms."""
        found: dict[str, None] = {}
        own = {self._of(factor) for factor in term.factors}
        for other in self.read.terms:
            for factor in other.factors:
                word = self._of(factor)
                composite = called(factor.node) in ("exp",) or is_sum(factor.node)
                if composite and word not in own:
                    found[word] = None
        return list(found)

    def _is_clock(self, factor: Factor) -> bool:
        return isinstance(factor.node, ast.Name) and factor.node.id == self.clock

    def _operator_behind(self, factor: Factor) -> int:
        place = factor.end
        while place < len(self.read.text) and self.read.text[place].isspace():
            place += 1
        return place

    def _text_of_right(self, node: ast.BinOp) -> str:
        return self.read.of(node.right)

    def _of(self, factor: Factor) -> str:
        return self.read.text[factor.start : factor.end]

    def _inner(self, factor: Factor) -> str:
        return self.read.of(factor.node)

    def _put(self, factor: Factor, new: str, cost: int, rule: tuple[str, ...]) -> Candidate:
        if factor.over and ("*" in new or "/" in new) and not new.startswith("("):
            new = f"({new})"
        return self._change(factor.start, factor.end, new, cost, rule)

    def _insert(self, place: int, new: str, cost: int, rule: tuple[str, ...]) -> Candidate:
        return self._change(place, place, new, cost, rule)

    def _change(self, start: int, end: int, new: str, cost: int, rule: tuple[str, ...]) -> Candidate:
        return Candidate((Replacement(start, end, new),), cost, rule)


def _within(inner: Factor, outer: Factor) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end and inner is not outer


def _bracketed(node: ast.expr, text: str) -> str:
    return f"({text})" if is_sum(node) or is_product(node) or isinstance(node, ast.UnaryOp) else text


def _leading_number(text: str) -> tuple[str, str]:
    """A leading whole number of a product and the rest."""
    number, star, rest = text.partition("*")
    return (number, rest) if star and number.isdigit() and not rest.startswith("*") else ("", text)


def _renamed(word: str, scope: dict[str, None]) -> Iterator[tuple[str, str]]:
    """A summand with its last variable put as another one of the scope: (the one put, the summand)."""
    tree = ast.parse(word, mode="eval")
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id in scope]
    if not found:
        return
    last = max(found, key=lambda node: node.col_offset)
    for other in scope:
        if other != last.id:
            yield other, word[: last.col_offset] + other + word[last.col_offset + len(last.id) :]
