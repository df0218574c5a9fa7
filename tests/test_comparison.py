"""The script that compares all evidence before and after a change: it tells what differs, and nothing else."""

import copy
import importlib.util
import json
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent / "reports" / "comparison.py"
ANSWER = {
    "exit": 0,
    "evidence": [
        {
            "id": "a",
            "verdict": "conforms",
            "reason": "order 2",
            "seconds": 0.5,
            "found": {"exponent": 2.0},
            "points": [{"value": 1e-6, "error_bound": 1e-9}, {"value": 2.0, "error_bound": 0.0}],
        }
    ],
}


@pytest.fixture(scope="module")
def comparison():
    spec = importlib.util.spec_from_file_location("comparison", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("where", "value", "differs", "told"),
    [
        ((), None, 0, "0 verdicts or numbers differ, 0 texts"),
        (("seconds",), 9.0, 0, "0 verdicts or numbers differ, 0 texts"),
        (("reason",), "order two", 0, "text .reason"),
        (("points", 0, "value"), 1e-6 + 1e-9, 0, "0 verdicts or numbers differ, 0 texts"),
        (("points", 0, "value"), 1e-6 + 1e-8, 1, "number .points.0.value"),
        (("points", 1, "value"), 2.0 + 1e-6, 1, "number .points.1.value"),
        (("found", "exponent"), 1.0, 1, "number .found.exponent"),
        (("found", "exponent"), None, 1, "verdict .found.exponent"),
        (("verdict",), "inconclusive", 1, "verdict .verdict"),
        (("points",), [], 1, "number .points"),
    ],
)
def test_what_differs_is_told(comparison, tmp_path, capsys, where, value, differs, told):
    after = copy.deepcopy(ANSWER)
    if where:
        *path, last = where
        place = after["evidence"][0]
        for key in path:
            place = place[key]
        place[last] = value
    for folder, answer in (("before", ANSWER), ("after", after)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "question.json").write_text(json.dumps(answer))
    assert comparison.compare(tmp_path / "before", tmp_path / "after") == differs
    assert told in capsys.readouterr().out


def test_an_answer_on_one_side_alone_is_a_difference(comparison, tmp_path, capsys):
    for folder in ("before", "after"):
        (tmp_path / folder).mkdir()
    (tmp_path / "before" / "question.json").write_text(json.dumps(ANSWER))
    assert comparison.compare(tmp_path / "before", tmp_path / "after") == 1
    assert "only on one side" in capsys.readouterr().out


def test_names_of_questions_are_names_of_files_and_occur_once(comparison):
    names = [name for name, *_ in comparison.questions()]
    assert len({comparison._file(Path(), name) for name in names}) == len(names)
