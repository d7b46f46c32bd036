"""Names whose values are secret: `API_TOKEN` and `clientSecret`, not `max_tokens`."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from base.secrets.readings import Expression, Reading
from base.wordlist import word_set, words

# Matched against the last part of a path, in lower case: on some disks `.ENV` is `.env`.
SECRET_NAMES = words(
    """.env .env.* .env[-_]* *.env .npmrc .pypirc .netrc _netrc .git-credentials .pgpass
    .htpasswd .dockercfg .vault-token .s3cfg .my.cnf .mylogin.cnf .terraformrc *.pem *.key
    *.p12 *.pfx *.jks *.keystore *.kdbx *.ppk id_rsa id_dsa id_ecdsa id_ed25519 id_ecdsa_sk
    id_ed25519_sk kubeconfig service-account*.json client_secret*.json gha-creds-*.json
    *.tfstate *.tfstate.backup *.tfvars *.tfvars.json"""
)
# With an ending of data, or none: `credentials.py` is code that handles them.
_DATA = (
    r"(?:credentials|passwords?)"
    r"(?:\.(?:json5?|jsonl|ya?ml|toml|ini|txt|[ct]sv|xlsx?|ods|xml|conf|cfg|properties|plist"
    r"|db|sqlite3?|sql|env|dat|bin))?(?:\.(?:gz|bz2|xz|zst|zip|gpg|asc|enc))?\Z"
)
NOT_SECRET_NAMES = tuple(
    f".env{sign}{what}" for sign in ".-_" for what in ("example", "sample", "template", "dist")
)
# Path suffixes whose last part alone would not match; `/**` is all below a folder.
SECRET_PATHS = words(
    """.envs/** .aws/sso/cache/** .aws/cli/cache/** .docker/config.json .kube/config
    .config/gh/hosts.yml .config/hub .config/glab-cli/config.yml .config/doctl/config.yaml
    .config/gcloud/application_default_credentials.json .config/gcloud/credentials.db
    .config/gcloud/access_tokens.db .azure/accesstokens.json .azure/msal_token_cache.json
    .composer/auth.json .m2/settings.xml .m2/settings-security.xml
    .terraform.d/credentials.tfrc.json .gnupg/private-keys-v1.d/** .gnupg/secring.gpg
    .password-store/**"""
)
_FILES = tuple(f"/{path}" for path in SECRET_PATHS if not path.endswith("/**"))
_FOLDERS = tuple(f"/{path[:-2]}" for path in SECRET_PATHS if path.endswith("/**"))
# Suffixes that editors, package managers and people add to the name of a file that they copy.
_COPY_BEHIND = (
    r"(?P<name>.+?)(?:~|\.~[0-9]{1,4}~|\.(?:bak|backup|bkp|old|orig|save|sav|tmp|rej|copy|prev)"
    r"[0-9]{0,4}|___jb_(?:tmp|old)___|\.(?:dpkg|ucf)-(?:old|dist|new|bak)|\.rpm(?:save|new)"
    r"|[ ._-]?\(?copy\)?(?: ?[0-9]{1,3})?| \([0-9]{1,3}\)|\.(?:kate-)?sw[a-z])\Z"
)
_COPY_WITHIN = (
    r"(?P<name>[^.]+?)(?: \([0-9]{1,3}\)|[ _-]{1,3}copy(?: [0-9]{1,3})?)(?P<ending>\.[a-z0-9.]+)\Z"
)
_COPY_AROUND = r"#(?P<name>.+)#\Z|\.#(?P<linked>.+)\Z|copy of (?P<of>.+)\Z"
_COPIES_MAX = 3


def is_secret_name(path: str) -> bool:
    """Return whether a file of this name holds secrets, or is a copy of one: by its last part."""
    return any(map(_is_secret, _originals(path.rstrip("/").rpartition("/")[2].casefold())))


def is_secret_path(path: str) -> bool:
    """Return whether a file holds secrets, by its parent folders, too."""
    if is_secret_name(path):
        return True
    folder, _, name = f"/{path.strip('/')}".casefold().rpartition("/")
    if any(part in f"{folder}/" for part in _FOLDERS):
        return True
    return any(f"{folder}/{original}".endswith(_FILES) for original in _originals(name))


def _is_secret(name: str) -> bool:
    if name in NOT_SECRET_NAMES:
        return False
    return _any_name().match(name) is not None or re.match(_DATA, name) is not None


# Compiled, like those above, with the first name: that takes a hook two milliseconds.
@functools.cache
def _any_name() -> re.Pattern[str]:
    from base.globs import parse_shell_name, to_expression  # noqa: PLC0415

    ways = (to_expression(parse_shell_name(name), crosses=True) for name in SECRET_NAMES)
    return re.compile("|".join(f"(?s:{way})\\Z" for way in ways))


@functools.lru_cache(64)  # a name is looked at alone, and at the end of its path
def _originals(name: str) -> tuple[str, ...]:
    """Return the possible originals of a copy: the name itself, if it names no other."""
    if "copy" in name or " (" in name:
        name = re.sub(_COPY_WITHIN, r"\g<name>\g<ending>", name)
    names = [name]
    for _ in range(_COPIES_MAX):
        shorter = re.match(_COPY_AROUND, name) or re.match(_COPY_BEHIND, name)
        if shorter is None:
            break
        is_swap = name.startswith(".") and re.search(r"\.(?:kate-)?sw[a-z]\Z", name) is not None
        name = next(found for found in shorter.groups() if found)
        names.append(name)
        if is_swap:  # the swap file of `name` is `.name.swp`, and that of `.name` too
            names.append(name[1:])
    # `.env.example~` is a copy of an example, although it matches `.env.*`.
    return tuple(names[-1:]) if names[-1] in NOT_SECRET_NAMES else tuple(names)


# What is searched for, in lower case; the whole name is then taken apart.
KEYWORDS = tuple(
    word.encode()
    for stem in words(
        """passw passphrase pwd secret token credential api_key access_key private_key auth_key
        signing_key encryption_key master_key account_key license_key session_key webhook_key
        jwt_key shared_key storage_key app_key application_key subscription_key admin_key crypt_key
        hmac_key deploy_key key_data"""
    )
    for word in dict.fromkeys((stem, stem.replace("_", "-"), stem.replace("_", "")))
)
_KEYS = tuple(word for word in KEYWORDS if word.endswith(b"key"))
# Too short to show that a value names a secret, too.
_SHORT = (b"pass", b"psk")
MARKS = (*KEYWORDS, *_SHORT)
_APART = (*(word for word in KEYWORDS if word not in _KEYS), *_SHORT)
_BEFORE_KEY = frozenset(word[:-3].rstrip(b"_-")[-3:] for word in _KEYS)
NAME_BYTES_MAX = 80
_CHARACTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-"
_TAIL = Expression(rb"[A-Za-z0-9_.-]{0,80}+")
_WORDS = Expression(rb"[A-Z]{1,80}(?![a-z])|[A-Z]?[a-z]++|[0-9]++")

_PASSWORDS = word_set("password passwd passphrase pwd passwort passcode psk userpass dbpass")
_SECRETS = word_set("secret secrets token credential credentials apikey")
# `…_pass` names a password only with one of these before it: there are passes of other kinds.
_PASS_KINDS = word_set(
    """db smtp user admin root mysql pg postgres mongo redis mail email imap ftp sftp ldap auth
    login rabbitmq amqp my http https proxy sa service sql database account ssh sudo basic key store
    keystore api app registry vpn wifi samba smb web jenkins docker nexus sonar backup master
    require client server remote git svn"""
)
# Words before `token` that make it harmless: of a parser, a page, an assembly.
_OTHER_TOKENS = word_set(
    "next page continuation cancellation pad eos bos sep cls unk mask unexpected lexer parser"
)
# `…_key` names a secret only with one of these before it.
_KEY_KINDS = word_set(
    """api access secret private auth signing encryption master account license session webhook
    jwt client admin service storage shared app application subscription crypt hmac deploy
    preshared"""
)
# Suffixes after which a word still names a secret: API_TOKEN_PROD, secret_key_base.
_SUFFIXES = word_set(
    """prod production dev development staging live test default base value new old primary
    secondary main root raw plain data string str text"""
)


def names(reading: Reading) -> Iterator[tuple[str, int, int]]:
    """Yield kind, start and end of each name of a secret."""
    data, at = reading.data, 0
    for keyword_start, keyword_end in _keywords(reading):
        if keyword_start < at:
            continue
        earliest = max(at, keyword_start - NAME_BYTES_MAX)
        before = data[earliest:keyword_start]
        start = earliest + len(before.rstrip(_CHARACTERS))
        tail = _TAIL.match(data, keyword_end)
        at = tail.end() if tail else keyword_end
        if kind := kind_of(data[start:at]):
            yield kind, start, at


def _keywords(reading: Reading) -> list[tuple[int, int]]:
    """Return where each keyword is, in order. Plain searches are many times faster than one regex,
    and those that end with `key` are found by it together."""
    found = [(at, at + len(word)) for word, at in reading.find_all(_APART)]
    for end in _ends_of_key(reading.lowered):
        found += [
            (end - len(word), end) for word in _KEYS if reading.lowered.endswith(word, 0, end)
        ]
    return sorted(found)


def _ends_of_key(lowered: bytes) -> Iterator[int]:
    """Yield where `key` ends after the possible other half of a keyword."""
    end = lowered.find(b"key") + 3
    while end >= 3:
        half = end - 3 - (lowered[end - 4 : end - 3] in (b"_", b"-"))
        if lowered[half - 3 : half] in _BEFORE_KEY:
            yield end
        end = lowered.find(b"key", end) + 3


def has_keyword(value: bytes) -> bool:
    """Return whether a value itself contains a secret's name."""
    lowered = value.lower()
    return any(word in lowered for word in KEYWORDS)


@functools.lru_cache(1024)  # the same few names recur in texts
def kind_of(name: bytes) -> str:
    """Return the kind that a name suggests: `password`, `secret`, `token`, `key`; empty if none."""
    last = name.rstrip(b".-").rpartition(b".")[2]
    parts = [word.decode().lower() for word in _WORDS.compiled.findall(last)]
    while parts and (parts[-1].isdigit() or parts[-1] in _SUFFIXES):
        parts.pop()
    # Public values: `PublicKeyToken` of a .NET assembly, a public key.
    if not parts or parts[-3:] == ["public", "key", "token"] or parts[-2:] == ["public", "key"]:
        return ""
    return _kind_of_last(parts[-1], before=parts[-2] if len(parts) > 1 else "")


def _kind_of_last(tail: str, before: str) -> str:
    """Return the same, by the last word and the one before it."""
    if tail in _PASSWORDS or tail.endswith(("password", "passwd")):
        return "password"
    if tail == "pass":
        return "password" if before in _PASS_KINDS or not before else ""
    if tail == "key":
        return "key" if before in _KEY_KINDS else ""
    if tail in _SECRETS and not (tail == "token" and before in _OTHER_TOKENS):
        return {"apikey": "key", "token": "token"}.get(tail, "secret")
    return ""
