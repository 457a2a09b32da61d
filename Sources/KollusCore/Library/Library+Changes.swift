import SQLiteKit
import Synchronization

/// The steps of a content's life, each one commit that may be shared with others.
extension Library {
  /// Stores what the origin said of a content: a new one is made, a known one gets the new metadata.
  ///
  /// A new one gets the index `content.id` when that is free, the next one otherwise.
  /// A ready content keeps everything but the mark that a licence is needed.
  /// State, progress, position and the mark that a licence is needed are kept. `folder` is only taken
  /// when given. One that was cancelled begins anew if it `revives`. Returns the content as it then stands.
  func register(
    _ content: Content, source: [UInt8], playURL digest: [UInt8]?, folder: String?, revives: Bool = false
  ) async throws -> Content {
    let stored = try await record { db throws(SQLiteError) in
      try db.upsert(content)
      let id = try db.identifier(of: content.mediaContentKey)
      // What is ready stays what it is, whatever the origin has now; only the need of a licence is taken over.
      if content.needsLicence {
        try db.execute(
          """
          UPDATE content SET needs_licence = 1, drm_callback = iif(?1 = '', drm_callback, ?1) WHERE id = ?2
          """, .text(content.drmCallback), .integer(id))
      }
      try db.execute(
        """
        INSERT INTO source (content_id, sealed) SELECT id, ? FROM content WHERE id = ? AND state <> 'ready'
        ON CONFLICT (content_id) DO UPDATE SET sealed = excluded.sealed
        """, .blob(source), .integer(id))
      if revives {
        try db.execute(
          "UPDATE content SET state = 'registered' WHERE id = ? AND state = 'cancelled'", .integer(id))
      }
      if let digest {
        try db.execute(
          "INSERT OR REPLACE INTO play_url (digest, content_id) VALUES (?, ?)", .blob(digest), .integer(id))
      }
      if let folder { try db.place(content: id, in: folder) }
      return try db.content(content.mediaContentKey)
    }
    guard let stored else {
      throw KollusError(.internalFailure, "the content just registered is gone").of(content.mediaContentKey)
    }
    return stored
  }

