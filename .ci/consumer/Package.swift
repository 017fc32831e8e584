// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "consumer",
    platforms: [.iOS(.v18), .macOS(.v15), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    dependencies: [
        .package(name: "async-downloads", path: "../..", traits: [])
    ],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "AsyncDownloads", package: "async-downloads")])
    ],
    swiftLanguageModes: [.v6]
)
