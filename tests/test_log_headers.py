"""What trainers say of a run before it trains: model, device, mesh, precision."""

import pytest

from bench.schema.rows import Row
from tests.log_lines import read
from tests.logs import header, iteration, rows

TITAN = """\
[rank0]:2024-06-03 10:55:22,123 - root - INFO - Building 3-D device mesh with ['pp', 'dp', 'tp'], [2, 4, 8]
[rank0]:2024-06-03 10:55:25,123 - root - INFO - GPU capacity: NVIDIA H100 80GB HBM3 (0) with 79.11GiB memory
[rank0]:2024-06-03 10:55:26,123 - root - INFO - Applied selective activation checkpointing to the model
[rank0]:2024-06-03 10:55:27,123 - root - INFO - Training starts at step 1, with local batch size 1, global batch size 8, sequence length 8192, total steps 1000 (warmup 200)
[rank0]:2024-06-03 10:55:41,123 - root - INFO - step:  1  loss: 12.2506  memory: 43.65GiB(55.18%)  wps: 570  mfu: 3.34%"""  # noqa: E501
NEOX = """\
-------------------- arguments --------------------
  model_parallel_size ............. 2...........................updated
  pipe_parallel_size .............. 4...........................updated
  precision ....................... bfloat16....................updated
  train_batch_size ................ 128.........................updated
---------------- end of arguments ----------------
 samples/sec: 218.799 | iteration       10/  143000 | elapsed time per iteration (ms): 585.0 | learning rate: 4.196E-06 | approx flops per GPU: 62.9TFLOPS | lm_loss: 1.118665E+01 | number of skipped iterations:   0 | number of nan iterations:   0 |"""  # noqa: E501


def stated(text: str) -> Row:
    log = read(*text.splitlines())
    (run,), (topology,) = rows(log, "runs"), rows(log, "topology")
    return {k: v for k, v in (run | topology).items() if v is not None}


def test_the_mesh_of_torchtitan_is_the_topology() -> None:
    run = stated(TITAN)
    assert {name: run[name] for name in ("pp", "dp", "tp", "device", "recompute")} == {
        "pp": 2, "dp": 4, "tp": 8, "device": "NVIDIA H100 80GB HBM3", "recompute": "selective",
    }  # fmt: skip


def test_the_precision_of_neox_is_its_dtype() -> None:
    run = stated(NEOX)
    assert (run["dtype"], run["tp"], run["pp"], run["gbs"]) == ("bf16", 2, 4, 128)


@pytest.mark.parametrize(
    ("experts", "chosen"), [("None", None), ("False", None), ("8", 2), ("[1]", 2)]
)
def test_the_experts_of_a_token_are_stated_beside_experts(experts: str, chosen: int | None) -> None:
    arguments = f"  num_experts ............ {experts}\n  moe_router_topk ........ 2"
    run = stated(NEOX.replace("  precision ", f"{arguments}\n  precision "))
    assert run.get("moe_top_k") == chosen


@pytest.mark.parametrize(
    ("printed", "kept"),
    [
        ("False.....", None),
        ("Nonedeepspeed_ccl_comm", None),
        ("0.001deepspeed info", None),
        ("1['/venv/lib/torch']", None),
        ("100...................", None),
        ("True  attention_dropout .......... 0.1", None),
        ("False", "False"),
        ("1.0e-05", "1.0e-05"),
        ("(0.9, 0.95)", "(0.9, 0.95)"),
        ("./run/v1.2", "./run/v1.2"),
        ("125m_zero", "125m_zero"),
        ("949,50,1", "949,50,1"),
        ("1.0GiB", "1.0GiB"),
        ("2.5min", "2.5min"),
        ("data/a....b", "data/a....b"),
    ],
)
def test_a_line_that_another_process_printed_into_states_no_argument(
    printed: str, kept: str | None
) -> None:
    log = read(
        "------------------------ arguments ------------------------",
        f"  setting ......................................... {printed}",
        "-------------------- end of arguments ---------------------",
        iteration(1),
    )
    facts = {row["field"]: row["raw"] for row in rows(log, "facts")}
    assert facts.get("setting") == kept
    warned = [row["code"] for row in rows(log, "warnings")]
    assert warned.count("argument_garbled") == (kept is None)


def test_a_setting_of_deepspeed_over_several_lines_carries_no_measurement() -> None:
    front = "[2022-11-24 00:51:45,965] [INFO] [config.py:999:print]"
    log = read(
        "[Rank 0] DeepSpeed info: version=0.7.6+39dc1eb4, git-hash=39dc1eb4, git-branch=main",
        f"{front} DeepSpeedEngine configuration:",
        f"{front}   autotuning_config ............ {{",
        '    "start_profile_step": 3, ',
        '    "max_train_micro_batch_size_per_gpu": 1.024000e+03, ',
        "}",
        f"{front}   train_batch_size ............. 4",
        f"{front}   json = {{",
        '    "train_batch_size": 4',
        "}",
        "[Rank 0] step=1, skipped=0, lr=[0.001], mom=[(0.9, 0.95)]",
        "epoch 3 took 4 s",
    )
    assert (log.lines_unread, log.lines_measuring) == (1, 1)
    assert rows(log, "topology")[0]["gbs"] == 4


