// Another far side for the same media: what plays, records and listens goes on (Call/CallReplacing.swift).

import SDP

extension MediaSession {
    /// Answers the offer of another far side, which takes the place of the one so far: an offer of ours that is open counts no more.
    /// On an error nothing has changed.
    package func answer(another offer: ArraySlice<UInt8>) throws(MediaError) -> [UInt8] {
        let before = negotiation
        negotiation.changeFarSide()
        do throws(MediaError) { return try answer(offer) } catch {
            negotiation = before
            throw error
        }
    }

    /// An offer for another far side, whose INVITE had none.
    package func makeOfferToAnother() -> [UInt8] {
        negotiation.changeFarSide()
        return negotiation.makeOffer()
    }
}
