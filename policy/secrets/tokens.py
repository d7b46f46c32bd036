"""Keys and tokens that issuers made recognisable: one row a form, each with its source.

A row's expression begins at one of its anchors, plain text that can be searched for fast. Nothing
follows an unbounded repetition, so no expression can be made to try again and again.
"""

import functools
import re
from collections.abc import Iterator
from typing import NamedTuple

KINDS_OF_BYTES_MIN = 6
"""A token of fewer different bytes than this is `xxxx…`, not a key."""

_WORDLIKE = b"[A-Za-z0-9_]"
_WORDS = bytes(byte if chr(byte).isalpha() or byte == 0x5F else 0x20 for byte in range(0x80))
_WORDS += b" " * 0x80
"""The letters of words themselves, and a blank for all else: numbers are most of some texts."""

_HEAD_BYTES = 3
_BLOCK_BYTES = 256 * 1024


class TokenForm(NamedTuple):
    """One kind of token. What `expression` captures as `value`, or else all of it, is secret.

    An anchor that begins with a letter counts only where no character of `not_behind` precedes it.
    """

    kind: str
    anchors: tuple[bytes, ...]
    expression: bytes
    source: str
    not_behind: bytes = _WORDLIKE


def _form(
    kind: str, anchors: str, expression: str, source: str, not_behind: bytes = _WORDLIKE
) -> TokenForm:
    starts = tuple(word.encode() for word in anchors.split())
    return TokenForm(kind, starts, expression.encode(), source, not_behind)


_END = r"(?![A-Za-z0-9_])"