def test_arguments_of_2019_have_no_last_line() -> None:
    log = read(
        "arguments:\n  adam_beta1 ................... 0.9\n  hidden_size .................. 1024\n"
        "  num_layers ................... 24\n  world_size ................... 8\n"
        " epoch  0 | iteration      100/ 1000000 | elapsed time per iteration (ms): 512.4 | "
        "learning rate 1.000E-05 | lm loss 9.123E+00 | nsp loss 6.931E-01 | loss scale 65536.0 |\n"
    )
    (run,) = rows(log, "runs")
    assert (run["hidden"], run["layers"], run["line"]) == (1024, 24, 1)


def test_a_schedulers_variables_state_nodes_and_hosts() -> None:
    listing = [f"SLURM_{name}" for name in ("JOB_ID=77", "NNODES=2", "JOB_NODELIST=n[1-2]")]
    listing += ["SLURM_NTASKS=2", "OMP_NUM_THREADS=4"]
    log = read(*listing, *header().split("\n"), iteration(1))
    (topology,) = rows(log, "topology")
    assert topology["nodes"] == 2
    facts = {row["field"]: (row["value"], row["line"]) for row in rows(log, "facts")}
    assert facts["hosts"] == ("n[1-2]", 3) and facts["nodes"] == ("2", 2)


NANOTRON = """\
12/20/2024 10:00:00 [INFO|DP=0|PP=0|TP=0]: Config:
Config(general=GeneralArgs(project='debug',
                           run='tiny'),
       parallelism=ParallelismArgs(dp=2,
                                   pp=4,
                                   tp=8,
                                   recompute_layer=False),
       model=ModelArgs(model_config=LlamaConfig(bos_token_id=1,
                                                hidden_size=4096,
                                                intermediate_size=14336,
                                                num_attention_heads=32,
                                                num_hidden_layers=32,
                                                num_key_value_heads=8,
                                                vocab_size=128256),
                       init_method=RandomInit(std=0.025),
                       dtype=torch.bfloat16),
       tokens=TokensArgs(sequence_length=8192,
                         train_steps=15,
                         micro_batch_size=3,
                         batch_accumulation_per_replica=5),
       optimizer=OptimizerArgs(zero_stage=1,
12/20/2024 10:00:56 [INFO|DP=0|PP=3|TP=0]: iteration: 1 / 15 | consumed_tokens: 246K | elapsed_time_per_iteration_ms: 11.5K | tokens_per_sec: 22.8K | tokens_per_sec_per_gpu: 357 | global_batch_size: 30 | lm_loss: 11.4 | lr: 1e-05 | model_tflops_per_gpu: 38.3 | hardware_tflops_per_gpu: 38.3 | grad_norm: 1.25"""  # noqa: E501


def test_nanotrons_configuration_states_shape_and_layout() -> None:
    log = read(*NANOTRON.splitlines())
    (run,), (topology,) = rows(log, "runs"), rows(log, "topology")
    names = ("layers", "hidden", "heads", "kv_heads", "ffn_hidden", "vocab", "seq_len")
    assert [run[name] for name in names] == [32, 4096, 32, 8, 14336, 128256, 8192]
    assert (run["dtype"], run["recompute"], run["train_iters"]) == ("bf16", "none", 15)
    layout = ("dp", "pp", "tp", "mbs", "grad_accum", "zero_stage")
    assert [topology[name] for name in layout] == [2, 4, 8, 3, 5, 1]


def test_the_parallel_groups_of_nemo_are_its_layout() -> None:
    prefix = "i.finetune/0 [default0]:[NeMo I 2025-03-07 22:33:57 megatron_init:426] "
    lines = ["Rank 0 has data parallel group : [0, 4]", "Rank 0 has context parallel group: [0]",
             "Rank 0 has tensor model parallel group: [0, 1]",
             "All tensor model parallel group ranks: [[0, 1], [2, 3], [4, 5], [6, 7]]",
             "Rank 0 has pipeline model parallel group: [0, 2]"]  # fmt: skip
    step = (
        "Training epoch 0, iteration 0/99 | lr: 1e-07 | global_batch_size: 128 | global_step: 0 | "
    )
    log = read(*(prefix + one for one in lines), step + "reduced_train_loss: 12.14")
    (topology,) = rows(log, "topology")
    assert [topology[name] for name in ("ranks", "dp", "cp", "tp", "pp")] == [8, 2, 1, 2, 2]


def test_the_groups_that_megatron_sets_up_are_its_layout() -> None:
    log = read("> initialized tensor model parallel with size 4",
               "> initialized pipeline model parallel with size 2", iteration(1))  # fmt: skip
    (topology,) = rows(log, "topology")
    assert (topology["tp"], topology["pp"]) == (4, 2)
