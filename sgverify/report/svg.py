"""A drawing as SVG: a file of its own, or an element of a page that themes it by CSS.

Matplotlib repeats the style at every mark, gives every artist a group with an id, and writes coordinates to a millionth of a
point. Here coordinates are rounded to a hundredth of a point, marks of one kind are one path with an SVG marker at each vertex,
neighbouring lines of one style are one path, and ids that nothing refers to are left out. The same things are painted in the
same order.
"""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import count, groupby
from typing import TYPE_CHECKING
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from sgverify.report.drawing import (
    COLOURS,
    DARK_COLOURS,
    DARK_GRID,
    DARK_INK,
    DARK_PAPER,
    DARK_SOFT,
    GRID,
    INK,
    PAPER,
    SOFT,
    STYLE,
    draw,
)
from sgverify.report.figures import Figure
from sgverify.report.formulas import in_a_line

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawing

DIGITS = 2
"""Decimals of a coordinate in points of 1/72 inch: on a screen, even at five times its size, less than a tenth of a pixel."""

SHARED = 3
"""Styles that a page repeats more often become a class."""

FEW = 3
"""Marks of one kind that are fewer stay `<use>` elements, which is shorter."""

_THEMED = {
    INK: "var(--ink)",
    SOFT: "var(--soft)",
    GRID: "var(--grid)",
    PAPER: "var(--paper)",
    **{colour: f"var(--c{place})" for place, colour in enumerate(COLOURS)},
}
_STYLE = re.compile(r'\bstyle="([^"]*)"')
_PART = re.compile(r'<(path|marker) id="([^"]+)"([^>]*?(?:/>|(?<!/)>.*?</marker>)\n?)', re.DOTALL)
_DRAWING = re.compile(r"<svg\b.*?</svg>", re.DOTALL)
_EXPONENT = re.compile(r"\^(\([^()]*\)|\S)")
_DARK = dict(
    zip(_THEMED, (DARK_INK, DARK_SOFT, DARK_GRID, DARK_PAPER, *DARK_COLOURS), strict=True),
)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_REFERENCE = re.compile(r"(?:(?<=url\(#)|(?<=^#)|(?<=href=\"#))[^)\"]+")


def inline_svg(figure: Figure, prefix: str) -> str:
    """The figure as an `<svg>` element, as `embedded` makes it."""
    return embedded(draw(figure), prefix, in_a_line(figure.title), in_a_line(figure.description))


def embedded(drawing: Drawing, prefix: str, title: str, description: str) -> str:
    """A drawing as an `<svg>` element of a page, in the page's colours and font, with nothing from outside the page.

    The same drawing gives the same bytes. `prefix` keeps its ids apart from those of the page's other figures;
    title and description are for readers who do not see it.
    """
    root = _slim(_rendered(drawing), prefix)
    root.attrib = {
        "role": "img",
        "aria-labelledby": f"{prefix}-title {prefix}-desc",
        "viewBox": root.attrib["viewBox"],
        "style": root.attrib["style"],
    }
    for place, (tag, text) in enumerate((("title", title), ("desc", description))):
        named = Element(tag, id=f"{prefix}-{tag}")
        named.text, named.tail = text, "\n"
        root.insert(place, named)
    for element in root.iter():
        if "style" in element.attrib:
            element.set("style", _themed(element.attrib["style"]))
    return _written(root)


def with_shared_parts(page: str) -> str:
    """The page with what its drawings repeat said once: marks in one hidden drawing, styles as classes.

    A third of a drawing is said by the others too.
    """
    named: dict[str, str] = {}
    renamed: dict[str, str] = {}

    def hoisted(part: re.Match[str]) -> str:
        tag, id, rest = part[1], part[2], part[3]
        renamed[id] = named.setdefault(f"<{tag}{rest}", f"m{len(named)}")
        return ""

    def shared(svg: re.Match[str]) -> str:
        text = _PART.sub(hoisted, svg[0]).replace("<defs>\n</defs>\n", "")
        return _REFERENCE.sub(lambda found: renamed.get(found[0], found[0]), text)

    page = _DRAWING.sub(shared, page)
    marks = "".join(
        f'{part[: part.index(" ")]} id="{name}"{part[part.index(" ") :]}' for part, name in named.items()
    )
    often = Counter(found for svg in [*_DRAWING.findall(page), marks] for found in _STYLE.findall(svg))
    classes = {
        style: f"v{place}" for place, (style, number) in enumerate(often.most_common()) if number > SHARED
    }

    def classed(text: str) -> str:
        return _STYLE.sub(
            lambda found: f'class="{classes[found[1]]}"' if found[1] in classes else found[0], text
        )

    page = _DRAWING.sub(lambda svg: classed(svg[0]), page)
    rules = "".join(f".{name}{{{style}}}\n" for style, name in classes.items())
    hidden = (
        f'<svg class="marks" width="0" height="0" aria-hidden="true"><defs>\n{classed(marks)}</defs></svg>\n'
    )
    page = page.replace("</head>", f"<style>\n{rules}</style>\n</head>", 1)
    return page.replace("<header>", f"{hidden}<header>", 1) if named else page


