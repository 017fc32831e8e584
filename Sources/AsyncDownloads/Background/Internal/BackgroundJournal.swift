/// A record of the downloads of one background session, for this process and later ones.
///
/// The journal is a value; ``JournalFile`` reads and writes it. A record is durable before its task is handed over to
/// the system, so that every task is known to a later process.
struct BackgroundJournal: Sendable, Hashable, Codable {
    /// The settings under which tasks were started.
    struct Generation: Sendable, Hashable, Codable {
        /// The number of the generation, from which the identifier of the system's session follows.
        let number: Int
        var options = BackgroundOptions()
    }

    /// The number of changes in this process, which is not a part of the value.
    struct Revision: Sendable, Hashable {
        var number = 0

        static func == (left: Self, right: Self) -> Bool { true }

        func hash(into hasher: inout Hasher) {}
    }

    enum CodingKeys: String, CodingKey {
        case identifier = "identifier"
        case token = "token"
        case generations = "generations"
        case records = "records"
        case lastNumber = "lastNumber"
    }

    /// The version of the format.
    static let format = 1

    /// The identifier that the caller has chosen.
    let identifier: String
    /// A random text that distinguishes this journal from others of the same identifier.
    let token: String
    /// The generations that have tasks, and the current one, which is the last.
    private(set) var generations: [Generation]
    private(set) var records: [BackgroundRecord] = []
    /// The highest number that was used.
    private(set) var lastNumber = 0
    /// Increases with each change, so that a changed journal is recognized without comparing all records.
    private(set) var revision = Revision()

    init(identifier: String, token: String, options: BackgroundOptions) {
        self.identifier = identifier
        self.token = token
        generations = [Generation(number: 0, options: options)]
    }

    /// Creates a journal from its recorded values.
    init(
        identifier: String, token: String, generations: [Generation], records: [BackgroundRecord], lastNumber: Int
    ) {
        self.identifier = identifier
        self.token = token
        self.generations = generations
        self.records = records.sorted { $0.id < $1.id }
        self.lastNumber = max(lastNumber, records.map(\.id).max() ?? 0)
    }

    /// The generation in which new tasks are started.
    var current: Generation {
        guard let last = generations.last else { preconditionFailure("a journal has no generation") }
        return last
    }

    /// Whether nothing would be lost if the journal were removed.
    ///
    /// Without the files that the app has received already, a request would only fetch one of them again.
    var isEmpty: Bool { records.allSatisfy { !$0.isPending && !$0.deliveries.isEmpty && !$0.hasUsefulBytes } }

    subscript(id: Int) -> BackgroundRecord? {
        index(of: id).map { records[$0] }
    }

    /// Returns the record of the same resource that can serve another request.
    func record(of resource: BackgroundResource) -> BackgroundRecord? {
        let key = resource.key
        return records.last { $0.resource.name == resource.name && $0.resource.key == key }
    }

    /// Returns the name of the task of a record's current attempt.
    func taskName(of record: BackgroundRecord) -> DaemonTaskName {
        DaemonTaskName(journal: token, record: record.id, attempt: record.attempt)
    }

    /// Returns the record whose current attempt has this name, or nil if the name is of an earlier attempt.
    func record(for name: DaemonTaskName) -> BackgroundRecord? {
        guard name.journal == token, let record = self[name.record], record.attempt == name.attempt else { return nil }
        return record
    }

    /// The number of tasks that were handed over.
    var handedOverCount: Int { records.count(where: \.isHandedOver) }

    /// The names of all files in the spool that are in use.
    var fileNames: Set<String> { records.reduce(into: []) { $0.formUnion($1.fileNames) } }

    /// The generations whose session has to exist: those that have tasks, and the current one if anything is recorded.
    var liveGenerations: [Generation] {
        let used = Set(records.filter(\.isHandedOver).map(\.generation))
        return generations.filter { used.contains($0.number) || $0.number == current.number && !isEmpty }
    }

    /// Adds a record without deliveries, and returns its number.
    mutating func add(_ resource: BackgroundResource) -> Int {
        lastNumber += 1
        revision.number += 1
        // The delays of different journals and records differ.
        let seed = (UInt64(token, radix: 16) ?? 0) ^ UInt64(lastNumber)
        records.append(BackgroundRecord(id: lastNumber, resource: resource, seed: seed))
        return lastNumber
    }

    /// Changes a record, and returns the result of `body`; nil if the record does not exist.
    @discardableResult
    mutating func update<Value>(_ id: Int, _ body: (inout BackgroundRecord) -> Value) -> Value? {
        guard let index = index(of: id) else { return nil }
        let before = records[index]
        defer { if records[index] != before { revision.number += 1 } }
        return body(&records[index])
    }

    /// Replaces the contents with the result of a merge with the changes of another process.
    mutating func replace(records: [BackgroundRecord], generations: [Generation], lastNumber: Int) {
        revision.number += 1
        self.records = records
        self.generations = generations
        self.lastNumber = lastNumber
    }

    mutating func remove(_ id: Int) {
        guard let index = index(of: id) else { return }
        revision.number += 1
        records.remove(at: index)
    }

    /// Uses `options` for new tasks; a new generation begins if the system's tasks are configured differently.
    ///
    /// A generation without tasks ends, and its number is used again. The number follows into the identifier of the
    /// system's session, so the system uses the caller's identifier unchanged while all tasks have the same settings.
    ///
    /// - Parameter reserved: The numbers of sessions that exist in this process, whose settings cannot be changed.
    mutating func use(_ options: BackgroundOptions, reserving reserved: Set<Int> = []) {
        guard current.options != options else { return }
        revision.number += 1
        if current.options.configuresTasks(like: options) {
            generations[generations.count - 1].options = options
            removeUnusedGenerations()
            return
        }
        let used = Set(records.filter(\.isHandedOver).map(\.generation))
        generations.removeAll { !used.contains($0.number) }
        if let same = generations.firstIndex(where: { $0.options.configuresTasks(like: options) }) {
            var generation = generations.remove(at: same)
            generation.options = options
            generations.append(generation)
        } else {
            let number = (0...).first { !used.contains($0) && !reserved.contains($0) } ?? current.number + 1
            generations.append(Generation(number: number, options: options))
        }
    }

    /// Removes the earlier generations that have no tasks any more.
    mutating func removeUnusedGenerations() {
        guard generations.count > 1 else { return }
        let used = Set(records.filter(\.isHandedOver).map(\.generation)).union([current.number])
        guard generations.contains(where: { !used.contains($0.number) }) else { return }
        revision.number += 1
        generations.removeAll { !used.contains($0.number) }
    }

    // The records are in the order of their numbers.
    private func index(of id: Int) -> Int? {
        var (low, high) = (0, records.count)
        while low < high {
            let middle = (low + high) / 2
            if records[middle].id < id { low = middle + 1 } else { high = middle }
        }
        return low < records.count && records[low].id == id ? low : nil
    }
}
