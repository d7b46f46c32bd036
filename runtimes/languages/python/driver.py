"""A Python interpreter for a session: runs one program after the other as __main__.

A request comes on descriptor 3: a line with a token and the sizes of the fields after it (folder,
bound file, name, code, arguments). The answer goes to descriptor 4: the token and an exit code. The
program is any Python from 3.6 on. Started as "interactive", it shows the values of expressions as
Python's own console does, and SIGINT ends only the program.
"""

import _ast
import linecache
import os
import signal
import sys
import types

_REQUESTS, _ANSWERS = 3, 4


class _Driver:
    def __init__(self) -> None:
        for descriptor in (_REQUESTS, _ANSWERS):
            os.set_inheritable(descriptor, False)
        self.pid = os.getpid()
        self.interactive = sys.argv[1:] == ["interactive"]
        if self.interactive:
            self.on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)
        self.requests = os.fdopen(_REQUESTS, "rb")
        self.main = types.ModuleType("__main__")
        self.main.__dict__["__builtins__"] = __builtins__
        sys.modules["__main__"] = self.main

    def serve(self) -> None:
        """Serve until the requests end."""
        while True:
            token, *sizes = self.requests.readline().split()
            fields = [self.requests.read(int(size)).decode() for size in sizes]
            status = self.run(*fields)
            if os.getpid() != self.pid:  # a child that the program forked has come to its end
                os._exit(status)
            os.write(_ANSWERS, token + b" %d\n" % status)

    def run(self, folder: str, bound: str, name: str, code: str, *arguments: str) -> int:
        """Run one program; return its exit code."""
        names = self.main.__dict__
        names["__file__"] = name
        sys.argv[:] = [name, *arguments]
        sys.path[0] = os.path.dirname(name)
        self.remember(name, code)
        try:
            if folder:
                os.chdir(folder)
            if bound:
                names["FILE_CONTENT_PATH"] = bound
                with open(bound, encoding="utf-8", errors="replace", newline="") as file:
                    names["FILE_CONTENT"] = file.read()
            if self.interactive:
                self.converse(code, name, names)
            else:
                exec(compile(code, name, "exec", dont_inherit=True), names)  # noqa: S102
            return 0
        except SystemExit as error:
            return exit_code(error.code)
        except BaseException as error:
            trace = error.__traceback__
            # Shown from the program's first line on.
            while trace and trace.tb_frame.f_globals is globals():
                trace = trace.tb_next
            error.__traceback__ = trace
            sys.excepthook(type(error), error, error.__traceback__)
            return 130 if isinstance(error, KeyboardInterrupt) else 1
        finally:
            if self.interactive:
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            else:
                self.wait_for_threads()
            for stream in (sys.stdout, sys.stderr):
                try:
                    stream.flush()
                except Exception:  # noqa: S112
                    continue  # the program has closed or replaced it

    def converse(self, code: str, name: str, names: "dict[str, object]") -> None:
        """Run typed code: every expression statement shows its value."""
        flags = _ast.PyCF_ONLY_AST
        tree = compile(code, name, "exec", flags, dont_inherit=True)
        program = compile(_ast.Interactive(body=tree.body), name, "single", dont_inherit=True)
        signal.signal(signal.SIGINT, self.on_interrupt)
        try:
            exec(program, names)  # noqa: S102
            self.wait_for_threads()
        finally:
            self.on_interrupt = signal.signal(signal.SIGINT, signal.SIG_IGN)

    def remember(self, name: str, code: str) -> None:
        """Make tracebacks show the lines of a program that is not in a file."""
        if not os.path.exists(name):
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)

    def wait_for_threads(self) -> None:
        """Wait as an interpreter does when it ends: daemons are not waited for."""
        threading = sys.modules.get("threading")
        if threading and os.getpid() == self.pid:
            for thread in threading.enumerate():
                if thread is not threading.current_thread() and not thread.daemon:
                    thread.join()


def exit_code(code: object) -> int:
    """Return the exit code of sys.exit(code)."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)  # noqa: T201
    return 1


if __name__ == "__main__":
    _Driver().serve()
