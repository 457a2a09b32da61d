/// What a content is to the storage (PROTO §4.4).
public enum KollusContentType: Int, Sendable, CaseIterable {
  /// Plays from the network; not to be had on Linux.
  case streaming = 0
  /// A download; complete when ``KollusContent/downloaded`` says so.
  case downloading = 1
  /// A sample that came with an application: to be kept when everything is deleted.
  case sample = 2
  /// Plays adaptively from the network; not to be had on Linux.
  case adaptiveStreaming = 3
  /// An adaptive download; not to be had on Linux.
  case adaptiveDownload = 4
}

/// What plays a content (PROTO §4.4).
public enum KollusPlayerType: Int, Sendable, CaseIterable {
  /// The product's own player: on Linux mpv, steered by this library.
  case kollus = 0
  /// The system's player; taken for ``kollus`` on Linux.
  case native = 1
  /// A player of HLS streams; not to be had on Linux.
  case hls = 2
}

/// How a device decodes a content (`iosPlayerType`, PROTO §4.3).
public enum KollusDecoderType: Int, Sendable, CaseIterable {
  /// By hardware.
  case hw = 0
  /// By software.
  case sw = 1
  /// By whatever the system's player takes: always so on Linux, where mpv chooses.
  case native = 2
}
