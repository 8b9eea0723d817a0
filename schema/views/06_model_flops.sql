-- model_flops: model FLOPs of one step of a dense model: F7 where the shape is known and the MLP plain, else F5 from the parameters; none where adapters alone were trained.
-- model_flops.world_size: processes of the job
-- model_flops.flops: FLOP per iteration, whole job
-- model_flops.formula: F7 or F5
-- model_flops.vocab_assumed: whether F7 had to assume the vocabulary
CREATE OR REPLACE VIEW model_flops AS
WITH counted AS (
    SELECT run_id, world_size,
        CASE WHEN plain_mlp AND NOT coalesce(list_contains(flags, 'adapters'), false) THEN
            f7(per(tokens_per_step, seq_len), seq_len, nullif(layers, 0), nullif(hidden, 0), vocab_used,
               coalesce(nullif(heads, 0), 1), CASE WHEN heads > 0 THEN coalesce(kv_heads, heads) ELSE 1 END)
        END AS from_shape,
        CASE WHEN dense AND NOT coalesce(list_contains(flags, 'adapters'), false) THEN f5(coalesce(params_stated, params_b * 1e9), tokens_per_step) END AS from_label,
        vocab_assumed
    FROM configurations
)
SELECT run_id, world_size, coalesce(from_shape, from_label) AS flops,
    CASE WHEN from_shape IS NOT NULL THEN 'F7' ELSE 'F5' END AS formula,
    from_shape IS NOT NULL AND vocab_assumed AS vocab_assumed
FROM counted WHERE coalesce(from_shape, from_label) > 0 AND isfinite(coalesce(from_shape, from_label));
