internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite("The levels that signs of memory pressure make", .endsWhenHung)
struct PressureGaugeTests {
    /// A sign of pressure at a time, and the level that is reported then.
    struct Step: Sendable {
        let second: Int
        let sign: PressureSign?
        let reported: MemoryPressure?

        init(_ second: Int, _ sign: PressureSign?, _ reported: MemoryPressure?) {
            (self.second, self.sign, self.reported) = (second, sign, reported)
        }
    }

    struct Course: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let steps: [Step]

        init(_ description: String, _ steps: [Step]) {
            (testDescription, self.steps) = (description, steps)
        }
    }

    @Test(arguments: [
        Course(
            "a warning ends after ten seconds",
            [
                Step(0, .moment(.warning), .warning), Step(9, nil, nil), Step(10, nil, .normal), Step(30, nil, nil),
            ]),
        Course(
            "another warning is reported and delays the end",
            [
                Step(0, .moment(.warning), .warning), Step(6, .moment(.warning), .warning), Step(10, nil, nil),
                Step(15, nil, nil), Step(16, nil, .normal),
            ]),
        Course(
            "a level rises at once",
            [
                Step(0, .moment(.warning), .warning), Step(1, .moment(.critical), .critical), Step(11, nil, .normal),
            ]),
        Course(
            "a critical level falls to a later warning",
            [
                Step(0, .moment(.critical), .critical), Step(4, .moment(.warning), nil), Step(10, nil, .warning),
                Step(14, nil, .normal),
            ]),
        Course(
            "a warning at the end of a critical level is reported once",
            [
                Step(0, .moment(.critical), .critical), Step(10, .moment(.warning), .warning), Step(20, nil, .normal),
            ]),
        Course(
            "a repeated critical sign is reported again",
            [
                Step(0, .moment(.critical), .critical), Step(2, .moment(.critical), .critical), Step(12, nil, .normal),
            ]),
        Course(
            "a sign after the quiet time, before the level was read, repeats the level",
            [
                Step(0, .moment(.warning), .warning), Step(60, .moment(.warning), .warning), Step(70, nil, .normal),
            ]),
        Course(
            "a momentary sign of the normal level is not reported",
            [
                Step(0, .moment(.normal), nil), Step(1, .moment(.warning), .warning), Step(2, .moment(.normal), nil),
            ]),
        Course(
            "a lasting level remains until it is replaced",
            [
                Step(0, .lasting(.warning), .warning), Step(1000, nil, nil), Step(1001, .lasting(.normal), .normal),
            ]),
        Course(
            "a repeated lasting level is reported each time, except for normal",
            [
                Step(0, .lasting(.normal), nil), Step(1, .lasting(.critical), .critical),
                Step(2, .lasting(.critical), .critical), Step(3, .lasting(.warning), .warning),
                Step(4, .lasting(.normal), .normal), Step(5, .lasting(.normal), nil),
            ]),
        Course(
            "a momentary sign outlasts the end of a lasting level",
            [
                Step(0, .lasting(.critical), .critical), Step(5, .moment(.warning), nil),
                Step(6, .lasting(.normal), .warning), Step(15, nil, .normal),
            ]),
        Course(
            "a momentary sign ends at a lasting level",
            [
                Step(0, .moment(.critical), .critical), Step(1, .lasting(.warning), nil), Step(10, nil, .warning),
                Step(100, nil, nil),
            ]),
    ])
    func `levels are reported when they change or are repeated`(_ course: Course) {
        var gauge = PressureGauge()
        for step in course.steps {
            let now = Duration.seconds(step.second)
            let reported = step.sign.map { gauge.take($0, at: now) } ?? gauge.expireSigns(at: now)
            #expect(reported == step.reported, "at second \(step.second)")
        }
    }

    @Test func `the next change is the time at which the oldest momentary sign expires`() {
        var gauge = PressureGauge()
        #expect(gauge.nextChange == nil)
        _ = gauge.take(.lasting(.critical), at: .zero)
        #expect(gauge.nextChange == nil)
        _ = gauge.take(.moment(.critical), at: .seconds(3))
        _ = gauge.take(.moment(.warning), at: .seconds(5))
        #expect(gauge.nextChange == .seconds(13))
        _ = gauge.expireSigns(at: .seconds(13))
        #expect(gauge.nextChange == .seconds(15))
        _ = gauge.expireSigns(at: .seconds(15))
        #expect(gauge.nextChange == nil)
    }

    @Test func `levels are ordered by severity`() {
        #expect(MemoryPressure.allCases.sorted() == [.normal, .warning, .critical])
        #expect([.critical, .normal, .warning].max() == MemoryPressure.critical)
    }
}
