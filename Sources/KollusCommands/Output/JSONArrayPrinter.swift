import JSONKit
import Synchronization

/// Prints one JSON array, element by element, in blocks of 64 KiB.
final class JSONArrayPrinter: Sendable {
  private struct State {
    var block: [UInt8] = [UInt8(ascii: "[")]
    var element = JSONWriter(reserving: 1_024)
    var isFirst = true
    var hasPrinted = false
  }

  private let session: Session
  private let state = Mutex(State())

  init(_ session: Session) { self.session = session }

  /// Whether the beginning of the array was printed already.
  var hasPrinted: Bool { state.withLock { $0.hasPrinted } }

  func append(_ write: (inout JSONWriter) -> Void) {
    state.withLock { state in
      if !state.isFirst { state.block.append(UInt8(ascii: ",")) }
      state.isFirst = false
      state.element.removeAll(keepingCapacity: true)
      write(&state.element)
      state.block += state.element.bytes
      if state.block.count > 64 << 10 { flush(&state) }
    }
  }

  func end() {
    state.withLock { state in
      state.block += Array("]\n".utf8)
      flush(&state)
    }
  }

  private func flush(_ state: inout State) {
    session.write(String(decoding: state.block, as: UTF8.self))
    state.block.removeAll(keepingCapacity: true)
    state.hasPrinted = true
  }
}
