"""What machines print all day and holds no secret: environments, logs, lists, locks, settings.

Each text has lines that speak of passwords, tokens and keys, and none that gives one away.
"""

from __future__ import annotations

import string
from collections.abc import Iterator, Mapping

from base.wordlist import words
from tests.base.secret_corpus import ALNUM, BASE64, LOWER_HEX, made

PACKAGES = words(
    """passwd libpam-modules password-store rpassword generate-password passport passport-jwt
    jsonwebtoken js-tokens js-token token-types csrf csrf-token secret-service secretstorage
    keyring apt-key debian-archive-keyring getpass bcrypt argon2-cffi python-jose pyjwt oauthlib
    gpg-agent pinentry-curses libsecret-1-0 credential-helper pwgen whois libnss-systemd
    tokenizers tiktoken sentencepiece pass-otp keepassxc sshpass aws-credential-types
    vault-client sops age zxcvbn password-hash symfony/password-hasher rack-token-auth
    openssl ssh-key-utils node-forge @types/passport @azure/msal-node access-key-id
    pam-auth-update session-keyring jwt-decode api-key-auth cookie-session"""
)

ENVIRONMENT = """
PWD=/home/dev/project
OLDPWD=/home/dev/Work/AbC123xYz9
PWD=/srv/app1
PWD=/
PWD=C:\\Users\\dev2
PWD=/c/Users/dev2/project
PWD=~/projects/app2
INIT_CWD=/home/dev/project1
npm_config_local_prefix=/home/dev/project1
HOME=/home/dev
LOGNAME=dev
SHELL=/bin/bash
SHLVL=2
TERM=xterm-256color
LANG=en_GB.UTF-8
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
SSH_AUTH_SOCK=/tmp/ssh-XXXXabc123/agent.4711
SSH_AUTH_SOCK=/run/user/1000/keyring/ssh
SSH_AGENT_PID=4712
SSH_CONNECTION=192.0.2.1 50022 192.0.2.2 22
SSH_CLIENT=192.0.2.1 50022 22
SSH_ASKPASS=/usr/bin/ksshaskpass
SUDO_ASKPASS=/usr/lib/ssh/x11-ssh-askpass
GIT_ASKPASS=/usr/lib/git-core/git-gui--askpass
GPG_AGENT_INFO=/run/user/1000/gnupg/S.gpg-agent:0:1
GPG_TTY=/dev/pts/3
XAUTHORITY=/home/dev/.Xauthority
SESSION_MANAGER=local/host:@/tmp/.ICE-unix/1234,unix/host:/tmp/.ICE-unix/1234
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus,guid=0123456789abcdef0123456789abcdef
XDG_SESSION_ID=c2
TERM_SESSION_ID=w0t0p0:01234567-89AB-CDEF-0123-456789ABCDEF
KRB5CCNAME=FILE:/tmp/krb5cc_1000_AbC123
KEY_BINDINGS=emacs2
KEYMAP=us
LESSKEY=/home/dev/.config/lesskey1
PASSWORD_STORE_DIR=/home/dev/.password-store
PASSWORD_MIN_LENGTH=12
PASSWORD_FILE=/run/secrets/db_password_1
DB_PASSWORD_FILE=/run/secrets/db_password_1
DB_PASSWORD=/run/secrets/db_password_1
MYSQL_PWD_FILE=/run/secrets/mysql
SECRETS_DIR=/run/secrets
SECRET_NAME=prod/db/main-2
SECRET_ID=12
AWS_PROFILE=dev2
AWS_SHARED_CREDENTIALS_FILE=/home/dev/.aws/credentials
AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks.amazonaws.com/serviceaccount/token
GOOGLE_APPLICATION_CREDENTIALS=/etc/keys/sa-2024.json
CREDENTIALS_DIRECTORY=/run/credentials/app.service
VAULT_ADDR=https://vault.example.com:8200
VAULT_TOKEN=${VAULT_TOKEN:-}
TOKEN=/var/run/secrets/kubernetes.io/serviceaccount/token
TOKEN_ENDPOINT=https://auth.example.com/oauth2/token
TOKEN_URL=https://auth.example.com/oauth2/v2/token
TOKEN_LIMIT=8192
MAX_TOKENS=4096
token_count: 123
token_count=123456
TOKENIZERS_PARALLELISM=false
SESSION_KEY_TTL=3600
JWT_KEY_ID=kid-2024-01
JWT_ALGORITHM=RS256
SIGNING_KEY=/etc/keys/signing.pem
CLIENT_KEY=/etc/ssl/private/client1.key
SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt
ACTIONS_ID_TOKEN_REQUEST_URL=https://pipelines.example.com/a1b2c3d4/_apis/token
GITHUB_TOKEN=***
NPM_TOKEN=${NPM_TOKEN}
NODE_AUTH_TOKEN=XXXXX-XXXXX-XXXXX-XXXXX
CI_JOB_TOKEN=[MASKED]
USE_TOKEN=1
SAVE_PASSWORD=never
HAS_PASSWORD=false
ASK_PASS=true
TESTS_PASS=1
FIRST_PASS=1
"""

