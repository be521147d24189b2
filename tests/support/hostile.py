# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs that try what no program of a worker may: each says by a signal whether it got through."""

import signal
from contextlib import closing
from pathlib import Path

import pytest

from mlcb_gym.envs.loop_distribution import LoopDistributionEnv
from mlcb_gym.errors import CompilerError
from mlcb_gym.session import Session

_SOURCE = """
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <linux/mman.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int gets_through(void) { TRIES; }

int main(void) { raise(gets_through() ? SIGUSR1 : SIGUSR2); }
"""

FILES = {
    "reads a file": 'return open("FOLDER/file", O_RDONLY) >= 0',
    "lists a folder": 'return opendir("FOLDER") != 0',
    "writes a file": 'return open("FOLDER/file", O_WRONLY) >= 0',
    "appends to a file": 'return open("FOLDER/file", O_WRONLY | O_APPEND) >= 0',
    "makes a file": 'return open("FOLDER/new", O_WRONLY | O_CREAT, 0600) >= 0',
    "makes a file without a name": 'return open("FOLDER", O_WRONLY | O_TMPFILE, 0600) >= 0',
    "truncates a file": 'return truncate("FOLDER/file", 0) == 0',
    "removes a file": 'return unlink("FOLDER/file") == 0',
    "renames a file": 'return rename("FOLDER/file", "FOLDER/new") == 0',
    "links to a file": 'return link("FOLDER/file", "FOLDER/new") == 0 || symlink("FOLDER/file", "FOLDER/new") == 0',
    "makes a folder": 'return mkdir("FOLDER/new", 0700) == 0',
    "makes a FIFO": 'return mkfifo("FOLDER/new", 0600) == 0',
    "changes a mode": 'return chmod("FOLDER/file", 0777) == 0',
    "changes a time": 'return utimes("FOLDER/file", 0) == 0',
    "reads over a link of its own": 'return open("/proc/self/root/FOLDER/file", O_RDONLY) >= 0',
    "writes to shared memory": 'return shm_open("/mlcb-hostile", O_RDWR | O_CREAT, 0600) >= 0 && shm_unlink("/mlcb-hostile") == 0',
}
"""Of the user's own files: FOLDER is one of hers."""

PROCESSES = {
    "forks": "return fork() >= 0",
    "forks in place": "pid_t child = vfork(); if (child == 0) _exit(0); return child > 0",
    "forks by clone": "pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0); if (child == 0) _exit(0); return child > 0",
    "signals a process": "return kill(VICTIM, SIGWINCH) == 0",
    "signals a group of processes": "return kill(-VICTIM, SIGWINCH) == 0",
    "queues a signal": "return sigqueue(VICTIM, SIGWINCH, (union sigval){0}) == 0",
    "has the kernel signal a process": """
        int ends[2];
        if (pipe(ends) || fcntl(ends[0], F_SETOWN, VICTIM) || fcntl(ends[0], F_SETFL, O_ASYNC)) return 0;
        if (write(ends[1], "x", 1) != 1) return 0;
        usleep(100000);
        return 0""",
    "opens a process": "return syscall(SYS_pidfd_open, VICTIM, 0) >= 0",
    "traces a process": "return ptrace(PTRACE_SEIZE, VICTIM, 0, 0) == 0",
    "reads a process's memory": """
        char byte;
        struct iovec own = {&byte, 1}, its = {(void *)gets_through, 1};
        return process_vm_readv(VICTIM, &own, 1, &its, 1, 0) == 1 || errno == EFAULT""",
    "reads a process's environment": """
        char path[64] = "/proc/VICTIM/environ";
        return open(path, O_RDONLY) >= 0""",
    "limits a process": "struct rlimit limit; return prlimit(VICTIM, RLIMIT_CORE, 0, &limit) == 0",
    "slows a process": "return setpriority(PRIO_PROCESS, VICTIM, 19) == 0",
    "ends its keeper": "return kill(getppid(), SIGWINCH) == 0",
    "shares memory with processes": "return shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600) >= 0",
}
"""Of the user's other processes: VICTIM is one of hers."""

