import Foundation
import KollusSDK

/// Every member that the article says is here, used with the type it is to have: what is missing does not compile.
enum Declarations {
  static var all: [String: [String: Any]] {
    [
      "KollusStorage": storageProperties.merging(storageMethods) { $1 }, "KollusStorageDelegate": delegate,
      "KollusContent": content.merging(licence) { $1 }, "Enumerations": enumerations,
      "KollusPlayerView": player.merging(playing) { $1 },
    ]
  }

  private typealias Storage<Value> = KeyPath<KollusStorage, Value>
  private typealias Content<Value> = KeyPath<KollusContent, Value>
  private typealias Player<Value> = KeyPath<KollusPlayerView, Value>

  private static var storageProperties: [String: Any] {
    [
      "delegate": \.delegate as ReferenceWritableKeyPath<KollusStorage, (any KollusStorageDelegate)?>,
      "applicationKey": \.applicationKey as ReferenceWritableKeyPath<KollusStorage, String?>,
      "applicationBundleID": \.applicationBundleID as ReferenceWritableKeyPath<KollusStorage, String?>,
      "applicationExpireDate": \.applicationExpireDate as ReferenceWritableKeyPath<KollusStorage, Date?>,
      "keychainGroup": \.keychainGroup as ReferenceWritableKeyPath<KollusStorage, String?>,
      "applicationVersion": \.applicationVersion as Storage<String>,
      "applicationDeviceID": \.applicationDeviceID as Storage<String>,
      "storagePath": \.storagePath as Storage<String>, "storageSize": \.storageSize as Storage<Int64>,
      "cacheDataSize": \.cacheDataSize as Storage<Int64>,
      "serverPort": \.serverPort as ReferenceWritableKeyPath<KollusStorage, Int>,
      "extraDrmParam": \.extraDrmParam as ReferenceWritableKeyPath<KollusStorage, String?>,
      "appUserAgent": \.appUserAgent as Storage<String>, "deviceType": \.deviceType as Storage<String>,
    ]
  }

  private static var storageMethods: [String: Any] {
    let storage = KollusStorage()
    return [
      "setKollusPath(_:)": storage.setKollusPath(_:) as (String) -> Bool,
      "start()": storage.start as () throws -> Void,
      "start(withFirst:)": storage.start(withFirst:) as (Bool) throws -> Void,
      "startWithCheck()": storage.startWithCheck as () throws -> Void,
      "startWithNewPlayerID()": storage.startWithNewPlayerID as () throws -> Void,
      "loadContentURL(_:)": storage.loadContentURL(_:) as (String) throws -> String,
      "checkContentURL(_:)": storage.checkContentURL(_:) as (String) throws -> String,
      "downloadContent(_:)": storage.downloadContent(_:) as (String) throws -> Void,
      "downloadCancelContent(_:)": storage.downloadCancelContent(_:) as (String) throws -> Void,
      "removeContent(_:)": storage.removeContent(_:) as (String) throws -> Void,
      "removeCache()": storage.removeCache as () throws -> Void,
      "setCacheSize(_:)": storage.setCacheSize(_:) as (Int) -> Void,
      "setNetworkTimeOut(_:retry:)": storage.setNetworkTimeOut(_:retry:) as (Int, Int) -> Void,
      "setBackgroundDownload(_:)": storage.setBackgroundDownload(_:) as (Bool) -> Void,
      "updateDownloadDRMInfo(_:)": storage.updateDownloadDRMInfo(_:) as (Bool) -> Void,
      "contents()": storage.contents as () -> [KollusContent]?,
      "sendStoredLms()": storage.sendStoredLms as () -> Void,
    ]
  }

  private static var delegate: [String: Any] {
    typealias Failure = (any Error)?
    typealias Members = [AnyHashable: Any]
    let delegate: any KollusStorageDelegate = Listener()
    return [
      "kollusStorage(_:downloadContent:error:)":
        delegate.kollusStorage(_:downloadContent:error:) as (KollusStorage, KollusContent, Failure) -> Void,
      "kollusStorage(_:request:json:error:)":
        delegate.kollusStorage(_:request:json:error:) as (KollusStorage, Members, Members?, Failure) -> Void,
      "kollusStorage(_:cur:count:error:)":
        delegate.kollusStorage(_:cur:count:error:) as (KollusStorage, Int32, Int32, Failure) -> Void,
      "kollusStorage(_:lmsData:resultJson:)":
        delegate.kollusStorage(_:lmsData:resultJson:) as (KollusStorage, String, Members) -> Void,
      "onSendCompleteStoredLms(_:failCount:)":
        delegate.onSendCompleteStoredLms(_:failCount:) as (Int32, Int32) -> Void,
    ]
  }

  private static var content: [String: Any] {
    [
      "mediaContentKey": \.mediaContentKey as Content<String?>, "title": \.title as Content<String>,
      "company": \.company as Content<String>, "course": \.course as Content<String>,
      "teacher": \.teacher as Content<String>, "synopsis": \.synopsis as Content<String>,
      "descriptionURL": \.descriptionURL as Content<String>, "snapshot": \.snapshot as Content<String>,
      "thumbnail": \.thumbnail as Content<String>,
      "contentType": \.contentType as Content<KollusContentType>, "fileSize": \.fileSize as Content<Int64>,
      "downloadSize": \.downloadSize as Content<Int64>,
      "downloadProgress": \.downloadProgress as Content<Int>, "downloaded": \.downloaded as Content<Bool>,
      "downloadStopSize": \.downloadStopSize as Content<Int64>,
      "downloadedTime": \.downloadedTime as Content<Int32>, "duration": \.duration as Content<TimeInterval>,
      "position": \.position as Content<TimeInterval>, "contentIndex": \.contentIndex as Content<Int>,
      "naturalSize": \.naturalSize as Content<CGSize>,
      "iosPlayerType": \.iosPlayerType as Content<KollusDecoderType>, "fileType": \.fileType as Content<Int>,
    ]
  }

