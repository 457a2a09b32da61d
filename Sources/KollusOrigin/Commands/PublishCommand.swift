import ArgumentKit

/// `publish`: copies a file into the folder and writes its manifest.
struct PublishCommand {
  static let spec = CommandSpec(
    "publish", "Put a media file into the folder and write its manifest.",
    discussion: """
      The file is copied to media/ and the manifest written to contents/MCK; publishing the same key again \
      replaces the manifest, and the old media file stays for downloads under way. \
      Any static web server over the folder serves what 'serve' does, play URLs and DRM answers \
      aside.
      """,
    inputs: [Inputs.file.declaration, Inputs.key.declaration] + Inputs.texts.map(\.input.declaration)
      + Inputs.described + Inputs.files + Inputs.policy + Inputs.channel,
    examples: ["kollus-origin publish lecture.mp4 --mck unit-1 --title 'Unit 1' --duration 600 --root site"])

  private let given: ParsedArguments
  private let root: String
  private let file: String
  private let key: ContentKey
  private let segmentSize: Int
  private let digests: Manifest.Digests
  private let mediaType: String
  private let pictures: (snapshot: String?, thumbnail: String?)

  /// Reads and checks every word, so that nothing is copied for a line that is wrong.
  init(_ given: ParsedArguments) throws {
    self.given = given
    root = try given(Inputs.root)
    file = try given(Inputs.file)
    guard let word = try given(Inputs.key) else { throw UsageError("missing --mck") }
    guard given.isGiven(Inputs.title) else { throw UsageError("missing --title") }
    key = try ContentKey(word)
    segmentSize = try given(Inputs.segmentSize)?.bytes ?? 1 << 20
    digests = try given(Inputs.digests)
    mediaType = try given(Inputs.mediaType) ?? MediaType.guess(fileName: file)
    guard MediaType.isValid(mediaType) else {
      throw UsageError("--media-type: '\(mediaType)' is no type such as video/mp4")
    }
    pictures = try (given(Inputs.snapshot), given(Inputs.thumbnail))
    // Whatever is wrong with a word is to be said before anything is copied.
    _ = try (described(), policy(), channel())
  }

  /// Copies the files, then writes the manifest: it never points to what is not there.
  func run(in context: Context) throws {
    let source = try OriginFolder.source(file)
    let snapshot = try pictures.snapshot.map(OriginFolder.source)
    let thumbnail = try pictures.thumbnail.map(OriginFolder.source)
    let folder = OriginFolder(root: root)
    try folder.create()
    let media = try folder.importFile(source, segmentSize: digests == .segments ? segmentSize : nil)
    var manifest = Manifest(
      key: key, media: media, mediaType: mediaType, segmentSize: segmentSize, digests: digests)
    for (name, input) in Inputs.texts { manifest.texts.append((name, try given(input))) }
    (manifest.contentType, manifest.duration, manifest.naturalSize) = try described()
    manifest.isIntro = try given(Inputs.intro)
    manifest.isDownloadable = try !given(Inputs.noDownload)
    manifest.snapshot = try snapshot.map { try folder.importFile($0, segmentSize: nil) }
    manifest.thumbnail = try thumbnail.map { try folder.importFile($0, segmentSize: nil) }
    manifest.policy = try policy()
    manifest.channel = try channel()
    let document = manifest.document
    guard document.count <= OriginFolder.manifestLimit else {
      throw OriginError(
        .data, "the manifest of '\(key.text)' has more than 8 MiB", hint: "give a larger --segment-size")
    }
    try folder.write(document, for: key)
    context.output("published \(key.text.printable): media/\(media.name), \(media.size) bytes")
  }

  private func described() throws -> (contentType: String, duration: Double?, size: PixelSize?) {
    (try given(Inputs.contentType), try given(Inputs.duration)?.value, try given(Inputs.size))
  }

  private func policy() throws -> Manifest.Policy {
    Manifest.Policy(
      seek: try !given(Inputs.noSeek), seekableEnd: try given(Inputs.seekableEnd)?.value ?? -1,
      disablePlayrate: try given(Inputs.disablePlayrate), playSection: try given(Inputs.playSection)?.seconds)
  }

  private func channel() throws -> Manifest.Channel {
    Manifest.Channel(
      channelKey: try given(Inputs.channelKey), customKey: try given(Inputs.customKey),
      drmCallback: try given(Inputs.drmCallback)?.description,
      lmsCallback: try given(Inputs.lmsCallback)?.description, blockCount: try given(Inputs.blockCount)?.value
    )
  }
}
