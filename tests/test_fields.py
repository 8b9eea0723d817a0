"""The declared fields: the tables have them and no others, and each list is of fields there are."""

from pathlib import Path

import pytest

from bench.schema.arrow import shapes
from bench.vocabulary.fields import Field, compared, fields, named, shown, stated_class, stored


def columns(table: str) -> dict[str, str]:
    """Columns of a raw table that migration makes, without the ids that join it to others."""
    shape = shapes()[table]
    joins = {"run_id"} if table == "topology" else set()
    return {
        one.name: f"{one.type}{'' if one.name not in shape.required else ' NOT NULL'}"
        for one in shape.schema
        if one.name not in joins
    }


def arrow(field: Field) -> str:
    """The type of a field as Arrow calls it."""
    known = {"VARCHAR": "string", "INTEGER": "int32", "BIGINT": "int64", "DOUBLE": "double",
             "BOOLEAN": "bool", "VARCHAR[]": "list<item: string>"}  # fmt: skip
    return known[field.type] + (" NOT NULL" if field.required else "")


@pytest.mark.parametrize("table", ["runs", "topology"])
def test_tables_hold_the_declared_fields_and_no_others(table: str) -> None:
    made = columns(table)
    declared = {one.name: arrow(one) for one in stored(table) if one.name != "load_id"}
    assert {name: kind.replace("element", "item") for name, kind in made.items()} == declared


def test_a_configuration_is_compared_by_declared_fields() -> None:
    assert set(compared()) <= fields().keys()


def test_each_level_of_a_listing_holds_the_narrower_one() -> None:
    assert set(shown("brief")) < set(shown("listings")) < set(shown("answers"))


def test_a_field_that_no_table_holds_is_not_required_and_no_user_states_it() -> None:
    for field in fields().values():
        assert field.table or not (field.required or "user" in field.stated_by), field.name


@pytest.mark.parametrize("where", ["also", "options", "settings"])
def test_no_two_fields_have_the_same_other_name(where: str) -> None:
    names = [name for field in fields().values() for name in getattr(field, where)]
    assert len(names) == len(set(names)) == len(named(where))


def test_the_typed_fields_are_the_declared_ones(root: Path) -> None:
    made = (root / "vocabulary" / "run_fields.py").read_text("utf-8")
    assert made == stated_class(), "make generate"
