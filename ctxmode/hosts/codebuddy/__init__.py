"""CodeBuddy Code, with hooks like Claude Code's.

Source: codebuddy.ai/docs/cli/hooks (1.16 and later), which calls its hooks fully compatible.
"""

LIKE = "claude_code"
FOLDER_VARIABLES = ("CODEBUDDY_PROJECT_DIR", "CLAUDE_PROJECT_DIR")
EVENTS = {
    "PreToolUse": "judge",
    "SessionStart": "open",
    "UserPromptSubmit": "asked",
    "Stop": "answered",
}
