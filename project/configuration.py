"""`bench.toml`: all settings with descriptions; docs/bench.schema.json is generated from this.

Imported once for each text of a `bench.toml`: pydantic takes as long to import as DuckDB.
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
    """Settings of a job of `bench ci` in a pull or merge request."""

    comment: Literal["on-change", "always", "never"] = Field(
        default="on-change",
        description="When to write the comment: if rows or regions changed, always, or never.",
    )
    comment_id: str = Field(
        default="bench",
        pattern=r"^[\w.-]{1,60}$",
        description="Distinguishes comments of several bench jobs on one request.",
    )
    fail_on: list[Literal["stale", "changed"]] = Field(
        default=["stale"],
        description="What fails the job: stale regions, or changed or removed rows.",
    )


class PathPattern(_Section):
    """Settings of logs encoded in names of folders and files: `[[paths]]`."""

    pattern: Text = Field(
        description="Names of a path, with columns in braces: dp-{dp}_tp-{tp}_pp-{pp}/ or "
        "{nodes:int}node/*.log; * matches anything, {} an ignored part."
    )
    example: Text = Field(description="A matching path, used to verify the pattern.")
    gives: dict[str, bool | int | float | Text] = Field(
        description="The columns that the example yields."
    )


Amount = Annotated[float, Field(gt=0, lt=1e9, allow_inf_nan=False)]


class DevicePrices(_Section):
    """The price of a device-hour: `[prices]`; --price takes precedence."""

    currency: str = Field(
        pattern=r"^(?:[A-Z]{3}|[€$£¥])$", description="The one currency of all prices, as USD."
    )
    default: Amount | None = Field(
        default=None, description="Price of an hour of a device that has no price of its own."
    )
    devices: dict[Text, Amount] = Field(
        default={}, description="Price of a device-hour by name of the device, as A100."
    )


class Configuration(_Section):
    """Settings of bench for one repository; paths are relative to this file."""

    db: Text | None = Field(
        default=None,
        description="The warehouse, in this file's folder or below, on no server; --db and "
        "BENCH_DB take precedence, and may name any. Default: ./bench.duckdb.",
    )
    templates: Text | None = Field(
        default=None, description="Directory of templates that override the built-in ones."
    )
    formats: Text | None = Field(
        default=None, description="Directory of additional log formats, one TOML file each."
    )
    facts: Text | None = Field(
        default=None,
        description="The facts file. Default: facts.toml next to this file. See docs/audit.md.",
    )
    sources: list[Text] = Field(
        default=[],
        description="Logs, tables and record directories that regions and diffs are generated "
        "from, read on each use. Default: the warehouse.",
    )
    pages: list[Text] = Field(
        default=[],
        description="Markdown files with regions, or patterns such as docs/**/*.md. "
        "Default: all markdown files tracked by git.",
    )
    paths: list[PathPattern] = Field(
        default=[], description="Columns encoded in the paths of logs. See docs/facts.md."
    )
    budgets: dict[str, Text] = Field(
        default={},
        description="How long the training of a model is, by its size: 380B tokens, or 362_000 "
        "steps of each run's batch; --tokens and --steps take precedence. Default: as a source "
        "states; else days are per 100B tokens.",
    )
    aliases: dict[Text, Annotated[str, Field(pattern=r"^\w[\w.+-]{0,39}$")]] = Field(
        default={},
        description="Short names of sources on pages and in commands, by the path or file name of "
        "the source. Default: its number, or its file name without what all share.",
    )
    prices: DevicePrices | None = Field(
        default=None, description="Prices of a device-hour. Default: cost is not known."
    )
    github: Job = Field(default_factory=Job, description="Settings of `bench ci github`.")
    gitlab: Job = Field(default_factory=Job, description="Settings of `bench ci gitlab`.")


def json_schema() -> str:
    """The JSON schema that is published as docs/bench.schema.json."""
    import json

    schema = Configuration.model_json_schema() | {"$schema": SCHEMA_ID, "title": "bench.toml"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
