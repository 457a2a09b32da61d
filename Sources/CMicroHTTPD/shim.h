#pragma once
#include <microhttpd.h>

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
  return MHD_start_daemon(
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
  (void)MHD_set_connection_option(connection, MHD_CONNECTION_OPTION_TIMEOUT, seconds);
}
