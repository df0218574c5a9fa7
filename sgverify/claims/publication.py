"""The publication that claims are taken from, as a report names it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Publication:
    """Title, authors in the printed order, year, and where it was published."""

    title: str
    authors: tuple[str, ...]
    year: int
    published: str = ""

    def __str__(self) -> str:
        """`A, B and C (2015). Title. Where.`"""
        *rest, last = self.authors
        names = f"{', '.join(rest)} and {last}" if rest else last
        where = f" {self.published}." if self.published else ""
        return f"{names} ({self.year}). {self.title}.{where}"
