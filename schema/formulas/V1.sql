-- title: Padded vocabulary
-- unit: tokens
-- source: Megatron-LM tokenizer: padded to a multiple of 128 x tensor-parallel size
-- counts: every row of the embedding, used or not
CREATE OR REPLACE MACRO v1(vocab, tp) AS
    (ceil(vocab / (128e0 * nullif(tp, 0))) * 128 * tp)::BIGINT;