def file_svg(drawing: Drawing, title: str, description: str) -> str:
    """A drawing as a file of its own for light and dark screens, as a code host shows it beside text."""
    root = ElementTree.fromstring(embedded(drawing, "s", title, description))
    _, _, width, height = root.attrib["viewBox"].split()
    root.attrib |= {"xmlns": "http://www.w3.org/2000/svg", "width": width, "height": height}
    style = Element("style")
    light = {variable[4:-1]: colour for colour, variable in _THEMED.items()}
    dark = {variable[4:-1]: _DARK[colour] for colour, variable in _THEMED.items()}
    style.text = (
        f"svg{{{_declared(light)};font-family:system-ui,sans-serif}}"
        f"@media(prefers-color-scheme:dark){{svg{{{_declared(dark)}}}}}"
    )
    ground = Element("rect", {"width": "100%", "height": "100%", "style": "fill:var(--paper)"})
    style.tail = ground.tail = "\n"
    root.insert(2, style)
    root.insert(3, ground)
    return _written(root) + "\n"


def pdf(drawing: Drawing) -> bytes:
    """A drawing as PDF, its letters as text; the same drawing gives the same bytes."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({**STYLE, "pdf.fonttype": 42}):
        drawing.savefig(
            stream, format="pdf", metadata={"CreationDate": None, "Creator": None, "Producer": None}
        )
    return stream.getvalue()


def _declared(colours: Mapping[str, str]) -> str:
    return ";".join(f"{name}:{colour}" for name, colour in colours.items())


def _written(root: Element) -> str:
    return ElementTree.tostring(root, encoding="unicode").strip().replace(" />", "/>")


def _rendered(drawing: Drawing) -> Element:
    """Matplotlib's own SVG, its names without namespaces."""
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context(STYLE):
        drawing.savefig(
            stream, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}
        )
    root = ElementTree.fromstring(stream.getvalue())
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.attrib = {name.rpartition("}")[2]: value for name, value in element.attrib.items()}
        if element.tag == "text" and element.text:
            _raise_exponents(element, in_a_line(element.text))
    return root


def _raise_exponents(element: Element, text: str) -> None:
    """Put a text with formulas into the element, what follows a ^ small and above the line."""
    element.text, *pieces = _EXPONENT.split(text)
    for raised, rest in zip(pieces[::2], pieces[1::2], strict=True):
        shown = raised[1:-1] if raised.startswith("(") else raised
        exponent = SubElement(element, "tspan", {"dy": "-0.4em", "font-size": "75%"})
        exponent.text = shown
        if rest:
            # The line is left by 0.4 em of the small font, and found again by 0.3 em of the large one.
            SubElement(element, "tspan", {"dy": "0.3em"}).text = rest


def _themed(style: str) -> str:
    """The style in the page's colours, and in its font."""
    for colour, variable in _THEMED.items():
        style = style.replace(colour, variable)
    style = re.sub(r"\bfont:([0-9.]+px) [^;]+", r"font-size:\1", style)
    return re.sub(r"\bfont-family:[^;]+;?", "", style)


def _slim(root: Element, prefix: str) -> Element:
    """The same drawing; its ids, where something refers to them, begin with `prefix`."""
    defined = {element.attrib["id"]: element for element in root.iter() if "id" in element.attrib}
    for element in root.iter():
        element.attrib = {name: _shortened(name, value) for name, value in element.attrib.items()}
    # The one rule of matplotlib's style sheet; as a property that is inherited it lets a group speak for its marks.
    root.set("style", "stroke-linejoin:round")
    _forget_ids(root)
    markers = _Markers(defined)
    root[:] = [new for child in root if child.tag != "metadata" for new in _simplified(child, markers)]
    _forget_ids(root)
    _name_again(root, prefix)
    for element in root.iter():
        if element.tag != "tspan":
            element.tail = "\n"
        if element.tag not in ("text", "tspan"):
            element.text = None
    return root


def _shortened(name: str, value: str) -> str:
    if name == "style":
        return re.sub(r"\s*([:;])\s*", r"\1", value).strip(";")
    if name == "d":
        return _path(value)
    if name == "transform":
        # A scale is a factor, whose digits count.
        return re.sub(
            r"(translate|rotate)\(([^)]*)\)", lambda found: f"{found[1]}({_numbers(found[2])})", value
        )
    return _numbers(value) if name in ("x", "y", "width", "height") else value


def _path(data: str) -> str:
    """The path with its numbers rounded; a letter is left out where it repeats, and that of a line after a move."""
    parts, before = [], ""
    for letter, numbers in re.findall(r"([A-Za-z])([^A-Za-z]*)", data):
        follows = before and letter == ("L" if before == "M" else before)
        parts.append(f"{' ' if follows else letter}{_numbers(numbers)}")
        before = letter
    return "".join(parts)


