"""What findings call our columns."""

TITLES = {
    "nodes": "Nodes",
    "devices": "GPUs",
    "ranks": "Ranks",
    "dp": "DP",
    "tp": "TP",
    "pp": "PP",
    "cp": "CP",
    "mbs": "MBS",
    "gbs": "GBS",
    "grad_accum": "GA",
    "heads": "Heads",
    "hidden": "Hidden",
    "layers": "Layers",
    "step_time": "Sec/it",
    "tflops": "TFLOPs",
    "mem": "Mem",
    "seq_len": "Seq len",
}
