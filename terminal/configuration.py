"""`bench.toml`: every setting with its meaning; docs/bench.schema.json is made from this.

Imported only when there is a `bench.toml`: pydantic takes as long to import as DuckDB.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
Text = Annotated[str, Field(min_length=1, strict=True)]


def _dashed(name: str) -> str:
    return name.replace("_", "-")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, alias_generator=_dashed)


class Job(_Section):
    """What a job of `bench ci` does in a pull or merge request."""

    comment: Literal["on-change", "always", "never"] = Field(
        default="on-change",
        description="When the comment is written: when rows or regions changed, always, never.",
    )
    comment_id: str = Field(
        default="bench",
        pattern=r"^[\w.-]{1,60}$",
        description="Tells the comments of several bench jobs in one request apart.",
    )
    fail_on: list[Literal["stale", "changed"]] = Field(
        default=["stale"],
        description="What makes the job fail: stale regions, or any row changed or removed.",
    )


class PathPattern(_Section):
    """What the names of folders and files tell of the logs in them: `[[paths]]`."""

    pattern: Text = Field(
        description="Names of a path, with columns in braces: dp-{dp}_tp-{tp}_pp-{pp}/ or "
        "{nodes:int}node/*.log; * stands for anything, {} for something that tells nothing."
    )
    example: Text = Field(description="A path that fits: the pattern is proved on it.")
    gives: dict[str, bool | int | float | Text] = Field(
        description="What the example tells, column by column."
    )


class Configuration(_Section):
    """Settings of bench for one repository; paths are relative to this file."""

    db: Text | None = Field(
        default=None,
        description="The warehouse; --db and BENCH_DB go before it. Default: ./bench.duckdb.",
    )
    templates: Text | None = Field(
        default=None, description="A folder of templates that go before the built-in ones."
    )
    formats: Text | None = Field(
        default=None,
        description="A folder of log formats, one TOML each, beside the built-in ones.",
    )
    facts: Text | None = Field(
        default=None,
        description="The file of facts; default: facts.toml beside this file. docs/audit.md.",
    )
    sources: list[Text] = Field(
        default=[],
        description="Logs, tables and folders of records that regions and diffs are made from, "
        "read anew each time; without it they are made from the warehouse.",
    )
    pages: list[Text] = Field(
        default=[],
        description="Markdown files with regions, or patterns such as docs/**/*.md; "
        "default: every markdown file that git tracks.",
    )
    paths: list[PathPattern] = Field(
        default=[],
        description="What names of folders and files tell of the logs in them. docs/facts.md.",
    )
    github: Job = Field(default_factory=Job, description="What `bench ci github` does.")
    gitlab: Job = Field(default_factory=Job, description="What `bench ci gitlab` does.")


def json_schema() -> str:
    """The JSON schema that is published as docs/bench.schema.json."""
    import json

    schema = Configuration.model_json_schema() | {"$schema": SCHEMA_ID, "title": "bench.toml"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