  private static var licence: [String: Any] {
    [
      "DRMCheckDate": \.DRMCheckDate as Content<Date?>, "drmCheckDate": \.drmCheckDate as Content<Date?>,
      "DRMExpireDate": \.DRMExpireDate as Content<Date?>, "drmExpireDate": \.drmExpireDate as Content<Date?>,
      "DRMExpireCount": \.DRMExpireCount as Content<Int>, "drmExpireCount": \.drmExpireCount as Content<Int>,
      "DRMExpireCountMax": \.DRMExpireCountMax as Content<Int>,
      "drmExpireCountMax": \.drmExpireCountMax as Content<Int>,
      "DRMExpirePlayTime": \.DRMExpirePlayTime as Content<Int>,
      "drmExpirePlayTime": \.drmExpirePlayTime as Content<Int>,
      "DRMTotalExpirePlayTime": \.DRMTotalExpirePlayTime as Content<Int>,
      "drmTotalExpirePlayTime": \.drmTotalExpirePlayTime as Content<Int>,
      "DRMExpired": \.DRMExpired as Content<Bool>, "drmExpired": \.drmExpired as Content<Bool>,
      "DRMExpireRefreshPopup": \.DRMExpireRefreshPopup as Content<Bool>,
      "drmExpireRefreshPopup": \.drmExpireRefreshPopup as Content<Bool>,
    ]
  }

  private static var enumerations: [String: Any] {
    [
      "KollusContentType.streaming": KollusContentType.streaming,
      "KollusContentType.downloading": KollusContentType.downloading,
      "KollusContentType.sample": KollusContentType.sample,
      "KollusContentType.adaptiveStreaming": KollusContentType.adaptiveStreaming,
      "KollusContentType.adaptiveDownload": KollusContentType.adaptiveDownload,
      "KollusPlayerType.kollus": KollusPlayerType.kollus, "KollusPlayerType.native": KollusPlayerType.native,
      "KollusPlayerType.hls": KollusPlayerType.hls, "KollusBookmarkKind.user": KollusBookmarkKind.user,
      "KollusBookmarkKind.index": KollusBookmarkKind.index,
    ]
  }

  private static var player: [String: Any] {
    [
      "storage": \.storage as Player<KollusStorage?>,
      "kollusContent": \.kollusContent as ReferenceWritableKeyPath<KollusPlayerView, KollusContent?>,
      "content": \.content as Player<KollusContent?>, "mediaContentKey": \.mediaContentKey as Player<String?>,
      "delegate": \.delegate as Player<(any KollusPlayerDelegate)?>,
      "DRMDelegate": \.DRMDelegate as Player<(any KollusPlayerDRMDelegate)?>,
      "LMSDelegate": \.LMSDelegate as Player<(any KollusPlayerLMSDelegate)?>,
      "bookmarkDelegate": \.bookmarkDelegate as Player<(any KollusPlayerBookmarkDelegate)?>,
      "isPreparedToPlay": \.isPreparedToPlay as Player<Bool>, "isPlaying": \.isPlaying as Player<Bool>,
      "isBuffering": \.isBuffering as Player<Bool>, "isSeeking": \.isSeeking as Player<Bool>,
      "naturalSize": \.naturalSize as Player<CGSize>, "seekable": \.seekable as Player<Bool>,
      "nSeekableEnd": \.nSeekableEnd as Player<Int>, "disablePlayRate": \.disablePlayRate as Player<Bool>,
      "playerType": \.playerType as Player<KollusPlayerType>,
      "lmsOffDownloadContent":
        \.lmsOffDownloadContent as ReferenceWritableKeyPath<KollusPlayerView, Bool>,
      "nOfflineBookmarkUse": \.nOfflineBookmarkUse as Player<Int>,
      "nOfflineBookmarkDownload": \.nOfflineBookmarkDownload as Player<Int>,
      "nOfflineBookmarkReadOnly": \.nOfflineBookmarkReadOnly as Player<Int>,
      "bookmarks": \.bookmarks as Player<[KollusBookmark]>,
      "bookmarkModifyEnabled": \.bookmarkModifyEnabled as Player<Bool>,
      "extraDrmParam": \.extraDrmParam as ReferenceWritableKeyPath<KollusPlayerView, String?>,
      "proxyPort": \.proxyPort as ReferenceWritableKeyPath<KollusPlayerView, Int>,
    ]
  }

  private static var playing: [String: Any] {
    let player = KollusPlayerView()
    return [
      "init(mediaContentKey:storage:)":
        KollusPlayerView.init(mediaContentKey:storage:) as (String, KollusStorage?) -> KollusPlayerView,
      "prepareToPlay(withMode:)": player.prepareToPlay(withMode:) as (KollusPlayerType) throws -> Void,
      "play()": player.play as () throws -> Void, "pause()": player.pause as () throws -> Void,
      "stop()": player.stop as () throws -> Void,
      "currentPlaybackTime":
        \.currentPlaybackTime as ReferenceWritableKeyPath<KollusPlayerView, TimeInterval>,
      "currentPlaybackRate": \.currentPlaybackRate as ReferenceWritableKeyPath<KollusPlayerView, Float>,
      "addBookmark(_:value:)": player.addBookmark(_:value:) as (TimeInterval, String) throws -> Void,
      "removeBookmark(_:)": player.removeBookmark(_:) as (TimeInterval) throws -> Void,
    ]
  }
}
