package import SystemKit

/// What a player is to play, and how.
package struct Playback: Sendable {
  /// Where the bytes are; a secret while it lasts.
  package var url: String
  /// What a window shows.
  package var title: String
  /// Where to begin, media seconds.
  package var start = 0.0
  /// Media seconds per second.
  package var speed = 1.0
  /// As far as it is known beforehand, media seconds.
  package var duration: Double?
  package var policy = PlayPolicy()

  package init(url: String, title: String) { (self.url, self.title) = (url, title) }
}

/// A player that runs, until its program ends or the last reference goes.
package protocol Player: Sendable {
  /// What the program said of failures, newest last, at most 50 lines, without the URL.
  var complaints: [String] { get }
  func pause(_ isPaused: Bool)
  /// Goes to media second `position`.
  func seek(to position: Double)
  func setSpeed(_ speed: Double)
  /// Ends the program, by force when it does not within a few seconds.
  @discardableResult func stop() async -> Program.Ending
}

/// Takes a player's events one by one as they come; it must not block for long.
package typealias PlayerObserver = @Sendable (PlayerEvent) -> Void

/// Which program plays.
package enum PlayerChoice: Sendable, Equatable {
  /// mpv, which is followed: what is watched is known to the frame.
  case mpv
  /// Another program, of which only start and end are known.
  case command([String])

  /// Reads `--player`: a command line without a shell's magic, where `{url}` stands for the address.
  package init(_ text: String?) throws(KollusError) {
    guard let text, text != "mpv" else {
      self = .mpv
      return
    }
    self = .command(try CommandWords.split(text))
  }

  /// Whether positions are the player's own, and so worth keeping.
  package var isFollowed: Bool { self == .mpv }

  /// Starts the program; events may come before this returns.
  package func start(
    _ playback: Playback, environment: [String: String], observer: @escaping PlayerObserver
  ) throws(KollusError) -> any Player {
    // Whatever plays must come to the loopback address itself.
    let environment = environment.filter { name, _ in
      !name.lowercased().hasSuffix("_proxy") && !name.hasPrefix("MPV_")
    }
    switch self {
    case .mpv: return try MPVPlayer(playback, environment: environment, observer: observer)
    case .command(let words):
      return try CommandPlayer(words, playback, environment: environment, observer: observer)
    }
  }
}

/// The last lines a program said, without what must not be told.
struct Complaints: Sendable {
  private(set) var lines: [String] = []
  private let secrets: [String]

  /// `url`, and what of it follows the host, are cut from every line.
  init(hiding url: String) {
    var secrets = [url]
    if let scheme = url.firstRange(of: "://"),
      let path = url[scheme.upperBound...].firstIndex(of: "/").map({ url[url.index(after: $0)...] }),
      path.count > 3
    {
      secrets.append(String(path))
    }
    self.secrets = secrets.filter { !$0.isEmpty }
  }

  mutating func add(_ text: String) {
    var line = text
    for secret in secrets { line = line.replacing(secret, with: "…") }
    while line.last?.isWhitespace == true { line.removeLast() }
    guard !line.isEmpty else { return }
    if lines.count == 50 { lines.removeFirst() }
    lines.append(String(line.prefix(500)))
  }
}
