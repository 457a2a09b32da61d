import ArgumentKit
import JSONKit
import SystemKit

/// The reference origin as a tool: `publish` fills a folder, `serve` answers from it, `policy` shows what
/// the DRM callback answers, `lms` what the viewing reports say.
package enum Origin {
  /// What `--version` says.
  package static let version = "0.1.0"

  static let tree = CommandTree(
    tool: "kollus-origin",
    "Serve contents to kollus from a folder: manifests, media, play URLs and DRM answers; take viewing reports.",
    commands: [PublishCommand.spec, ServeCommand.spec, PolicyCommand.spec, LMSCommand.spec])

  /// Runs one command line, without the tool's own name, and gives its exit status.
  package static func run(_ words: [String], in context: Context) async -> Int32 {
    do {
      switch try tree.parse(words) {
      case .help(let path): context.output(tree.help(for: path))
      case .version: context.output("kollus-origin \(version)")
      case .run(PublishCommand.spec.name, let given): try PublishCommand(given).run(in: context)
      case .run(LMSCommand.spec.name, let given): try LMSCommand(given).run(in: context)
      case .run(PolicyCommand.spec.name, _): PolicyCommand.run(in: context)
      case .run(_, let given): try await ServeCommand(given).run(in: context)
      }
      return 0
    } catch let error as UsageError {
      context.complain(error.message, hint: error.hint)
      context.error(tree.usage(for: words))
      return OriginError.Status.usage.rawValue
    } catch let error as OriginError {
      context.complain(error.message, hint: error.hint)
      return error.status.rawValue
    } catch let error as SystemError {
      context.complain("\(error)", hint: nil)
      return OriginError.Status.inputOutput.rawValue
    } catch {
      context.complain("\(error)", hint: nil)
      return OriginError.Status.software.rawValue
    }
  }
}

/// Why a command failed, and the exit status that says so.
struct OriginError: Error, Equatable, CustomStringConvertible {
  /// Exit statuses by `sysexits.h`.
  enum Status: Int32 {
    case usage = 64
    case data = 65
    case noInput = 66
    case unavailable = 69
    case software = 70
    case inputOutput = 74
    case configuration = 78
  }

  let status: Status
  let message: String
  let hint: String?

  var description: String { message }

  init(_ status: Status, _ message: String, hint: String? = nil) {
    (self.status, self.message, self.hint) = (status, message, hint)
  }
}

extension String {
  /// This text with everything escaped that could steer a terminal or break a line.
  var printable: String {
    String(
      unicodeScalars.map { scalar in
        // Quotes and backslashes are harmless, and would be hard to read doubled.
        scalar == "\"" || scalar == "\\"
          ? String(scalar) : String(String(scalar).jsonQuoted.dropFirst().dropLast())
      }.joined())
  }
}
