// Whether one piece of audio is in another, and where: normalized cross-correlation over all lags, by a fast Fourier
// transform. It does not care for level or polarity, and answers 1 for the same audio, about 0 for other audio.

/// Looks for a piece of audio in another.
package enum Correlation {
    package struct Match: Equatable, Sendable {
        /// Where in what was heard the reference begins, in samples; negative when its start was cut off.
        package var lag: Int
        /// From -1 to 1, over the samples that both have at that lag; negative is the same with its polarity turned.
        package var peak: Double

        package init(lag: Int, peak: Double) {
            self.lag = lag
            self.peak = peak
        }
    }

    /// The lag at which `reference` is most like what was heard. Both have the same rate.
    /// - Parameter overlap: the part of the reference's energy (0 to 1) that must lie within what was heard; 1 finds only
    ///   what is there whole.
    /// - Returns: a peak of 0 when one of them is silent or empty. 60 s in 60 s at 8 kHz take about 0.2 s in a release build.
    package static func search(_ reference: [Int16], in heard: [Int16], overlap: Double = 0.5) -> Match {
        let none = Match(lag: 0, peak: 0)
        guard !reference.isEmpty, !heard.isEmpty else { return none }
        let lags = reference.count + heard.count - 1
        var size = 2
        while size < lags { size *= 2 }
        let products = crossProducts(reference, heard, size)
        // Energies up to each sample: the energy of any stretch is a difference.
        let referenceEnergy = runningEnergy(reference)
        let heardEnergy = runningEnergy(heard)
        let whole = referenceEnergy[reference.count]
        guard whole > 0, heardEnergy[heard.count] > 0 else { return none }
        // Stretches as good as silent would make a quotient of rounding errors.
        let floor = max(1, heardEnergy[heard.count] * 1e-6)
        var best = none
        for lag in (1 - reference.count)..<heard.count {
            let first = max(0, -lag)
            let end = min(reference.count, heard.count - lag)
            let here = referenceEnergy[end] - referenceEnergy[first]
            guard here >= whole * overlap * 0.999_999, here > 0 else { continue }
            let there = heardEnergy[end + lag] - heardEnergy[first + lag]
            guard there > floor else { continue }
            let value = Double(products[lag < 0 ? lag + size : lag]) / (here.squareRoot() * there.squareRoot())
            if abs(value) > abs(best.peak) { best = Match(lag: lag, peak: max(-1, min(1, value))) }
        }
        return best
    }

    /// The same for clips: the reference is resampled to the rate of what was heard.
    package static func search(_ reference: AudioClip, in heard: AudioClip, overlap: Double = 0.5) -> Match {
        search(reference.resampled(to: heard.rate).samples, in: heard.samples, overlap: overlap)
    }

    /// The sums of products for every lag; negative lags lie at the end.
    private static func crossProducts(_ reference: [Int16], _ heard: [Int16], _ size: Int) -> [Float] {
        let fourier = Fourier(size: size)
        // Two real signals in one transform: what was heard as the real part, the reference as the imaginary one.
        var real = [Float](repeating: 0, count: size)
        var imaginary = [Float](repeating: 0, count: size)
        for index in heard.indices { real[index] = Float(heard[index]) / 32768 }
        for index in reference.indices { imaginary[index] = Float(reference[index]) / 32768 }
        real.withUnsafeMutableBufferPointer { re in
            imaginary.withUnsafeMutableBufferPointer { im in
                fourier.transform(re, im)
                // H = (Z(k) + Z*(-k)) / 2, R = (Z(k) - Z*(-k)) / 2i; the product H R* goes back.
                for index in 0...size / 2 {
                    let mirror = (size - index) & (size - 1)
                    let (a, b, c, d) = (re[index], im[index], re[mirror], im[mirror])
                    let heardRe = (a + c) / 2
                    let heardIm = (b - d) / 2
                    let referenceRe = (b + d) / 2
                    let referenceIm = (c - a) / 2
                    let productRe = heardRe * referenceRe + heardIm * referenceIm
                    let productIm = heardIm * referenceRe - heardRe * referenceIm
                    re[index] = productRe
                    im[index] = productIm
                    re[mirror] = productRe
                    im[mirror] = -productIm
                }
                fourier.transform(re, im, inverse: true)
                let scale = 32768 * 32768 / Float(size)
                for index in 0..<size { re[index] *= scale }
            }
        }
        return real
    }

    private static func runningEnergy(_ samples: [Int16]) -> [Double] {
        var energy = [Double](repeating: 0, count: samples.count + 1)
        for index in samples.indices {
            energy[index + 1] = energy[index] + Double(Int(samples[index]) * Int(samples[index]))
        }
        return energy
    }
}
