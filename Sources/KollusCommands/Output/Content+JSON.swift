import JSONKit
import KollusCore

extension Content {
  /// The members of one content, named as the vendor's SDK names them; a tested contract.
  func write(to writer: inout JSONWriter, mediaPath: String) {
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
    writer.member("contentIndex", id)
    writeLicence(to: &writer)
    writer.endObject()
  }

  /// The seeds' licence members: without a DRM callback there is no limit of any kind.
  private func writeLicence(to writer: inout JSONWriter) {
    writer.member("licenceNeeded", needsLicence)
    writer.member("DRMExpired", false)
    writer.name("DRMExpireDate")
    writer.null()
    writer.name("DRMCheckDate")
    writer.null()
    writer.member("drmTotalExpirePlayTime", 0)
    writer.member("DRMExpirePlayTime", 0)
    writer.member("drmExpireCountMax", 0)
    writer.member("drmExpireCount", 0)
    writer.member("DRMExpireRefreshPopup", false)
  }
}
