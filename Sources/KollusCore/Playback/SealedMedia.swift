import ServerKit
import SystemKit

/// The plain bytes of a sealed file, segment by segment, for a server: no more of them is ever held than a few segments,
/// and none reaches a disk.
final class SealedMedia: MediaSource {
  /// Opened segments, more only where as many read at once; a player reads ahead and looks back at the index.
  private static let places = 3

  private struct Place {
    let buffer: AlignedBuffer
    var segment = -1
    var used = 0
    /// Who copies from it: nothing else is opened into it meanwhile.
    var readers = 0
  }

  private struct State {
    var places: [Place] = []
    var clock = 0
  }

  let size: Int
  private let file: SealedFile
  private let state = Protected(State())
  private let isDamaged: @Sendable (Int) -> Void

  /// `isDamaged` hears of a segment that cannot be opened; the reader is cut off there.
  init(_ file: SealedFile, isDamaged: @escaping @Sendable (_ segment: Int) -> Void) {
    self.file = file
    self.isDamaged = isDamaged
    size = Int(file.layout.size)
  }

  func read(at offset: Int, into buffer: inout MutableRawSpan) throws -> Int {
    let index = file.layout.segment(at: Int64(offset))
    let start = offset - Int(file.layout.plainOffset(index))
    let (place, opened) = try state.withLock { state -> Result<(Int, AlignedBuffer), any Error> in
      Result {
        let place = try open(index, &state)
        state.places[place].readers += 1
        return (place, state.places[place].buffer)
      }
    }.get()
    defer { state.withLock { $0.places[place].readers -= 1 } }
    // Up to the end of the segment: the next call begins with the next one.
    return opened.copy(from: start, to: &buffer)
  }

  /// The place that holds a segment now.
  private func open(_ index: Int, _ state: inout State) throws -> Int {
    state.clock += 1
    if let place = state.places.firstIndex(where: { $0.segment == index }) {
      state.places[place].used = state.clock
      return place
    }
    if state.places.count < Self.places || state.places.allSatisfy({ $0.readers > 0 }) {
      let capacity = BufferPool.bufferSize(segmentSize: file.layout.plainLength(0))
      state.places.append(Place(buffer: AlignedBuffer(capacity: capacity)))
    }
    let unused = state.places.indices.filter { state.places[$0].readers == 0 }
    let oldest = unused.min { state.places[$0].used < state.places[$1].used } ?? state.places.count - 1
    state.places[oldest].segment = -1
    guard try file.read(index, into: state.places[oldest].buffer) != nil else {
      isDamaged(index)
      throw KollusError(
        .badData, code: KollusCode.damaged, SegmentScan.text(of: [index]),
        hint: "download the content again to repair it"
      ).of(file.mediaContentKey)
    }
    state.places[oldest].segment = index
    state.places[oldest].used = state.clock
    return oldest
  }
}
