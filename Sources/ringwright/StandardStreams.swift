// Standard input, output and error are open, whatever this program was started with.

import Foundation

enum StandardStreams {
    /// One that is closed (`>&-`) becomes /dev/null: otherwise the next socket or file would get its number, and what is printed would go
    /// there. Before anything else is opened.
    static func open() {
        for stream in STDIN_FILENO...STDERR_FILENO where fcntl(stream, F_GETFD) == -1 {
            // The lowest free number is this one (POSIX, open).
            _ = Glibc.open("/dev/null", stream == STDIN_FILENO ? O_RDONLY : O_WRONLY)
        }
    }
}
