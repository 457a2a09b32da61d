import SealKit

/// A licence as it is stored: with a number that grows with every change, and a code that shows any edit.
package struct LicenceRecord: Sendable, Equatable {
  /// What a look at a stored record finds.
  enum Seal: Sendable, Equatable {
    case intact
    /// Written here under another player id: true, but to be renewed.
    case foreign
    case broken
  }

  package var licence: Licence
  /// Grows by one at least with every change, from 1.
  var generation: Int64
  /// Whether the completion of the download was told (kind 2); a new download asks for approval anew.
  var isComplete = false
  /// The player id it was given to.
  private(set) var playerID: String
  /// HMAC over all of it, under a key of the device.
  private(set) var code: [UInt8] = []

  /// A record of this home, sealed for the content with this key.
  init(
    _ licence: Licence, generation: Int64, isComplete: Bool, of mediaContentKey: String,
    by identity: DeviceIdentity
  ) {
    (self.licence, self.generation, self.isComplete) = (licence, generation, isComplete)
    playerID = identity.playerID
    code = HMAC.sha256(message(mediaContentKey), key: identity.licenceKey).bytes
  }

  /// A record as it was found.
  init(stored licence: Licence, generation: Int64, isComplete: Bool, playerID: String, code: [UInt8]) {
    (self.licence, self.generation, self.isComplete) = (licence, generation, isComplete)
    (self.playerID, self.code) = (playerID, code)
  }

  func seal(of mediaContentKey: String, by identity: DeviceIdentity) -> Seal {
    guard HMAC.isValid(code, for: message(mediaContentKey), key: identity.licenceKey) else { return .broken }
    return playerID.isExactly(identity.playerID) ? .intact : .foreign
  }

  /// Why a media file with this number speaks against the record; `nil` when it does not.
  ///
  /// The file hears of a number after the library, so it may know an older one. `nil` and, but for the very
  /// first licence, 0 mean that what it knew was taken from it.
  func contradiction(by fileGeneration: Int64?) -> String? {
    guard let fileGeneration, fileGeneration > 0 || generation <= 1 else {
      return "the media file's own record of it is gone or was changed"
    }
    return fileGeneration > generation
      ? "the media file knows a later one: an older library was put back" : nil
  }

  /// Everything in one order; texts carry their length, so that no two records read the same.
  private func message(_ mediaContentKey: String) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(256)
    func add(_ number: Int64) {
      for shift in stride(from: 0, to: 64, by: 8) { bytes.append(UInt8(truncatingIfNeeded: number >> shift)) }
    }
    func add(_ text: String) {
      add(Int64(text.utf8.count))
      bytes.append(contentsOf: text.utf8)
    }
    add("licence 1")
    add(mediaContentKey)
    add(playerID)
    add(generation)
    add(isComplete ? 1 : 0)
    for limit in [licence.expirationDate, licence.plays.limit, licence.playTime.limit, licence.checkDate] {
      switch limit {
      case .none: add(-1)
      case .unlimited: add(0)
      case .value(let value): add(value)
      }
    }
    add(licence.plays.used)
    add(licence.playTime.used)
    add(licence.playTimeType.rawValue)
    add(licence.expired?.rawValue ?? 0)
    for flag in [licence.asksBeforeRenewal, licence.checksVirtualMachine, licence.checksAbuse] {
      add(flag ? 1 : 0)
    }
    add(licence.offlineBookmark.download)
    add(licence.offlineBookmark.isReadOnly ? 1 : 0)
    return bytes
  }
}

extension Content {
  /// What is held of the licence, as far as the library alone can tell.
  package func holding(by identity: DeviceIdentity) -> Verdict.Holding {
    guard let record = licence else { return needsLicence ? .absent : .notNeeded }
    return switch record.seal(of: mediaContentKey, by: identity) {
    // Kind 2 comes before `ready`: without it somebody else has set the state.
    case .intact where isDownloaded && !record.isComplete: .altered("its completion was never told")
    case .intact: .held(record.licence)
    case .foreign: .altered("it was given to another player id")
    case .broken: .altered("its row in the library was changed")
    }
  }
}
