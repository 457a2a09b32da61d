import CurlKit
import SQLiteKit
package import SystemKit

extension KollusError {
  /// A system call that failed, as the user meets it.
  package init(_ error: SystemError, code: Int = KollusCode.saveData) {
    if error.isNoSpace {
      self.init(
        .noSpace, code: KollusCode.storageFull,
        "no space left for \(error.path.isEmpty ? "a file" : error.path)",
        hint: "free some space and run the same command again; what is stored is kept")
    } else {
      self.init(.inputOutput, code: code, error.description)
    }
  }

  /// A failure of the library's database at `path`.
  init(_ error: SQLiteError, path: String) {
    if error.isNoSpace {
      self.init(
        .noSpace, code: KollusCode.storageFull, "no space left for \(path)",
        hint: "free some space and run the same command again; what is stored is kept")
    } else if error.isDamage || error.isMisfit {
      self.init(
        .badData, code: KollusCode.openDatabase, "\(path) is damaged or no database (\(error.message))",
        hint: "run 'kollus doctor --fix': it saves what can be read, and keeps the damaged file")
    } else if error.isBusy {
      self.init(
        .tryLater, code: KollusCode.openDatabase, "\(path) is in use by another process",
        hint: "run the command again once the other one has ended")
    } else {
      self.init(.inputOutput, code: KollusCode.openDatabase, "cannot use \(path): \(error.message)")
    }
  }

  /// A transfer that libcurl could not finish; the code is −(8000 + libcurl's), as PROTO §5.1 has it.
  init(_ error: CurlError, address: WebAddress) {
    let code = KollusCode.storageBase - error.code
    if error.isAuthorityFileFailure {
      self.init(
        .configuration, code: code, "the file of trusted authorities cannot be used: \(error.message)",
        hint: "correct 'caFile' in the configuration")
    } else if error.isTrustFailure {
      self.init(
        .refused, code: code, "\(address.display) cannot be trusted: \(error.message)",
        hint: "check the server's certificate, or name its authority with 'caFile' in the configuration")
    } else {
      self.init(
        .tryLater, code: code, "\(address.display) did not answer: \(error.message)",
        hint: "check the network and run the same command again")
    }
  }
}

extension TransferEngine {
  /// Starts an engine; `bytesPerSecond` limits all its transfers together.
  static func started(bytesPerSecond: Int64? = nil) throws(KollusError) -> TransferEngine {
    do throws(CurlError) {
      return try TransferEngine(bytesPerSecond: bytesPerSecond)
    } catch {
      throw KollusError(.internalFailure, "libcurl cannot be used: \(error)")
    }
  }
}

extension KollusError {
  /// Any error as one of ours.
  package init(any error: any Error) {
    switch error {
    case let error as KollusError: self = error
    case is CancellationError:
      self.init(
        .interrupted, code: KollusCode.cancelled, "interrupted", hint: "run the same command again to go on")
    case let error as SystemError: self.init(error)
    case let error as SQLiteError: self.init(error, path: "the library")
    default: self.init(.internalFailure, "unexpected failure: \(error)")
    }
  }
}
