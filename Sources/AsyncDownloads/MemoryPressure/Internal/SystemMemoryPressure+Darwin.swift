#if canImport(Darwin)
internal import Dispatch
internal import Foundation

/// The memory pressure that Dispatch reports, and UIKit where it exists.
struct SystemMemoryPressure: MemoryPressureMonitor {
    private let time: any TimeSource

    init(time: any TimeSource) {
        self.time = time
    }

    func watch(_ observer: @escaping @Sendable (MemoryPressure) -> Void) -> any MemoryPressureWatch {
        let watch = SystemPressureWatch(time: time, observer: observer)
        let source = PressureEvents()
        #if canImport(UIKit) && !os(watchOS)
        let warnings = MemoryWarnings(watch)
        watch.setSource {
            source.cancel()
            warnings.cancel()
        }
        #else
        watch.setSource { source.cancel() }
        #endif
        source.start { watch.take(.lasting($0)) }
        return watch
    }
}

/// Dispatch's source of memory pressure, which also reports the end of the pressure.
private struct PressureEvents: @unchecked Sendable {  // Dispatch sources are thread-safe.
    private let source = DispatchSource.makeMemoryPressureSource(
        eventMask: [.normal, .warning, .critical], queue: .global(qos: .utility))

    func start(_ handler: @escaping @Sendable (MemoryPressure) -> Void) {
        source.setEventHandler { [self] in
            let events = source.data
            handler(events.contains(.critical) ? .critical : events.contains(.warning) ? .warning : .normal)
        }
        source.activate()
    }

    func cancel() { source.cancel() }
}

#if canImport(UIKit) && !os(watchOS)
/// UIKit's memory warnings, whose end isn't reported.
private struct MemoryWarnings: @unchecked Sendable {  // The token is only passed to the center.
    private let token: any NSObjectProtocol

    init(_ watch: SystemPressureWatch) {
        // In some SDKs, UIApplication's constant is isolated to the main actor; it would also link UIKit.
        let name = Notification.Name("UIApplicationDidReceiveMemoryWarningNotification")
        token = NotificationCenter.default.addObserver(forName: name, object: nil, queue: nil) { _ in
            // The notification arrives on the main thread, which must not wait for an observer.
            DispatchQueue.global(qos: .utility).async { watch.take(.moment(.warning)) }
        }
    }

    func cancel() { NotificationCenter.default.removeObserver(token) }
}
#endif
#endif
