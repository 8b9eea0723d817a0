"""Patterns of secrets: tokens of services, and what commands of the shell take as a password."""

from __future__ import annotations

import re

REDACTED = "[redacted]"
UNREAD = rf"(?!{re.escape(REDACTED[:-1])})"  # not yet redacted, cut or complete
# In addition to gitleaks' rules: services around models, and tokens shorter or older than there.
TOKENS = r"""(?x) (?<![A-Za-z0-9]) (?: (?:hf|gh[pousr])_[A-Za-z0-9]{16,} | hvs\.[\w-]{20,}
    | github_pat_\w{20,} | glpat-[\w-]{16,} | (?:AKIA|ASIA)[0-9A-Z]{16} | sk-[\w-]{16,}
    | xox[abeoprs]-[\w-]{8,} | nvapi-[\w-]{16,} | AIza[\w-]{30,} | dckr_pat_[\w-]{8,}
    | eyJ[\w-]{8,4000}\.[\w-]{4,}\.[\w-]* | (?:r8|gsk)_[A-Za-z0-9]{30,} | xai-[A-Za-z0-9]{30,}
    | tskey-[a-z]+-[\w-]{16,} | rpa_[A-Z0-9]{30,} | \d{8,11}:AA[\w-]{32,34}
    | [ps]k-lf-[0-9a-f-]{30,} | key-[0-9a-f]{32} | SK[0-9a-f]{32} | sbp_[0-9a-f]{40}
    | jina_[A-Za-z0-9]{30,} | secret_(?=[A-Za-z]*\d)[A-Za-z0-9]{40,}
    | ms-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12} | NRAK-[A-Z0-9]{27}
    | AAAA[\w-]{7}:APA91b[\w-]{100,} | figd_[\w-]{36,} | ya29\.[\w-]{20,} | ATATT3[\w=-]{100,}
    | AGE-(?:SECRET-KEY|PLUGIN-[A-Z0-9]{1,20})-1[A-Z0-9]{38,}
    | secret_[\w-]{2,40}_[0-9a-f]{32}\.\w{32}
    | v[1-4]\.(?:public|local)\.[\w-]{20,} | 1//[\w-]{20,}
    | (?:sk|live|lsv2_[ps][tk]|KGAT|bkua|sq[apu]|CCIPAT_\w{20,24})_[0-9a-f]{32,64}\w{0,12}
    | sk_(?=[A-Za-z_-]{0,30}\d)[\w-]{40,} | fc-[0-9a-f]{32} | (?<=slack://)[A-Za-z\d/]{24,}
    | [MNO][A-Za-z\d]{23,25}\.[\w-]{6}\.[\w-]{27,40} )
    | (?<=/bot)\d{8,11}:[\w-]{30,40}"""
COMMANDS = (
    r"(?P<is>\b(?:curl\b[^|;\n]{0,200}?\s(?:-[A-Za-z]{0,5}u|-U|--(?:proxy-)?user)[\s=]|sshpass\s+-p"
    r"|(?:docker|podman|az)\s+login\b[^|;\n]{0,200}?\s(?:-p|--password)[\s=]"
    r"|redis-cli\b[^|;\n]{0,200}?\s-a\s|ssh-keygen\b[^|;\n]{0,200}?\s-N\s"
    r"|(?:un)?zip\b[^|;\n]{0,200}?\s-P\s|mc\s+alias\s+set\s+\S{1,200}\s+\S{1,200}\s+\S{1,200}\s"
    r"|mc\s+admin\s+user\s+add\s+\S{1,200}\s+\S{1,200}\s|sem\s+connect\s+\S{1,200}\s"
    r"|nmcli\b[^|;\n]{0,200}?[.-]psk\s|(?:wg|s3fs|openvpn|openssl|ansible(?:-\w+)?)\b[^|;\n]{0,200}?<\((?:echo|printf)\s"
    r"|-(?:file|stdin)[=\s]<\((?:echo|printf)\s|openssl\s+enc\b[^|;\n]{0,200}?\s-[kK]\s"
    r"|smbclient\b[^|;\n]{0,200}?\s-U\s?[\w.\\-]{1,60}%|lftp\b[^|;\n]{0,200}?\s-u\s?[\w.@-]{1,60},"
    r"|(?:https?|xh|etcdctl)\b[^|;\n]{0,200}?\s(?:-a|--auth|--user)[\s=][\w.@-]{1,60}:"
    r"|(?:mongo\w{0,8}|ncftp\w{0,3}|cqlsh)\b[^|;\n]{0,200}?\s-p\s|(?:sqlcmd|bcp)\b[^|;\n]{0,200}?\s-P\s"
    r"|ldap\w{3,9}\b[^|;\n]{0,200}?\s-w\s|(?:influx|codecov)\b[^|;\n]{0,200}?\s-t\s"
    r"|ipmitool\b[^|;\n]{0,200}?\s-P\s|snmp\w{2,10}\b[^|;\n]{0,200}?\s-[cAX]\s"
    r"|enable\s+(?:secret|password)\s+(?:\d\s+)?|sqlplus\b[^|;\n]{0,200}?\s[\w.-]{1,60}/(?=\S+@)"
    r"|coscmd\b[^|;\n]{0,200}?\s-s\s|(?:kinit|sudo|cryptsetup|su)\b[^|;\n<]{0,200}?<<<"
    r"|(?:mysql|mysqldump|mysqladmin|mariadb|taos|7za?)\b[^|;\n]{0,200}?[\s'\"]-p(?=[^\s\"']))\s{0,9})"
    rf"(?P<value>{UNREAD}(?:\"[^\"]*\"|'[^']*'|[^\s\"'])+)"
)
# Password, in other languages than English.
WORDS_OF_OTHERS = (
    "密码", "口令", "パスワード", "비밀번호", "пароль", "mot de passe", "passwort", "kennwort",
    "contraseña", "senha",
)  # fmt: skip
# A list of arguments is a command too: what parts them is as long as so many blanks.
_PARTED = re.compile(r"(?<=[\w.=/:@-])\\{0,3}[\"'],\s?\\{0,3}[\"'](?=[^\s\"'])")


def redact_listed(text: str, pattern: re.Pattern[str]) -> str:
    """A text without the `value` of a command's pattern where its arguments are a list."""
    line = _PARTED.sub(lambda parted: " " * len(parted.group()), text)
    if line == text:
        return text
    for found in reversed(list(pattern.finditer(line))):
        start, end = found.span("value")
        text = f"{text[:start]}{REDACTED}{text[end:]}"
    return text
