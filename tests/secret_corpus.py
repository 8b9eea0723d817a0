"""Secrets of many kinds where people leave them: made anew from a seed, none is anybody's.

A context is a text with `{kind}` where a secret stands. Half of the contexts are for working on the
rules; the other half is looked at only to count what is missed.
"""

# ruff: noqa: E501 (lines as they are printed)

import base64
import random
import re
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_HEX, _UPPER = "0123456789abcdef", string.ascii_uppercase + string.digits
_ALNUM = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True)
class Example:
    """A text with secrets in it; `area` says what kind of file it is from."""

    area: str
    context: str
    text: str
    secrets: tuple[str, ...]
    held_out: bool


def examples(seed: int = 20261124, values: int = 2) -> Iterator[Example]:
    """Each context with so many draws of values; the same for the same seed."""
    chance = random.Random(seed)
    contexts = [(area, each) for area, listed in CONTEXTS.items() for each in listed]
    contexts += [("log", each.replace("SHAPE", kind)) for kind in SHAPES for each in AROUND_SHAPES]
    for number, (area, context) in enumerate(contexts):
        for _ in range(values):
            text, secrets = _filled(context, chance)
            yield Example(area, context, text, secrets, number % 2 == 1)


def _filled(context: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    secrets: list[str] = []

    def put(found: re.Match[str]) -> str:
        made = KINDS[found[1]](chance)
        # Of what stands on several lines each line is a secret of its own.
        lines = made.replace("\\n", "\n").split("\n")
        secrets.extend(line for line in lines if "-----" not in line)
        return made

    return re.sub(r"\{(\w+)\}", put, context), tuple(secrets)


def _of(letters: str, length: int, before: str = "") -> Callable[[random.Random], str]:
    return lambda chance: before + "".join(chance.choices(letters, k=length))


def _opaque(chance: random.Random) -> str:
    return "".join(chance.choices(_ALNUM, k=chance.randint(20, 40))) + "7q"


def _password(chance: random.Random) -> str:
    return "".join(chance.choices(_ALNUM, k=6)) + chance.choice("!#%^*+~") + _of(_ALNUM, 5)(chance)


def _base64(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(chance.choice((30, 33, 48)))).decode()


def _jwt(chance: random.Random) -> str:
    claims = base64.urlsafe_b64encode(b'{"sub":"' + _opaque(chance).encode() + b'"}').decode()
    return f"eyJhbGciOiJIUzI1NiJ9.{claims.rstrip('=')}.{_of(_ALNUM, 43)(chance)}"


def _in_base64(chance: random.Random) -> str:
    return base64.b64encode(f"WANDB_API_KEY={_opaque(chance)}\n".encode()).decode()


def _login(chance: random.Random) -> str:
    return base64.b64encode(f"me:{_password(chance)}".encode()).decode()


def _body(chance: random.Random) -> str:
    return base64.b64encode(chance.randbytes(48)).decode()


def _key_file(chance: random.Random) -> str:
    inside = "\n".join(_body(chance) for _ in range(4))
    return f"-----BEGIN RSA PRIVATE KEY-----\n{inside}\n-----END RSA PRIVATE KEY-----"


def _key_text(chance: random.Random) -> str:
    return _key_file(chance).replace("RSA ", "").replace("\n", "\\n")


SHAPES: dict[str, Callable[[random.Random], str]] = {
    "hugging_face": _of(string.ascii_letters, 34, "hf_"),
    "github": _of(_ALNUM, 36, "ghp_"),
    "github_fine": _of(_ALNUM, 82, "github_pat_"),
    "gitlab": _of(_ALNUM, 20, "glpat-"),
    "gitlab_runner": _of(_ALNUM, 20, "glrt-"),
    "aws_id": _of(string.ascii_uppercase + "234567", 16, "AKIA"),
    "openai": lambda chance: f"sk-proj-{_of(_ALNUM, 74)(chance)}T3BlbkFJ{_of(_ALNUM, 74)(chance)}",
    "anthropic": lambda chance: f"sk-ant-api03-{_of(_ALNUM, 93)(chance)}AA",
    "slack_bot": lambda c: f"xoxb-{_of('123456789', 11)(c)}-{_of('123456789', 12)(c)}-{_of(_ALNUM, 24)(c)}",
    "slack_app": lambda c: f"xapp-1-{_of(_UPPER, 11)(c)}-{_of('123456789', 13)(c)}-{_of(_HEX, 64)(c)}",
    "google": _of(_ALNUM, 35, "AIza"),
    "jwt": _jwt,
    "stripe": _of(_ALNUM, 24, "sk_live_"),
    "sendgrid": lambda c: f"SG.{_of(_ALNUM, 22)(c)}.{_of(_ALNUM, 43)(c)}",
    "npm": _of(_ALNUM, 36, "npm_"),
    "pypi": _of(_ALNUM, 70, "pypi-AgEIcHlwaS5vcmc"),
    "docker": _of(_ALNUM, 27, "dckr_pat_"),
    "nvidia": _of(_ALNUM, 64, "nvapi-"),
    "databricks": _of(_HEX, 32, "dapi"),
    "digitalocean": _of(_HEX, 64, "dop_v1_"),
    "vault": _of(_ALNUM, 95, "hvs."),
    "perplexity": _of(_ALNUM, 48, "pplx-"),
    "replicate": _of(_ALNUM, 37, "r8_"),
    "groq": _of(_ALNUM, 52, "gsk_"),
    "xai": _of(_ALNUM, 80, "xai-"),
    "linear": _of(_ALNUM, 40, "lin_api_"),
    "notion": lambda c: f"ntn_{_of('123456789', 11)(c)}{_of(_ALNUM, 35)(c)}",
    "tailscale": lambda c: f"tskey-auth-{_of(_ALNUM, 12)(c)}-{_of(_ALNUM, 32)(c)}",
    "telegram": lambda c: f"{_of('123456789', 10)(c)}:AA{_of(_ALNUM, 33)(c)}",
    "shopify": _of(_HEX, 32, "shpat_"),
    "grafana": lambda c: f"glsa_{_of(_ALNUM, 32)(c)}_{_of(_HEX, 8)(c)}",
    "postman": lambda c: f"PMAK-{_of(_HEX, 24)(c)}-{_of(_HEX, 34)(c)}",
}  # fmt: skip
KINDS: dict[str, Callable[[random.Random], str]] = {
    **SHAPES, "opaque": _opaque, "password": _password, "base64": _base64, "in_base64": _in_base64,
    "login": _login, "hex32": _of(_HEX, 32), "hex40": _of(_HEX, 40), "body": _body,
    "key_file": _key_file, "key_text": _key_text,
    "uuid": lambda c: "-".join(_of(_HEX, n)(c) for n in (8, 4, 4, 4, 12)),
}  # fmt: skip
AROUND_SHAPES = (
    "[rank3]: ValueError: cannot use SHAPE_ (status 401)".replace("SHAPE_", "{SHAPE}"),
    "2026-11-20 10:00:00 | INFO | cfg={'hub': {'x': \"{SHAPE}\"}}",
)
CONTEXTS: dict[str, tuple[str, ...]] = {
    "log": (
        "openai.AuthenticationError: Error code: 401 - {'error': {'message': 'Incorrect API key provided: {opaque}.'}}",
        "huggingface_hub.errors.HfHubHTTPError: 401 Client Error for url: https://huggingface.co/api/whoami?token={opaque}",
        "ValueError: Invalid token passed: {opaque}",
        "wandb.errors.AuthenticationError: API key must be 40 characters long, yours was 39: {opaque}",
        "requests.exceptions.HTTPError: 403 for url: https://discord.com/api/webhooks/123456789012345678/{opaque}",
        "sqlalchemy.exc.OperationalError: could not connect to postgresql://bench:{password}@db.example.org:5432/x",
        "redis.exceptions.AuthenticationError: invalid password for redis://:{password}@10.0.0.1:6379/0",
        "subprocess.CalledProcessError: Command '['curl', '-H', 'Authorization: Bearer {opaque}', 'https://x']' returned non-zero exit status 22.",
        "subprocess.CalledProcessError: Command '['mysql', '-u', 'root', '-p{password}', 'bench']' died",
        "CalledProcessError: Command '['huggingface-cli', 'login', '--token', '{opaque}']' returned 1",
        "train.py: error: unrecognized arguments: --wandb-key {hex40}",
        "Namespace(lr=0.1, api_key='{opaque}', tp=1)",
        "KeyError: 'HF_TOKEN={opaque}'",
        "botocore.exceptions.ClientError: The AWS Access Key Id {aws_id} you provided does not exist",
        "fatal: Authentication failed for 'https://oauth2:{opaque}@gitlab.com/x/y.git/'",
        "remote: Invalid username or password. token={opaque}",
        "AuthenticationException: password for user 'me' is '{password}'",
        "[rank0]: RuntimeError: login failed (user=me, password={password})",
        "    wandb.login(key='{hex40}', relogin=True)",
        '    login(token="{opaque}")',
        '  api_key = "{opaque}"  # noqa',
        "GET https://accounts.example.org/o/oauth2/callback?code={opaque}&state=1 200",
        "open http://localhost:8888/?code={opaque}",
        "    http://127.0.0.1:8888/lab?token={opaque}",
        "GET https://s3.amazonaws.com/b/k?X-Amz-Date=20261120T000000Z&X-Amz-Signature={hex40}",
        "https://storage.googleapis.com/b/o?GoogleAccessId=me&Expires=1&Signature={opaque}",
        "https://acct.blob.core.windows.net/c?sv=2022-11-02&sig={opaque}",
        "https://hooks.slack.com/services/T00000000/B00000000/{opaque}",
        "POST https://org.webhook.office.com/webhookb2/{uuid}@{uuid}/IncomingWebhook/{hex32}/{uuid}",
        "https://api.telegram.org/bot{telegram}/sendMessage",
        "Sentry is attached: https://{hex32}@o12345.ingest.sentry.io/42",
        "mongodb+srv://user:{password}@cluster0.mongodb.net/x",
        "amqp://guest:{password}@mq:5672//",
        "jdbc:mysql://db/x?user=me&password={opaque}",
        "Server=db;User Id=sa;Password={password};Encrypt=yes",
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={base64};EndpointSuffix=core",
        "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={base64}",
        "connect(host=db port=5432 user=me password={password} dbname=x)",
        "Cookie: session={opaque}; path=/",
        "Set-Cookie: sessionid={opaque}; HttpOnly",
        "X-API-Key: {opaque}",
        "> x-auth-token: {opaque}",
        "> Authorization: Basic {login}",
        "> authorization: token {opaque}",
        "headers={'Authorization': 'Bearer {opaque}', 'Accept': '*/*'}",
        "headers={'X-Api-Key': '{opaque}', 'Accept': '*/*'}",
        "> PRIVATE-TOKEN: {opaque}",
        '{"auths": {"nvcr.io": {"auth": "{login}"}}}',
        "+ echo {in_base64} | base64 -d",
        "extra: {in_base64}",
        '"private_key": "{key_text}", "client_email": "x@y"',
        "{key_file}",
        "loaded key:\n{body}\n{body}\n{body}",
        "auth failed, using password {password}",
        "Using API key {opaque} from the environment",
        "wandb: Appending key for api.wandb.ai: {hex40}",
        "access token: {opaque} (expires in 3600 s)",
        "with credentials ('me', '{password}')",
        "TypeError: login() got an unexpected keyword argument: {'password': '{password}'}",
    ),
    "script": (
        "export HF_TOKEN={opaque}",
        "setenv HF_TOKEN {opaque}",
        'setenv WANDB_API_KEY "{hex40}"',
        "set -x HF_TOKEN {opaque}",
        "HF_TOKEN={opaque} python train.py",
        "env WANDB_API_KEY={hex40} torchrun train.py",
        "srun --export=ALL,WANDB_API_KEY={hex40} python train.py",
        "#SBATCH --export=ALL,HF_TOKEN={opaque}",
        "#SBATCH --export=NONE,X_SECRET={opaque},Y=1",
        "#PBS -v HF_TOKEN={opaque},A=1",
        "qsub -v A=1,WANDB_API_KEY={hex40} run.sh",
        "mpirun -np 8 -x HF_TOKEN={opaque} -x PATH python train.py",
        "mysql -uroot -p{password} bench < x.sql",
        "mysqldump --password={password} bench",
        'psql "postgresql://me:{password}@h/x"',
        "sshpass -p{password} ssh host",
        "sshpass -p '{password}' scp a b:",
        "docker login -u me -p {opaque} nvcr.io",
        "docker run -e HF_TOKEN={opaque} -e A=1 image",
        "docker run --env WANDB_API_KEY={hex40} image",
        "singularity exec --env HF_TOKEN={opaque} x.sif train",
        "export SINGULARITYENV_HF_TOKEN={opaque}",
        "curl -u me:{password} https://x.org",
        'curl -s --user "me:{password}" https://x.org',
        'curl -H "X-Auth-Token: {opaque}" https://x.org',
        "wget --http-password={password} https://x.org",
        'wget --header="Authorization: Bearer {opaque}" https://x.org',
        "git clone https://{opaque}@github.com/x/y",
        "git clone https://x-access-token:{opaque}@github.com/x/y",
        'git config http.extraheader "AUTHORIZATION: basic {login}"',
        "wandb login {hex40}",
        "wandb login --relogin {hex40}",
        "huggingface-cli login --token {opaque}",
        "hf auth login --token {opaque}",
        "aws configure set aws_secret_access_key {opaque}",
        'echo "{opaque}" | docker login --username me --password-stdin',
        'echo "machine api.wandb.ai login user password {hex40}" >> ~/.netrc',
        "  password {password}",
        'echo "db:5432:*:me:{password}" >> ~/.pgpass',
        "openssl enc -aes-256-cbc -pass pass:{password} -in x",
        "kubectl create secret generic x --from-literal=token={opaque}",
        "az login --service-principal -u x --password {opaque} --tenant y",
        "az storage blob upload --account-key {base64} -f x",
        'az storage blob upload --sas-token "{opaque}" -f x',
        "gpg --batch --passphrase {password} -d x.gpg",
        "redis-cli -h cache -a {password} ping",
        "ENV HF_TOKEN {opaque}",
        "ARG GITHUB_TOKEN={opaque}",
        "rclone config create x s3 secret_access_key {opaque}",
        "smbclient //h/share -U me%{password}",
        'TOKEN="${TOKEN:-{opaque}}"',
        "read -r API_KEY <<< '{opaque}'",
        "python train.py --hf_token={opaque} --tp 1",
        "python train.py --tp 1 --api-key '{opaque}'",
        "mlflow server --backend-store-uri mysql://me:{password}@h/x",
        "ssh-keygen -t ed25519 -N {password} -f key",
    ),
    "wandb": (
        '"args": ["--lr", "1", "--api-key", "{opaque}", "--tp", "1"]',
        '    "--hf-token",\n    "{opaque}",',
        "api_key:\n  desc: null\n  value: {opaque}",
        "wandb_key:\n    value: {hex40}",
        "config: {'lr': 1, 'api_key': '{opaque}', 'tp': 1}",
        '{"config": {"hub_token": {"value": "{opaque}"}}}',
    ),
    "hydra": (
        "- +logger.wandb.api_key={hex40}",
        "- ++hub.token={opaque}",
        "hub:\n  token: {opaque}\n  private: true",
        "token: ${oc.env:HF_TOKEN,{opaque}}",
        "trainer.logger.password='{password}'",
        "[2026-11-20][HYDRA] #0 : hub.token={opaque} model=x",
    ),
    "deepspeed": (
        '"comet": {"enabled": true, "api_key": "{opaque}"}',
        '"wandb": {"enabled": true, "key": "{hex40}"}',
        '"hf_auth_token": "{opaque}",',
        "  comet_config ................. {'enabled': True, 'api_key': '{opaque}'}",
        "  monitor_config ............... wandb=WandbConfig(enabled=True, api_key='{opaque}')",
        "[INFO] [launch.py] cmd = ['python', 'train.py', '--hf_token={opaque}']",
        "[INFO] [runner.py] cmd = python -u train.py --wandb_api_key {hex40} --deepspeed",
    ),
    "environment": (
        'declare -x AWS_SECRET_ACCESS_KEY="{opaque}"',
        "AWS_SESSION_TOKEN={base64}",
        "OPENAI_KEY={opaque}",
        "DB_PWD={password}",
        "ENCRYPTION_KEY={base64}",
        "MLFLOW_TRACKING_PASSWORD={password}",
        "NEPTUNE_API_TOKEN={base64}",
        "CLEARML_API_SECRET_KEY={opaque}",
        "SLURM_JWT={jwt}",
        "SSH_KEY_PASSPHRASE={password}",
        "PIP_INDEX_URL=https://me:{opaque}@pypi.example.org/simple",
        "SLACK_WEBHOOK_URL=https://hooks.slack.com/services/T0/B0/{opaque}",
        "SENTRY_DSN=https://{hex32}:{hex32}@sentry.example.org/2",
        "DATABASE_URL=postgres://u:{password}@h:5432/d",
        "GIT_ASKPASS_TOKEN='{opaque}'",
        "COOKIE=session={opaque}",
    ),
    "pip": (
        "--extra-index-url https://me:{opaque}@pypi.example.org/simple",
        "flash-attn @ git+https://{opaque}@github.com/o/p@abc123",
        "-e git+https://me:{opaque}@gitlab.com/x.git@abc123#egg=x",
        "Looking in indexes: https://__token__:{opaque}@pypi.example.org/simple",
        "index-url = https://u:{password}@h.example.org/simple",
    ),
    "sacct": (
        "12|train|COMPLETED|sbatch --export=ALL,HF_TOKEN={opaque} run.sh|00:10:00",
        "13|train|FAILED|srun --export=ALL,A=1,WANDB_API_KEY={hex40} python x|00:10:00",
        "14|train|FAILED|sbatch --wrap=python x --token {opaque}|00:10:00",
        "   SubmitLine=sbatch --export=ALL,DB_PASSWORD={password} run.sh",
        "   Comment=token:{opaque}",
    ),
    "markdown": (
        "| HF_TOKEN | {opaque} |",
        "Run `export WANDB_API_KEY={hex40}` first.",
        "**Password:** {password}",
        "- API key: `{opaque}`",
        "The token is {opaque}.",
        'Its password is "{password}", ask me.',
        "| 8 | tp=4 api_key={opaque} | 1.5 |",
        "[the dashboard](https://u:{password}@host.example.org/)",
        "$ curl -H 'Authorization: Bearer {opaque}' https://x.org",
        "<!-- token: {opaque} -->",
        "<td>api_key</td><td>{opaque}</td>",
        "login: me / password: {password}",
        "> Secret: {opaque}",
    ),
}
