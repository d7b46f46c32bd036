"""Small repositories for tests of the map, and a map of them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from repomap.model import PackRequest, Redaction, ScanReport
from repomap.scanning import ScanRequest, scan
from repomap.store import MapStore

APP = {
    "src/app/__init__.py": '"""A shop."""\n',
    "src/app/cart.py": (
        '"""The cart of a customer."""\n\nfrom app.prices import find_price\n\n\n'
        "class ShoppingCart:\n"
        '    """What a customer wants."""\n\n'
        "    def add_item(self, name, count):\n"
        '        """Put an item in."""\n'
        "        self.total += find_price(name) * count\n\n"
        "    def apply_discount(self, percent):\n"
        "        self.total -= self.total * percent / 100\n"
    ),
    "src/app/prices.py": '"""What things cost."""\n\n\ndef find_price(name):\n    return 1\n',
    "src/app/mail.py": '"""Letters to customers."""\n\n\ndef send_letter(to):\n    return to\n',
    "tests/test_cart.py": "from app.cart import ShoppingCart\n\n\ndef test_discount():\n    pass\n",
    "README.md": "# Shop\n\n## Discounts\n\nThe cart knows discounts.\n",
    ".gitignore": "*.tmp\n!keep.tmp\n",
}


def write_files(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for path, content in files.items():
        target = root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode()
        target.write_bytes(data)
    return root


def run_git(root: Path, *arguments: str, at: int = 1_700_000_000) -> str:
    """Run git with a fixed author and time."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(root.parent),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": f"{at} +0000",
        "GIT_COMMITTER_DATE": f"{at} +0000",
    }
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(
        ["git", *who, *arguments],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def commit_all(root: Path, message: str, at: int = 1_700_000_000) -> str:
    """Commit everything, in a repository made where there is none."""
    run_git(root, "init", "-q")
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--no-verify", "-m", message, at=at)
    return run_git(root, "rev-parse", "HEAD").strip()


def is_secret_name(path: str) -> bool:
    """Tell whether a path is named like secrets, for tests."""
    return path.rpartition("/")[2] == ".env"


def hide_nothing(data: bytes) -> bytes:
    """Return the bytes as they are."""
    return data


def scan_folder(
    store: MapStore,
    root: Path,
    *,
    hide_secrets: Callable[[bytes], bytes] = hide_nothing,
    files: int = 20_000,
) -> ScanReport:
    """Bring a map up to date."""
    return scan(store, ScanRequest(root, is_secret_name, hide_secrets, files=files))


def count_bytes(text: str) -> int:
    """Return bytes over four, the plainest estimate."""
    return -(-len(text.encode()) // 4)


def redact_nothing(text: str) -> Redaction:
    """Return the text as it is."""
    return (text, ())


def ask(task: str, **fields: object) -> PackRequest:
    """Return a request with the plainest estimate."""
    given: dict[str, object] = {"count": count_bytes, "redact": redact_nothing, **fields}
    return PackRequest(task, **given)  # type: ignore[arg-type]
