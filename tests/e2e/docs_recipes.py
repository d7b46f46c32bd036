"""The files of the project in which the commands of the two pages of recipes are run."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

FILES = {
    "before.json": json.dumps(
        {"total": 2, "users": [{"id": 1, "plan": "free"}, {"id": 2, "plan": "team"}]}
    ),
    "after.json": json.dumps(
        {"total": 2, "users": [{"id": 1, "plan": "team"}, {"id": 2, "plan": "team"}], "next": None}
    ),
    "slow.py": "def is_known(page, seen):\n    return page in seen\n\n\n"
    "def main():\n    seen = []\n    with open('access.log') as log:\n        for line in log:\n"
    "            page = line.split()[2]\n            if not is_known(page, seen):\n"
    "                seen.append(page)\n    print(len(seen), 'pages')\n\n\nmain()\n",
    "imports.py": "import os\nimport sys\n\nprint(sys.argv)\n",
    "tests/test_tags.py": "import unittest\n\n\ndef first_tag(text):\n"
    "    return next(iter(set(text.split())))\n\n\nclass Tags(unittest.TestCase):\n"
    "    def test_first_tag(self):\n"
    "        self.assertEqual(first_tag('red green blue'), 'red')\n",
    "waits.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# Waits\n", "In seconds."]},
                {
                    "cell_type": "code",
                    "execution_count": 1,
                    "metadata": {},
                    "outputs": [],
                    "source": ["waits = [2**n for n in range(3)]\n", "print(waits)"],
                },
            ],
            "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3"}},
            "nbformat": 4,
            "nbformat_minor": 4,
        }
    ),
    "count/go.mod": "module example.com/count\n\ngo 1.18\n",
    "count/main.go": 'package main\n\nimport (\n\t"bufio"\n\t"fmt"\n\t"os"\n\t"strings"\n)\n\n'
    "func main() {\n\tcounts := map[string]int{}\n\tlines := bufio.NewScanner(os.Stdin)\n"
    "\tfor lines.Scan() {\n\t\tcounts[strings.Fields(lines.Text())[3]]++\n\t}\n"
    "\tfmt.Println(counts)\n}\n",
}


def write(project: Path) -> None:
    """Write them, and a database with a thousand orders of five customers."""
    for name, text in FILES.items():
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    rows = [(f"customer {n % 5}", n * 1.5) for n in range(1000)]
    with closing(sqlite3.connect(project / "shop.db")) as made, made:
        made.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer TEXT, total REAL)")
        made.executemany("INSERT INTO orders (customer, total) VALUES (?, ?)", rows)
