// swift-tools-version: 6.2

import PackageDescription

/// The language features of all targets.
///
/// `MemberImportVisibility` is not among them: Glibc and SwiftNIO's C module both contain the system's headers, and the
/// compiler assigns a structure such as `sockaddr_in` to the module that it has read first. With the feature, whether a file
/// that imports only Foundation may use the members of the structure depends on the other files of its compiler process.
let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]

/// Guards the packages of the library: a consumer without the trait resolves none, from SwiftPM 6.2 on.
///
/// The server, the tools, and the tests need no guard, because no product contains them, and SwiftPM resolves for a consumer
/// only what the products need.
let serverStack = TargetDependencyCondition.when(traits: ["ServerStack"])

// This is evaluated on the host: a Mac that cross-compiles for Linux has to name the trait.
#if os(Linux)
let defaultTraits: Set<String> = ["LinuxURLSession", "ServerStack"]
#else
let defaultTraits: Set<String> = []
#endif

let package = Package(
    name: "async-downloads",
    platforms: [.iOS(.v16), .macOS(.v13), .tvOS(.v16), .watchOS(.v9), .visionOS(.v1)],
    products: [
        .library(name: "AsyncDownloads", targets: ["AsyncDownloads"])
    ],
    traits: [
        .trait(
            name: "ServerStack",
            description: "The engines over NIO, SHA-2 from swift-crypto and logging through swift-log."),
        .trait(
            name: "LinuxURLSession",
            description: "URLSession as an additional engine on Linux, which needs libcurl."),
        .default(enabledTraits: defaultTraits),
    ],
    dependencies: [
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-argument-parser.git", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-crypto.git", "3.12.3"..<"5.0.0"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras.git", from: "1.24.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.30.0"),
    ],
    targets: [
        .target(
            name: "AsyncDownloads",
            dependencies: [
                .product(name: "AsyncHTTPClient", package: "async-http-client", condition: serverStack),
                .product(name: "Crypto", package: "swift-crypto", condition: serverStack),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: serverStack),
                .product(name: "Logging", package: "swift-log", condition: serverStack),
                .product(name: "NIOCore", package: "swift-nio", condition: serverStack),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: serverStack),
                .product(name: "NIOPosix", package: "swift-nio", condition: serverStack),
                .product(name: "NIOSOCKS", package: "swift-nio-extras", condition: serverStack),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: serverStack),
                .product(name: "NIOTLS", package: "swift-nio", condition: serverStack),
            ],
            // The catalog Documentation.docc is at the top level, and tools find a catalog only below the path of its
            // target.
            path: ".",
            exclude: [
                "CHANGELOG.md", "CONTRIBUTING.md", "Examples", "LICENSE", "README.md", "SECURITY.md",
                "Sources/LoopbackServer", "Tests",
            ],
            sources: ["Sources/AsyncDownloads"],
            resources: [.copy("Sources/PrivacyInfo.xcprivacy")],
            swiftSettings: settings
        ),
        .target(
            name: "LoopbackServer",
            dependencies: [
                .product(name: "NIOConcurrencyHelpers", package: "swift-nio"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "progress", dependencies: ["AsyncDownloads"], path: "Examples/progress", swiftSettings: settings),
        .executableTarget(
            name: "batch",
            dependencies: [
                "AsyncDownloads",
                .target(name: "CMalloc", condition: .when(platforms: [.linux])),
                "CZlib",
                "LoopbackServer",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Examples/batch",
            exclude: ["events.schema.json"],
            swiftSettings: settings
        ),
        // mallopt(3), which the module of glibc leaves out.
        .systemLibrary(name: "CMalloc", path: "Examples/CMalloc"),
        // zlib, for manifests that are compressed.
        .systemLibrary(name: "CZlib", path: "Examples/CZlib", providers: [.apt(["zlib1g-dev"])]),
        .executableTarget(
            name: "benchmark",
            dependencies: [
                "AsyncDownloads",
                "ConformanceRows",
                "LoopbackServer",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Examples/benchmark",
            swiftSettings: settings
        ),
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        // The conformance tables, which the tests and `benchmark faults` use.
        .target(
            name: "ConformanceRows", dependencies: ["AsyncDownloads", "LoopbackServer"], path: "Tests/ConformanceRows",
            swiftSettings: settings),
        // A transfer service for the tests of background sessions, and a client of it that the tests end at any moment.
        .target(
            name: "ScriptedDaemon", dependencies: ["AsyncDownloads"], path: "Tests/ScriptedDaemon",
            swiftSettings: settings),
        .executableTarget(
            name: "background-client", dependencies: ["AsyncDownloads", "ScriptedDaemon"],
            path: "Tests/BackgroundClient", swiftSettings: settings),
        .testTarget(
            name: "AsyncDownloadsTests",
            dependencies: [
                "AsyncDownloads", "ConformanceRows", "LoopbackServer", "ScriptedDaemon", "TestSupport",
                "background-client",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "LoopbackServerTests", dependencies: ["LoopbackServer", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "BatchTests",
            dependencies: [
                "batch", "LoopbackServer", "TestSupport", "progress",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "BenchmarkTests", dependencies: ["benchmark", "ConformanceRows", "LoopbackServer", "TestSupport"],
            swiftSettings: settings),
    ],
    swiftLanguageModes: [.v6]
)

// The documentation plugin is a tool of this package's own development; no consumer should resolve it.
if Context.environment["ASYNC_DOWNLOADS_DOCC"] != nil {
    package.dependencies.append(.package(url: "https://github.com/swiftlang/swift-docc-plugin.git", from: "1.5.0"))
}

// The fuzzers replace the tests, whose properties they check with generated input; see .ci/fuzz.
if Context.environment["ASYNC_DOWNLOADS_FUZZ"] != nil {
    let instrumented = settings + [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
    // No parser needs a trait, so nothing has to be resolved.
    package.dependencies.removeAll()
    package.targets.removeAll { $0.name != "AsyncDownloads" }
    for target in package.targets {
        target.dependencies = []
        target.swiftSettings = instrumented
    }
    package.targets += [
        .target(
            name: "Properties", dependencies: ["AsyncDownloads"],
            path: "Tests/AsyncDownloadsTests/Hostile/Properties", swiftSettings: instrumented),
        // The parts of the tool that read untrusted input, without its command line.
        .target(
            name: "batch", dependencies: ["AsyncDownloads"], path: "Examples/batch/Arguments",
            exclude: ["Choices.swift"], swiftSettings: instrumented),
        .target(
            name: "BatchProperties", dependencies: ["AsyncDownloads", "batch"],
            path: "Tests/BatchTests/Arguments/Properties", swiftSettings: instrumented),
        .executableTarget(
            name: "fuzz", dependencies: ["Properties", "BatchProperties"], path: "Tests/Fuzzing", exclude: ["Seeds"],
            swiftSettings: settings, linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld"])]),
    ]
}
