import ServerKit

extension OriginService {
  /// `GET /contents/{mck}`: the manifest as `publish` wrote it.
  func content(_ request: Request) -> Response {
    guard let name = Self.names(in: request.path)?.last, let key = ContentKey(published: name),
      let manifest = folder.file([OriginFolder.contentsName, key.text])
    else { return Response(.noMediaContent, "no such media content key") }
    return Response(
      media: Media(
        manifest, type: "application/json", entityTag: manifest.entityTag, lastModified: manifest.lastModified
      ),
      headers: ["Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"])
  }
}
