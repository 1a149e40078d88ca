// Sample rates are changed by speexdsp. `convert` takes a whole clip and keeps its length and place; `Resampler` takes a
// stream frame by frame and adds the filter's delay.

import CSpeexDSP

/// Changes the sample rate of one mono stream.
package final class Resampler {
    private let state: OpaquePointer
    package let from: Int
    package let to: Int

    /// - Parameter quality: speexdsp's scale, 0 to 10. A stream takes 5; whole files, which are converted once, take 8.
    package init(from: Int, to: Int, quality: Int = 5) {
        precondition(from > 0 && to > 0 && (0...10).contains(quality), "rates and quality of a resampler")
        var error: Int32 = 0
        guard let state = speex_resampler_init(1, UInt32(from), UInt32(to), Int32(quality), &error) else {
            preconditionFailure("speexdsp gave no resampler: error \(error)")
        }
        self.state = state
        self.from = from
        self.to = to
    }

    deinit {
        speex_resampler_destroy(state)
    }

    /// The most samples that `process` gives for `count` samples.
    package func maximumOutput(for count: Int) -> Int { (count * to + from - 1) / from + 2 }

    /// Takes all of `input`.
    /// - Parameter output: at least `maximumOutput(for: input.count)` long.
    /// - Returns: how many samples were written.
    package func process(_ input: UnsafeBufferPointer<Int16>, into output: UnsafeMutableBufferPointer<Int16>) -> Int {
        guard let source = input.baseAddress, let target = output.baseAddress else { return 0 }
        var consumed = 0
        var written = 0
        while consumed < input.count, written < output.count {
            var inputLength = UInt32(clamping: input.count - consumed)
            var outputLength = UInt32(clamping: output.count - written)
            speex_resampler_process_int(state, 0, source + consumed, &inputLength, target + written, &outputLength)
            if inputLength == 0, outputLength == 0 { break }
            consumed += Int(inputLength)
            written += Int(outputLength)
        }
        return written
    }

    /// A whole clip at another rate: the result begins with the clip's first sample and has its length.
    package static func convert(_ samples: [Int16], from: Int, to: Int, quality: Int = 8) -> [Int16] {
        guard from != to, !samples.isEmpty else { return samples }
        let resampler = Resampler(from: from, to: to, quality: quality)
        // Without the filter's delay at the start; so its tail has to be pushed out with silence.
        speex_resampler_skip_zeros(resampler.state)
        let wanted = (samples.count * to + from / 2) / from
        let tail = [Int16](repeating: 0, count: Int(speex_resampler_get_input_latency(resampler.state)) + 16)
        return [Int16](unsafeUninitializedCapacity: wanted) { output, count in
            count = samples.withUnsafeBufferPointer { resampler.process($0, into: output) }
            let rest = UnsafeMutableBufferPointer(rebasing: output[count...])
            count += tail.withUnsafeBufferPointer { resampler.process($0, into: rest) }
            while count < wanted {
                output[count] = 0
                count += 1
            }
        }
    }
}
