public import Foundation
import KollusCore
import SystemKit

/// One content of the storage, as it stood when it was asked for, or a virtual folder (PROTO §4.3).
///
/// Only ``DRMExpired`` is judged anew each time it is read, since dates pass; all else is had anew from
/// ``KollusStorage/contents()``. A content may be used from any thread.
public final class KollusContent: Sendable {
  /// What the licence members are judged by.
  private enum Basis: Sendable {
    case evidence(Verdict.Evidence, now: @Sendable () -> Double)
    case none
  }

  let record: Content
  private let isFolder: Bool
  private let basis: Basis
  private let mediaPath: String
  /// The storage it came from.
  private let origin: WeakSlot

  var storage: KollusStorage? { origin.object as? KollusStorage }

  init(_ record: Content, _ evidence: Verdict.Evidence, _ library: Library, of storage: KollusStorage?) {
    (self.record, isFolder) = (record, false)
    basis = .evidence(evidence, now: library.now)
    mediaPath = library.home.mediaPath
    origin = WeakSlot(storage)
  }

  private init(_ record: Content, like other: KollusContent) {
    (self.record, isFolder, basis) = (record, other.isFolder, other.basis)
    (mediaPath, origin) = (other.mediaPath, other.origin)
  }

  /// A node for a virtual folder, as applications show them between contents: without a key, ``fileType`` 1.
  ///
  /// - Parameter folder: The folder's path from the root, names separated by slashes; the last one becomes the title.
  public init(folder: String) {
    var record = Content(mediaContentKey: "")
    record.folder = folder
    record.title = folder.split(separator: "/").last.map(String.init) ?? ""
    (self.record, isFolder, basis, mediaPath, origin) = (record, true, .none, "", WeakSlot())
  }

  /// The same content further on in its download.
  func progressed(to progress: ContentProgress) -> KollusContent {
    var record = record
    record.downloadSize = progress.downloadSize
    if progress.fileSize > 0 { record.fileSize = progress.fileSize }
    record.state = progress.isDownloaded ? .ready : .fetching
    return KollusContent(record, like: self)
  }

  // MARK: What it is

  /// The media content key; `nil` for a folder.
  public var mediaContentKey: String? { isFolder ? nil : record.mediaContentKey }
  /// 1 for a folder, 0 for a content.
  public var fileType: Int { isFolder ? 1 : 0 }
  /// The virtual folder it is listed in, such as `math/unit 1`, empty at the root; for a folder its own path.
  ///
  /// The vendor's applications keep folders by themselves; here the storage does.
  public var folder: String { record.folder }
  /// Its title.
  public var title: String { record.title }
  /// Who published it.
  public var company: String { record.company }
  /// The course it belongs to.
  public var course: String { record.course }
  /// Who teaches.
  public var teacher: String { record.teacher }
  /// What it is about.
  public var synopsis: String { record.synopsis }
  /// A page about it.
  public var descriptionURL: String { record.descriptionURL }
  /// Path of its picture, empty where there is none.
  public var snapshot: String { record.snapshot.isEmpty ? "" : "\(mediaPath)/\(record.snapshot)" }
  /// Path of its small picture, empty where there is none.
  public var thumbnail: String { record.thumbnail.isEmpty ? "" : "\(mediaPath)/\(record.thumbnail)" }
  /// ``KollusContentType/downloading`` or ``KollusContentType/sample``.
  public var contentType: KollusContentType { record.kind == .sample ? .sample : .downloading }
  /// Its number in the storage, which no other content ever gets; 0 for a folder.
  public var contentIndex: Int { Int(clamping: record.id) }
  /// Pixels of the picture, zero where nobody says.
  public var naturalSize: CGSize {
    CGSize(width: Double(record.naturalWidth), height: Double(record.naturalHeight))
  }
  /// Always ``KollusDecoderType/native``: mpv chooses.
  public var iosPlayerType: KollusDecoderType { .native }
  /// Length in seconds, 0 where nobody says.
  public var duration: TimeInterval { record.duration }
  /// Where it was left when last played, in seconds.
  public var position: TimeInterval { record.position }

  // MARK: Its download

  /// Bytes of the media.
  public var fileSize: Int64 { record.fileSize }
  /// Bytes that are here: received, checked and sealed.
  public var downloadSize: Int64 { record.downloadSize }
  /// Whole percent from 0 to 100; 100 only when ``downloaded``.
  public var downloadProgress: Int { record.progress.percent }
  /// Whether it is all here.
  public var downloaded: Bool { record.isDownloaded }
  /// Bytes held of a download that stands still; it goes on from there.
  public var downloadStopSize: Int64 { record.stopSize }
  /// Unix seconds when the download was complete, 0 before.
  public var downloadedTime: Int32 { Int32(clamping: record.downloadedTime) }

  // MARK: Its licence

  var licence: Licence { record.licence?.licence ?? Licence() }

  var isExpired: Bool {
    guard case .evidence(let evidence, let now) = basis else { return false }
    return Verdict(evidence, at: Int64(now())).isExpired
  }
}

/// Contents are the same when they have the same key, folders when they have the same path, however old the look at them is.
extension KollusContent: Hashable {
  public static func == (one: KollusContent, other: KollusContent) -> Bool { one.identity == other.identity }

  public func hash(into hasher: inout Hasher) { hasher.combine(identity) }

  private var identity: ExactText {
    ExactText(isFolder ? "folder \(record.folder)" : "content \(record.mediaContentKey)")
  }
}
