"""Programs as data: which options take values, what they run, which files they touch.

To teach the policy a program, add a row. Sources: the programs' own manuals,
and for programs that can run others, the GTFOBins catalogue.
"""

from typing import NamedTuple

from policy.wordlist import word_set


class CliRow(NamedTuple):
    """What the walker needs to know of one program.

    `short` and `long` name the options that take a value. `runs` says what its operands start (a
    key of `policy.shell.run.RUNNERS`) after `skip` leading operands. The value of a `runs_options`
    option is a command line. `reads` and `writes` say which operands are files: all, first, last,
    rest (all but the first), heads (all but the last), or, for searchers, after-pattern.
    `at_options` name a file when their value has an `@`; files that `lists` options name hold names
    of files that are read. A program whose `files_known` is false has its operands taken for files.
    """

    short: str = ""
    long: str = ""
    runs: str = ""
    skip: int = 0
    runs_options: str = ""
    reads: str = ""
    writes: str = ""
    reads_options: str = ""
    writes_options: str = ""
    lists: str = ""
    at_options: str = ""
    pattern_options: str = ""
    long_with_one_dash: bool = False
    files_known: bool = True


def _rows(*groups: tuple[str, CliRow]) -> dict[str, CliRow]:
    return {name: program for names, program in groups for name in names.split()}


