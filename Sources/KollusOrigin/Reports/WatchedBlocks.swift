import JSONKit

/// Which of a content's equal blocks were played, for how long, and how much of each.
struct WatchedBlocks: Sendable, Equatable {
  private struct Block: Equatable {
    var isPlayed = false
    /// Media seconds.
    var seconds = 0.0
    var percent = 0.0
  }

  /// More blocks than any content is divided into.
  private static let limit: Int64 = 100_000

  private var blocks: [Block]

  /// Reads `block_info`; the error names the member that is wrong.
  init(_ json: JSON) throws(JSONError) {
    guard let count = try json.member("block_count") else { throw json.failure("block_count is missing") }
    guard let number = Int64(exactly: try count.amount()), (1...Self.limit).contains(number) else {
      throw count.failure("expected a whole number from 1 to 100000")
    }
    blocks = Array(repeating: Block(), count: Int(number))
    guard let members = try json.object("blocks") else { throw json.failure("blocks is missing") }
    for (name, value) in members.members {
      // What else is there may be anybody's extension.
      guard let kind = name.first, "btp".contains(kind), let index = digits(name.dropFirst()) else {
        continue
      }
      guard index < number else { throw value.failure("there are only \(number) blocks") }
      let amount = try value.amount()
      switch kind {
      case "b": blocks[Int(index)].isPlayed = amount > 0
      case "t": blocks[Int(index)].seconds = amount
      default: blocks[Int(index)].percent = amount
      }
    }
  }

  var count: Int { blocks.count }

  var playedCount: Int { blocks.count { $0.isPlayed } }

  /// Takes what another report of as many blocks says besides: played in either, and the larger numbers.
  mutating func merge(_ other: WatchedBlocks) {
    for (index, block) in other.blocks.enumerated() where blocks.indices.contains(index) {
      blocks[index].isPlayed = blocks[index].isPlayed || block.isPlayed
      blocks[index].seconds = max(blocks[index].seconds, block.seconds)
      blocks[index].percent = max(blocks[index].percent, block.percent)
    }
  }

  /// Writes the object that was read.
  func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("block_count", count)
    writer.name("blocks")
    writer.beginObject()
    for (index, block) in blocks.enumerated() {
      writer.member("b\(index)", block.isPlayed ? 1 : 0)
      writer.name("t\(index)")
      writer.amount(block.seconds)
      writer.name("p\(index)")
      writer.amount(block.percent)
    }
    writer.endObject()
    writer.endObject()
  }
}