NETWORK = {
    "opens a socket": "return socket(AF_INET, SOCK_STREAM, 0) >= 0",
    "opens a datagram socket": "return socket(AF_INET6, SOCK_DGRAM, 0) >= 0",
    "opens a socket of this machine": "return socket(AF_UNIX, SOCK_STREAM, 0) >= 0",
    "sends to a socket that has a name": """
        int ends[2];
        struct sockaddr_un to = {AF_UNIX, "FOLDER/socket"};
        return socketpair(AF_UNIX, SOCK_DGRAM, 0, ends) == 0 && sendto(ends[0], "x", 1, 0, (struct sockaddr *)&to, sizeof to) == 1""",
}

KERNEL = {
    "takes memory without end": """
        int taken = 0;
        while (taken < 64 && mmap(0, 1 << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) != MAP_FAILED)
          taken++;
        return taken == 64""",
    "mounts": 'return mount("none", "FOLDER", "tmpfs", 0, 0) == 0 || errno != EPERM',
    "raises its limits": """
        struct rlimit most = {RLIM_INFINITY, RLIM_INFINITY};
        return setrlimit(RLIMIT_AS, &most) == 0 || setrlimit(RLIMIT_CPU, &most) == 0""",
    "takes a page from the machine": "return madvise(mmap(0, 4096, 3, 0x22, -1, 0), 4096, MADV_SOFT_OFFLINE) == 0",
    "makes a namespace": "return unshare(CLONE_NEWUSER) == 0 || unshare(CLONE_NEWNS) == 0 || errno != EPERM",
    "changes its root": 'return chroot("FOLDER") == 0 || errno != EPERM',
    "runs a program": 'char *none[] = {0}; execve("/bin/true", none, none); return errno != EPERM && errno != EACCES',
    "runs a program from memory": """
        char *none[] = {0};
        return (syscall(SYS_execveat, memfd_create("x", 0), "", none, none, AT_EMPTY_PATH), errno != EPERM)""",
    "opens the kernel's log": 'return open("/dev/kmsg", O_RDONLY) >= 0',
    "opens the memory of the machine": 'return open("/dev/mem", O_RDONLY) >= 0 || open("/dev/kmem", O_RDONLY) >= 0',
    "types into a terminal": 'return ioctl(0, TIOCSTI, "x") == 0 || errno != EPERM',
    "types into a terminal, by a wider number": 'return syscall(SYS_ioctl, 0, TIOCSTI | 1ul << 32, "x") == 0 || errno != EPERM',
    "leaves its rules by new ones": "return syscall(SYS_landlock_create_ruleset, 0, 0, LANDLOCK_CREATE_RULESET_VERSION) >= 0",
}

CALLS = [
    *("bpf", "perf_event_open", "userfaultfd", "keyctl", "add_key", "request_key", "kexec_load", "init_module", "finit_module", "delete_module"),
    *("io_uring_setup", "open_by_handle_at", "pivot_root", "setns", "acct", "quotactl", "reboot", "swapon", "clock_settime", "personality"),
    *("process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise", "fanotify_init", "move_mount", "fsopen", "mknodat", "setxattr", "fchmodat"),
    *("fchownat", "semget", "msgget", "mq_unlink", "inotify_init1", "sched_setaffinity", "syslog", "vhangup", "unshare", "chroot"),
]
"""System calls that the sandbox refuses, whatever their arguments."""


def says(program: Path, tries: str, session: Session) -> signal.Signals:
    """How a program that is timed ends, after it has tried this: SIGUSR1 where it got through, SIGUSR2 where not."""
    program.write_text(_SOURCE.replace("TRIES", tries))
    env = LoopDistributionEnv(programs=program, session=session, reward="time")
    with closing(env), pytest.raises(CompilerError, match="it ends by a signal: User defined signal") as caught:
        env.reset(options={"program": program})
    return signal.SIGUSR1 if "signal 1" in str(caught.value) else signal.SIGUSR2
