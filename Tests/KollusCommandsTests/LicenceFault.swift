import Foundation
import KollusTestSupport
import Testing

/// What a callback does instead of a good answer, and what the program has to make of it.
struct LicenceFault: Sendable, CustomTestStringConvertible {
  typealias Entry = DRMCallback.Entry

  let name: String
  let code: Int
  let status: Int32
  var entry: Entry = .init()
  var change: (@Sendable (ServedRequest, Answer) -> Answer)?

  var testDescription: String { name }

  func answer(_ kind: Int, of callback: DRMCallback) {
    let (entry, change) = (entry, change)
    callback.answer { $0.kind == kind ? entry : .init() }
    callback.override { request, answer in
      String(decoding: request.body, as: UTF8.self).contains("%22kind%22%3A\(kind)")
        ? change?(request, answer) ?? answer : answer
    }
  }

  /// Answers that cannot be used: neither a word about the content nor silence.
  static let unusable = [
    LicenceFault(name: "empty", code: -8651, status: 65) { _, _ in DRMCallback.answer("") },
    LicenceFault(name: "HTML", code: -8634, status: 65) { _, _ in DRMCallback.answer("<html></html>") },
    LicenceFault(name: "wrong key", code: -8634, status: 65) { _, _ in
      DRMCallback.answer(payload: #"{"data":[]}"#, key: "another")
    },
    LicenceFault(name: "no header", code: -8634, status: 65) { _, sound in sound.with("X-Kollus-UserKey", nil)
    },
    LicenceFault(name: "unknown custom key", code: -8634, status: 78) { _, sound in
      sound.with("X-Kollus-UserKey", "nobody's")
    },
    LicenceFault(name: "no JSON", code: -8635, status: 65) { _, _ in DRMCallback.answer(payload: "{") },
    LicenceFault(name: "no data", code: -8635, status: 65) { _, _ in DRMCallback.answer(payload: "{}") },
    LicenceFault(name: "no entry", code: -8682, status: 65, entry: .missing),
    LicenceFault(name: "other kind", code: -8682, status: 65, entry: .init(["kind": "7", "result": "1"])),
    LicenceFault(name: "quoted result", code: -8636, status: 65, entry: .init(["result": #""1""#])),
  ]

  /// No word about the content at all.
  static let silent = [
    LicenceFault(name: "500", code: -9500, status: 75) { _, _ in Answer(500) },
    LicenceFault(name: "404", code: -9404, status: 69) { _, _ in Answer(404) },
    LicenceFault(name: "redirect", code: -9302, status: 69) { _, _ in Answer(302).with("Location", "/cb/drm")
    },
    LicenceFault(name: "cut", code: -9018, status: 75) { _, sound in sound.cut(after: 10) },
  ]
}

extension DRMCallback {
  /// An answer of any text with the headers of a good one.
  static func answer(_ text: String) -> Answer {
    Answer(200, text: text).with("X-Kollus-UserKey", customKey).with("Date", httpDate(Date()))
  }
}
