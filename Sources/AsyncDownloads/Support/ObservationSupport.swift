internal import Observation

/// The registrar of an object that is observed, on systems that have one.
@MainActor
struct ObservationSupport {
    private let storage: (any Sendable)?

    init() {
        if #available(macOS 14, iOS 17, tvOS 17, watchOS 10, *) {
            storage = ObservationRegistrar()
        } else {
            storage = nil
        }
    }

    @available(macOS 14, iOS 17, tvOS 17, watchOS 10, *)
    var registrar: ObservationRegistrar {
        guard let registrar = storage as? ObservationRegistrar else {
            preconditionFailure("the system has registrars, and none was made")
        }
        return registrar
    }
}
