"""Detached signatures of claims by OpenSSH: `ssh-keygen -Y`, namespace bench-claim.

CLAIM.sig signs the bytes of the file, so it can be verified without bench. Other tools that sign
files, such as cosign, need no support here.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

from ..schema.errors import BenchError
from .statement import read_bytes
from .verdict import Fault, Verdict

NAMESPACE = "bench-claim"
SUFFIX = ".sig"
_MOST = 64 << 10  # bytes of a signature
_WAIT_S = 120.0  # ssh-keygen may prompt for a passphrase


def signature_of(claim: Path) -> Path:
    """The path of a claim's signature."""
    return claim.with_name(claim.name + SUFFIX)


def sign(data: bytes, key: Path) -> bytes:
    """Sign a claim's bytes with a private key, or through the agent for a public key.

    Raises BenchError without ssh-keygen, or if it refuses the key.
    """
    if not key.is_file():
        raise BenchError(f"no key at {key}", hint="--sign ~/.ssh/id_ed25519")
    done = _ssh("sign", "-q", "-f", str(key.absolute()), "-n", NAMESPACE, given=data)
    if done.returncode or not done.stdout.startswith(b"-----BEGIN SSH SIGNATURE-----"):
        raise BenchError(f"ssh-keygen did not sign with {key}", why=_error_text(done))
    return done.stdout


def check(data: bytes, signature: Path, allowed: Path | None) -> tuple[Verdict | None, str]:
    """Verify the signature of these bytes: the verdict if it is bad, else a note on the signer.

    `allowed` is a file of allowed signers, see ssh-keygen(1); without it any key is accepted, and
    so is a missing signature. Raises BenchError without ssh-keygen or without that file.
    """
    if allowed is not None and not allowed.is_file():
        raise BenchError(f"no allowed signers at {allowed}", hint="see ssh-keygen(1)")
    if not signature.is_file():
        if allowed is None:
            return None, "not signed"
        return Verdict(Fault.UNSIGNED, f"There is no signature at {signature}."), ""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        # Copied, so that the checked bytes are those read, and no file name begins with a dash.
        copy = Path(folder, "sig")
        copy.write_bytes(read_bytes(signature, _MOST))
        done = _ssh("check-novalidate", "-n", NAMESPACE, "-s", str(copy), given=data)
        if done.returncode:
            words = f"The signature {signature} is not one of this claim."
            return Verdict(Fault.SIGNATURE, words), ""
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
    return Verdict(Fault.SIGNER, words), ""


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


def _error_text(done: subprocess.CompletedProcess[bytes]) -> str:
    return done.stderr.decode("utf-8", "replace").strip()[-500:]
