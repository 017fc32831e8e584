#if !ServerStack
internal import Foundation

/// The command in a build without the trait `ServerStack`, which guards the packages that the measurements need.
@main
enum BenchmarkWithoutServerStack {
    /// Prints how to enable the trait and exits with the status EX_UNAVAILABLE.
    static func main() {
        let message = """
            benchmark was built without the trait ServerStack, which it needs. Enable the trait:
            swift run --traits ServerStack benchmark

            """
        try? FileHandle.standardError.write(contentsOf: Data(message.utf8))
        exit(69)
    }
}
#endif
