"""Terms of a prediction are physics: what grows with what, and what is hidden behind what."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from bench.decide.eligible import candidates
from bench.decide.query import Query
from bench.foresight.numbers import Links, numbers, priors
from bench.foresight.recompute import inferred, settled
from bench.foresight.reference import page
from bench.foresight.setting import Setting, setting
from bench.foresight.similarity import PACE_SCALES, likeness
from bench.foresight.terms import MEMORY, PACE, bubble, recomputed
from tests.deciding import published

TERMS = {term.name: term.of for term in PACE.terms}
MEMORY_TERMS = {term.name: term.of for term in MEMORY.terms}


@pytest.fixture(scope="module")
def run() -> Setting:
    """A run of 1.3B on V100, of TP 1 and PP 1, with nothing recomputed."""
    rows = candidates(published("004*.md"), Query()).eligible("pace").kept
    one = next(one for row in rows if (one := setting(row)))
    return replace(one, tp=1.0, pp=1.0, recompute="none", devices=8.0, devices_per_node=8.0)


def test_context_parallelism_exchanges_keys_and_values(run: Setting) -> None:
    keys = TERMS["keys"]
    costs = [keys(replace(run, cp=cp)) for cp in (1.0, 2.0, 4.0, 8.0)]
    assert costs[0] == 0 and 3 * costs[1] < costs[2] < 9 * costs[1], "short ones hide better"
    grouped = keys(replace(run, cp=4.0, kv_share=1 / 3))
    assert grouped == pytest.approx(costs[1]), "a third of the heads, of three ranks"
    assert keys(replace(run, cp=16.0)) > 2 * costs[3], "across nodes over the network"
    long = replace(run, cp=2.0, seq_len=8 * float(run.seq_len or 0))
    assert TERMS["attention"](long) / keys(long) > TERMS["attention"](run) / costs[1]


def test_short_times_are_hidden_behind_matrix_products(run: Setting) -> None:
    kernels = TERMS["kernels"]
    small, large = (replace(run, mbs=float(mbs)) for mbs in (1, 16))
    assert kernels(small) > 100 * kernels(large), "16 times shorter, and hidden besides"
    gathers = TERMS["data"]
    batch = float(run.mbs or 0) * run.devices
    step = replace(run, gbs=batch)
    fast = replace(step, links=replace(run.links, inside=16 * run.links.inside))
    assert gathers(step) > 50 * gathers(fast), "gradients, behind the last micro-batch"
    often = gathers(replace(step, gbs=16 * batch, zero=2)) / gathers(replace(step, zero=2))
    assert often == pytest.approx(1 / 16), "a step hides one exchange, however large it is"
    gathered = gathers(replace(fast, zero=3)) / gathers(fast)
    assert 1.5 < gathered < 1.5**2, "half as much again, which hides too"


def test_fp8_does_not_halve_a_step(run: Setting) -> None:
    assert run.peak_flop_s and run.format_speedup == 1
    narrow = replace(run, peak_flop_s=2 * run.peak_flop_s, format_speedup=2.0)
    gain = TERMS["compute"](run) / TERMS["compute"](narrow)
    assert 1.3 < gain < 1.7
    assert TERMS["attention"](narrow) == pytest.approx(TERMS["attention"](run))


def test_adapters_have_no_gradients_of_the_weights() -> None:
    rows = candidates(published("004*.md"), Query()).eligible("pace").kept
    row = next(row for row in rows if setting(row))
    whole, adapters = setting(row), setting({**row, "flags": ["adapters"]})
    assert whole and adapters and adapters.flops == pytest.approx(whole.flops * 2 / 3)
    assert TERMS["data"](adapters) == 0 < TERMS["data"](whole)


def test_a_token_uses_its_share_of_experts() -> None:
    [row] = candidates(published("004*.md"), Query()).eligible("pace").kept[:1]
    mixtral = {
        **row, "params_computed": None, "params_stated": 46_700_000_000, "layers": 32,
        "hidden": 4096, "heads": 32, "kv_heads": 8, "vocab_used": 32000, "experts": 8, "ep": 8,
        "dense": False,
    }  # fmt: skip
    two, four = (setting({**mixtral, "moe_top_k": chosen}) for chosen in (2, 4))
    assert two and two.flops == pytest.approx(6 * 12.9e9, rel=0.01), "as Mixtral 8x7B is published"
    assert two.expert_params == pytest.approx(45.1e9, rel=0.01)
    assert four and four.flops == pytest.approx(two.flops + 6 * 45.1e9 / 4, rel=0.01)
    assert setting(mixtral) is None, "of an unknown number of experts no work is known"
    said = setting({**mixtral, "moe_top_k": 4, "active_b": 12.9})
    assert said and said.flops == pytest.approx(6 * 12.9e9), "what is stated counts"


def test_a_source_whose_runs_would_not_fit_recomputes(run: Setting) -> None:
    silent = replace(run, recompute=None, device_memory_gb=32.0, zero_is_stated=False)
    tight = replace(silent, mbs=32.0, group="tight")
    full = inferred([silent, tight, replace(tight, group="more")])
    assert recomputed(settled(silent, full)) == pytest.approx(4 / 3), "as the source does"
    assert recomputed(settled(replace(silent, recompute="none"), full)) == 1.0
    assert recomputed(settled(replace(silent, system="other"), full)) == 1.0
    assert not inferred([silent, replace(silent, group="more"), tight]), "most fit"
    stated = replace(tight, recompute="selective")
    assert not inferred([tight, stated]), "where it is stated for some, silence means something"


def test_near_sizes_of_a_source_share_what_the_terms_miss(run: Setting) -> None:
    """A model between two measured ones is like them, and not only like its terms."""
    near, far = (replace(run, model="x", shape="x", params=run.params * by) for by in (1.2, 16))
    shared = likeness([run], [near, far]).shared(PACE_SCALES, False).rough
    assert shared[0, 0] > 1.3 * shared[0, 1]


def test_a_narrow_format_is_faster_on_an_unknown_device_too(run: Setting) -> None:
    """The peak that is assumed for it is one of 16 bits."""
    wide = replace(run, peak_flop_s=None, format_speedup=1.0)
    fp8 = replace(wide, format_speedup=2.0)
    assert TERMS["compute"](fp8) == pytest.approx(TERMS["compute"](wide) / 1.5)
    assert TERMS["attention"](fp8) == TERMS["attention"](wide)


@pytest.fixture(scope="module")
def gpt3(run: Setting) -> Setting:
    """GPT-3 175B on A100, TP 8 and PP 16, as in arXiv 2104.04473; links of 100 GB/s."""
    return replace(
        run, params=175e9, expert_params=0.0, flops=6 * 175e9, peak_flop_s=312e12,
        format_speedup=1.0, links=Links(1.2e12, 100e9), layers=96.0, hidden=12288.0, heads=96.0,
        vocab=51200.0, seq_len=2048.0, devices=1024.0, devices_per_node=8.0, tp=8.0, pp=16.0,
        mbs=1.0, gbs=1536.0, zero=0, recompute="none",
    )  # fmt: skip


def test_terms_are_those_worked_out_by_hand(gpt3: Setting) -> None:
    of = {name: term(gpt3) for name, term in TERMS.items()}
    assert of["compute"] == pytest.approx(6 * 175e9 / 312e12)  # 3.37 ms a token
    assert of["attention"] == pytest.approx(6 * 96 * 12288 * 2048 / 312e12)  # 46 us
    assert of["tensor_inside"] == pytest.approx(4 * 2 * 7 * 2 * 12288 * 96 / 100e9)  # 1.32 ms
    assert of["tensor_across"] == of["keys"] == of["experts"] == 0
    # 8 replicas: gradients of 2 bytes, 2 (8 - 1) / 8 of them a device, x 1024 devices, of 1 / 128.
    gradients = 2 * 7 * 2 * 175e9 / (1536 * 2048) / 25e9  # 62 us
    last = 6 * 175e9 / 312e12 / 192  # of 192 micro-batches, which hides a part
    assert of["data"] == pytest.approx(gradients**2 / (gradients + 2 * last))
    assert bubble(gpt3) == pytest.approx(15 / 192)


def test_recompute_repeats_what_it_names(gpt3: Setting) -> None:
    none, selective, full = (
        {name: term(replace(gpt3, recompute=kind)) for name, term in TERMS.items()}
        for kind in ("none", "selective", "full")
    )
    assert selective["compute"] == none["compute"] == pytest.approx(full["compute"] * 3 / 4)
    assert selective["attention"] == full["attention"] == pytest.approx(none["attention"] * 4 / 3)


def test_activations_of_selective_recompute_are_those_of_flash_attention(gpt3: Setting) -> None:
    none, selective, full = (
        MEMORY_TERMS["activations"](replace(gpt3, recompute=kind))
        for kind in ("none", "selective", "full")
    )
    layer = 2048 * 12288 * (10 + 24 / 8) / 1e9  # s b h (10 + 24 / t): 0.327 GB
    assert none == selective == pytest.approx(96 * layer)  # 6 layers x 16 micro-batches
    assert full == pytest.approx(96 * 2 * 2048 * 12288 / 1e9)  # inputs alone: 4.8 GB


def test_sequence_parallelism_splits_what_ranks_would_all_keep(gpt3: Setting) -> None:
    kept = MEMORY_TERMS["activations"]
    both = kept(replace(gpt3, sequence_parallel=True)) / kept(gpt3)
    assert both == pytest.approx((34 / 8) / (10 + 24 / 8))


def test_states_are_sharded_by_all_that_hold_the_same_weights(gpt3: Setting) -> None:
    states = MEMORY_TERMS["states"]
    assert states(gpt3) == pytest.approx(16 * 175 / 128)  # 21.9 GB
    by_dp = states(replace(gpt3, zero=1))
    assert by_dp == pytest.approx((4 + 12 / 8) * 175 / 128)
    by_cp = states(replace(gpt3, zero=1, cp=4.0))
    assert by_cp == pytest.approx(by_dp), "DP 2 x CP 4 shard as DP 8 does"
    one_node = replace(gpt3, devices=8.0, tp=1.0, pp=1.0, zero=3)
    assert states(one_node) == pytest.approx(16 * 175 / 8)


def test_experts_keep_their_share_of_tokens_at_home(gpt3: Setting) -> None:
    two, eight = (TERMS["experts"](replace(gpt3, ep=ep)) for ep in (2.0, 8.0))
    assert eight == pytest.approx(2 * 4 * 2 * 12288 * 96 * 7 / 8 / 100e9), "to two experts"
    assert eight / two == pytest.approx(7 / 4)
    assert TERMS["experts"](replace(gpt3, ep=8.0, top_k=8.0)) == pytest.approx(4 * eight)


def test_every_number_of_the_model_has_a_source_and_is_used(root: Path) -> None:
    code = "".join(path.read_text("utf-8") for path in (root / "foresight").glob("*.py"))
    for name, one in numbers().items():
        assert one.basis in ("definition", "paper", "vendor", "measured", "assumed"), name
        assert one.source and (one.url or one.basis not in ("paper", "vendor")), name
        assert f'number("{name}")' in code, f"{name} is used nowhere"
    assert all(one.prior for law in ("pace", "memory") for one in priors(law).values())
    assert (root / "docs" / "cost_model.md").read_text("utf-8") == page(), "make generate"


def test_the_page_names_each_module_with_a_constant_of_its_own(root: Path) -> None:
    """What is not declared with a source is said to be in the code."""
    statistics = page().split("## Statistics")[1]
    for path in (root / "foresight").glob("*.py"):
        numeric = re.search(r"^_?[A-Z_]+(?:: \w+)? = -?\d+\.\d", path.read_text("utf-8"), re.M)
        assert not numeric or f"`{path.name}`" in statistics, path.name
