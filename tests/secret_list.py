"""A hundred texts with a secret each, written before anybody looked at the rules that find them.

`<a40>` stands for 40 letters and digits, `h` hexadecimal digits, `u` capitals and digits, `q` those
of bech32, `s` those of addresses and `e` of base64, `b` so many bytes in base64, `<w>` a password,
`<p>` one that a person chose, `<uuid>` one of these. Eight were missed at first.
"""

# ruff: noqa: E501 (lines as they are printed)

from __future__ import annotations

import base64
import random
import re
import string
import uuid
from collections.abc import Iterator, Sequence
from functools import partial

_ALNUM = string.ascii_letters + string.digits
_OF = {"a": _ALNUM, "h": "0123456789abcdef", "u": string.ascii_uppercase + string.digits,
       "q": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", "d": string.digits,
       "s": _ALNUM + "-_", "e": _ALNUM + "+/"}  # fmt: skip


def examples(seed: int = 77, texts: Sequence[str] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Each text, of these or of TEXTS, with its secrets; the same for the same seed."""
    chance = random.Random(seed)
    for text in texts or TEXTS:
        secrets: list[str] = []
        put = partial(_made, chance, secrets)
        yield re.sub(r"<([ahubqdse])(\d+)>|<[wp]>|<uuid>", put, text), tuple(secrets)


def words(number: int, seed: int = 78) -> Iterator[str]:
    """So many secrets by themselves."""
    chance = random.Random(seed)
    for _ in range(number):
        yield "".join(chance.choices(_ALNUM, k=chance.randrange(20, 41)))


def _made(chance: random.Random, secrets: list[str], found: re.Match[str]) -> str:
    if found[0] == "<w>":
        made = (
            "".join(chance.choices(_ALNUM, k=5))
            + chance.choice("!%+")
            + "".join(chance.choices(_ALNUM, k=6))
        )
    elif found[0] == "<p>":  # as a person would choose it
        word = chance.choice(("Falcon", "sunrise", "Marmot", "quartz", "Bergamo", "tulip"))
        made = (
            f"{word}{chance.choice('!#%^*+~')}{chance.randrange(100, 1000)}{chance.choice('xZk')}"
        )
    elif found[0] == "<uuid>":
        made = str(uuid.UUID(int=chance.getrandbits(128)))
    elif found[1] == "b":
        made = base64.b64encode(chance.randbytes(int(found[2]))).decode()
    else:
        made = "".join(chance.choices(_OF[found[1]], k=int(found[2])))
    secrets.append(made)
    return made


TEXTS = (
    "apiVersion: v1\nkind: Secret\nstringData:\n  db-password: <w>",
    "kind: Secret\ndata:\n  token: <b24>",
    "    client-key-data: <b60>",
    "//registry.npmjs.org/:_authToken=<a40>",
    "machine api.wandb.ai login user password <w>",
    "https://me:<a20>@github.com",
    '{"auths": {"https://index.docker.io/v1/": {"auth": "<b30>"}}}',
    '{"type": "service_account", "private_key_id": "abc", "private_key": "-----BEGIN PRIVATE KEY-----\\n<b40>\\n-----END PRIVATE KEY-----\\n"}',
    "-----BEGIN OPENSSH PRIVATE KEY-----\n<b45>\n-----END OPENSSH PRIVATE KEY-----",
    "export MLFLOW_TRACKING_PASSWORD=<w>",
    "COMET INFO: comet_ml.init(api_key='<a25>')",
    "NEPTUNE_API_TOKEN=<b60>",
    "ray start --head --redis-password=<a32>",
    "clearml: api.credentials.secret_key = <a50>",
    "ngc config set --api-key nvapi-<a64>",
    "TOGETHER_API_KEY=<h64>",
    "fireworks: Unauthorized key fw_<a24>",
    "CO_API_KEY: <a40>",
    'MISTRAL_API_KEY = "<a32>"',
    "curl -u secret_lambda_<h32>.<a32>: https://cloud.lambdalabs.com/api/v1/instances",
    "runpodctl config --apiKey rpa_<u44>",
    "vastai set api-key <h64>",
    "modal token set --token-id ak-abcdefghij0123456789kl --token-secret as-<a22>",
    "aws_secret_access_key = <a40>",
    "AWS_SESSION_TOKEN=<b100>",
    "mc alias set minio http://10.0.0.1:9000 minioadmin <a40>",
    "HMAC key created: GOOG1E0Q2W4E6R8T0Y2U4I6O8P0A2S4D6F8G secret: <b30>",
    "CLOUDFLARE_API_TOKEN='<a40>'",
    "doppler run --token dp.st.prd.<a43>",
    "pulumi login token pul-<h40>",
    'credentials "app.terraform.io" { token = "<a14>.atlasv1.<a65>" }',
    "supabase link, using sbp_<h40>",
    "heroku auth: HRKU-<uuid>",
    "discord bot started with M<a23>.<a6>.<a27>",
    "TWILIO_AUTH_TOKEN=<h32>",
    "mailgun key-<h32>",
    "DD_APP_KEY=<a40>",
    "newrelic: NRAK-<u27>",
    "snowflake.connector.connect(user='ME', password='<w>', account='x')",
    "VAULT_TOKEN=s.<a24>",
    "CONSUL_HTTP_TOKEN=<uuid>",
    "# created\nAGE-SECRET-KEY-1<q58>",
    "[Interface]\nPrivateKey = <b32>\nAddress = 10.0.0.2/32",
    "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n<b48>\n-----END PGP PRIVATE KEY BLOCK-----",
    "+ sshpass -p <w> ssh node1",
    "RSYNC_PASSWORD=<w> rsync -a host::x .",
    "mysql -h db -u root -p<w> bench",
    "PGPASSWORD=<w> psql -h db",
    "redis-cli -h 10.0.0.1 -a <w> ping",
    "curl -u admin:<w> https://grafana/api",
    "wget --user=me --password=<w> https://x/y",
    "mount -t cifs //s/x /mnt -o username=me,password=<w>,vers=3",
    "openssl enc -d -aes256 -pass pass:<w> -in a",
    "unzip -P <w> data.zip",
    "> X-API-Key: <a36>",
    "> Proxy-Authorization: Basic <b20>",
    "https_proxy=http://me:<w>@proxy:3128",
    "Looking in indexes: https://user:<a30>@pypi.corp/simple",
    "channel: https://conda.anaconda.org/t/ab-<uuid>/corp",
    "git clone https://x-access-token:ghs_<a36>@github.com/x/y",
    "svn co --username me --password <w> https://svn/x",
    "[I ServerApp] http://host:8888/?token=<h48>",
    "vncserver password set to <w>",
    'ELASTIC_PASSWORD: "<w>"',
    'sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="me" password="<w>";',
    "--conf spark.hadoop.fs.s3a.secret.key=<a40>",
    "srun --export=ALL,HF_TOKEN=<a40>,X=1 python train.py",
    "args.hub_token .................. hf_<a34>",
    "wandb: (1) key <h40>",
    "os.environ['OPENAI_API_KEY'] = '<a44>'",
    '"env": {"ANTHROPIC_AUTH_TOKEN": "<a44>"}',
    "setenv HUGGING_FACE_HUB_TOKEN <a44>",
    "set -x GITLAB_TOKEN <a30>",
    "docker run -e WANDB_API_KEY=<a30> -e X=1 img",
    "docker login -u me -p <a30> reg",
    "kubectl create secret generic hf --from-literal=token=<a30>",
    "helm install x --set auth.password=<a30>,replicas=2",
    "singularity exec --env HF_TOKEN=<a30> img.sif python",
    "deepspeed: cmd = pdsh -w n1 export SECRET_KEY=<a30>; cd /x",
    "hydra.job.override_dirname: lr=0.1,logger.api_key=<a30>",
    "logger:\n  wandb:\n    api_key: <a30>\n    project: x",
    '{"level": "info", "authorization": "Bearer <a30>"}',
    "headers={'Authorization': 'token <a30>'}",
    "WebSocket wss://x/socket?access_token=<a30>&v=1",
    "notify: https://hooks.slack.com/services/T12345678/B1234567890/<a24>",
    "POST https://discord.com/api/webhooks/123456789012345678/<a68>",
    "https://x.blob.core.windows.net/c?sv=2023&sig=<a43>%3D&se=2026",
    "AZURE_STORAGE_KEY=<b64>",
    "AZURE_CLIENT_SECRET=<a40>",
    "| DB_PASS | <w> |",
    "| variable | value |\n|---|---|\n| `ADMIN_PASSWORD` | `<w>` |",
    "<tr><td>API key</td><td><a30></td></tr>",
    "api_key=<a30> lr=1e-4 tp=4",
    "my secret is <a30>",
    "RuntimeError: 401 for token '<a30>'",
    "botocore: SignatureDoesNotMatch, secret key <a30>",
    "paramiko.AuthenticationException: password '<w>' rejected",
    "ldap.bind('cn=me', '<w>')",
    "NGC_API_KEY=<a32> \\",
    "SLACK: xoxp-<h12>-<h12>-<h12>",
)
