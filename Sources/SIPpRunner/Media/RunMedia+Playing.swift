// The media commands of `exec`: captures, keys, streams, patterns, echoes.

import Basics
import Reactor

extension RunMedia {
    func play(_ action: Action.Media, _ text: String, of call: ScenarioCall) {
        let media = media(of: call)
        do throws(StreamProblem) {
            switch action {
            case .pcap(_, let medium): media.play(CapturePlayer(try capture(text), start: loop.now), on: medium)
            case .digits: try playKeys(text, media)
            case .stream: try playStream(text, media)
            case .echo: try setEcho(text, media)
            }
        } catch {
            run.fatal(error.message)
        }
    }

    private func capture(_ text: String) throws(StreamProblem) -> CaptureFile {
        if let known = captures[text] { return known }
        do throws(CaptureFile.Problem) {
            let file = try CaptureFile(path: run.path(of: text))
            captures[text] = file
            return file
        } catch {
            throw StreamProblem(error.message)
        }
    }

    private func playKeys(_ text: String, _ media: CallMedia) throws(StreamProblem) {
        let words = text.split(separator: ",", omittingEmptySubsequences: false)
        guard let milliseconds = words.count > 1 ? Int(words[1].filter { $0 != " " }) : 200, (50...2000).contains(milliseconds)
        else {
            throw StreamProblem("play_dtmf \"\(text)\": a key is pressed for 50 to 2000 ms")
        }
        let (type, clock) = media.keyFormat()
        let digits = String(words[0].filter { $0 != " " })
        guard let keys = KeySequence(digits: digits, milliseconds: milliseconds, payloadType: type, clock: clock) else {
            throw StreamProblem("play_dtmf \"\(text)\": keys are 0-9 * # A-D")
        }
        media.press(keys)
    }

    private func playStream(_ text: String, _ media: CallMedia) throws(StreamProblem) {
        switch try StreamCommand.read(text, standard: run.options.streamPayload).get() {
        case .pause: media.pause(true, text.hasSuffix("vpattern") ? .video : text.hasSuffix("apattern") ? .audio : nil)
        case .resume: media.pause(false, text.hasSuffix("vpattern") ? .video : text.hasSuffix("apattern") ? .audio : nil)
        case .file(let path, let loops, let type, let codec):
            let format = try format(type, codec, text)
            let key = "\(path),\(type),\(codec ?? "")"
            let payloads: StreamPayloads
            if let known = self.payloads[key] {
                payloads = known
            } else {
                payloads = try StreamPayloads(path: run.path(of: path), format: format)
                self.payloads[key] = payloads
            }
            let player = StreamPlayer(
                payloads, format, payloadType: type, loops: loops, source: media.source(.audio), start: loop.now)
            media.stream(player, on: .audio)
        case .pattern(let octet, let type, let codec, let isVideo):
            let format = try format(type, codec ?? (isVideo ? "H264/90000" : nil), text)
            let payloads = StreamPayloads.plain([UInt8](repeating: octet, count: format.octets), size: format.octets)
            let source = media.source(isVideo ? .video : .audio)
            let player = StreamPlayer(
                payloads, format, payloadType: type, loops: -1, source: source, start: loop.now, isPattern: true)
            media.stream(player, on: isVideo ? .video : .audio, pattern: octet)
        }
    }

    private func format(_ type: UInt8, _ codec: String?, _ text: String) throws(StreamProblem) -> StreamFormat {
        guard let format = StreamFormat(payloadType: type, name: codec) else {
            throw StreamProblem(
                "rtp_stream \"\(text)\": payload type \(type)\(codec.map { " \($0)" } ?? "") is unknown; there are 0, 8, 9, 13, 18, and from 96 on iLBC/8000, H264/90000, opus/48000, L16/16000"
            )
        }
        return format
    }

    private func setEcho(_ text: String, _ media: CallMedia) throws(StreamProblem) {
        let word = text.prefix { $0 != "," }
        switch word {
        case "startaudio", "updateaudio": media.echo(.audio, true)
        case "stopaudio": media.echo(.audio, false)
        case "startvideo", "updatevideo": media.echo(.video, true)
        case "stopvideo": media.echo(.video, false)
        default:
            throw StreamProblem(
                "rtp_echo \"\(text)\": it is startaudio, updateaudio, stopaudio, startvideo, updatevideo or stopvideo")
        }
    }
}
