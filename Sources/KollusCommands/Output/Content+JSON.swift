import JSONKit
import KollusCore

extension Content {
  /// The members of one content, named as the vendor's SDK names them; a tested contract.
  ///
  /// `verdict` is the one on its licence. `lastExchange`, where given, adds what only one content is asked for.
  func write(
    to writer: inout JSONWriter, mediaPath: String, licence verdict: Verdict,
    lastExchange: LastExchange?? = nil
  ) {
    writer.beginObject()
    writer.member("mediaContentKey", mediaContentKey)
    writer.member("title", title)
    writer.member("company", company)
    writer.member("course", course)
    writer.member("teacher", teacher)
    writer.member("synopsis", synopsis)
    writer.member("descriptionURL", descriptionURL)
    writer.member("snapshot", snapshot.isEmpty ? "" : "\(mediaPath)/\(snapshot)")
    writer.member("thumbnail", thumbnail.isEmpty ? "" : "\(mediaPath)/\(thumbnail)")
    writer.member("contentType", kind.rawValue)
    writer.member("fileType", 0)
    writer.member("folder", folder)
    writer.member("state", state.rawValue)
    writer.name("error")
    if let failure { Failure.write(failure, to: &writer) } else { writer.null() }
    writer.member("fileSize", fileSize)
    writer.member("downloadSize", downloadSize)
    writer.member("downloadProgress", progress.percent)
    writer.member("downloaded", isDownloaded)
    writer.member("downloadStopSize", stopSize)
    writer.member("downloadedTime", downloadedTime)
    writer.member("duration", duration)
    writer.member("position", position)
    writer.name("naturalSize")
    writer.beginArray()
    writer.value(naturalWidth)
    writer.value(naturalHeight)
    writer.endArray()
    writer.member("mediaType", mediaType)
    writer.member("encodingProfile", encodingProfile)
    writer.member("contentProviderKey", contentProviderKey)
    writer.member("clientUserID", clientUserID)
    writer.member("contentIndex", id)
    write(licence: verdict, to: &writer)
    if let lastExchange {
      writer.name("lastExchange")
      if let lastExchange { lastExchange.write(to: &writer) } else { writer.null() }
    }
    writer.endObject()
  }

  /// The seeds' licence members (PROTO §4.3): counts and times are what is left, 0 maximum is no limit.
  ///
  /// Members of a licence that cannot be trusted say what is stored, and that it has expired.
  func write(licence verdict: Verdict, to writer: inout JSONWriter) {
    let licence = self.licence?.licence ?? Licence()
    writer.member("licenceNeeded", needsLicence || self.licence != nil)
    writer.member("DRMExpired", verdict.isExpired)
    writer.member("DRMExpireDate", licence.expirationDate.value)
    writer.member("DRMCheckDate", licence.checkDate.value)
    writer.member("drmTotalExpirePlayTime", licence.playTime.maximum)
    writer.member("DRMExpirePlayTime", licence.playTime.left)
    writer.member("drmExpireCountMax", licence.plays.maximum)
    writer.member("drmExpireCount", licence.plays.left)
    writer.member("DRMExpireRefreshPopup", licence.asksBeforeRenewal)
    writer.member("checkAbuse", licence.checksAbuse)
    writer.member("expirationPlaytimeType", licence.playTimeType.rawValue)
  }
}

extension LastExchange {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("kind", kind.rawValue)
    writer.member("at", time)
    writer.member("answered", isAnswered)
    writer.name("error")
    if let error { Failure.write(error, to: &writer) } else { writer.null() }
    writer.endObject()
  }
}
