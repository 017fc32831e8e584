internal import Foundation

/// The queue for reading and writing whole files, whose thread may wait.
///
/// It serves one file at a time, because a disk is fastest in order.
enum DiskQueue {
    private static let queue = DispatchQueue(label: "batch.disk")

    /// Calls `body` on the queue, and returns its result.
    static func run<Value: Sendable, Failure: Error>(
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let result = await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: Result(catching: body)) }
        }
        return try result.get()
    }
}
