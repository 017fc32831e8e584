/// The changes that another process has made to a journal in the container of an app group.
extension BackgroundJournal {
    /// Returns this journal together with the changes of another process.
    ///
    /// A record that only one process has changed, added, or removed has that process's value. A record that both have
    /// changed has this journal's value, because this process has the handles.
    ///
    /// - Parameters:
    ///   - theirs: The journal as the other process has written it.
    ///   - base: The journal as this process has last read or written it.
    /// - Returns: The merged journal; nil if both processes have given the same number to different things, which means
    ///   that they use the session at the same time.
    func merged(with theirs: Self, since base: Self) -> Self? {
        guard theirs.token == token else { return nil }
        let own = recordsByID
        let (before, other) = (base.recordsByID, theirs.recordsByID)
        var records: [BackgroundRecord] = []
        for id in Set(own.keys).union(other.keys).sorted() {
            switch (own[id], before[id], other[id]) {
            case (let mine?, nil, let their?):
                guard mine == their else { return nil }
                records.append(mine)
            case (let mine?, let base?, let their?): records.append(mine == base ? their : mine)
            case (let mine?, nil, nil): records.append(mine)
            case (let mine?, let base?, nil): if mine != base { records.append(mine) }
            case (nil, let base?, let their?): if their != base { records.append(their) }
            case (nil, nil, let their?): records.append(their)
            case (nil, _, nil): break
            }
        }
        guard let generations = mergedGenerations(with: theirs, since: base) else { return nil }
        var result = self
        result.replace(
            records: records, generations: generations, lastNumber: max(lastNumber, theirs.lastNumber))
        result.removeUnusedGenerations()
        return result
    }

    private func mergedGenerations(with theirs: Self, since base: Self) -> [Generation]? {
        var result: [Generation] = []
        for generation in theirs.generations {
            guard let mine = generations.first(where: { $0.number == generation.number }) else {
                result.append(generation)
                continue
            }
            let isKnown = base.generations.contains { $0.number == generation.number }
            guard isKnown || mine.options.configuresTasks(like: generation.options) else { return nil }
            let isChanged = !base.generations.contains(mine)
            result.append(isChanged ? mine : generation)
        }
        result += generations.filter { mine in !result.contains { $0.number == mine.number } }
        // The current generation of the process that has changed it is the current one.
        let last = current.number != base.current.number ? current.number : theirs.current.number
        if let index = result.firstIndex(where: { $0.number == last }) { result.append(result.remove(at: index)) }
        return result
    }

    private var recordsByID: [Int: BackgroundRecord] {
        Dictionary(records.map { ($0.id, $0) }) { first, _ in first }
    }
}
