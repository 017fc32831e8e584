@testable import AsyncDownloads

extension CrashTests {
    /// The scripts and the options with which they run.
    ///
    /// After its first save, a buffered partial makes the same changes as another one. Therefore, only some scripts run
    /// with both.
    static let cases: [(StorageScript, StoreOptions)] = scripts.flatMap { script in
        StoreOptions.all.filter { script.isAlsoBuffered || !$0.isBuffered }.map { (script, $0) }
    }

    static let scripts: [StorageScript] = [
        StorageScript(
            testDescription: "a first download", isAlsoBuffered: true,
            steps: [
                .open, .begin(.first), .write(0..<100), .mark, .write(100..<200), .save, .mark, .write(200..<300),
                .mark, .write(300..<400), .save, .write(400..<1000), .mark, .save, .place([destination]),
            ]),
        StorageScript(
            testDescription: "a small download without a checkpoint", isAlsoBuffered: true,
            steps: [.open, .begin(.first), .write(0..<1000), .place([destination])]),
        StorageScript(
            testDescription: "saves concurrent with writes and marks",
            steps: [
                .open, .begin(.first), .write(0..<200), .save, .write(200..<400), .mark, .write(400..<600), .mark,
                .saveBelow(400), .write(600..<1000), .mark, .saveBelow(600), .save, .place([destination]),
            ]),
        StorageScript(
            testDescription: "another representation in between",
            steps: [
                .open, .begin(.first), .write(0..<300), .save, .write(300..<500), .mark, .begin(.second),
                .write(0..<100), .mark, .save, .write(100..<200), .mark, .begin(.first), .write(0..<400), .save,
                .write(400..<1000), .mark, .save, .place([destination]),
            ]),
        StorageScript(
            testDescription: "segments out of order", isAlsoBuffered: true,
            steps: [
                .open, .begin(.first), .write(500..<600), .write(0..<100), .save, .write(800..<900), .mark,
                .write(100..<200), .mark, .write(600..<800), .save, .write(900..<1000), .write(200..<500), .mark,
                .place([destination]),
            ]),
        StorageScript(
            testDescription: "continuing after an orderly close",
            steps: [
                .open, .begin(.first), .write(0..<300), .save, .write(300..<400), .mark, .close, .open,
                .write(400..<600), .mark, .save, .write(600..<1000), .close, .open, .write(600..<1000), .save,
                .place([destination]),
            ]),
        StorageScript(
            testDescription: "continuing after two crashes of the process",
            steps: [
                .open, .begin(.first), .write(0..<300), .save, .write(300..<400), .mark, .write(400..<450),
                .crash(.process), .open, .write(400..<600), .mark, .write(600..<700), .crash(.process), .open,
                .write(600..<800), .save, .write(800..<1000), .mark, .place([destination]),
            ]),
        StorageScript(
            testDescription: "several exchanges, and two crashes of the process",
            steps: [
                .open, .begin(.first), .write(0..<100), .write(500..<600), .mark, .save, .write(800..<850),
                .write(100..<150), .write(600..<650), .mark, .saveBelow(600), .crash(.process), .open,
                .write(150..<300), .write(850..<900), .mark, .crash(.process), .open, .write(300..<500), .mark,
                .write(650..<800), .save, .write(900..<1000), .mark, .place([destination]),
            ]),
        StorageScript(
            testDescription: "continuing after a loss of power",
            steps: [
                .open, .begin(.first), .write(0..<300), .save, .write(300..<400), .mark, .save, .write(400..<500),
                .mark, .crash(.power(names: 0, data: [:])), .open, .begin(.second), .write(0..<600), .save,
                .crash(.power(names: 9, data: [:])), .open, .begin(.first), .write(0..<1000), .save,
                .place([destination]),
            ]),
        StorageScript(
            testDescription: "discarding",
            steps: [.open, .begin(.first), .write(0..<300), .save, .write(300..<400), .mark, .discard]),
        StorageScript(
            testDescription: "several destinations, one of them on another device",
            steps: [
                .open, .begin(.first), .write(0..<400), .save, .write(400..<1000), .mark, .save,
                .place(["/other/copy.zip", destination, "/location/copy.zip"]),
            ]),
        StorageScript(
            testDescription: "hidden files in another directory", directory: "/elsewhere",
            steps: [
                .open, .begin(.first), .write(0..<400), .save, .write(400..<1000), .mark, .save,
                .place([destination]),
            ]),
        StorageScript(
            testDescription: "hidden files on another device", directory: "/other", isAlsoBuffered: true,
            steps: [
                .open, .begin(.first), .write(0..<400), .save, .write(400..<1000), .mark, .save,
                .place([destination]),
            ]),
    ]
}
