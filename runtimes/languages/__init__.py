"""The languages, one to a module. Texts in a language itself are files of `bindings/`."""

from pathlib import Path


def read_binding(name: str) -> str:
    """Read the text that binds a file's content in a language, or another text of that language."""
    return (Path(__file__).parent / "bindings" / name).read_text("utf-8")
