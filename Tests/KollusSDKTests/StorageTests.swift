import Foundation
import KollusSDK
import KollusTestSupport
import Testing

@Suite(.temporaryDirectory, .timeLimit(.minutes(1)))
struct StorageTests {
  let stage: SDKStage

  init() async throws { stage = try await SDKStage() }

  @Test func `contents are equal by their key, and hints are for applications`() async throws {
    try await stage.download()
    let (one, other) = (try stage.content(), try stage.content())
    #expect(one !== other && one == other && Set([one, other]).count == 1)
    #expect(KollusContent(folder: stage.mck) != one)
    do {
      _ = try stage.storage.loadContentURL("free")
      Issue.record("that is no URL")
    } catch {
      #expect(!error.localizedDescription.contains("--") && !error.localizedDescription.contains("shell"))
      #expect((error as NSError).code != 0)
    }
  }

  @Test func `before the start there is nothing`() throws {
    let storage = stage.storage
    #expect(storage.contents() == nil)
    #expect(storage.folders().isEmpty)
    #expect(storage.storageSize == 0 && storage.storagePath.isEmpty && storage.applicationDeviceID.isEmpty)
    for call in [
      { _ = try storage.loadContentURL("https://host/s") },
      { _ = try storage.checkContentURL("https://host/s") },
      { try storage.downloadContent("a") }, { try storage.downloadCancelContent("a") },
      { try storage.removeContent("a") },
    ] as [() throws -> Void] {
      #expect(code(call) == -8661)
    }
  }

  @Test func `a start opens the library once, under one player id`() throws {
    let storage = stage.storage
    try storage.start()
    #expect(storage.contents()?.isEmpty == true)
    #expect(storage.storagePath == "\(stage.folder)/home")
    let id = storage.applicationDeviceID
    #expect(id.count == 40)
    try storage.start()
    try storage.start(withFirst: true)
    try storage.startWithCheck()
    #expect(storage.applicationDeviceID == id)
    #expect(code { try storage.startWithNewPlayerID() } == -8661)
  }

  @Test func `a new player id is for a storage that is not started`() throws {
    try stage.storage.start()
    let other = KollusStorage(configuration: stage.storage.configuration)
    try other.startWithNewPlayerID()
    #expect(other.applicationDeviceID != stage.storage.applicationDeviceID)
    #expect(other.applicationDeviceID.count == 40)
  }

  @Test func `the folder is chosen before the start`() throws {
    let storage = stage.storage
    #expect(!storage.setKollusPath("relative"))
    #expect(storage.setKollusPath("\(stage.folder)/elsewhere"))
    try storage.start()
    #expect(storage.storagePath == "\(stage.folder)/elsewhere")
    #expect(!storage.setKollusPath("\(stage.folder)/later"))
  }

  @Test func `an application whose key has expired does not start`() throws {
    let storage = stage.storage
    storage.applicationKey = "key"
    storage.applicationExpireDate = Date(timeIntervalSinceNow: -60)
    #expect(code { try storage.start() } == -2)
    #expect(storage.contents() == nil)
    storage.applicationExpireDate = Date(timeIntervalSinceNow: 3_600)
    try storage.start()
  }

  @Test func `a configuration that is not right is told at the start`() throws {
    stage.storage.configuration.origin = "no URL"
    let error = #expect(throws: KollusError.self) { try stage.storage.start() }
    #expect(error?.localizedDescription.contains("origin") == true)
    #expect((error.map { $0 as NSError })?.domain == KollusError.errorDomain)
  }

  @Test func `the program and a library share one home and one configuration`() async throws {
    try await stage.download()
    let tool = try Tool(home: stage.storage.storagePath, origin: stage.origin.url)
    let list = try await tool.run("list", "--json")
    list.expect(0)
    #expect(list.standardOutput.contains("\"mediaContentKey\":\"\(stage.mck)\""))
    // By the environment alone, as the program goes by it.
    var configuration = KollusConfiguration()
    configuration.environment = [
      "KOLLUS_HOME": stage.storage.storagePath, "KOLLUS_CONFIG": tool.configuration,
    ]
    let other = KollusStorage(configuration: configuration)
    try other.start()
    #expect(other.contents()?.map(\.mediaContentKey) == [stage.mck])
    #expect(other.storageSize == stage.storage.storageSize)
  }

  @Test func `what has no meaning on Linux is kept and harmless`() throws {
    let storage = stage.storage
    storage.keychainGroup = "group"
    storage.applicationBundleID = "com.example.app"
    storage.serverPort = 8_080
    storage.extraDrmParam = "extra"
    storage.setCacheSize(100)
    storage.setBackgroundDownload(true)
    try storage.removeCache()
    #expect(storage.keychainGroup == "group" && storage.applicationBundleID == "com.example.app")
    #expect(storage.serverPort == 8_080 && storage.extraDrmParam == "extra" && storage.cacheDataSize == 0)
    #expect(storage.deviceType == "linux/kollus" && storage.appUserAgent == "kollus")
    #expect(!storage.applicationVersion.isEmpty)
  }

  @Test func `an error has the number, the words and the way out`() throws {
    let error = #expect(throws: KollusError.self) { try stage.storage.downloadContent("a") }
    let bridged = try #require(error) as NSError
    #expect(bridged.code == -8661 && bridged.domain == "KollusSDK")
    #expect(error?.localizedDescription == "the storage is not started")
    #expect(bridged.localizedRecoverySuggestion == "call start() first")
    #expect(bridged.localizedDescription == error?.localizedDescription)
    #expect(bridged.localizedRecoverySuggestion == "call start() first")
  }
}
