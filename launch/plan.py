"""A plan, as a user writes it in TOML; docs/plan.schema.json is made from this."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
Text = Annotated[str, Field(min_length=1, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Value = StrictBool | StrictInt | StrictFloat | StrictStr
SCHEDULERS = ("slurm", "pbs", "pjm")
NAME = r"^[A-Za-z0-9][\w.+-]{0,80}$"


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


T = TypeVar("T")
Many: TypeAlias = T | Annotated[list[T], Field(min_length=1)] | None

Real = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]
Stage = Annotated[int, Field(ge=0, le=3, strict=True)]
Switch = Annotated[bool, Field(strict=True)]
Seed = Annotated[int, Field(ge=0, strict=True)]
Schedule = Literal["1f1b", "gpipe"]
Recompute = Literal["none", "full"]
Dtype = Literal["fp32", "bf16", "fp16"]


class Settings(_Section):
    """What a run is; names as in the warehouse. Every one may be a list: all combinations run."""

    model: Many[Text] = Field(default=None, description="Preset of the model: nano, 10m, ...")
    layers: Many[Count] = Field(default=None, description="Transformer layers.")
    hidden: Many[Count] = Field(default=None, description="Hidden size.")
    heads: Many[Count] = Field(default=None, description="Attention heads.")
    seq_len: Many[Count] = Field(default=None, description="Sequence length in tokens.")
    vocab: Many[Count] = Field(default=None, description="Vocabulary in tokens, before padding.")
    nodes: Many[Count] = Field(default=None, description="Nodes of the job.")
    dp: Many[Count] = Field(default=None, description="Data-parallel size.")
    tp: Many[Count] = Field(default=None, description="Tensor-parallel size.")
    pp: Many[Count] = Field(default=None, description="Pipeline-parallel size.")
    schedule: Many[Schedule] = Field(default=None, description="Pipeline schedule.")
    sequence_parallel: Many[Switch] = Field(default=None, description="With TP: of norms too.")
    zero_stage: Many[Stage] = Field(default=None, description="ZeRO stage, 0 to 3.")
    mbs: Many[Count] = Field(default=None, description="Micro-batch in sequences, per replica.")
    gbs: Many[Count] = Field(default=None, description="Global batch in sequences.")
    iterations: Many[Count] = Field(default=None, description="Optimizer steps.")
    recompute: Many[Recompute] = Field(default=None, description="Activation recomputation.")
    dtype: Many[Dtype] = Field(default=None, description="Number format of the products.")
    lr: Many[Real] = Field(default=None, description="Learning rate.")
    weight_decay: Many[Real] = Field(default=None, description="Weight decay of matrices.")
    clip_grad: Many[Real] = Field(default=None, description="Largest gradient norm; 0: any.")
    seed: Many[Seed] = Field(default=None, description="Seed of parameters and samples.")
    device: Literal["auto", "cpu", "cuda"] | None = Field(default=None, description="Where.")
    threads: Many[Count] = Field(default=None, description="Threads of a process.")


Environment = dict[
    Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")],
    Annotated[str, Field(strict=True)] | Annotated[list[str], Field(min_length=1)],
]
Values = dict[
    Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")],
    Value | Annotated[list[Value], Field(min_length=1)],
]


Job = dict[
    Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*$")],
    Value | Annotated[list[Value], Field(min_length=1)],
]


class Matrix(Settings):
    """One product of settings, on top of those that all have."""

    env: Environment = Field(default={}, description="Variables of the environment.")
    values: Values = Field(default={}, description="Further words of a command's template.")
    job: Job = Field(default={}, description="Options of the scheduler, by its own names.")


class Limits(_Section):
    """When a run is ended, whatever it is doing."""

    time_s: Seconds | None = Field(default=None, description="Longest time of a run, in s.")
    idle_s: Seconds | None = Field(
        default=600.0, description="Longest time without a line of output, in s: then it hangs."
    )
    exit_s: Seconds = Field(
        default=60.0,
        description="Longest time without a line of output, in s, once the log says that the "
        "training is done: then the exit hangs, and the run is ended and counts as done.",
    )
    memory_gb: Seconds | None = Field(
        default=None,
        description="Most memory of all processes of a run together, in GiB; under a scheduler, of "
        "those of each node.",
    )


class Plan(_Section):
    """Runs to make: every combination of the settings that the constraints allow."""

    name: str | None = Field(
        default=None, pattern=NAME, description="Name of the plan. Default: that of its file."
    )
    trainer: Literal["reference", "deepspeed", "megatron", "command"] = Field(
        default="reference",
        description="What trains: our reference trainer, its model through DeepSpeed's engine, "
        "a checkout of Megatron, or a command.",
    )
    launcher: Literal["local", "torchrun", "slurm", "pbs", "pjm"] = Field(
        default="local", description="What starts the processes."
    )
    command: Text | None = Field(
        default=None,
        description="Of trainer = 'command': the command line, with {dp}, {mbs}, ... in it.",
    )
    path: Text | None = Field(
        default=None,
        description="Of trainer = 'megatron': a checkout of Megatron-LM, Megatron-DeepSpeed or "
        "DeepSpeedFugaku.",
    )
    arguments: list[Text] = Field(
        default=[], description="Of trainer = 'megatron': further words, such as --data-path X."
    )
    repeats: Count = Field(default=1, description="Runs of each setting, taken in turns.")
    constraints: list[Text] = Field(
        default=[],
        description="Conditions as --where reads them; only what fulfils all of them runs.",
    )
    settings: Settings = Field(default_factory=Settings, description="What all runs have.")
    env: Environment = Field(
        default={}, description="Variables of the environment; an empty value: not set."
    )
    values: Values = Field(default={}, description="Further words of a command's template.")
    job: Job = Field(default={}, description="Options of the scheduler, by its own names.")
    matrix: list[Matrix] = Field(
        default=[], description="Several products: each on top of settings, env and values."
    )
    limits: Limits = Field(default_factory=Limits, description="When a run is ended.")


def json_schema() -> str:
    """The JSON schema that is published as docs/plan.schema.json."""
    import json

    schema = Plan.model_json_schema() | {"$schema": SCHEMA_ID, "title": "A plan of bench launch"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
