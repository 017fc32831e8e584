public import Foundation

extension DownloadError: LocalizedError {
    /// An English sentence that describes the error, for an alert.
    ///
    /// Some sentences contain the name of the host. None contains a path, a query, or credentials.
    public var errorDescription: String? { texts.description }

    /// An English suggestion for the user, for an alert; `nil` if the user can't do anything.
    public var recoverySuggestion: String? {
        guard let suggestion = texts.suggestion else { return nil }
        return isOffline ? Self.connect : suggestion
    }

    /// The texts for an alert.
    typealias Texts = (description: String, suggestion: String?)

    /// The texts of errors whose code a later version has added.
    static let otherTexts: Texts = ("The file could not be downloaded.", retry)

    private static let connect = "Connect to the internet, and try again."
    private static let retry = "Try again later."
    private static let checkAddress = "Check the address of the file."
    private static let checkFolder = "Choose another folder, or change who can write to this one."
    private static let contactServer = "Contact the operator of the server."
    private static let update = "Contact the developer of this app."

    private var texts: Texts {
        switch code {
        case .invalidRequest: ("The address or the settings of the download are not valid.", Self.checkAddress)
        case .cancelled: ("The download was canceled.", nil)
        case .superseded: ("A newer download of the same file has replaced this one.", nil)
        case .duplicate: ("The file is already being downloaded.", "Wait until that download is complete.")
        case .destinationInUse:
            ("Another download is writing a file of the same name.", "Wait until that download is complete.")
        case .shutDown: ("The download was stopped because the app has stopped all downloads.", nil)
        case .bodyTooLarge: ("The file is larger than expected.", Self.contactServer)
        case .unexpectedByteCount: ("The file does not have the expected size.", Self.contactServer)
        case .checksumMismatch: ("The downloaded file is damaged, or it is not the expected one.", Self.retry)
        case .resumeDataUnusable: ("The interrupted download cannot be continued.", "Start the download again.")
        case .trustRootsUnusable: ("The certificates that this app trusts cannot be read.", Self.update)
        case .clientIdentityUnusable: ("The certificate that identifies this app cannot be read.", Self.update)
        case .unsupported: ("This app cannot carry out the download.", Self.update)
        case .authorizationFailed:
            ("This app could not log in to the server.", "Log in again, and repeat the download.")
        case .urlRefreshFailed: ("A new address of the file could not be obtained.", Self.retry)
        default: networkTexts ?? responseTexts ?? storageTexts ?? Self.otherTexts
        }
    }

    private var networkTexts: Texts? {
        switch code {
        case .hostNotFound:
            ("The server\(host) could not be found.", "Check the address and your connection to the internet.")
        case .notConnected: ("This device is not connected to the internet.", Self.connect)
        case .cannotConnect where isOffline: ("This device is not connected to the internet.", Self.connect)
        case .cannotConnect:
            ("No connection to the server\(host) could be established.", "Check your connection, or try again later.")
        case .connectionLost: ("The connection to the server\(host) was lost.", "Check your connection, and try again.")
        case .timedOut: ("The server\(host) did not respond in time.", "Check your connection, or try again later.")
        case .deadlineExceeded: ("The download took longer than permitted.", "Try again with a faster connection.")
        case .secureConnectionFailed:
            (
                "A secure connection to the server\(host) could not be established.",
                "Check the date of this device and your connection. Do not send confidential data over this network."
            )
        case .proxyFailed: ("The proxy did not connect to the server\(host).", "Check the settings of the proxy.")
        case .networkNotPermitted:
            (
                "The download is not permitted over the present network.",
                "Connect to another network, such as Wi-Fi, or permit this app to use this one."
            )
        default: nil
        }
    }

    private var responseTexts: Texts? {
        switch code {
        case .httpStatus: statusTexts
        case .malformedResponse: ("The response of the server\(host) is not valid.", Self.retry)
        case .contentChanged: ("The file has changed during the download.", "Start the download again.")
        case .tooManyRedirects: ("The server\(host) refers to too many other addresses.", Self.contactServer)
        case .redirectRefused: ("The server\(host) refers to an address that is not secure.", Self.contactServer)
        case .unacceptableMediaType: ("The server\(host) sent a file of another kind.", Self.checkAddress)
        case .unexpectedHTML:
            (
                "The server\(host) sent a web page instead of the file.",
                "The network or the server may require you to log in. Do so in a browser, and try again."
            )
        case .responseRefused: ("This app did not accept the file that the server\(host) offers.", nil)
        default: nil
        }
    }

    private var statusTexts: Texts {
        switch statusCode ?? 0 {
        case 401, 407: ("The server\(host) requires you to log in.", "Log in, and try again.")
        case 403: ("The server\(host) does not permit access to the file.", "Check whether you have access to it.")
        case 404, 410: ("The file does not exist on the server\(host).", Self.checkAddress)
        case 429: ("The server\(host) has received too many requests.", Self.retry)
        case 500...599: ("The server\(host) cannot deliver the file at present.", Self.retry)
        default: ("The server\(host) did not deliver the file.", Self.contactServer)
        }
    }

    private var storageTexts: Texts? {
        switch code {
        case .diskFull: ("There is not enough space for the file.", "Delete files that you do not need, and try again.")
        case .permissionDenied: ("The file cannot be saved because access to the folder is denied.", Self.checkFolder)
        case .destinationUnusable: ("The file cannot be saved in the chosen place.", "Choose another folder or name.")
        case .destinationExists: ("A file of the same name already exists.", "Rename or remove it, and try again.")
        case .partialInUse:
            ("Another app is downloading the same file to the same place.", "Wait until that download is complete.")
        case .tooManyOpenFiles: ("Too many files are open.", "Wait until other downloads are complete, and try again.")
        case .storageFailure: ("The file could not be read or written.", "Check the disk, and try again.")
        case .journalUnreadable: ("The list of downloads cannot be read.", "Unlock the device, and try again.")
        case .sessionInUse: ("Another part of this app manages the background downloads.", Self.retry)
        case .taskLost: ("The system has lost the download.", Self.retry)
        case .backgroundNotPermitted:
            (
                "The download was stopped because this app may not be active in the background.",
                "Permit background activity in the settings, or keep the app open."
            )
        case .systemResourcesExhausted: ("The system stopped the download to save resources.", Self.retry)
        default: nil
        }
    }

    /// The name of the requested host in quotation marks, preceded by a space; empty if the URL has no host.
    private var host: String {
        guard let host = url?.host(percentEncoded: true), !host.isEmpty else { return "" }
        return " “\(host)”"
    }
}
