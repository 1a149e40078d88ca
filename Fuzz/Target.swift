// The door that libFuzzer enters by (`scripts/fuzz` builds it), and the choice of what is attacked. It is no part of an ordinary
// build: Package.swift declares it only when RINGWRIGHT_FUZZ is set.

import Foundation

/// What can be attacked, by its name on the command line of `scripts/fuzz`.
enum FuzzTarget: String, CaseIterable {
    case sipMessage = "sip-message"
    case sipHeader = "sip-header"
    case sipStream = "sip-stream"
    case sipTransactions = "sip-transactions"
    case trace
    case sdp
    case offerAnswer = "offer-answer"
    case rtp
    case srtp
    case flow
    case expression

    func run(_ bytes: [UInt8]) {
        switch self {
        case .sipMessage: attackMessage(bytes)
        case .sipHeader: attackHeader(bytes)
        case .sipStream: attackStream(bytes)
        case .sipTransactions: attackTransactions(bytes)
        case .trace: attackTrace(bytes)
        case .sdp: attackDescription(bytes)
        case .offerAnswer: attackOfferAnswer(bytes)
        case .rtp: bytes.withUnsafeBytes { attackPacket($0) }
        case .srtp: attackProtected(bytes)
        case .flow: attackFlow(bytes)
        case .expression: attackExpression(bytes)
        }
    }

    /// Named by the environment, since libFuzzer keeps the arguments for itself.
    static let chosen: FuzzTarget = {
        let name = ProcessInfo.processInfo.environment["FUZZ_TARGET"] ?? ""
        guard let target = FuzzTarget(rawValue: name) else {
            FileHandle.standardError.write(
                Data("FUZZ_TARGET is one of \(FuzzTarget.allCases.map(\.rawValue).joined(separator: ", "))\n".utf8))
            exit(2)
        }
        return target
    }()
}

/// Takes what is decoded only to see that it can be. (An array copied from a slice and thrown away at once is filled after it was
/// freed in optimized code of this toolchain, which the address sanitizer rightly reports.)
@inline(never) func use<Value>(_ value: Value) { withExtendedLifetime(value) {} }

@_cdecl("LLVMFuzzerInitialize")
public func initialize(_: UnsafeMutablePointer<Int32>?, _: UnsafeMutableRawPointer?) -> Int32 {
    let target = FuzzTarget.chosen
    guard let folder = ProcessInfo.processInfo.environment["FUZZ_SEEDS"] else { return 0 }
    for (index, seed) in target.seeds.enumerated() {
        guard FileManager.default.createFile(atPath: "\(folder)/seed-\(index)", contents: Data(seed)) else { exit(2) }
    }
    exit(0)
}

@_cdecl("LLVMFuzzerTestOneInput")
public func attack(_ data: UnsafePointer<UInt8>?, _ count: Int) -> Int32 {
    FuzzTarget.chosen.run(Array(UnsafeBufferPointer(start: data, count: count)))
    return 0
}
