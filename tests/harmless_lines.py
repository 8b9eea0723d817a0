"""Lines of logs and settings that only look as if they had a secret.

Written before a look at the rules: 5 of 300 were redacted at first.
"""

# ruff: noqa: E501 (lines as they are printed)

LINES = """\
iteration 100/ 500 | consumed samples: 51200 | elapsed time per iteration (ms): 1234.5 | learning rate: 1.000E-04 | global batch size: 512 | lm loss: 6.1E+00 | loss scale: 1.0
number of tokens: 380000000000
tokens per second: 123456
tokens_per_s=5123.4
token throughput: 4123 tok/s
max_token_len=4096
special_tokens_map: {'bos_token': '<s>', 'eos_token': '</s>', 'pad_token': '<pad>'}
eos_token_id: 50256
bos_token=<|begin_of_text|>
tokenizer: GPT2BPETokenizer
  tokenizer_type .................. GPT2BPETokenizer
  vocab_file ................ gpt2-vocab.json
  merge_file ................ gpt2-merges.txt
  key_value_heads ................ 8
num_key_value_heads: 8
  query_key_layer_scaling ............ True
apply_query_key_layer_scaling = False
attention key size 128
cache key: 8f3e2d1c
sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
commit 9f8c30e9a1b2c3d4e5f60718293a4b5c6d7e8f90
git_hash=9f8c30e9a1b2c3d4e5f60718293a4b5c6d7e8f90
run id: 3f9a2b1c
wandb: Run data is saved locally in /x/wandb/run-20240101_120000-abc12def
wandb run abc12def
job 1234567.pbs01
SLURM_JOB_ID=123456
SLURM_JOB_NODELIST=node[001-064]
CUDA_VISIBLE_DEVICES=0,1,2,3
NCCL_IB_HCA=mlx5_0,mlx5_1
NCCL_SOCKET_IFNAME=ib0
OMP_NUM_THREADS=12
GPU-8f3e2d1c-1111-2222-3333-444455556666
uuid: 8f3e2d1c-1111-2222-3333-444455556666
NVIDIA A100-SXM4-80GB
driver 535.104.05
seed=1234
random seed: 8675309
pass 3 of 10
passed=12 failed=0
passes: 4
forward pass 12.3 ms
backward pass: 24.6 ms
bypass=True
compass: 3
password: not set
password=None
token: null
api_key=None
api_key: ''
  wandb_key ............ None
  hf_token ................ None
auth: disabled
secret: false
secrets=[redacted]
credentials: default
authentication method: none
no token found, using anonymous
WANDB_MODE=offline
WANDB_PROJECT=bench-7b
WANDB_ENTITY=team-ml
HF_HOME=/scratch/hf
HF_HUB_OFFLINE=1
TOKENIZERS_PARALLELISM=false
TRANSFORMERS_CACHE=/scratch/cache
MASTER_ADDR=10.0.0.1
MASTER_PORT=29500
rendezvous id=abcd1234
rdzv_id: 8f2c
rdzv_endpoint=node01:29400
http://node01:29400
https://github.com/NVIDIA/Megatron-LM
https://huggingface.co/meta-llama/Llama-2-7b-hf
https://arxiv.org/abs/2104.04473
s3://bucket/data/part-00000-of-00256.parquet
gs://bucket/llama/ckpt-1000
/data/pile_text_document
data_path=/data/pile_text_document
checkpoint saved to /ckpt/iter_0001000
iter_0001000/mp_rank_00_model_states.pt
mp_rank_00_000
zero_pp_rank_0_mp_rank_00_optim_states.pt
loss: 2.3456 | grad norm: 1.234 | num zeros: 0
lm loss PPL: 1.234E+02
time (ms) | forward-backward: 1234.56 | optimizer: 12.34
TFLOPs: 145.6
samples/sec: 12.34
peak memory 72345 MiB
MFU: 45.3%
mfu=0.453
hidden_size=12288
ffn_hidden_size: 49152
num_layers: 96
seq_length=2048
global_batch_size=1536
micro_batch_size: 1
tp=8 pp=16 dp=4
pipeline_parallel_size: 16
expert_parallel_size=8
num_experts: 64
topk=2
rotary_base=10000
rope_theta: 500000.0
activation: swiglu
dtype=bfloat16
precision: bf16-mixed
optimizer: AdamW
adam_beta1=0.9
weight_decay: 0.1
clip_grad: 1.0
lr_warmup_iters=2000
min_lr: 1e-5
loss_scale: 65536
fp8_format=hybrid
fp8_amax_history_len: 1024
recompute_granularity: selective
use_flash_attn=True
sequence_parallel: True
overlap_grad_reduce=True
bucket_size: 500000000
reduce_bucket_size=5e8
allgather_bucket_size: 200000000
stage3_param_persistence_threshold: 100000
sub_group_size=1000000000
host key verification: ok
key: value
keys: [1, 2, 3]
Public key fingerprint SHA256:abcdefghijklmnop
keyboard interrupt
monkey=1
turkey: 2
hotkey=ctrl
primary_key=run_id
sort_key: step
key=lr value=0.0001
param_key=layers.0.weight
"layers.0.attention.key.weight": [4096, 4096]
query_key_value.weight torch.Size([12288, 4096])
k_proj v_proj q_proj
token_embedding.weight: torch.Size([50304, 4096])
wte.weight
num_tokens=1,234,567
tokens: 1.2T
train_tokens 380B
tokens/s/gpu: 3456.7
tokens_per_gpu_per_second=3456
tok/s=23456
total_tokens: 512000000
consumed_tokens=104857600
padded_vocab_size: 50304
vocab size=32000
pad_token_id=0
unk_token: <unk>
mask_token=[MASK]
cls_token: [CLS]
sep_token=[SEP]
additional_special_tokens: ['<|im_start|>', '<|im_end|>']
tokenizer_path=/models/tokenizer.model
token_type_ids: None
max_new_tokens=256
max_tokens: 2048
token_level=True
use_auth_token=False
use_auth_token: True
trust_remote_code=True
authorized users only
author: Jane Doe
authors=MosaicML
signature: v2
signature_columns=input_ids
sig=3
code: 0
exit code 137
exit_code=1
return code: -9
error_code=cudaErrorIllegalAddress
code=c10::Error
state: RUNNING
state=COMPLETED
AllocTRES=cpu=64,mem=512G,node=1,billing=64,gres/gpu=8
TRES: gres/gpu:a100=8
account=proj_123
Account: gpu-large
user=jdoe
username: jdoe
login node: login01
login=jdoe
hostname: dgx-001
node: nid005678
dsn=none
session: 1
session_id=20240101-120000
session name: bench-7b-tp8
cookie: none
cert: /etc/ssl/certs/ca.pem
ssl=False
tls: off
pin_memory=True
pinned: 3
pin=0-11
PIN cores 0-11
salt=0
hash: 0x1234abcd
digest=abc123
checksum: 1a2b3c4d
md5: d41d8cd98f00b204e9800998ecf8427e
crc32=deadbeef
build: 20240101.1234
version=2.1.0+cu121
torch 2.3.0a0+40ec155e58.nv24.03
container nvcr.io/nvidia/pytorch:24.03-py3
image: ghcr.io/org/img@sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
image digest sha256:9b2c
ENV PATH=/usr/local/bin:/usr/bin
LD_PRELOAD=/usr/lib/libjemalloc.so
PYTHONPATH=/w/Megatron-LM
PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
NCCL_ALGO=Ring
NCCL_PROTO=Simple
UCX_TLS=rc,sm,cuda_copy
FI_PROVIDER=efa
FI_EFA_USE_DEVICE_RDMA=1
torchrun --nproc_per_node=8 --nnodes=4 pretrain.py --lr 1e-4
python -m torch.distributed.run --rdzv_id=123 pretrain_gpt.py
srun --export=ALL --mpi=pmix python t.py
sbatch --export=ALL,NNODES=4 job.sh
mpirun -x NCCL_DEBUG=INFO -np 8 python t.py
mpirun -genv I_MPI_DEBUG 5 -np 8
#SBATCH --account=proj_123
#SBATCH --gres=gpu:8
curl -s http://node01:8080/metrics
docker run --gpus all -p 8888:8888 img
ssh -p 22 node01 hostname
mysql: not used
time=2024-01-01T12:00:00.123456Z
2024-01-01 12:00:00,123 INFO [trainer.py:123] step 5
elapsed=12:34:56
eta: 1 day, 2:03:04
epoch 1/3
step=100 loss=2.345 ppl=10.43
"loss": 2.3456789012345678
"throughput": 123456.78901234567
0.12345678901234567890
1.2345678901234567e-05
[1.0, 2.0, 3.0]
0x7fffdeadbeef
0x00007f8a1c2d3e4f
pid 123456 tid 140234567890
rank 7 local_rank 7
[rank7]: watchdog
c10d::ProcessGroupNCCL key 0
store key worker/attempt_0/default/0//cuda//0
TCPStore key default_pg/0//0
NCCL version 2.20.5+cuda12.4
ncclUniqueId 0x8f3e2d1c4b5a6978
comm 0x55d5c8a0 rank 0 nranks 8 cudaDev 0 commId 0x8f3e2d1c4b5a6978
node01:12345:12345 [0] NCCL INFO Channel 00/24 : 0 1 2 3
GPU 00000000:07:00.0
PCI 0000:07:00.0
serial: 1324021012345
SN=1324021012345
board id: 0x700
vbios 92.00.45.00.03
power draw 345.67 W
clocks.sm 1410 MHz
temp=65C
util: 98%
energy=123456 J
kWh: 12.3
cost: $12.34
price=2.10 USD
pass@1: 0.345
pass@1=34.5
acc_norm=0.5678
hellaswag: 0.7654
mmlu=0.4567
perplexity: 12.34
bleu=34.5
rouge1: 0.4567
passkey retrieval: 98%
needle accuracy=0.99
secretary problem baseline: 0.37
secret santa dataset loss 1.2
token_acc=0.987
key_padding_mask: None
private_keys: 0
shared_experts: 1
access pattern: sequential
access=rw
grant: 0
permission=755
umask: 022
credential_helper=
api: v1
api_version=2023-05-15
endpoint: http://localhost:8000/v1
base_url=http://localhost:8000
webhook: none
proxy=
no_proxy: localhost
"""
