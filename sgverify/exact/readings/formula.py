"""The printed formula of a scheme's update, which is itself an executable Python definition."""

from __future__ import annotations

import ast
import keyword
import re
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any
from weakref import WeakKeyDictionary

from sgverify.errors import DefinitionError
from sgverify.exact.readings.expression import Expression, call, name, text
from sgverify.schemes.definition.abstract_value import METRIC
from sgverify.schemes.definition.binding import Carrier, bind
from sgverify.schemes.definition.mathematics import FUNCTIONS, NoiseLaw, dot, first_entry
from sgverify.schemes.dynamics import Dynamics
from sgverify.schemes.numbers.constants import constants, linear
from sgverify.schemes.numbers.text import read_number
from sgverify.schemes.scheme import Scheme, make_scheme

MATHEMATICS = {
    **{function.__name__: function for function in FUNCTIONS},
    "dot": dot,
    "first_entry": first_entry,
    "constants": constants,
    "linear": linear,
    "read_number": read_number,
}


def formula(scheme: Scheme) -> str:
    """The update of `scheme` as a straight-line Python function of the same signature.

    One assignment for each draw (`z1 = noise()`), each new minibatch (`grad1 = grad.fresh()`), each change that
    a letter of a word makes to the state, and each value that is used more than once; everything else stays in
    its place. Operations, their order and the numbers are those of the definition, with c*x for a fraction c = n/d
    written n*x/d.

    >>> from sgverify.schemes import find_scheme
    >>> print(formula(find_scheme("sghmc-euler-explicit")))
    def sghmc_euler_explicit(theta, p, *, h, grad, noise, D, T):
        z1 = noise()
        return theta + h*p, p - h*grad(theta) - h*D*p + sqrt(2*D*T*h)*z1
    """
    run = _Run(scheme)
    named = {**_shared(run), **run.stems}
    signature = f"{', '.join(scheme.state)}, *, {', '.join(scheme.declaration.ingredients)}"
    names: dict[Expression, str] = {}
    taken = {*scheme.state, *scheme.declaration.ingredients, *MATHEMATICS}
    lines = [f"def {_identifier(scheme.name)}({signature}):"]
    for node in sorted(named, key=lambda node: node.serial):
        shown, _ = text(node, names)
        names[node] = _fresh_name(named[node], taken)
        lines.append(f"    {names[node]} = {shown}")
    lines.append(f"    return {', '.join(text(value, names)[0] for value in run.returned)}")
    return "\n".join(lines)


def terms_of(dynamics: Dynamics, clock: str = "h") -> list[str]:
    """A dynamics' drift times `clock` and its noise as texts: "h*p", "-h*grad(theta)", "sqrt(2*D*T*h)*noise()".

    The drift of a variable is given by summands and, where it has several, as a whole. A diffusion that is a matrix is left out.
    """
    given = {item: name(item) for item in dynamics.parameters}
    drift, diffusion = dynamics.coefficients(
        tuple(name(item) for item in dynamics.state),
        grad=partial(call, name("grad")),
        dim=name("dim"),
        metric=_Metric(),
        **given,
    )
    found = []
    for value in drift:
        summands = [(negative, text(part, {})[0]) for negative, part in _summands(value)]
        found += [f"{'-' * negative}{clock}*{printed}" for negative, printed in summands]
        if len(summands) > 1:
            found.append(f"{clock}*({text(value, {})[0]})")
    for value in diffusion:
        if isinstance(value, Expression) and "metric." not in text(value, {})[0]:
            found.append(f"sqrt(2*{text(value, {})[0]}*{clock})*noise()")
    return found


def _summands(value: Any, negative: bool = False) -> Iterator[tuple[bool, Expression]]:
    if not isinstance(value, Expression):
        return
    if value.operation == "neg":
        yield from _summands(value.parts[0], not negative)
    elif value.operation in ("+", "-"):
        yield from _summands(value.parts[0], negative)
        yield from _summands(value.parts[1], negative != (value.operation == "-"))
    else:
        yield negative, value


def plant(scheme: Scheme, was: str, now: str, *, name: str | None = None) -> Scheme:
    """The scheme with the one occurrence of `was` in its formula replaced by `now`; a planted bug.

    Dynamics, memory and claimed order stay; the result is no splitting. Raises `DefinitionError` unless `was` occurs
    exactly once and `now` differs from it, and where the edited text is not a well-formed scheme.
    """
    before = formula(scheme)
    times = before.count(was) if was else 0
    if times != 1:
        raise DefinitionError(
            f"plant(was={was!r}): occurs {times} times in the formula of {scheme.name}; expected exactly one; "
            f"quote as much as names one place in\n{before}"
        )
    if was == now:
        raise DefinitionError(f"plant(was={was!r}, now={now!r}): changes nothing; expected another text")
    function = define(before.replace(was, now), _identifier(scheme.name), f"<planted in {scheme.name}>")
    planted = make_scheme(function, scheme.dynamics, order=scheme.order, memory=scheme.memory)
    return planted.named(
        name or f"{scheme.name} with {now!r} for {was!r}",
        summary=f"{scheme.name} with a planted bug: {now!r} for {was!r}.",
        source=scheme.source,
    )


