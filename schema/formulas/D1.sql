-- title: Days to train a budget of tokens
-- unit: days
-- source: steps x step time / 86,400, with steps = tokens / (GBS x sequence length)
-- counts: goodput 1: no ramp-up, evaluation, saving or restarts
CREATE OR REPLACE MACRO d1(tokens, tokens_per_s) AS tokens / tokens_per_s / 86400e0;
