internal import Foundation

@testable import BatchProperties
@testable import Properties

/// The property that this process tries, by its name in the environment's FUZZ_PROPERTY.
private let property: Property = {
    let properties = Property.all + [Property("manifest", ManifestProperty.check)]
    let name = ProcessInfo.processInfo.environment["FUZZ_PROPERTY"] ?? ""
    if let property = properties.first(where: { $0.name == name }) { return property }
    for property in properties { print(property.name) }
    exit(name.isEmpty ? 0 : 64)
}()

/// Tries one input; libFuzzer saves inputs that end the process.
private func tryInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    do {
        try property.check(Array(UnsafeBufferPointer(start: start, count: count)))
    } catch {
        fatalError("\(property.name): \(error)")
    }
    return 0
}

@_silgen_name("LLVMFuzzerRunDriver")
private func runDriver(
    _ argumentCount: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ tryInput: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// Prints the properties' names, or tries the one that is named until libFuzzer's options say to stop.
@main
private enum Fuzz {
    static func main() {
        // If no property has the name, the process ends here.
        _ = property
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(runDriver(&count, &arguments, tryInput))
    }
}
