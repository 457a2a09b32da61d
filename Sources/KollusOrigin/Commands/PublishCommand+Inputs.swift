import ArgumentKit

extension PublishCommand {
  /// What `publish` may be told, in help order.
  enum Inputs {
    static let file = Input<String>.positional("FILE", help: "Media file.")
    static let key = Input<String?>.option("mck", nil, "KEY", help: "Media content key; required.")
    static let title = Input<String?>.option("title", nil, "TEXT", help: "Title; required.")
    static let root = Input<String>.option("root", nil, "DIR", default: ".", help: "Folder to publish into.")

    /// Texts of the manifest by member name.
    static let texts: [(name: String, input: Input<String?>)] = [
      ("title", title),
      ("company", .option("company", nil, "TEXT", help: "Company.")),
      ("course", .option("course", nil, "TEXT", help: "Course.")),
      ("teacher", .option("teacher", nil, "TEXT", help: "Teacher.")),
      ("synopsis", .option("synopsis", nil, "TEXT", help: "Synopsis.")),
      ("descriptionURL", .option("description-url", nil, "URL", help: "Page about the content.")),
      ("encodingProfile", .option("encoding-profile", nil, "KEY", help: "Encoding profile.")),
      ("contentProviderKey", .option("content-provider-key", nil, "KEY", help: "Content provider's key.")),
    ]

    static let contentType = Input<String>.choice(
      "content-type", nil, "KIND", of: ["download", "sample"], default: "download", help: "Kind of content.")
    static let duration = Input<Seconds?>.option("duration", nil, "SECONDS", help: "Length.")
    static let size = Input<PixelSize?>.option("size", nil, "WxH", help: "Picture size in pixels.")
    static let intro = Input<Bool>.flag("intro", help: "An intro clip, which cannot be downloaded.")
    static let noDownload = Input<Bool>.flag("no-download", help: "Not to be downloaded.")
    static let described = [
      contentType.declaration, duration.declaration, size.declaration, intro.declaration,
      noDownload.declaration,
    ]

    static let mediaType = Input<String?>.option(
      "media-type", nil, "TYPE", help: "Media type; guessed from the file's extension when absent.")
    static let digests = Input<Manifest.Digests>.choice(
      "digests", nil, "KIND", default: .segments,
      help: "Digests in the manifest: of segments and file, of the file alone, or none.")
    static let segmentSize = Input<SegmentSize?>.option(
      "segment-size", nil, "BYTES", help: "Power of two from 64K to 8M; 1M when absent.")
    static let snapshot = Input<String?>.option("snapshot", nil, "FILE", help: "Picture shown in lists.")
    static let thumbnail = Input<String?>.option(
      "thumbnail", nil, "FILE", help: "Pictures shown while seeking.")
    static let files = [
      root.declaration, mediaType.declaration, digests.declaration, segmentSize.declaration,
      snapshot.declaration, thumbnail.declaration,
    ]

    static let noSeek = Input<Bool>.flag("no-seek", help: "No seeking.")
    static let seekableEnd = Input<Count?>.option(
      "seekable-end", nil, "SECONDS", help: "How far seeking goes where there is none.")
    static let disablePlayrate = Input<Bool>.flag("disable-playrate", help: "No change of speed.")
    static let playSection = Input<PlaySection?>.option(
      "play-section", nil, "A:B", help: "Only this section, in seconds.")
    static let policy = [
      noSeek.declaration, seekableEnd.declaration, disablePlayrate.declaration, playSection.declaration,
    ]

    static let channelKey = Input<String?>.option("channel-key", nil, "KEY", help: "Channel.")
    static let customKey = Input<String?>.option(
      "custom-key", nil, "KEY", help: "Custom key that callbacks are signed for.")
    static let drmCallback = Input<CallbackReference?>.option(
      "drm-callback", nil, "URL",
      help: "DRM callback; ../drm is that of 'serve', a reference relative to the manifest.")
    static let lmsCallback = Input<LMSCallback?>.option(
      "lms-callback", nil, "SECONDS:URL",
      help: "LMS callback and its interval; 60:../lms?json_data={JSON_DATA} is that of 'serve'.")
    static let blockCount = Input<Count?>.option(
      "block-count", nil, "N", help: "Blocks that viewing reports divide the content into.")
    static let channel = [
      channelKey.declaration, customKey.declaration, drmCallback.declaration, lmsCallback.declaration,
      blockCount.declaration,
    ]
  }
}
