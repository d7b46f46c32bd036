import sys


def _start():
    import os
    import types

    path, script = os.environ["FILE_CONTENT_PATH"], sys.argv[1]
    with open(path, encoding="utf-8", errors="replace", newline="") as file:
        content = file.read()
    with open(script, "rb") as file:
        source = file.read()
    main = types.ModuleType("__main__")
    main.__dict__.update(__file__=script, __builtins__=__builtins__)
    main.__dict__.update(FILE_CONTENT=content, FILE_CONTENT_PATH=path)
    sys.modules["__main__"] = main
    sys.argv[:] = sys.argv[1:]
    sys.path[0] = os.path.dirname(os.path.abspath(script))

    def show(kind, error, trace, show_all=sys.excepthook):
        show_all(kind, error, trace.tb_next.tb_next if trace and trace.tb_next else trace)

    sys.excepthook = show
    return source, script, main.__dict__


_source, _script, _names = _start()
exec(compile(_source, _script, "exec", dont_inherit=True), _names)
