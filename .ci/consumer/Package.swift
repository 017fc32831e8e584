// swift-tools-version: 6.2

import PackageDescription

let traits: Set<Package.Dependency.Trait> = Context.environment["CONSUMER_SERVER_STACK"] == nil ? [] : ["ServerStack"]

let package = Package(
    name: "consumer",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    dependencies: [
        .package(name: "async-downloads", path: "../..", traits: traits)
    ],
    targets: [
        .executableTarget(
            name: "consumer", dependencies: [.product(name: "AsyncDownloads", package: "async-downloads")])
    ],
    swiftLanguageModes: [.v6]
)
