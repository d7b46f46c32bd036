"""Estimates of how many model tokens a text costs.

No tokenizer is needed: models differ 1.7 times on one text, and their tables are large downloads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from types import MappingProxyType

from kb.token_counts import TokenCounts, count

BYTES_PER_TOKEN = 4
"""The usual rule of thumb for English and code with byte-pair vocabularies of 100k and more."""

FAMILIES: Mapping[str, TokenCounts] = MappingProxyType(
    {
        "o200k": TokenCounts(
            *(0.784, 0.251, 0.147, 0.355, 0.0, 1.068, 1.368, 0.292),
            *(0.331, 1.222, 0.436, 1.178, 1.529, 0.458, 1.079, 0.563),
        ),
        "claude-3": TokenCounts(
            *(0.863, 0.141, 0.248, 0.704, 0.122, 2.109, 1.318, 1.087),
            *(0.017, 0.889, 0.986, 1.097, 1.542, 0.519, 1.32, 1.145),
        ),
        "claude-5": TokenCounts(
            *(0.918, 0.531, 0.535, 1.462, 0.467, 1.952, 1.122, 1.453),
            *(0.021, 0.912, 0.288, 1.522, 2.389, 0.611, 1.388, 1.207),
        ),
    }
)
"""Families of models, and the tokens that each count of `TokenCounts` takes. Fitted to o200k by
bpe-openai 0.1.4 and to ctok 1.3.0's counts for Claude 3 and 4.8 on 264 texts (programs, prose,
translations, data, logs); on 254 others 5 to 95 % of the estimates lie within 15 % of the truth.
`python -m benchmarks.tokens` fits and tests anew."""

DEAREST = "claude-5"
"""The family whose texts take the most tokens: a budget in its tokens holds for any reader."""


def estimate_tokens(content: str | bytes) -> int:
    """How many tokens `content` costs a model, from its size in UTF-8; never 0 unless empty."""
    size = len(content) if isinstance(content, bytes) else len(content.encode("utf-8", "replace"))
    return -(-size // BYTES_PER_TOKEN)


def estimate(text: str, family: str) -> int:
    """Return how many tokens a text costs models of a family; never 0 unless it is empty.

    Raises:
        KeyError: the family is none of FAMILIES.
    """
    weights = FAMILIES[family]
    total = sum(weight * times for weight, times in zip(weights, count(text), strict=True))
    return math.ceil(total) if total > 0 else int(bool(text))
