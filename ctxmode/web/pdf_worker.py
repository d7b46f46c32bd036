"""Conversion of a PDF on stdin to Markdown on stdout, with a heading for each page. Runs as a
separate process with limits, because no parser of this format is trusted to end."""

from __future__ import annotations

import io
import resource
import sys

CPU_S_MAX = 30
MEMORY_BYTES_MAX = 2 * 1024 * 1024 * 1024
TEXT_BYTES_MAX = 20 * 1024 * 1024


def main() -> int:
    """Write the text and return 0, or the reason on stderr and return 1."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S_MAX, CPU_S_MAX))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES_MAX, MEMORY_BYTES_MAX))
    data = sys.stdin.buffer.read()
    from pypdf import PdfReader  # noqa: PLC0415 - within the limits
    from pypdf.errors import PyPdfError  # noqa: PLC0415

    written = 0
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):
            raise PyPdfError("it is encrypted")
        for number, page in enumerate(reader.pages, start=1):
            text = f"## Page {number}\n\n{page.extract_text().strip()}\n\n"
            out = text.encode("utf-8", "replace")
            written += len(out)
            if written > TEXT_BYTES_MAX:
                raise PyPdfError("its text is too large")
            sys.stdout.buffer.write(out)
    except Exception as error:  # hostile input may raise anything
        sys.stderr.write(f"{error or type(error).__name__}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
