import ServerKit

/// Sends every request to the endpoint its path names.
struct OriginService: Sendable {
  let folder: Folder
  let playURLs: PlayURLs
  /// Unix seconds.
  let now: @Sendable () -> Int64

  /// Answers by the endpoint; any other path is 404, any method but GET and HEAD 405.
  func answer(_ request: Request) -> Response {
    guard let endpoint = endpoint(request.path) else { return Response(404, message: "not found") }
    guard request.method == "GET" || request.method == "HEAD" else {
      var response = Response(405, message: "only GET and HEAD are answered here")
      response.headers["Allow"] = "GET, HEAD"
      return response
    }
    return endpoint(request)
  }

  private func endpoint(_ path: String) -> ((Request) -> Response)? {
    let names = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    switch names.first {
    case "contents" where names.count == 2: return content
    case "media" where names.count >= 2: return media
    case "s" where names.count == 1: return playURL
    default: return nil
    }
  }

  /// The names that a path's segments stand for; nil when one cannot be decoded.
  static func names(in path: String) -> [String]? {
    var names: [String] = []
    for segment in path.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
      guard let bytes = PercentCoding.decode(segment), let name = String(validating: bytes, as: UTF8.self)
      else {
        return nil
      }
      names.append(name)
    }
    return names
  }
}

/// Codes of Kollus that the origin answers with.
enum KollusCode: Int {
  case unsupported = -1_010
  case invalidUserKey = -4_004
  case invalidToken = -4_007
  case noMediaContent = -4_012
  case withoutMediaContentKey = -4_083
  case tokenExpired = -4_085
  case usedToken = -8_475

  /// The HTTP status that goes with it.
  var status: Int {
    switch self {
    case .unsupported: 400
    case .noMediaContent: 404
    default: 403
    }
  }
}
