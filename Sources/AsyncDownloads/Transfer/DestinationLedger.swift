/// Who writes where: no two transfers of one downloader put different resources at one path.
///
/// A path that a caller named is taken while its transfer lives. A name that was chosen from a response stays taken,
/// since the next response that suggests it is for another resource, whose file must not replace the first.
final class DestinationLedger: Sendable {
    private struct State {
        var named: [String: TransferKey] = [:]
        var chosen: [String: String] = [:]
    }

    private let state = Mutex(State())

    /// Takes `path` for the transfer of `key`; false when another transfer has it.
    func take(_ path: String, for key: TransferKey) -> Bool {
        state.withLock { state in
            if let owner = state.named[path] { return owner == key }
            state.named[path] = key
            return true
        }
    }

    /// Frees every path that callers of `key` named.
    func release(_ key: TransferKey) {
        state.withLock { state in
            state.named = state.named.filter { $0.value != key }
        }
    }

    /// The first of `name`, `name-1`, … in `directory` that no other resource has got from here.
    func choose(_ name: String, in directory: String, for key: TransferKey) -> String {
        state.withLock { state in
            let (stem, suffix) = Self.split(name)
            var number = 0
            while true {
                let candidate = number == 0 ? name : "\(stem)-\(number)\(suffix)"
                let path = directory.hasSuffix("/") ? directory + candidate : "\(directory)/\(candidate)"
                let isFree = state.named[path].map { $0 == key } ?? true
                if isFree, state.chosen[path] == nil || state.chosen[path] == key.url {
                    state.chosen[path] = key.url
                    return path
                }
                number += 1
            }
        }
    }

    private static func split(_ name: String) -> (stem: Substring, suffix: Substring) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex else { return (name[...], "") }
        return (name[..<dot], name[dot...])
    }
}
