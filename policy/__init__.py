"""Rules for programs: parse, match, decide; every verdict is explained.

    rules = load_rules(project, home=Path.home())
    verdict = judge(Subject("shell", "rm -rf build", cwd=..., home=...), rules)

A guard in front of the sandbox, not the boundary. `judge` follows links and reads the project's
scripts; `evaluate` looks only at its arguments.
"""

from base.lazy_exports import lend_names

__getattr__ = lend_names(__name__, __file__)