TOKEN_FORMS = (
    _form(
        "anthropic-key",
        "sk-ant-",
        r"sk-ant-[A-Za-z0-9_-]{20,}+",
        "console.anthropic.com: API keys",
    ),
    # Project and service keys hold `T3BlbkFJ`; older ones are `sk-` and 48 letters and digits.
    _form(
        "openai-key",
        "sk-",
        r"sk-(?!ant-)(?:(?:proj|svcacct|admin|None)-[A-Za-z0-9_-]{20,}+|[A-Za-z0-9]{32,}+)",
        "platform.openai.com: API keys",
    ),
    _form(
        "openrouter-key",
        "sk-or-v1-",
        r"sk-or-v1-[0-9a-f]{32,}+",
        "openrouter.ai/docs: authentication",
    ),
    _form(
        "aws-access-key-id",
        "AKIA ASIA ABIA ACCA",
        r"A(?:KIA|SIA|BIA|CCA)[A-Z2-7]{16}" + _END,
        "docs.aws.amazon.com/IAM: unique identifiers",
    ),
    _form(
        "github-token",
        "ghp_ gho_ ghu_ ghs_ ghr_",
        r"gh[pousr]_[A-Za-z0-9]{36,}+",
        "github.blog: authentication token formats",
    ),
    _form(
        "github-token",
        "github_pat_",
        r"github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{40,}+",
        "docs.github.com: fine-grained tokens",
    ),
    _form(
        "gitlab-token",
        "glpat- gldt- glrt- glcbt- glptt- glft- glsoat- glagent- gloas- glimt- glrtr-",
        r"gl(?:pat|dt|rt|cbt|ptt|ft|soat|agent|oas|imt|rtr)-[A-Za-z0-9_-]{20,}+(?:\.[a-z0-9]{2,30}){0,2}",
        "docs.gitlab.com: token prefixes",
    ),
    _form(
        "google-api-key",
        "AIza",
        r"AIza[A-Za-z0-9_-]{35}(?![A-Za-z0-9_-])",
        "cloud.google.com/docs: API keys",
    ),
    _form(
        "google-oauth-secret",
        "GOCSPX-",
        r"GOCSPX-[A-Za-z0-9_-]{28}(?![A-Za-z0-9_-])",
        "developers.google.com/identity: OAuth clients",
    ),
    _form(
        "google-access-token",
        "ya29.",
        r"ya29\.[A-Za-z0-9_-]{20,}+",
        "developers.google.com/identity: access tokens",
    ),
    _form(
        "stripe-key",
        "sk_live_ sk_test_ rk_live_ rk_test_",
        r"[sr]k_(?:live|test)_[A-Za-z0-9]{16,}+",
        "docs.stripe.com/keys",
    ),
    _form(
        "stripe-webhook-secret",
        "whsec_",
        r"whsec_[A-Za-z0-9+/=]{24,}+",
        "docs.stripe.com/webhooks",
    ),
    _form(
        "slack-token",
        "xoxb- xoxp- xoxa- xoxr- xoxs- xoxe- xoxe. xapp-",
        r"(?:xox[bparse]|xapp)[-.][A-Za-z0-9.-]{20,}+",
        "api.slack.com: token types",
    ),
    _form(
        "slack-webhook",
        "hooks.slack.com/",
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<value>[A-Za-z0-9_+/-]{20,}+)",
        "api.slack.com: incoming webhooks",
    ),
    _form(
        "discord-webhook",
        "discord.com/api/webhooks/ discordapp.com/api/webhooks/",
        r"discord(?:app)?\.com/api/webhooks/[0-9]{15,21}/(?P<value>[A-Za-z0-9_-]{40,}+)",
        "discord.com/developers: webhooks",
    ),
    _form(
        "json-web-token",
        "eyJ",
        r"eyJ[A-Za-z0-9_-]{8,8192}+\.eyJ[A-Za-z0-9_-]{8,8192}+\.[A-Za-z0-9_-]{10,}+",
        "RFC 7519",
        b"[A-Za-z0-9_-]",  # or each `eyJ` inside one long run would be tried
    ),
    _form(
        "npm-token",
        "npm_",
        r"npm_[A-Za-z0-9]{36}" + _END,
        "docs.npmjs.com: access tokens",
    ),
    _form(
        "pypi-token",
        "pypi-AgE",
        r"pypi-AgE[A-Za-z0-9_-]{50,}+",
        "pypi.org/help: API tokens (macaroons)",
    ),
    _form("rubygems-key", "rubygems_", r"rubygems_[0-9a-f]{48}" + _END, "guides.rubygems.org"),
    _form("docker-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[A-Za-z0-9_-]{20,}+", "docs.docker"),
    _form("huggingface-token", "hf_", r"hf_[A-Za-z0-9]{30,}+", "huggingface.co/docs: tokens"),
    _form("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{40,}+", "console.groq.com: API keys"),
    _form("xai-key", "xai-", r"xai-[A-Za-z0-9]{60,}+", "docs.x.ai: API keys"),
    _form("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}" + _END, "replicate.com/docs"),
    _form(
        "sendgrid-key",
        "SG.",
        r"SG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
        "docs.sendgrid.com: API keys",
    ),
    _form("mailgun-key", "key-", r"key-[0-9a-f]{32}" + _END, "documentation.mailgun.com"),
    _form("twilio-key", "SK", r"SK[0-9a-f]{32}" + _END, "twilio.com/docs: API keys"),
    _form(
        "telegram-token",
        ":AA",
        r":(?P<value>AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])",
        "core.telegram.org/bots",
    ),
    _form(
        "digitalocean-token",
        "dop_v1_ doo_v1_ dor_v1_",
        r"do[por]_v1_[0-9a-f]{64}" + _END,
        "docs.digitalocean.com: personal access tokens",
    ),
    _form(
        "shopify-token",
        "shpat_ shpca_ shppa_ shpss_",
        r"shp(?:at|ca|pa|ss)_[0-9A-Fa-f]{32}" + _END,
        "shopify.dev: access tokens",
    ),
    _form("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_-]{20,}+", "developer.hashicorp"),
    _form(
        "terraform-token",
        ".atlasv1.",
        r"\.atlasv1\.(?P<value>[A-Za-z0-9_=-]{40,}+)",
        "developer.hashicorp.com/terraform: API tokens",
    ),
    _form("databricks-token", "dapi", r"dapi[0-9a-f]{32}" + _END, "docs.databricks.com"),
    _form("doppler-token", "dp.pt. dp.st.", r"dp\.[ps]t\.[A-Za-z0-9._-]{40,}+", "docs.doppler"),
    _form("grafana-token", "glsa_ glc_", r"gl(?:sa|c)_[A-Za-z0-9_+/=]{30,}+", "grafana.com/docs"),
    _form("new-relic-key", "NRAK-", r"NRAK-[A-Z0-9]{27}" + _END, "docs.newrelic.com: API keys"),
    _form("postman-key", "PMAK-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}" + _END, "learning.postman"),
    _form("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w.-]{32,}+", "planetscale"),
    _form("sentry-token", "sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_-]{40,}+", "docs.sentry.io"),
    _form("square-token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[\w-]{22,}+", "developer.squareup"),
    _form("linear-key", "lin_api_", r"lin_api_[A-Za-z0-9]{40}" + _END, "developers.linear.app"),
    _form("notion-token", "ntn_", r"ntn_[A-Za-z0-9]{40,}+", "developers.notion.com: tokens"),
    _form("atlassian-token", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{60,}+", "support.atlassian.com"),
    _form("figma-token", "figd_", r"figd_[A-Za-z0-9_-]{38,}+", "developers.figma.com"),
    _form("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _END, "airtable.com"),
    _form("supabase-token", "sbp_", r"sbp_[0-9a-f]{40}" + _END, "supabase.com/docs"),
    _form("netlify-token", "nfp_", r"nfp_[A-Za-z0-9]{36,}+", "docs.netlify.com"),
    _form("heroku-key", "HRKU-", r"HRKU-[A-Za-z0-9_-]{36,}+", "devcenter.heroku.com"),
    _form("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}" + _END, "age-encryption"),
    _form("pulumi-token", "pul-", r"pul-[0-9a-f]{40}" + _END, "pulumi.com/docs: access tokens"),
    _form("tailscale-key", "tskey-", r"tskey-[a-z]{2,10}-[A-Za-z0-9-]{20,}+", "tailscale.com/kb"),
    _form("nvidia-key", "nvapi-", r"nvapi-[A-Za-z0-9_-]{40,}+", "docs.nvidia.com: API keys"),
    _form("google-refresh-token", "1//0", r"1//0[A-Za-z0-9_-]{40,}+", "developers.google.com"),
    _form("bitbucket-token", "ATBB", r"ATBB[A-Za-z0-9]{24,}+", "support.atlassian.com"),
    _form("atlassian-token", "ATCTT3", r"ATCTT3[A-Za-z0-9_=-]{60,}+", "support.atlassian.com"),
    _form("sourcegraph-token", "sgp_", r"sgp_[0-9a-f_]{40,}+", "sourcegraph.com/docs"),
    _form("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f_]{32,}+", "docs.smith.langchain.com"),
    _form("contentful-token", "CFPAT-", r"CFPAT-[A-Za-z0-9_-]{40,}+", "contentful.com/developers"),
    _form("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}+", "docs.perplexity.ai"),
    _form("circleci-token", "CCIPAT_", r"CCIPAT_[A-Za-z0-9_]{40,}+", "circleci.com/docs"),
    _form("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}" + _END, "buildkite.com/docs"),
    _form("artifactory-key", "AKCp", r"AKCp[A-Za-z0-9]{60,}+", "jfrog.com/help"),
    _form("nuget-key", "oy2", r"oy2[a-z0-9]{43}" + _END, "learn.microsoft.com/nuget"),
    _form(
        "fly-token", "FlyV1 ", r"FlyV1 (?P<value>fm[12][a-z]?_[A-Za-z0-9+/=,_-]{60,}+)", "fly.io"
    ),
    _form(
        "onepassword-token", "ops_eyJ", r"ops_eyJ[A-Za-z0-9_=-]{60,}+", "developer.1password.com"
    ),
    _form("cerebras-key", "csk-", r"csk-[a-z0-9]{40,}+", "inference-docs.cerebras.ai"),
    _form(
        "azure-client-secret",
        "Q~",
        r"Q~[A-Za-z0-9._~-]{31,34}(?![A-Za-z0-9._~-])",
        "learn.microsoft.com: client secrets",
        b"[^0-9]",
    ),
    _form(
        "azure-storage-key",
        "AccountKey= SharedAccessKey=",
        r"(?:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{40,}+={0,2})",
        "learn.microsoft.com: connection strings",
    ),
    _form(
        "azure-signature",
        "sig=",
        r"sig=(?P<value>(?:[A-Za-z0-9/+]|%2[BFbf]){42,}+(?:%3[Dd]|=))",
        "learn.microsoft.com: shared access signatures",
    ),
)


def find_tokens(data: bytes) -> Iterator[tuple[str, int, int]]:
    """Kind, start and end of each token, by form and not by place."""
    heads = _heads(data)
    for form in TOKEN_FORMS:
        for anchor in form.anchors:
            head = _head(anchor)
            at = data.find(anchor) if head is None or head in heads else -1
            while at >= 0:
                end = at + len(anchor)
                if match := _match_at(form, data, at):
                    group = "value" if "value" in match.re.groupindex else 0
                    yield form.kind, match.start(group), match.end(group)
                    end = match.end()
                at = data.find(anchor, end)


def _heads(data: bytes) -> set[bytes]:
    """How the words of a text begin: few anchors have a beginning that occurs, and to take the
    text apart once is several times as fast as to search it for each of them."""
    heads: set[bytes] = set()
    for start in range(0, len(data), _BLOCK_BYTES):
        block = data[max(start - _HEAD_BYTES, 0) : start + _BLOCK_BYTES]
        heads.update({word[:_HEAD_BYTES] for word in set(block.translate(_WORDS).split())})
    return heads


@functools.cache
def _head(anchor: bytes) -> bytes | None:
    """How the word begins that an anchor begins with; None where the anchor may stand within a
    word, or is less than the beginning of one."""
    word = anchor.translate(_WORDS).partition(b" ")[0]
    if not anchor[:1].isalpha() or (word == anchor and len(word) < _HEAD_BYTES):
        return None
    return word[:_HEAD_BYTES]


def is_filler(token: bytes) -> bool:
    """Whether a token of a known form is an example of that form and opens nothing."""
    if len(set(token[-20:])) < KINDS_OF_BYTES_MIN:
        return True
    return b"EXAMPLE" in token or b"example" in token or b"xxxxx" in token.lower()


def _match_at(form: TokenForm, data: bytes, at: int) -> re.Match[bytes] | None:
    if at and form.anchors[0][:1].isalpha() and _compiled(form.not_behind).match(data, at - 1):
        return None
    match = _compiled(form.expression).match(data, at)
    return match if match and not is_filler(match[0]) else None


# Compiling all of them takes longer than reading most texts, and few forms ever occur.
@functools.cache
def _compiled(expression: bytes) -> re.Pattern[bytes]:
    return re.compile(expression)
