import JSONKit
import KollusTestSupport
import Testing

/// One run of `download --events jsonl`, its events checked as far as every run promises.
struct DownloadRun {
  let outcome: ChildProcess.Outcome
  let events: [JSON]

  init(_ outcome: ChildProcess.Outcome, at location: SourceLocation = #_sourceLocation) {
    self.outcome = outcome
    var text = outcome.standardOutput
    // Only a killed process may stop in the middle of a line.
    if outcome.ending == .signal(9), let end = text.lastIndex(of: "\n") { text = String(text[...end]) }
    events = text.hasPrefix("{") ? JSONLines(text, at: location).objects : []
    #expect(text.isEmpty || text.hasPrefix("{"), "no events: \(text.prefix(200))", sourceLocation: location)
    expectContract(at: location)
  }

  /// The `event` member, and for notes the `note` member, in order.
  var names: [String] { events.map { Self.text($0, "note") ?? Self.text($0, "event") ?? "?" } }

  func notes(of mck: String) -> [String] {
    events.filter { Self.text($0, "mediaContentKey") == mck }.compactMap { Self.text($0, "note") }
  }

  func downloads(of mck: String) -> [JSON] {
    events.filter { Self.text($0, "event") == "downloadContent" && Self.text($0, "mediaContentKey") == mck }
  }

  /// The last code among the events' errors.
  var errorCode: Int? {
    events.compactMap { event in
      // Neither a missing nor an odd member is looked for here.
      (try? event.object("error")?.integer("code")).flatMap { $0 }.map(Int.init)
    }.last
  }

  func expectDownloaded(_ mck: String, at location: SourceLocation = #_sourceLocation) throws {
    let last = try #require(downloads(of: mck).last, sourceLocation: location)
    #expect(try last.bool("downloaded") == true, sourceLocation: location)
    #expect(try last.integer("downloadProgress") == 100, sourceLocation: location)
    #expect(try last.member("error")?.isNull == true, sourceLocation: location)
  }

  /// Sizes reported for a content, cut where it was begun anew; without a cancelled one's, which holds nothing more.
  func progress(of mck: String) -> [[Int]] {
    var runs: [[Int]] = [[]]
    for event in events where Self.text(event, "mediaContentKey") == mck {
      if Self.text(event, "note") == "restarted" { runs.append([]) }
      guard Self.text(event, "event") == "downloadContent",
        // Its type is checked with the contract.
        let size = (try? event.integer("downloadSize")).flatMap({ $0 }),
        (try? event.object("error")?.integer("code")).flatMap({ $0 }) != -8615
      else { continue }
      runs[runs.count - 1].append(Int(size))
    }
    return runs
  }

  private func expectContract(at location: SourceLocation) {
    var expected: Int64?
    for event in events {
      let line = event.rawText
      #expect(throws: Never.self, "\(line)", sourceLocation: location) {
        #expect(try event.integer("v") == 1, "\(line)", sourceLocation: location)
        let number = try #require(try event.integer("seq"), sourceLocation: location)
        #expect(number == expected ?? number, "seq: \(line)", sourceLocation: location)
        expected = number + 1
        #expect(try event.string("at")?.hasSuffix("Z") == true, "\(line)", sourceLocation: location)
        if try event.string("event") == "downloadContent" { try expectDownload(event, at: location) }
      }
    }
    for mck in Set(events.compactMap { Self.text($0, "mediaContentKey") }) {
      for sizes in progress(of: mck) { #expect(sizes == sizes.sorted(), "\(mck)", sourceLocation: location) }
    }
  }

  private func expectDownload(_ event: JSON, at location: SourceLocation) throws {
    let line = event.rawText
    #expect(try event.string("mediaContentKey") != nil, "\(line)", sourceLocation: location)
    #expect(try event.bool("downloaded") != nil, "\(line)", sourceLocation: location)
    let progress = try #require(try event.integer("downloadProgress"), sourceLocation: location)
    #expect((0...100).contains(progress), "\(line)", sourceLocation: location)
    let size = try #require(try event.integer("downloadSize"), sourceLocation: location)
    let whole = try #require(try event.integer("fileSize"), sourceLocation: location)
    #expect(size <= max(whole, 0), "\(line)", sourceLocation: location)
    let error = try #require(try event.member("error"), "\(line)", sourceLocation: location)
    guard !error.isNull else { return }
    #expect(try error.integer("code") ?? 0 < 0, "\(line)", sourceLocation: location)
    #expect(try error.string("message")?.isEmpty == false, "\(line)", sourceLocation: location)
  }

  private static func text(_ event: JSON, _ name: String) -> String? {
    (try? event.string(name)).flatMap { $0 }  // A wrong type is no text; the contract says which are needed.
  }
}

/// Fails the test unless the second run's sizes go on where the first one's ended, or a restart was told.
func expectNoStepBack(
  _ first: DownloadRun, _ second: DownloadRun, mck: String, at location: SourceLocation = #_sourceLocation
) {
  guard !second.notes(of: mck).contains("restarted") else { return }
  let before = first.progress(of: mck).last?.last ?? 0
  let after = second.progress(of: mck).first?.first ?? before
  #expect(after >= before, "went back from \(before) to \(after)", sourceLocation: location)
}
