"""Signatures beside a claim, made and checked by OpenSSH: `ssh-keygen -Y`, namespace bench-claim.

The signature is of the file's bytes and lies in CLAIM.sig, so that anybody can check it without
bench. Other signers of files, such as cosign, sign the same bytes: nothing here has to know them.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ..schema.errors import BenchError
from .statement import read_bytes
from .verdict import Verdict, Way

NAMESPACE = "bench-claim"
SUFFIX = ".sig"
_MOST = 64 << 10  # bytes of a signature
_WAIT_S = 120.0  # a passphrase is asked for on the terminal


def signature_of(claim: Path) -> Path:
    """Where the signature of a claim lies."""
    return claim.with_name(claim.name + SUFFIX)


def sign(data: bytes, key: Path) -> bytes:
    """The signature of a claim's bytes by a private key, or by the agent for a public one.

    Raises BenchError where there is no ssh-keygen, or it refuses the key.
    """
    if not key.is_file():
        raise BenchError(f"no key at {key}", hint="--sign ~/.ssh/id_ed25519")
    done = _ssh("sign", "-q", "-f", str(key.absolute()), "-n", NAMESPACE, given=data)
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise BenchError(f"ssh-keygen did not sign with {key}", why=_said(done))
    return done.stdout


def check(data: bytes, signature: Path, allowed: Path | None) -> tuple[Verdict | None, str]:
    """What is wrong with the signature of these bytes, and else who has signed.

    Without `allowed`, a file of allowed signers as ssh-keygen(1) has it, any key will do, and no
    signature at all. Raises BenchError where there is no ssh-keygen or no such file.
    """
    if allowed is not None and not allowed.is_file():
        raise BenchError(f"no allowed signers at {allowed}", hint="see ssh-keygen(1)")
    if not signature.is_file():
        if allowed is None:
            return None, "not signed"
        return Verdict(Way.UNSIGNED, f"There is no signature at {signature}."), ""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        # A copy: what is read is what is checked, and no name begins with a dash.
        copy = Path(folder, "sig")
        copy.write_bytes(read_bytes(signature, _MOST))
        done = _ssh("check-novalidate", "-n", NAMESPACE, "-s", str(copy), given=data)
        if done.returncode:
            words = f"The signature {signature} is not one of this claim."
            return Verdict(Way.SIGNATURE, words), ""
        if allowed is None:
            return None, f"signed by an unchecked key ({_key(done)})"
        return _by_whom(data, copy, allowed.absolute(), _key(done))


def _by_whom(data: bytes, copy: Path, allowed: Path, key: str) -> tuple[Verdict | None, str]:
    named = _ssh("find-principals", "-s", str(copy), "-f", str(allowed))
    listed = "" if named.returncode else named.stdout.decode("utf-8", "replace")
    for principal in (one for line in listed.splitlines() for one in line.split(",")):
        done = _ssh("verify", "-f", str(allowed), "-I", principal, "-n", NAMESPACE, "-s", str(copy),
                    given=data)  # fmt: skip
        if not done.returncode:
            return None, f"signed by {principal}"
    words = f"The claim is signed by {key}, which is none of the allowed signers."
    return Verdict(Way.SIGNER, words), ""


def _key(done: subprocess.CompletedProcess[bytes]) -> str:
    words = done.stdout.decode("utf-8", "replace").split()
    return next((word for word in words if word.startswith("SHA256:")), "an unknown key")


def _ssh(way: str, *words: str, given: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(["ssh-keygen", "-Y", way, *words], input=given, capture_output=True,
                              timeout=_WAIT_S, check=False)  # fmt: skip
    except FileNotFoundError as error:
        raise BenchError("ssh-keygen not found", why="it signs claims and checks signatures",
                         hint="install OpenSSH 8.2 or newer") from error  # fmt: skip
    except subprocess.TimeoutExpired as error:
        raise BenchError("ssh-keygen did not answer", hint="ssh-add the key first") from error


def _said(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[-500:]
