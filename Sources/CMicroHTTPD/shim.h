#pragma once
#include <microhttpd.h>
#include <stdint.h>

#include "../CLinux/door.h"

// Only a command that serves pays for the server's library. All that is used of it is named here.
#define KOLLUS_MHD(name) KOLLUS_DOOR("libmicrohttpd.so.12", name)

static inline void kollus_mhd_stop(struct MHD_Daemon *_Nonnull daemon) { KOLLUS_MHD(MHD_stop_daemon)(daemon); }
static inline int kollus_mhd_get_headers(
    struct MHD_Connection *_Nonnull connection, MHD_KeyValueIterator _Nonnull each, void *_Nonnull context) {
  return KOLLUS_MHD(MHD_get_connection_values)(connection, MHD_HEADER_KIND, each, context);
}
static inline struct MHD_Response *_Nullable kollus_mhd_response_of_copy(
    const void *_Nullable bytes, size_t count) {
  // The library's own type of the bytes is not constant; it only copies from them.
  return KOLLUS_MHD(MHD_create_response_from_buffer)(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
static inline struct MHD_Response *_Nullable kollus_mhd_response_of_reader(
    uint64_t size, size_t block, MHD_ContentReaderCallback _Nonnull read, void *_Nonnull context,
    MHD_ContentReaderFreeCallback _Nonnull release) {
  return KOLLUS_MHD(MHD_create_response_from_callback)(size, block, read, context, release);
}
static inline enum MHD_Result kollus_mhd_add_header(
    struct MHD_Response *_Nonnull response, const char *_Nonnull name, const char *_Nonnull value) {
  return KOLLUS_MHD(MHD_add_response_header)(response, name, value);
}
static inline enum MHD_Result kollus_mhd_queue(
    struct MHD_Connection *_Nonnull connection, unsigned int status, struct MHD_Response *_Nonnull response) {
  return KOLLUS_MHD(MHD_queue_response)(connection, status, response);
}
static inline void kollus_mhd_release(struct MHD_Response *_Nonnull response) {
  KOLLUS_MHD(MHD_destroy_response)(response);
}

// MHD_start_daemon and its relatives are variadic, which Swift cannot call: these are their typed doors.

typedef void *_Nullable (*kollus_mhd_begin)(
    void *_Nullable context, const char *_Nullable target, struct MHD_Connection *_Nullable connection);
typedef size_t (*kollus_mhd_unescape)(
    void *_Nullable context, struct MHD_Connection *_Nullable connection, char *_Nullable text);

struct kollus_mhd_settings {
  unsigned int flags;
  int listening_socket;
  unsigned int threads;  // 0 or 1: no pool
  unsigned int connection_limit;
  unsigned int timeout_seconds;
  size_t memory_limit;
};

static inline struct MHD_Daemon *_Nullable kollus_mhd_start(
    struct kollus_mhd_settings settings, void *_Nonnull context, kollus_mhd_begin _Nonnull begin,
    kollus_mhd_unescape _Nonnull unescape, MHD_AccessHandlerCallback _Nonnull answer,
    MHD_RequestCompletedCallback _Nonnull complete) {
  struct MHD_OptionItem pool[] = {
      {settings.threads > 1 ? MHD_OPTION_THREAD_POOL_SIZE : MHD_OPTION_END, (intptr_t)settings.threads, NULL},
      {MHD_OPTION_END, 0, NULL}};
  return KOLLUS_MHD(MHD_start_daemon)(
      settings.flags, 0, NULL, NULL, answer, context,
      MHD_OPTION_LISTEN_SOCKET, settings.listening_socket,
      MHD_OPTION_CONNECTION_LIMIT, settings.connection_limit,
      MHD_OPTION_CONNECTION_TIMEOUT, settings.timeout_seconds,
      MHD_OPTION_CONNECTION_MEMORY_LIMIT, settings.memory_limit,
      MHD_OPTION_STRICT_FOR_CLIENT, (int)1,
      MHD_OPTION_URI_LOG_CALLBACK, begin, context,
      MHD_OPTION_UNESCAPE_CALLBACK, unescape, NULL,
      MHD_OPTION_NOTIFY_COMPLETED, complete, NULL,
      MHD_OPTION_ARRAY, pool,
      MHD_OPTION_END);
}

static inline void kollus_mhd_set_timeout(struct MHD_Connection *_Nonnull connection, unsigned int seconds) {
  (void)KOLLUS_MHD(MHD_set_connection_option)(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
