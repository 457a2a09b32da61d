import ServerKit

/// Sends every request to the endpoint its path names.
struct OriginService: Sendable {
  let folder: Folder
  let playURLs: PlayURLs
  let drm: DRMEndpoint
  let lms: LMSEndpoint
  /// Unix seconds.
  let now: @Sendable () -> Int64

  private typealias Endpoint = (methods: [String], answer: (Request) -> Response)

  /// Answers by the endpoint; any other path is 404, any method but the endpoint's own 405.
  func answer(_ request: Request) -> Response {
    guard let endpoint = endpoint(request.path) else { return Response(404, message: "not found") }
    guard endpoint.methods.contains(request.method) else {
      let methods = endpoint.methods.joined(separator: ", ")
      var response = Response(405, message: "only \(methods) is answered here")
      response.headers["Allow"] = methods
      return response
    }
    return endpoint.answer(request)
  }

  private func endpoint(_ path: String) -> Endpoint? {
    let reading = ["GET", "HEAD"]
    let names = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst()
    switch names.first {
    case "contents" where names.count == 2: return (reading, content)
    case "media" where names.count >= 2: return (reading, media)
    case "s" where names.count == 1: return (reading, playURL)
    case "drm" where names.count == 1: return (["POST"], { drm.answer($0, now: now()) })
    case "lms": return (["GET", "POST"], { lms.answer($0, now: now()) })
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
