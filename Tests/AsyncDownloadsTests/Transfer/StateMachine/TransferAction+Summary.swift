@testable import AsyncDownloads

extension TransferAction {
    /// A short description of the action, for comparison.
    var summary: String {
        switch self {
        case .requestPermit: "request a permit"
        case .movePermit(let origins, _): "move to \(origins.host)"
        case .releasePermit: "release the permit"
        case .recordHost: "record the host"
        case .leaveConnections: "leave the connections"
        case .openPartial: "open"
        case .startPartial(let representation, let number):
            "begin \(representation.length.map(String.init) ?? "?") for \(number)"
        case .updateRepresentation: "updateRepresentation"
        case .useCredentials: "use other credentials"
        case .confirmCredentials: "confirm the credentials"
        case .removeImportedFile: "remove the imported file"
        case .recordPartial(let received, let number): "record \(received.count) for \(number)"
        case .rollBackPartial(let received, _): "roll back to \(received.count)"
        case .markPartial(let received, _): "mark \(received.count)"
        case .savePartial(let received): "save \(received.count)"
        case .closePartial(let received): received.map { "close with \($0.count)" } ?? "close"
        case .discardPartial: "discard"
        case .finishPartial(let length, _, _): "finish \(length)"
        case .startExchange(let number, let request): "exchange \(number) \(request.headers["Range"] ?? "whole")"
        case .cancelExchange(let number): "cancel \(number)"
        case .abandonExchange(let number): "abandon \(number)"
        case .openGate(let number): "gate \(number)"
        case .refreshURL(let context, let number): "refresh \(number) \(context.reason)"
        case .authorize(let request, let number): "authorize \(number) \(request.reason) \(request.attempt)"
        case .cancelRefresh: "no refresh"
        case .scheduleRetry(_, let number): "delay \(number)"
        case .scheduleTick: "tick"
        case .scheduleMark: "delay a mark"
        case .emit(let event): event.summary
        case .end(.finished): "end finished"
        case .end(.failed(let error)): "end \(error.code), \(error.retainedByteCount) kept"
        case .end(.abandoned): "end abandoned"
        case .end(.discarded): "end discarded"
        }
    }
}

extension DownloadEvent {
    /// A short description of the event, for comparison.
    var summary: String {
        switch self {
        case .waiting(.turn): "waiting"
        case .waiting(let reason): "waiting \(reason)"
        case .started(let length, let isResumable, _, _):
            "started \(length.map(String.init) ?? "?")\(isResumable ? " resumable" : "")"
        case .resumed(let offset): "resumed \(offset)"
        case .restarted(let reason, let discarded): "restarted \(reason) \(discarded)"
        case .progress(let progress): "progress \(progress.receivedByteCount)"
        case .retrying(let attempt, _, let error): "retrying \(attempt) \(error.code)"
        case .paused(let received): "paused \(received)"
        case .verifying: "verifying"
        case .released(let count, let isOnDisk): "released \(count)\(isOnDisk ? " to disk" : "")"
        case .omitted(let count): "omitted \(count)"
        case .finished(let file): "finished \(file.byteCount)"
        }
    }
}
