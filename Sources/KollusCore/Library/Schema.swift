import SQLiteKit

/// The library's tables, as a list of migrations that is only ever added to.
enum Schema {
  static let migrator = Migrator([
    .init(
      "library",
      "CREATE TABLE folder (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE) STRICT",
      """
      CREATE TABLE content (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        mck TEXT NOT NULL UNIQUE,
        folder_id INTEGER REFERENCES folder (id),
        title TEXT NOT NULL, company TEXT NOT NULL, course TEXT NOT NULL, teacher TEXT NOT NULL,
        synopsis TEXT NOT NULL, description_url TEXT NOT NULL,
        file_name TEXT NOT NULL, media_identity TEXT NOT NULL, snapshot TEXT NOT NULL, thumbnail TEXT NOT NULL,
        content_type INTEGER NOT NULL, media_type TEXT NOT NULL,
        state TEXT NOT NULL, error_kind TEXT, error_code INTEGER, error_message TEXT,
        file_size INTEGER NOT NULL, download_size INTEGER NOT NULL, downloaded_time INTEGER NOT NULL,
        duration REAL NOT NULL, position REAL NOT NULL,
        natural_width INTEGER NOT NULL, natural_height INTEGER NOT NULL,
        encoding_profile TEXT NOT NULL, content_provider_key TEXT NOT NULL,
        client_user_id TEXT NOT NULL, user_values TEXT NOT NULL,
        needs_licence INTEGER NOT NULL, not_before INTEGER NOT NULL, file_stamp INTEGER NOT NULL
      ) STRICT
      """,
      "CREATE INDEX content_state ON content (state)",
      // Manifest and play URL, sealed under the device key: both may hold tokens.
      """
      CREATE TABLE source (
        content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
        sealed BLOB NOT NULL
      ) STRICT
      """,
      // The same play URL is the same contents, without asking the origin again.
      """
      CREATE TABLE play_url (
        digest BLOB NOT NULL,
        content_id INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
        PRIMARY KEY (digest, content_id)
      ) STRICT, WITHOUT ROWID
      """,
      "CREATE INDEX play_url_content ON play_url (content_id)"),
    .init(
      "licence",
      "ALTER TABLE content ADD COLUMN drm_callback TEXT NOT NULL DEFAULT ''",
      // Names follow the callback's (PROTO §2.5). A limit is NULL when none was told, 0 when there is none.
      """
      CREATE TABLE licence (
        content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
        generation INTEGER NOT NULL, player_id TEXT NOT NULL, is_complete INTEGER NOT NULL,
        expiration_date INTEGER,
        expiration_count INTEGER, used_count INTEGER NOT NULL,
        expiration_playtime INTEGER, used_playtime INTEGER NOT NULL, expiration_playtime_type INTEGER NOT NULL,
        check_expiration_date INTEGER,
        expired INTEGER NOT NULL,
        expiration_refresh_popup INTEGER NOT NULL, vmcheck INTEGER NOT NULL, check_abuse INTEGER NOT NULL,
        bookmark_download INTEGER NOT NULL, bookmark_readonly INTEGER NOT NULL,
        mac BLOB NOT NULL
      ) STRICT
      """,
      // What a kill left of contents that a server wanted deleted.
      "CREATE INDEX licence_deleted ON licence (content_id) WHERE expired = -8680",
      // How the last exchange with the callback went, and how many were answered.
      """
      CREATE TABLE exchange (
        content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE,
        kind INTEGER NOT NULL, asked_at INTEGER NOT NULL, is_answered INTEGER NOT NULL, answers INTEGER NOT NULL,
        batch INTEGER NOT NULL, not_before INTEGER NOT NULL,
        error_kind TEXT, error_code INTEGER, error_message TEXT
      ) STRICT
      """,
      "CREATE INDEX exchange_failed ON exchange (content_id) WHERE error_kind IS NOT NULL",
      "CREATE TABLE ledger (id INTEGER PRIMARY KEY CHECK (id = 1), change INTEGER NOT NULL, seen INTEGER NOT NULL, lag INTEGER NOT NULL, mac BLOB NOT NULL) STRICT",
      """
      CREATE TABLE renewal_batch (
        id INTEGER PRIMARY KEY AUTOINCREMENT, scope TEXT NOT NULL, begun_at INTEGER NOT NULL, is_open INTEGER NOT NULL
      ) STRICT
      """),
    .init(
      "reports",
      // One play of one content; open until its last report is made.
      """
      CREATE TABLE viewing (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        mck TEXT NOT NULL, client_user_id TEXT NOT NULL, start_at INTEGER NOT NULL,
        context TEXT NOT NULL, log TEXT NOT NULL, is_open INTEGER NOT NULL,
        UNIQUE (client_user_id, start_at)
      ) STRICT
      """,
      "CREATE INDEX viewing_open ON viewing (id) WHERE is_open = 1",
      // Reports are kept as they are to be sent: whatever becomes of the content, or of this program, they can be.
      // `stream` tells apart the receivers of one play; order holds within a stream.
      """
      CREATE TABLE report (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        viewing_id INTEGER NOT NULL, stream INTEGER NOT NULL,
        mck TEXT NOT NULL, client_user_id TEXT NOT NULL, start_at INTEGER NOT NULL, play_status TEXT NOT NULL,
        url TEXT NOT NULL, body TEXT NOT NULL,
        state TEXT NOT NULL, created_at INTEGER NOT NULL, ended_at INTEGER,
        attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, not_before INTEGER NOT NULL,
        status INTEGER, error_code INTEGER, error_message TEXT
      ) STRICT
      """,
      "CREATE INDEX report_pending ON report (viewing_id, stream, id) WHERE state = 'pending'",
      "CREATE INDEX report_sent ON report (viewing_id, stream, id) WHERE state = 'sent'",
      "CREATE INDEX report_held ON report (url, not_before) WHERE state = 'pending' AND not_before > 0",
      "CREATE INDEX report_state ON report (state, id)"),
    .init(
      "care",
      // Unix seconds of the last check of all bytes, and of the last play that really began; 0 for never.
      "ALTER TABLE content ADD COLUMN verified_time INTEGER NOT NULL DEFAULT 0",
      "ALTER TABLE content ADD COLUMN played_time INTEGER NOT NULL DEFAULT 0",
      // Downloads that another process was asked to give up.
      """
      CREATE TABLE cancellation (
        content_id INTEGER PRIMARY KEY REFERENCES content (id) ON DELETE CASCADE, asked_at INTEGER NOT NULL
      ) STRICT
      """,
      // A ledger from before there was a second copy of it has no number: it gets 0, and is told by it. Inside the
      // subquery `change` is the old table's own where it has one, else the 0 beside it.
      "ALTER TABLE ledger RENAME TO earlier_ledger",
      "CREATE TABLE ledger (id INTEGER PRIMARY KEY CHECK (id = 1), change INTEGER NOT NULL, seen INTEGER NOT NULL, lag INTEGER NOT NULL, mac BLOB NOT NULL) STRICT",
      """
      INSERT INTO ledger SELECT id, (SELECT change FROM earlier_ledger), seen, lag, mac
      FROM earlier_ledger, (SELECT 0 AS change)
      """,
      "DROP TABLE earlier_ledger",
      // Tells another home's key from this one's.
      "CREATE TABLE device (id INTEGER PRIMARY KEY CHECK (id = 1), key_check BLOB NOT NULL) STRICT"),
    .init(
      "folders",
      // Whether a folder still holds anything is asked with every removal, by SQLite too.
      "CREATE INDEX content_folder ON content (folder_id) WHERE folder_id IS NOT NULL",
      "DELETE FROM folder WHERE NOT EXISTS (SELECT 1 FROM content WHERE folder_id = folder.id)"),
    .init(
      "bookmarks",
      // What a user has changed here, laid over the marks of the manifest.
      """
      CREATE TABLE bookmark (
        content_id INTEGER NOT NULL REFERENCES content (id) ON DELETE CASCADE,
        client_user_id TEXT NOT NULL, position INTEGER NOT NULL,
        value TEXT NOT NULL, label TEXT NOT NULL, local_time INTEGER NOT NULL, is_removed INTEGER NOT NULL,
        PRIMARY KEY (content_id, client_user_id, position)
      ) STRICT, WITHOUT ROWID
      """,
      // What the channel is still to be told, as it is to be sent: it can be, whatever becomes of the content.
      """
      CREATE TABLE bookmark_change (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        mck TEXT NOT NULL, client_user_id TEXT NOT NULL, position INTEGER NOT NULL,
        url TEXT NOT NULL, change TEXT NOT NULL,
        attempts INTEGER NOT NULL, next_at INTEGER NOT NULL, not_before INTEGER NOT NULL,
        UNIQUE (mck, client_user_id, position)
      ) STRICT
      """),
  ])
}
