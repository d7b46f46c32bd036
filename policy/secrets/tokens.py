"""Keys and tokens that issuers made recognisable: one row a form, each with its source.

Each begins with plain text that can be searched for fast. Nothing follows an unbounded repetition
in an expression, so none can be made to try again and again.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator

from base.named_tuples import NamedTuple

KINDS_OF_BYTES_MIN = 6
"""A token of fewer different bytes than this is `xxxx…`, not a key."""

_WORDS = bytes(byte if chr(byte).isalpha() or byte == 0x5F else 0x20 for byte in range(0x80))
_WORDS += b" " * 0x80
"""The letters of words themselves, and a blank for all else: numbers are most of some texts."""

_HEAD_BYTES = 3
ANYWHERE = b""
"""The head of an anchor that is looked for in every text."""
_BLOCK_BYTES = 256 * 1024


class TokenForm(NamedTuple):
    """One kind of token: one of its anchors, and what `expression` matches behind that.

    Of that, only what is captured as `value` is secret, if anything is; a colon that an anchor
    begins with never is. An anchor that begins with a letter counts only where no character of
    `not_behind` precedes it.
    """

    kind: str
    anchors: tuple[bytes, ...]
    expression: bytes
    source: str
    not_behind: bytes = rb"\w"


# Kind, anchors, what follows one of them, source, and what may not precede if that is no letter,
# digit or `_` (or each `eyJ` inside one long run would be tried); an indented line goes on.
_ROWS = r"""
anthropic-key | sk-ant- | [\w-]{20,}+ | console.anthropic.com: API keys
openai-key | sk- | (?!ant-)(?:(?:proj|svcacct|admin|None)-[\w-]{20,}+|[A-Za-z0-9]{32,}+) |
    platform.openai.com
openrouter-key | sk-or-v1- | [0-9a-f]{32,}+ | openrouter.ai/docs: authentication
aws-access-key-id | AKIA ASIA ABIA ACCA | [A-Z2-7]{16}\b | docs.aws.amazon.com/IAM
github-token | ghp_ gho_ ghu_ ghs_ ghr_ | [A-Za-z0-9]{36,}+ | github.blog
github-token | github_pat_ | [A-Za-z0-9]{22}_[A-Za-z0-9]{40,}+ | docs.github.com
gitlab-token | glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glrtr- |
    [\w-]{20,}+(?:\.[a-z0-9]{2,30}){0,2} | docs.gitlab.com
google-api-key | AIza | [\w-]{35}(?![\w-]) | cloud.google.com/docs: API keys
google-oauth-secret | GOCSPX- | [\w-]{28}(?![\w-]) | developers.google.com/identity: OAuth clients
google-access-token | ya29. | [\w-]{20,}+ | developers.google.com/identity: access tokens
stripe-key | sk_live_ sk_test_ rk_live_ rk_test_ | [A-Za-z0-9]{16,}+ | docs.stripe.com/keys
stripe-webhook-secret | whsec_ | [A-Za-z0-9+/=]{24,}+ | docs.stripe.com/webhooks
slack-token | xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xapp- | [A-Za-z0-9.-]{20,}+ | api.slack.com
slack-webhook | hooks.slack.com/ | (?:services|workflows|triggers)/(?P<value>[\w+/-]{20,}+) |
    api.slack.com
discord-webhook | discord.com/api/webhooks/ discordapp.com/api/webhooks/ |
    [0-9]{15,21}/(?P<value>[\w-]{40,}+) | discord.com/developers
