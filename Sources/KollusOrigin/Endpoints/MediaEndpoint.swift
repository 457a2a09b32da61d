import ServerKit

extension OriginService {
  /// `GET /media/…`: a media file, snapshot or thumbnail, whole or in part.
  func media(_ request: Request) -> Response {
    guard let names = Self.names(in: request.path), let last = names.last, let file = folder.file(names)
    else {
      return Response(404, message: "no such file")
    }
    return Response(
      media: Media(
        file, type: MediaType.guess(fileName: last), entityTag: file.entityTag,
        lastModified: file.lastModified),
      headers: ["X-Content-Type-Options": "nosniff"])
  }
}
