internal import Foundation

/// Ends the process when no download has ended for long: a continuation that is never resumed would hold it for ever.
struct Watchdog: Sendable {
    private static let patience = Duration.seconds(120)

    private let task: Task<Void, Never>

    init(_ tally: Tally) {
        task = Task {
            var last = tally.counts
            while true {
                do {
                    try await Task.sleep(for: Self.patience)
                } catch {
                    return
                }
                let counts = tally.counts
                if counts.begun > counts.ended, counts.ended == last.ended {
                    let left = counts.begun - counts.ended
                    print(
                        "\(left) of \(counts.begun) downloads never ended; see standard-error in the temporary directory"
                    )
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
