// swift-tools-version: 6.2
import PackageDescription

/// Every Swift target takes these; a target that handles raw pointers adds `unsafeRoom`.
let house: [SwiftSetting] = [
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
  .treatAllWarnings(as: .error),
  .treatWarning("DeprecatedDeclaration", as: .warning),
]
let unsafeRoom = house + [.strictMemorySafety()]

/// A plain target in safe Swift.
func room(_ name: String, _ dependencies: Target.Dependency...) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: house)
}

/// A target that touches C or raw memory, where every such use says `unsafe`.
func kit(_ name: String, _ dependencies: Target.Dependency...) -> Target {
  .target(name: name, dependencies: dependencies, swiftSettings: unsafeRoom)
}

func tests(_ room: String, _ dependencies: Target.Dependency...) -> Target {
  .testTarget(
    name: "\(room)Tests", dependencies: [.byName(name: room), "KollusTestSupport"] + dependencies,
    swiftSettings: house)
}

let package = Package(
  name: "kollus",
  products: [
    .library(name: "KollusSDK", targets: ["KollusSDK"]),
    .executable(name: "kollus", targets: ["kollus"]),
    .executable(name: "kollus-origin", targets: ["kollus-origin"]),
  ],
  targets: [
    .systemLibrary(name: "CCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    // Loaded when first used, so there is nothing to link.
    .systemLibrary(name: "CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
    .systemLibrary(name: "CLinux"),
    .systemLibrary(name: "CMicroHTTPD", providers: [.apt(["libmicrohttpd-dev"])]),
    .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
    kit("SystemKit", "CLinux"),
    kit("CurlKit", "CCurl"),
    kit("SQLiteKit", "CSQLite"),
    kit("SealKit", "CCrypto", "JSONKit"),
    kit("ServerKit", "CMicroHTTPD"),
    room("JSONKit"),
    room("ArgumentKit"),
    room("TerminalKit"),
    room("KollusCore", "CurlKit", "JSONKit", "SQLiteKit", "SealKit", "ServerKit", "SystemKit"),
    room("KollusSDK", "JSONKit", "KollusCore", "SystemKit"),
    room("KollusCommands", "ArgumentKit", "JSONKit", "KollusCore", "SystemKit", "TerminalKit"),
    room("KollusOrigin", "ArgumentKit", "JSONKit", "SealKit", "ServerKit", "SystemKit", "TerminalKit"),
    .executableTarget(name: "kollus", dependencies: ["KollusCommands"], swiftSettings: house),
    .executableTarget(name: "kollus-origin", dependencies: ["KollusOrigin"], swiftSettings: house),
    room("KollusTestSupport", "JSONKit", "SealKit"),
    tests("ArgumentKit"),
    tests("CurlKit"),
    tests("JSONKit"),
    tests("SQLiteKit"),
    tests("SealKit", "JSONKit"),
    tests("ServerKit"),
    tests("SystemKit"),
    tests("TerminalKit"),
    tests("KollusCore", "CurlKit", "JSONKit", "SQLiteKit", "SealKit", "SystemKit"),
    tests("KollusSDK", "JSONKit", "KollusCore"),
    tests("KollusOrigin", "ArgumentKit", "JSONKit", "SealKit", "ServerKit"),
    tests("KollusCommands", "ArgumentKit", "JSONKit", "KollusCore", "SealKit", "TerminalKit"),
  ]
)
