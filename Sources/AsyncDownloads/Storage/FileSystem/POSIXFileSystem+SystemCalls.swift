#if canImport(Darwin)
internal import Darwin
#elseif canImport(Musl)
internal import Musl
#else
internal import Glibc
#endif

// The system's functions under other names, because the methods of POSIXFileSystem hide them.

func systemOpen(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 { open(path, flags, mode) }

func systemClose(_ number: Int32) -> Int32 { close(number) }

func systemRead(_ number: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int { read(number, buffer, count) }

func systemRename(_ path: String, _ destination: String) -> Int32 { rename(path, destination) }