json-web-token | eyJ | [\w-]{8,8192}+\.eyJ[\w-]{8,8192}+\.[\w-]{10,}+ | RFC 7519 | [\w-]
npm-token | npm_ | [A-Za-z0-9]{36}\b | docs.npmjs.com: access tokens
pypi-token | pypi-AgE | [\w-]{50,}+ | pypi.org/help: API tokens (macaroons)
rubygems-key | rubygems_ | [0-9a-f]{48}\b | guides.rubygems.org
docker-token | dckr_pat_ dckr_oat_ | [\w-]{20,}+ | docs.docker.com
huggingface-token | hf_ | [A-Za-z0-9]{30,}+ | huggingface.co/docs: tokens
groq-key | gsk_ | [A-Za-z0-9]{40,}+ | console.groq.com: API keys
xai-key | xai- | [A-Za-z0-9]{60,}+ | docs.x.ai: API keys
replicate-token | r8_ | [A-Za-z0-9]{37}\b | replicate.com/docs
sendgrid-key | SG. | [\w-]{22}\.[\w-]{43}(?![\w-]) | docs.sendgrid.com: API keys
mailgun-key | key- | [0-9a-f]{32}\b | documentation.mailgun.com
twilio-key | SK | [0-9a-f]{32}\b | twilio.com/docs: API keys
telegram-token | :AA | [\w-]{33}(?![\w-]) | core.telegram.org/bots
digitalocean-token | dop_v1_ doo_v1_ dor_v1_ | [0-9a-f]{64}\b | docs.digitalocean.com
shopify-token | shpat_ shpca_ shppa_ shpss_ | [0-9A-Fa-f]{32}\b | shopify.dev: access tokens
vault-token | hvs. hvb. hvr. | [\w-]{20,}+ | developer.hashicorp
terraform-token | .atlasv1. | (?P<value>[\w=-]{40,}+) | developer.hashicorp.com/terraform
databricks-token | dapi | [0-9a-f]{32}\b | docs.databricks.com
doppler-token | dp.pt. dp.st. | [A-Za-z0-9._-]{40,}+ | docs.doppler
grafana-token | glsa_ glc_ | [\w+/=]{30,}+ | grafana.com/docs
new-relic-key | NRAK- | [A-Z0-9]{27}\b | docs.newrelic.com: API keys
postman-key | PMAK- | [0-9a-f]{24}-[0-9a-f]{34}\b | learning.postman
planetscale-token | pscale_ | (?:tkn|pw|oauth)_[\w.-]{32,}+ | planetscale
sentry-token | sntrys_ sntryu_ | [A-Za-z0-9+/=_-]{40,}+ | docs.sentry.io
square-token | sq0atp- sq0csp- | [\w-]{22,}+ | developer.squareup
linear-key | lin_api_ | [A-Za-z0-9]{40}\b | developers.linear.app
notion-token | ntn_ | [A-Za-z0-9]{40,}+ | developers.notion.com: tokens
atlassian-token | ATATT3 | [\w=-]{60,}+ | support.atlassian.com
figma-token | figd_ | [\w-]{38,}+ | developers.figma.com
airtable-token | pat | [A-Za-z0-9]{14}\.[0-9a-f]{64}\b | airtable.com
supabase-token | sbp_ | [0-9a-f]{40}\b | supabase.com/docs
netlify-token | nfp_ | [A-Za-z0-9]{36,}+ | docs.netlify.com
heroku-key | HRKU- | [\w-]{36,}+ | devcenter.heroku.com
age-key | AGE-SECRET-KEY-1 | [A-Z0-9]{58}\b | age-encryption
pulumi-token | pul- | [0-9a-f]{40}\b | pulumi.com/docs: access tokens
tailscale-key | tskey- | [a-z]{2,10}-[A-Za-z0-9-]{20,}+ | tailscale.com/kb
nvidia-key | nvapi- | [\w-]{40,}+ | docs.nvidia.com: API keys
google-refresh-token | 1//0 | [\w-]{40,}+ | developers.google.com
bitbucket-token | ATBB | [A-Za-z0-9]{24,}+ | support.atlassian.com
atlassian-token | ATCTT3 | [\w=-]{60,}+ | support.atlassian.com
sourcegraph-token | sgp_ | [0-9a-f_]{40,}+ | sourcegraph.com/docs
langsmith-key | lsv2_ | (?:pt|sk)_[0-9a-f_]{32,}+ | docs.smith.langchain.com
contentful-token | CFPAT- | [\w-]{40,}+ | contentful.com/developers
perplexity-key | pplx- | [A-Za-z0-9]{40,}+ | docs.perplexity.ai
circleci-token | CCIPAT_ | \w{40,}+ | circleci.com/docs
buildkite-token | bkua_ | [0-9a-f]{40}\b | buildkite.com/docs
artifactory-key | AKCp | [A-Za-z0-9]{60,}+ | jfrog.com/help
nuget-key | oy2 | [a-z0-9]{43}\b | learn.microsoft.com/nuget
fly-token | FlyV1 | [ ](?P<value>fm[12][a-z]?_[A-Za-z0-9+/=,_-]{60,}+) | fly.io
onepassword-token | ops_eyJ | [\w=-]{60,}+ | developer.1password.com
cerebras-key | csk- | [a-z0-9]{40,}+ | inference-docs.cerebras.ai
azure-client-secret | Q~ | [A-Za-z0-9._~-]{31,34}(?![A-Za-z0-9._~-]) | learn.microsoft.com | [^0-9]
azure-storage-key | AccountKey= SharedAccessKey= | (?P<value>[A-Za-z0-9+/]{40,}+={0,2}) |
    learn.microsoft.com
