package import ArgumentKit
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
    do throws(SystemError) {
      return String(decoding: try Files.read(path, limit: 16 << 20), as: UTF8.self).split(
        whereSeparator: \.isNewline
      )
      .map(String.init)
    } catch {
      if error.number == 27 { return nil }
      throw KollusError(error)
    }
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
