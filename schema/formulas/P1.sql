-- title: Parameters of a GPT with learned positions and tied embeddings
-- unit: parameters
-- source: arXiv 2104.04473 eq. 2, and 2h for the final layer norm
-- counts: attention, MLP of 4h, biases and layer norms, token and position embeddings
CREATE OR REPLACE MACRO p1(l, h, v, s) AS
    l * (12e0 * h * h + 13e0 * h) + h * (1e0 * v + s) + 2e0 * h;
