public import Foundation
import KollusCore

/// The core's own error, which never leaves this library.
typealias CoreError = KollusCore.KollusError

/// A failure of the storage or of a player, with Kollus's own number.
///
/// `(error as NSError).code` is the number, `(error as NSError).domain` is ``errorDomain``, and `localizedDescription` says
/// what happened, `localizedRecoverySuggestion` what to do about it. Where the customer's server gave a message, it stands in place of the
/// built-in text (PROTO §6.4).
public struct KollusError: Error, Equatable, Sendable {
  /// Kollus's number: the one of the Android SDK's list, 0 where that has none (PROTO §5).
  public let code: Int
  /// What failed, in English, or the customer's own words in their language.
  public let message: String
  /// What to do about it, where something can be done.
  public let hint: String?
  /// The content concerned, where it is one.
  public let mediaContentKey: String?

  /// The same for every error of this library.
  public static let errorDomain = "KollusSDK"

  init(_ error: CoreError) {
    (code, message, hint) = (error.code, error.message, error.hint.flatMap(Self.applied))
    mediaContentKey = error.mediaContentKey
  }

  /// A hint without what is said to people at a shell; `nil` when nothing is left.
  private static func applied(_ hint: String) -> String? {
    let parts = hint.split(separator: ";").map { $0.trimmingCharacters(in: .whitespaces) }.filter { part in
      !["kollus ", "--", "shell", "command", "run: "].contains { part.contains($0) }
    }
    return parts.isEmpty ? nil : parts.joined(separator: "; ")
  }

  /// Any error of the core.
  init(any error: any Error) {
    switch error {
    case let error as KollusError: self = error
    default: self.init(CoreError(any: error))
    }
  }
}

extension KollusError: LocalizedError {
  /// ``message``.
  public var errorDescription: String? { message }
  /// ``hint``.
  public var recoverySuggestion: String? { hint }
}

extension KollusError: CustomNSError {
  /// ``code``.
  public var errorCode: Int { code }

  /// The description and the suggestion, under Foundation's keys.
  public var errorUserInfo: [String: Any] {
    var information: [String: Any] = [NSLocalizedDescriptionKey: errorDescription ?? message]
    information[NSLocalizedRecoverySuggestionErrorKey] = hint
    return information
  }
}
