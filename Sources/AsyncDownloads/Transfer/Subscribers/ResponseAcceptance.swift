/// The subscribers' decisions about a response, and their validation closures that are still running (rule 66).
struct ResponseAcceptance: Sendable {
    /// A call of a subscriber's closure.
    private struct Validation: Sendable {
        let number: Int
        var task: Task<Void, Never>?
    }

    /// The response that the subscribers were last asked about.
    private(set) var candidate: CandidateResponse?
    private var accepted: Set<SubscriberID> = []
    private var refused: Set<SubscriberID> = []
    /// The last subscriber that was detached after accepting the response.
    private var departed: SubscriberID?
    private var validations: [SubscriberID: Validation] = [:]
    private var validationCount = 0
    /// The exchange whose body is held back.
    private var heldExchange: ExchangeID?
    /// The gate that opens when no closure is running; nil while nothing waits for it.
    private var gate: Gate?

    /// Whether closures are running.
    var isPending: Bool { !validations.isEmpty }

    /// Whether the body may flow: a subscriber has accepted the response, or no closure is running.
    ///
    /// A slow closure of one subscriber doesn't delay the others. Its subscriber receives no file before it accepts the
    /// response.
    var permitsBody: Bool { !accepted.isEmpty || !isPending }

    /// Returns whether the closure of a subscriber is running.
    func isPending(_ id: SubscriberID) -> Bool { validations[id] != nil }

    /// Returns whether a subscriber that was detached had accepted the response.
    func hadAccepted(_ id: SubscriberID) -> Bool { departed == id }

    /// Returns whether a subscriber has refused a response.
    func hasRefused(_ id: SubscriberID) -> Bool { refused.contains(id) }

    /// Returns whether a subscriber still has to be asked about the response.
    func mustAsk(_ id: SubscriberID) -> Bool { !accepted.contains(id) && validations[id] == nil }

    /// Starts the decisions about a response, and returns the obsolete closures' tasks.
    ///
    /// - Parameter continues: Whether the response continues the bytes, so that it belongs to the accepted
    ///   representation.
    mutating func begin(_ new: CandidateResponse, continues: Bool) -> [Task<Void, Never>] {
        defer { candidate = new }
        if continues || candidate.map(new.isSame) ?? false { return [] }
        defer { (accepted, departed, validations) = ([], nil, [:]) }
        return validations.values.compactMap(\.task)
    }

    /// Records that a subscriber accepts the response.
    mutating func accept(_ id: SubscriberID) {
        accepted.insert(id)
    }

    /// Records that a subscriber refuses the response, which detaches it.
    mutating func refuse(_ id: SubscriberID) {
        refused.insert(id)
    }

    /// Begins a call of a subscriber's closure, and returns its number.
    mutating func validate(_ id: SubscriberID) -> Int {
        validationCount += 1
        validations[id] = Validation(number: validationCount)
        return validationCount
    }

    /// Stores the task of a call, and returns whether the call is still needed.
    mutating func started(_ task: Task<Void, Never>, _ id: SubscriberID, number: Int) -> Bool {
        guard validations[id]?.number == number else { return false }
        validations[id]?.task = task
        return true
    }

    /// Ends a call, and returns whether it was still needed.
    mutating func ended(_ id: SubscriberID, number: Int) -> Bool {
        guard validations[id]?.number == number else { return false }
        validations[id] = nil
        return true
    }

    /// Removes a subscriber that is being detached, and returns the task of its closure to be canceled.
    ///
    /// A subscriber that is detached while its closure is running has not accepted the response, so it receives no
    /// file.
    mutating func remove(_ id: SubscriberID) -> Task<Void, Never>? {
        if accepted.remove(id) != nil { departed = id }
        guard let validation = validations.removeValue(forKey: id) else { return nil }
        refused.insert(id)
        return validation.task
    }

    /// Whether the body of an exchange is held back.
    var holdsBody: Bool { heldExchange != nil }

    /// Records that the body of an exchange is held back until it may flow.
    mutating func hold(_ exchange: ExchangeID) {
        heldExchange = exchange
    }

    /// Returns the exchange whose body was held back, once, when its body may flow.
    mutating func takeHeldExchange() -> ExchangeID? { permitsBody ? heldExchange.take() : nil }

    /// Ends all calls, and returns their tasks to be canceled.
    mutating func removeAll() -> [Task<Void, Never>] {
        defer { validations = [:] }
        return validations.values.compactMap(\.task)
    }

    /// Returns a gate that opens when no closure is running; nil if none is running now.
    mutating func whenSettled() -> Gate? {
        guard isPending else { return nil }
        let gate = gate ?? Gate()
        self.gate = gate
        return gate
    }

    /// Returns the gate to open, once, when no closure is running.
    mutating func takeGate() -> Gate? { isPending ? nil : gate.take() }
}
