internal import Foundation

/// The subscribers' decisions about redirects.
extension ActiveTransfer {
    /// Returns the subscribers that refuse a redirect, with the errors that end them.
    func redirectRefusals(_ head: ResponseHead, from source: URL) -> [(id: SubscriberID, error: DownloadError)] {
        guard head.status.isRedirect else { return [] }
        let deciding = withState { state in
            state.subscribers.active.compactMap { active in
                active.subscriber.request.shouldFollowRedirect.map { (id: active.id, decide: $0) }
            }
        }
        guard !deciding.isEmpty,
            case .success(let target) = Redirect.target(
                location: head.headers.singleton("Location").value, relativeTo: source)
        else { return [] }
        let proposal = RedirectProposal(from: source, to: target, statusCode: head.status.code)
        return deciding.filter { !$0.decide(proposal) }.map { active in
            (active.id, DownloadError(.redirectRefused, "the request doesn't permit a redirect to \(target.redacted)"))
        }
    }

    /// Asks a newly attached subscriber about the redirects that led to the present response, and ends it if it refuses
    /// one.
    func proposeFollowedRedirects(to id: SubscriberID, _ request: DownloadRequest) {
        guard let decide = request.shouldFollowRedirect else { return }
        let hops = withState { $0.machine.followedRedirects }
        guard let refused = hops.first(where: { !decide($0) }) else { return }
        let error = DownloadError(
            .redirectRefused, "the request doesn't permit a redirect to \(refused.target.redacted)")
        update { state, decision in detach(id, .failure(error), policy: .pause, &state, &decision, at: now) }
    }
}

extension TransferStateMachine {
    /// The redirects that led to the representation, or, if none exists, to the present request.
    fileprivate var followedRedirects: [RedirectProposal] {
        let heads = bytes.responses.isEmpty ? address.redirects.responses : bytes.responses
        let targets = heads.dropFirst().map(\.url) + (bytes.responses.isEmpty ? [address.url] : [])
        return zip(heads, targets).map { head, target in
            RedirectProposal(from: head.url, to: target, statusCode: head.statusCode)
        }
    }
}
