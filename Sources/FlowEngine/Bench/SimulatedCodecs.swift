// What a simulated call speaks: the first of the codecs that the flow wants, since the far side has all.

package import CallEngine

extension SimulatedCall {
    private static let descriptions = [
        "pcmu": "PCMU/8000", "pcma": "PCMA/8000", "g722": "G722/8000", "opus": "opus/48000/2", "l16": "L16/16000",
        "g729": "G729/8000"
    ]

    package func choose(codecs: [String]) throws(CallControlError) { prefer(codecs) }

    func prefer(_ codecs: [String]) { codec = Self.descriptions[codecs.first ?? ""] ?? codec }
}
