import CurlKit
import SealKit
import SystemKit

/// Snapshot and thumbnail: small plain files beside the sealed media, as lists show them.
extension Downloader {
  private static let pictureLimit = 8 << 20

  /// Fetches the pictures a manifest names; a failure is told and costs nothing else.
  func fetchPictures(_ content: Content, _ manifest: Manifest) async {
    guard manifest.snapshot != nil || manifest.thumbnail != nil else { return }
    // Held whole in memory, which grows by doubling: counted with the buffers.
    let largest =
      [manifest.snapshot, manifest.thumbnail].compactMap { $0 }
      .map { Int(min($0.size ?? Int64(Self.pictureLimit), Int64(Self.pictureLimit))) }.max() ?? 0
    let (snapshot, thumbnail) = await memory.with(2 * largest) {
      (
        await fetch(manifest.snapshot, named: "snapshot", of: content, limit: largest),
        await fetch(manifest.thumbnail, named: "thumbnail", of: content, limit: largest)
      )
    }
    // A lost name only hides a picture.
    try? await library.setPictures(
      content.id, snapshot: snapshot ?? content.snapshot, thumbnail: thumbnail ?? content.thumbnail)
  }

  /// Fetches pictures again that were here and are gone, or are not what the manifest says of them.
  func mendPictures(_ content: Content) async {
    // Without the manifest nothing is known of them.
    guard let manifest = ((try? await storedSource(content)) ?? nil)?.manifest else { return }
    let isWhole =
      holds(content.snapshot, manifest.snapshot) && holds(content.thumbnail, manifest.thumbnail)
    if !isWhole { await fetchPictures(content, manifest) }
  }

  private func holds(_ name: String, _ picture: Manifest.Picture?) -> Bool {
    guard !name.isEmpty, let picture else { return true }
    // What cannot be read is not here.
    guard let bytes = try? Files.readRegular("\(home.mediaPath)/\(name)", limit: Self.pictureLimit),
      !bytes.isEmpty
    else { return false }
    return picture.size.map { $0 == Int64(bytes.count) } ?? true
      && picture.digest.map { $0 == SHA256.hash(bytes) } ?? true
  }

  /// The file name under `media`, or `nil` when there is no picture to be had.
  private func fetch(_ picture: Manifest.Picture?, named kind: String, of content: Content, limit: Int) async
    -> String?
  {
    guard let picture else { return nil }
    do {
      try client.policy.check(picture.address, for: "the \(kind)")
      var address = picture.address
      for _ in 0...HTTPPolicy.redirectLimit {
        var request = Request(address, options: OriginClient.options(settings))
        request.headers = ["Accept-Encoding: identity"]
        let response = try await engine.perform(request, limit: limit)
        if let target = client.policy.target(of: response.head, from: address) {
          address = target
          continue
        }
        guard response.head.status == 200 else { throw OriginAnswer.error(response, address: address) }
        guard picture.size.map({ $0 == Int64(response.body.count) }) ?? true,
          picture.digest.map({ $0 == SHA256.hash(response.body) }) ?? true
        else { throw KollusError(.badData, "\(kind).size or \(kind).sha256 does not fit the picture") }
        let name = "\(Home.mediaName(of: content.mediaContentKey)).\(kind)"
        try Files.write(response.body, to: "\(home.mediaPath)/\(name)")
        return name
      }
      throw KollusError(.refused, "too many redirects")
    } catch {
      let reason = (error as? CurlError)?.message ?? KollusError(any: error).message
      sink.emit(
        .note(
          .warning, mediaContentKey: content.mediaContentKey,
          message: "the \(kind) could not be had: \(reason)"))
      return nil
    }
  }
}
