#if canImport(ObjectiveC)
internal import ObjectiveC
#endif

/// Performs the operation; on Apple's platforms, autoreleased objects don't outlive it.
func withAutoreleasePool(_ operation: () -> Void) {
    #if canImport(ObjectiveC)
    autoreleasepool(invoking: operation)
    #else
    operation()
    #endif
}
