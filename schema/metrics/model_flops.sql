-- title: Model FLOPs of one step of a dense model, whole job
-- unit: FLOP per iteration
-- source: F7 where the shape is known and the MLP plain, else F5 from the parameters
-- from: F7(b=gbs, s=seq_len, l=layers, h=hidden, v=vocab_used, a=heads, g=kv_heads or heads "no grouped-query attention is stated: as many groups as heads" or 1 "no heads are stated: g / a is 1") | when model_formula = 'F7'
-- from: F5(params=params_stated or 1e9*params_b, tokens_per_step) | when model_formula = 'F5'
-- lacks: neither shape nor size label is known
-- selected: value AS model_flops, formula AS model_formula
-- prints: 4 digits
CREATE OR REPLACE VIEW metric_model_flops AS
SELECT run_id, flops AS value, flops AS low, flops AS high, formula FROM model_flops;
