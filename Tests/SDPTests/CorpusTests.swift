// The collection of real bodies in ../shared/corpora/sdp, when it is there: what must be read, and what the answer must be.

import Basics
import Foundation
import SDP
import Testing

/// One body with what its manifest says about it.
struct CorpusBody: Sendable, CustomTestStringConvertible {
    struct Medium: Sendable, Decodable {
        var media: String
        var port: String
        var proto: String
        var fmts: [String]
        var c: String?
        var direction: String
        var ptime: String?
        var rtpmap: [String: [String]]
        var fmtp: [String: String]
        var crypto: [String]
    }
    struct MustParse: Sendable, Decodable {
        var sessionC: String?
        var media: [Medium]
    }
    struct Entry: Sendable, Decodable {
        var file: String
        var mustParse: MustParse
    }

    var entry: Entry
    var bytes: [UInt8]
    var testDescription: String { entry.file }

    static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../../shared/corpora/sdp").standardizedFileURL

    static let all: [CorpusBody] = {
        let decoder = JSONDecoder()
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        guard let manifest = try? Data(contentsOf: folder.appendingPathComponent("manifest.json")),
            let entries = try? decoder.decode([Entry].self, from: manifest)
        else { return [] }
        return entries.compactMap { entry in
            (try? Data(contentsOf: folder.appendingPathComponent(entry.file))).map {
                CorpusBody(entry: entry, bytes: [UInt8]($0))
            }
        }
    }()
}

@Suite(.enabled(if: !CorpusBody.all.isEmpty, "../shared/corpora/sdp is not there"))
struct CorpusTests {
    @Test(arguments: CorpusBody.all) func parsesAsTheManifestSays(_ body: CorpusBody) throws {
        let session = try SessionDescription(parsing: body.bytes)
        let expected = body.entry.mustParse
        #expect(session.connection?.text == expected.sessionC)
        try #require(session.media.count == expected.media.count)
        for (medium, wanted) in zip(session.media, expected.media) {
            #expect(medium.kind == wanted.media)
            #expect((medium.portCount == 1 ? "\(medium.port)" : "\(medium.port)/\(medium.portCount)") == wanted.port)
            #expect(medium.transport == wanted.proto)
            #expect(medium.formats == wanted.fmts)
            #expect(session.connection(of: medium)?.text == wanted.c)
            #expect(session.direction(of: medium).rawValue == wanted.direction.split(separator: " ").first.map(String.init))
            #expect(medium.packetTime.map(String.init) == wanted.ptime)
            for (payload, maps) in wanted.rtpmap {
                // A name in the place of the number is ignored.
                guard let payload = UInt8(payload) else { continue }
                let written = medium.rtpMaps.filter { $0.payload == payload }
                    .map { "\($0.name)/\($0.clockRate)" + ($0.channels == 1 ? "" : "/\($0.channels)") }
                #expect(written == maps)
            }
            for (format, text) in wanted.fmtp { #expect(medium.parameters(of: format) == text) }
            // The manifest lists keys for audio only.
            if medium.kind == "audio" { #expect(medium.values(of: "crypto") == wanted.crypto) }
        }
        #expect(try SessionDescription(parsing: session.bytes) == session)
    }

    /// What a side with PCMU and PCMA and no SRTP answers: codec and telephone-event number, or why it refuses.
    static let answers: [String: Result<String, OfferAnswerError>] = [
        "01": .success("PCMU 101"), "03": .success("PCMU 101"), "04": .success("PCMU 101"), "05": .success("PCMU -"),
        "06": .success("PCMU -"), "07": .success("PCMU -"), "08": .failure(.noAudio), "09": .failure(.unsupportedTransport),
        "10": .failure(.noUsableAddress), "11": .success("PCMU 101"), "12": .success("PCMU 101"), "13": .success("PCMU 101"),
        "14": .failure(.unsupportedTransport), "15": .failure(.noAudio), "17": .failure(.noCommonCodec),
        "18": .success("PCMU -"), "19": .failure(.noUsableAddress), "20": .failure(.noAudio), "21": .success("PCMU 101"),
        "22": .success("PCMU -"), "23": .success("PCMA 101"), "24": .success("PCMU 101"), "26": .success("PCMU -"),
        "27": .success("PCMU 101"), "28": .success("PCMU 101"), "30": .failure(.audioRejected), "31": .success("PCMU 101"),
        "32": .failure(.unsupportedTransport), "38": .failure(.noAudio), "39": .failure(.noAudio), "41": .success("PCMU -"),
        "42": .failure(.noUsableAddress), "43": .failure(.noUsableAddress), "44": .success("PCMU 101"),
        "45": .success("PCMU 101"), "46": .failure(.noUsableAddress), "51": .success("PCMU 101"),
        "61": .failure(.unsupportedTransport), "62": .failure(.audioRejected), "63": .success("PCMU -"),
        "65": .success("PCMU -"), "66": .failure(.noUsableAddress), "67": .success("PCMU -"), "68": .success("PCMU -"),
        "70": .success("PCMU 101")
    ]

    @Test(arguments: CorpusBody.all) func isAnsweredAsTheReadmeSays(_ body: CorpusBody) throws {
        let offer = try SessionDescription(parsing: body.bytes)
        var side = OfferAnswer(
            capabilities: AudioCapabilities(codecs: [.pcmu, .pcma]), local: SocketAddress(ip: .loopback4, port: 4000),
            sessionID: 1)
        let answer: Result<[UInt8], OfferAnswerError>
        do throws(OfferAnswerError) {
            answer = .success(try side.answer(to: offer))
        } catch {
            answer = .failure(error)
        }
        if let expected = Self.answers[String(body.entry.file.prefix(2))] {
            #expect(
                answer.map { _ in "\(side.agreement!.codec.name) " + (side.agreement!.sendEvents.map { "\($0.payload)" } ?? "-") }
                    == expected)
        }
        if case .success(let octets) = answer {
            let answer = try SessionDescription(parsing: octets)
            #expect(answer.media.map(\.kind) == offer.media.map(\.kind))
            #expect(answer.media.map(\.transport) == offer.media.map(\.transport))
            #expect(answer.media.filter { $0.port != 0 }.map(\.kind) == ["audio"])
            #expect(answer.media.allSatisfy { !$0.formats.isEmpty && $0.portCount == 1 && $0.attributes.isEmpty })
        }
    }

    @Test func directionsAreMirrored() throws {
        for (file, direction) in ["11": MediaDirection.recvonly, "12": .sendonly, "13": .recvonly] {
            let body = try #require(CorpusBody.all.first { $0.entry.file.hasPrefix(file) })
            var side = OfferAnswer(
                capabilities: AudioCapabilities(codecs: [.pcmu]), local: SocketAddress(ip: .loopback4, port: 4000), sessionID: 1)
            let answer = try side.answer(to: SessionDescription(parsing: body.bytes))
            #expect(try SessionDescription(parsing: answer).media[0].direction == direction)
        }
    }
}
