"""The ready questions are plain SQL: other engines can parse them."""

import pytest
import sqlglot
from firstlight_fleet import questions
from sqlglot import exp

_VALUES = {
    "base": "1.9",
    "release": "1.10",
    "board": "all",
    "top": 20,
    "each": 5,
    "boots": ["a", "b"],
    "suspects": ["unit|a.service"],
    "name": "it's",
}


@pytest.mark.parametrize("dialect", ["duckdb", "spark", "trino", "athena", "databricks", "snowflake", "postgres"])
@pytest.mark.parametrize("name", questions.NAMES)
def test_a_question_parses(name: str, dialect: str) -> None:
    query = questions.filled(name, **_VALUES)
    assert ":" not in query.replace("with:", "")
    parsed = sqlglot.parse_one(query, read=dialect)
    # A function that sqlglot does not know is none of standard SQL.
    assert [call.name for call in parsed.find_all(exp.Anonymous)] == []
    assert parsed.named_selects
