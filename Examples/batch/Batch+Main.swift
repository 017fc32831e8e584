internal import ArgumentParser
internal import Foundation
internal import Logging

#if canImport(Glibc)
internal import CMalloc
#endif

extension Batch {
    /// Parses the arguments, runs the command or the subcommand, and exits with its status.
    static func main() async {
        #if canImport(Glibc)
        // Otherwise, glibc keeps unused memory in a heap for each of the threads that wait for disks.
        mallopt(M_ARENA_MAX, 2)
        // Otherwise, glibc puts arrays into a heap that are as long as one that was freed. The tables of names grow, and
        // their former memory would remain in the heap, in pieces.
        mallopt(M_MMAP_THRESHOLD, 128 << 10)
        #endif
        var arguments = Array(CommandLine.arguments.dropFirst())
        // A parser that knows the names as subcommands takes them for URLs.
        let named: any ParsableCommand.Type =
            switch arguments.first {
            case "split": SplitCommand.self
            case "units": UnitsCommand.self
            default: Self.self
            }
        if named != Self.self { arguments.removeFirst() }
        // For a cluster's engine, a unit that can't be processed is an ordinary permanent failure.
        let usageStatus = named == UnitsCommand.self ? ExitCode.failure : .validationFailure
        var command: any ParsableCommand
        do {
            command = try named.parseAsRoot(arguments)
        } catch {
            let message = UsageMessage(
                named.fullMessage(for: error), arguments: arguments, options: optionNames(of: named),
                command: named._commandName)
            let code = named.exitCode(for: error)
            if code.isSuccess { named.exit(withError: error) }
            StandardError.write("\(message)\n")
            exit(withError: code == .validationFailure ? usageStatus : code)
        }
        do {
            // The events contain everything that the library logs, and log lines would disturb the live display.
            LoggingSystem.bootstrap { _ in SwiftLogNoOpLogHandler() }
            if var command = command as? any AsyncParsableCommand {
                try await command.run()
            } else {
                try command.run()
            }
        } catch let error as any UserError {
            StandardError.write("Error: \(error)\n")
            exit(withError: error.isUsage ? usageStatus : .failure)
        } catch {
            exit(withError: error)
        }
    }

    /// Returns the names of all options of a command, with their hyphens.
    static func optionNames(of command: any ParsableCommand.Type) -> Set<String> {
        let help = command.helpMessage(includeHidden: true, columns: 200)
        return Set(help.matches(of: /--[a-z0-9][a-z0-9-]*/).map { String($0.output) })
    }
}
