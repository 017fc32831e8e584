extension Result {
    /// The error; nil after a success.
    var failure: Failure? {
        guard case .failure(let failure) = self else { return nil }
        return failure
    }
}
