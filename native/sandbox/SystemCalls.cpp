// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "sandbox/SystemCalls.h"

#include "spec/FileDescriptor.h"

#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <memory>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

namespace mlcb {

namespace {

constexpr const char *Allowed[] = {
    // files that are open, and folders
    "read", "readv", "pread64", "preadv", "preadv2", "write", "writev", "pwrite64", "pwritev", "pwritev2", "lseek", "_llseek", "close", "close_range",
    "dup", "dup2", "dup3", "fcntl", "fcntl64", "flock", "fsync", "fdatasync", "ftruncate", "ftruncate64", "fallocate", "fadvise64", "sendfile",
    "copy_file_range", "getdents", "getdents64", "getcwd", "chdir", "fchdir", "umask", "stat", "stat64", "fstat", "fstat64", "lstat", "lstat64",
    "newfstatat", "fstatat64", "statx", "statfs", "statfs64", "fstatfs", "fstatfs64", "access", "faccessat", "faccessat2", "readlink", "readlinkat",
    // memory
    "mmap", "mmap2", "munmap", "mremap", "mprotect", "madvise", "brk", "msync", "mincore", "mlock", "mlock2", "munlock", "membarrier",
    // clocks
    "clock_gettime", "clock_gettime64", "clock_getres", "clock_nanosleep", "nanosleep", "gettimeofday", "time", "times", "getitimer", "setitimer",
    "alarm", "timer_create", "timer_settime", "timer_gettime", "timer_getoverrun", "timer_delete", "timerfd_create", "timerfd_settime",
    "timerfd_gettime",
    // signals: Landlock says to whom
    "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "rt_sigsuspend", "rt_sigpending", "rt_sigtimedwait", "sigaltstack", "restart_syscall", "pause",
    "kill", "tkill", "tgkill",
    // this process and its threads
    "exit", "exit_group", "wait4", "waitid", "getpid", "getppid", "gettid", "getpgrp", "getpgid", "setpgid", "getsid", "setsid", "set_tid_address",
    "set_robust_list", "get_robust_list", "rseq", "arch_prctl", "futex", "sched_yield", "sched_getaffinity", "sched_getparam", "sched_getscheduler",
    "sched_get_priority_max", "sched_get_priority_min", "getcpu", "getpriority", "getuid", "geteuid", "getgid", "getegid", "getresuid", "getresgid",
    "getgroups", "getrusage", "getrlimit", "ugetrlimit", "setrlimit", "capget",
    // what is readable, and what there is to talk by already
    "poll", "ppoll", "select", "_newselect", "pselect6", "epoll_create", "epoll_create1", "epoll_ctl", "epoll_wait", "epoll_pwait", "pipe", "pipe2",
    "eventfd", "eventfd2", "sendto", "sendmsg", "recvfrom", "recvmsg", "shutdown", "getsockopt", "setsockopt", "getsockname", "getpeername",
    // the machine
    "uname", "sysinfo", "getrandom"};

constexpr const char *OfCompilersAlone[] = {"prctl", "fork", "vfork", "seccomp", "landlock_restrict_self", "capset"};

constexpr uint64_t NewNamespaces = CLONE_NEWNS | CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
constexpr uint64_t MakesFiles = O_CREAT | O_TRUNC | (O_TMPFILE & ~O_DIRECTORY);

/// A call that is allowed where an argument, of 32 bits, has these bits of a mask.
struct Condition {
  const char *Call;
  unsigned Argument;
  uint64_t Mask, Bits;
};

constexpr uint64_t Whole = 0xffffffff;

constexpr Condition WithConditions[] = {
    {"open", 1, MakesFiles, 0},       {"openat", 2, MakesFiles, 0},
    {"prlimit64", 0, Whole, 0},       // its own
    {"prctl", 0, Whole, PR_SET_NAME}, // others undo the signal that ends it with its parent
    {"prctl", 0, Whole, PR_GET_NAME}, {"prctl", 0, Whole, PR_SET_VMA},
    {"ioctl", 1, Whole, TCGETS}, // isatty(); others make a terminal's user type
    {"ioctl", 1, Whole, TIOCGWINSZ},  {"ioctl", 1, Whole, FIONREAD},
    {"ioctl", 1, Whole, FIONBIO},     {"clone", 0, NewNamespaces | CLONE_THREAD, CLONE_THREAD},
};

using Filter = std::unique_ptr<void, void (*)(scmp_filter_ctx)>;

/// Calls that this machine, or this version of the library, has not are left out.
int allow(const Filter &Rules, const char *Call, std::initializer_list<scmp_arg_cmp> Conditions = {}) {
  const int Number = seccomp_syscall_resolve_name(Call);
  if (Number == __NR_SCMP_ERROR)
    return 0;
  return seccomp_rule_add_array(Rules.get(), SCMP_ACT_ALLOW, Number, static_cast<unsigned>(Conditions.size()), Conditions.begin());
}

int allow(const Filter &Rules, const Condition &If) { return allow(Rules, If.Call, {{If.Argument, SCMP_CMP_MASKED_EQ, If.Mask, If.Bits}}); }

int allowWhatAllMay(const Filter &Rules) {
  int Error = 0;
  for (const char *Call : Allowed)
    Error = std::min(Error, allow(Rules, Call));
  for (const Condition &If : WithConditions)
    Error = std::min(Error, allow(Rules, If));
  // glibc does without where the kernel has none, and with clone(), whose flags a filter sees
  return std::min(Error, seccomp_rule_add(Rules.get(), SCMP_ACT_ERRNO(ENOSYS), seccomp_syscall_resolve_name("clone3"), 0));
}

int allowWhatCompilersMay(const Filter &Rules) {
  int Error = allow(Rules, {"clone", 0, NewNamespaces, 0});
  for (const char *Call : OfCompilersAlone)
    Error = std::min(Error, allow(Rules, Call));
  // no datagrams: these go to any socket that has a name
  constexpr scmp_datum_t KindOfSocket = 0xf;
  const int Pairs = allow(Rules, "socketpair", {{0, SCMP_CMP_MASKED_EQ, Whole, AF_UNIX}, {1, SCMP_CMP_MASKED_EQ, KindOfSocket, SOCK_STREAM}});
  return std::min(Error, Pairs);
}

/// The filter as the kernel takes it.
Expected<std::vector<sock_filter>> compile(const Filter &Rules) {
  const FileDescriptor Written(memfd_create("seccomp", MFD_CLOEXEC));
  struct stat Status;
  if (!Written)
    return failErrno("memfd_create");
  if (const int Error = seccomp_export_bpf(Rules.get(), Written.get()); Error != 0) {
    errno = -Error;
    return failErrno("seccomp_export_bpf");
  }
  if (fstat(Written.get(), &Status) != 0)
    return failErrno("fstat");
  std::vector<sock_filter> Result(static_cast<size_t>(Status.st_size) / sizeof(sock_filter));
  if (pread(Written.get(), Result.data(), Result.size() * sizeof(sock_filter), 0) != Status.st_size)
    return failErrno("seccomp_export_bpf");
  return Result;
}

Expected<std::vector<sock_filter>> filterOf(bool Compiler) {
  const Filter Rules(seccomp_init(SCMP_ACT_ERRNO(EPERM)), seccomp_release);
  if (!Rules)
    return fail(ErrorKind::SystemError, "seccomp_init: out of memory");
  seccomp_attr_set(Rules.get(), SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_KILL_PROCESS); // other numbers, of another instruction set
  seccomp_attr_set(Rules.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);                    // a tree
  int Error = allowWhatAllMay(Rules);
  if (Compiler)
    Error = std::min(Error, allowWhatCompilersMay(Rules));
  if (Error != 0) {
    errno = -Error;
    return failErrno("seccomp_rule_add");
  }
  return compile(Rules);
}

} // namespace

Expected<SystemCalls> SystemCalls::ofCompilers() {
  return filterOf(true).map([](auto Filter) { return SystemCalls(std::move(Filter)); });
}

Expected<SystemCalls> SystemCalls::ofPrograms() {
  return filterOf(false).map([](auto Filter) { return SystemCalls(std::move(Filter)); });
}

Expected<void> SystemCalls::enter() const {
  const sock_fprog Program{static_cast<unsigned short>(Filter.size()), const_cast<sock_filter *>(Filter.data())};
  if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &Program) != 0)
    return failErrno("seccomp");
  return {};
}

} // namespace mlcb
