import Glibc
import JSONKit
import SystemKit

extension Settings {
  /// Lays the configuration file, then the environment, then `flags` over the defaults.
  ///
  /// `isRequired` says that the file was named by the user, so that its absence is an error.
  package static func load(
    file: String, isRequired: Bool, environment: [String: String], flags: [(name: String, value: String)]
  ) throws(KollusError) -> Settings {
    var settings = Settings()
    try settings.read(file, isRequired: isRequired)
    for key in SettingKey.all {
      guard let word = environment[key.variable], !word.isEmpty else { continue }
      guard key.assign(&settings, word) else {
        throw KollusError(
          .configuration, "\(key.variable) must be \(key.expects)", hint: "correct or unset it")
      }
    }
    for flag in flags {
      guard let key = SettingKey.all.first(where: { $0.name == flag.name }) else {
        throw KollusError(.usage, "no setting is called \(flag.name)")
      }
      guard key.assign(&settings, flag.value) else {
        throw KollusError(.usage, key.refusal(of: flag.value), hint: "expected \(key.expects)")
      }
    }
    return settings
  }

  private mutating func read(_ file: String, isRequired: Bool) throws(KollusError) {
    let bytes: [UInt8]
    do throws(SystemError) {
      bytes = try Files.readRegular(file, limit: 1 << 20)
    } catch {
      if error.number == ENOENT || error.number == ENOTDIR, !isRequired { return }
      throw KollusError(
        .configuration, "cannot read the configuration \(file): \(error.reason)",
        hint: "make it readable, or name another with --config")
    }
    do throws(JSONError) {
      let json = try JSON(parsing: bytes)
      guard json.kind == .object else { throw JSONError(path: "", reason: "expected an object") }
      for (name, value) in json.members { try take(name, value, besides: file) }
    } catch {
      throw KollusError(
        .configuration, "the configuration \(file) is not right: \(error.description)",
        hint: "correct the file; 'kollus help config' lists its keys")
    }
  }

  private mutating func take(_ name: String, _ value: JSON, besides file: String) throws(JSONError) {
    if name == "keys" {
      guard value.kind == .object else { throw value.failure("expected an object") }
      for (key, path) in value.members {
        guard let path = path.string else { throw path.failure("expected the path of a file") }
        keys[key] = Self.resolve(path, besides: file)
      }
      return
    }
    guard let key = SettingKey.all.first(where: { $0.name == name }) else {
      throw value.failure("no such key")
    }
    let word: String
    switch value.kind {
    case .null: return
    case .string: word = value.string ?? ""
    case .integer, .number, .bool: word = value.rawText
    case .array, .object: throw value.failure("expected \(key.expects)")
    }
    guard key.assign(&self, word) else { throw value.failure("expected \(key.expects)") }
    if name == "caFile", let path = caFile { caFile = Self.resolve(path, besides: file) }
  }

  /// Writes `value` for `key` into the configuration file, or takes the key out; the rest stays as it is.
  package static func change(file: String, key: SettingKey, to value: String?) throws(KollusError) {
    var probe = Settings()
    if let value, !key.assign(&probe, value) {
      throw KollusError(
        .usage, key.refusal(of: value), hint: "expected \(key.expects)")
    }
    // A file that is not right is not made worse.
    try probe.read(file, isRequired: false)
    do {
      let found = try Files.information(file) == nil ? [] : try Files.read(file, limit: 1 << 20)
      var writer = JSONWriter()
      writer.beginObject()
      for (name, old) in found.isEmpty ? [] : Array(try JSON(parsing: found).members) where name != key.name {
        writer.name(name)
        writer.raw(old.rawText)
      }
      if let value { writer.member(key.name, value) }
      writer.endObject()
      try Files.makeFolder(Files.folder(of: file))
      try Files.write(writer.bytes + [UInt8(ascii: "\n")], to: file)
    } catch let error as SystemError {
      throw KollusError(error)
    } catch {
      throw KollusError(.configuration, "the configuration \(file) is not right: \(error)")
    }
  }

  /// A path in the configuration is relative to the configuration's own folder.
  private static func resolve(_ path: String, besides file: String) -> String {
    path.hasPrefix("/") ? path : "\(Files.folder(of: file))/\(path)"
  }
}
