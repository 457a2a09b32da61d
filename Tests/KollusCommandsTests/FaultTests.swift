import KollusTestSupport

/// The seventeen faults of `download`, end to end: the built tool against a loopback server that misbehaves.
///
/// One at a time within a suite: several of them measure time or count what a server sent.
enum FaultTests {
  static let digests: [Digests] = [.segments, .none]
}
