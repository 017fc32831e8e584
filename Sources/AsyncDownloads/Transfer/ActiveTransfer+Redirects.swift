internal import Foundation

/// The redirects that subscribers refuse.
extension ActiveTransfer {
    /// Returns the subscribers that don't follow a redirect, with the errors that end them.
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
}
