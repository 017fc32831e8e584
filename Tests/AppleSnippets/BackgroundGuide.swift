// The code of the article "Downloads that outlive the app", which .ci/apple compiles.

internal import AsyncDownloads
internal import Foundation
internal import SwiftUI
internal import UIKit
internal import WidgetKit

#if os(iOS)
internal import BackgroundTasks
#endif

func startFilm(from url: URL, to destination: URL) -> Download {
    let downloader = Downloader(configuration: .background(identifier: "com.example.films"))
    return downloader.start(DownloadRequest(from: url, to: destination))
}

func restoreFilms(_ downloader: Downloader) async throws {
    for restored in try await downloader.restored() {
        switch restored.condition {
        case .paused: restored.download.resume()
        case .finished: print(try await restored.download.file.url)
        case .running, .waiting, .failed, .lost: break
        }
    }
}

#if !os(watchOS)
final class AppDelegate: UIResponder, UIApplicationDelegate {
    func application(
        _ application: UIApplication, handleEventsForBackgroundURLSession identifier: String,
        completionHandler: @escaping @MainActor @Sendable () -> Void
    ) {
        let isHandled = Downloader.handleEvents(
            forBackgroundSession: identifier, completionHandler: completionHandler)
        if !isHandled { completionHandler() }
    }
}
#endif

struct FilmApp: App {
    var body: some Scene {
        WindowGroup {
            Text("Films")
        }
        .backgroundTask(.urlSession("com.example.films")) {
            await Downloader.handleEvents(forBackgroundSession: "com.example.films")
        }
    }
}

struct FilmAppWithGenerations: App {
    var body: some Scene {
        WindowGroup {
            Text("Films")
        }
        .backgroundTask(.urlSession) { identifier in
            await Downloader.handleEvents(forBackgroundSession: identifier)
        }
    }
}

#if !os(tvOS)
struct FilmWidget: Widget {
    var body: some WidgetConfiguration {
        StaticConfiguration(kind: "Films", provider: FilmProvider()) { entry in
            Text(entry.title)
        }
        .backgroundTask(.urlSession("com.example.films.widget")) {
            await Downloader.handleEvents(forBackgroundSession: "com.example.films.widget")
        }
    }
}

struct FilmEntry: TimelineEntry {
    let date: Date
    let title: String
}

struct FilmProvider: TimelineProvider {
    func placeholder(in context: Context) -> FilmEntry { FilmEntry(date: .now, title: "") }

    func getSnapshot(in context: Context, completion: @escaping (FilmEntry) -> Void) {
        completion(placeholder(in: context))
    }

    func getTimeline(in context: Context, completion: @escaping (Timeline<FilmEntry>) -> Void) {
        completion(Timeline(entries: [placeholder(in: context)], policy: .never))
    }
}
#endif

func continueInForeground(_ download: Download) async throws -> Download {
    let foreground = Downloader()
    return try await foreground.adopt(download)
}

func continueInBackground(
    _ download: Download, _ background: Downloader, to destination: URL, from directory: URL
) async throws -> Download? {
    guard let token = try await download.resumeToken else { return nil }
    download.cancel()
    return try await background.adopt(token, to: destination, partialFileIn: directory)
}

func extensionDownloader() -> Downloader {
    var options = BackgroundOptions()
    options.sharedContainerIdentifier = "group.com.example.films"
    return Downloader(configuration: .background(identifier: "com.example.films.share", options: options))
}

#if os(iOS)
@available(iOS 26.0, *)
func follow(_ download: Download, with task: BGContinuedProcessingTask) {
    let progress = download.makeProgress()
    task.progress.totalUnitCount = 100
    task.progress.addChild(progress, withPendingUnitCount: 100)
    task.expirationHandler = { download.pause() }
}
#endif
