import JSONKit

/// What one viewing report gets: controls of the response alone.
struct LMSEntry: Sendable {
  private(set) var controls = ResponseControls()
  private var isStored: Bool?

  /// Taken and told so.
  init() {}

  /// Reads an object; the error names the member that is wrong.
  init(_ json: JSON) throws(JSONError) {
    guard json.kind == .object else { throw json.failure("expected an object") }
    var given: Set<String> = []
    for (name, value) in json.members {
      guard given.insert(name).inserted else { throw value.failure("appears twice") }
      var isKnown = name == "@store"
      if isKnown {
        isStored = try value.flag()
      } else if !ResponseControls.tokenNames.contains(name) {
        isKnown = try controls.take(name, value)
      }
      guard isKnown else {
        let known =
          ["@store"] + ResponseControls.allNames.filter { !ResponseControls.tokenNames.contains($0) }
        throw value.failure("no such control; there are \(known.joined(separator: ", "))")
      }
    }
  }

  /// Whether the report is kept: if nothing else is said, where the client is told so.
  var stores: Bool {
    isStored ?? (controls.isDropped != true && (200..<300).contains(controls.statusSent))
  }
}
