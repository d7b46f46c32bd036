"""The system call profile of a container: Docker's default allowlist without our denylist.

Docker's own profile can't be read from a daemon, so its list of calls is kept here, as of
`profiles/seccomp/default.json` of Moby at commit 00f3d189: what it allows without any capability.
Programs are put under our own filter (`executor.engine.seccomp`) besides, by the agent.
"""

from __future__ import annotations

import errno
import json

from executor.engine.seccomp import ALLOWED_FAMILIES, CLONE_NEW_FLAGS, DENIED

ALLOWED = (
    "accept accept4 access alarm arch_prctl arm_fadvise64_64 arm_sync_file_range bind brk "
    "cacheflush capget capset chdir chmod chown chown32 clock_getres clock_getres_time64 "
    "clock_gettime clock_gettime64 clock_nanosleep clock_nanosleep_time64 close close_range "
    "connect copy_file_range creat dup dup2 dup3 epoll_create epoll_create1 epoll_ctl "
    "epoll_ctl_old epoll_pwait epoll_pwait2 epoll_wait epoll_wait_old eventfd eventfd2 execve "
    "execveat exit exit_group faccessat faccessat2 fadvise64 fadvise64_64 fallocate fchdir "
    "fchmod fchmodat fchown fchown32 fchownat fcntl fcntl64 fdatasync fgetxattr flistxattr "
    "flock fork fremovexattr fsetxattr fstat fstat64 fstatat64 fstatfs fstatfs64 fsync "
    "ftruncate ftruncate64 futex futex_time64 futex_waitv futimesat get_robust_list "
    "get_thread_area getcpu getcwd getdents getdents64 getegid getegid32 geteuid geteuid32 "
    "getgid getgid32 getgroups getgroups32 getitimer getpeername getpgid getpgrp getpid "
    "getppid getpriority getrandom getresgid getresgid32 getresuid getresuid32 getrlimit "
    "getrusage getsid getsockname getsockopt gettid gettimeofday getuid getuid32 getxattr "
    "inotify_add_watch inotify_init inotify_init1 inotify_rm_watch io_cancel io_destroy "
    "io_getevents io_pgetevents io_pgetevents_time64 io_setup io_submit ioctl ioprio_get "
    "ioprio_set ipc kill landlock_add_rule landlock_create_ruleset landlock_restrict_self "
    "lchown lchown32 lgetxattr link linkat listen listxattr llistxattr _llseek lremovexattr "
    "lseek lsetxattr lstat lstat64 madvise membarrier memfd_create mincore mkdir mkdirat "
    "mknod mknodat mlock mlock2 mlockall mmap mmap2 mprotect mq_getsetattr mq_notify mq_open "
    "mq_timedreceive mq_timedreceive_time64 mq_timedsend mq_timedsend_time64 mq_unlink mremap "
    "msgctl msgget msgrcv msgsnd msync munlock munlockall munmap nanosleep newfstatat "
    "_newselect open openat openat2 pause pidfd_open pidfd_send_signal pipe pipe2 pkey_alloc "
    "pkey_free pkey_mprotect poll ppoll ppoll_time64 prctl pread64 preadv preadv2 prlimit64 "
    "pselect6 pselect6_time64 pwrite64 pwritev pwritev2 read readahead readlink readlinkat "
    "readv recv recvfrom recvmmsg recvmmsg_time64 recvmsg removexattr rename renameat "
    "renameat2 restart_syscall riscv_flush_icache rmdir rseq rt_sigaction rt_sigpending "
    "rt_sigprocmask rt_sigqueueinfo rt_sigreturn rt_sigsuspend rt_sigtimedwait "
    "rt_sigtimedwait_time64 rt_tgsigqueueinfo sched_get_priority_max sched_get_priority_min "
    "sched_getaffinity sched_getattr sched_getparam sched_getscheduler sched_rr_get_interval "
    "sched_rr_get_interval_time64 sched_setaffinity sched_setattr sched_setparam "
    "sched_setscheduler sched_yield seccomp select semctl semget semop semtimedop "
    "semtimedop_time64 send sendfile sendfile64 sendmmsg sendmsg sendto set_robust_list "
    "set_thread_area set_tid_address set_tls setfsgid setfsgid32 setfsuid setfsuid32 setgid "
    "setgid32 setgroups setgroups32 setitimer setpgid setpriority setregid setregid32 "
    "setresgid setresgid32 setresuid setresuid32 setreuid setreuid32 setrlimit setsid "
    "setsockopt setuid setuid32 setxattr shmat shmctl shmdt shmget shutdown sigaltstack "
    "signalfd signalfd4 sigprocmask sigreturn socketcall socketpair splice stat stat64 statfs "
    "statfs64 statx symlink symlinkat sync sync_file_range sync_file_range2 syncfs sysinfo "
    "tee tgkill time timer_create timer_delete timer_getoverrun timer_gettime timer_gettime64 "
    "timer_settime timer_settime64 timerfd_create timerfd_gettime timerfd_gettime64 "
    "timerfd_settime timerfd_settime64 times tkill truncate truncate64 ugetrlimit umask uname "
    "unlink unlinkat utime utimensat utimensat_time64 utimes vfork vmsplice wait4 waitid "
    "waitpid write writev "
)
ALLOW, REFUSE = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"


def profile() -> str:
    """The profile as Docker takes it (JSON). What it does not name is refused with EPERM.

    Only the engine's native system calls are known to it: without the 32-bit tables of the same
    processor, which Docker's own profile has, a call by one of them ends the process.
    """
    denied = {name for names in DENIED.values() for name in names.split()}
    names = [name for name in ALLOWED.split() if name not in denied]
    names.append("ptrace")  # the agent's, to stop a session; our own filter refuses it to programs
    flags = sum(CLONE_NEW_FLAGS)
    rules = [
        {"names": names, "action": ALLOW},
        _rule("clone", index=0, value=flags, valueTwo=0, op="SCMP_CMP_MASKED_EQ"),
        _rule("personality", index=0, value=0, op="SCMP_CMP_EQ"),
        # Its flags lie behind a pointer: callers are told that it does not exist.
        {"names": ["clone3"], "action": REFUSE, "errnoRet": errno.ENOSYS},
        *(_rule("socket", index=0, value=int(f), op="SCMP_CMP_EQ") for f in ALLOWED_FAMILIES),
    ]
    return json.dumps({"defaultAction": REFUSE, "syscalls": rules})


def _rule(name: str, **argument: int | str) -> dict[str, object]:
    return {"names": [name], "action": ALLOW, "args": [argument]}
