"""Which files hold secrets, told by name alone: kept from programs and never indexed."""

from __future__ import annotations

import functools
import re

from base.wordlist import words

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
# Endings of a path whose last part alone would say nothing; `/**` is all below a folder.
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
# What editors, package managers and people add to the name of a file that they copy.
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
    """Whether a file of this name holds secrets, or is a copy of one. Only its last part counts."""
    return any(map(_is_secret, _originals(path.rstrip("/").rpartition("/")[2].casefold())))


def is_secret_path(path: str) -> bool:
    """The same, where the folders that lead to it count, too."""
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


@functools.lru_cache(64)  # a name is looked at by itself, and at the end of its path
def _originals(name: str) -> tuple[str, ...]:
    """What a file may be a copy of: itself, if its name names no other."""
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
        if is_swap:  # of `name` lies in `.name.swp`, that of `.name` too
            names.append(name[1:])
    # `.env.example~` is a copy of an example, whatever `.env.*` would say of it.
    return tuple(names[-1:]) if names[-1] in NOT_SECRET_NAMES else tuple(names)