azure-signature | sig= | (?P<value>(?:[A-Za-z0-9/+]|%2[BFbf]){42,}+(?:%3[Dd]|=)) |
    learn.microsoft.com
"""


def _form(row: str) -> TokenForm:
    kind, anchors, expression, source, *not_behind = row.split(" | ")
    starts = tuple(anchors.encode().split())
    return TokenForm(kind, starts, expression.encode(), source, *map(str.encode, not_behind))


TOKEN_FORMS = tuple(map(_form, _ROWS.strip().replace("\n    ", " ").splitlines()))


def find_tokens(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each token, by form and not by place."""
    anchors = _anchors()
    for head in anchors.keys() & {ANYWHERE, *_heads(data)}:
        for form, anchor in anchors[head]:
            at = data.find(anchor)
            while at >= 0:
                end = at + len(anchor)
                if match := _match_behind(form, data, at, end):
                    end = match.end()
                    is_part = "value" in match.re.groupindex
                    start = match.start("value") if is_part else at + anchor.startswith(b":")
                    yield form.kind, start, match.end("value" if is_part else 0)
                at = data.find(anchor, end)


def _heads(data: bytes) -> set[bytes]:
    """How the words of a text begin: few anchors have a beginning that occurs. Taking the text
    apart once is several times as fast as searching it for each of them."""
    heads: set[bytes] = set()
    for start in range(0, len(data), _BLOCK_BYTES):
        block = data[max(start - _HEAD_BYTES, 0) : start + _BLOCK_BYTES]
        heads.update({word[:_HEAD_BYTES] for word in set(block.translate(_WORDS).split())})
    return heads


@functools.cache
def _anchors() -> dict[bytes, list[tuple[TokenForm, bytes]]]:
    """All anchors by how their words begin: of most texts a few are looked for."""
    anchors: dict[bytes, list[tuple[TokenForm, bytes]]] = {}
    for form in TOKEN_FORMS:
        for anchor in form.anchors:
            anchors.setdefault(_head(anchor), []).append((form, anchor))
    return anchors


def _head(anchor: bytes) -> bytes:
    """How the word begins that an anchor begins with. `ANYWHERE` if the anchor may stand within a
    word, or is less than a word's beginning."""
    word = anchor.translate(_WORDS).partition(b" ")[0]
    if not anchor[:1].isalpha() or (word == anchor and len(word) < _HEAD_BYTES):
        return ANYWHERE
    return word[:_HEAD_BYTES]


def is_filler(token: bytes) -> bool:
    """Whether a token of a known form is an example of that form and opens nothing."""
    if len(set(token[-20:])) < KINDS_OF_BYTES_MIN:
        return True
    return b"EXAMPLE" in token or b"example" in token or b"xxxxx" in token.lower()


def _match_behind(form: TokenForm, data: bytes, at: int, end: int) -> re.Match[bytes] | None:
    """What follows the anchor between two places, if both are a token."""
    if at and data[at : at + 1].isalpha() and _compile(form.not_behind).match(data, at - 1):
        return None
    match = _compile(form.expression).match(data, end)
    return match if match and not is_filler(data[at : match.end()]) else None


# Compiling all of them takes longer than reading most texts, and few forms ever occur.
@functools.cache
def _compile(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)
