"""The pages of the site, in the order of the menu."""

from __future__ import annotations

from ctxmode.insight.pages import facts, overview
from ctxmode.insight.reading import Page

PAGES: tuple[Page, ...] = (
    Page("overview", "Overview", overview.build_overview),
    Page("sessions", "Sessions", overview.build_sessions),
    Page("session", "Session", overview.build_session, "sessions", is_in_file=False),
    Page("runs", "Runs", overview.build_runs),
    Page("refusals", "Refusals", overview.build_refusals),
    Page("memory", "Memory", facts.build_facts),
    Page("fact", "Fact", facts.build_fact, "memory", is_in_file=False),
    Page("pages", "Pages", facts.build_pages),
    Page("page", "Page", facts.build_page, "pages", is_in_file=False),
    Page("search", "Search", overview.build_search, is_in_file=False),
    Page("store", "Store", overview.build_sources),
    Page("source", "Source", overview.build_source, "store", is_in_file=False),
)
