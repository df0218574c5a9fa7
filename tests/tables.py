"""A table of rows that take no time as one test: a test of its own costs 3 ms, in which hundreds of such rows are through."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

Test = Callable[..., None]


def each_row(names: str | Iterable[str], table: Iterable[Any]) -> Callable[[Test], Test]:
    """In the place of `pytest.mark.parametrize`: every row is tried, and what fails names its row.

    The rows share what fixtures give. A row with a mark is refused: it is a test of its own.
    """
    keys = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    rows = [values_of(row, len(keys)) for row in table]
    assert rows, f"{names}: no row"

    def of(test: Test) -> Test:
        def every(**given: Any) -> None:
            wrong: list[BaseException] = []
            for row in rows:
                try:
                    test(**dict(zip(keys, row, strict=True)), **given)
                except (Exception, pytest.fail.Exception) as error:
                    error.add_note(
                        f"in the row {', '.join(f'{k}={v!r}' for k, v in zip(keys, row, strict=True))}"
                    )
                    wrong.append(error)
            if len(wrong) == 1:
                raise wrong[0]
            if wrong:
                raise BaseExceptionGroup(f"{len(wrong)} of {len(rows)} rows", wrong)

        left = [item for name, item in inspect.signature(test).parameters.items() if name not in keys]
        every.__name__, every.__doc__, every.__module__ = test.__name__, test.__doc__, test.__module__
        every.__signature__ = inspect.Signature(left)  # type: ignore[attr-defined]
        return every

    return of


def values_of(row: Any, count: int) -> tuple[Any, ...]:
    """The values of a row, which `pytest.param` may have made."""
    if isinstance(row, type(pytest.param())):
        assert not row.marks, f"{row}: a row with a mark is a test of its own"
        return tuple(row.values)
    return tuple(row) if count > 1 else (row,)
