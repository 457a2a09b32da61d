package import ArgumentKit
import Glibc
package import KollusCore
import SystemKit

/// Words of the user that several commands read alike.
enum Usage {
  static func folder(_ path: String) throws(UsageError) -> String {
    do throws(KollusError) {
      return try FolderPath.checked(path)
    } catch {
      throw UsageError("'\(path)' is \(error.message)", hint: error.hint)
    }
  }
}

/// Text files given by the user.
enum Lines {
  /// Lines of a file without their ends; `nil` when it holds more than 16 MiB.
  static func read(_ path: String) throws(KollusError) -> [String]? {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try Files.read(path, limit: 16 << 20)
    } catch {
      if error.number == EFBIG { return nil }
      throw KollusError(error)
    }
    return try split(bytes, of: path)
  }

  static func split(_ bytes: [UInt8], of source: String) throws(KollusError) -> [String] {
    guard let text = String(validating: bytes, as: UTF8.self) else {
      throw KollusError(.usage, "\(source) is not UTF-8 text", hint: "convert it, for example with iconv")
    }
    return text.split(whereSeparator: \.isNewline).map(String.init)
  }
}

extension ByteSize: ArgumentValue {
  package init(argument: String) throws(UsageError) {
    guard let size = ByteSize(argument) else {
      throw UsageError(
        "'\(argument)' is not a size", hint: "write a number of bytes, or one like 512K, 10M, 2G")
    }
    self = size
  }
}

extension TimeSpan: ArgumentValue {
  package init(argument: String) throws(UsageError) {
    guard let span = TimeSpan(argument) else {
      throw UsageError(
        "'\(argument)' is not a duration", hint: "write seconds, or one like 30s, 10m, 72h, 7d")
    }
    self = span
  }
}
