#if ServerStack
internal import NIOSSL

/// A self-signed certificate for 127.0.0.1, valid until 2126, and its key, which is not a secret.
enum Certificate {
    /// Returns the TLS context of a server that presents the certificate.
    static func context() throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(certificate.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        let configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        return try NIOSSLContext(configuration: configuration)
    }

    private static let certificate = """
        -----BEGIN CERTIFICATE-----
        MIIBkTCCATagAwIBAgIUd4UrJ8HktfcwzxXUaRAID23S3dEwCgYIKoZIzj0EAwIw
        FDESMBAGA1UEAwwJMTI3LjAuMC4xMCAXDTI2MTEyMTE5MzEyMFoYDzIxMjYxMDI4
        MTkzMTIwWjAUMRIwEAYDVQQDDAkxMjcuMC4wLjEwWTATBgcqhkjOPQIBBggqhkjO
        PQMBBwNCAASDHwGH9HXKMSEL2jW3gKGrAvVOdsvKQnYwSOwPNjqGIiobcGQDXWAr
        wCmV8e7DEHTzENaYXDQZxyWnbtgc9BIIo2QwYjAdBgNVHQ4EFgQUGLeZW/4+e3wM
        diOCulEM3mPqdm4wHwYDVR0jBBgwFoAUGLeZW/4+e3wMdiOCulEM3mPqdm4wDwYD
        VR0TAQH/BAUwAwEB/zAPBgNVHREECDAGhwR/AAABMAoGCCqGSM49BAMCA0kAMEYC
        IQDE+WMviBUId5s9ON9hlYaGqFIqWm7CdXpiW3/hw3Hx4wIhAIi0UkUjVrScK2s0
        oLxsYp6kbWmW3RsSSxZtzhe5BHT7
        -----END CERTIFICATE-----
        """

    private static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgXZNugQ08PvC98Uqv
        ID87V5eQFUDjBP+/LLM2fAfrtdChRANCAASDHwGH9HXKMSEL2jW3gKGrAvVOdsvK
        QnYwSOwPNjqGIiobcGQDXWArwCmV8e7DEHTzENaYXDQZxyWnbtgc9BII
        -----END PRIVATE KEY-----
        """
}
#endif
