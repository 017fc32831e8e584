/// The values that all transfers of one downloader share.
struct TransferEnvironment: Sendable {
    let transport: any Transport
    let store: any PartialStore
    let scheduler: TransferScheduler
    let time: any TimeSource
    let destinations: DestinationReservations
    let names: DirectoryNames
    let slowDisks: SlowDisks
    let log: Log
    let abandonment: AbandonmentPolicy
    let pressureResponder: MemoryPressureResponder
}