SYSTEM = """
passwd: files systemd
passwd:         files
passwd: compat
passwd: sss
shadow: files systemd
group: files
gshadow: files
passwd_compat: nis
PASS_MAX_DAYS   99999
PASS_MIN_LEN 5
PASS_WARN_AGE   7
password        [success=1 default=ignore]      pam_unix.so obscure try_first_pass yescrypt
password        requisite                       pam_deny.so
password  required  pam_permit.so
PasswordAuthentication no
PermitEmptyPasswords no
KbdInteractiveAuthentication no
AuthorizedKeysFile .ssh/authorized_keys .ssh/authorized_keys2
HostKey /etc/ssh/ssh_host_ed25519_key
IdentityFile ~/.ssh/id_ed25519
passwd_timeout=10
Defaults passwd_tries=3, passwd_timeout=0.5
root:x:0:0:root:/root:/bin/bash
root:*:19700:0:99999:7:::
daemon:!:19700::::::
credential.helper=store
credential.helper=cache --timeout=3600
credential = libsecret
user.signingkey=0123456789ABCDEF
password_encryption = scram-sha-256
# METHOD can be "trust", "reject", "md5", "password", "scram-sha-256",
# "gss", "sspi", "ident", "peer", "pam", "ldap", "radius" or "cert".
host    all     all     127.0.0.1/32    scram-sha-256
#password = your_password
session.use_strict_mode = 0
mysqli.default_pw =
ldap_default_authtok_type = password
key "rndc-key" {
ssl_certificate_key /etc/ssl/private/site-2024.key;
  private_key: /etc/ssl/private/site-2024.key
  key: /etc/ssl/private/site.key
  token: ./tokens/ci-2024.txt
  password: ./secrets/db_password.txt
  secret: db-creds-v2
  secretName: tls-certificate-prod-2
    secret:
      secretName: default-token-x7z2k
      optional: false
  - secretRef:
      name: app-env-2024
  imagePullSecrets:
  id-token: write
  secrets: inherit
  github-token: ***
  password: ***
  token: ${{ secrets.RELEASE_TOKEN_2024 }}
  password: ${POSTGRES_PASSWORD:?error}
  - POSTGRES_PASSWORD=${POSTGRES_PASSWORD}
  - POSTGRES_PASSWORD_FILE=/run/secrets/postgres1
"""

