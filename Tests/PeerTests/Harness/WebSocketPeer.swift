// The Python program that speaks SIP over WebSocket, as a browser does.

import Foundation
import TestKit

/// A client and a server of SIP over WebSocket, in Python: Scenarios/websocket_sip.py.
enum WebSocketPeer {
    static let script = Files.root.appendingPathComponent("Tests/PeerTests/Scenarios/websocket_sip.py").path
    static let isPossible = TestCertificates.standard != nil && !python.isEmpty
    /// One that has the package; the system's own comes first, because an installed package belongs to that one.
    static let python: String = {
        guard let folder = try? TemporaryFolder() else { return "" }
        return ["/usr/bin/python3", "python3"].first { name in
            (try? PeerProgram(name, ["-c", "import websockets"], in: folder))?.wait(.seconds(10)) == 0
        } ?? ""
    }()
}
