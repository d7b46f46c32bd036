"""Tabnine CLI, with events in Gemini CLI's form.

Source: docs.tabnine.com: tabnine-cli/features/hooks, hooks/configuration. Exit code 2 refuses, with
stderr for the agent.
"""

LIKE = "gemini_cli"
ANSWERS = {"answer_ruling": "answer_by_code"}
FOLDER_VARIABLES = ("TABNINE_PROJECT_DIR",)
EVENTS = {
    "BeforeTool": "judge",
    "SessionStart": "open",
    "BeforeAgent": "asked",
    "AfterAgent": "answered",
}
