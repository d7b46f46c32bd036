"""Perl: distributions of a registry of CPAN's kind, pinned at the first download.

Which others one needs is read from its META, which is data. A Makefile.PL or Build.PL runs in the
build alone, which has no network; what only such a program finds out is not known before.
"""

from __future__ import annotations

from runtimes.packages.programs import read_program
from runtimes.packages.tools import CPANM, GET, Ecosystem

_LOCK = GET + read_program("perl_lock.sh")

_FETCH = GET + read_program("perl_fetch.sh")

# It has no mirror to ask: what is known to be needed comes before what needs it.
_BUILD = read_program("perl_build.sh")

PERL = Ecosystem(
    name="perl",
    title="Perl",
    languages=("perl",),
    registry="https://cpan.metacpan.org",
    hosts=(),
    spec=r"[A-Za-z_]\w{0,60}(?:::\w{1,60}){0,9}(?:[~@]v?[0-9][0-9._]{0,30})?",
    lock=_LOCK,
    fetch=_FETCH,
    build=_BUILD,
    at="/packages/perl",
    env={"PERL5LIB": "/packages/perl/lib/perl5"},
    lock_name="cpan.lock",
    lock_files=(("cpan.lock",),),
    wanted_files=("cpanfile.snapshot",),
    tools=(CPANM,),
    missing=r"you may need to install the (\w+(?:::\w+){0,9}) module",
    complaints=(
        (r"digest mismatch", "a file is not what the lock's digest says"),
        (r"holds no digest", "there is no digest of it"),
        (r"no such module", "there is no such module"),
        (r"no fitting version", "no versions fit together, or with this perl"),
        (r"leads out of", "an archive holds a name that leads out of its folder"),
        (r"is damaged|not in gzip format|This does not look like a tar", "an archive is damaged"),
        (r"error: 404|ERROR 404", "there is no such module, or no registry of them"),
        (r"need to have 'make'", "it is built by make, which is missing"),
        (
            r"Couldn't find module|Finding .* failed",
            "it needs a module that its META does not name",
        ),
        (r"-> FAIL", "it was not built without network"),
    ),
    extra_env={"PERL_CPANM_HOME": "{scratch}/.cpanm", "PERL_MM_USE_DEFAULT": "1"},
    cooldown=False,
    pinned_here=True,
)
