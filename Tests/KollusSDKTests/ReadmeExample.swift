import Foundation
import KollusSDK

final class Lectures: KollusStorageDelegate, Sendable {
  private let storage: KollusStorage

  init(_ configuration: KollusConfiguration = KollusConfiguration()) throws {
    storage = KollusStorage(configuration: configuration)
    storage.delegate = self  // Held weakly.
    try storage.start()
  }

  func fetch(_ playURL: String) throws { try storage.downloadContent(storage.loadContentURL(playURL)) }

  func renew() -> [String] {
    storage.updateDownloadDRMInfo(false)
    return (storage.contents() ?? []).filter { $0.downloaded && !$0.DRMExpired }.map(\.title)
  }

  func kollusStorage(_ storage: KollusStorage, downloadContent content: KollusContent, error: (any Error)?) {
    if let error { return print("\((error as NSError).code): \(error.localizedDescription)") }
    print(content.title, content.downloaded ? "is complete" : "\(content.downloadProgress) %")
  }
}