  /// A new transfer begins; `size` bytes are already held.
  func begin(_ id: Int64, holding size: Int64) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE content SET state = 'fetching', download_size = ?, error_kind = NULL, error_code = NULL, error_message = NULL
        WHERE id = ?
        """, .integer(size), .integer(id))
    }
  }

  func setProgress(_ id: Int64, _ size: Int64) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute("UPDATE content SET download_size = ? WHERE id = ?", .integer(size), .integer(id))
    }
  }

  /// All bytes are sealed and checked; `stamp` is the file's time of change.
  ///
  /// Returns the content as it then stands, `nil` when it was removed meanwhile.
  func finish(
    _ content: Content, at time: Int64, stamp: Int64, filesNeedSync: Bool
  ) async throws -> Content? {
    let (id, key) = (content.id, content.mediaContentKey)
    return try await record(filesNeedSync ? .durableWithFiles : .durable) { db throws(SQLiteError) in
      try db.setReady(id, at: time, stamp: stamp)
      return try db.content(key)
    }
  }

  /// The download ended without success; `notBefore` is when the server may be asked again.
  func fail(_ id: Int64, _ failure: KollusError, notBefore: Int64 = 0) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE content SET state = 'failed', error_kind = ?, error_code = ?, error_message = ?,
        not_before = ? WHERE id = ? AND state <> 'ready'
        """, .text(failure.kind.rawValue), .integer(Int64(failure.code)), .text(failure.message),
        .integer(notBefore), .integer(id))
    }
  }

  /// The file's stamp after a check that found its bytes sound.
  func setStamp(_ id: Int64, _ stamp: Int64) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute("UPDATE content SET file_stamp = ? WHERE id = ?", .integer(stamp), .integer(id))
    }
  }

  /// Stored bytes were found damaged: not ready until the segments concerned are fetched again.
  func setDamaged(_ id: Int64, holding size: Int64, _ failure: KollusError) async throws {
    let time = Int64(now())
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE content SET state = 'failed', download_size = ?, error_kind = ?, error_code = ?,
        error_message = ?, file_stamp = 0, verified_time = ? WHERE id = ?
        """, .integer(size), .text(failure.kind.rawValue), .integer(Int64(failure.code)),
        .text(failure.message), .integer(time), .integer(id))
    }
  }

  /// Puts right the names that rows give their files; they follow from the keys.
  func setFileNames(_ contents: [(id: Int64, key: String)]) async throws {
    try await record { db throws(SQLiteError) in
      for content in contents {
        try db.execute(
          "UPDATE content SET file_name = ? WHERE id = ?", .text(Home.mediaName(of: content.key)),
          .integer(content.id))
      }
    }
  }

  /// The file of a ready content is gone; everything else known of it stays.
  func setMissing(_ ids: [Int64]) async throws {
    try await record { db throws(SQLiteError) in
      for id in ids {
        try db.execute(
          "UPDATE content SET state = 'missing', download_size = 0 WHERE id = ? AND state = 'ready'",
          .integer(id))
      }
    }
  }

  /// The files of missing contents are there again, just as they were.
  func setFound(_ ids: [Int64]) async throws {
    try await record { db throws(SQLiteError) in
      for id in ids {
        try db.execute(
          "UPDATE content SET state = 'ready', download_size = file_size WHERE id = ? AND state = 'missing'",
          .integer(id))
      }
    }
  }

  func setPictures(_ id: Int64, snapshot: String, thumbnail: String) async throws {
    try await record { db throws(SQLiteError) in
      try db.execute(
        "UPDATE content SET snapshot = ?, thumbnail = ? WHERE id = ?", .text(snapshot), .text(thumbnail),
        .integer(id))
    }
  }

  /// Before its key is destroyed: from here on it is not ready, whatever happens next.
  func setCancelled(_ id: Int64) async throws {
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute("UPDATE content SET state = 'cancelled', download_size = 0 WHERE id = ?", .integer(id))
    }
  }

  /// A check of all bytes found a content sound, whatever it was taken for before.
  func setSound(_ id: Int64, stamp: Int64) async throws {
    let time = Int64(now())
    try await record(.durable) { db throws(SQLiteError) in
      try db.execute(
        """
        UPDATE content SET state = 'ready', download_size = file_size, file_stamp = ?, verified_time = ?,
        error_kind = NULL, error_code = NULL, error_message = NULL WHERE id = ?
        """, .integer(stamp), .integer(time), .integer(id))
    }
  }

  /// All bytes of a ready content were checked.
  func setVerified(_ id: Int64) async throws {
    let time = Int64(now())
    try await record { db throws(SQLiteError) in
      try db.execute("UPDATE content SET verified_time = ? WHERE id = ?", .integer(time), .integer(id))
    }
  }
}

extension Connection {
  borrowing func upsert(_ content: Content) throws(SQLiteError) {
    try withStatement(
      """
      INSERT INTO content (
        id, mck, title, company, course, teacher, synopsis, description_url, content_type, media_type, file_size,
        duration, natural_width, natural_height, encoding_profile, content_provider_key, client_user_id,
        user_values, needs_licence, state, download_size, downloaded_time, position, snapshot, thumbnail,
        not_before, file_stamp, file_name, media_identity)
      VALUES (
        (SELECT nullif(?1, 0) WHERE NOT EXISTS (SELECT 1 FROM content WHERE id = ?1)),
        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'registered', 0, 0, 0, '', '', 0, 0, ?, ?)
      ON CONFLICT (mck) DO UPDATE SET
        title = excluded.title, company = excluded.company, course = excluded.course,
        teacher = excluded.teacher, synopsis = excluded.synopsis, description_url = excluded.description_url,
        content_type = excluded.content_type, media_type = excluded.media_type,
        file_size = excluded.file_size, duration = excluded.duration,
        natural_width = excluded.natural_width, natural_height = excluded.natural_height,
        encoding_profile = excluded.encoding_profile, content_provider_key = excluded.content_provider_key,
        client_user_id = iif(excluded.client_user_id = '', client_user_id, excluded.client_user_id),
        user_values = iif(excluded.user_values = '{}', user_values, excluded.user_values),
        media_identity = excluded.media_identity,
        needs_licence = max(needs_licence, excluded.needs_licence)
      WHERE state <> 'ready'
      """
    ) { statement throws(SQLiteError) in
      try statement.bind([
        .integer(content.id), .text(content.mediaContentKey), .text(content.title), .text(content.company),
        .text(content.course),
        .text(content.teacher), .text(content.synopsis), .text(content.descriptionURL),
        .integer(content.kind.rawValue), .text(content.mediaType), .integer(content.fileSize),
        .real(content.duration), .integer(content.naturalWidth), .integer(content.naturalHeight),
        .text(content.encodingProfile), .text(content.contentProviderKey), .text(content.clientUserID),
        .text(content.userValues), .integer(content.needsLicence ? 1 : 0),
        .text(Home.mediaName(of: content.mediaContentKey)), .text(content.identity),
      ])
      _ = try statement.step()
    }
  }

  borrowing func identifier(of mediaContentKey: String) throws(SQLiteError) -> Int64 {
    try withStatement("SELECT id FROM content WHERE mck = ?") { row throws(SQLiteError) in
      try row.bind([.text(mediaContentKey)])
      return try row.step() ? row.integer(at: 0) : 0
    }
  }
}
