"""Which mark each test has: by its file, as data.

`unit` starts no process, which is enforced. `sandbox` starts processes of this machine, `engine`
needs a container engine, `hosts` drives agents' hosts. `more` is what `./run-tests --all` adds:
tests that take long for what they are, and those that `repetitions.txt` names.
Every test has exactly one of them.
`smoke` is a label beside: a few sandbox tests that `./run-tests --fast` adds to the unit tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

UNIT, SANDBOX, ENGINE, MORE, HOSTS = "unit", "sandbox", "engine", "more", "hosts"
SMOKE = "smoke"
MARKS: Final = {
    UNIT: "starts no process",
    SANDBOX: "starts processes of this machine",
    ENGINE: "needs a container engine",
    MORE: "takes long for what it is, or repeats what other tests show: --all adds it",
    HOSTS: "drives agents' hosts that come from npm",
    SMOKE: "a sandbox test that --fast runs beside the unit tests",
}
ONE_OF: Final = (UNIT, SANDBOX, ENGINE, MORE, HOSTS)  # which each test has exactly one of
COLLECTED: Final = pytest.StashKey[frozenset[str]]()  # ids, before any was left out

# Beginnings of the ids of tests below tests/. The longest that fits decides.
_UNIT = """
base/ fleet/ memory/ policy/ kb/ runtimes/ structure/ ctxmode/ executor/cells/test_description.py
executor/cells/test_placement.py executor/cells/test_cgroup.py executor/compile/test_products.py
executor/engine/test_layers.py executor/engine/test_messages.py executor/engine/test_seccomp.py
executor/engine/test_unpacking.py executor/pool/test_budget.py executor/pool/test_pool.py
executor/pool/test_pressure.py executor/run/test_capture.py executor/run/test_outcome.py
executor/run/test_output_routing.py executor/run/test_runner.py executor/test_model.py
executor/run/refusals/test_error_refusals.py executor/run/refusals/test_collecting.py
executor/spawner/test_name_server.py
executor/test_request.py executor/test_service.py images/test_base.py images/test_context.py
images/test_groups.py images/test_naming.py images/test_settings.py images/test_workplace.py
fleet/ hosts/test_endpoint.py hosts/test_host_table.py repomap/importing/ repomap/test_structure.py
"""
_SANDBOX = """
ctxmode/commands/test_pack.py ctxmode/commands/test_pack_output.py
ctxmode/commands/test_map_and_task.py ctxmode/mcp/test_pack_tool.py
ctxmode/operations/test_run_drafts.py
ctxmode/operations/test_pack_secrets.py
repomap/
structure/test_picture.py
base/test_bounded_run.py base/test_locks.py base/test_queues.py memory/facts/test_killed_merge.py
memory/facts/test_killed_import.py fleet/test_killed_journal.py
memory/facts/test_killed_restore.py
memory/facts/test_many_processes.py memory/pages/test_exporting.py
memory/sessions/test_many_processes.py kb/test_many_processes.py
memory/pages/test_disks.py memory/pages/test_word_hunks.py memory/pages/test_section_diff.py
memory/pages/test_section_merging.py memory/pages/test_blame.py
memory/pages/test_many_writers.py memory/pages/test_pulling.py memory/pages/test_repository.py
memory/pages/test_merging.py memory/pages/test_evolution.py memory/pages/test_forgetting.py
memory/pages/test_killed_push.py memory/pages/test_pushing.py memory/pages/test_writing.py
executor/ escapes/ e2e/ benchmarks/ examples/ policy/test_cases.py policy/test_deadline.py
executor/engine/test_unpacking.py::test_what_was_there
policy/test_import_cost.py policy/test_judging.py policy/test_languages.py::test_a_perl_comment
fleet/test_back.py fleet/test_returned.py fleet/test_fuzz.py fleet/test_whole_way.py
fleet/test_front.py fleet/test_same_result.py fleet/test_leaving.py
fleet/test_worker.py fleet/test_seal.py::test_at_a_worker
fleet/dask/test_client.py
kb/test_bulk.py kb/test_chunk_table.py
kb/test_chunking.py kb/test_code.py kb/test_conversion.py kb/test_directory.py
kb/test_explaining.py kb/test_known_defects.py kb/test_redaction.py::test_neither
kb/test_search.py::test_sections kb/test_disks.py kb/test_durability.py
ctxmode/mcp/test_resources.py ctxmode/operations/test_searching.py
kb/test_ignoring.py::test_every_pattern kb/test_ignoring.py::test_git_itself
kb/test_kb.py::test_importing kb/test_purging.py
kb/test_workers.py runtimes/packages/programs/test_javascript_lock.py
runtimes/test_discovery.py::test_a_real_virtual runtimes/test_ending.py
runtimes/test_file_content.py runtimes/test_install.py::test_the_script_is_posix
runtimes/test_line_numbers.py runtimes/test_programs.py runtimes/test_scripts.py
structure/test_documents.py::test_every_json structure/test_flaky.py
structure/test_fleet_is_asked_for.py::test_no_verb structure/test_fleet_is_asked_for.py::test_a_verb
ctxmode/operations/test_audit.py::test_several_processes
ctxmode/operations/test_session_calls.py ctxmode/operations/test_pages.py
ctxmode/operations/test_one_search.py
ctxmode/commands/test_pages.py ctxmode/mcp/test_pages_tool.py
ctxmode/hosts/hooks/test_claude_parity.py ctxmode/test_cli.py::test_a_reader_that_leaves
ctxmode/test_cli.py::test_the_version_imports ctxmode/test_garbage.py
ctxmode/doctor/test_container_engine.py::test_a_socket_that
ctxmode/doctor/test_container_engine.py::test_where_nothing_names
ctxmode/doctor/test_texts.py::test_hints ctxmode/doctor/test_texts.py::test_the_verb
ctxmode/web/test_pages.py ctxmode/hosts/hooks/test_hooks.py
ctxmode/mcp/http/test_connections.py::test_tls ctxmode/test_import_cost.py
ctxmode/operations/test_indexing.py ctxmode/hosts/hooks/test_opencode_plugin.py
ctxmode/test_parsing.py::test_an_unknown_profile ctxmode/commands/test_policy.py
ctxmode/test_mistakes.py
ctxmode/hosts/hooks/test_capture.py ctxmode/hosts/hooks/test_turns.py
ctxmode/hosts/hooks/test_capture_skips.py
ctxmode/operations/test_quotas.py::test_a_server_keeps ctxmode/render/test_streams.py
ctxmode/trial/test_trial.py executor/cells/test_cgroup.py::test_a_real_group
images/test_settings.py::test_a_host_with images/test_workplace.py::test_what_a_killed
"""
_ENGINE = """
executor/containers/ images/
"""
_MORE = """
repomap/test_budget_fit.py::test_a_thousand
repomap/test_bad_input.py::test_a_hundred_thousand
repomap/test_bad_maps.py::test_a_scan_that_is_killed
repomap/test_bad_maps.py::test_three_thousand
fleet/test_deaths.py fleet/test_same_result.py::test_every_other
policy/test_differential.py policy/test_mutations.py policy/test_real_scripts.py
executor/test_identities.py executor/project/test_real_builds.py
executor/run/refusals/test_refused_acts.py::test_benign
executor/project/test_real_repositories.py executor/project/test_kills.py
executor/project/test_tools_obey.py escapes/test_scale.py e2e/test_wheel.py
executor/pool/test_prewarming.py::test_a_warm_run_is_told executor/containers/test_escapes.py
executor/containers/test_remote.py executor/containers/test_engine_lost.py
executor/containers/test_gvisor.py executor/containers/test_parity.py images/test_image_build.py
e2e/test_known_defects.py::test_none images/test_program.py
base/test_secrets.py::test_long_hostile_text base/test_readings.py::test_of_twenty
e2e/test_conformance.py e2e/test_inspector.py e2e/test_typescript_client.py e2e/test_mcp_fuzz.py
e2e/test_docs_commands.py e2e/test_hostile_project.py kb/test_work.py kb/test_structured.py
kb/test_eviction.py runtimes/test_wrapping.py e2e/test_killed_imports.py
structure/test_where_to_add.py policy/test_languages.py::test_nesting
policy/test_languages.py::test_a_program_that_is_large
"""
_HOSTS = """
hosts/
"""

KINDS: Final = {
    f"tests/{beginning}": mark
    for mark, beginnings in (
        (UNIT, _UNIT),
        (SANDBOX, _SANDBOX),
        (ENGINE, _ENGINE),
        (MORE, _MORE),
        (HOSTS, _HOSTS),
    )
    for beginning in beginnings.split()
}
SMOKES: Final = ("tests/executor/test_run.py::", "tests/executor/instance/test_lock.py::")
# They wait for deadlines, or show with each of 30 signals what one shows.
NOT_SMOKES: Final = tuple(
    f"tests/executor/test_run.py::{name}"
    for name in (
        "test_the_deadline_ends_every_program",
        "test_what_was_printed_before_the_deadline_is_kept",
        "test_deaths_by_signal_come_back_exact",
    )
)

# A line is a function, or a case; with a plus all others of its function are repetitions.
_LINES: Final = frozenset(
    line
    for line in (Path(__file__).parent / "repetitions.txt").read_text("utf-8").splitlines()
    if not line.startswith("#")
)
REPETITIONS: Final = frozenset(f"tests/{one}" for one in _LINES if not one.startswith("+"))
KEPT: Final = frozenset(f"tests/{one[1:]}" for one in _LINES if one.startswith("+"))
_OF_KEPT: Final = frozenset(one.partition("[")[0] for one in KEPT)
_REPEATING: Final = frozenset(one.partition("::")[0] for one in (*REPETITIONS, *KEPT))  # files


def mark_of(test: str) -> str:
    """The mark of a test, by its id.

    Raises:
        ValueError: no beginning fits: the table lacks its folder.
    """
    return MORE if is_repetition(test) else kind_of(test)


def is_repetition(test: str) -> bool:
    """Tell whether a test, by its id, shows what others show."""
    function = test.partition("[")[0]
    is_other = function in _OF_KEPT and test not in KEPT
    return is_other or test in REPETITIONS or function in REPETITIONS


def kind_of(test: str) -> str:
    """Return the mark of a test, by its id, as if it were not a repetition.

    Raises:
        ValueError: no beginning fits: the table lacks its folder.
    """
    return KINDS[max((one for one in KINDS if test.startswith(one)), key=len)]


def is_smoke(test: str) -> bool:
    """Whether --fast runs a sandbox test, by its id."""
    return test.startswith(SMOKES) and not test.startswith(NOT_SMOKES)


def may_be_fast(file: str) -> bool:
    """Whether a file, by its path from the checkout, has tests that --fast runs."""
    return may_have(file, UNIT) or any(one.startswith(f"{file}::") for one in SMOKES)


def may_have(file: str, mark: str) -> bool:
    """Whether a file, by its path from the checkout, has tests of a mark."""
    if mark == MORE and file in _REPEATING:
        return True
    beginnings = (beginning for beginning, its_mark in KINDS.items() if its_mark == mark)
    return kind_of(file) == mark or any(one.startswith(f"{file}::") for one in beginnings)
