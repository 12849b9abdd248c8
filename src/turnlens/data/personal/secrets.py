"""Secrets: keys and tokens of well-known services, private keys, and what follows "my password is" in many languages.

The rules are those of detect-secrets, written anew: its patterns take time that grows with the square of a long text,
leave the body of a private key, and know neither today's keys of OpenAI and GitHub nor Google's.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Iterator

from turnlens.data.personal.plain_text import Span

_TOKENS = re.compile(
    r"(?<![A-Za-z0-9_-])(?=[A-Za-z0-9])(?:"
    r"sk-(?=[\w-]{0,200}\d)[\w-]{18,}+"  # OpenAI, Anthropic
    r"|gh[opsur]_[A-Za-z0-9]{30,}+|github_pat_\w{22,}+|gl[a-z]{2,6}-[\w-]{20,}+|npm_[A-Za-z0-9]{36}|hf_[A-Za-z0-9]{30,}+"
    r"|(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[A-Z0-9]{16}|AIza[\w-]{35}|GOCSPX-[\w-]{20,}+|ya29\.[\w-]{20,}+"
    r"|xox[a-z]-[A-Za-z0-9-]{10,}+|xapp-\d-[A-Za-z0-9-]{10,}+|[prs]k_(?:live|test)_[A-Za-z0-9]{10,}+"
    r"|whsec_[A-Za-z0-9+/=]{20,}+|SG\.[\w-]{16,}+\.[\w-]{16,}+|pypi-[\w-]{50,}+|(?:AC|SK)[a-f0-9]{32}|shp[a-z]{2}_[a-fA-F0-9]{32}"
    r"|\d{8,10}:[\w-]{35}|eyJ[\w-]{8,}+\.eyJ[\w-]{4,}+(?:\.[\w-]*+)?"  # Telegram, JSON web tokens
    r")(?![A-Za-z0-9])"
)
_KEY_START = re.compile(r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_END = re.compile(r"-----END [A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?-----")
_KEY_LINES = re.compile(r"(?:(?:\s|\\[nr])*+[\w+/=]{16,}+)*+")  # of a key that is cut off
_AUTHORIZATION = re.compile(r"\b(?:Bearer|Basic) ([\w.~+/-]{16,}+=*+)")

_PASSWORD = (
    r"pass\s?wor[dt]s?|pass ?phrases?|passwd|pwd|pw|kennwort|zugangscode|geheimzahl|mot de passe|mdp|contraseñas?"
    r"|contrasena|clave|senhas?|palavra-passe|parola(?: d'ordine)?|wachtwoord|hasł[oa]|пароль|lösenord|passord|jelszó"
    r"|adgangskode|passcode|salasana|heslo|şifre|parolă|κωδικός|mật khẩu|pin|密码|密碼|口令|パスワード|暗証番号"
    r"|비밀번호|암호|كلمة (?:السر|المرور)|סיסמה|पासवर्ड|รหัสผ่าน"
)
_KEY = r"(?:api|access|account|secret|private|auth|client|bearer)[ _-]?\s?(?:key|token|secret)"
_IS = (
    r"(?:(?:is|was|ist|lautet|war|est|es|era|è|é|jest|to|är|er|on|olan|هي|הוא|है)(?![a-z])|是|为|為|は|가|는|은|คือ"
    r"|[:=：＝]\s?(?!\s))"
)
_FOR = r"(?:\s(?:for|zu|für|pour|para|per|voor|till|til|do|to)\s[^.:=\n]{1,40}?)?"
_SPOKEN = re.compile(
    # the first letters of all words, by which most places are passed over
    rf"(?<![a-z])(?=[pkzgmcshwlajbşκп密口パ暗비암كסपร])(?:(?P<password>{_PASSWORD})|{_KEY})(?![a-z_])[\"']?{_FOR}"
    rf"(?P<is>(?:\s{{0,2}}{_IS}){{1,2}})\s{{0,3}}(?P<quote>[\"'“«„`‘])?"
    r"(?!\[\w+\])(?P<value>[!-~À-ɏ]{4,200})",
    re.IGNORECASE,
)
_AFTER = "\"'”»“`’.,;:?)]}>"
_LEAST_KEY = 8


def secrets(text: str) -> Iterator[Span]:
    """Yield keys and tokens of services, private keys, and passwords that are named as such."""
    yield from (match.span() for match in _TOKENS.finditer(text))
    yield from (match.span(1) for match in _AUTHORIZATION.finditer(text))
    yield from _private_keys(text)
    for match in _SPOKEN.finditer(text):
        value = match["value"].rstrip(_AFTER)
        start = match.start("value")
        if is_secret(value, match, text[start + len(value) :][:2]):
            yield start, start + len(value)


def _private_keys(text: str) -> Iterator[Span]:
    starts = [match.span() for match in _KEY_START.finditer(text)]
    ends = [match.end() for match in _KEY_END.finditer(text)] if starts else []
    for (start, body), (following, _) in zip(starts, [*starts[1:], (len(text), 0)]):
        end = ends[at] if (at := bisect(ends, body)) < len(ends) else None
        if end is None or end > following:  # it is cut off
            lines = _KEY_LINES.match(text, body)
            end = lines.end() if lines is not None else body
        yield start, end


def is_secret(value: str, match: re.Match[str], after: str) -> bool:
    """Return true for a word that no sentence goes on with: it has digits or signs, or is quoted, or ends a field."""
    if match["password"] is None:
        return len(value) >= _LEAST_KEY and any(map(str.isdigit, value))
    if len(value) < 4:
        return False
    if any(map(str.isdigit, value)) or match["quote"] or re.search(r"[^\W\d_][!#$%&*+/=?@^_~|]+\w", value):
        return True
    is_field = match["is"].rstrip().endswith((":", "=", "：", "＝"))
    return is_field and (not after or after[0] in "\r\n\"'")