LOGS = """
sshd[4711]: Accepted password for dev from 192.0.2.1 port 50022 ssh2
sshd[4711]: Accepted publickey for dev from 192.0.2.1 port 50022 ssh2: ED25519 SHA256:{fingerprint}
sshd[4711]: Failed password for invalid user admin1 from 192.0.2.77 port 40122 ssh2
sudo: pam_unix(sudo:auth): authentication failure; logname=dev uid=1000 euid=0 tty=/dev/pts/1
sudo: dev : TTY=pts/1 ; PWD=/home/dev/project1 ; USER=root ; COMMAND=/usr/bin/apt update
CRON[4712]: (root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.daily)
systemd[1]: Started systemd-ask-password-wall.path - Forward Password Requests to Wall.
systemd[1]: Starting User Key Retention Service, key serial 0x3a7b1c2d
kernel: Key type dns_resolver registered
kernel: Loaded X.509 cert 'Build time key: {hash}'
kernel: keyring: token slot 0: key type asymmetric
INFO token usage: prompt=1234 completion=567 total=1801
INFO tokens per second: 53.7; max_tokens=4096, n_tokens = 128000
{{"usage": {{"prompt_tokens": 12345678, "completion_tokens": 567, "total_tokens": 12346245}}}}
{{"token_type": "bearer", "expires_in": 3600, "scope": "read:user2 repo"}}
{{"next_page_token": "{page}", "kind": "list"}}
{{"NextToken": "{page}"}}
{{"password_changed_at": "2024-01-02T03:04:05Z", "has_password": true}}
{{"token_expires_at": "2024-01-02T03:04:05Z", "token_id": "{uuid}"}}
WARN password expired for user 4711, asking for a new one
WARN invalid token: unexpected end of input at position 12345
error: unexpected token: identifier123
SyntaxError: Unexpected token '}}' in line12345
SyntaxError: Unexpected token: punc1 at app2.js:12
error: expected ';' before token 'value12345'
note: previous definition of 'password2' was here
warning: unused variable 'token_buffer2' [-Wunused-variable]
error[E0425]: cannot find value `password1` in this scope
src/auth.rs:12:9: warning: unused variable: `secret_key2`
main.c:10:5: error: 'struct session' has no member named 'passwd_hash2'
main.cpp:4: error: could not convert 'token2' from 'std::string' to 'int'
auth.ts(12,5): error TS2322: Type 'string' is not assignable to type 'Token2'.
FAILED tests/test_auth.py::test_password_reset_token[case12345] - AssertionError
PASSED tests/test_auth.py::test_login[password=wrong]
ok 12 - token: parses number123
# pass 12
# fail 0
pass: 45
  tests: 120, pass: 118, fail: 2
Run docker/login-action@v3
Login Succeeded
Warning: Using --password via the CLI is insecure. Use --password-stdin.
WARNING! Your password will be stored unencrypted in /home/dev/.docker/config.json.
::add-mask::***
Cache restored from key: node-cache-linux-x64-npm-{hash}
Cache saved with key: Linux-build-{hash}
Post job cleanup, token: ***
remote: Support for password authentication was removed on August 13, 2021.
fatal: could not read Password for 'https://dev@git.example.com': No such device or address
git credential-store --file ~/.git-credentials1 get
secret/default-token-x7z2k created
kube-system   default-token-x7z2k   kubernetes.io/service-account-token   3      12d
Successfully assigned default/web-{rs} to node-2
Pulling image "registry.example.com/app@sha256:{sha}"
Digest: sha256:{sha}
npm notice integrity: sha512-{integrity}==
npm notice shasum: {hash}
npm WARN deprecated request-promise-native@1.0.9: request has been deprecated
added 1201 packages, and audited 1202 packages in 12s
Successfully installed passlib-1.7.4 python-jose-3.3.0 tokenizers-0.15.2
Compiling rpassword v7.3.1
Downloaded secret-service v3.0.1
request_id={uuid} trace_id={hash32} status=200 took=12ms
GET /api/v1/tokens/{uuid} HTTP/1.1" 200 1234 "-" "curl/7.88.1"
GET /reset?step=2&token_type=bearer2 200
etag: "{hash32}"
x-request-id: {uuid}
Set-Cookie: theme=dark; Path=/
cookie: consent=yes; lang=en
SHA256 fingerprint: {fingerprint}
Terraform will perform: + password = (sensitive value)
  + token    = (known after apply)
  ~ secret_string = (sensitive value)
      id       = "{uuid}"
"""

HELP = """
  -p, --password PASSWORD    the password to log in with
      --password-file FILE   read the password from a file
      --password-file x
      --password-stdin       take the password from stdin
      --token TOKEN          API token; see --token-file
      --token-file=/run/secrets/ci_token_1
      --api-key-file /etc/keys/api1.txt
      --client-key string    Path to a client key file for TLS
      --private-key=/etc/keys/site2024.pem
      --pass <phrase>        Pass phrase for the private key
      --proxy-user <user:password> Proxy user and password
      -u, --user <user:password> Server user and password
      --key <key>            Private key filename
      --oauth2-bearer <token> OAuth 2 Bearer Token
usage: login [-p PASSWORD] [--token TOKEN] user
       curl -u user:password https://example.com/
       curl --user "$USER:$PASS" https://example.com/
       mysql -u root -p database1
       mysqldump --password database1 > dump.sql
       docker login -u user --password-stdin registry.example.com
       docker run -u 1000:1000 -p 8080:80 image2
       ssh -p 2222 user@host.example.com
       openssl rsa -passin file:/etc/keys/pass1 -in key.pem
       openssl rsa -passin env:KEY_PASS -in key.pem
       mkdir -p build2/login && cp -p login file2
       echo 'done1' | tee out2
       ALTER USER app WITH PASSWORD '${APP_PASSWORD}';
password (string): The password. Defaults to the value of PASSWORD.
secret: A shared secret, as RFC 2104 has it.
token: one of word, number2, string.
The token's kid is given by key-id; see RFC 7517.
If the password is wrong three times, the account is locked for 15 minutes.
"""

