"""Writing facts: remember, prime, pin, unpin, forget."""

from __future__ import annotations

import argparse
from pathlib import Path

from ctxmode import exit_codes
from ctxmode.commands.memory_verbs import opening
from ctxmode.config.locations import load_config
from ctxmode.launch import print_answer, tell
from ctxmode.operations import section_files
from ctxmode.operations.fact_answers import FactRequest, answer


def remember(args: argparse.Namespace) -> int:
    asked = FactRequest(
        text=opening.read_text(args.text),
        branch=opening.find_branch(args),
        key=args.key,
        context=args.context or FactRequest().context,
        title=args.title,
        tags=tuple(args.tag),
        confidence=args.confidence,
        category=args.category,
        why=args.why,
        ttl=args.ttl,
        scope=args.scope,
        supersedes=args.supersedes,
        source=args.source,
    )
    if args.category != "decide" or args.scope != "project":
        return opening.show(args, asked)
    return _decide(args, asked)


def _decide(args: argparse.Namespace, asked: FactRequest) -> int:
    """Remember a decision, and keep ContextOS's DECISIONS.md in step where a project has it."""
    config = load_config(args.project)
    path = section_files.find_decisions_file(config.project)
    if path is None:
        return opening.show(args, asked)
    with opening.open_memory(args, "project") as memory:
        taken = section_files.read_decisions(config, memory, path, asked.branch)
        found = answer(memory, "remember", asked)
        section_files.write_decisions(memory, path, asked.branch)
    tell([f"{taken} decisions were taken over from {path.name}"] * bool(taken))
    print_answer(args, found.data, found.text)
    return exit_codes.OK


def prime(args: argparse.Namespace) -> int:
    name = "stdin" if args.file == "-" else Path(args.file).name
    asked = FactRequest(
        text=opening.read_file(args.file),
        branch=opening.find_branch(args),
        source=args.source or name,
        title=name,
        is_pinned=args.pin,
    )
    return opening.show(args, asked)


def change(args: argparse.Namespace) -> int:
    asked = FactRequest(
        wanted=args.wanted,
        branch=opening.find_branch(args),
        why=args.why,
        is_erased=getattr(args, "erase", False),
    )
    return opening.show(args, asked)
