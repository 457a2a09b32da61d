import Glibc
import JSONKit
package import SealKit
import SystemKit

/// Who this installation is: the key that everything stored is sealed under, and the player id.
///
/// Kept in `device.key`, mode 0600. Whoever can read that file can open the contents.
package struct DeviceIdentity: Sendable {
  /// Wraps the key of every content; 32 random bytes, made once.
  package let key: SymmetricKey
  /// 40 hexadecimal digits, made once (PROTO §4.6); licences are bound to it.
  package let playerID: String
  /// Codes of stored licences and of the time ledger.
  let licenceKey: SymmetricKey
  /// Codes of the licence numbers in media files.
  let generationKey: SymmetricKey
  /// The machine it was made on, as `/etc/machine-id` names it; empty where nothing does.
  private let machineID: String

  private init(key: SymmetricKey, playerID: String, machineID: String) {
    (self.key, self.playerID, self.machineID) = (key, playerID, machineID)
    licenceKey = key.derived("licence")
    generationKey = key.derived("licence generation")
  }

  /// Makes a new identity for the machine; `key` is kept when given.
  package static func made(machineID: String, key: SymmetricKey? = nil) throws(KollusError) -> DeviceIdentity
  {
    do throws(SealError) {
      let key = if let key { key } else { try SymmetricKey.random() }
      let playerID = Hex.encode(try SecureRandom.bytes(20))
      return DeviceIdentity(key: key, playerID: playerID, machineID: machineID)
    } catch {
      throw KollusError(.internalFailure, "no random numbers to be had: \(error)")
    }
  }

  /// Whether the identity was made on the machine with this id.
  package func belongs(to machineID: String) -> Bool { self.machineID == machineID }

  static let lostHint = "put back a copy of it; contents cannot be opened without it"

  /// Reads the file at `path`, or `nil` when there is none.
  static func read(_ path: String) throws(KollusError) -> DeviceIdentity? {
    let bytes: [UInt8]
    let mode: UInt32
    do throws(SystemError) {
      guard let information = try Files.information(path) else { return nil }
      mode = information.mode
      bytes = try Files.readRegular(path, limit: 1 << 16)
    } catch {
      throw KollusError(.configuration, "cannot read the device key: \(error)", hint: Home.doctorHint)
    }
    guard mode & 0o077 == 0 else {
      throw KollusError(
        .configuration, "others can read the device key \(path)", hint: "run: chmod 600 '\(path)'")
    }
    do throws(JSONError) {
      let json = try JSON(parsing: bytes)
      guard try json.integer("version") == 1, let key = try json.string("key").flatMap({ Base64.decode($0) }),
        key.count == 32, let playerID = try json.string("playerID"), !playerID.isEmpty
      else { throw json.failure("a member is missing or wrong") }
      let identity = DeviceIdentity(
        key: SymmetricKey(bytes: key), playerID: playerID, machineID: try json.string("machineID") ?? "")
      // Files of the first versions have no check.
      guard try json.string("check").map({ $0 == identity.check }) ?? true else {
        throw json.failure("its check does not fit")
      }
      return identity
    } catch {
      throw KollusError(
        .configuration, "the device key \(path) is damaged: \(error)",
        hint: lostHint)
    }
  }

  /// Shows a damage of the file; whoever can read it can write it as well, so it needs no secret.
  private var check: String {
    let key = key.withBytes { bytes in Base64.encode(bytes.withUnsafeBytes { Array($0) }) }
    return Hex.encode(SHA256.hash(Array("device 1 \(key) \(playerID) \(machineID)".utf8)).bytes.prefix(8))
  }

  /// Stands for the key in the library, so that another home's is told at once.
  var keyCheck: [UInt8] {
    Array(HMAC.sha256(Array("library".utf8), key: key.derived("key check")).bytes.prefix(16))
  }

  /// The file's bytes.
  var encoded: [UInt8] {
    var writer = JSONWriter()
    writer.beginObject()
    writer.member("version", 1)
    writer.member("key", key.withBytes { bytes in Base64.encode(bytes.withUnsafeBytes { Array($0) }) })
    writer.member("playerID", playerID)
    writer.member("machineID", machineID)
    writer.member("check", check)
    writer.endObject()
    return writer.bytes + [UInt8(ascii: "\n")]
  }
}