def _numbers(text: str) -> str:
    return " ".join(_NUMBER.sub(lambda found: _rounded(found[0]), word) for word in text.split())


def _rounded(number: str) -> str:
    whole, _, decimals = f"{float(number):.{DIGITS}f}".partition(".")
    short = f"{whole}.{decimals.rstrip('0')}".rstrip(".")
    return "0" if short == "-0" else short


class _Markers:
    """The markers of a drawing, each made when the first path asks for it."""

    def __init__(self, defined: Mapping[str, Element]) -> None:
        self.defined = defined
        self._made: dict[tuple[str, str], Element] = {}

    def path_of(self, uses: Sequence[Element]) -> list[Element]:
        """A path that carries the mark at each of its vertices, for `<use>` elements that differ in x and y alone."""
        first = uses[0].attrib
        key = first["href"], first.get("style", "")
        new = []
        if key not in self._made:
            mark = Element("path", {n: v for n, v in self.defined[key[0][1:]].attrib.items() if n != "id"})
            made = Element(
                "marker", id=f"marker-{len(self._made)}", markerUnits="userSpaceOnUse", overflow="visible"
            )
            if key[1]:
                made.set("style", key[1])
            made.append(mark)
            self._made[key] = made
            new.append(made)
        places = " ".join(f"{use.attrib['x']} {use.attrib['y']}" for use in uses)
        rest = {name: value for name, value in first.items() if name not in ("href", "x", "y", "style")}
        style = f"fill:none;marker:url(#{self._made[key].attrib['id']})"
        return [*new, Element("path", {"d": f"M{places}", **rest, "style": style})]


def _simplified(element: Element, markers: _Markers) -> list[Element]:
    """The elements that replace this one: none if it paints nothing, its children if it is a group without attributes."""
    if element.tag == "text" and element.attrib.get("transform", "").startswith("rotate(0 "):
        del element.attrib["transform"]
    if element.tag == "defs":
        return [element] if any(child.tag != "style" for child in element) else []
    if element.tag == "path" and element.attrib.get("style") == "fill:none":
        return []
    if element.tag == "use":
        _say_once(element, markers.defined[element.attrib["href"][1:]])
    if element.tag != "g":
        return [element]
    found = [new for child in element for new in _simplified(child, markers)]
    children = [new for _, run in groupby(found, _alike) for new in _joined(list(run), markers)]
    if not element.attrib or not children:
        return children
    only = children[0]
    if len(children) == 1 and only.tag == "path" and not {*element.attrib, "transform"} & {*only.attrib}:
        only.attrib |= element.attrib
        return children
    element[:] = children
    return [element]


def _alike(element: Element) -> Hashable:
    """A key that neighbours share if one element can paint them all."""
    said = element.attrib
    style = said.get("style", "")
    if element.tag == "use":
        return "use", *sorted((name, value) for name, value in said.items() if name not in ("x", "y"))
    # Transparent lines darken where they cross, which the parts of one path do not.
    if element.tag == "path" and "fill:none" in style and "opacity" not in style:
        return "path", *sorted((name, value) for name, value in said.items() if name != "d")
    return id(element)


def _joined(run: list[Element], markers: _Markers) -> list[Element]:
    if run[0].tag == "use" and len(run) >= FEW and "x" in run[0].attrib:
        return markers.path_of(run)
    if run[0].tag == "path" and len(run) > 1:
        run[0].set("d", "".join(path.attrib["d"] for path in run))
        return run[:1]
    return run


def _say_once(use: Element, mark: Element) -> None:
    """Remove from the use the properties of style that the mark sets itself."""
    own = mark.attrib.get("style", "").split(";")
    style = ";".join(part for part in use.attrib.get("style", "").split(";") if part not in own)
    use.attrib.pop("style", None)
    if style:
        use.set("style", style)


def _references(root: Element) -> Iterator[str]:
    for element in root.iter():
        for value in element.attrib.values():
            yield from _REFERENCE.findall(value)


def _forget_ids(root: Element) -> None:
    """Remove every id that nothing refers to, and every definition whose id that is."""
    known = set(_references(root))
    for parent in root.iter():
        for child in list(parent):
            if child.attrib.get("id") not in known:
                child.attrib.pop("id", None)
                if parent.tag == "defs":
                    parent.remove(child)
            if child.tag == "defs" and not len(child):
                parent.remove(child)


def _name_again(root: Element, prefix: str) -> None:
    """Number the ids, which matplotlib takes from a hash."""
    number = count(1)
    names = {e.attrib["id"]: f"{prefix}-{next(number)}" for e in root.iter() if "id" in e.attrib}
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "id":
                element.set(name, names[value])
            else:
                element.set(name, _REFERENCE.sub(lambda found: names[found[0]], value))
