import Foundation
import KollusSDK
import Testing

/// The article "From the iOS SDK" and the declarations go together.
struct ArticleTests {
  /// What the protocol reference names, by heading of the article (PROTO §4.1–4.4).
  private static let members: [String: String] = [
    "KollusStorage": """
    delegate applicationKey applicationBundleID applicationExpireDate keychainGroup applicationVersion \
    applicationDeviceID storagePath storageSize cacheDataSize serverPort extraDrmParam appUserAgent deviceType \
    setKollusPath(_:) start() start(withFirst:) startWithCheck() startWithNewPlayerID() loadContentURL(_:) \
    checkContentURL(_:) downloadContent(_:) downloadCancelContent(_:) removeContent(_:) removeCache() \
    setCacheSize(_:) setNetworkTimeOut(_:retry:) setBackgroundDownload(_:) updateDownloadDRMInfo(_:) contents() \
    sendStoredLms()
    """,
    "KollusStorageDelegate": """
    kollusStorage(_:downloadContent:error:) kollusStorage(_:request:json:error:) kollusStorage(_:cur:count:error:) \
    kollusStorage(_:lmsData:resultJson:) onSendCompleteStoredLms(_:failCount:)
    """,
    "KollusContent": """
    mediaContentKey title company course teacher synopsis descriptionURL snapshot thumbnail contentType fileSize \
    downloadSize downloadProgress downloaded downloadStopSize downloadedTime duration position DRMCheckDate \
    DRMExpireDate DRMExpireCount DRMExpireCountMax DRMExpirePlayTime DRMTotalExpirePlayTime DRMExpired \
    DRMExpireRefreshPopup contentIndex naturalSize iosPlayerType drmExpired drmExpireDate drmExpireCount \
    drmExpireCountMax drmExpirePlayTime drmTotalExpirePlayTime drmExpireRefreshPopup fileType
    """,
    "Enumerations": """
    KollusContentType.streaming KollusContentType.downloading KollusContentType.sample \
    KollusContentType.adaptiveStreaming KollusContentType.adaptiveDownload KollusPlayerType.kollus \
    KollusPlayerType.native KollusPlayerType.hls KollusBookmarkKind.user KollusBookmarkKind.index
    """,
    "KollusPlayerView": """
    lmsOffDownloadContent nOfflineBookmarkUse nOfflineBookmarkDownload nOfflineBookmarkReadOnly extraDrmParam \
    proxyPort delegate DRMDelegate LMSDelegate bookmarkDelegate kollusContent prepareToPlay(withMode:) play() pause() \
    stop() currentPlaybackTime
    """,
  ]

  private struct Row {
    let members: [String]
    let standing: String
    let remark: String
  }

  /// The rows of each heading's table.
  private static func rows() throws -> [String: [Row]] {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent()
    let path = root.appending(path: "Sources/KollusSDK/KollusSDK.docc/FromTheIOSSDK.md")
    var rows: [String: [Row]] = [:]
    var heading = ""
    for line in try String(contentsOf: path, encoding: .utf8).split(separator: "\n") {
      if line.hasPrefix("## ") { heading = String(line.dropFirst(3)) }
      guard line.hasPrefix("| `") else { continue }
      let cells = line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { $0.trimmingCharacters(in: .whitespaces) }
      try #require(cells.count == 3, "\(line)")
      let names = cells[0].split(separator: "`").map(String.init).filter { $0 != ", " }
      rows[heading, default: []].append(Row(members: names, standing: cells[1], remark: cells[2]))
    }
    return rows
  }

  @Test func `no member of the protocol reference is missing, and none is told twice`() throws {
    let rows = try Self.rows()
    for (heading, names) in Self.members {
      let told = (rows[heading] ?? []).flatMap(\.members)
      for name in names.split(separator: " ") {
        #expect(told.filter { $0 == name }.count == 1, "\(heading): \(name)")
      }
      #expect(told.count == Set(told).count, "\(heading)")
    }
  }

  @Test func `each member is the same, differs or has no meaning, and what is not the same is explained`()
    throws
  {
    for (heading, rows) in try Self.rows() {
      for row in rows {
        #expect(["same", "differs", "not applicable on Linux"].contains(row.standing), "\(heading) \(row)")
        #expect(row.standing == "same" || !row.remark.isEmpty, "\(heading) \(row)")
      }
    }
  }

  @Test func `what the article names is declared, and the other way round`() throws {
    let rows = try Self.rows()
    #expect(Set(rows.keys) == Set(Declarations.all.keys))
    for (heading, declared) in Declarations.all {
      let there = (rows[heading] ?? []).filter { !$0.remark.hasPrefix("left out") }.flatMap(\.members)
      #expect(Set(there) == Set(declared.keys), "\(heading)")
    }
  }

  @Test func `the numbers of kinds and types are the vendor's`() {
    #expect(KollusContentType.allCases.map(\.rawValue) == [0, 1, 2, 3, 4])
    #expect(KollusContentType.downloading.rawValue == 1 && KollusContentType.adaptiveDownload.rawValue == 4)
    #expect(KollusPlayerType.allCases == [.kollus, .native, .hls])
    #expect(KollusPlayerType.allCases.map(\.rawValue) == [0, 1, 2])
    #expect(KollusBookmarkKind.user.rawValue == 0 && KollusBookmarkKind.index.rawValue == 1)
  }
}
