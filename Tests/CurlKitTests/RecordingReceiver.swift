import CurlKit
import KollusTestSupport
import Synchronization

/// Keeps what it is shown, and says `later`, `refused` or no when told to.
final class RecordingReceiver: BodyReceiver {
  private struct State {
    var heads: [ResponseHead] = []
    var bytes: [UInt8] = []
    var isOpen = true
    var pauses = 0
  }

  private let state = Mutex(State())
  private let begins: Bool
  /// What is said to a delivery, by the bytes taken so far.
  private let answer: @Sendable (Int) -> Reception

  init(begins: Bool = true, answer: @escaping @Sendable (Int) -> Reception = { _ in .taken }) {
    (self.begins, self.answer) = (begins, answer)
  }

  var heads: [ResponseHead] { state.withLock { $0.heads } }
  var bytes: [UInt8] { state.withLock { $0.bytes } }
  var pauses: Int { state.withLock { $0.pauses } }
  /// What `canResume` says.
  var isOpen: Bool {
    get { state.withLock { $0.isOpen } }
    set { state.withLock { $0.isOpen = newValue } }
  }

  func begin(_ head: ResponseHead) -> Bool {
    state.withLock { $0.heads.append(head) }
    return begins
  }

  func receive(_ bytes: RawSpan) -> Reception {
    state.withLock { state in
      let reception = answer(state.bytes.count)
      switch reception {
      case .taken: bytes.withUnsafeBytes { state.bytes += $0 }
      case .later: state.pauses += 1
      case .refused: break
      }
      return reception
    }
  }

  var canResume: Bool { isOpen }
}

extension Request {
  /// A request to `server` with a short patience.
  init(_ server: ScriptedServer, _ path: String = "/", timeout: Duration = .seconds(10)) throws {
    try self.init(url: server.url + path, timeout: timeout)
  }

  init(url: String, timeout: Duration = .seconds(10)) throws {
    guard let address = WebAddress(url) else { throw CurlError(code: 3, message: "bad URL") }
    var options = TransferOptions()
    options.timeout = timeout
    self.init(address, options: options)
  }
}
