// Whether the codecs give back what they were given.

import Audio

enum CodecExamination {
    static func findings() -> [DoctorFinding] {
        let broken = G711Law.allCases.filter { law in
            // Companding keeps the sign and is within a sixteenth of the value.
            ![-30000, -1000, -50, 50, 1000, 30000].allSatisfy { (sample: Int16) in
                let back = Int(law.decode(law.encode(sample)))
                return abs(back - Int(sample)) <= max(16, abs(Int(sample)) / 16)
            }
        }
        guard broken.isEmpty else {
            return [
                DoctorFinding(.problem, "codecs", "G.711 \(broken) does not give back what it was given", mend: "build it anew")
            ]
        }
        return [DoctorFinding(.well, "codecs", "PCMU and PCMA work")]
    }
}
