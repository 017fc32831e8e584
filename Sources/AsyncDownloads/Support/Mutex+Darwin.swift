#if canImport(Darwin)
package import Synchronization

/// The standard library's lock.
package typealias Mutex<Value: ~Copyable> = Synchronization.Mutex<Value>
#endif
