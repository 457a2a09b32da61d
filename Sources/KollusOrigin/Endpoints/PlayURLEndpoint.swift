import JSONKit
import ServerKit

extension OriginService {
  /// `GET /s?jwt=…&custom_key=…`: the manifests a signed play URL names, with what its token says laid over
  /// them.
  func playURL(_ request: Request) -> Response {
    do throws(Refusal) {
      let claims = try playURLs.claims(of: request.queryFields, now: now())
      var writer = JSONWriter()
      writer.beginObject()
      writer.name("contents")
      writer.beginArray()
      for entry in claims.entries {
        try write(entry, to: &writer)
        guard writer.bytes.count <= OriginFolder.manifestLimit else {
          throw Refusal(.unsupported, "the contents' manifests have more than 8 MiB together")
        }
      }
      writer.endArray()
      writer.endObject()
      // Asking what there is does not use a play URL up.
      if request.method == "GET" { try playURLs.use(claims) }
      return Response(json: writer.bytes)
    } catch {
      return error.response
    }
  }

  private func write(_ entry: PlayEntry, to writer: inout JSONWriter) throws(Refusal) {
    guard let key = ContentKey(published: entry.key),
      let file = folder.file([OriginFolder.contentsName, key.text])
    else { throw Refusal(.noMediaContent, "no such media content key: \(entry.key)") }
    do {
      let manifest = try JSON(parsing: file.contents(limit: OriginFolder.manifestLimit))
      guard let content = try manifest.array("contents")?.elements.first(where: { _ in true }) else {
        throw manifest.failure("contents is empty")
      }
      try entry.lay(over: content, writer: &writer)
    } catch {
      throw Refusal(response: Response(500, message: "the manifest of \(entry.key) cannot be read: \(error)"))
    }
  }
}

/// An answer other than the one asked for.
struct Refusal: Error {
  let response: Response

  init(response: Response) { self.response = response }

  init(_ code: KollusCode, _ message: String) { response = Response(code, message) }
}
