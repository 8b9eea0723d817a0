-- title: Model FLOPs, Megatron-LM --log-throughput of November 2023
-- unit: FLOP per iteration
-- source: Megatron-LM 2748e7c7d4 megatron/training.py num_floating_point_operations
-- counts: model FLOPs: no recompute; attention in full; grouped-query attention with g groups of a heads; logits
CREATE OR REPLACE MACRO f7(b, s, l, h, v, a, g) AS
    60e0 * b * s * l * h * h * (1 + g / (5e0 * a) + s / (5e0 * h) + v / (10e0 * l * h));
