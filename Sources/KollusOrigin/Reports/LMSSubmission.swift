import JSONKit
import ServerKit
import SystemKit

/// A report as it came: in a form, a JSON body or a query, with whatever else was sent.
struct LMSSubmission: Sendable {
  private enum Value {
    case text(String)
    case json(JSON)
  }

  private typealias Field = (name: String, value: Value)

  /// The largest body read, in bytes.
  static let bodyLimit = 4 << 20
  private static let reportNames = ["json_data", "data"]

  let report: LMSReport
  private let path: String
  private let json: JSON
  /// What came beside the report.
  private let fields: [Field]

  /// Reads a request; one without a report is refused with 400.
  init(_ request: Request) throws(Refusal) {
    path = request.path
    var fields = try Self.fields(of: request)
    guard
      let index = Self.reportNames.lazy.compactMap({ name in fields.firstIndex { $0.name == name } }).first
    else { throw Self.refusal("there is no field json_data that can be decoded") }
    let field = fields.remove(at: index)
    self.fields = fields
    do {
      switch field.value {
      case .json(let json) where json.string == nil: self.json = json
      case .json(let json): self.json = try JSON(parsing: json.string ?? "")
      case .text(let text): self.json = try JSON(parsing: text)
      }
      report = try LMSReport(json)
    } catch {
      // A report inside a JSON body has the field in its path already.
      throw Self.refusal(error.path.hasPrefix(field.name) ? "\(error)" : "\(field.name): \(error)")
    }
  }

  /// The report in one line, safe to print.
  var text: String {
    var writer = JSONWriter(reserving: 8_192)
    writer.copy(json)
    return writer.text
  }

  /// The line that is kept of it, received at a time in Unix seconds.
  func line(at seconds: Int64) -> [UInt8] {
    var writer = JSONWriter(reserving: 8_192)
    writer.beginObject()
    writer.member("at", WallClock.text(seconds))
    writer.member("path", path)
    writer.name("fields")
    writer.beginObject()
    for (name, value) in fields {
      writer.name(name)
      switch value {
      case .text(let text): writer.value(text)
      case .json(let json): writer.copy(json)
      }
    }
    writer.endObject()
    writer.name("report")
    writer.copy(json)
    writer.endObject()
    return writer.bytes
  }

  /// Those of the body, and those of the query that it does not have.
  private static func fields(of request: Request) throws(Refusal) -> [Field] {
    let own = try request.body.isEmpty ? [] : body(of: request)
    let names = Set(own.map(\.name))
    let others = try checked(request.queryFields.map { ($0.name, .text($0.value)) }, "the query")
    return own + others.filter { !names.contains($0.name) }
  }

  private static func body(of request: Request) throws(Refusal) -> [Field] {
    guard request.body.count <= bodyLimit else { throw refusal("the body has more than 4 MiB") }
    switch request.headers["Content-Type"]?.prefix(while: { $0 != ";" && $0 != " " }).lowercased() {
    case "application/x-www-form-urlencoded":
      guard let form = String(validating: request.body, as: UTF8.self) else {
        throw refusal("the body is no form: not UTF-8")
      }
      return try checked(PercentCoding.fields(of: form).map { ($0.name, .text($0.value)) }, "the form")
    case "application/json":
      let json: JSON
      do throws(JSONError) {
        json = try JSON(parsing: request.body)
        guard json.kind == .object else { throw json.failure("expected an object") }
      } catch {
        throw refusal("the body: \(error)")
      }
      return try checked(json.members.map { ($0.name, .json($0.value)) }, "the body")
    default:
      throw refusal("Content-Type: expected application/x-www-form-urlencoded or application/json")
    }
  }

  /// Refuses a name that stands twice: readers would disagree on what it says.
  private static func checked(_ fields: [Field], _ place: String) throws(Refusal) -> [Field] {
    var names: Set<String> = []
    for field in fields where !names.insert(field.name).inserted {
      throw refusal("\(field.name) appears twice in \(place)")
    }
    return fields
  }

  private static func refusal(_ message: String) -> Refusal {
    var response = Response(400, message: message)
    response.notes = ["  \(message.printable)"]
    return Refusal(response: response)
  }
}

extension JSONWriter {
  /// Writes a value anew: compact, and its texts safe to print.
  mutating func copy(_ json: JSON) {
    switch json.kind {
    case .object:
      beginObject()
      for (name, member) in json.members {
        self.name(name)
        copy(member)
      }
      endObject()
    case .array:
      beginArray()
      for element in json.elements { copy(element) }
      endArray()
    case .string: value(json.string ?? "")
    default: raw(json.rawText)
    }
  }
}