PROGRAMS = _rows(
    # Privileges and identities
    ("sudo", CliRow("ugpCRDhrtUT", "user group prompt close-from chroot chdir host role type "
                     "other-user command-timeout", "env")),
    ("doas", CliRow("uCa", runs="env")),
    ("cross-env", CliRow(runs="env")),
    ("su", CliRow("csgGw", "command session-command shell group supp-group "
                   "whitelist-environment", "language", runs_options="c command session-command")),
    ("runuser", CliRow("csgGwu", "command shell group user", "words", runs_options="c command")),
    ("capsh gosu su-exec", CliRow(runs="argv", skip=1)),
    # Scheduling and resources
    ("nice", CliRow("n", "adjustment", "argv")),
    ("ionice", CliRow("cnpPu", "class classdata pid pgid uid", "argv")),
    ("timeout", CliRow("ks", "kill-after signal", "argv", 1)),
    ("stdbuf", CliRow("ioe", "input output error", "argv")),
    # Sessions and time
    ("nohup setsid chronic noglob nocorrect catchsegv", CliRow(runs="argv")),
    # Those where the command is found by its name, whatever options there are
    ("aa-exec abduco alacritty arch bear bwrap caffeinate catatonit ccache cgexec chpst "
     "chroot chrt clush cmake cpulimit cronic cross-env-shell dbus-launch dbus-run-session distcc "
     "dockerize dotenv dotenv-cli dsh dtach dumb-init eatmydata entr env-cmd envconsul envdir "
     "fakechroot fakeroot faketime firejail flatpak-spawn foot gamemoderun gdbserver "
     "gnome-terminal i386 icecc intercept-build kcov keep-one-running kitty konsole lima "
     "linux32 linux64 ltrace lxc-attach lxterminal mate-terminal mosh mpiexec mpirun nocache "
     "nsenter nsjail numactl onchange optirun orb parallel-ssh pdsh perf personality pkexec "
     "prime-run prlimit proot proxychains proxychains4 pssh reflex retry rlwrap rr run-one "
     "run-this-one runcon rxvt s6-envdir s6-setuidgid scan-build schroot sem setarch setlock "
     "setpriv setuidgid sg shx srun sshpass st start-stop-daemon systemd-inhibit "
     "systemd-nspawn systemd-run task-spooler taskset terminator tilix tini torify torsocks ts "
     "tsp unbuffer unshare urxvt uxterm valgrind wait-for-it wait-for-it.sh watch watchexec "
     "wezterm when-changed with-contenv wsl x-terminal-emulator x86_64 xcrun xfce4-terminal xterm "
     "xvfb-run",
     CliRow(runs="words", files_known=False)),
    ("gcloud vagrant nix-shell sbatch", CliRow("c", "run command wrap", "guess", files_known=False,
                                                runs_options="c run command wrap")),
    ("bpftrace", CliRow("cefpoB", runs="language", runs_options="c")),
    ("time", CliRow("fo", "format output", "argv", writes_options="o output")),
    ("flock", CliRow("wEc", "wait timeout conflict-exit-code command", "argv", 1,
                      runs_options="c command")),
    ("ld.so", CliRow(long="library-path preload argv0 audit inhibit-rpath", runs="argv")),
    # Tracing
    ("strace", CliRow("abeEIoOpPsSuUX", "trace output attach", "argv",
                              writes_options="o output")),
    # Those where it stands behind a verb
    ("adb asdf az bun bundle byobu cargo cf conda deno devbox direnv doppler fly flyctl fnm hatch "
     "heroku ip mamba micromamba mise nix npm nvm op pdm pipenv pipx pixi pnpm poetry pyenv rbenv "
     "rtx rustup rye tmux turbo uv yarn", CliRow(runs="guess", files_known=False)),
    ("npx bunx pnpx uvx dlx", CliRow("pc", "package call from with python", "argv",
                                      runs_options="c call")),
    ("env", CliRow("uCS", "unset chdir split-string", "env")),
    ("concurrently conc", CliRow("nclpmst", "names prefix-colors prefix max-processes success "
                                  "restart-tries restart-after kill-others-on timings", "texts")),
    # Remote machines and containers
    ("ssh autossh", CliRow("BbcDEeFIiJLlmMOopQRSWw", runs="remote", skip=1, reads_options="F")),
    ("ansible", CliRow("miaufeTlCMt", "module-name args inventory user forks limit private-key "
                        "key-file", "language", runs_options="a args",
                        reads_options="i inventory private-key key-file")),
    ("docker podman nerdctl kubectl oc lxc incus machinectl distrobox crictl docker-compose "
     "podman-compose", CliRow(runs="container", files_known=False)),
    # Repeaters
    ("xargs gxargs", CliRow("aEdIiLlnPs", "arg-file delimiter eof replace max-lines max-args "
                             "max-procs max-chars process-slot-var", "xargs", reads_options="a "
                             "arg-file")),
    ("parallel", CliRow("jaISdNnL", "jobs arg-file colsep delay joblog results tmpdir workdir "
                         "sshlogin halt retries timeout memfree load", "parallel",
                         reads_options="a arg-file")),
    ("hyperfine", CliRow("wrmMpcSsun", "warmup runs min-runs max-runs prepare cleanup setup "
                          "parameter-list parameter-scan shell export-json export-csv "
                          "export-markdown command-name", "texts",
                          runs_options="p prepare c cleanup s setup")),
    ("script", CliRow("cEIOBTmo", "command echo log-in log-out log-io log-timing", "argv", 1,
                       runs_options="c command", writes="first")),
    ("busybox toybox sbase-box", CliRow(runs="argv")),
    ("screen", CliRow("ScehpstT", runs="words", reads_options="c")),
    ("gcc g++ cc c++ clang clang++", CliRow(runs="language", files_known=False)),
    ("go", CliRow(long="toolexec exec vettool", long_with_one_dash=True,
                   runs_options="toolexec exec vettool", files_known=False)),
    ("fzf sk", CliRow(long="preview bind query filter prompt header", runs="language",
                       runs_options="preview")),
    ("apt apt-get aptitude", CliRow("oct", "option config-file target-release", "language",
                                     reads_options="c config-file")),
    ("tcpdump", CliRow("rwzWGCicsFTyZEDBMV", runs_options="z", reads_options="r F",
                        writes_options="w")),
    ("tclsh wish julia osascript groovy scala guile racket sbcl clojure bb erl octave matlab "
     "gnuplot dc m4 raku crystal ocaml ghc ghci lftp ftp pwsh powershell",
     CliRow(runs="language", reads="first")),
    ("at batch", CliRow("fqt", runs="language", reads_options="f")),
    ("make gmake", CliRow("CfIoWE", "directory file makefile include-dir eval", "make",
                           reads_options="C f directory file makefile")),
    ("expect", CliRow("cf", runs="language", reads="first", reads_options="f")),
    # Shells
    ("bash sh dash zsh ksh ash mksh rbash yash hush osh lksh posh fish",
     CliRow("cOo", "rcfile init-file command", "shell")),
    # Searchers
    ("find", CliRow(long="fprint fprintf fls", runs="find", writes_options="fprint fprintf fls",
                     long_with_one_dash=True)),
    ("fd fdfind", CliRow("xXeEtdcjS", "exec exec-batch extension exclude type max-depth color",
                          "fd")),
    ("grep egrep fgrep zgrep ggrep", CliRow("efmABCdD", "regexp file max-count after-context "
        "before-context context include exclude exclude-dir exclude-from color",
        reads="after-pattern", pattern_options="e f regexp file", reads_options="f file")),
    ("rg ag ack", CliRow("efmABCgtTjMrEd", "regexp file glob iglob type type-not max-count "
        "after-context before-context context pre pre-glob pager hostname-bin replace ignore-file "
        "max-depth sort color encoding ignore ignore-dir", reads="after-pattern",
        reads_options="f file",
        pattern_options="e f regexp file files", runs_options="pre pager hostname-bin")),
    ("sed gsed", CliRow("efl", "expression file line-length", "sed", reads="after-pattern",
        pattern_options="e f expression file", reads_options="f file")),
    ("awk gawk mawk nawk", CliRow("fvFei", "file assign field-separator source include", "awk",
        reads="after-pattern", pattern_options="f file e source", reads_options="f file")),
    ("jq yq gojq xq", CliRow("fL", "from-file arg argjson slurpfile rawfile indent", "jq",
        reads="after-pattern", pattern_options="f from-file", reads_options="f from-file")),
    # Programs that read or write files
    ("bat batcat", CliRow("lHrm", "pager language highlight-line line-range map-syntax",
                           reads="all", runs_options="pager")),
    ("cat tac nl rev od xxd hexdump hd strings base64 base32 basenc md5sum sha1sum "
     "sha224sum sha256sum sha512sum b2sum cksum sum zcat bzcat xzcat "
     "expand unexpand fmt fold pr comm join paste sdiff vimdiff cmp file "
     "wc column view bzip2 xz gzip gunzip bunzip2 open xdg-open code subl "
     "nano micro pico joe kate gedit mousepad glow csvlook ",
     # An option's value taken for a file does no harm, the reverse does.
     CliRow(long="files0-from", reads="all", lists="files0-from")),
    ("uniq xxd json.tool", CliRow("fswclgoR", reads="first", writes="rest")),
    ("diff colordiff", CliRow("IFx", "from-file to-file exclude label", reads="all",
                               reads_options="from-file to-file")),
    ("du", CliRow("dtBX", "files0-from exclude", reads_options="X", lists="files0-from")),
    ("ffmpeg convert magick sass qpdf", CliRow(writes="last", files_known=False,
                                                long_with_one_dash=True)),
    ("pg_dump pg_dumpall", CliRow("fhpUdntNTEFjZ", "file", writes_options="f file")),
    ("rename prename sd", CliRow("f", writes="rest")),
    ("clang-format", CliRow(files_known=False, long_with_one_dash=True)),
    ("terraform tofu", CliRow(runs="language", files_known=False, long_with_one_dash=True)),
    ("perl ruby", CliRow("eEIMmFrCKTW", files_known=False)),
    ("ed", CliRow(runs="language", reads="all")),
    ("less more most pg zless zmore", CliRow(runs="language", reads="all")),
    ("emacs emacsclient", CliRow("lf", "eval execute load funcall", "language", reads="all",
                                  reads_options="l load", long_with_one_dash=True)),
    ("sqlite3 sqlite duckdb", CliRow(long="cmd init separator", runs="language", reads="first",
                               reads_options="init", long_with_one_dash=True)),
    ("psql mysql mariadb", CliRow("cefhUdPDuSvoL", "command execute file host port user dbname "
                                   "defaults-file defaults-extra-file output log-file", "language",
                                   reads_options="f file defaults-file defaults-extra-file",
                                   writes_options="o output L log-file")),
    ("ex vim nvim vi view gvim", CliRow("cSTuUiWp", "cmd", "language", reads="all",
                                         reads_options="S")),
    ("man", CliRow("PHpCeEmMLRSrt", "pager html config-file encoding locale manpath sections",
                    runs_options="P pager H html")),
    ("head tail", CliRow("ncs", "lines bytes pid sleep-interval", reads="all")),
    ("cut", CliRow("bcdf", "bytes characters delimiter fields output-delimiter", reads="all")),
    ("tr seq yes sleep kill", CliRow()),
    ("sort gsort", CliRow("kotST", "key output field-separator buffer-size temporary-directory "
                           "compress-program files0-from parallel batch-size sort",
                           runs_options="compress-program", reads="all", writes_options="o output",
                           lists="files0-from")),
    ("split", CliRow("abCln", "suffix-length bytes line-bytes lines number filter "
                      "additional-suffix", reads="first", writes="rest", runs_options="filter")),
    ("csplit", CliRow("fbn", "prefix digits", reads="first", writes_options="f prefix")),
    ("cp gcp", CliRow("tS", "target-directory suffix", "ln", reads="heads", writes="last")),
    ("install", CliRow("gmotS", "group mode owner target-directory suffix", "ln", reads="heads",
                        writes="last")),
    ("mv", CliRow("tS", "target-directory suffix", "ln", writes="all")),
    ("ln", CliRow("tS", "target-directory suffix", reads="heads", writes="last", runs="ln")),
    ("rm shred unlink srm trash gio", CliRow("ns", "iterations size", writes="all")),
    ("tee sponge", CliRow(runs="tee", writes="all")),
    ("touch truncate mkfifo", CliRow("drts", "date reference time size", writes="all")),
    ("chmod chown chgrp setfacl", CliRow(long="reference from", writes="rest")),
    ("dd", CliRow(runs="dd")),
    ("tar gtar bsdtar", CliRow("fCTXIbgLNVFK", "file directory files-from exclude exclude-from "
        "use-compress-program checkpoint-action to-command rsh-command info-script "
        "new-volume-script transform", "language",
        runs_options="I use-compress-program to-command rsh-command info-script F "
        "new-volume-script", reads_options="X exclude-from", lists="T files-from")),
    ("zip 7z 7za rar", CliRow("xibntPo", "unzip-command", "language", reads="all",
                               runs_options="unzip-command")),
    ("unzip", CliRow("dxIOP", reads="first")),
    ("scp", CliRow("cFiJloPSD", runs="remote", reads="heads", writes="last", runs_options="S",
                    reads_options="F")),
    ("sftp", CliRow("bcDFiJloPRSsX", runs="remote", writes="last", runs_options="S D",
                     reads_options="b F")),
    ("rsync", CliRow("efBTM", "rsh exclude include filter exclude-from include-from files-from "
        "rsync-path temp-dir backup-dir suffix chmod log-file password-file",
        reads="heads", writes="last", runs_options="e rsh rsync-path",
        reads_options="password-file exclude-from include-from", lists="files-from")),
    ("gpg gpg2", CliRow("oru", "output recipient local-user homedir passphrase-file",
                         reads="all", writes_options="o output", reads_options="passphrase-file")),
    ("patch apply_patch applypatch", CliRow("dipoDrV", "input directory strip output", "patch",
     reads="rest", reads_options="i input", writes_options="o output")),
    ("curl", CliRow("AbcCdDeEFHKmoPQrTtuUwxXyYz", "user-agent cookie cookie-jar data data-raw "
        "data-binary data-ascii data-urlencode dump-header referer cert form header config "
        "max-time output quote range upload-file user proxy-user write-out proxy request "
        "speed-time url connect-timeout cacert capath key retry retry-delay retry-max-time "
        "resolve interface limit-rate json output-dir form-string max-redirs netrc-file "
        "oauth2-bearer stderr trace trace-ascii unix-socket time-cond",
        "download", reads_options="K config T upload-file E cert key netrc-file b cookie cacert",
        writes_options="o output output-dir D dump-header c cookie-jar trace trace-ascii stderr",
        at_options="d data data-binary data-ascii data-urlencode F form json H header w "
        "write-out")),
    ("wget", CliRow("OoaietTwPQUBlARDIX", "output-document output-file append-output input-file "
        "execute timeout tries wait directory-prefix quota user-agent base level accept reject "
        "domains header post-data post-file body-data body-file method user password proxy-user "
        "load-cookies save-cookies ca-certificate certificate private-key config use-askpass",
        "download", reads_options="i input-file post-file body-file load-cookies certificate "
        "private-key config",
        writes_options="o output-file a append-output save-cookies O output-document P "
        "directory-prefix",
        runs_options="use-askpass")),
    ("nc ncat netcat socat telnet", CliRow("ec", "exec sh-exec", "language", files_known=False,
                                            runs_options="e exec c sh-exec")),
    ("git", CliRow(runs="git")),
    ("crontab", CliRow("u", runs="language", reads="all")),
    ("gdb lldb", CliRow("xpso", "eval-command ex iex command", "language",
                         reads_options="x command", long_with_one_dash=True)),
    # Those that take paths or words without looking into the files they name
    ("echo printf ls dir vdir exa eza lsd tree stat test [ which whereis type hash info apropos "
     "whatis basename dirname realpath readlink pwd mkdir rmdir true false : id whoami groups "
     "hostname uname ps top htop pgrep pkill killall dpkg rpm df lsof history alias unalias "
     "complete compgen ssh-add logger wait jobs fg bg umask ulimit return exit break "
     "continue shift getopts let help bind expr namei locate apt-cache yum dnf "
     "brew gem shopt set unset caller times disown suspend",
     CliRow()),
)  # fmt: skip

