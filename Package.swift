// swift-tools-version: 6.2
import PackageDescription

/// The rules every target is compiled with (CONTRIBUTING.md: "Concurrency").
let settings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility")
]

/// A C library found through pkg-config; `Sources/CLibraries/<name>` holds its module map and shim header.
func cLibrary(_ name: String, _ pkgConfig: String, apt: String) -> Target {
    .systemLibrary(
        name: name, path: "Sources/CLibraries/\(name)", pkgConfig: pkgConfig, providers: [.apt([apt])])
}

/// What programs allocate by. A call makes some thirty small blocks, many calls at a time, and some of them stay for 32 seconds: glibc's
/// allocator takes a sixth of the time of a short call for it (docs/performance.md).
let allocator: [LinkerSetting] = [.linkedLibrary("tcmalloc_minimal")]

/// A module of ours with its test target of the same name plus `Tests`; `testsExclude` names what is no Swift in its folder.
func module(
    _ name: String, _ dependencies: [String], testsAlsoUse: [String] = [], testsExclude: [String] = []
) -> [Target] {
    [
        .target(name: name, dependencies: dependencies.map { .byName(name: $0) }, swiftSettings: settings),
        .testTarget(
            name: "\(name)Tests", dependencies: ([name] + dependencies + testsAlsoUse).map { .byName(name: $0) },
            exclude: testsExclude, swiftSettings: settings)
    ]
}

let package = Package(
    name: "ringwright",
    products: [
        .executable(name: "ringwright", targets: ["ringwright"]),
        .library(name: "RingwrightEngine", targets: ["CallEngine", "FlowEngine"])
    ],
    targets: [
        .target(name: "CLinux", path: "Sources/CLibraries/CLinux"),
        .target(
            name: "CRE2", path: "Sources/CLibraries/CRE2", linkerSettings: [.linkedLibrary("re2")]),
        .target(
            name: "CCares", path: "Sources/CLibraries/CCares", linkerSettings: [.linkedLibrary("cares")]),
        cLibrary("COpenSSL", "openssl", apt: "libssl-dev"),
        cLibrary("CSndFile", "sndfile", apt: "libsndfile1-dev"),
        cLibrary("CSpeexDSP", "speexdsp", apt: "libspeexdsp-dev"),
        cLibrary("CSpanDSP", "spandsp", apt: "libspandsp-dev"),
        cLibrary("COpus", "opus", apt: "libopus-dev"),
        cLibrary("CYAML", "yaml-0.1", apt: "libyaml-dev"),
        cLibrary("CWebSockets", "libwebsockets", apt: "libwebsockets-dev"),
        cLibrary("CSQLite", "sqlite3", apt: "libsqlite3-dev"),
        cLibrary("CPostgreSQL", "libpq", apt: "libpq-dev"),
        cLibrary("CCurl", "libcurl", apt: "libcurl4-openssl-dev")
    ]
        + module("Basics", ["CLinux"])
        + module("Reactor", ["Basics", "CLinux", "COpenSSL", "CCares"], testsAlsoUse: ["TestKit"])
        + module("SIP", ["Basics", "COpenSSL"])
        + module("SDP", ["Basics"])
        + module("RTP", ["Basics", "COpenSSL", "CSpeexDSP"], testsExclude: ["Judge"])
        + module("Audio", ["Basics", "COpenSSL", "CSndFile", "CSpeexDSP", "CSpanDSP", "COpus"])
        + module(
            "Web", ["Basics", "Reactor", "CLinux", "CWebSockets", "CCurl"], testsAlsoUse: ["TestKit"], testsExclude: ["Peers"])
        + module("CallEngine", ["Basics", "Reactor", "SIP", "SDP", "RTP", "Audio"], testsAlsoUse: ["TestKit"])
        + module("FlowEngine", ["Basics", "Reactor", "CallEngine", "CYAML", "CRE2"])
        + module("Store", ["Basics", "Reactor", "CSQLite", "CPostgreSQL"], testsAlsoUse: ["TestKit"])
        + module("Dialer", ["Basics", "Reactor", "Audio", "CallEngine", "FlowEngine", "Store"], testsAlsoUse: ["SIP", "TestKit"])
        + module(
            "SIPpRunner", ["Basics", "Reactor", "SIP", "SDP", "RTP", "Audio", "Web", "Dialer", "COpenSSL"],
            testsExclude: ["Scenarios"])
        + module(
            "Server", ["Basics", "Reactor", "Audio", "SIP", "SDP", "RTP", "CallEngine", "FlowEngine", "Store", "Dialer", "Web"],
            testsAlsoUse: ["TestKit"])
        + [
            // What scripts/bench measures.
            .executableTarget(
                name: "CallBench",
                dependencies: ["Basics", "Reactor", "CallEngine"].map { .byName(name: $0) }, path: "Benchmarks/CallBench",
                swiftSettings: settings, linkerSettings: allocator),
            // Media alone, beside Benchmarks/floor.c.
            .executableTarget(
                name: "MediaBench",
                dependencies: ["Basics", "Reactor", "SDP", "Audio", "CallEngine"].map { .byName(name: $0) },
                path: "Benchmarks/MediaBench",
                swiftSettings: settings, linkerSettings: allocator),
            .executableTarget(
                name: "ringwright", dependencies: ["Basics", "Reactor", "SIPpRunner", "Server"], swiftSettings: settings,
                linkerSettings: allocator),
            .target(
                name: "TestKit", dependencies: ["Basics", "Reactor", "SIP", "SDP", "RTP", "Audio", "CallEngine", "Store"],
                swiftSettings: settings),
            .testTarget(
                name: "PeerTests",
                dependencies: [
                    "Basics", "Reactor", "SIP", "SDP", "RTP", "Audio", "CallEngine", "FlowEngine", "Dialer", "SIPpRunner",
                    "Server", "TestKit", "CSndFile"
                ],
                exclude: ["Scenarios", "Harness/announce.c"], swiftSettings: settings)
        ],
    cxxLanguageStandard: .cxx17
)

// What scripts/fuzz builds: an executable whose `main` is libFuzzer's, so no ordinary build may see it.
if Context.environment["RINGWRIGHT_FUZZ"] != nil {
    package.targets.append(
        .executableTarget(
            name: "Fuzz", dependencies: ["Basics", "SIP", "SDP", "RTP", "CallEngine", "FlowEngine"].map { .byName(name: $0) },
            path: "Fuzz",
            exclude: ["Dictionaries", "attack.py", "kills.py", "campaign_kills.py", "load_kills.py", "peers.py"],
            swiftSettings: settings))
}
