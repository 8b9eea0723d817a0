-- title: Model FLOPs, Megatron-LM of 2024: grouped queries, gates and experts, attention in full
-- unit: FLOP per iteration
-- source: Megatron-LM core_v0.6.0 megatron/training/training.py num_floating_point_operations
-- counts: model FLOPs: no recompute; core attention in full; otherwise as F8: a heads of k channels in g groups; gates matrices of h x ffn (2, SwiGLU 3) in each of the experts a token takes (dense: 1); logits
CREATE OR REPLACE MACRO f13(b, s, l, h, v, a, g, k, ffn, gates, experts) AS
    6e0 * b * s * (l * (1e0 * h * k * (a + 2e0 * g) + 1e0 * a * k * h + 2e0 * a * k * s + 1e0 * gates * h * ffn * experts) + 1e0 * h * v);
