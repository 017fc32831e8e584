internal import TestSupport

@testable import AsyncDownloads

extension Download {
    /// The states of the download's updates, without repetitions.
    var states: AsyncStream<State> {
        let (updates, last) = (updates, SharedValue<State?>(nil))
        return AsyncStream {
            var iterator = updates.makeAsyncIterator()
            while let state = await iterator.next()?.state {
                let isChange = last.withLock { last in
                    defer { last = state }
                    return last != state
                }
                if isChange { return state }
            }
            return nil
        }
    }
}
