#pragma once
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

// Libraries that most commands never call are loaded by the first call of one of their functions: with all that
// they bring along, the loader would take longer over them than `kollus list` takes altogether.

/// Where `name` is in `library`; what cannot be had ends the program, as it would at its start.
static inline void *_Nonnull kollus_door(const char *_Nonnull library, const char *_Nonnull name) {
  void *handle = dlopen(library, RTLD_LAZY);  // The same one each time, never closed.
  void *function = handle ? dlsym(handle, name) : NULL;
  if (!function) {
    fprintf(stderr, "error while loading shared libraries: %s\n", dlerror());
    _exit(127);
  }
  return function;
}

/// The function `name` of `library`, looked up once.
#define KOLLUS_DOOR(library, name)                                             \
  ({                                                                           \
    static void *door;                                                         \
    if (!__atomic_load_n(&door, __ATOMIC_RELAXED)) {                           \
      __atomic_store_n(&door, kollus_door(library, #name), __ATOMIC_RELAXED);  \
    }                                                                          \
    (__typeof__(&name))__atomic_load_n(&door, __ATOMIC_RELAXED);               \
  })
