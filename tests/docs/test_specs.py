"""docs/specs.md has every field of every kind, with its default, and no field that is not there."""

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
from pydantic import BaseModel

from gati_gitops.spec.gather import KINDS
from tests.docs.blocks import ROOT

TEXT = (ROOT / "docs/specs.md").read_text()
TABLE = re.compile(r"(?m)^<!-- model: (\w+) -->\n((?:\|.*\n)+)")
ROW = re.compile(r"(?m)^\| `([\w-]+)` \| (.*?) ?\| (.*?) ?\|$")
TABLES = {
    name: {row[1]: row[2] for row in ROW.finditer(rows)} for name, rows in TABLE.findall(TEXT)
}


def models() -> list[type[BaseModel]]:
    found: dict[type[BaseModel], None] = {}
    waiting: list[type[BaseModel]] = list(KINDS.values())
    while waiting:
        model = waiting.pop()
        if model not in found:
            found[model] = None
            for field in model.model_fields.values():
                waiting += _inside(field.annotation)
    return sorted(found, key=lambda model: model.__name__)


def _inside(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for argument in get_args(annotation):
        yield from _inside(argument)


def documented(model: type[BaseModel]) -> dict[str, str]:
    """A model's rows, those of what it inherits from included."""
    rows: dict[str, str] = {}
    for ancestor in reversed(model.__mro__):
        rows |= TABLES.get(ancestor.__name__, {})
    return rows


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_field_is_documented(model):
    assert set(documented(model)) == {f.alias or n for n, f in model.model_fields.items()}


@pytest.mark.parametrize("model", models(), ids=lambda model: model.__name__)
def test_every_default_is_right(model):
    rows = documented(model)
    for name, field in model.model_fields.items():
        said = rows[field.alias or name]
        assert (said == "required") == field.is_required(), name
        default = field.default
        if not field.is_required() and isinstance(default, bool | int | str) and default != "":
            shown = str(default).lower() if isinstance(default, bool) else str(default)
            assert said == f"`{shown}`", name


def test_no_table_is_about_something_else():
    known = {cls.__name__ for model in models() for cls in model.__mro__}
    assert set(TABLES) <= known
    assert len(TABLES) == TEXT.count("<!-- model:"), "a table that this test cannot read"
