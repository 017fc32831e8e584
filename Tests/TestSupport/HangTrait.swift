internal import Foundation
package import Testing

/// A trait that ends the process when a test is hung, and names the test on standard error.
///
/// A test is hung when it has run for longer than its limit and no test of the process has ended for 90 seconds. The
/// time limit of Swift Testing cannot end such a run, because it only cancels the test's task and then waits for it.
/// A test starts, and its time begins, when it has one of the permits that all tests share (``TestPermits``).
package struct HangTrait: SuiteTrait, TestTrait, TestScoping {
    /// Whether the current task belongs to a test that is already registered.
    @TaskLocal private static var isWatching = false
    private static let defaultLimit = defaultLimit(in: ProcessInfo.processInfo.environment)

    private let limit: Duration

    package var isRecursive: Bool { true }

    /// Creates a trait with the longer of `limit` and the default limit.
    fileprivate init(_ limit: Duration = .zero) {
        self.limit = max(limit, Self.defaultLimit)
    }

    /// Returns the limit of a test whose suite sets none: the one in the environment, or else five minutes.
    ///
    /// The variable `ASYNC_DOWNLOADS_HANG_LIMIT` is a positive number of whole seconds; other values are ignored.
    package static func defaultLimit(in environment: [String: String]) -> Duration {
        guard let seconds = environment["ASYNC_DOWNLOADS_HANG_LIMIT"].flatMap(Int.init), seconds > 0 else {
            return .seconds(300)
        }
        return .seconds(seconds)
    }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable @concurrent () async throws -> Void
    ) async throws {
        // A test can have the trait several times, from each enclosing suite and from itself, but is registered once.
        guard !Self.isWatching else { return try await function() }
        // The traits of the suites precede the test's own trait, from the outermost suite to the innermost.
        let limit = test.traits.compactMap { $0 as? Self }.last?.limit ?? limit
        try await TestPermits.shared.withPermit {
            let number = HangWatch.shared.begin(Self.name(of: test, testCase), limit: limit)
            defer { HangWatch.shared.end(number) }
            try await Self.$isWatching.withValue(true) { try await function() }
        }
    }

    private static func name(of test: Test, _ testCase: Test.Case?) -> String {
        let place = "\(test.sourceLocation.fileName):\(test.sourceLocation.line)"
        let arguments = testCase.map(arguments) ?? []
        let name = test.id.nameComponents.joined(separator: "/")
        return ([name] + arguments.map { "[\($0)]" } + ["(\(place))"]).joined(separator: " ")
    }

    /// Returns descriptions of the arguments of a test case.
    ///
    /// The arguments are private in Swift Testing. The result is empty if its version stores them differently.
    private static func arguments(_ testCase: Test.Case) -> [String] {
        let stored = Mirror(reflecting: testCase).descendant("_kind", "parameterized", "arguments")
        guard let stored else { return [] }
        return Mirror(reflecting: stored).children.compactMap { child in
            Mirror(reflecting: child.value).descendant("value").map { value in
                String(String(describingForTest: value).prefix(100))
            }
        }
    }
}

extension Trait where Self == HangTrait {
    /// A trait that ends the process when a test is hung, after the default limit at the earliest.
    package static var endsWhenHung: Self { Self() }

    /// Returns a trait that ends the process when a test is hung, after this number of minutes at the earliest.
    ///
    /// It is for suites whose tests take minutes by design. The default limit applies if it is longer.
    package static func endsWhenHung(minutes: Int) -> Self { Self(.seconds(minutes * 60)) }
}
