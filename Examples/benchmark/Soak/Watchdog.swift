internal import Foundation

/// A watchdog that exits the process if no download has ended for ten minutes, because a hung download never ends.
struct Watchdog: Sendable {
    private static let patience = Duration.seconds(600)

    private let task: Task<Void, Never>

    init(_ tally: Tally) {
        task = Task {
            var last = tally.counts
            // The sleep throws when the task is canceled, which ends the loop.
            while (try? await Task.sleep(for: Self.patience)) != nil {
                let counts = tally.counts
                if counts.begun > counts.ended, counts.ended == last.ended {
                    print("FOUND \(counts.begun - counts.ended) of \(counts.begun) downloads are hung")
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
