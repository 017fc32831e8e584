#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

// The system's functions under other names, because the methods of POSIXFileSystem hide them.

// Texts are passed by `withCString`, because a text as an argument would be copied to the heap.

func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
    path.withCString { open($0, flags, mode) }
}

func systemClose(_ number: Int32) -> Int32 { close(number) }

func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int { read(number, buffer, count) }

func systemRename(_ path: String, _ destination: String) -> Int32 {
    path.withCString { path in destination.withCString { rename(path, $0) } }
}

func systemStatus(_ path: String, _ status: inout stat) -> Int32 {
    path.withCString { lstat($0, &status) }
}
