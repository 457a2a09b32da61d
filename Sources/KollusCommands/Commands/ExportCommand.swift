import ArgumentKit
import JSONKit
import KollusCore
import SystemKit
import TerminalKit

/// `kollus export`: the plain bytes of a content that needs no licence.
struct ExportCommand: Command {
  static let key = Input<String>.positional("KEY", help: "Media content key.")
  static let output = Input<String?>.option(
    "output", "o", "FILE", help: "File to write, replaced if it is there; - is standard output.")
  static let spec = CommandSpec(
    "export", "Write the plain bytes of a content without a DRM callback.",
    discussion: "The file appears under its name only when every byte was read, checked and written.",
    inputs: [key.declaration, output.declaration], examples: ["kollus export AbCd1234 -o lecture.mp4"])

  var key: String
  var output: String

  init(_ given: ParsedArguments) throws(UsageError) {
    key = try given(Self.key)
    guard let output = try given(Self.output), !output.isEmpty else {
      throw UsageError("missing -o FILE", hint: "name the file to write, or - for standard output")
    }
    if output == "-", try given(CommonInputs.json) {
      throw UsageError("-o - and --json both want standard output", hint: "name a file")
    }
    self.output = output
  }

  func run(_ session: Session) async throws -> Int32 {
    let library = try session.openLibrary()
    let content = try await session.content(key, in: library)
    do {
      if output == "-" {
        try library.export(content) { bytes in
          try Task.checkCancellation()
          guard Console.standardOutput.write(bytes) else {
            throw KollusError(.inputOutput, "cannot write to standard output")
          }
        }
      } else {
        try write(content, from: library)
      }
    } catch let error as KollusError where error.code == KollusCode.damaged {
      await library.noteDamage(content, error)
      throw error
    }
    if session.common.json {
      var writer = JSONWriter()
      writer.beginObject()
      writer.member("mediaContentKey", key)
      writer.member("output", output)
      writer.member("size", content.fileSize)
      writer.endObject()
      session.write(json: writer.text)
    } else if output != "-" {
      session.say("\(key.terminalSafe): \(ByteCountText(content.fileSize)) written to \(output.terminalSafe)")
    }
    return ExitStatus.done
  }

  private func write(_ content: Content, from library: Library) throws {
    // Nothing of the home may be overwritten, however it is named.
    let target = ReplacementFile.resolved(output)
    let folder = ReplacementFile.resolved(Files.folder(of: target))
    let home = ReplacementFile.resolved(library.home.path)
    guard folder != home, !folder.hasPrefix(home + "/") else {
      throw KollusError(.usage, "\(output) lies inside the home", hint: "name a file elsewhere")
    }
    do {
      let file = try ReplacementFile(output)
      try library.export(content) { bytes in
        try Task.checkCancellation()
        try file.append(bytes)
      }
      try file.commit()
    } catch let error as SystemError {
      throw KollusError(error, code: KollusCode.saveData).of(key)
    }
  }
}
