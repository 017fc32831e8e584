internal import Foundation
internal import TestSupport
internal import Testing

@testable import AsyncDownloads

#if canImport(FoundationNetworking)
internal import FoundationNetworking
#endif

@Suite(.endsWhenHung)
struct URLErrorMappingTests {
    @Test(arguments: [
        (URLError.Code.appTransportSecurityRequiresSecureConnection, "invalidRequest"),
        (.userCancelledAuthentication, "httpStatus"), (.userAuthenticationRequired, "httpStatus"),
        (.internationalRoamingOff, "networkNotPermitted"), (.callIsActive, "networkNotPermitted"),
        (.dataNotAllowed, "networkNotPermitted"), (.cannotDecodeRawData, "malformedResponse retryable"),
        (.cannotDecodeContentData, "malformedResponse retryable"),
        (.cannotParseResponse, "malformedResponse retryable"),
        (.secureConnectionFailed, "secureConnectionFailed retryable"),
        (.serverCertificateUntrusted, "secureConnectionFailed"),
        (.serverCertificateHasBadDate, "secureConnectionFailed"),
        (.serverCertificateHasUnknownRoot, "secureConnectionFailed"),
        (.serverCertificateNotYetValid, "secureConnectionFailed"),
        (.clientCertificateRejected, "secureConnectionFailed"), (.clientCertificateRequired, "secureConnectionFailed"),
        (.notConnectedToInternet, "notConnected retryable"), (.timedOut, "timedOut retryable"),
        (.networkConnectionLost, "connectionLost retryable"), (.cannotFindHost, "hostNotFound retryable"),
    ])
    func `the code of a session's error decides about code and retry`(code: URLError.Code, expected: String) throws {
        guard case .failed(let error) = ExchangeEnd(URLError(code), hasHead: false) else {
            Issue.record("must fail")
            return
        }
        #expect("\(error.code)\(error.isRetryable ? " retryable" : "")" == expected)
    }

    @Test func `App Transport Security is named in the error`() {
        let code = URLError.Code.appTransportSecurityRequiresSecureConnection
        guard case .failed(let error) = ExchangeEnd(URLError(code), hasHead: false) else {
            Issue.record("must fail")
            return
        }
        #expect(error.description.contains("App Transport Security"))
    }
}
