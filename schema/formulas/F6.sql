-- title: Hardware FLOPs from the exact parameters: 8 x parameters x tokens
-- unit: FLOP per iteration
-- source: Megatron-DeepSpeed f52dbd0 (2021-06) flops_calculator, removed in 7041c86; its batch and GPUs are those of one replica
-- counts: hardware FLOPs with full recompute; every parameter, the embedding too; no attention scores
CREATE OR REPLACE MACRO f6(params, b, s) AS 8e0 * params * b * s;