MANIFESTS = """
    "generate-password": "^1.7.0",
    "js-token": "4.0.0-beta.2",
    "passport-jwt-secret": "~2.10.3",
    "csrf-token": "1.2.30",
rpassword = "7.3.1"
rpassword = "^7.3.10"
secret-service = { version = "3.0.1", features = ["rt-tokio"] }
generate-password==1.7.10
password: "1.12.3"
- password: 1.12.30
<PackageReference Include="Token" Version="1.2.3" />
<assemblyIdentity name="System.Web" publicKeyToken="b03f5f7f11d50a3a" culture="neutral" />
Version=2.0.0.0, Culture=neutral, PublicKeyToken=b77a5c561934e089
<property name="name" value="application12345"/>
<add key="Timeout2" value="00:00:30"/>
{"name": "PASSWORD_MIN_LENGTH", "value": "12345678"}
{"name": "api-key-header", "value": "X-Api-Key-2"}
{"name": "DB_PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db2", "key": "password"}}}
- name: DB_PASSWORD
  valueFrom:
    secretKeyRef:
- name: APP_PASSWORD
  value: ${APP_PASSWORD}
eos_token: "<|endoftext|>2"
pad_token = "[PAD12345]"
"auth": "required"
"auth": {"type": "basic"}
"""


def _packages() -> Iterator[str]:
    for number, name in enumerate(PACKAGES):
        plain = name.rpartition("/")[2]
        version = f"{number % 9}.{number % 13}.{number % 7}"
        sha = made(64, LOWER_HEX, number)
        yield f"ii  {plain:<40} {version}-{number}+deb12u1 amd64  tool for {plain}"
        yield f"{plain}=={version}"
        yield f"{plain:<30} {version}"
        yield f"├── {name}@{version}"
        yield f"{plain}@^{version}:"
        yield f'  resolved "https://registry.example.com/{name}/-/{plain}-{version}.tgz#{sha[:40]}"'
        yield f"  integrity sha512-{made(86, BASE64, number)}=="
        yield f'    "node_modules/{name}": {{'
        yield f'      "version": "{version}",'
        yield f'    "{name}": "^{version}",'
        yield f'    "{name}": ">={version} <{number + 1}",'
        yield f'{plain} = "{version}"'
        yield f'name = "{plain}"'
        yield f'checksum = "{sha}"'
        yield f"    --hash=sha256:{sha} \\"
        yield f"example.com/{name} v{version} h1:{made(43, BASE64, number)}="
        yield f"Get:{number} http://deb.example.com/debian bookworm/main {plain} [{number} kB]"
        yield f"Unpacking {plain} ({version}-{number}) over ({version}-1) ..."


def _commits() -> Iterator[str]:
    named = ("password", "token", "secret", "api key", "credentials", "passphrase")
    for number in range(120):
        word = named[number % len(named)]
        yield f"commit {made(40, LOWER_HEX, number)}"
        yield f"index {made(7, LOWER_HEX, number)}..{made(7, LOWER_HEX, -number)} 100644"
        yield f"    Ask for the {word} again where it was wrong (#{1000 + number})"
        yield f"    {word}: tell apart what is missing from what is empty, fixes #{number}"
        yield f" tests/{word.replace(' ', '_')}/test_{number}.py | {number} ++++----"
        yield f"{made(32, LOWER_HEX, number)}  {word.replace(' ', '-')}-{number}.tar.gz"


def _filled(text: str, number: int) -> str:
    """The logs with other hashes and ids in each."""
    uuid = "-".join(made(size, LOWER_HEX, number) for size in (8, 4, 4, 4, 12))
    return text.format(
        hash=made(40, LOWER_HEX, number),
        hash32=made(32, LOWER_HEX, number),
        sha=made(64, LOWER_HEX, number),
        integrity=made(86, BASE64, number),
        fingerprint=made(43, BASE64, number),
        page=made(64, ALNUM, number),
        rs=made(9, string.ascii_lowercase + string.digits, number),
        uuid=uuid,
    )


TEXTS: Mapping[str, str] = {
    "environment": ENVIRONMENT,
    "system": SYSTEM,
    "logs": "".join(_filled(LOGS, number) for number in range(4)),
    "help": HELP,
    "manifests": MANIFESTS,
    "packages": "\n".join(_packages()),
    "commits": "\n".join(_commits()),
}
