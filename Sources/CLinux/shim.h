#pragma once
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <spawn.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>
#include <unistd.h>

// Linux calls that `import Glibc` does not show. They are declared here one by one: defining
// _GNU_SOURCE would give types that differ from those of the Glibc module.

int fallocate(int descriptor, int mode, off_t offset, off_t length);
int syncfs(int descriptor);
int pipe2(int *_Nonnull ends, int flags);

/// `UTIME_OMIT`: leaves one of the two times of futimens(2) as it is.
static inline long kollus_utime_omit(void) { return (1l << 30) - 2l; }

/// `O_DIRECT`, whose value differs between architectures.
static inline int kollus_o_direct(void) { return __O_DIRECT; }

/// Takes (1) or gives back (0) an exclusive lock on one byte, owned by the open file description
/// (F_OFD_SETLK): the kernel drops it when the last descriptor closes. 0, or the error number.
static inline int kollus_lock_byte(int descriptor, off_t at, int take) {
  struct flock range = {
      .l_type = take ? F_WRLCK : F_UNLCK, .l_whence = SEEK_SET, .l_start = at, .l_len = 1, .l_pid = 0};
  return fcntl(descriptor, 37 /* F_OFD_SETLK */, &range) == 0 ? 0 : errno;
}

/// Looks for a lock of another open file description among `length` bytes from `from` on (F_OFD_GETLK), taking none.
/// 0 with the first byte of one in `found`, or -1 there when none is held; else the error number.
static inline int kollus_find_lock(int descriptor, off_t from, off_t length, off_t *_Nonnull found) {
  struct flock range = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = from, .l_len = length, .l_pid = 0};
  if (fcntl(descriptor, 36 /* F_OFD_GETLK */, &range) != 0) return errno;
  *found = range.l_type == F_UNLCK ? -1 : range.l_start;
  return 0;
}

static volatile int kollus_signal_pipe = -1;

static void kollus_note_signal(int number) {
  int saved = errno;
  unsigned char byte = (unsigned char)number;
  if (kollus_signal_pipe >= 0 && write(kollus_signal_pipe, &byte, 1) < 0) { /* Nobody reads it any more. */ }
  errno = saved;
}

/// Whether the signal is ignored.
static inline int kollus_is_ignored(int number) {
  struct sigaction action;
  return sigaction(number, (void *)0, &action) == 0 && action.sa_handler == SIG_IGN;
}

/// From here on the signal writes its number, one byte, to `descriptor` instead of ending the process.
static inline int kollus_catch_signal(int number, int descriptor) {
  kollus_signal_pipe = descriptor;
  struct sigaction action = {.sa_handler = kollus_note_signal, .sa_flags = SA_RESTART};
  return sigaction(number, &action, (void *)0);
}

/// Gives large pieces back to the system when they are freed, and keeps to two arenas: a download holds
/// megabytes for a moment only.
static inline void kollus_lean_memory(void) {
  mallopt(M_MMAP_THRESHOLD, 512 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  mallopt(M_ARENA_MAX, 2);
}

/// Columns of the terminal behind `descriptor`, or 0 when it is none.
static inline int kollus_columns(int descriptor) {
  struct winsize size = {0};
  return ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

/// The magic number of the file system under `path`, as statfs(2) lists them; 0 or -1.
static inline int kollus_file_system(const char *_Nonnull path, long *_Nonnull magic) {
  struct statfs status;
  if (statfs(path, &status) != 0) return -1;
  *magic = status.f_type;
  return 0;
}

extern char *_Nullable *_Nullable environ;
/// The environment, or NULL after clearenv(3).
static inline char *_Nullable *_Nullable kollus_environment(void) { return environ; }

/// Closes every descriptor from `first` on in the program about to start.
static inline int kollus_spawn_close_from(posix_spawn_file_actions_t *_Nonnull actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
