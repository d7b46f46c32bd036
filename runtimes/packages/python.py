"""Python: uv locks with digests and installs wheels alone; the interpreter compiles them."""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import UV, Ecosystem

_LOCK = read_program("python_lock.sh")

# An installation of wheels unpacks them and runs nothing of them.
_FETCH = read_program("python_fetch.sh")

# By digest of nothing: no program can change what is sealed, so no source is looked at. Packages'
# own tests, which are most of pandas, are hardly ever imported: Python compiles them as it reads.
_BUILD = read_program("python_build.sh")

_NAME = r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,98}[A-Za-z0-9])?"
_VERSION = r"(?:===|==|~=|!=|<=|>=|<|>)\s*[A-Za-z0-9.*+!_-]{1,64}"

PYTHON = Ecosystem(
    name="python",
    title="Python",
    languages=("python",),
    registry="https://pypi.org/simple",
    hosts=("files.pythonhosted.org",),
    spec=rf"{_NAME}(?:\[{_NAME}(?:\s*,\s*{_NAME})*\])?\s*(?:{_VERSION}(?:\s*,\s*{_VERSION})*)?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/python",
    env={"PYTHONPATH": "/packages/python"},
    lock_name="requirements.txt",
    lists_requirements=True,
    locked_by="--hash=",
    lock_files=(
        *(("pylock.toml",), ("uv.lock", "pyproject.toml")),
        *(("poetry.lock",), ("pdm.lock",), ("Pipfile.lock",)),
    ),
    programs=("python_lock.py",),
    wanted_files=("*requirements*.txt", "*requirements*.in"),
    tools=(UV,),
    missing=r"ModuleNotFoundError: No module named '(\w+)'",
    published={
        "Crypto": "pycryptodome",
        "MySQLdb": "mysqlclient",
        "OpenSSL": "pyopenssl",
        "PIL": "pillow",
        "attr": "attrs",
        "bs4": "beautifulsoup4",
        "cv2": "opencv-python-headless",
        "dateutil": "python-dateutil",
        "docx": "python-docx",
        "dotenv": "python-dotenv",
        "fitz": "pymupdf",
        "git": "gitpython",
        "jwt": "pyjwt",
        "magic": "python-magic",
        "pkg_resources": "setuptools",
        "pptx": "python-pptx",
        "psycopg2": "psycopg2-binary",
        "serial": "pyserial",
        "skimage": "scikit-image",
        "sklearn": "scikit-learn",
        "yaml": "pyyaml",
        "zmq": "pyzmq",
    },
    complaints=(
        (r"is not taken: ", "the lock is not taken as it is"),
        (
            r"requirements must have|no trusted hash was provided",
            "the lock does not hold the digests of all that is needed",
        ),
        (r"is yanked", "a release was withdrawn (yanked)"),
        (r"[Hh]ash mismatch", "a file is not what the lock's digest says"),
        (
            r"missing an upload date",
            "the registry gives no dates, by which young releases are told",
        ),
        (
            r"not found in the package registry|There are no versions of|there is no version of",
            "there is no such package or version",
        ),
        (
            r"no wheels with a matching|has no wheels|no usable wheels",
            "there is no wheel for this interpreter, and sources are not built",
        ),
        (r"No solution found", "no versions fit together"),
        (r"unsafe file name", "an archive holds a name that leads out of its folder"),
        (r"Failed to extract|failed to unzip|[Ii]nvalid zip|escap|unsafe", "an archive is damaged"),
    ),
    extra_env={
        "UV_CACHE_DIR": "{scratch}/.uv",
        "UV_NO_CONFIG": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        "UV_NO_PROGRESS": "1",
        "RUST_LOG": "warn",
        "UV_LINK_MODE": "hardlink",
        "UV_HTTP_RETRIES": "1",
        "UV_HTTP_TIMEOUT": "60",
    },
    version=2,
)
