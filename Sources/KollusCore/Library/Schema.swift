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
      "CREATE INDEX play_url_content ON play_url (content_id)")
  ])
}
