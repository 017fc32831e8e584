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

// A consumer that cannot use a newer version of a package that this one depends on, too.
if let version = Context.environment["CONSUMER_SWIFT_CRYPTO"].flatMap(Version.init) {
    package.dependencies.append(.package(url: "https://github.com/apple/swift-crypto.git", exact: version))
    package.targets[0].dependencies.append(.product(name: "Crypto", package: "swift-crypto"))
}
