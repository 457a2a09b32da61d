import Synchronization
import TerminalKit

/// Prints one table for people, block by block.
final class TablePrinter: Sendable {
  private let session: Session
  private let flow: Mutex<TableFlow>

  init(_ table: Table, _ session: Session) {
    self.session = session
    flow = Mutex(TableFlow(table, width: session.context.outputColumns()))
  }

  /// Whether no row was appended so far.
  var isEmpty: Bool { flow.withLock { $0.isEmpty } }

  func append(_ row: [String]) { print { $0.append(row, line: $1) } }

  func end() { print { $0.end(line: $1) } }

  private func print(_ draw: (inout TableFlow, (String) -> Void) -> Void) {
    flow.withLock { flow in
      var text = ""
      draw(&flow) { text += $0 + "\n" }
      if !text.isEmpty { session.show(text) }
    }
  }
}
