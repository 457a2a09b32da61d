package import JSONKit
package import Testing

/// Standard output that must be one JSON object a line.
package struct JSONLines: Sendable {
  package let objects: [JSON]

  /// Fails the test, with the line, for each one that is no JSON object.
  package init(_ text: String, at location: SourceLocation = #_sourceLocation) {
    objects = text.split(separator: "\n").compactMap { line in
      let json = try? JSON(parsing: String(line))  // The failure is told right below, with the line.
      #expect(json?.kind == .object, "no JSON object: \(line)", sourceLocation: location)
      return json?.kind == .object ? json : nil
    }
    #expect(text.isEmpty || text.hasSuffix("\n"), "the last line has no end", sourceLocation: location)
  }
}
