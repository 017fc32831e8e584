/// Who writes where: no two transfers of one downloader put different resources at one path.
///
/// A path that a caller named is taken while its transfer lives. No name that is chosen from a response is that of a
/// file that another resource has got from here, since nobody asked for that one to be replaced.
final class DestinationLedger: Sendable {
    private struct State {
        var named: [String: TransferKey] = [:]
        /// The same the other way round, in the order in which they were named.
        var paths: [TransferKey: [String]] = [:]
        /// The ``TransferKey/resource`` that each path got, of the latest few.
        var given: [String: String] = [:]
        var order: [String] = []

        mutating func give(_ path: String, to resource: String) {
            if given.updateValue(resource, forKey: path) == nil { order.append(path) }
            guard order.count > 2 * DestinationLedger.memory else { return }
            for path in order.prefix(DestinationLedger.memory) { given[path] = nil }
            order.removeFirst(DestinationLedger.memory)
        }
    }

    // A server that downloads for years must not remember every file.
    private static let memory = 10_000

    private let state = Mutex(State())

    /// Takes `path` for the transfer of `key`; false when another transfer has it.
    func take(_ path: String, for key: TransferKey) -> Bool {
        state.withLock { state in
            if let owner = state.named[path] { return owner == key }
            state.named[path] = key
            state.paths[key, default: []].append(path)
            return true
        }
    }

    /// Frees every path that callers of `key` named.
    func release(_ key: TransferKey) {
        state.withLock { state in
            for path in state.paths.removeValue(forKey: key) ?? [] {
                state.named[path] = nil
                state.give(path, to: key.resource)
            }
        }
    }

    /// The first of `name`, `name-1`, … in `directory` that no other resource has got from here.
    func choose(_ name: String, in directory: String, for key: TransferKey) -> String {
        state.withLock { state in
            var number = 0
            while true {
                let candidate = number == 0 ? name : FileName.numbered(name, number)
                let path = directory.hasSuffix("/") ? directory + candidate : "\(directory)/\(candidate)"
                let isFree = state.named[path].map { $0 == key } ?? true
                if isFree, state.given[path] == nil || state.given[path] == key.resource {
                    state.give(path, to: key.resource)
                    return path
                }
                number += 1
            }
        }
    }
}
