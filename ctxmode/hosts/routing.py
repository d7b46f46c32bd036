"""The text that tells an agent when to use which tool: one source for hooks and rules files."""

from __future__ import annotations

BYTES_MAX = 1536

ROUTING = """\
## context-mode

Tools that run code where the data is and bring back only the answer. What they keep out of the \
conversation stays searchable.

| when | use |
| --- | --- |
| a command may print more than a few lines (tests, builds, logs, `git log`, `grep -r`) | \
`ctx_execute`, with `intent` saying what you look for |
| a question about one large file (log, CSV, JSON) | `ctx_execute_file`: print only the answer |
| several commands answer one question | `ctx_batch_execute` with `queries` |
| documents or code will be asked about more than once | `ctx_index`, then `ctx_search` |
| something was printed or indexed before | `ctx_search` with its `output_id` or source |
| the conversation was compacted, or an earlier session goes on | `ctx_session` |

Your own shell is right for short commands that change the machine: `git commit`, `mkdir`, \
installing; in the sandbox of `ctx_execute` the project is a copy and the network is off. Your own \
file tools are right for files that you are about to edit.

Write programs that count, filter and join, and print the answer, in whichever of the languages \
suits. A call that was redirected names the tool and its arguments: make that call.
"""
