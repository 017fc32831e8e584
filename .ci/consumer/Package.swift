// swift-tools-version: 6.2

import PackageDescription

let hasServerStack = Context.environment["CONSUMER_SERVER_STACK"] != nil

let package = Package(
    name: "consumer",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    dependencies: [
        .package(name: "async-downloads", path: "../..", traits: hasServerStack ? ["ServerStack"] : [])
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

// The program of the article about servers, which the script `check` copies to the target's path.
if hasServerStack {
    package.dependencies += [
        .package(url: "https://github.com/apple/swift-log.git", from: "1.14.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ]
    package.targets.append(
        .executableTarget(
            name: "server",
            dependencies: [
                .product(name: "AsyncDownloads", package: "async-downloads"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            path: ".build/article"))
}
