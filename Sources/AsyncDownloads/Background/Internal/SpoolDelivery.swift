internal import Foundation

/// The verification of a complete file in the spool, and its placement at the destinations of its record.
///
/// A crash at any moment leaves each destination with its previous file or the new one, and a later process recognizes
/// a file that is already in place: names are recorded before they are given, and the file itself by its inode.
struct SpoolDelivery {
    let spool: Spool
    let containers: any Containers

    private var disk: any FileSystem { spool.disk }

    /// Chooses the names of the deliveries to directories that have none yet.
    ///
    /// - Parameter isTaken: Returns whether another download has the path, or has placed its file there.
    func chooseNames(
        _ record: BackgroundRecord, _ body: ReceivedBody, isTaken: (ContainerPath) -> Bool
    ) -> [(delivery: Int, path: ContainerPath)] {
        var chosen: [(delivery: Int, path: ContainerPath)] = []
        for delivery in record.openDeliveries where delivery.choosesName && delivery.chosenPath == nil {
            guard let directory = delivery.destination.path(in: containers) else { continue }
            let name = disk.acceptedName(
                body.info.suggestedName
                    ?? FileName.unsuggested(delivery.defaultFileName, from: URLText(record.resource.url)?.url),
                in: directory)
            // A name that the server suggests never replaces a file; one from the caller's URL does, without a number.
            let mayReplace = body.info.suggestedName == nil
            for number in 1... {
                let candidate = FileName.numbered(name, number)
                guard let path = delivery.destination.appending(candidate), !isTaken(path),
                    !chosen.contains(where: { $0.path == path })
                else { continue }
                let isUnused = (try? disk.information(at: PartialNames.join(directory, candidate))) == .some(nil)
                guard mayReplace && number == 1 || isUnused || number > 10_000 else { continue }
                chosen.append((delivery.id, path))
                break
            }
        }
        return chosen
    }

    /// The result of placing a file.
    enum Report: Sendable {
        /// The file is neither in the spool nor at a destination.
        case missing
        /// The digest is wrong, and nothing was placed because an attempt without earlier bytes may have the right one.
        case wrong(DownloadError)
        /// The system denies access to a destination, as it does before the first unlock of the device.
        case denied
        case delivered([(delivery: Int, outcome: BackgroundDelivery.Outcome)])
    }

    /// Verifies and places the file.
    ///
    /// - Parameters:
    ///   - mayStartAnew: Whether a wrong digest of a resumed file is reported instead of recorded.
    ///   - mayBeLocked: Whether a denied access is reported instead of recorded.
    func deliver(
        _ record: BackgroundRecord, _ body: ReceivedBody, mayStartAnew: Bool = false, mayBeLocked: Bool = false
    ) -> Report {
        let open = record.openDeliveries
        var outcomes: [Int: BackgroundDelivery.Outcome] = [:]
        var source = spool.path(body.fileName)
        if (try? disk.information(at: source))?.map({ $0.inode != body.inode || $0.size != body.info.byteCount })
            ?? true
        {
            // An earlier process may have moved the file and ended before it could record that.
            guard let moved = open.first(where: { isInPlace($0, body) }), let path = moved.path?.path(in: containers)
            else { return .missing }
            outcomes[moved.id] = moved.path.map { .placed($0, placedInfo(body, at: path)) }
            source = path
        }
        let isInSpool = source == spool.path(body.fileName)
        var digests: [Checksum.Algorithm: Result<String, DownloadError>] = [:]
        var waiting: [BackgroundDelivery] = []
        for delivery in open where outcomes[delivery.id] == nil {
            do throws(DownloadError) {
                try check(delivery, body, source, &digests)
                waiting.append(delivery)
            } catch {
                if isInSpool, mayStartAnew, body.wasResumed == true, error.code == .checksumMismatch {
                    return .wrong(error)
                }
                outcomes[delivery.id] = .failed(RecordedError(error))
            }
        }
        for (index, delivery) in waiting.enumerated() {
            do throws(DownloadError) {
                guard let path = delivery.path, let absolute = path.path(in: containers) else {
                    throw DownloadError(.destinationUnusable, "the container of the destination is not available")
                }
                let isLast = index == waiting.count - 1
                try place(
                    source, at: absolute, delivery.attributes, moves: isInSpool && isLast,
                    keepsExisting: delivery.choosesName && body.info.suggestedName != nil)
                outcomes[delivery.id] = .placed(path, placedInfo(body, at: absolute))
            } catch {
                if mayBeLocked, error.code == .permissionDenied { return .denied }
                outcomes[delivery.id] = .failed(RecordedError(error))
            }
        }
        return .delivered(open.compactMap { delivery in outcomes[delivery.id].map { (delivery.id, $0) } })
    }

    /// Returns the properties of a file, with those by which a later process recognizes it.
    private func placedInfo(_ body: ReceivedBody, at path: String) -> BackgroundBodyInfo {
        var info = body.info
        let found = try? disk.information(at: path)
        (info.inode, info.modificationTime) = (found?.inode, found?.modificationTime)
        return info
    }

    /// Returns whether a destination has exactly this file.
    private func isInPlace(_ delivery: BackgroundDelivery, _ body: ReceivedBody) -> Bool {
        guard let path = delivery.path?.path(in: containers), let found = try? disk.information(at: path) else {
            return false
        }
        return found.kind == .regular && found.inode == body.inode && found.size == body.info.byteCount
            && found.modificationTime == body.modificationTime ?? found.modificationTime
    }

