-- title: Parameters of a GPT without its embeddings
-- unit: parameters
-- source: arXiv 2104.04473 eq. 2 without its (V + s) h term
-- counts: attention, MLP of 4h, biases and layer norms
CREATE OR REPLACE MACRO p1n(l, h) AS l * (12e0 * h * h + 13e0 * h) + 2e0 * h;
