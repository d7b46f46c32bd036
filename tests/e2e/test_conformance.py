"""The protocol's official conformance suite, over HTTP and, where it can, over a pipe.

What fails is listed with its reason, and must go on failing: a reason that no longer holds goes.
"""

import json
import re
import subprocess

import pytest
import trio

from tests.e2e import fronts
from tests.e2e.packages import installed
from tests.e2e.serving import TOKEN, served

SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
SUITE_S_MAX = 200

OWN_TOOL = "calls a tool that the suite's own server has"
OWN_RESOURCE = "reads a resource that the suite's own server has"
NO_PROMPTS = "no prompts are offered: what agents should know is in the tools' descriptions"
FAILS = {
    "completion-complete": "nothing is completed: no argument here has a fixed set of values",
    "resources-subscribe": "no resource changes: a newer version of a source is another resource",
    "resources-unsubscribe": "as resources-subscribe",
    "prompts-get-simple": NO_PROMPTS,
    "prompts-get-with-args": NO_PROMPTS,
    "prompts-get-embedded-resource": NO_PROMPTS,
    "prompts-get-with-image": NO_PROMPTS,
    "resources-read-text": OWN_RESOURCE,
    "resources-read-binary": OWN_RESOURCE,
    "resources-templates-read": OWN_RESOURCE,
    "tools-call-simple-text": OWN_TOOL,
    "tools-call-image": OWN_TOOL,
    "tools-call-audio": OWN_TOOL,
    "tools-call-embedded-resource": OWN_TOOL,
    "tools-call-mixed-content": OWN_TOOL,
    "tools-call-with-logging": OWN_TOOL,
    "tools-call-error": OWN_TOOL,
    "tools-call-with-progress": OWN_TOOL,
    "tools-call-sampling": OWN_TOOL,
    "tools-call-elicitation": OWN_TOOL,
    "json-schema-2020-12": OWN_TOOL,
    "elicitation-sep1034-defaults": OWN_TOOL,
    "elicitation-sep1330-enums": OWN_TOOL,
}
OF_HTTP = ("server-sse-polling", "server-sse-multiple-streams", "dns-rebinding-protection")
PASSES = {
    "server-initialize", "logging-set-level", "ping", "tools-list", "resources-list",
    "prompts-list", *OF_HTTP,
}  # fmt: skip


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    return installed("conformance", tmp_path_factory)


def judge(folder, url, results):
    """The scenarios that passed, and those that did not."""
    node = folder / "node_modules/.bin/node"
    command = [node, folder / SUITE, "server", "--url", url, "--suite", "all", "-o", results]
    subprocess.run(command, capture_output=True, check=False, timeout=SUITE_S_MAX)
    passed, failed = set(), set()
    for file in results.glob("*/checks.json"):
        name = re.fullmatch(r"server-(.*?)-\d{4}-\d\d-\d\dT.*", file.parent.name)[1]
        statuses = {check["status"] for check in json.loads(file.read_text())}
        (failed if "FAILURE" in statuses else passed).add(name)
    return passed, failed


async def test_over_http_all_passes_but_what_is_listed(place, folder, tmp_path):
    async with served(place, all_s_max=SUITE_S_MAX) as server:
        with fronts.with_token(server.url, TOKEN) as url:
            passed, failed = await trio.to_thread.run_sync(judge, folder, url, tmp_path / "out")
    assert (passed, failed) == (PASSES, set(FAILS))


def test_over_a_pipe_all_passes_but_what_is_listed_or_belongs_to_http(place, folder, tmp_path):
    command = [*place.command, "serve"]
    with fronts.over_a_pipe(command, env=place.environment, cwd=place.project) as url:
        passed, failed = judge(folder, url, tmp_path / "out")
    assert passed - set(OF_HTTP) == PASSES - set(OF_HTTP)
    assert failed - set(OF_HTTP) == set(FAILS)