    private func check(
        _ delivery: BackgroundDelivery, _ body: ReceivedBody, _ path: String,
        _ digests: inout [Checksum.Algorithm: Result<String, DownloadError>]
    ) throws(DownloadError) {
        if let limit = delivery.maximumByteCount, limit < body.info.byteCount {
            throw DownloadError(.bodyTooLarge, "\(body.info.byteCount) bytes, \(limit) allowed")
        }
        let expected = delivery.checksum.flatMap { Checksum($0) }
        let stated = RunningDigest.isAvailable ? body.info.serverDigest.flatMap { Checksum($0) } : nil
        guard let wanted = expected ?? stated else { return }
        let result =
            digests[wanted.algorithm]
            ?? Result { () throws(DownloadError) in
                try digest(wanted.algorithm, of: path, length: body.info.byteCount)
            }
        digests[wanted.algorithm] = result
        let hex = try result.get()
        guard hex != wanted.hex else { return }
        let origin = expected == nil ? "the server's Repr-Digest is" : "expected"
        throw DownloadError(.checksumMismatch, "\(wanted.algorithm.rawValue) is \(hex), \(origin) \(wanted.hex)")
    }

    private func digest(
        _ algorithm: Checksum.Algorithm, of path: String, length: Int64
    ) throws(DownloadError) -> String {
        let file: OpenFile
        do throws(FileFailure) {
            file = try disk.open(path, .reading)
        } catch {
            throw DownloadError(error)
        }
        defer { disk.close(file) }
        return try disk.digest(algorithm, of: file, length: length)
    }

    private func place(
        _ source: String, at path: String, _ attributes: FileAttributes, moves: Bool, keepsExisting: Bool
    ) throws(DownloadError) {
        do throws(FileFailure) {
            let directory = PartialNames.directory(of: path)
            try disk.makeDirectories(directory)
            try disk.checkReplaceable(path)
            var isMoved = false
            if moves {
                let file = try disk.open(source, .existing)
                let prepared = Result { () throws(FileFailure) in
                    setAttributes(attributes, of: file, in: directory)
                    try disk.synchronize(file)
                }
                disk.close(file)
                try prepared.get()
                isMoved = try rename(source, to: path, keepsExisting: keepsExisting, original: source)
            }
            if !isMoved { try placeCopy(of: source, at: path, attributes, keepsExisting: keepsExisting) }
            try disk.synchronizeDirectory(directory)
        } catch {
            throw DownloadError(error)
        }
    }

    /// Places a copy, because other destinations need the file, or because the destination is on another volume.
    private func placeCopy(
        of source: String, at path: String, _ attributes: FileAttributes, keepsExisting: Bool
    ) throws(FileFailure) {
        let directory = PartialNames.directory(of: path)
        let temporary = PartialNames.join(
            directory, ".\(PartialNames.lastComponent(of: source)).\(CRC32.digits(of: path.utf8)).copy")
        try disk.remove(temporary)
        let file = try disk.open(source, .reading)
        defer { disk.close(file) }
        let copy = try disk.duplicate(file, to: temporary)
        let prepared = Result { () throws(FileFailure) in
            setAttributes(attributes, of: copy, in: directory)
            try disk.synchronize(copy)
        }
        disk.close(copy)
        do throws(FileFailure) {
            try prepared.get()
            guard try rename(temporary, to: path, keepsExisting: keepsExisting, original: source) else {
                throw FileFailure(
                    .crossDevice, errno: 0, operation: "rename", name: temporary, reason: "another volume")
            }
        } catch {
            try? disk.remove(temporary)
            throw error
        }
        try? disk.remove(temporary)
    }

    /// Gives a complete file its permissions and attributes, which some file systems do not support.
    private func setAttributes(_ attributes: FileAttributes, of file: OpenFile, in directory: String) {
        try? disk.setPermissions(.ordinary, of: file)
        disk.setAttributes(attributes, of: file, in: directory)
    }

    /// Renames a file; returns false if the destination is on another volume.
    private func rename(
        _ source: String, to path: String, keepsExisting: Bool, original: String
    ) throws(FileFailure) -> Bool {
        do throws(FileFailure) {
            if keepsExisting {
                try disk.rename(source, toUnused: path)
            } else {
                try disk.rename(source, to: path)
            }
            return true
        } catch {
            if error.kind == .crossDevice { return false }
            // An earlier process may have placed this very file and ended before it could record that.
            guard error.kind == .exists, try haveSameContents(original, path) else { throw error }
            return true
        }
    }

    private func haveSameContents(_ first: String, _ second: String) throws(FileFailure) -> Bool {
        guard let one = try disk.information(at: first), let other = try disk.information(at: second),
            other.kind == .regular, one.size == other.size
        else { return false }
        let files = (try disk.open(first, .reading), try disk.open(second, .reading))
        defer {
            disk.close(files.0)
            disk.close(files.1)
        }
        let size = 256 << 10
        let buffers = (
            UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16),
            UnsafeMutableRawBufferPointer.allocate(byteCount: size, alignment: 16)
        )
        defer {
            buffers.0.deallocate()
            buffers.1.deallocate()
        }
        var offset: Int64 = 0
        while offset < one.size {
            let count = try disk.read(into: buffers.0, from: files.0, at: offset)
            guard count > 0 else { return false }
            let part = UnsafeMutableRawBufferPointer(rebasing: buffers.1[..<count])
            guard try disk.read(into: part, from: files.1, at: offset) == count,
                buffers.0[..<count].elementsEqual(part)
            else { return false }
            offset += Int64(count)
        }
        return true
    }
}

extension ContainerPath {
    /// Returns the path of a file in this directory; nil if the name is not a single component.
    func appending(_ name: String) -> ContainerPath? {
        ContainerPath(text: relative.isEmpty ? "\(text)\(name)" : "\(text)/\(name)")
    }
}
