-- title: Model FLOPs, Megatron-LM since March 2025
-- unit: FLOP per iteration
-- source: Megatron-LM megatron/training/training.py num_floating_point_operations (present before d4f9a6f7b4 of 2025-04-03)
-- counts: model FLOPs: no recompute; core attention halved for the causal mask; a heads of k channels in g groups; gates matrices of h x ffn (2, SwiGLU 3) in each of the experts a token takes (dense: 1); logits
CREATE OR REPLACE MACRO f8(b, s, l, h, v, a, g, k, ffn, gates, experts) AS
    6e0 * b * s * (l * (1e0 * h * k * (a + 2e0 * g) + 1e0 * a * k * h + 1e0 * a * k * s + 1e0 * gates * h * ffn * experts) + 1e0 * h * v);
