"""The pages of the site, a row each, in the order of the menu."""

from __future__ import annotations

from ctxmode.insight.model import Page
from ctxmode.insight.pages import (
    facts,
    knowledge,
    overview,
    refusals,
    runs,
    searching,
    sessions,
    store,
)

PAGES: tuple[Page, ...] = (
    Page("overview", "Overview", overview.build),
    Page("sessions", "Sessions", sessions.build_list),
    Page("session", "Session", sessions.build_one, "sessions", is_in_file=False),
    Page("runs", "Runs", runs.build),
    Page("refusals", "Refusals", refusals.build),
    Page("memory", "Memory", facts.build_tree),
    Page("fact", "Fact", facts.build_one, "memory", is_in_file=False),
    Page("pages", "Pages", knowledge.build_list),
    Page("page", "Page", knowledge.build_one, "pages", is_in_file=False),
    Page("search", "Search", searching.build, is_in_file=False),
    Page("store", "Store", store.build_list),
    Page("source", "Source", store.build_one, "store", is_in_file=False),
)
