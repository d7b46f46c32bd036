"""What a fleet costs its front: `python -m benchmarks.fleet [--snapshot] [--order] [--queue]`.

Each option is one measurement, in a module of its own; without any, all that are short are taken.
"""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.report import Report, argument_parser, show


@dataclass(frozen=True, slots=True)
class Measurement:
    """One option, and the module whose `measure(folder, report, value)` adds to the report.

    `default` is the option's value where it has one; it is shown as `metavar`. What `is_long` is
    measured only where it is named.
    """

    module: str
    help: str
    metavar: str = ""
    default: str = ""
    is_long: bool = False


MEASUREMENTS = {
    "snapshot": Measurement("fleet_snapshot", "looks at a project of 1,000 files, and their blobs"),
    "worker": Measurement("fleet_worker", "what a worker adds to a run"),
    "order": Measurement(
        "fleet_order", "a front's processor for each run: order, journal, outcome"
    ),
    "latency": Measurement("fleet_latency", "what a cluster adds to a run", is_long=True),
    "workers": Measurement(
        "fleet_workers", "how far workers add up", "N,N…", "1,2,4,8", is_long=True
    ),
    "queue": Measurement("fleet_queue", "memory that runs take while they wait", "N", "10000"),
}


def main(argv: Sequence[str] | None = None) -> None:
    parser = argument_parser(__name__, __doc__)
    for name, one in MEASUREMENTS.items():
        if one.metavar:
            parser.add_argument(
                f"--{name}", nargs="?", const=one.default, metavar=one.metavar, help=one.help
            )
        else:
            parser.add_argument(f"--{name}", action="store_const", const="", help=one.help)
    parser.add_argument("--folder", type=Path, metavar="F", help="on the disk to measure")
    args = parser.parse_args(argv)
    chosen = {name: getattr(args, name) for name in MEASUREMENTS}
    if all(value is None for value in chosen.values()):
        chosen = {name: one.default for name, one in MEASUREMENTS.items() if not one.is_long}
    report = Report("fleet")
    for name, value in chosen.items():
        if value is not None:
            with tempfile.TemporaryDirectory(dir=args.folder, prefix="ctxmode-bench-") as folder:
                module = importlib.import_module(f"benchmarks.{MEASUREMENTS[name].module}")
                module.measure(Path(folder), report, value)
    show(report, as_json=args.json)


if __name__ == "__main__":
    main()
