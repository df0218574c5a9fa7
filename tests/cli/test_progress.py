"""Progress: 100 % where all is done and not before, and no time left there."""

from __future__ import annotations

from sgverify.cli.shared.bars import told_share


def test_all_is_done_only_where_nothing_is_left() -> None:
    assert told_share(9999, 10000, 420.0) == {"percent": " 99%", "left": "7 min left"}
    assert told_share(10, 10, 420.0) == {"percent": "100%", "left": ""}
    assert told_share(0, 10, None) == {"percent": "  0%", "left": ""}
