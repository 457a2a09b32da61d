import KollusTestSupport
import Testing

/// The seventeen faults of `download`, end to end: the built tool against a loopback server that misbehaves.
///
/// One at a time: several of them measure time or count what a server sent.
@Suite(.serialized, .temporaryDirectory, .timeLimit(.minutes(1))) struct FaultTests {
  static let digests: [Digests] = [.segments, .none]
}
