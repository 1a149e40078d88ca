// A fast Fourier transform (radix 2, in place, single precision): small, without a library, for detectors and correlation.

import Glibc

/// The transform of one size, a power of two. The tables are made once.
struct Fourier {
    let size: Int
    private let cosines: [Float]
    private let sines: [Float]

    init(size: Int) {
        precondition(size >= 2 && size & (size - 1) == 0, "a power of two")
        self.size = size
        cosines = (0..<size / 2).map { Float(cos(2 * Double.pi * Double($0) / Double(size))) }
        sines = (0..<size / 2).map { Float(sin(2 * Double.pi * Double($0) / Double(size))) }
    }

    /// Both buffers have `size` elements. The inverse is not scaled.
    func transform(
        _ real: UnsafeMutableBufferPointer<Float>, _ imaginary: UnsafeMutableBufferPointer<Float>, inverse: Bool = false
    ) {
        guard let re = real.baseAddress, let im = imaginary.baseAddress else { return }
        precondition(real.count == size && imaginary.count == size)
        var target = 0
        for source in 1..<size {
            var bit = size >> 1
            while target & bit != 0 {
                target ^= bit
                bit >>= 1
            }
            target |= bit
            if source < target {
                swap(&re[source], &re[target])
                swap(&im[source], &im[target])
            }
        }
        let sign: Float = inverse ? 1 : -1
        cosines.withUnsafeBufferPointer { cosines in
            sines.withUnsafeBufferPointer { sines in
                var half = 1
                while half < size {
                    let stride = size / (2 * half)
                    var start = 0
                    while start < size {
                        for offset in 0..<half {
                            let c = cosines[offset * stride]
                            let s = sign * sines[offset * stride]
                            let low = start + offset
                            let high = low + half
                            let r = re[high] * c - im[high] * s
                            let i = re[high] * s + im[high] * c
                            re[high] = re[low] - r
                            im[high] = im[low] - i
                            re[low] += r
                            im[low] += i
                        }
                        start += 2 * half
                    }
                    half *= 2
                }
            }
        }
    }
}