def define(source: str, function: str, filename: str = "<formula>") -> Any:
    """The function that the text of a formula defines, over exp, sqrt, expm1, dot and exact fractions only.

    A quotient of whole literals, such as 1/3, is the exact fraction and not the float nearest to it.
    Raises `DefinitionError` where the text is not Python or defines no such function.
    """
    try:
        tree = ast.fix_missing_locations(_ExactQuotients().visit(ast.parse(source)))
        namespace: dict[str, Any] = {"__builtins__": {}, "Fraction": Fraction, **MATHEMATICS}
        exec(compile(tree, filename, "exec"), namespace)
    except Exception as error:
        raise DefinitionError(f"{filename}: {type(error).__name__}: {error}; in\n{source}") from None
    if function not in namespace:
        raise DefinitionError(f"{filename}: defines no function `{function}`; expected one; in\n{source}")
    found = namespace[function]
    _TEXTS[found] = source
    return found


def text_of(function: Any) -> str | None:
    """The text from which `define` made a function; None for any other one."""
    return _TEXTS.get(function)


_TEXTS: WeakKeyDictionary[Any, str] = WeakKeyDictionary()


class _ExactQuotients(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        if not (isinstance(node.op, ast.Div) and _whole(node.left) and _whole(node.right)):
            return node
        fraction = ast.Call(ast.Name("Fraction", ast.Load()), [node.left, node.right], [])
        return ast.copy_location(fraction, node)


def _whole(node: ast.expr) -> bool:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        node = node.operand
    return isinstance(node, ast.Constant) and type(node.value) is int


class _Run:
    """One run of a definition on expressions: the returned state, and the nodes that get a name of their own."""

    def __init__(self, scheme: Scheme) -> None:
        self.stems: dict[Expression, str] = {}
        self.asked: list[Expression] = []
        self.state = scheme.state
        self.returned = self._follow(scheme)

    def note(self, node: Expression, stem: str) -> Expression:
        """Give the node a line of its own, with a name that begins with `stem`."""
        if not node.leaf:
            self.stems.setdefault(node, stem)
        return node

    def _follow(self, scheme: Scheme) -> tuple[Expression, ...]:
        values = tuple(name(item) for item in self.state)
        numbers = {item: name(item) for item in scheme.parameters}
        bound = bind(scheme, Carrier(), numbers, dim=name("dim"), metric=_Metric())
        given: dict[str, Any] = {"grad": _Gradient(self, name("grad")), "draw": self._draw}
        if scheme.word is None:
            return bound.step(values, h=name("h"), **given)
        for letter, t in scheme.word.flows(name("h")):
            values = bound.run(letter.flow, values, t=t, **given)
            for stem, value in zip(self.state, values, strict=True):
                self.note(value, stem)
        return values

    def _draw(self, law: NoiseLaw) -> Expression:
        return self.note(call(name("noise" if law.normal else f"noise.{law.name}")), "z")


class _Gradient:
    """The gradient ingredient: evaluations are nodes, and every new minibatch is a line."""

    def __init__(self, run: _Run, node: Expression) -> None:
        self._run = run
        self._node = node

    def __call__(self, theta: Expression) -> Expression:
        self._run.asked.append(call(self._node, theta))
        return self._run.asked[-1]

    def hessian(self, theta: Expression, vector: Expression) -> Expression:
        return self._part("hessian", theta, vector)

    def prior(self, theta: Expression) -> Expression:
        return self._part("prior", theta)

    def likelihood(self, theta: Expression) -> Expression:
        return self._part("likelihood", theta)

    def _part(self, asked: str, *arguments: Expression) -> Expression:
        self._run.asked.append(call(Expression("attribute", self._node, name(asked)), *arguments))
        return self._run.asked[-1]

    def fresh(self) -> _Gradient:
        node = Expression("fresh", self._node)
        return _Gradient(self._run, self._run.note(node, "grad"))


class _Metric:
    """The metric ingredient: every call of it is a node."""

    def __getattr__(self, asked: str) -> Callable[..., Expression]:
        if asked not in METRIC:
            raise AttributeError(asked)
        return partial(call, name(f"metric.{asked}"))


def _shared(run: _Run) -> dict[Expression, str]:
    """The nodes that are used more than once, except those that are shorter than a name, with their stems.

    A gradient that is evaluated and not used keeps a line as well, because it consumes a minibatch evaluation.
    """
    uses: Counter[Expression] = Counter(run.returned)
    seen: set[Expression] = set()
    waiting = [*run.returned, *run.stems, *run.asked]
    while waiting:
        node = waiting.pop()
        if node not in seen:
            seen.add(node)
            uses.update(node.parts)
            waiting.extend(node.parts)
    outputs = dict(zip(reversed(run.returned), reversed(run.state), strict=True))
    shared = {node: outputs.get(node, "x") for node, times in uses.items() if times > 1 and not node.plain}
    return shared | {node: "g" for node in run.asked if node in shared or not uses[node]}


def _fresh_name(stem: str, taken: set[str]) -> str:
    index = 1
    while f"{stem}{index}" in taken:
        index += 1
    taken.add(f"{stem}{index}")
    return f"{stem}{index}"


def _identifier(text: str) -> str:
    """The scheme's name as a Python name: sghmc-aboba becomes sghmc_aboba."""
    plain = re.sub(r"\W+", "_", text).strip("_")
    return f"step_{plain}" if keyword.iskeyword(plain) or not plain.isidentifier() else plain
