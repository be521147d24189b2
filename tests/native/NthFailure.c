// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The n-th call of one kind fails, as SQLite tests itself: LD_PRELOAD, for tests/support/nth_failure.py.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum Kind { Write, Fsync, Rename, Open, Create, Fork, Map, Thread, Kinds };

static atomic_long Calls[Kinds];
static atomic_long Nth;
static atomic_int Failing = -1, Until, Owner;

// Counts the calls of this process from now on; the one with this number fails, counted from 1, and with `Every` all that follow.
void mlcb_fail(int Kind, long Number, int Every) {
  for (int K = 0; K < Kinds; ++K)
    Calls[K] = 0;
  Nth = Number;
  Until = Every;
  Failing = Kind;
  Owner = getpid();
}

long mlcb_calls(int Kind) { return Calls[Kind]; }

static int fails(enum Kind Kind, int Why) {
  if (Owner == 0 || Owner != getpid())
    return 0;
  const long Number = ++Calls[Kind];
  if (Failing != (int)Kind || (Until ? Number < Nth : Number != Nth))
    return 0;
  errno = Why;
  return 1;
}

static int isFile(int File) {
  struct stat Status;
  return File > 2 && fstat(File, &Status) == 0 && S_ISREG(Status.st_mode);
}

#define WRITE(File) (isFile(File) && fails(Write, ENOSPC))

ssize_t write(int File, const void *Data, size_t Size) { return WRITE(File) ? -1 : syscall(SYS_write, File, Data, Size); }
ssize_t writev(int File, const struct iovec *Parts, int Count) { return WRITE(File) ? -1 : syscall(SYS_writev, File, Parts, Count); }
ssize_t pwrite(int File, const void *Data, size_t Size, off_t At) { return WRITE(File) ? -1 : syscall(SYS_pwrite64, File, Data, Size, At); }
ssize_t pwrite64(int File, const void *Data, size_t Size, off64_t At) { return pwrite(File, Data, Size, At); }
ssize_t sendfile(int To, int From, off_t *At, size_t Size) { return WRITE(To) ? -1 : syscall(SYS_sendfile, To, From, At, Size); }
ssize_t sendfile64(int To, int From, off64_t *At, size_t Size) { return sendfile(To, From, At, Size); }
ssize_t copy_file_range(int From, off64_t *At, int To, off64_t *There, size_t Size, unsigned Flags) {
  return WRITE(To) ? -1 : syscall(SYS_copy_file_range, From, At, To, There, Size, Flags);
}

int fsync(int File) { return fails(Fsync, EIO) ? -1 : (int)syscall(SYS_fsync, File); }
int fdatasync(int File) { return fails(Fsync, EIO) ? -1 : (int)syscall(SYS_fdatasync, File); }

int renameat2(int At, const char *From, int There, const char *To, unsigned Flags) {
  return fails(Rename, ENOSPC) ? -1 : (int)syscall(SYS_renameat2, At, From, There, To, Flags);
}
int renameat(int At, const char *From, int There, const char *To) { return renameat2(At, From, There, To, 0); }
int rename(const char *From, const char *To) { return renameat2(AT_FDCWD, From, AT_FDCWD, To, 0); }

static int openIn(int Folder, const char *Path, int Flags, mode_t Mode) {
  if (((Flags & O_CREAT) && fails(Create, ENOSPC)) || fails(Open, EMFILE))
    return -1;
  return (int)syscall(SYS_openat, Folder, Path, Flags, Mode);
}

#define OPEN(Folder)                                                                                                                                 \
  va_list Rest;                                                                                                                                      \
  va_start(Rest, Flags);                                                                                                                             \
  const mode_t Mode = Flags & (O_CREAT | O_TMPFILE) ? va_arg(Rest, mode_t) : 0;                                                                      \
  va_end(Rest);                                                                                                                                      \
  return openIn(Folder, Path, Flags, Mode)

int open(const char *Path, int Flags, ...) { OPEN(AT_FDCWD); }
int open64(const char *Path, int Flags, ...) { OPEN(AT_FDCWD); }
int openat(int Folder, const char *Path, int Flags, ...) { OPEN(Folder); }
int openat64(int Folder, const char *Path, int Flags, ...) { OPEN(Folder); }

pid_t fork(void) {
  static pid_t (*Real)(void);
  if (!Real)
    Real = (pid_t (*)(void))dlsym(RTLD_NEXT, "fork");
  return fails(Fork, EAGAIN) ? -1 : Real();
}
pid_t vfork(void) { return fork(); } // which a wrapper cannot return from twice

void *mmap(void *Hint, size_t Size, int Protection, int Flags, int File, off_t At) {
  return File >= 0 && fails(Map, ENOMEM) ? MAP_FAILED : (void *)syscall(SYS_mmap, Hint, Size, Protection, Flags, File, At);
}
void *mmap64(void *Hint, size_t Size, int Protection, int Flags, int File, off64_t At) { return mmap(Hint, Size, Protection, Flags, File, At); }

int pthread_create(pthread_t *Made, const pthread_attr_t *Attributes, void *(*Start)(void *), void *Argument) {
  static int (*Real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
  if (!Real)
    Real = (int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create");
  return fails(Thread, EAGAIN) ? EAGAIN : Real(Made, Attributes, Start, Argument);
}

int posix_spawn(pid_t *Made, const char *Path, const posix_spawn_file_actions_t *Actions, const posix_spawnattr_t *Attributes,
                char *const Arguments[], char *const Variables[]) {
  static int (*Real)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]);
  if (!Real)
    Real = (int (*)(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *, char *const[], char *const[]))dlsym(
        RTLD_NEXT, "posix_spawn");
  return fails(Fork, EAGAIN) ? EAGAIN : Real(Made, Path, Actions, Attributes, Arguments, Variables);
}
