-- title: Est. Aggr. PetaFLOPs, as the documents define it
-- unit: 1024 TFLOP/s
-- source: DeepSpeedFugaku experiments: "Est. Aggr. PetaFLOPs = TFLOPs * Nodes / 1024"
-- counts: what the printed TFLOPs count
CREATE OR REPLACE MACRO a1(tflops, nodes) AS 1e0 * tflops * nodes / 1024e0;
