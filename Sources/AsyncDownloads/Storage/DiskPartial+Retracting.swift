extension DiskPartial {
    func retract(to received: IntervalSet) throws(DownloadError) {
        // A save would go on with what the last mark said.
        let checkpoint = withState { state in
            state.marked = nil
            return state.checkpoint
        }
        guard let checkpoint else { return }
        guard received.isEmpty else { return try save(received) }
        do {
            try store.disk.remove(names.checkpoint)
        } catch {
            throw DownloadError(error)
        }
        withState { $0.checkpoint = nil }
        store.disk.close(checkpoint.handle)
    }
}
