-- title: DeepSpeed's flops profiler: three times twice the measured multiply-accumulates
-- unit: FLOP per micro-batch and device
-- source: deepspeed.ai/tutorials/flops-profiler: forward 2 x MACs, backward 2 x forward
-- counts: model FLOPs of the modules that it measures on one device; no recompute unless recompute_fwd_factor includes it
CREATE OR REPLACE MACRO f11(macs) AS 3e0 * 2 * macs;
