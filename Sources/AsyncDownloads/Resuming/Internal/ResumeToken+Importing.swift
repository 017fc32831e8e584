internal import Foundation

extension ResumeToken {
    /// Creates a token from the unfinished download on disk; the result is `nil` if its bytes can't be continued.
    init?(_ unfinished: UnfinishedPartial, destination: DownloadRequest.Destination) throws(DownloadError) {
        let (record, representation) = (unfinished.location.request, unfinished.representation)
        guard let fileName = unfinished.fileName, let url = URL(string: record.url),
            representation.contentCoding == nil, !representation.cameFromDifferentURL,
            !representation.isImported, !representation.hasUnverifiedCredentials, !unfinished.received.isEmpty
        else { return nil }
        var headers = HeaderFields()
        for pair in record.headers where pair.count == 2 { headers.append(pair[1], for: pair[0]) }
        var name: String?
        if case .file(let file) = destination { name = file.lastPathComponent }
        try self.init(
            url: url, finalURL: URL(string: representation.finalURL), validator: representation.validator?.rawValue,
            totalByteCount: representation.length, received: unfinished.received,
            checksum: record.checksum.flatMap { Checksum($0) }, headers: headers,
            nonsecretHeaders: headers.declaredNames, hasSecretHeaders: record.hasSecretHeaders,
            destinationName: name, identity: record.identity, account: record.account, partialDirectory: "",
            partialName: fileName)
    }

    /// Returns the reason why `request` must not continue the bytes, or `nil` if it may, possibly after verification.
    ///
    /// A checkpoint with an account says that its bytes were received for that account. Bytes of another account, or
    /// bytes that were received with unknown credentials, must not get such a checkpoint.
    func accountFault(for request: DownloadRequest) -> String? {
        guard let expected = request.account, expected != account, account != nil || hasSecretHeaders else {
            return nil
        }
        return "the bytes were received for an account other than the request's"
    }

    /// The partial file, checked and open, with the properties of its bytes that the token states.
    func importedFile(in directory: URL, on disk: any FileSystem) throws(DownloadError) -> ImportedFile {
        let path = partialFile(relativeTo: directory).path
        let handle: OpenFile
        do {
            handle = try disk.open(path, .existing)
        } catch let error where error.kind == .missing || error.kind == .unusablePath {
            throw .unusable("the partial file is missing or is not a regular file", underlyingError: error)
        } catch {
            throw DownloadError(error)
        }
        do {
            let information = try disk.information(of: handle)
            let owner = FileOwner(disk: disk, directory: PartialNames.directory(of: path))
            guard try owner.isPrivate(information) else {
                throw DownloadError.unusable("the partial file is not a regular file of this user")
            }
            guard information.size >= received.upperBound else {
                throw DownloadError.unusable(
                    "the partial file contains \(information.size) bytes instead of \(received.upperBound)")
            }
            let representation = Representation(
                finalURL: (finalURL ?? url).absoluteString, validator: validator.flatMap(Validator.init(rawValue:)),
                length: totalByteCount)
            return ImportedFile(
                path: path, handle: handle, information: information, representation: representation,
                received: received, hasSecretHeaders: hasSecretHeaders || account != nil,
                isTemporary: HiddenName(partialName)?.isPartial == true)
        } catch {
            disk.close(handle)
            throw (error as? FileFailure).map { DownloadError($0) } ?? error as? DownloadError
                ?? .unusable("the partial file cannot be used", underlyingError: error)
        }
    }
}
