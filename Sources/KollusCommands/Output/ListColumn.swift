import ArgumentKit
import KollusCore
import SystemKit
import TerminalKit

/// What a list can show of contents, by the name that `--columns` knows it by.
enum ListColumn: String, CaseIterable, Sendable {
  case key, state, size, licence, folder, title, company, course, teacher, kind, type
  case duration, position, downloaded, user, profile, index

  static let standard: [ListColumn] = [.key, .state, .size, .licence, .folder, .title]

  /// How its column of the table is drawn.
  var column: Table.Column {
    let title = rawValue.uppercased()
    return switch self {
    case .size, .duration, .position, .index: .init(title, .right)
    case .state, .kind, .downloaded: .init(title, .left)
    case .folder, .type, .user, .profile: .init(title, .left, minimumWidth: 6, canShrink: true)
    case .title: .init(title, .left, minimumWidth: 10, canShrink: true)
    case .key, .licence, .company, .course, .teacher: .init(title, .left, minimumWidth: 8, canShrink: true)
    }
  }

  /// What stands there for a content.
  func cell(_ content: Content, _ verdict: Verdict) -> String {
    switch self {
    case .key: content.mediaContentKey
    case .state: content.state.rawValue
    case .size: Self.size(content)
    case .licence: Self.licence(content, verdict)
    case .folder: content.folder
    case .title: content.title
    case .company: content.company
    case .course: content.course
    case .teacher: content.teacher
    case .kind: content.kind == .sample ? "sample" : "download"
    case .type: content.mediaType
    case .duration: content.duration > 0 ? "\(DurationText(seconds: Int64(content.duration)))" : ""
    case .position: content.position > 0 ? "\(DurationText(seconds: Int64(content.position)))" : ""
    case .downloaded: content.downloadedTime > 0 ? WallClock.localDate(content.downloadedTime) : ""
    case .user: content.clientUserID
    case .profile: content.encodingProfile
    case .index: "\(content.id)"
    }
  }

  private static func size(_ content: Content) -> String {
    let size = ByteCountText(content.fileSize).description
    return content.isDownloaded ? size : "\(content.progress.percent)% of \(size)"
  }

  /// What a line says of the licence; nothing where there is none to speak of.
  private static func licence(_ content: Content, _ verdict: Verdict) -> String {
    guard let licence = content.licence?.licence else { return content.needsLicence ? "none" : "" }
    if let reason = verdict.reasons.first { return "refused: \(reason.name.rawValue)" }
    if let date = licence.expirationDate.value { return "until \(WallClock.localDate(date))" }
    return "valid"
  }
}

/// Columns as a user writes them: `key,title`.
struct ListColumns: ArgumentValue {
  let columns: [ListColumn]

  init(argument: String) throws(UsageError) {
    var columns: [ListColumn] = []
    for name in argument.split(separator: ",", omittingEmptySubsequences: false) {
      guard let column = ListColumn(rawValue: String(name)) else {
        throw UsageError(
          "'\(name)' is not a column",
          hint: "columns are \(ListColumn.allCases.map(\.rawValue).joined(separator: ", "))")
      }
      columns.append(column)
    }
    self.columns = columns
  }

  var description: String { columns.map(\.rawValue).joined(separator: ",") }
}
