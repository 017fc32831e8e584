internal import NIOSSL

/// Certificates of a server and of a client, with their keys, which are not secrets, in PEM format.
///
/// The server's certificate is for 127.0.0.1 and localhost. All certificates are valid until 2126.
package enum Certificate {
    /// Returns the TLS context of a server that presents the certificate.
    ///
    /// - Parameter requiresClient: Whether clients have to present ``client``.
    static func context(requiresClient: Bool) throws -> NIOSSLContext {
        let certificate = try NIOSSLCertificate(bytes: Array(server.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(key.utf8), format: .pem)
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: [.certificate(certificate)], privateKey: .privateKey(key))
        if requiresClient {
            configuration.certificateVerification = .noHostnameVerification
            configuration.trustRoots = .certificates([try NIOSSLCertificate(bytes: Array(client.utf8), format: .pem)])
        }
        return try NIOSSLContext(configuration: configuration)
    }

    /// The self-signed certificate of the authority that signed ``server``.
    package static let root = """
        -----BEGIN CERTIFICATE-----
        MIIBrzCCAVWgAwIBAgIUOMQNKyI0mhfGe0zmC7/VBpwxAgowCgYIKoZIzj0EAwIw
        JDEiMCAGA1UEAwwZYXN5bmMtZG93bmxvYWRzIHRlc3Qgcm9vdDAgFw0yNjExMjIy
        MTU3NTBaGA8yMTI2MTAyOTIxNTc1MFowJDEiMCAGA1UEAwwZYXN5bmMtZG93bmxv
        YWRzIHRlc3Qgcm9vdDBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABJqzn/vgc/eS
        GPk5J8Tq4He/SYs593Z2iGfOsOAlGaXmcpeyFu++5ET3wjgxB/NpT0z6qFqlvFqP
        5JZd8tllfpCjYzBhMB0GA1UdDgQWBBQpvFOBJadeX7IzWAWwxpAy3IPbvzAfBgNV
        HSMEGDAWgBQpvFOBJadeX7IzWAWwxpAy3IPbvzAPBgNVHRMBAf8EBTADAQH/MA4G
        A1UdDwEB/wQEAwIBBjAKBggqhkjOPQQDAgNIADBFAiEA51sd2Omk69WuF3IzDc9n
        /aAzI7qm2crLNP8HqcDYz8wCIBZkSaYcUROs2U19gnRd4pSa2HqyLwRAKIFR8Mkm
        t5j2
        -----END CERTIFICATE-----
        """

    /// The certificate of the server.
    package static let server = """
        -----BEGIN CERTIFICATE-----
        MIIBzzCCAXWgAwIBAgIUY7X5inWR8N7eZjbjx7BJdHblRJkwCgYIKoZIzj0EAwIw
        JDEiMCAGA1UEAwwZYXN5bmMtZG93bmxvYWRzIHRlc3Qgcm9vdDAgFw0yNjExMjIy
        MTU3NTFaGA8yMTI2MTAyODIxNTc1MVowFDESMBAGA1UEAwwJMTI3LjAuMC4xMFkw
        EwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE04tzitZN5RhpWZ0skTtlSNh7F0VLCbEb
        oCC4VDT/GWENW8j51lMKy4GGd91fTNk4gRp4hhz/QPQwhSWRaWDysaOBkjCBjzAa
        BgNVHREEEzARhwR/AAABgglsb2NhbGhvc3QwDAYDVR0TAQH/BAIwADAOBgNVHQ8B
        Af8EBAMCB4AwEwYDVR0lBAwwCgYIKwYBBQUHAwEwHQYDVR0OBBYEFMWkPouUUSr6
        r0CElv5438qMcBIaMB8GA1UdIwQYMBaAFCm8U4Elp15fsjNYBbDGkDLcg9u/MAoG
        CCqGSM49BAMCA0gAMEUCIHTnBTUW8UzLqDun+j5K1SR4WFRfB6+a3ua0Co+f80/L
        AiEA9VNjW7ZTL9kSrZVfOmkzra8OYGuXbvtWVU5IDV/bOX0=
        -----END CERTIFICATE-----
        """

    /// The private key of ``server``.
    package static let key = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgxeFDoWwPl91p3TGA
        0rA5LCJmbKSLGfluosLpDc8TGBmhRANCAATTi3OK1k3lGGlZnSyRO2VI2HsXRUsJ
        sRugILhUNP8ZYQ1byPnWUwrLgYZ33V9M2TiBGniGHP9A9DCFJZFpYPKx
        -----END PRIVATE KEY-----
        """

    /// The self-signed certificate of a client.
    package static let client = """
        -----BEGIN CERTIFICATE-----
        MIIBsjCCAVmgAwIBAgIUAnl0089r/uI1fqvc3CwR+meLhjowCgYIKoZIzj0EAwIw
        JjEkMCIGA1UEAwwbYXN5bmMtZG93bmxvYWRzIHRlc3QgY2xpZW50MCAXDTI2MTEy
        NTEzMDA1M1oYDzIxMjYxMTAxMTMwMDUzWjAmMSQwIgYDVQQDDBthc3luYy1kb3du
        bG9hZHMgdGVzdCBjbGllbnQwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAARweJui
        BCjML4bBtLkRuNUG36+TnKeEVP/C4jdDqNyw8l9/MBb8ag46OEKCcQKNLAsgekHa
        77+aDv7ZbaLluAhgo2MwYTAdBgNVHQ4EFgQU9Nmgsoav3HoaVBrKSGHyCtxDUk4w
        HwYDVR0jBBgwFoAU9Nmgsoav3HoaVBrKSGHyCtxDUk4wDgYDVR0PAQH/BAQDAgKE
        MA8GA1UdEwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDRwAwRAIgb7QrHlFmslMka4J6
        Jl06LIQ/UhFD3jMuqVOE97WQyAICIBtlWyCi239vV8KcDLT6HH2c0Jidgaof292R
        UXkrppg/
        -----END CERTIFICATE-----
        """

    /// The private key of ``client``.
    package static let clientKey = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgDdRHsG0HrGdxa0dJ
        rg471lPq8htUZlGwGIs7A2lC8eehRANCAARweJuiBCjML4bBtLkRuNUG36+TnKeE
        VP/C4jdDqNyw8l9/MBb8ag46OEKCcQKNLAsgekHa77+aDv7ZbaLluAhg
        -----END PRIVATE KEY-----
        """
}
