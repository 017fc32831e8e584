internal import TestSupport
internal import Testing

@testable import AsyncDownloads

@Suite(.endsWhenHung)
struct LifecycleStateTests {
    @Test(arguments: [
        ("/var/containers/Bundle/Application/1/Films.app", true, false),
        ("/var/containers/Bundle/Application/1/Films.app/PlugIns/Share.appex", true, true),
        ("/usr/local/bin", true, true), ("/Applications/Films.app", false, true),
    ])
    func `background 17: an app is in the background until a notification reports otherwise`(
        path: String, canBeSuspended: Bool, expected: Bool
    ) {
        #expect(
            LifecycleNotifications.startInForeground(bundlePath: path, canBeSuspended: canBeSuspended) == expected)
    }

    @Test func `a change that several notifications report counts once`() {
        var state = LifecycleState(isInForeground: false)
        let changes: [LifecycleChange] = [
            .didEnterBackground, .willEnterForeground, .willEnterForeground, .didEnterBackground,
        ]
        let news = changes.map { change in (state.apply(change), state.isInForeground) }
        #expect(news.map(\.0) == [false, true, false, true])
        #expect(news.map(\.1) == [false, true, true, false])
    }

    @Test(arguments: ["UIApplication", "WKApplication"])
    func `each app framework reports the foreground, the background, and becoming active`(prefix: String) {
        let changes = LifecycleNotifications.changes
        #expect(changes["\(prefix)DidBecomeActiveNotification"] == .willEnterForeground)
        #expect(changes["\(prefix)WillEnterForegroundNotification"] == .willEnterForeground)
        #expect(changes["\(prefix)DidEnterBackgroundNotification"] == .didEnterBackground)
    }

    @Test func `background 17: nothing is topped up in an app that was launched in the background`() async throws {
        var options = BackgroundOptions()
        options.maximumTaskCount = 1
        let app = try BackgroundApp()
        try await app.run(2, options: options)
        app.lifecycle.enterBackground()
        try app.finishAll()
        let life = app.launch(options: options)
        try await life.deliver()
        #expect(app.tasks.isEmpty && app.isInPlace(1))
        app.lifecycle.enterForeground()
        try await life.settle()
        #expect(app.tasks.count == 1)
    }
}
