"""The plan file; docs/plan.schema.json is generated from this."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr

from .registry import names

if TYPE_CHECKING:
    TrainerName: TypeAlias = str
    LauncherName: TypeAlias = str
else:  # validated, and listed in the schema, by the files of the folders
    TrainerName = Literal[names("trainers")]
    LauncherName = Literal[names("launchers")]

SCHEMA_ID = "https://json-schema.org/draft/2020-12/schema"
# Words of a shell are told apart in the square of their length; Linux passes on 128 KiB at most.
Text = Annotated[str, Field(min_length=1, max_length=16_384, strict=True)]
Count = Annotated[int, Field(ge=1, strict=True)]
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False, strict=True)]
Value = StrictBool | StrictInt | StrictFloat | StrictStr
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
Attention = Literal["auto", "flash", "efficient", "cudnn", "math"]


class Settings(_Section):
    """Settings of a run, named as in the warehouse. Any may be a list: all combinations run."""

    model: Many[Text] = Field(
        default=None, description="Model preset: nano, 124m, 1.3b, llama-8b, ..."
    )
    layers: Many[Count] = Field(default=None, description="Transformer layers.")
    hidden: Many[Count] = Field(default=None, description="Hidden size.")
    heads: Many[Count] = Field(default=None, description="Attention heads.")
    seq_len: Many[Count] = Field(default=None, description="Sequence length in tokens.")
    vocab: Many[Count] = Field(default=None, description="Vocabulary size before padding.")
    kv_heads: Many[Count] = Field(default=None, description="Heads of keys and values (Llama).")
    ffn_hidden: Many[Count] = Field(default=None, description="Width of an MLP (Llama).")
    experts: Many[Count] = Field(default=None, description="Experts per layer (Llama).")
    top_k: Many[Count] = Field(default=None, description="Experts per token.")
    nodes: Many[Count] = Field(default=None, description="Number of nodes.")
    dp: Many[Count] = Field(default=None, description="Data-parallel size.")
    tp: Many[Count] = Field(default=None, description="Tensor-parallel size.")
    pp: Many[Count] = Field(default=None, description="Pipeline-parallel size.")
    cp: Many[Count] = Field(default=None, description="Context-parallel size.")
    ep: Many[Count] = Field(default=None, description="Expert-parallel size, of DP x CP.")
    vpp: Many[Count] = Field(
        default=None, description="Stages per pipeline rank (interleaved 1F1B)."
    )
    schedule: Many[Schedule] = Field(default=None, description="Pipeline schedule.")
    sequence_parallel: Many[Switch] = Field(
        default=None, description="Sequence parallelism (with TP)."
    )
    zero_stage: Many[Stage] = Field(default=None, description="ZeRO stage, 0 to 3.")
    overlap_grad_reduce: Many[Switch] = Field(
        default=None, description="Gradient reduction in overlap with the backward pass."
    )
    mbs: Many[Count] = Field(
        default=None, description="Micro-batch size in sequences, per replica."
    )
    gbs: Many[Count] = Field(default=None, description="Global batch size in sequences.")
    iterations: Many[Count] = Field(default=None, description="Optimizer steps.")
    recompute: Many[Recompute] = Field(
        default=None, description="Activation recomputation: none or full."
    )
    dtype: Many[Dtype] = Field(default=None, description="Compute precision: fp32, bf16 or fp16.")
    params_dtype: Many[Literal["fp32", "bf16"]] = Field(
        default=None, description="Precision of parameters."
    )
    compile: Many[Switch] = Field(default=None, description="torch.compile of the layers.")
    attention: Many[Attention] = Field(default=None, description="Attention kernel.")
    lr: Many[Real] = Field(default=None, description="Learning rate.")
    weight_decay: Many[Real] = Field(default=None, description="Weight decay of matrices.")
    clip_grad: Many[Real] = Field(default=None, description="Gradient-norm clipping; 0: off.")
    seed: Many[Seed] = Field(default=None, description="Seed for parameters and samples.")
    device: Literal["auto", "cpu", "cuda"] | None = Field(default=None, description="Device type.")
    threads: Many[Count] = Field(default=None, description="Threads per process.")


Environment = dict[
    Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")],
    Annotated[str, Field(strict=True)] | Annotated[list[str], Field(min_length=1)],
]
Values = dict[
    Annotated[str, Field(pattern=r"^[a-z_][a-z0-9_]*$")],
    Value | Annotated[list[Value], Field(min_length=1)],
]


JobOptions = dict[
    Annotated[str, Field(pattern=r"^[A-Za-z][\w-]*$")],
    Value | Annotated[list[Value], Field(min_length=1)],
]


class Matrix(Settings):
    """One product of settings, on top of those that all have."""

    env: Environment = Field(default={}, description="Environment variables.")
    values: Values = Field(default={}, description="More placeholders for a command template.")
    job: JobOptions = Field(default={}, description="Scheduler options, by the scheduler's names.")


class Limits(_Section):
    """Limits after which a run is ended."""

    time_s: Seconds | None = Field(default=None, description="Maximum run time in seconds.")
    idle_s: Seconds | None = Field(
        default=600.0,
        description="Maximum time without output in seconds; then the run counts as hung.",
    )
    exit_s: Seconds = Field(
        default=60.0,
        description="Maximum time without output in seconds after training has finished; "
        "then the run is killed and counts as done.",
    )
    memory_gb: Seconds | None = Field(
        default=None,
        description="Memory limit in GiB over all processes of a run; under a scheduler, per node.",
    )


class Plan(_Section):
    """Runs to make: every combination of the settings that the constraints allow."""

    name: str | None = Field(
        default=None, pattern=NAME, description="Plan name. Default: the file name."
    )
    trainer: TrainerName = Field(
        default="reference",
        description="Trainer: the reference trainer, the same model on DeepSpeed, a Megatron "
        "checkout, or a command.",
    )
    launcher: LauncherName = Field(default="local", description="How processes are started.")
    command: Text | None = Field(
        default=None,
        description="Command line with placeholders such as {dp} and {mbs} (trainer = 'command').",
    )
    path: Text | None = Field(
        default=None,
        description="Checkout of Megatron-LM, Megatron-DeepSpeed or DeepSpeedFugaku "
        "(trainer = 'megatron').",
    )
    arguments: list[Text] = Field(
        default=[], description="Extra arguments, e.g. --data-path X (trainer = 'megatron')."
    )
    repeats: Count = Field(default=1, description="Runs per setting, interleaved.")
    constraints: list[Text] = Field(
        default=[],
        max_length=100,
        description="Conditions in --where syntax; only combinations that satisfy all of them run.",
    )
    settings: Settings = Field(default_factory=Settings, description="Settings of all runs.")
    env: Environment = Field(
        default={}, description="Environment variables; an empty value unsets."
    )
    values: Values = Field(default={}, description="More placeholders for a command template.")
    job: JobOptions = Field(default={}, description="Scheduler options, by the scheduler's names.")
    matrix: list[Matrix] = Field(
        default=[], description="Products of values, each on top of settings, env and values."
    )
    limits: Limits = Field(default_factory=Limits, description="When a run is killed.")


def json_schema() -> str:
    """The JSON schema that is published as docs/plan.schema.json."""
    import json

    schema = Plan.model_json_schema() | {"$schema": SCHEMA_ID, "title": "A plan of bench launch"}
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    print(json_schema(), end="")
