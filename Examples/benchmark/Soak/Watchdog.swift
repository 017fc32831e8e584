#if ServerStack
internal import Foundation

/// Ends the process when no download has ended for long: one that hangs would hold it for ever.
struct Watchdog: Sendable {
    private static let patience = Duration.seconds(120)

    private let task: Task<Void, Never>

    init(_ tally: Tally) {
        task = Task {
            var last = tally.counts
            // The sleep throws when the watch is over.
            while (try? await Task.sleep(for: Self.patience)) != nil {
                let counts = tally.counts
                if counts.begun > counts.ended, counts.ended == last.ended {
                    print("FOUND \(counts.begun - counts.ended) of \(counts.begun) downloads that do not end")
                    exit(1)
                }
                last = counts
            }
        }
    }

    func cancel() {
        task.cancel()
    }
}
#endif