UNKNOWN_PROGRAM = CliRow(runs="guess", files_known=False)

# Wrappers whose name may stand for `command -v name` and the like: asking, not running.
QUERY_OPTIONS = {"command": frozenset("vV"), "hash": frozenset("lrdt"), "sudo": frozenset("lvkKV")}

# Variables whose value a program run later takes for a command line.
COMMAND_VARIABLES = word_set(
    """PAGER MANPAGER GIT_PAGER GH_PAGER SYSTEMD_PAGER BAT_PAGER DELTA_PAGER PSQL_PAGER
    EDITOR VISUAL GIT_EDITOR GIT_SEQUENCE_EDITOR SUDO_EDITOR FCEDIT HGEDITOR SVN_EDITOR
    KUBE_EDITOR BROWSER GIT_SSH GIT_SSH_COMMAND GIT_EXTERNAL_DIFF GIT_ASKPASS SSH_ASKPASS
    SUDO_ASKPASS GIT_PROXY_COMMAND RSYNC_RSH CVS_RSH SVN_SSH BORG_RSH LESSOPEN LESSCLOSE
    PROMPT_COMMAND FZF_DEFAULT_COMMAND
    RUSTC_WRAPPER RUSTC_WORKSPACE_WRAPPER CARGO_BUILD_RUSTC_WRAPPER TERMINAL
    AWS_PAGER LESSEDIT TEXEDIT MERGE_TOOL DIFFPROG CCACHE_PREFIX
    CMAKE_C_COMPILER_LAUNCHER CMAKE_CXX_COMPILER_LAUNCHER
    CC CXX CPP LD AR AS RANLIB STRIP HOSTCC RUSTC RUSTDOC
    PERL5DB PYTHONBREAKPOINT """
)

# Variables that name a file the shell reads commands from, and those it expands as a prompt.
STARTUP_VARIABLES = word_set("BASH_ENV ENV")
PROMPT_VARIABLES = word_set("PS0 PS1 PS2 PS4")

# Consumers at the end of a pipe that show nothing of what they are given.
SILENT_SINKS = word_set(
    "tar bsdtar gpg sponge dd docker podman apt-key cpio unzip patch wc md5sum sha1sum sha256sum "
    "sha512sum shasum cksum sh bash dash zsh ksh git kubectl psql mysql sqlite3 xclip pbcopy"
)
